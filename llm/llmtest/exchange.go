package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/cantle-dev/cantle/llm"
)

// Exchange is a request as a [Server] got it, and what it says in terms of no
// wire. It must not be changed.
type Exchange struct {
	N      int    // its number on this server, from 1
	Wire   string // such as WireAnthropic
	Method string
	Path   string // with the query
	Header http.Header
	Body   []byte // as received
	Model  string
	Stream bool
	// Request is the decoded form. Thinking keeps its signature; what the wire
	// has no room for, such as an error mark on Chat Completions, is not there.
	Request *llm.Request
	// Err is what the provider would refuse the request for; nil if nothing.
	// A Player never sees such a request.
	Err error
	// Usage is what the simulated prompt cache made of the prompt. Its Output
	// is 0.
	Usage llm.Usage
	// Reply is what the player said, with the ids of its calls.
	Reply Reply
}

// Player answers requests. A play whose every step follows from the request is
// a function; one that is a list is made with [Play]. It is called by one
// goroutine a request.
type Player func(e *Exchange) Reply

// Results returns the tool results at the end of the conversation.
func (e *Exchange) Results() []llm.ToolResult { return results(e.Request) }

// LastResult returns the text of the last tool result, and whether the
// conversation ends in one.
func (e *Exchange) LastResult() (string, bool) {
	rs := results(e.Request)
	if len(rs) == 0 {
		return "", false
	}
	return rs[len(rs)-1].Parts.Text(), true
}

// LastText is the text of the last message.
func (e *Exchange) LastText() string {
	if n := len(e.Request.Messages); n > 0 {
		return e.Request.Messages[n-1].Text()
	}
	return ""
}

// Turn is how many assistant messages the conversation holds: 0 at its start.
func (e *Exchange) Turn() int {
	n := 0
	for _, m := range e.Request.Messages {
		if m.Role == llm.RoleAssistant {
			n++
		}
	}
	return n
}

// prefixes are the fields of a body that a provider's cache is keyed by, in its
// order; the last is the conversation.
var prefixes = map[string][]string{
	WireAnthropic: {"tools", "system", "messages"},
	WireChat:      {"tools", "messages"},
	WireResponses: {"tools", "instructions", "input"},
	WireGemini:    {"tools", "systemInstruction", "contents"},
	WireBedrock:   {"toolConfig", "system", "messages"},
	WireCohere:    {"tools", "messages"},
	WireOllama:    {"tools", "messages"},
}

// Prefix returns the bytes of the body that a provider's cache is keyed by, in
// its order: tools, system, then each message, with cache marks taken out.
func (e *Exchange) Prefix() ([][]byte, error) {
	_, out, err := e.prefix()
	return out, err
}

func (e *Exchange) prefix() (names []string, out [][]byte, err error) {
	var body map[string]json.RawMessage
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return nil, nil, fmt.Errorf("llmtest: request %d: %w", e.N, err)
	}
	fields := prefixes[e.Wire]
	last := fields[len(fields)-1]
	for _, f := range fields[:len(fields)-1] {
		names, out = append(names, f), append(out, unmarked(body[f]))
	}
	var messages []json.RawMessage
	if json.Unmarshal(body[last], &messages) != nil {
		messages = []json.RawMessage{body[last]} // the input of Responses may be one string
	}
	for i, m := range messages {
		names, out = append(names, fmt.Sprintf("%s[%d]", last, i)), append(out, unmarked(m))
	}
	return names, out, nil
}

// Extends checks that e goes on where prev left off: the same tools, the same
// system prompt and, byte for byte, all of its messages, once cache marks are
// taken out.
func (e *Exchange) Extends(prev *Exchange) error {
	names, was, err := prev.prefix()
	if err != nil {
		return err
	}
	is, err := e.Prefix()
	if err != nil {
		return err
	}
	if len(is) < len(was) {
		return fmt.Errorf("llmtest: request %d has %d messages, request %d before it %d", e.N, conversation(e.Wire, is), prev.N, conversation(e.Wire, was))
	}
	for i := range was {
		if !bytes.Equal(was[i], is[i]) {
			at := 0
			for at < len(was[i]) && at < len(is[i]) && was[i][at] == is[i][at] {
				at++
			}
			from := max(0, at-40)
			return fmt.Errorf("llmtest: request %d does not extend request %d: %s differs at byte %d: %s, was %s",
				e.N, prev.N, names[i], at, brief(string(is[i][from:])), brief(string(was[i][from:])))
		}
	}
	return nil
}

// conversation is how many messages are in a prefix.
func conversation(wire string, prefix [][]byte) int { return len(prefix) - len(prefixes[wire]) + 1 }
