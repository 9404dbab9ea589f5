package wirecase_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/cantle-dev/cantle/llm/internal/wirecase"
)

// soak tries all there is; else a part of it is tried.
var soak = os.Getenv("CANTLE_SOAK") != ""

// few is n, or in a soak many.
func few(n, many int) int {
	if soak {
		return many
	}
	return n
}

// eachAnswer runs f for every recorded answer, with numbers that are the same
// each time.
func eachAnswer(t *testing.T, f func(t *testing.T, r *rand.Rand, x *wirecase.Exchange)) {
	for i, c := range wirecase.All(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			for j := range c.Exchanges {
				f(t, rand.New(rand.NewPCG(uint64(i), uint64(j))), &c.Exchanges[j])
			}
		})
	}
}

func as(x *wirecase.Exchange, body []byte) *served {
	return &served{status: x.Status(), header: x.Header(), body: body}
}

// same checks that an answer is made into what another is.
func same(t *testing.T, what string, x *wirecase.Exchange, want, got outcome, loose bool) bool {
	t.Helper()
	if s := got.sane(); s != "" {
		t.Errorf("%s: %s", what, s)
		return false
	}
	if w, g := want.form(loose), got.form(loose); w != g {
		t.Errorf("%s:\n--- got\n%.3000s\n--- want\n%.3000s", what, g, w)
		return false
	}
	return true
}

// TestChunks: an answer is the same however the network cuts it.
func TestChunks(t *testing.T) {
	eachAnswer(t, func(t *testing.T, r *rand.Rand, x *wirecase.Exchange) {
		want := ask(t, x, as(x, x.Body()))
		loose := want.made(x.Body())
		for name, sizes := range map[string]func() int{
			"bytes":  func() int { return 1 },
			"random": func() int { return 1 + r.IntN(40) },
			"large":  func() int { return 1 + r.IntN(5000) },
		} {
			s := as(x, x.Body())
			s.sizes = sizes
			same(t, name, x, want, ask(t, x, s), loose)
		}
	})
}

// TestForms: nor does it matter how it is written.
func TestForms(t *testing.T) {
	eachAnswer(t, func(t *testing.T, r *rand.Rand, x *wirecase.Exchange) {
		f := split(x)
		if f.form == "" {
			return
		}
		want := ask(t, x, as(x, x.Body()))
		loose := want.made(x.Body())
		some := r.Perm(len(styles))[:few(3, len(styles))]
		for i, s := range styles {
			if !slices.Contains(some, i) || f.form != "sse" && s.name != "LF" {
				continue
			}
			body, _ := f.join(s)
			same(t, s.name, x, want, ask(t, x, as(x, body)), loose)
		}
		some = r.Perm(len(changes))[:few(3, len(changes))]
		for i, c := range changes {
			if !slices.Contains(some, i) {
				continue
			}
			for range few(1, 5) {
				g := f.changed(r, c)
				body, _ := g.join(styles[r.IntN(3)])
				if !same(t, c.name, x, want, ask(t, x, as(x, body)), true) {
					break
				}
			}
		}
	})
}

// changed is f with each event changed.
func (f framed) changed(r *rand.Rand, c change) framed {
	out := framed{form: f.form}
	for _, e := range f.events {
		if v, err := parse(e.data); err == nil {
			e.data = c.do(r, v)
		}
		out.events = append(out.events, e)
	}
	return out
}

// strangers are events that a later version of a wire may send.
var strangers = map[string][]event{
	"anthropic": {
		{name: "ping", data: []byte(`{"type":"ping"}`)},
		{name: "zz_new", data: []byte(`{"type":"zz_new","index":0,"delta":{"text":"no"}}`)},
		{name: "content_block_delta", data: []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"zz_delta","zz":"no"}}`)},
	},
	"openai-chat": {
		{data: []byte(`{"id":"x","object":"chat.completion.chunk","choices":[]}`)},
		{data: []byte(`{"id":"x","object":"zz.new","zz":{"a":1}}`)},
		{data: []byte(`{"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"zz":"no","content":[{"type":"zz","zz":1}]},"finish_reason":null}]}`)},
	},
	"openai-responses": {
		{name: "response.zz.delta", data: []byte(`{"type":"response.zz.delta","output_index":0,"delta":"no"}`)},
		{name: "keepalive", data: []byte(`{"type":"keepalive","sequence_number":3}`)},
		{name: "response.zz_call.in_progress", data: []byte(`{"type":"response.zz_call.in_progress","output_index":0,"item_id":"zz"}`)},
	},
	"gemini": {{data: []byte(`{"zzNew":{"a":1}}`)}, {data: []byte(`{"candidates":[{"content":{"role":"model","parts":[{}]},"zz":1}]}`)}},
	"cohere": {
		{name: "zz-new", data: []byte(`{"type":"zz-new","index":0,"delta":{"message":{"content":{"text":"no"}}}}`)},
		{name: "debug", data: []byte(`{"type":"debug","prompt":"p"}`)},
	},
	"ollama": {{data: []byte(`{"model":"m","zz":1,"done":false}`)}},
}

// TestStrangers: events of unknown kinds change nothing, wherever they come.
func TestStrangers(t *testing.T) {
	eachAnswer(t, func(t *testing.T, r *rand.Rand, x *wirecase.Exchange) {
		f := split(x)
		if f.form == "" || f.form == "json" || x.Status() >= 300 {
			return
		}
		want := ask(t, x, as(x, x.Body()))
		wire := x.Wire
		if wire == "mistral" {
			wire = "openai-chat"
		}
		list := strangers[wire]
		if f.form == "frames" {
			list = []event{{name: "zzNew", data: []byte(`{"contentBlockIndex":0,"delta":{"text":"no"}}`)}}
			var h eventstream.Headers
			for k, v := range map[string]string{":message-type": "event", ":event-type": "zzNew", ":content-type": "application/json"} {
				h.Set(k, eventstream.StringValue(v))
			}
			list[0].headers = h
		}
		for k, e := range list {
			g := framed{form: f.form}
			for i, old := range f.events {
				if i > 0 && (i == 1 || r.IntN(4) == 0) && (old.name != "content_block_start" || k < 2) && inBlock(f, i, e) {
					g.events = append(g.events, e)
				}
				g.events = append(g.events, old)
			}
			body, _ := g.join(style{})
			same(t, fmt.Sprintf("%s %.80s", e.name, e.data), x, want, ask(t, x, as(x, body)), true)
		}
	})
}

// inBlock reports whether event e can come before event i: a delta needs
// a block.
func inBlock(f framed, i int, e event) bool {
	if e.name != "content_block_delta" {
		return true
	}
	for _, old := range f.events[:i] {
		if bytes.Contains(old.data, []byte("content_block_start")) {
			return true
		}
	}
	return false
}

// TestReordered: events that are lost, come twice or in another order make no
// panic, no hang, and no nonsense.
func TestReordered(t *testing.T) {
	eachAnswer(t, func(t *testing.T, r *rand.Rand, x *wirecase.Exchange) {
		f := split(x)
		if f.form == "" || len(f.events) < 2 {
			return
		}
		n := len(f.events)
		at := r.Perm(n)
		for _, i := range at[:min(n, few(3, 400))] {
			for name, events := range map[string][]event{
				"twice":   append(append(append([]event{}, f.events[:i+1]...), f.events[i]), f.events[i+1:]...),
				"lost":    append(append([]event{}, f.events[:i]...), f.events[i+1:]...),
				"swapped": swap(f.events, i, (i+1)%n),
				"far":     swap(f.events, i, r.IntN(n)),
			} {
				body, _ := framed{form: f.form, events: events}.join(style{})
				if s := ask(t, x, as(x, body)).sane(); s != "" {
					t.Errorf("event %d %s: %s", i, name, s)
				}
			}
		}
	})
}

func swap(events []event, i, j int) []event {
	out := append([]event{}, events...)
	out[i], out[j] = out[j], out[i]
	return out
}
