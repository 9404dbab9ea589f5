package ollama_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/ollama"
)

var update = flag.Bool("update", false, "write what is made of the streams into testdata")

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// canned always answers with body.
func canned(body string) *http.Client {
	return &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})}
}

func answer(body string) *ollama.Model {
	return ollama.New("m", ollama.Options{BaseURL: "http://model.test", Client: canned(body)})
}

var hi = &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}

// TestStreams reads testdata/*.txt: an answer, a line of dashes, and what is
// made of it.
func TestStreams(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no answers: ", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			const dashes = "\n-----\n"
			body, want, ok := strings.Cut(string(b), dashes)
			if !ok {
				t.Fatal("no line of dashes")
			}
			got := outcome(answer(body).Stream(t.Context(), hi))
			if *update {
				if err := os.WriteFile(f, []byte(body+dashes+got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if again := outcome(answer(body).Stream(t.Context(), hi)); again != got {
				t.Errorf("the second time:\n%s\nthe first:\n%s", again, got)
			}
		})
	}
}

// outcome writes down a stream: the response or the error, and whether the
// deltas are what the response has.
func outcome(seq func(func(llm.Event, error) bool)) string {
	var b, text, thinking strings.Builder
	calls := map[int]string{}
	for ev, err := range seq {
		var e *llm.Error
		switch ev := ev.(type) {
		case llm.TextDelta:
			text.WriteString(ev.Text)
		case llm.ThinkingDelta:
			thinking.WriteString(ev.Text)
		case llm.CallDelta:
			calls[ev.Index] += ev.Input
		case llm.Done:
			transcript(&b, ev.Response)
			if got := ev.Response.Message.Text(); got != text.String() {
				fmt.Fprintf(&b, "but the text deltas are %q\n", text.String())
			}
		}
		if errors.As(err, &e) {
			fmt.Fprintf(&b, "error %s: %s\n", e.Kind, e.Message)
			if e.Partial != nil {
				transcript(&b, e.Partial)
			}
		} else if err != nil {
			fmt.Fprintf(&b, "error %v\n", err)
		}
	}
	for i := range len(calls) {
		fmt.Fprintf(&b, "call deltas %s\n", calls[i])
	}
	return b.String()
}

func transcript(b *strings.Builder, r *llm.Response) {
	for _, p := range r.Message.Parts {
		switch p := p.(type) {
		case llm.Text:
			fmt.Fprintf(b, "text %q\n", p.Text)
		case llm.Thinking:
			fmt.Fprintf(b, "thinking %q\n", p.Text)
		case llm.ToolCall:
			fmt.Fprintf(b, "call %s %s %s\n", p.ID, p.Name, p.Input)
			if p.Malformed != "" {
				fmt.Fprintf(b, "malformed %q\n", p.Malformed)
			}
		case llm.Native:
			fmt.Fprintf(b, "native %s %s\n", p.Kind, p.Raw)
		}
	}
	fmt.Fprintf(b, "stop %s (%s)\n", r.Stop, r.StopRaw)
	if u := r.Usage; u != nil {
		fmt.Fprintf(b, "usage in %d out %d read %d reasoning %d, reported in %d\n", u.Input, u.Output, u.CacheRead, u.Reasoning, r.Reported.Input)
	}
}

// FuzzStream holds that whatever a server sends is an answer or an error, and
// that an answer can go back.
func FuzzStream(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		body, _, _ := strings.Cut(string(b), "\n-----\n")
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		resp, err := llm.Generate(t.Context(), answer(body), hi)
		var e *llm.Error
		if err != nil {
			if !errors.As(err, &e) || e.Kind == "" {
				t.Fatalf("error %v", err)
			}
			return
		}
		seen := map[string]bool{}
		for _, c := range resp.Message.Parts.Calls() {
			if c.ID == "" || seen[c.ID] {
				t.Fatalf("the id %q is empty or used twice", c.ID)
			}
			seen[c.ID] = true
		}
		sent(t, ollama.Options{}, &llm.Request{Messages: []llm.Message{llm.UserText("hi"), resp.Message, llm.UserText("go on")}})
	})
}

// A field that the server refuses by its name is sent otherwise or left out, once
// and for good; of an effort in words first the word. The window is not.
func TestRefusedFields(t *testing.T) {
	half := 0.5
	for name, tt := range map[string]struct {
		refuse func(body string) string // what is wrong with it; "" is nothing
		bodies int                      // that are sent for two requests
		last   string                   // is in the last
		lacks  string
		fails  bool
	}{
		"levels": {func(b string) string {
			if strings.Contains(b, `"think":"`) {
				return `think value \"high\" is not supported for this model`
			}
			return ""
		}, 3, `"think":true`, "", false},
		"thinking": {func(b string) string {
			switch {
			case strings.Contains(b, `"think":"`):
				return `think value \"high\" is not supported for this model`
			case strings.Contains(b, `"think"`):
				return `\"m\" does not support thinking`
			}
			return ""
		}, 4, "num_ctx", `"think"`, false},
		"temperature": {func(b string) string {
			if strings.Contains(b, "temperature") {
				return "unsupported parameter: temperature"
			}
			return ""
		}, 3, "num_ctx", "temperature", false},
		"keep_alive": {func(b string) string {
			if strings.Contains(b, "keep_alive") {
				return "keep_alive is not allowed here"
			}
			return ""
		}, 3, "num_ctx", "keep_alive", false},
		"window": {func(b string) string {
			if strings.Contains(b, "num_ctx") {
				return "unknown option num_ctx"
			}
			return ""
		}, 2, "num_ctx", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			var bodies []string
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				bodies = append(bodies, string(b))
				if wrong := tt.refuse(string(b)); wrong != "" {
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, `{"error":"`+wrong+`"}`)
					return
				}
				_, _ = io.WriteString(w, `{"message":{"content":"ok"},"done":true}`)
			}))
			defer srv.Close()
			for range 2 { // what one model is taught, another at the same address knows
				m := ollama.New("m", ollama.Options{BaseURL: srv.URL, KeepAlive: -1, Info: llm.Info{Traits: llm.Traits{Thinking: true, ThinkingStyle: "levels"}}})
				_, err := llm.Generate(t.Context(), m, &llm.Request{Messages: hi.Messages, Effort: llm.EffortHigh, Temperature: &half})
				if (err != nil) != tt.fails {
					t.Error(err)
				}
			}
			if last := bodies[len(bodies)-1]; len(bodies) != tt.bodies || !strings.Contains(last, tt.last) || tt.lacks != "" && strings.Contains(last, tt.lacks) {
				t.Errorf("%d requests, the last %s", len(bodies), last)
			}
		})
	}
}

func ExampleNew() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"message":{"content":"Scattering."},"done":true,"done_reason":"stop"}`)
	}))
	defer srv.Close()
	m := ollama.New("qwen3:4b", ollama.Options{BaseURL: srv.URL})
	resp, err := llm.Generate(context.Background(), m, &llm.Request{Messages: []llm.Message{llm.UserText("Why is the sky blue?")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Message.Text())
	// Output: Scattering.
}
