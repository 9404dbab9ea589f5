package wirecase_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
)

// marks are the end marks of the wires.
var marks = map[string]*regexp.Regexp{
	"anthropic":        regexp.MustCompile(`"message_stop"`),
	"openai-chat":      regexp.MustCompile(`"finish_reason": ?"[^"]|\[DONE\]`),
	"mistral":          regexp.MustCompile(`"finish_reason": ?"[^"]|\[DONE\]`),
	"openai-responses": regexp.MustCompile(`"response\.(completed|incomplete)"|\[DONE\]`),
	"gemini":           regexp.MustCompile(`"finishReason"|"blockReason"`),
	"cohere":           regexp.MustCompile(`"message-end"`),
	"ollama":           regexp.MustCompile(`"done": ?true`),
}

// TestCuts: an answer that is cut is the whole answer, if its end mark came, or
// it is known to be cut; and no call of it runs with a part of its arguments.
func TestCuts(t *testing.T) {
	eachAnswer(t, func(t *testing.T, r *rand.Rand, x *wirecase.Exchange) {
		f := split(x)
		if f.form == "" || x.Status() >= 300 {
			return
		}
		body, ends := f.join(style{})
		want := ask(t, x, as(x, body))
		var cuts []int
		for _, e := range ends {
			cuts = append(cuts, e, e+1, e+2, e-1)
		}
		for range few(10, 300) {
			cuts = append(cuts, r.IntN(len(body)))
		}
		r.Shuffle(len(cuts), func(i, j int) { cuts[i], cuts[j] = cuts[j], cuts[i] })
		for _, cut := range cuts[:min(len(cuts), few(12, 3000))] {
			if cut <= 0 || cut >= len(body) {
				continue
			}
			for _, broken := range []bool{false, true} {
				s := as(x, body[:cut])
				s.broken = broken
				if fault := isCut(x, f, ends, cut, want, ask(t, x, s)); fault != "" {
					t.Errorf("cut at %d of %d (broken %v): %s: after …%q", cut, len(body), broken, fault, body[max(0, cut-200):cut])
					return
				}
			}
		}
	})
}

func isCut(x *wirecase.Exchange, f framed, ends []int, cut int, want, got outcome) string {
	if s := got.sane(); s != "" {
		return s
	}
	ended := false
	for i, e := range f.events {
		if ends[i] > cut+1 {
			break
		}
		switch {
		case f.form == "json":
			ended = ends[i] <= cut
		case f.form == "frames" && !e.chunk:
			ended = ended || e.name == "messageStop"
		case e.chunk:
			ended = ended || marks["anthropic"].Match(e.data)
		default:
			ended = ended || marks[x.Wire].Match(e.data)
		}
	}
	switch kind := got.kind(); kind {
	case "":
		if !ended {
			return "a success without the end mark"
		}
		// What follows the end mark may be an error, or, of the wires whose mark
		// is no event of its own, some text.
		if want.err == nil && !strings.HasPrefix(want.resp.Message.Text(), got.resp.Message.Text()) {
			return "a success with another text: " + got.resp.Message.Text()
		}
	case "stream_truncated":
	default:
		if want.kind() != kind && (want.err == nil || kind != "stream_error") {
			return "the kind is " + kind + ": " + got.err.Error()
		}
	}
	if got.resp == nil {
		if got.deltas != "" {
			return "what came is not in the error"
		}
		return ""
	}
	if want.resp == nil {
		return ""
	}
	whole := want.resp.Message.Parts.Calls()
	for i, c := range got.resp.Message.Parts.Calls() {
		if c.Malformed != "" {
			continue
		}
		if i >= len(whole) || whole[i].Name != c.Name || canonical(whole[i].Input) != canonical(c.Input) {
			return "the call " + c.Name + " " + string(c.Input) + " is not what it is to be"
		}
	}
	if got.e != nil && got.resp.Stop != llm.StopError {
		return "the stop of what came is " + string(got.resp.Stop)
	}
	return ""
}
