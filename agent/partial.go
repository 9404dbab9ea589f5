package agent

import (
	"bytes"
	"encoding/json"

	"github.com/cantle-dev/cantle/llm"
)

// partial offers the structured answer while it streams.
type partial struct {
	r      *runner
	on     bool
	byCall bool
	call   int
	buf    []byte
	shown  int
}

// Bounds of the values that are offered: each is at least partialStep bytes
// longer than the last, and none is longer than partialMax, so that offering
// them stays cheap however long the answer is.
const (
	partialStep = 64
	partialMax  = 64 << 10
)

func (r *runner) newPartial() *partial {
	return &partial{r: r, on: r.opts.Schema != nil, byCall: r.answer != nil, call: -1}
}

func (p *partial) text(s string) {
	if p.on && !p.byCall {
		p.add(s)
	}
}

func (p *partial) callDelta(d llm.CallDelta) {
	if !p.on || !p.byCall || d.Name != AnswerTool {
		return
	}
	if p.call != d.Index {
		p.call, p.buf, p.shown = d.Index, nil, 0
	}
	p.add(d.Input)
}

func (p *partial) add(s string) {
	if len(p.buf)+len(s) > partialMax {
		p.on = false
		return
	}
	p.buf = append(p.buf, s...)
	if len(p.buf)-p.shown < partialStep {
		return
	}
	if v, ok := closeJSON(p.buf); ok {
		p.shown = len(p.buf)
		p.r.emit(Partial{v})
	}
}

// closeJSON makes the start of a JSON object or array a whole one, by leaving
// out what is incomplete at its end. It is for showing only: nothing is ever
// run or recorded from it.
func closeJSON(b []byte) (json.RawMessage, bool) {
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) == 0 || (b[0] != '{' && b[0] != '[') {
		return nil, false
	}
	// safe is the longest prefix after which every open bracket can be closed.
	var stack, safeStack []byte
	safe, inString, escaped := 0, false, false
	for i, c := range b {
		switch {
		case inString:
			switch {
			case escaped:
				escaped = false
			case c == '\\':
				escaped = true
			case c == '"':
				inString = false
			}
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			stack = append(stack, c+2) // the closing bracket: { + 2 = }, [ + 2 = ]
			safe, safeStack = i+1, bytes.Clone(stack)
		case c == '}' || c == ']':
			if len(stack) == 0 || stack[len(stack)-1] != c {
				return nil, false
			}
			stack = stack[:len(stack)-1]
			safe, safeStack = i+1, bytes.Clone(stack)
		case c == ',':
			safe, safeStack = i, bytes.Clone(stack)
		}
	}
	out := bytes.Clone(b[:safe])
	for i := len(safeStack) - 1; i >= 0; i-- {
		out = append(out, safeStack[i])
	}
	return out, json.Valid(out)
}
