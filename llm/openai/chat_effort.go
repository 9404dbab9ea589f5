package openai

import (
	"fmt"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// effort adds the fields that say how much to think.
func (m *Chat) effort(o *wire.Body, e llm.Effort) {
	styles := m.profile.Effort
	if s := m.info.Traits.ThinkingStyle; s != "" {
		styles = s
	}
	if e == "" || !m.info.Traits.Thinking || m.lessons.Refused("reasoning_effort") {
		return
	}
	on := e != llm.EffortOff
	word := string(e)
	switch {
	case !on:
		word = "none"
	case m.profile.Minimal:
	case e == llm.EffortMinimal:
		word = "low"
	case e == llm.EffortXHigh:
		word = "high"
	}
	if word = m.info.Traits.EffortWord(e, word); word == "" {
		return
	}
	switcher := false
	for style := range strings.SplitSeq(styles, "+") {
		switch style {
		case "flat":
			if on || !switcher { // what is switched off has no effort
				o.Value("reasoning_effort", word)
			}
		case "nested":
			o.Raw("reasoning", append(wire.AppendString([]byte(`{"effort":`), word), '}'))
		case "enabled":
			o.Raw("reasoning", fmt.Appendf(nil, `{"enabled":%t}`, on))
			switcher = true
		case "thinking":
			kind := "disabled"
			if on {
				kind = "enabled"
			}
			o.Raw("thinking", []byte(`{"type":"`+kind+`"}`))
			switcher = true
		case "enable_thinking":
			o.Value("enable_thinking", on)
			switcher = true
		case "template":
			o.Raw("chat_template_kwargs", fmt.Appendf(nil, `{"enable_thinking":%t}`, on))
			switcher = true
		}
	}
}
