package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// view is what the model sees of a path: messages that are valid on every
// wire, whatever a crash or a cancel left in the journal. It grows by add, and
// what it once showed it never changes: what a message does to the view is
// decided by the messages before it and never by those after. So the view of
// a session that is opened again is the one that it had.
//
// The last message's calls stay open until each has its result or something
// else follows; only then is the answer to them put in.
type view struct {
	msgs    []llm.Message
	places  []place        // of msgs
	calls   []llm.ToolCall // of the last message, while one of them is open
	shown   []string       // the ids that the model is shown of them
	got     []*llm.ToolResult
	gotAt   []spot // where each is
	missing int
	ids     map[string]int // all that are shown, and how often they came
	repairs []Repair
}

const (
	lostResult  = "Interrupted: no result of this call was recorded. Its outcome is unknown."
	lostOpening = "(The beginning of this conversation is not in view.)"
)

func (v *view) repaired(kind RepairKind, entry, call, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if entry != "" {
		text = "entry " + entry + ": " + text
	}
	v.repairs = append(v.repairs, Repair{kind, entry, call, text})
}

func (v *view) push(at place, m llm.Message) {
	v.msgs, v.places = append(v.msgs, m.Keep()), append(v.places, at)
}

func (v *view) pushUser(at place, parts llm.Parts) {
	if len(parts) > 0 {
		v.push(at, llm.Message{Role: llm.RoleUser, Parts: parts})
	}
}

// add takes the next message of the path.
func (v *view) add(id string, m Message) {
	if m.Role == llm.RoleAssistant {
		v.addAssistant(id, m)
	} else {
		v.addUser(id, m)
	}
}

func (v *view) addAssistant(id string, m Message) {
	v.close(id)
	parts := make(llm.Parts, 0, len(m.Parts))
	same := true
	var calls []llm.ToolCall
	var shown []string
	for _, p := range m.Parts {
		switch p := p.(type) {
		case llm.ToolCall:
			c, ok := v.call(id, p, m.Partial, calls)
			if !ok {
				same = false
				continue
			}
			calls = append(calls, c)
			if to := v.unique(c.ID); to != c.ID {
				c.ID, c.Raw = to, nil
			}
			same = same && bytes.Equal(c.Input, p.Input) && c.ID == p.ID
			shown = append(shown, c.ID)
			parts = append(parts, c)
			continue
		case llm.ToolResult:
			v.repaired(RepairNoCall, id, p.CallID, "a result in a message of the model's is left out")
			same = false
			continue
		}
		if empty(p) {
			same = false
			continue
		}
		parts = append(parts, p)
	}
	// Thinking that leads to nothing is refused by the wires that have it.
	n := len(parts)
	if m.Partial || len(calls) == 0 && onlyThinking(parts) {
		for n > 0 && isThinking(parts[n-1]) {
			n--
		}
	}
	if n < len(parts) {
		parts, same = parts[:n], false
	}
	if len(parts) == 0 {
		if len(m.Parts) > 0 && !m.Partial {
			v.repaired(RepairMessage, id, "", "a message of the model's without content is left out")
		}
		return
	}
	if len(v.msgs) == 0 {
		v.repaired(RepairMessage, id, "", "the conversation began with the model's message")
		v.pushUser(place{}, llm.Texts(lostOpening))
	}
	if same {
		v.push(place{entry: id}, m.Message)
	} else {
		v.push(place{entry: id}, llm.Message{Role: llm.RoleAssistant, Parts: parts, Origin: m.Origin})
	}
	if len(calls) > 0 {
		v.calls, v.shown, v.missing = calls, shown, len(calls)
		v.got, v.gotAt = make([]*llm.ToolResult, len(calls)), make([]spot, len(calls))
	}
}

// unique is the id to show of a call. Some servers count calls from 0 in each
// answer, and others, which may be asked next, refuse an id that comes again.
// Nothing is lost by it, so it is no repair.
func (v *view) unique(id string) string {
	if v.ids == nil {
		v.ids = map[string]int{}
	}
	to := id
	for v.ids[to] > 0 {
		v.ids[id]++
		to = fmt.Sprintf("%s_%d", id, v.ids[id])
	}
	v.ids[to]++
	return to
}

// call returns the call as it can be sent back; if it cannot be, it is left
// out.
func (v *view) call(id string, c llm.ToolCall, partial bool, before []llm.ToolCall) (llm.ToolCall, bool) {
	switch {
	case partial:
		v.repaired(RepairCall, id, c.ID, "the call of %s was cut off and is left out", c.Name)
		return c, false
	case c.ID == "" || c.Name == "":
		v.repaired(RepairCall, id, c.ID, "a call of %q with the id %q, one of which is missing, is left out", c.Name, c.ID)
		return c, false
	case slices.ContainsFunc(before, func(b llm.ToolCall) bool { return b.ID == c.ID }):
		v.repaired(RepairCall, id, c.ID, "a second call with the id %q is left out", c.ID)
		return c, false
	}
	switch in := bytes.TrimSpace(c.Input); {
	case c.Custom && (len(in) == 0 || in[0] != '"' || !json.Valid(in)):
		c.Input = json.RawMessage(`""`)
	case !c.Custom && (len(in) == 0 || in[0] != '{' || !json.Valid(in)):
		c.Input = json.RawMessage(`{}`)
	default:
		return c, true
	}
	c.Raw = nil
	v.repaired(RepairCall, id, c.ID, "the input of the call of %s is not what an input can be and is left out", c.Name)
	return c, true
}

func (v *view) addUser(id string, m Message) {
	var rest llm.Parts
	changed := m.Role != llm.RoleUser
	taken := 0
	for _, p := range m.Parts {
		r, ok := p.(llm.ToolResult)
		switch {
		case ok && v.take(id, r, m.Pins[r.CallID]):
			taken++
		case ok || empty(p) || !fromUser(p):
			changed = true
		default:
			rest = append(rest, p)
		}
	}
	switch {
	case taken > 0 && v.missing == 0:
		if changed || taken < len(v.calls) {
			v.answer(id, rest, nil)
		} else {
			v.answer(id, rest, &m)
		}
	case len(rest) == 0: // the results of other calls may follow
	case len(v.calls) > 0:
		v.lose(id)
		v.answer(id, rest, nil)
	case changed:
		v.pushUser(place{entry: id}, rest)
	default:
		v.push(place{entry: id}, m.Message)
	}
}

// take keeps the result if it answers an open call.
func (v *view) take(id string, r llm.ToolResult, pin string) bool {
	for i, c := range v.calls {
		if c.ID != r.CallID {
			continue
		}
		if v.got[i] != nil {
			v.repaired(RepairNoCall, id, r.CallID, "a second result of the call %q is left out", r.CallID)
			return false
		}
		v.got[i], v.gotAt[i] = &r, spot{id + "/" + r.CallID, pin}
		v.missing--
		return true
	}
	v.repaired(RepairNoCall, id, r.CallID, "a result of %q, which is no call that waits for one, is left out", r.CallID)
	return false
}

// answer puts the results in, in the order of the calls, and what came with
// them in the entry id. If one message brought all of it, that is the message
// to show.
func (v *view) answer(id string, rest llm.Parts, whole *Message) {
	at := place{entry: id, results: v.gotAt}
	parts := append(v.results(), rest...)
	v.calls, v.shown, v.got, v.gotAt, v.missing = nil, nil, nil, nil, 0
	if whole != nil && inOrder(parts, whole.Parts) {
		v.push(at, whole.Message)
		return
	}
	v.pushUser(at, parts)
}

// results has one result for each of the calls.
func (v *view) results() llm.Parts {
	parts := make(llm.Parts, len(v.calls))
	for i, c := range v.calls {
		if v.got[i] == nil {
			parts[i] = llm.ToolResult{CallID: v.shown[i], Name: c.Name, Parts: llm.Texts(lostResult), IsError: true}
			continue
		}
		r := *v.got[i]
		r.CallID = v.shown[i]
		if slices.ContainsFunc(r.Parts, unfit) {
			r.Parts = slices.DeleteFunc(slices.Clone(r.Parts), unfit)
		}
		parts[i] = r
	}
	return parts
}

// lose tells of the calls that are still open, since something else follows.
func (v *view) lose(id string) {
	for i, c := range v.calls {
		if v.got[i] == nil {
			v.repaired(RepairNoResult, id, c.ID, "the call %s of %s before it has no result: its outcome is unknown", c.ID, c.Name)
		}
	}
}

func (v *view) close(id string) {
	if len(v.calls) > 0 {
		v.lose(id)
		v.answer("", nil, nil)
	}
}

// open returns the calls that have no result.
func (v *view) open() []llm.ToolCall {
	var open []llm.ToolCall
	for i, c := range v.calls {
		if v.got[i] == nil {
			open = append(open, c)
		}
	}
	return open
}

// messages returns the view; calls that are open at its end are answered in
// it, for this time only.
func (v *view) messages() []llm.Message {
	n := len(v.msgs)
	if len(v.calls) == 0 {
		return v.msgs[:n:n]
	}
	return append(v.msgs[:n:n], llm.Message{Role: llm.RoleUser, Parts: v.results()})
}

// inOrder reports whether the results in a and b are the same and of the same
// calls in the same places, and a leaves nothing of b out.
func inOrder(a, b llm.Parts) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, ok1 := a[i].(llm.ToolResult)
		y, ok2 := b[i].(llm.ToolResult)
		if ok1 != ok2 || ok1 && (x.CallID != y.CallID || len(x.Parts) != len(y.Parts)) {
			return false
		}
	}
	return true
}

// empty reports whether no wire would take p, or has any use for it.
func empty(p llm.Part) bool {
	switch p := p.(type) {
	case llm.Text:
		return strings.TrimSpace(p.Text) == "" && len(p.Raw) == 0
	case llm.Thinking:
		return strings.TrimSpace(p.Text) == "" && p.Signature == "" && len(p.Raw) == 0
	case llm.Blob:
		return len(p.Data) == 0 && p.URL == ""
	case llm.Native:
		return len(p.Raw) == 0
	case llm.Unknown, nil:
		return true
	}
	return false
}

// unfit reports whether p may not be in a result.
func unfit(p llm.Part) bool {
	_, nested := p.(llm.ToolResult)
	return nested || empty(p) || !fromUser(p)
}

// fromUser reports whether p may be in a message of the user's.
func fromUser(p llm.Part) bool {
	switch p.(type) {
	case llm.ToolCall, llm.Thinking:
		return false
	}
	return true
}

func isThinking(p llm.Part) bool { _, ok := p.(llm.Thinking); return ok }

func onlyThinking(ps llm.Parts) bool {
	return !slices.ContainsFunc(ps, func(p llm.Part) bool { return !isThinking(p) })
}
