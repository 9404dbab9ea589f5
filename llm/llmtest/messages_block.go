package llmtest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

type messagesBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	Cache     json.RawMessage `json:"cache_control"`
	Source    *struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
		URL       string `json:"url"`
	} `json:"source"`
	Title string `json:"title"`

	raw json.RawMessage
}

// messagesBlockFields are the fields of the blocks that are checked; the
// provider permits no others.
var messagesBlockFields = map[string][]string{
	"text":              {"type", "text", "citations", "cache_control"},
	"thinking":          {"type", "thinking", "signature"},
	"redacted_thinking": {"type", "data"},
	"tool_use":          {"type", "id", "name", "input", "cache_control", "caller"},
	"tool_result":       {"type", "tool_use_id", "content", "is_error", "cache_control"},
	"image":             {"type", "source", "cache_control"},
	"document":          {"type", "source", "cache_control", "title", "context", "citations"},
}

// contentBlocks reads content that is a string or a list of blocks.
func contentBlocks(raw json.RawMessage) ([]messagesBlock, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' {
		b := messagesBlock{Type: "text", raw: raw}
		err := json.Unmarshal(raw, &b.Text)
		return []messagesBlock{b}, err
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(raw, &raws); err != nil || raws == nil {
		return nil, fmt.Errorf("content must be a string or a list of blocks, not %s", describe(raw))
	}
	bs := make([]messagesBlock, len(raws))
	for i, r := range raws {
		if err := json.Unmarshal(r, &bs[i]); err != nil {
			return nil, fmt.Errorf("content.%d: %w", i, err)
		}
		bs[i].raw = r
	}
	return bs, nil
}

func (b messagesBlock) checkSource() error {
	if b.Source == nil {
		return fmt.Errorf("%s.source: field required", b.Type)
	}
	if b.Source.Type != "base64" {
		return nil
	}
	types := []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
	if b.Type == "document" {
		types = []string{"application/pdf"}
	}
	if !slices.Contains(types, b.Source.MediaType) {
		return fmt.Errorf("%s.source.base64.media_type: %q is not one of %s", b.Type, b.Source.MediaType, strings.Join(types, ", "))
	}
	if data, err := base64.StdEncoding.DecodeString(b.Source.Data); err != nil || len(data) == 0 {
		return fmt.Errorf("%s.source.base64.data: not base64, or empty", b.Type)
	}
	return nil
}

// part is the block in terms of no wire.
func (b messagesBlock) part() llm.Part {
	switch b.Type {
	case "text":
		return llm.Text{Text: b.Text}
	case "thinking":
		return llm.Thinking{Text: b.Thinking, Signature: b.Signature}
	case "tool_use":
		return llm.ToolCall{ID: b.ID, Name: b.Name, Input: b.Input}
	case "tool_result":
		r := llm.ToolResult{CallID: b.ToolUseID, IsError: b.IsError}
		if inner, err := contentBlocks(b.Content); err == nil {
			for _, in := range inner {
				r.Parts = append(r.Parts, in.part())
			}
		}
		return r
	case "image", "document":
		blob := llm.Blob{MIME: b.Source.MediaType, URL: b.Source.URL, Name: b.Title}
		blob.Data, _ = base64.StdEncoding.DecodeString(b.Source.Data)
		if b.Source.Type == "text" {
			blob.Data = []byte(b.Source.Data)
		}
		return blob
	}
	return llm.Native{Wire: WireAnthropic, Kind: b.Type, Raw: b.raw}
}
