package wrap

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/llm"
)

// Salvage takes tool calls that a model writes as text for what they are, as
// many local models do whose server does not know their form: JSON as it is or
// in a block of code, <tool_call>, <function=…>, [TOOL_CALLS], <|python_tag|>,
// [name(a=1)], "Action:" and others. It is for models of which that is known,
// and only for requests that have tools.
//
// An answer that shows or explains a call is none: a call without a marker must
// be of a tool of the request, with all the arguments that it needs and none
// that it does not have; in running text, in quoted code, and beside words that
// speak of an example nothing is a call. A call that is marked and of a name
// that the request does not have is passed on, so that it is answered with the
// names that there are. What is cut or broken is never mended into a call that
// runs: where it is marked it becomes one whose Malformed is set, and else it
// stays text.
//
// Text that may become a call is held back until that is clear; all other text
// streams on at once. A response with calls of its own is left as it is. For
// each call it yields an [llm.Notice] of the kind "salvage".
func Salvage(m llm.Model) llm.Model { return &salvage{m} }

type salvage struct{ llm.Model }

// Unwrap returns the model inside.
func (s *salvage) Unwrap() llm.Model { return s.Model }

// Stream is [llm.Model].Stream.
func (s *salvage) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	if len(req.Tools) == 0 || req.ToolChoice.Mode == llm.ChoiceNone {
		return s.Model.Stream(ctx, req)
	}
	return once(func(yield func(llm.Event, error) bool) {
		h := newHold(req.Tools)
		for ev, err := range s.Model.Stream(ctx, req) {
			if err != nil {
				yield(nil, err) // what is held back was not shown, and is no call
				return
			}
			switch e := ev.(type) {
			case llm.TextDelta:
				if t := h.feed(e.Text); t != "" && !yield(llm.TextDelta{Text: t}, nil) {
					return
				}
				continue
			case llm.CallDelta:
				if t := h.release(); t != "" && !yield(llm.TextDelta{Text: t}, nil) {
					return
				}
			case llm.Done:
				s.done(e, h, len(req.Messages), yield)
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
	})
}

// done ends a stream: with what was held back, as calls or as text.
func (s *salvage) done(d llm.Done, h *hold, place int, yield func(llm.Event, error) bool) {
	if d.Response == nil {
		yield(d, nil)
		return
	}
	text := d.Response.Message.Text()
	silent := h.total() == "" // a model that streams no deltas
	if silent {
		h.feed(text)
	}
	var calls []leak
	rest := h.tail()
	switch d.Response.Stop {
	case llm.StopRefusal, llm.StopContentFilter, llm.StopError:
	default:
		if len(d.Response.Message.Parts.Calls()) == 0 && h.total() == text {
			rest, calls = h.finish()
		}
	}
	if rest != "" && !silent && !yield(llm.TextDelta{Text: rest}, nil) {
		return
	}
	if len(calls) == 0 {
		yield(d, nil)
		return
	}
	r := *d.Response
	r.Message = llm.Message{Role: r.Message.Role, Parts: without(r.Message.Parts, h.shown.String()+rest), Origin: r.Message.Origin}
	for i, c := range calls {
		call := llm.ToolCall{ID: fmt.Sprintf("text%d_%d", place, i+1), Name: c.name, Input: c.args}
		if c.broken != "" {
			call.Input, call.Malformed = json.RawMessage("{}"), c.broken
		}
		if own, ok := h.tools.find(c.name); ok {
			call.Name = own
		}
		r.Message.Parts = append(r.Message.Parts, call)
		in := string(c.args)
		if c.broken != "" {
			in = c.broken
		}
		if !yield(salvaged(call), nil) || !yield(llm.CallDelta{Index: i, ID: call.ID, Name: call.Name, Input: in}, nil) {
			return
		}
	}
	if r.Stop != llm.StopMaxTokens {
		r.Stop = llm.StopToolUse
	}
	yield(llm.Done{Response: &r}, nil)
}

func salvaged(c llm.ToolCall) llm.Notice {
	n := llm.Notice{Kind: "salvage", Text: fmt.Sprintf("the model wrote a call of %s as text: it is taken as a call", c.Name)}
	if c.Malformed != "" {
		n.Text = fmt.Sprintf("the model wrote a call of %s as text, and broke it off: it is not run", c.Name)
	}
	n.Data, _ = json.Marshal(map[string]any{"name": c.Name, "id": c.ID, "malformed": c.Malformed != ""})
	return n
}

// without is ps with one text in the place of all.
func without(ps llm.Parts, text string) llm.Parts {
	out := make(llm.Parts, 0, len(ps)+1)
	for _, p := range ps {
		if _, ok := p.(llm.Text); !ok {
			out = append(out, p)
			continue
		}
		if strings.TrimSpace(text) != "" {
			out = append(out, llm.Text{Text: text})
		}
		text = ""
	}
	return out
}

// hold is the text of one response as it comes.
type hold struct {
	tools *toolbox
	sc    scanner
	shown strings.Builder // what was let through
	blank string          // blanks after it, and
	pend  string          // what it is not clear of yet whether a call begins there
	held  strings.Builder // all from where one may begin
	hold  bool
	off   bool // the response has calls of its own
}

func newHold(tools []llm.ToolSpec) *hold {
	b := newToolbox(tools)
	return &hold{tools: b, sc: scanner{known: b.known}}
}

// total is all of the text so far.
func (h *hold) total() string { return h.shown.String() + h.tail() }

// tail is what was not let through.
func (h *hold) tail() string { return h.blank + h.held.String() + h.pend }

// feed takes a piece of the text and returns what can be shown.
func (h *hold) feed(s string) string {
	switch {
	case h.off:
		h.shown.WriteString(s)
		return s
	case h.hold:
		h.held.WriteString(s)
		return ""
	}
	h.pend += s
	return h.scan(false)
}

func (h *hold) scan(whole bool) string {
	i, v := h.sc.next(h.pend, whole)
	out := h.blank + h.pend[:i]
	h.pend = h.pend[i:]
	if v == maybe {
		h.hold = true
		h.held.WriteString(h.pend)
		h.pend = ""
	}
	// Blanks before a call go with it.
	t := strings.TrimRight(out, " \t\r\n")
	h.blank = out[len(t):]
	h.shown.WriteString(t)
	return t
}

// release lets everything through from now on.
func (h *hold) release() string {
	t := h.tail()
	h.off, h.hold, h.blank, h.pend = true, false, "", ""
	h.held.Reset()
	h.shown.WriteString(t)
	return t
}

// finish is the calls in what was held back, and what is left of it to show.
func (h *hold) finish() (rest string, calls []leak) {
	first := ""
	if !h.hold {
		if first = h.scan(true); !h.hold {
			first += h.blank
			return first, nil
		}
	}
	lead, held := h.shown.String(), h.held.String()
	regions := judge(h.tools, lead, held, h.find(held))
	if len(regions) == 0 {
		rest = first + h.blank + held
		h.keep(lead, first)
		return rest, nil
	}
	var b strings.Builder
	at := 0
	for _, r := range regions {
		if t := strings.TrimSpace(held[at:r.start]); t != "" {
			b.WriteString("\n\n" + t)
		}
		calls = append(calls, r.calls...)
		at = r.end
	}
	if t := strings.TrimSpace(held[at:]); t != "" {
		b.WriteString("\n\n" + t)
	}
	rest = b.String()
	if lead == "" {
		rest = strings.TrimPrefix(rest, "\n\n")
	}
	rest = first + rest
	h.keep(lead, first)
	return rest, calls
}

// keep takes first back out of what was shown: it is part of the rest.
func (h *hold) keep(lead, first string) {
	h.shown.Reset()
	h.shown.WriteString(strings.TrimSuffix(lead, first))
}

// find finds the regions of calls in held, which begins where one may.
func (h *hold) find(held string) []region {
	p := parser{toolbox: h.tools, s: held}
	sc := h.sc
	var out []region
	for i := 0; i < len(held); {
		n, v := sc.next(held[i:], true)
		if i += n; v != maybe {
			break
		}
		r, ok := p.read(i)
		end := max(r.end, i+1)
		if ok {
			r.start = i
			out = append(out, r)
		}
		// What was read over is code of some kind; the line goes on after it.
		i = end
		sc.some, sc.tick = true, false
		sc.inLine = held[i-1] != '\n'
	}
	return out
}

// judge leaves out what is shown, and not called.
func judge(tools *toolbox, lead, held string, rs []region) []region {
	if len(rs) == 0 {
		return nil
	}
	lead += held[:rs[0].start]
	trail := held[rs[len(rs)-1].end:]
	blank := func(s string) bool { return strings.TrimSpace(s) == "" }
	if explains(lead, trail) {
		return nil
	}
	if runsOn(lead, trail) {
		return nil
	}
	// "This is what it sends:" announces a call of somebody else's.
	if t := strings.TrimSpace(lead); strings.HasSuffix(t, ":") && !intends(t) && !rs[0].marked {
		return nil
	}
	plainOK := blank(lead) || blank(trail) || len(lead) < 400 && intends(lead)
	for i := 1; i < len(rs); i++ {
		plainOK = plainOK && blank(held[rs[i-1].end:rs[i].start])
	}
	var out []region
	for i, r := range rs {
		if r.marked && !r.fenced {
			before := lead
			if i > 0 {
				before = held[rs[i-1].end:r.start]
			}
			after := held[r.end:]
			if i+1 < len(rs) {
				after = held[r.end:rs[i+1].start]
			}
			if blank(before[strings.LastIndexByte(before, '\n')+1:]) || blank(firstLine(after)) {
				out = append(out, r)
			}
			continue
		}
		fits := plainOK
		for _, c := range r.calls {
			fits = fits && tools.fits(c)
		}
		// An answer that is one call and nothing else is one, whatever its name.
		alone := !r.fenced && len(rs) == 1 && len(r.calls) == 1 && r.calls[0].exact && blank(lead) && blank(trail)
		if fits || alone && !tools.known(r.calls[0].name) {
			out = append(out, r)
		}
	}
	return out
}

// runsOn says whether one sentence begins before a call and ends after it: then
// that is a quotation.
func runsOn(lead, trail string) bool {
	lead, trail = strings.TrimSpace(lead), strings.TrimSpace(trail)
	last, _ := utf8.DecodeLastRuneInString(lead)
	if lead == "" || trail == "" || strings.ContainsRune(".!?…", last) {
		return false
	}
	first, _ := utf8.DecodeRuneInString(trail)
	return unicode.IsLower(first)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// explains says whether the text around a call speaks of an example.
func explains(lead, trail string) bool {
	lead = strings.ToLower(lead[max(0, len(lead)-600):])
	trail = strings.ToLower(trail[:min(len(trail), 400)])
	for _, cue := range cues {
		if strings.Contains(lead, cue) || strings.Contains(trail, cue) {
			return true
		}
	}
	return false
}

// intends says whether a text announces that something is done now.
func intends(lead string) bool {
	lead = strings.ToLower(strings.ReplaceAll(lead, "’", "'"))
	for _, w := range []string{"i'll ", "i will ", "let me ", "let's ", "i'm going to ", "i am going to ", "i need to ", "i should ", "first, ", "now ", "reading ", "checking ", "running ", "looking ", "searching "} {
		if strings.Contains(lead, w) {
			return true
		}
	}
	return false
}

// cues are words of texts that show a call and do not make it.
var cues = []string{
	"example", "e.g.", "for instance", "instance of", "look like", "looks like", "looked like", "format", "syntax", "schema", "would look", "would be", "would write", "would send",
	"you would", "you could", "could look", "could be", "might look", "might be", "such as", "documentation", "the docs", "template", "in general", "instead of", "do not write", "don't write", "never ",
	"if you want", "you can", "you may", "you send", "to call", "snippet", "sample", "the shape", "a shape", "hypothetical", "expects", "illustrat",
	"payload", "protocol", "the following json", "convention", "specification", "written as", "writes", "write it",
	"emits", "produces", "response is", "log line", "transcript", "test case", "fixture", "was called", "had called",
}
