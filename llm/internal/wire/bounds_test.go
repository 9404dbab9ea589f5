package wire_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// bomb is n MiB of block, and what stands before it, in few bytes.
func bomb(t *testing.T, head, block string, n int) []byte {
	t.Helper()
	member := func(text string) []byte { // what unpacks one unpacks a row of them
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = io.WriteString(w, text)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	return append(member(head), bytes.Repeat(member(strings.Repeat(block, (1<<20)/len(block))), n)...)
}

// TestBombs sends little that unpacks to much: what is kept of it is bounded.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of MiB")
	}
	tests := []struct {
		name   string
		status int
		body   []byte
		kind   llm.Kind
		words  string
	}{
		{"document", 200, bomb(t, `{"a":"`, "x", 70), llm.KindCorrupt, "more than 64 MiB"},
		{"line", 200, bomb(t, `data: `, "x", 40), llm.KindCorrupt, "32 MiB"},
		{"events", 200, bomb(t, "", "data: "+strings.Repeat("x", 8185)+"\n\n", 270), llm.KindCorrupt, "more than 256 MiB"},
		{"error", 500, bomb(t, `{"error":{"message":"`, "x", 200), llm.KindServer, ""},
		{"page", 200, bomb(t, `<html>`, "x", 200), llm.KindNotFound, "web page"},
		{"no gzip", 200, []byte("plain text, and no gzip at all"), llm.KindCorrupt, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(tt.status)
				_, _ = w.Write(tt.body)
			})
			s, err := wire.Post(t.Context(), url, nil, signed())
			for err == nil {
				_, err = s.Next()
			}
			if s != nil {
				s.Close()
			}
			if e := failure(t, err, tt.kind, tt.words); len(e.Message) > 4096 {
				t.Errorf("a message of %d bytes", len(e.Message))
			}
		})
	}
}

func TestHugeHeader(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 40 {
			w.Header().Set(fmt.Sprint("X-Long-", i), strings.Repeat("x", 64<<10))
		}
	})
	_, err := post(t, url, signed())
	failure(t, err, llm.KindNetwork, "header")
}

// TestLongAnswer holds that nothing but silence ends a request: this answer
// takes ten hours.
func TestLongAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pieces []piece
		for range 600 {
			pieces = append(pieces, piece{time.Minute, "data: x\n\n"})
		}
		o := signed()
		o.Client = slow(time.Minute, 200, pieces...)
		start := time.Now()
		got, err := post(t, "http://acme.test/", o)
		if err != nil || len(got) != 600 || time.Since(start) != 601*time.Minute {
			t.Errorf("%d events in %v, %v", len(got), time.Since(start), err)
		}
	})
}

// TestProxy runs itself with a proxy in the environment, which net/http reads
// but once.
func TestProxy(t *testing.T) {
	if os.Getenv("CANTLE_TEST_PROXIED") != "" {
		got, err := post(t, "http://model.invalid/v1", wire.Options{})
		fmt.Printf("got %q %v\n", got, err)
		_, err = post(t, "http://model.invalid/v1", wire.Options{Client: &http.Client{Transport: fake(func(r *http.Request) (*http.Response, error) {
			return nil, errors.New("own transport")
		})}})
		fmt.Printf("then %v\n", err)
		return
	}
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "data: via proxy to %s\n\n", r.URL.Host)
	})
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxy$", "-test.v")
	cmd.Env = append(os.Environ(), "CANTLE_TEST_PROXIED=1", "HTTP_PROXY="+proxy, "http_proxy="+proxy, "NO_PROXY=", "no_proxy=")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "via proxy to model.invalid") || !strings.Contains(string(out), "own transport") {
		t.Errorf("%v\n%s", err, out)
	}
}

// counted is a framing of single bytes, of which '!' is damage.
type counted struct{ r io.Reader }

func (c counted) Next() (wire.Event, error) {
	var b [1]byte
	if _, err := io.ReadFull(c.r, b[:]); err != nil {
		return wire.Event{}, err
	}
	if b[0] == '!' {
		return wire.Event{}, fmt.Errorf("%w: a bang", wire.ErrFraming)
	}
	return wire.Event{Data: b[:]}, nil
}

func TestFramings(t *testing.T) {
	bytewise := wire.Framing{New: func(r io.Reader) wire.Frames { return counted{r} }}
	tests := []struct {
		name    string
		framing wire.Framing
		body    string
		want    string
		kind    llm.Kind
	}{
		{"lines", wire.NDJSON(), "{\"a\":1}\n{\"a\":2}\n", `[ {"a":1}  {"a":2}]`, ""},
		{"lines of CRLF", wire.NDJSON(), "{\"a\":1}\r\n\r\n{\"a\":2}\r\n", `[ {"a":1}  {"a":2}]`, ""},
		{"no last line end", wire.NDJSON(), `{"a":1}`, `[ {"a":1}]`, ""},
		{"laid out", wire.NDJSON(), "{\n \"a\": 1\n}\n", "[ {\n \"a\": 1\n}]", ""},
		{"on one line", wire.NDJSON(), `{"a":1}{"a":2}`, `[ {"a":1}  {"a":2}]`, ""},
		{"cut", wire.NDJSON(), "{\"a\":1}\n{\"a\":", `[ {"a":1}  …]`, ""},
		{"no JSON", wire.NDJSON(), "{\"a\":1}\noops\n", `[ {"a":1}]`, llm.KindCorrupt},
		{"words", wire.NDJSON(), "not found\n", `[]`, llm.KindCorrupt},
		{"page", wire.NDJSON(), "<!DOCTYPE html><title>x</title>", `[]`, llm.KindNotFound},
		{"endless line", wire.NDJSON(), `{"a":"` + strings.Repeat("x", 34<<20), `[]`, llm.KindCorrupt},
		{"own", bytewise, "ab", `[ a  b]`, ""},
		{"own, damaged", bytewise, "a!b", `[ a]`, llm.KindCorrupt},
		{"own, but a document came", bytewise, `{"a":1}`, `[ {"a":1}!]`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := signed()
			o.Framing = tt.framing
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tt.body) })
			got, err := post(t, url, o)
			if fmt.Sprint(got) != tt.want || (err == nil) != (tt.kind == "") {
				t.Errorf("%q, %v; want %s", got, err, tt.want)
			}
			if err != nil {
				failure(t, err, tt.kind)
			}
		})
	}
}

// letters is a decoder: each event is a letter; '.' makes the answer complete,
// '$' is its end mark, '?' cannot be read.
type letters struct {
	s     *wire.Stream
	text  string
	state wire.State
}

func (d *letters) Event(ev wire.Event) ([]llm.Event, error) {
	switch c := string(ev.Data); c {
	case ".":
		d.state = wire.Complete
	case "$":
		d.state = wire.Done
	case "?":
		return []llm.Event{llm.TextDelta{Text: "?"}}, d.s.Undecodable(ev, errors.New("what?"))
	default:
		d.text, d.state = d.text+c, wire.Begun
		return []llm.Event{llm.TextDelta{Text: c}}, nil
	}
	return nil, nil
}

func (d *letters) State() wire.State { return d.state }

func (d *letters) Response(whole bool) *llm.Response {
	return &llm.Response{Stop: llm.StopEnd, StopRaw: fmt.Sprint(whole), Message: llm.Message{Parts: llm.Texts(d.text)}}
}

// TestTextWithoutEnd: a model that repeats itself for ever, in words or in the
// arguments of a call, is stopped long before memory is short; what it said so
// far is kept, and it is not asked again.
func TestTextWithoutEnd(t *testing.T) {
	block := strings.Repeat("ab", 256<<10)
	for name, show := range map[string]func(string) llm.Event{
		"text":      func(s string) llm.Event { return llm.TextDelta{Text: s} },
		"thinking":  func(s string) llm.Event { return llm.ThinkingDelta{Text: s} },
		"arguments": func(s string) llm.Event { return llm.CallDelta{Name: "Write", Input: s} },
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			for range 60 {
				if _, err := io.WriteString(w, "data: "+block+"\n\n"); err != nil {
					return
				}
			}
			_, _ = io.WriteString(w, "data: $\n\n")
		})
		seq := wire.Sequence(func() (*wire.Stream, error) { return wire.Post(t.Context(), url, nil, signed()) },
			func(s *wire.Stream) wire.Decoder { return &shower{letters{s: s}, show} })
		_, err := llm.Collect(seq)
		e := failure(t, err, llm.KindCorrupt, "more than 16 MiB of text")
		if !e.NoRetry || e.Partial == nil || len(e.Partial.Message.Text()) < 16<<20 || len(e.Partial.Message.Text()) > 17<<20 {
			t.Errorf("%s: %+v", name, e.NoRetry)
		}
	}
}

// shower shows its letters as something else.
type shower struct {
	letters
	as func(string) llm.Event
}

func (d *shower) Event(ev wire.Event) ([]llm.Event, error) {
	out, err := d.letters.Event(ev)
	for i, x := range out {
		out[i] = d.as(x.(llm.TextDelta).Text)
	}
	return out, err
}

func TestSequence(t *testing.T) {
	ev := func(letters ...string) string { return "data: " + strings.Join(letters, "\n\ndata: ") + "\n\n" }
	tests := []struct{ name, body, want string }{
		{"end mark", ev("a", "b", "$", "c"), "a b done ab true end"},
		{"complete, then the end", ev("a", "."), "a done a true end"},
		{"complete, then broken", "9\r\n" + ev("a") + "\r\n9\r\n" + ev(".") + "\r\n", "a done a true end"},
		{"more after it was complete", ev("a", ".", "b"), "a b stream_truncated ab false error"},
		{"ends too early", ev("a"), "a stream_truncated a false error"},
		{"breaks", "9\r\n" + ev("a") + "\r\n", "a stream_truncated a false error"},
		{"nothing", "", "stream_truncated"},
		{"cannot be read", ev("a", "?"), "a ? stream_corrupt a false error"},
		{"cannot be read at first", ev("?"), "? stream_corrupt"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tt.body) })
			if strings.HasPrefix(tt.body, "9") {
				h = hijack(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+tt.body)
			}
			url := serve(t, h)
			seq := wire.Sequence(func() (*wire.Stream, error) { return wire.Post(t.Context(), url, nil, signed()) },
				func(s *wire.Stream) wire.Decoder { return &letters{s: s} })
			var got []string
			show := func(r *llm.Response) {
				if r != nil {
					got = append(got, r.Message.Text(), r.StopRaw, string(r.Stop))
				}
			}
			for ev, err := range seq {
				var e *llm.Error
				switch ev := ev.(type) {
				case llm.TextDelta:
					got = append(got, ev.Text)
				case llm.Done:
					got = append(got, "done")
					show(ev.Response)
				}
				if errors.As(err, &e) {
					got = append(got, string(e.Kind))
					show(e.Partial)
				}
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("got %s, want %s", s, tt.want)
			}
			if _, err := llm.Collect(seq); err != llm.ErrUsed {
				t.Errorf("a second range: %v", err)
			}
		})
	}
}

func TestPieces(t *testing.T) {
	var b wire.Body
	b.Value("a", 1)
	b.Pieces("m", wire.Pieces{[]byte("["), nil, []byte("1"), []byte("]")})
	b.Raw("z", []byte("null"))
	b.Raw("none", nil)
	const want = `{"a":1,"m":[1],"z":null}`
	p := b.Join()
	if string(p.Bytes()) != want || p.Len() != len(want) || string(b.Bytes()) != want || !b.Has("m") || b.Has("none") {
		t.Errorf("%s", p.Bytes())
	}
	if err := b.Merge([]byte(`{"m":null,"b":[2]}`)); err != nil || string(b.Bytes()) != `{"b":[2],"a":1,"z":null}` {
		t.Errorf("%s, %v", b.Bytes(), err)
	}
	if got := string(new(wire.Body).Bytes()); got != "{}" {
		t.Error(got)
	}
	// A body is read again for a retry on another connection, and by Sign.
	o := signed()
	o.Sign = func(r *http.Request) error {
		for range 2 {
			body, err := r.GetBody()
			if err != nil {
				return err
			}
			if got, err := io.ReadAll(iotestOneByte{body}); err != nil || string(got) != want || r.ContentLength != int64(len(want)) {
				t.Errorf("%s, %v", got, err)
			}
		}
		return nil
	}
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got, _ := io.ReadAll(r.Body); string(got) != want || r.ContentLength != int64(len(want)) {
			t.Errorf("%d: %s", r.ContentLength, got)
		}
		_, _ = io.WriteString(w, "{}")
	})
	s, err := wire.Post(t.Context(), url, p, o)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

type iotestOneByte struct{ r io.Reader }

func (o iotestOneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 1)]) }

func TestIDs(t *testing.T) {
	var a, b wire.IDs
	seen := map[string]bool{}
	for _, id := range []string{"x", "x", "", "", "x_0", "x"} {
		got := a.Of(id)
		if got == "" || seen[got] {
			t.Errorf("%q gave %q", id, got)
		}
		seen[got] = true
	}
	if other := b.Of(""); seen[other] {
		t.Errorf("two answers have %s", other)
	}
	if b.Of("x") != "x" {
		t.Error("an id of its own was changed")
	}
}

func TestCount(t *testing.T) {
	for in, want := range map[string]wire.Count{"12": 12, "12.0": 12, `"3"`: 3, "-1": 0, "null": 0, `"x"`: 0, "1e99": 0, "[]": 0, "{}": 0} {
		var c wire.Count
		if err := c.UnmarshalJSON([]byte(in)); err != nil || c != want {
			t.Errorf("%s: %d, %v", in, c, err)
		}
	}
}

func TestInt(t *testing.T) {
	for in, want := range map[string]wire.Int{"0": 0, "12": 12, "12.0": 12, `"3"`: 3, "-1": -1, "null": 7, "1.5": 7, `"x"`: 7, "1e99": 7, "[]": 7, "{}": 7} {
		i := wire.Int(7)
		if err := i.UnmarshalJSON([]byte(in)); err != nil || i != want {
			t.Errorf("%s: %d, %v", in, i, err)
		}
	}
}

func TestDistinct(t *testing.T) {
	call := func(ids ...string) llm.Message {
		m := llm.Message{Role: llm.RoleAssistant, Origin: &llm.Origin{Wire: "w"}}
		for _, id := range ids {
			m.Parts = append(m.Parts, llm.ToolCall{ID: id, Name: "f", Input: json.RawMessage(`{}`), Raw: json.RawMessage(`{"id":"` + id + `"}`)})
		}
		return m.Keep()
	}
	result := func(ids ...string) llm.Message {
		m := llm.Message{Role: llm.RoleUser}
		for _, id := range ids {
			m.Parts = append(m.Parts, llm.ToolResult{CallID: id, Name: "f"})
		}
		return m.Keep()
	}
	names := func(ms []llm.Message) string {
		var out []string
		for _, m := range ms {
			for _, p := range m.Parts {
				switch p := p.(type) {
				case llm.ToolCall:
					raw := ""
					if p.Raw != nil {
						raw = "!"
					}
					out = append(out, "call "+p.ID+raw)
				case llm.ToolResult:
					out = append(out, p.CallID)
				}
			}
		}
		return strings.Join(out, ", ")
	}
	for _, tt := range []struct {
		ms   []llm.Message
		want string
	}{
		{[]llm.Message{call("a", "b"), result("b", "a"), call("c"), result("c")}, "call a!, call b!, b, a, call c!, c"},
		{[]llm.Message{call("a", "b"), result("b", "a"), call("a"), result("a"), call("a", "b"), result("a", "b")}, "call a!, call b!, b, a, call a_2, a_2, call a_4, call b_4, a_4, b_4"},
		{[]llm.Message{call("a", "a"), result("a", "a")}, "call a!, call a_0, a, a_0"},
		{[]llm.Message{call("a"), call("a"), result("a")}, "call a!, call a_1, a_1"},
		{[]llm.Message{call("a_1"), call("a"), call("a"), result("a", "x")}, "call a_1!, call a!, call a_2, a_2, x"},
		{[]llm.Message{call("a"), result("a"), call("a_2"), call("a"), result("a")}, "call a!, a, call a_2!, call a_3, a_3"},
	} {
		before := names(tt.ms)
		if got := names(wire.Distinct(tt.ms)); got != tt.want || names(tt.ms) != before {
			t.Errorf("%s: %s, want %s", before, got, tt.want)
		}
		// What is before does not depend on what is after it.
		for n := range tt.ms {
			if got := names(wire.Distinct(tt.ms[:n])); !strings.HasPrefix(tt.want, got) {
				t.Errorf("the first %d: %s, of %s", n, got, tt.want)
			}
		}
	}
}
