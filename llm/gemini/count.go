package gemini

import (
	"context"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// CountTokens is [llm.TokenCounter].CountTokens. It asks the provider; where
// a server does not count, it is [llm.Estimate].
func (m *Model) CountTokens(ctx context.Context, req *llm.Request) (int, error) {
	bare := *req
	bare.ToolChoice, bare.Extra = llm.ToolChoice{}, nil // of no tokens, and not taken by Vertex
	s, err := m.post(ctx, ":countTokens", func() (*wire.Body, error) {
		body, err := m.body(&bare)
		if err != nil || m.vertex() {
			return body, err
		}
		// Google AI Studio counts the whole of a request, with its system prompt
		// and its tools, only as a field of another.
		name := m.info.Name
		if !named().MatchString(name) {
			name = "models/" + name
		}
		var out wire.Body
		whole := wire.AppendString([]byte(`{"model":`), name)
		out.Raw("generateContentRequest", append(append(whole, ','), body.Bytes()[1:]...))
		return &out, nil
	})
	if wire.Uncounted(err) {
		return llm.Estimate(req), nil
	}
	if err != nil {
		return 0, err
	}
	return s.Tokens("totalTokens")
}

var named = pattern(`^(tuned)?[mM]odels/`)
