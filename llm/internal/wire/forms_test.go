package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/openai"
)

// models are those of the adapters, with a client of the test's.
func models(base string, c *http.Client) map[string]llm.Model {
	return map[string]llm.Model{
		"anthropic": anthropic.New("m", anthropic.Options{BaseURL: base, APIKey: secret, Client: c}),
		"openai":    openai.NewChat("m", openai.Options{BaseURL: base, APIKey: secret, Client: c}),
	}
}

func canned(read func(string) io.Reader, body string) *http.Client {
	return &http.Client{Transport: fake(func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(read(body)), Request: r}, nil
	})}
}

var madeUp = regexp.MustCompile(`call_[a-z0-9]{12}`)

// outcome writes an answer down, deltas joined, so that two can be compared.
func outcome(t *testing.T, m llm.Model) string {
	t.Helper()
	var text, input strings.Builder
	out := ""
	for ev, err := range m.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}) {
		var e *llm.Error
		switch ev := ev.(type) {
		case llm.TextDelta:
			text.WriteString(ev.Text)
		case llm.ThinkingDelta:
			text.WriteString("?" + ev.Text)
		case llm.CallDelta:
			fmt.Fprintf(&input, "%d%s", ev.Index, ev.Input)
		case llm.Done:
			b, _ := json.Marshal(ev.Response)
			out = string(b)
		}
		if errors.As(err, &e) {
			b, _ := json.Marshal(e.Partial)
			out = string(e.Kind) + " " + string(b)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return madeUp.ReplaceAllString(text.String()+"\n"+input.String()+"\n"+out, "made-up")
}

// TestForms sends each stream of the adapters' tests in every form that a
// server, a proxy or a network may give it: what is made of it is the same.
func TestForms(t *testing.T) {
	whole := func(s string) io.Reader { return strings.NewReader(s) }
	forms := map[string]func(string) string{
		"CRLF":     func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"CR":       func(s string) string { return strings.ReplaceAll(s, "\n", "\r") },
		"mark":     func(s string) string { return "\ufeff" + s },
		"comments": func(s string) string { return ": hello\n\n" + strings.ReplaceAll(s, "\n\n", "\n\n: ping\n\n:\n") },
		"no space": func(s string) string { return strings.ReplaceAll(s, "\ndata: ", "\ndata:") },
		"ids":      func(s string) string { return strings.ReplaceAll(s, "\ndata: ", "\nid: 7\nretry: 9\ndata: ") },
		"padding": func(s string) string {
			return strings.Replace(s, "data: {", `data: {"p":"`+strings.Repeat("x", 70_000)+`",`, 1)
		},
		"blanks": func(s string) string { return "\n \r\n" + s },
	}
	n := 0
	for wire := range models("", nil) {
		files, err := filepath.Glob(filepath.Join("..", "..", wire, "testdata", "*.txt"))
		if err != nil || len(files) == 0 {
			t.Fatal("no streams of ", wire)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			body, _, _ := strings.Cut(string(b), "\n-----\n")
			if !strings.HasPrefix(body, "data: {") && !strings.HasPrefix(body, "event: ") {
				continue
			}
			n++
			want := outcome(t, models("http://x.test", canned(whole, body))[wire])
			for name, form := range forms {
				if got := outcome(t, models("http://x.test", canned(whole, form(body)))[wire]); got != want {
					t.Errorf("%s, %s: got %s\nwant %s", f, name, got, want)
				}
			}
			oneByOne := func(s string) io.Reader { return iotest.OneByteReader(strings.NewReader(s)) }
			if got := outcome(t, models("http://x.test", canned(oneByOne, body))[wire]); got != want {
				t.Errorf("%s, byte by byte: got %s\nwant %s", f, got, want)
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d streams", n)
	}
}

// TestLongLine has one data line of 10 MB.
func TestLongLine(t *testing.T) {
	big := strings.Repeat("é", 5<<20)
	m := openai.NewChat("m", openai.Options{BaseURL: "http://x.test", Client: canned(func(s string) io.Reader { return strings.NewReader(s) },
		`data: {"choices":[{"delta":{"content":"`+big+`"},"finish_reason":"stop"}]}`+"\n\n")})
	r, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.UserText("hi")}})
	if err != nil || r.Message.Text() != big {
		t.Errorf("%v", err)
	}
}

// TestCanary lets a server say the key back in every kind of failure: no error
// of any adapter has it.
func TestCanary(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the request went on to another host: %v", r.Header)
	}))
	defer elsewhere.Close()
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Request-Id", secret)
			w.Header().Set("X-Echo", r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"))
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	redirect := func(to string, code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, code) }
	}
	servers := map[string]http.HandlerFunc{
		"refused":             answer(401, `{"error":{"type":"authentication_error","message":"invalid key `+secret+`","code":"`+secret+`","param":"`+secret+`"}}`),
		"plain":               answer(500, "failed for Bearer "+secret),
		"page":                answer(502, "<html><title>"+secret+"</title></html>"),
		"empty":               answer(503, ""),
		"page as an answer":   answer(200, "<html><title>Hello "+secret+"</title></html>"),
		"whole, an error":     answer(200, `{"error":{"message":"`+secret+`"}}`),
		"whole, of no kind":   answer(200, `{"key":"`+secret+`"}`),
		"whole, no JSON":      answer(200, `{"key": `+secret+`}`),
		"whole, cut":          answer(200, `{"key":"`+secret),
		"event, an error":     answer(200, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\""+secret+"\"}}\n\n"),
		"event, no JSON":      answer(200, "data: {"+secret+"}\n\n"),
		"event, wrong":        answer(200, "data: {\"type\":\"content_block_start\",\"content_block\":\""+secret+"\",\"choices\":\""+secret+"\"}\n\n"),
		"stream ends":         answer(200, ": "+secret+"\n\n"),
		"redirect":            redirect(elsewhere.URL+"/"+secret+"?key="+secret, 307),
		"redirect, permanent": redirect(elsewhere.URL+"/v1?key="+secret, 308),
		"redirect to GET":     redirect("/x?key="+secret, 303),
		"redirect to nowhere": redirect("http://127.0.0.1:1/?key="+secret, 307),
		"hangs up":            hijack(t, ""),
		"breaks":              hijack(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ndata: "+secret),
		"speaks no HTTP":      hijack(t, "SSH-2.0-"+secret+"\r\n"),
	}
	for name, h := range servers {
		srv := httptest.NewServer(h)
		for wire, m := range models(srv.URL, nil) {
			_, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.UserText("hi")}})
			var e *llm.Error
			if !errors.As(err, &e) {
				t.Errorf("%s, %s: %v", wire, name, err)
				continue
			}
			b, _ := json.Marshal(e)
			all := fmt.Sprintf("%v %+v %#v %s", err, *e, *e, b)
			for err := error(e); err != nil; err = errors.Unwrap(err) {
				all += fmt.Sprintf(" %v %+v %#v", err, err, err)
			}
			if strings.Contains(all, secret) {
				t.Errorf("%s, %s: the key is in %s", wire, name, all)
			}
		}
		srv.Close()
	}
}

// TestOnePool checks that the adapters share their connections.
func TestOnePool(t *testing.T) {
	var conns atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.HasSuffix(r.URL.Path, "/messages") {
			_, _ = io.WriteString(w, `{"type":"message","stop_reason":"end_turn","content":[{"type":"text","text":"ok"}]}`)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	for range 3 {
		for wire, m := range models(srv.URL, nil) {
			r, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.UserText("hi")}})
			if err != nil || r.Message.Text() != "ok" {
				t.Errorf("%s: %v", wire, err)
			}
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for six requests, one after another", n)
	}
}
