package wirecase

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/llm"
)

// dashes stand between an answer and what is made of it.
const dashes = "\n-----\n"

// Hi is a request that says no more than that.
func Hi() *llm.Request {
	return &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}
}

// Golden holds what is made of answers: each file that matches the pattern has
// an answer, a line of dashes, and the [Outcome] of a request to the model that
// open makes, which is to be answered so. With update the outcomes are written
// into the files instead.
func Golden(t *testing.T, pattern string, update bool, open func(t *testing.T, file, answer string) llm.Model) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal("no answers: ", pattern, err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			answer, want, ok := strings.Cut(string(b), dashes)
			if !ok {
				t.Fatal("no line of dashes")
			}
			got := Outcome(open(t, filepath.Base(f), answer).Stream(t.Context(), Hi()))
			switch {
			case !update:
				if got != want {
					t.Errorf("got:\n%s\nwant:\n%s", got, want)
				}
				if again := Outcome(open(t, filepath.Base(f), answer).Stream(t.Context(), Hi())); again != got {
					t.Errorf("the second time:\n%s\nthe first:\n%s", again, got)
				}
			default:
				if err := os.WriteFile(f, []byte(answer+dashes+got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Answer is that of a file of [Golden].
func Answer(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	answer, _, _ := strings.Cut(string(b), dashes)
	return answer
}

// Seeds adds the answers of the files of [Golden] to what a fuzz target begins
// with.
func Seeds(f *testing.F, pattern string) {
	files, _ := filepath.Glob(pattern)
	for _, file := range files {
		f.Add(Answer(f, file))
	}
}

// Canned is a transport that answers each request in the same way.
type Canned struct {
	Status int // 0 is 200
	Header http.Header
	Body   string
}

// RoundTrip is [http.RoundTripper].RoundTrip.
func (c Canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	h := c.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	status := c.Status
	if status == 0 {
		status = http.StatusOK
	}
	return &http.Response{StatusCode: status, Header: h, Request: r, Body: io.NopCloser(strings.NewReader(c.Body))}, nil
}

// Client is a client with that transport.
func (c Canned) Client() *http.Client { return &http.Client{Transport: c} }

// Outcome writes down a stream: the response, or the error and what came before
// it, and the deltas where they are not what the response has.
func Outcome(seq iter.Seq2[llm.Event, error]) string {
	var b, text, thinking strings.Builder
	calls := map[int]string{}
	for ev, err := range seq {
		var r *llm.Response
		switch ev := ev.(type) {
		case llm.TextDelta:
			text.WriteString(ev.Text)
		case llm.ThinkingDelta:
			thinking.WriteString(ev.Text)
		case llm.CallDelta:
			calls[ev.Index] += ev.Input
		case llm.Done:
			r = ev.Response
		}
		var e *llm.Error
		if errors.As(err, &e) {
			fmt.Fprintf(&b, "error %s: %s\n", e.Kind, e.Message)
			r = e.Partial
		} else if err != nil {
			fmt.Fprintf(&b, "error %v\n", err)
		}
		if r != nil {
			transcript(&b, r)
			deltas(&b, r, text.String(), thinking.String(), calls)
		}
	}
	return b.String()
}

// deltas writes down those that are not what came of them.
func deltas(b *strings.Builder, r *llm.Response, text, thinking string, calls map[int]string) {
	thought := ""
	for _, p := range r.Message.Parts {
		if t, ok := p.(llm.Thinking); ok {
			thought += t.Text
		}
	}
	if r.Message.Text() != text {
		fmt.Fprintf(b, "but the deltas are %q\n", text)
	}
	if thought != thinking {
		fmt.Fprintf(b, "but the deltas of thinking are %q\n", thinking)
	}
	n := len(calls)
	for i, c := range r.Message.Parts.Calls() {
		n--
		was, is := calls[i], string(c.Input)
		if s := ""; c.Custom && json.Unmarshal(c.Input, &s) == nil {
			is = s
		}
		if was != is && was != c.Malformed && was+is != "{}" {
			fmt.Fprintf(b, "but the deltas of call %d are %q\n", i, was)
		}
	}
	if n != 0 {
		fmt.Fprintf(b, "but there are deltas of %d calls\n", len(calls))
	}
}

// madeUp are ids that an adapter made up, which differ from run to run.
var madeUp = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:call_[0-9a-zA-Z]{12}|gemini_[0-9a-z]{16})(_\d+)$`)
})

func transcript(b *strings.Builder, r *llm.Response) {
	line := func(kind string, more ...string) {
		b.WriteString(kind)
		for _, m := range more {
			if m != "" {
				b.WriteString(" " + m)
			}
		}
		b.WriteByte('\n')
	}
	quoted := func(s string) string { return fmt.Sprintf("%q", s) }
	for _, p := range r.Message.Parts {
		switch p := p.(type) {
		case llm.Text:
			line("text", quoted(p.Text), string(p.Raw))
		case llm.Thinking:
			line("thinking", quoted(p.Text), p.Signature, string(p.Raw))
		case llm.Blob:
			line("blob", p.MIME, quoted(string(p.Data)), p.URL)
		case llm.ToolCall:
			custom, malformed := "", ""
			if p.Custom {
				custom = "custom"
			}
			if p.Malformed != "" {
				malformed = "malformed " + quoted(p.Malformed)
			}
			line("call", madeUp().ReplaceAllString(p.ID, "made-up$1"), p.Name, string(p.Input), string(p.Raw), custom, malformed)
		case llm.Native:
			line("native", p.Kind, string(p.Raw))
		}
	}
	line("stop", string(r.Stop), "("+r.StopRaw+")", r.StopDetail)
	if r.Usage != nil {
		line("usage " + counts(r.Usage))
		if r.Reported != nil && *r.Reported != *r.Usage {
			line("as sent " + counts(r.Reported))
		}
	}
}

// counts are those of u that are not 0, but for the first two.
func counts(u *llm.Usage) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "in %d out %d", u.Input, u.Output)
	for _, c := range []struct {
		name string
		n    int64
	}{
		{"read", u.CacheRead},
		{"write", u.CacheWrite},
		{"1h", u.CacheWrite1h},
		{"reasoning", u.Reasoning},
		{"tools", u.ToolPrompt},
		{"searches", u.Searches},
	} {
		if c.n != 0 {
			fmt.Fprintf(&b, " %s %d", c.name, c.n)
		}
	}
	return b.String()
}
