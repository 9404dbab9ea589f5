package gemini

import (
	"strconv"

	"github.com/cantle-dev/cantle/llm"
)

// reasons are what the words of finishReason mean; what is not here is other.
var reasons = map[string]llm.StopReason{
	"":                          llm.StopEnd,
	"STOP":                      llm.StopEnd,
	"MAX_TOKENS":                llm.StopMaxTokens,
	"SAFETY":                    llm.StopContentFilter,
	"RECITATION":                llm.StopContentFilter,
	"BLOCKLIST":                 llm.StopContentFilter,
	"PROHIBITED_CONTENT":        llm.StopContentFilter,
	"SPII":                      llm.StopContentFilter,
	"MODEL_ARMOR":               llm.StopContentFilter,
	"IMAGE_SAFETY":              llm.StopContentFilter,
	"IMAGE_PROHIBITED_CONTENT":  llm.StopContentFilter,
	"IMAGE_RECITATION":          llm.StopContentFilter,
	"MALFORMED_FUNCTION_CALL":   llm.StopError,
	"MALFORMED_RESPONSE":        llm.StopError,
	"UNEXPECTED_TOOL_CALL":      llm.StopError,
	"TOO_MANY_TOOL_CALLS":       llm.StopError,
	"MISSING_THOUGHT_SIGNATURE": llm.StopError,
}

// The words by their numbers, which are sent where the words are not asked for.
// From 5 on the two services count otherwise.
var (
	studioWords = []string{
		"", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "IMAGE_PROHIBITED_CONTENT",
	}
	vertexWords = []string{
		"", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"MALFORMED_FUNCTION_CALL", "MODEL_ARMOR", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_OTHER",
		"UNEXPECTED_TOOL_CALL", "NO_IMAGE",
	}
)

// stop is what the reason that was sent means; blocked says that it is why the
// prompt was refused.
func (m *Model) stop(sent string, blocked bool) llm.StopReason {
	if blocked {
		return llm.StopContentFilter
	}
	if n, err := strconv.Atoi(sent); err == nil {
		words := studioWords
		if m.vertex() {
			words = vertexWords
		}
		if n < 0 || n >= len(words) {
			return llm.StopOther
		}
		sent = words[n]
	}
	if r, ok := reasons[sent]; ok {
		return r
	}
	return llm.StopOther
}
