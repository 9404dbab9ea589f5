package llmtest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// history is a request in terms of no wire as its validation collects it.
type history struct {
	req   *llm.Request
	calls []llm.ToolCall // so far
	open  []string       // ids of the calls that wait for their results
}

// add appends to the last message if it is of the same role: tool results and
// what the user said after them are one message.
func (h *history) add(role llm.Role, ps ...llm.Part) {
	if len(ps) == 0 {
		return
	}
	if n := len(h.req.Messages); n > 0 && h.req.Messages[n-1].Role == role {
		h.req.Messages[n-1].Parts = append(h.req.Messages[n-1].Parts, ps...)
		return
	}
	h.req.Messages = append(h.req.Messages, llm.Message{Role: role, Parts: ps})
}

// system adds to the system prompt.
func (h *history) system(text string) {
	if h.req.System != "" && text != "" {
		h.req.System += "\n\n"
	}
	h.req.System += text
}

// call opens a call, which is named by its place if it has no id.
func (h *history) call(c llm.ToolCall) llm.ToolCall {
	if c.ID == "" {
		c.ID = fmt.Sprintf("call_%d", len(h.calls)+1)
	}
	h.calls = append(h.calls, c)
	h.open = append(h.open, c.ID)
	return c
}

// answer closes the call, and says whether it was open.
func (h *history) answer(id string) bool {
	at := slices.Index(h.open, id)
	if at >= 0 {
		h.open = slices.Delete(slices.Clone(h.open), at, at+1)
	}
	return at >= 0
}

// name is the tool that a call is of, "" if there is no such call. Ids may come
// again: the last counts.
func (h *history) name(id string) string {
	for _, c := range slices.Backward(h.calls) {
		if c.ID == id {
			return c.Name
		}
	}
	return ""
}

// tool adds a tool whose name matches names, is new, and whose schema, if there
// is one, is an object's.
func (h *history) tool(t llm.ToolSpec, names *regexp.Regexp) error {
	if !names.MatchString(t.Name) {
		return fmt.Errorf("name: %q does not match %s", t.Name, names)
	}
	if h.offers(t.Name) {
		return fmt.Errorf("name: %q is there twice", t.Name)
	}
	if t.Input != nil && string(t.Input) != "null" {
		var schema struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(t.Input, &schema) != nil || !strings.EqualFold(schema.Type, "object") {
			return fmt.Errorf("parameters: must be a schema of type \"object\", not %s", describe(t.Input))
		}
	}
	h.req.Tools = append(h.req.Tools, t)
	return nil
}

// search adds the search that the provider runs itself.
func (h *history) search() {
	h.req.Tools = append(h.req.Tools, llm.ToolSpec{Name: llm.HostedWebSearch, Hosted: llm.HostedWebSearch})
}

func (h *history) offers(name string) bool {
	return slices.ContainsFunc(h.req.Tools, func(t llm.ToolSpec) bool { return t.Name == name })
}

// choose sets the tool choice from a wire's word for it.
func (h *history) choose(word string, modes map[string]llm.ChoiceMode) error {
	mode, ok := modes[word]
	if !ok {
		var words []string
		for w := range modes {
			words = append(words, w)
		}
		slices.Sort(words)
		return fmt.Errorf("%q is not one of %s", word, strings.Join(words, ", "))
	}
	h.req.ToolChoice = llm.ToolChoice{Mode: mode}
	return nil
}

// unmarshal reads a body, with an error as providers put it.
func unmarshal(body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("the body is not a request: %w", err)
	}
	return nil
}
