package session

import (
	"fmt"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// view is what the model sees of a path: messages that are valid on every
// wire, whatever a crash or a cancel left in the journal. It grows by add, and
// what it once showed it never changes.
type view struct {
	msgs    []llm.Message
	open    []llm.ToolCall // of the last message: their results have not come
	repairs []Repair
}

const (
	lostResult  = "Interrupted: no result of this call was recorded. Its outcome is unknown."
	lostOpening = "(The beginning of this conversation is not in view.)"
)

func (v *view) repaired(format string, args ...any) {
	v.repairs = append(v.repairs, Repair{fmt.Sprintf(format, args...)})
}

func (v *view) push(m llm.Message) { v.msgs = append(v.msgs, m.Keep()) }

// add takes the next message of the path. later holds results for the same
// calls that lie in messages after it, up to the model's next one.
func (v *view) add(id string, m Message, later llm.Parts) {
	if m.Role == llm.RoleAssistant {
		v.addAssistant(id, m)
	} else {
		v.addUser(id, m, later)
	}
}

func (v *view) addAssistant(id string, m Message) {
	v.close()
	parts := make(llm.Parts, 0, len(m.Parts))
	seen := map[string]bool{}
	for _, p := range m.Parts {
		c, ok := p.(llm.ToolCall)
		switch {
		case empty(p):
		case !ok:
			parts = append(parts, p)
		case m.Partial:
			v.repaired("entry %s: the call of %s was cut off and is left out", id, c.Name)
		case seen[c.ID]:
			v.repaired("entry %s: a second call with the id %q is left out", id, c.ID)
		default:
			seen[c.ID] = true
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		if len(m.Parts) > 0 && !m.Partial {
			v.repaired("entry %s: an empty message is left out", id)
		}
		return
	}
	if len(v.msgs) == 0 {
		v.repaired("entry %s: the conversation began with the model's message", id)
		v.push(llm.UserText(lostOpening))
	}
	msg := m.Message
	if len(parts) != len(m.Parts) {
		msg = llm.Message{Role: m.Role, Parts: parts, Origin: m.Origin}
	}
	v.push(msg)
	v.open = parts.Calls()
}

func (v *view) addUser(id string, m Message, later llm.Parts) {
	var results, rest llm.Parts
	for _, p := range m.Parts {
		switch {
		case isResult(p):
			results = append(results, p)
		case empty(p):
		default:
			rest = append(rest, p)
		}
	}
	if len(results) == 0 {
		if len(rest) == 0 {
			return
		}
		v.close()
		if len(rest) == len(m.Parts) {
			v.push(m.Message)
		} else {
			v.push(llm.Message{Role: llm.RoleUser, Parts: rest})
		}
		return
	}
	if len(v.open) == 0 {
		v.repaired("entry %s: %d result(s) of no call in view are left out", id, len(results))
		if len(rest) > 0 {
			v.push(llm.Message{Role: llm.RoleUser, Parts: rest})
		}
		return
	}
	parts := v.matched(id, append(results[:len(results):len(results)], later...), len(results))
	v.open = nil
	if len(rest) == 0 && same(parts, m.Parts) {
		v.push(m.Message)
		return
	}
	v.push(llm.Message{Role: llm.RoleUser, Parts: append(parts, rest...)})
}

// matched returns one result for each open call, in the order of the calls.
func (v *view) matched(id string, results llm.Parts, own int) llm.Parts {
	out := make(llm.Parts, 0, len(v.open))
	used := make([]bool, len(results))
	for _, c := range v.open {
		found := false
		for i, p := range results {
			if r := p.(llm.ToolResult); !used[i] && r.CallID == c.ID {
				used[i], found = true, true
				out = append(out, r)
				break
			}
		}
		if !found {
			v.repaired("entry %s: the call %s of %s has no result: its outcome is unknown", id, c.ID, c.Name)
			out = append(out, lost(c))
		}
	}
	for i := range own {
		if !used[i] {
			v.repaired("entry %s: a result for %q, which answers no call, is left out", id, results[i].(llm.ToolResult).CallID)
		}
	}
	return out
}

// close answers the calls that are open, since something else follows.
func (v *view) close() {
	if len(v.open) == 0 {
		return
	}
	v.repaired("%d call(s) have no result: their outcome is unknown", len(v.open))
	v.push(lostMessage(v.open))
	v.open = nil
}

// messages returns the view; calls that are open at its end are answered in
// it, for this time only.
func (v *view) messages() []llm.Message {
	n := len(v.msgs)
	if len(v.open) == 0 {
		return v.msgs[:n:n]
	}
	return append(v.msgs[:n:n], lostMessage(v.open))
}

func lostMessage(calls []llm.ToolCall) llm.Message {
	parts := make(llm.Parts, len(calls))
	for i, c := range calls {
		parts[i] = lost(c)
	}
	return llm.Message{Role: llm.RoleUser, Parts: parts}
}

func lost(c llm.ToolCall) llm.ToolResult {
	return llm.ToolResult{CallID: c.ID, Name: c.Name, Parts: llm.Texts(lostResult), IsError: true}
}

func isResult(p llm.Part) bool { _, ok := p.(llm.ToolResult); return ok }

// empty reports whether no wire would take p.
func empty(p llm.Part) bool {
	switch p := p.(type) {
	case llm.Text:
		return strings.TrimSpace(p.Text) == "" && len(p.Raw) == 0
	case llm.Thinking:
		return strings.TrimSpace(p.Text) == "" && p.Signature == "" && len(p.Raw) == 0
	case llm.Blob:
		return len(p.Data) == 0 && p.URL == ""
	case llm.Unknown, nil:
		return true
	}
	return false
}

func same(a, b llm.Parts) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, ok1 := a[i].(llm.ToolResult)
		y, ok2 := b[i].(llm.ToolResult)
		if !ok1 || !ok2 || x.CallID != y.CallID {
			return false
		}
	}
	return true
}
