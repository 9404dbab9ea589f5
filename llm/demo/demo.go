// Package demo is a stand-in for a language model, for trying everything else
// with no key and no network. It understands nothing: it follows a fixed script
// that looks for files, reads some, runs a harmless command, and reports what
// the tools returned. The loop, the tools, the permissions and the journal
// that it drives are the real ones.
//
//	m := demo.New("offline")
//	fmt.Println(m.Info().Traits.StandIn) // true: every surface says so
//
// What it answers is a function of the request alone: the same request always
// gets the same answer, and the script's progress is read from the calls and
// the results in the request's messages.
package demo

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/llm"
)

// New makes the stand-in. It is free, and says that it is a stand-in. It takes
// a [llm.Request.Schema], and fills it in with a value that fits it.
func New(name string) llm.Model {
	return model{llm.Info{
		Provider: "demo", Name: name, Wire: "demo", Context: 200_000, Output: 8_192,
		Price: &llm.Price{}, Traits: llm.Traits{StandIn: true, Schema: true},
	}}
}

type model struct{ info llm.Info }

func (m model) Info() llm.Info { return m.info }

// Stream is [llm.Model].Stream.
func (m model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	var used atomic.Bool
	return func(yield func(llm.Event, error) bool) {
		if used.Swap(true) {
			yield(nil, llm.ErrUsed)
			return
		}
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return
		}
		resp := m.respond(req)
		for ev := range deltas(resp.Message.Parts) {
			if ctx.Err() != nil {
				yield(nil, context.Cause(ctx))
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
		yield(llm.Done{Response: resp}, nil)
	}
}

func (m model) respond(req *llm.Request) *llm.Response {
	id := identify(req)
	parts := newScript(req, id).next()
	resp := &llm.Response{ID: id, Model: m.info.Name, Stop: llm.StopEnd}
	if len(parts.Calls()) > 0 {
		resp.Stop = llm.StopToolUse
	} else {
		parts, resp.Stop, resp.StopDetail = cut(parts, req)
	}
	resp.Message = llm.Message{
		Role: llm.RoleAssistant, Parts: parts,
		Origin: &llm.Origin{Provider: m.info.Provider, Model: m.info.Name, Wire: m.info.Wire},
	}
	used := llm.Usage{Input: int64(llm.Estimate(req)), Output: int64(resp.Message.Estimate())}
	reported := used
	resp.Usage, resp.Reported = &used, &reported
	return resp
}

// identify makes an id from all that was said and called so far, so that no
// two responses of a conversation have the same.
func identify(req *llm.Request) string {
	h := fnv.New64a()
	var add func(ps llm.Parts)
	add = func(ps llm.Parts) {
		for _, p := range ps {
			switch p := p.(type) {
			case llm.Text:
				fmt.Fprintf(h, "t%q", p.Text)
			case llm.ToolCall:
				fmt.Fprintf(h, "c%q", p.ID)
			case llm.ToolResult:
				fmt.Fprintf(h, "r%q", p.CallID)
				add(p.Parts)
			}
		}
	}
	for _, m := range req.Messages {
		fmt.Fprintf(h, "m%s", m.Role)
		add(m.Parts)
	}
	return fmt.Sprintf("demo_%016x", h.Sum64())
}

// cut applies the request's bounds to a text.
func cut(parts llm.Parts, req *llm.Request) (llm.Parts, llm.StopReason, string) {
	text := parts.Text()
	stop, detail, end := llm.StopEnd, "", len(text)
	for _, s := range req.Stop {
		if i := strings.Index(text[:end], s); s != "" && i >= 0 {
			stop, detail, end = llm.StopSequence, s, i
		}
	}
	if most := req.MaxTokens * 3; req.MaxTokens > 0 && most < end { // a token has more than 3 bytes
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		stop, detail, end = llm.StopMaxTokens, "", most
	}
	if end == len(text) {
		return parts, llm.StopEnd, ""
	}
	return llm.Texts(text[:end]), stop, detail
}

// deltas streams parts as a model does: texts in pieces of a few words.
func deltas(parts llm.Parts) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		calls := 0
		for _, p := range parts {
			switch p := p.(type) {
			case llm.Text:
				for piece := range pieces(p.Text) {
					if !yield(llm.TextDelta{Text: piece}) {
						return
					}
				}
			case llm.ToolCall:
				if !yield(llm.CallDelta{Index: calls, ID: p.ID, Name: p.Name, Input: string(p.Input)}) {
					return
				}
				calls++
			}
		}
	}
}

// pieces breaks a text after blanks.
func pieces(text string) iter.Seq[string] {
	const least = 16
	return func(yield func(string) bool) {
		for text != "" {
			n := len(text)
			if n > least {
				if i := strings.IndexAny(text[least:], " \n"); i >= 0 {
					n = least + i + 1
				}
			}
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

// step is one of the script's own calls and what came of it.
type step struct {
	purpose purpose
	call    llm.ToolCall
	result  llm.ToolResult
	done    bool // there is a result
}

// text is the result's text, with the line ends of Unix.
func (s step) text() string { return strings.ReplaceAll(s.result.Parts.Text(), "\r\n", "\n") }

func (s step) ok() bool { return s.done && !s.result.IsError }

// history finds what the user last asked, and what the script did since.
func history(ms []llm.Message) (prompt string, steps []step) {
	for _, m := range ms {
		if m.Role == llm.RoleUser {
			if text := typed(m); text != "" {
				prompt, steps = text, nil
			}
		}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.ToolCall:
				if purpose, ok := purposeOf(p.ID); ok {
					steps = append(steps, step{purpose: purpose, call: p})
				}
			case llm.ToolResult:
				i := slices.IndexFunc(steps, func(s step) bool { return s.call.ID == p.CallID })
				if i >= 0 {
					steps[i].result, steps[i].done = p, true
				}
			}
		}
	}
	return prompt, steps
}

// typed is what a user's message says but for notices, which programs put
// there in brackets or between tags.
func typed(m llm.Message) string {
	var out []string
	for _, p := range m.Parts {
		t, ok := p.(llm.Text)
		if !ok {
			continue
		}
		s := strings.TrimSpace(t.Text)
		if s == "" || s[0] == '[' && strings.HasSuffix(s, "]") || s[0] == '<' && strings.HasSuffix(s, ">") {
			continue
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}
