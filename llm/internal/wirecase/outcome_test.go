package wirecase_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/bedrock"
	"github.com/cantle-dev/cantle/llm/cohere"
	"github.com/cantle-dev/cantle/llm/gemini"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
	"github.com/cantle-dev/cantle/llm/ollama"
	"github.com/cantle-dev/cantle/llm/openai"
)

// model is the adapter for an exchange.
func model(x *wirecase.Exchange, base string, rt http.RoundTripper) llm.Model {
	info := llm.Info{Provider: x.Provider, Traits: llm.Traits{Images: true, PDF: true, Thinking: true, Schema: true}}
	name, key := x.Model(), "key-for-tests"
	client := &http.Client{Transport: rt}
	switch x.Wire {
	case "anthropic":
		return anthropic.New(name, anthropic.Options{BaseURL: base, APIKey: key, Info: info, Client: client})
	case "openai-chat", "mistral":
		return openai.NewChat(name, openai.Options{BaseURL: base, APIKey: key, Info: info, Client: client})
	case "openai-responses":
		return openai.NewResponses(name, openai.Options{BaseURL: base, APIKey: key, Info: info, Client: client})
	case "gemini":
		return gemini.New(name, gemini.Options{BaseURL: base, APIKey: key, Info: info, Client: client})
	case "cohere":
		return cohere.New(name, cohere.Options{BaseURL: base, APIKey: key, Info: info, Client: client})
	case "ollama":
		return ollama.New(name, ollama.Options{BaseURL: base, Info: info, Client: client})
	case "bedrock":
		o := bedrock.Options{BaseURL: base, APIKey: key, Region: "us-east-1", Info: info, Client: client, NoStream: x.API == "converse" || x.API == "invoke"}
		if strings.HasPrefix(x.API, "invoke") {
			return bedrock.NewAnthropic(name, o)
		}
		return bedrock.New(name, o)
	}
	return nil
}

// outcome is what an adapter makes of an answer.
type outcome struct {
	resp   *llm.Response // also of what came before an error
	err    error
	e      *llm.Error
	deltas string
	panic  string
}

// ask gives the adapter of x an answer.
func ask(t *testing.T, x *wirecase.Exchange, rt http.RoundTripper) (o outcome) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			o.panic = fmt.Sprintf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req := &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}
	resp, deltas, err := wirecase.Drain(model(x, "http://wire.test", rt).Stream(ctx, req))
	o = outcome{resp: resp, err: err, deltas: deltas[0]}
	if errors.As(err, &o.e) {
		o.resp = o.e.Partial
	}
	return o
}

// kind is that of the error; "" if there was none.
func (o outcome) kind() string {
	switch {
	case o.panic != "":
		return "panic"
	case o.err == nil:
		return ""
	case o.e == nil:
		return "no llm.Error: " + o.err.Error()
	}
	return string(o.e.Kind)
}

var stops = []llm.StopReason{
	llm.StopEnd, llm.StopToolUse, llm.StopMaxTokens, llm.StopSequence, llm.StopRefusal,
	llm.StopContentFilter, llm.StopPause, llm.StopError, llm.StopOther,
}

// sane finds what no answer, however broken, may be made into.
func (o outcome) sane() string {
	if o.panic != "" {
		return o.panic
	}
	if o.err != nil && (o.e == nil || o.e.Kind == "" || o.e.Message == "" && o.e.Err == nil) {
		return fmt.Sprintf("the error says too little: %#v", o.err)
	}
	if o.err == nil && o.resp == nil {
		return "neither an answer nor an error"
	}
	if o.resp == nil {
		return ""
	}
	// Ollama has words of its own.
	if !slices.Contains(stops, o.resp.Stop) && (o.resp.Message.Origin.Wire != ollama.Wire || string(o.resp.Stop) != o.resp.StopRaw) {
		return fmt.Sprintf("stop %q", o.resp.Stop)
	}
	ids := map[string]bool{}
	for _, c := range o.resp.Message.Parts.Calls() {
		var obj map[string]any
		switch {
		case c.ID == "" || ids[c.ID]:
			return fmt.Sprintf("the id %q of a call", c.ID)
		case c.Custom && json.Unmarshal(c.Input, new(string)) != nil, !c.Custom && (json.Unmarshal(c.Input, &obj) != nil || obj == nil):
			return fmt.Sprintf("the input %s", c.Input)
		}
		ids[c.ID] = true
	}
	if _, err := json.Marshal(o.resp.Message); err != nil {
		return err.Error()
	}
	return ""
}

// form is the outcome as text, to be compared. loose leaves out ids and what
// goes back as it came.
func (o outcome) form(loose bool) string {
	var b strings.Builder
	if o.panic != "" {
		return o.panic
	}
	if o.e != nil {
		fmt.Fprintf(&b, "error %s %d %q %q %q %v retry=%v\n", o.e.Kind, o.e.Status, o.e.Code, o.e.Type, o.e.Message, o.e.RetryAfter, o.e.Retryable())
	} else if o.err != nil {
		fmt.Fprintln(&b, "error", o.err)
	}
	r := o.resp
	if r == nil {
		return b.String()
	}
	text, thinking := "", ""
	var rest []string
	for _, p := range r.Message.Parts {
		switch p := p.(type) {
		case llm.Text:
			text += p.Text
		case llm.Thinking:
			thinking += p.Text + p.Signature
		case llm.ToolCall:
			id := p.ID
			if loose {
				id = ""
			}
			rest = append(rest, fmt.Sprintf("call %s %q %s custom=%v malformed=%q", id, p.Name, canonical(p.Input), p.Custom, p.Malformed))
		case llm.Native:
			if !strings.HasPrefix(p.Kind, "zz") {
				rest = append(rest, "native "+p.Kind)
			}
		default:
			rest = append(rest, fmt.Sprintf("%T", p))
		}
	}
	fmt.Fprintf(&b, "text %q\nthinking %q\n%s\n", text, strings.Join(strings.Fields(thinking), " "), strings.Join(rest, "\n"))
	fmt.Fprintf(&b, "stop %s %q %q\nusage %s %s\n", r.Stop, r.StopRaw, r.StopDetail, canonical(must(r.Usage)), canonical(must(r.Reported)))
	if !loose {
		parts, _ := json.Marshal(r.Message.Parts) // sane looked at it
		fmt.Fprintf(&b, "deltas %q\nmodel %q id %q\n%s\n", o.deltas, r.Model, r.ID, canonical(parts))
	}
	return b.String()
}

func must(v any) []byte {
	b, _ := json.Marshal(v) // counters marshal
	return b
}

// canonical is JSON with its fields in order; what is none is itself.
func canonical(b []byte) string {
	var v any
	if json.Unmarshal(b, &v) != nil {
		return string(b)
	}
	return string(must(v))
}

// made reports whether ids in the answer were made up: they differ each time.
func (o outcome) made(body []byte) bool {
	if o.resp == nil {
		return false
	}
	for _, c := range o.resp.Message.Parts.Calls() {
		if !strings.Contains(string(body), c.ID) {
			return true
		}
	}
	return false
}
