package wirecase

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime/debug"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// Open makes the adapter for an exchange, of a model at a server.
type Open func(x *Exchange, baseURL string) llm.Model

// Run replays the exchanges of the case as one conversation and returns what
// differs from what is expected; nothing is a pass. open answers nil for a wire
// that it has no adapter of, which is a fault too.
func (c *Case) Run(ctx context.Context, open Open) (faults []string) {
	at := "."
	fault := func(f string) { faults = append(faults, fmt.Sprintf("%s %s: %s", c.Name, at, f)) }
	defer func() {
		if p := recover(); p != nil {
			fault(fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	talk := &talk{}
	talk.add(llm.UserText("hi"))
	for i := range c.Exchanges {
		x := &c.Exchanges[i]
		at = x.Dir
		var sent []byte
		srv := httptest.NewServer(x.handler(&sent))
		m := open(x, srv.URL)
		if m == nil {
			srv.Close()
			fault("no adapter for wire " + x.Wire)
			continue
		}
		resp, deltas, err := drain(m.Stream(ctx, talk.request()))
		srv.Close()
		for _, f := range x.check(resp, deltas, err) {
			fault(f)
		}
		for _, f := range talk.check(x, sent) {
			fault(f)
		}
		if err != nil || resp == nil {
			continue
		}
		// What came must be able to go back at once, too.
		talk.answer(x, resp)
		if len(x.Expect.Opaque) > 0 {
			var again []byte
			srv := httptest.NewServer(x.handler(&again))
			_, _, _ = drain(open(x, srv.URL).Stream(ctx, talk.request())) // the request is what is looked at
			srv.Close()
			for _, f := range talk.check(x, again) {
				fault("the next request: " + f)
			}
		}
	}
	return faults
}

// handler answers every request with the recorded answer, and keeps its body.
func (x *Exchange) handler(sent *[]byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		*sent, _ = io.ReadAll(req.Body) // a body that does not come shows as none
		for k, vs := range x.response.Headers {
			for _, v := range vs {
				w.Header().Add(k, v)
			}
		}
		w.WriteHeader(x.response.Status)
		rest := x.body
		for _, n := range x.chunks {
			n = min(max(n, 0), len(rest))
			_, _ = w.Write(rest[:n]) // a client that went away shows in its own result
			w.(http.Flusher).Flush()
			rest = rest[n:]
		}
		_, _ = w.Write(rest)
	})
}

// Model is the model that the exchange was with: it is in the body of the
// request or, on some wires, in its path.
func (x *Exchange) Model() string {
	var b struct {
		Model string `json:"model"`
	}
	_ = json.Unmarshal(x.request.Body, &b) // a stub of a request has none
	if b.Model != "" {
		return b.Model
	}
	path, _, _ := strings.Cut(x.request.Path, "?")
	for _, before := range []string{"/models/", "/model/", "/deployments/"} {
		if _, rest, ok := strings.Cut(path, before); ok {
			name, _, _ := strings.Cut(rest, "/")
			if strings.Contains(before, "models") {
				name, _, _ = strings.Cut(name, ":")
			}
			if plain, err := url.PathUnescape(name); err == nil && plain != "" {
				return plain
			}
		}
	}
	return "model"
}

func drain(seq func(func(llm.Event, error) bool)) (resp *llm.Response, deltas [2]string, err error) {
	for ev, e := range seq {
		if e != nil {
			return nil, deltas, e
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			deltas[0] += ev.Text
		case llm.ThinkingDelta:
			deltas[1] += ev.Text
		case llm.Done:
			resp = ev.Response
		}
	}
	return resp, deltas, nil
}

// talk is the conversation so far.
type talk struct {
	messages []llm.Message
	answers  []*Exchange
}

func (t *talk) add(m llm.Message) { t.messages = append(t.messages, m.Keep()) }

// answer adds an answer, and results for its calls.
func (t *talk) answer(x *Exchange, resp *llm.Response) {
	t.answers = append(t.answers, x)
	t.add(resp.Message)
	next := llm.Message{Role: llm.RoleUser}
	for _, c := range resp.Message.Parts.Calls() {
		next.Parts = append(next.Parts, llm.ToolResult{CallID: c.ID, Name: c.Name, Parts: llm.Texts("ok")})
	}
	if len(next.Parts) == 0 {
		next = llm.UserText("go on")
	}
	t.add(next)
}

func (t *talk) request() *llm.Request { return &llm.Request{Messages: t.messages} }

// check looks for the opaque blobs of the answers in a request for x: those of
// the last one must be there if it came from the same model, and none that came
// over another wire may.
func (t *talk) check(x *Exchange, sent []byte) []string {
	var tree any
	if err := json.Unmarshal(sent, &tree); err != nil {
		return []string{fmt.Sprintf("the request is not JSON: %v", err)}
	}
	have := map[string]bool{}
	sums(tree, have)
	var fs []string
	for i, a := range t.answers {
		for _, o := range a.Expect.Opaque {
			there := have[o.Sum] || o.Or != "" && have[o.Or]
			same := a.Wire == x.Wire && a.Provider == x.Provider && a.Model() == x.Model()
			switch {
			case !there && same && i == len(t.answers)-1:
				fs = append(fs, fmt.Sprintf("the %s of %d bytes is not in the request", o.Kind, o.Len))
			case there && a.Wire != x.Wire:
				fs = append(fs, fmt.Sprintf("the %s of %d bytes, of the wire %s, is in the request", o.Kind, o.Len, a.Wire))
			}
		}
	}
	return fs
}

// sums are the sums of all strings in a JSON tree.
func sums(v any, into map[string]bool) {
	switch v := v.(type) {
	case string:
		sum := sha256.Sum256([]byte(v))
		into[hex.EncodeToString(sum[:])[:16]] = true
	case []any:
		for _, e := range v {
			sums(e, into)
		}
	case map[string]any:
		for _, e := range v {
			sums(e, into)
		}
	}
}
