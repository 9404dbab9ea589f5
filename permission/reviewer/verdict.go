package reviewer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/permission"
)

// verdictTool is the name of the answer's form.
const verdictTool = "verdict"

// answerSchema is the form. The reason comes first, so that the verdict follows
// from it.
const answerSchema = `{"type":"object","properties":{` +
	`"reason":{"type":"string","description":"one sentence: why, and if it is deny, what to do instead"},` +
	`"verdict":{"type":"string","enum":["allow","deny","ask"]}},` +
	`"required":["reason","verdict"],"additionalProperties":false}`

// verdict is what the model said. Whatever is not one whole answer of the form
// is Ask.
func verdict(resp *llm.Response, req *llm.Request) (permission.Effect, string) {
	raw, err := formIn(resp, len(req.Tools) > 0)
	if err == nil {
		var effect permission.Effect
		var reason string
		if effect, reason, err = readForm(raw); err == nil {
			return effect, clip(oneLine(reason), maxReason)
		}
	}
	return permission.Ask, "the reviewer gave no clear verdict: " + err.Error()
}

// maxReason bounds the reason in bytes.
const maxReason = 400

// formIn is the filled-in form in a response that holds nothing else.
func formIn(resp *llm.Response, byTool bool) (json.RawMessage, error) {
	switch resp.Stop {
	case llm.StopEnd, llm.StopToolUse:
	default:
		return nil, fmt.Errorf("its answer ended with %q", resp.Stop)
	}
	var text string
	var calls []llm.ToolCall
	for _, p := range resp.Message.Parts {
		switch p := p.(type) {
		case llm.Thinking:
		case llm.Text:
			text += p.Text
		case llm.ToolCall:
			calls = append(calls, p)
		default:
			return nil, fmt.Errorf("its answer holds a %T", p)
		}
	}
	text = strings.TrimSpace(text)
	switch {
	case !byTool && len(calls) > 0:
		return nil, fmt.Errorf("it called a tool that it does not have")
	case !byTool:
		return unfenced(text), nil
	case text != "":
		return nil, fmt.Errorf("it wrote text beside the form")
	case len(calls) != 1:
		return nil, fmt.Errorf("it filled in %d forms", len(calls))
	case calls[0].Name != verdictTool || calls[0].Malformed != "" || calls[0].Custom:
		return nil, fmt.Errorf("it filled in another form")
	}
	return calls[0].Input, nil
}

// unfenced takes off the code fence that is around all of a text.
func unfenced(text string) json.RawMessage {
	rest, ok := strings.CutPrefix(text, "```")
	if !ok {
		return json.RawMessage(text)
	}
	rest, ok = strings.CutSuffix(rest, "```")
	head, body, found := strings.Cut(rest, "\n")
	if head = strings.TrimSpace(head); !ok || !found || head != "" && head != "json" {
		return json.RawMessage(text)
	}
	return json.RawMessage(body)
}

// readForm reads one object of two texts, each given once.
func readForm(raw json.RawMessage) (permission.Effect, string, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	next := func() (json.Token, error) {
		t, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("it is not the form")
		}
		return t, nil
	}
	if t, err := next(); err != nil || t != json.Delim('{') {
		return "", "", fmt.Errorf("it is not the form")
	}
	got := map[string]string{}
	for dec.More() {
		k, err := next()
		if err != nil {
			return "", "", err
		}
		v, err := next()
		if err != nil {
			return "", "", err
		}
		key, _ := k.(string)
		val, ok := v.(string)
		switch _, twice := got[key]; {
		case key != "verdict" && key != "reason":
			return "", "", fmt.Errorf("it holds %q, which the form does not", clip(oneLine(key), 40))
		case !ok:
			return "", "", fmt.Errorf("its %s is no text", key)
		case twice:
			return "", "", fmt.Errorf("it holds two of %s", key)
		}
		got[key] = val
	}
	if _, err := next(); err != nil { // the closing bracket
		return "", "", err
	}
	if _, err := dec.Token(); err != io.EOF {
		return "", "", fmt.Errorf("more comes after it")
	}
	effect := permission.Effect(got["verdict"])
	switch effect {
	case permission.Allow, permission.Deny, permission.Ask:
	default:
		return "", "", fmt.Errorf("its verdict is %q", clip(oneLine(got["verdict"]), 40))
	}
	if strings.TrimSpace(got["reason"]) == "" {
		return "", "", fmt.Errorf("it gives no reason")
	}
	return effect, got["reason"], nil
}
