package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/openai"
)

// responses makes a model that is always answered with body.
func responses(body string, opts openai.Options) *openai.Responses {
	opts.Client = &http.Client{Transport: canned(body)}
	opts.BaseURL = "http://responses.test/v1"
	return openai.NewResponses("m", opts)
}

// TestResponsesStreams reads testdata/responses/*.txt: an answer, a line of
// dashes, and what is made of it. Files whose names begin with xai are of that
// provider.
func TestResponsesStreams(t *testing.T) {
	files, err := filepath.Glob("testdata/responses/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no exchanges: ", err)
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
			var opts openai.Options
			if strings.HasPrefix(filepath.Base(f), "xai") {
				opts.Info.Provider = "xai"
			}
			got := responsesOutcome(responses(body, opts).Stream(t.Context(), hi))
			if *update {
				if err := os.WriteFile(f, []byte(body+dashes+got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// responsesOutcome writes down a stream: its deltas where they differ from what
// came of them, and the response or the error.
func responsesOutcome(seq func(func(llm.Event, error) bool)) string {
	var b, text, thinking strings.Builder
	inputs := map[int]string{}
	for ev, err := range seq {
		var e *llm.Error
		switch ev := ev.(type) {
		case llm.TextDelta:
			text.WriteString(ev.Text)
		case llm.ThinkingDelta:
			thinking.WriteString(ev.Text)
		case llm.CallDelta:
			inputs[ev.Index] += ev.Input
		case llm.Done:
			r := ev.Response
			responsesTranscript(&b, r)
			if got := r.Message.Text(); got != text.String() {
				fmt.Fprintf(&b, "but the deltas are %q\n", text.String())
			}
			for i, c := range r.Message.Parts.Calls() {
				var s string
				if !c.Custom || json.Unmarshal(c.Input, &s) != nil {
					s = string(c.Input)
				}
				if d := inputs[i]; d != s && c.Malformed == "" && (d != "" || s != "{}") {
					fmt.Fprintf(&b, "but the deltas of call %d are %q\n", i, d)
				}
			}
		}
		if errors.As(err, &e) {
			fmt.Fprintf(&b, "error %s: %s\n", e.Kind, e.Message)
			if e.Partial != nil {
				responsesTranscript(&b, e.Partial)
			}
		} else if err != nil {
			fmt.Fprintf(&b, "error %v\n", err)
		}
	}
	if thinking.Len() > 0 {
		fmt.Fprintf(&b, "thinking deltas %q\n", thinking.String())
	}
	return b.String()
}

func responsesTranscript(b *strings.Builder, r *llm.Response) {
	for _, p := range r.Message.Parts {
		switch p := p.(type) {
		case llm.Text:
			fmt.Fprintf(b, "text %q %s\n", p.Text, p.Raw)
		case llm.Thinking:
			fmt.Fprintf(b, "thinking %q %s\n", p.Text, p.Raw)
		case llm.ToolCall:
			if rest, ok := strings.CutPrefix(p.ID, "call_"); ok && len(rest) == 14 {
				p.ID = "made-up" + rest[12:]
			}
			fmt.Fprintf(b, "call %s %s %s %s", p.ID, p.Name, p.Input, p.Raw)
			if p.Custom {
				b.WriteString(" custom")
			}
			if p.Malformed != "" {
				fmt.Fprintf(b, " malformed %q", p.Malformed)
			}
			b.WriteString("\n")
		case llm.Native:
			fmt.Fprintf(b, "native %s %s\n", p.Kind, p.Raw)
		}
	}
	fmt.Fprintf(b, "stop %s (%s) %s\n", r.Stop, r.StopRaw, r.StopDetail)
	if u := r.Usage; u != nil {
		fmt.Fprintf(b, "usage in %d out %d read %d write %d reasoning %d\n", u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning)
	}
}
