package demo

import (
	"encoding/json"
	"strings"

	"github.com/cantle-dev/cantle/internal/x/sample"
)

// fill makes a value that fits the schema, with text where an answer is wanted.
// It is null if no value does.
func fill(schema json.RawMessage, text string) json.RawMessage {
	v, err := sample.Value(schema, sample.Options{Word: "stand-in", Text: func(property string) (string, bool) {
		return text, isAnswer(property)
	}})
	if err != nil {
		return json.RawMessage("null")
	}
	return v
}

func isAnswer(name string) bool {
	switch strings.ToLower(name) {
	case "answer", "summary", "text", "result", "report", "message", "description", "content", "explanation":
		return true
	}
	return false
}
