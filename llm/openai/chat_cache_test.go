package openai_test

import (
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/openai"
)

func TestCacheMarks(t *testing.T) {
	t.Parallel()
	result := llm.Message{Role: llm.RoleUser, Parts: llm.Parts{llm.ToolResult{CallID: "c1", Parts: llm.Parts{llm.Text{Text: "out"}}}}}
	call := llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "c1", Name: "A", Input: []byte(`{}`)}}}
	req := &llm.Request{System: "s", Tools: []llm.ToolSpec{{Name: "A"}, {Name: "B"}}, Messages: []llm.Message{llm.UserText("first"), call, result}}
	const mark = `"cache_control":{"type":"ephemeral"}`
	opts := openai.Options{Profile: &openai.Profile{CacheMarks: "5m"}}
	one := sent(t, "m", opts, req)
	for _, want := range []string{
		`{"role":"system","content":[{"type":"text","text":"s",` + mark + `}]}`,
		`{"role":"user","content":[{"type":"text","text":"first",` + mark + `}]}`,
		`{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"out",` + mark + `}]}`,
		`"name":"B","parameters":{"type":"object","properties":{}}},` + mark + `}]`,
	} {
		if !strings.Contains(one, want) {
			t.Errorf("no %s in %s", want, one)
		}
	}
	// Without the marks, what comes next begins with what was.
	more := *req
	more.Messages = append(more.Messages[:3:3], llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: "ok"}}}, llm.UserText("second"))
	two := sent(t, "m", opts, &more)
	bare := func(s string) string { return strings.ReplaceAll(s, ","+mark, "") }
	if !strings.HasPrefix(bare(two), strings.TrimSuffix(bare(one), "]}")) || strings.Count(two, mark) != 4 {
		t.Errorf("the second does not extend the first:\n%s\n%s", one, two)
	}
	if body := sent(t, "m", openai.Options{Profile: &openai.Profile{CacheMarks: "1h"}}, req); strings.Count(body, `"ttl":"1h"`) != 4 {
		t.Error(body)
	}
	if body := sent(t, "m", openai.Options{}, req); strings.Contains(body, "cache_control") || !strings.Contains(body, `"content":"first"`) {
		t.Error(body)
	}
	opts.Info.Traits.MinCache = 1024
	if body := sent(t, "m", opts, req); strings.Contains(body, "cache_control") {
		t.Errorf("a short prompt is marked: %s", body)
	}
	more.Messages = append([]llm.Message{llm.UserText(strings.Repeat("word ", 1100))}, more.Messages...)
	if body := sent(t, "m", opts, &more); strings.Count(body, mark) != 2 {
		t.Errorf("the end of a long prompt is not marked: %s", body)
	}
}

func TestEffortStyles(t *testing.T) {
	t.Parallel()
	words := map[llm.Effort]string{llm.EffortXHigh: "max", llm.EffortMinimal: ""}
	never := map[llm.Effort]string{llm.EffortOff: ""}
	for _, c := range []struct {
		style  string
		effort llm.Effort
		own    map[llm.Effort]string
		want   string // of the fields that say how to think; "" is none
	}{
		{"flat", llm.EffortOff, nil, `"reasoning_effort":"none"`},
		{"flat", llm.EffortXHigh, nil, `"reasoning_effort":"high"`},
		{"flat", llm.EffortXHigh, words, `"reasoning_effort":"max"`},
		{"flat", llm.EffortMinimal, words, ""},
		{"nested", llm.EffortLow, nil, `"reasoning":{"effort":"low"}`},
		{"thinking", llm.EffortLow, nil, `"thinking":{"type":"enabled"}`},
		{"thinking", llm.EffortOff, nil, `"thinking":{"type":"disabled"}`},
		{"thinking", llm.EffortOff, never, ""},
		{"thinking+flat", llm.EffortXHigh, words, `"thinking":{"type":"enabled"},"reasoning_effort":"max"`},
		{"thinking+flat", llm.EffortOff, nil, `"thinking":{"type":"disabled"}`},
		{"enable_thinking+flat", llm.EffortHigh, nil, `"enable_thinking":true,"reasoning_effort":"high"`},
		{"enable_thinking", llm.EffortOff, nil, `"enable_thinking":false`},
		{"enabled", llm.EffortHigh, nil, `"reasoning":{"enabled":true}`},
		{"enabled+flat", llm.EffortHigh, nil, `"reasoning":{"enabled":true},"reasoning_effort":"high"`},
		{"enabled+flat", llm.EffortOff, nil, `"reasoning":{"enabled":false}`},
		{"template", llm.EffortOff, nil, `"chat_template_kwargs":{"enable_thinking":false}`},
		{"", llm.EffortHigh, nil, ""},
	} {
		for _, in := range []string{"trait", "profile"} {
			opts := openai.Options{Profile: &openai.Profile{}, Info: llm.Info{Traits: llm.Traits{Thinking: true, Efforts: c.own}}}
			if in == "trait" {
				opts.Info.Traits.ThinkingStyle = c.style
			} else {
				opts.Profile.Effort = c.style
			}
			body := sent(t, "m", opts, &llm.Request{Effort: c.effort, Messages: hi.Messages})
			_, after, _ := strings.Cut(body, `"stream_options":{"include_usage":true}`)
			before, _, _ := strings.Cut(after, `,"messages"`)
			if got := strings.Trim(before, ","); got != c.want {
				t.Errorf("%s of the %s, %s: %s, want %s", c.style, in, c.effort, got, c.want)
			}
		}
	}
}
