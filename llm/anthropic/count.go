package anthropic

import (
	"context"

	"github.com/cantle-dev/cantle/llm"
)

// CountTokens is [llm.TokenCounter].CountTokens. It asks the provider; where
// the model is served at an address of its own ([Options.Path]) that has none for
// counting ([Options.CountPath]), and where a compatible server does not count,
// it is [llm.Estimate].
func (m *Model) CountTokens(ctx context.Context, req *llm.Request) (int, error) {
	path := m.opts.CountPath
	if path == "" && m.opts.Path == defaultPath {
		path = defaultPath + "/count_tokens"
	}
	if path == "" {
		return llm.Estimate(req), nil
	}
	s, err := m.post(ctx, req, path, true)
	if llm.IsKind(err, llm.KindNotFound) {
		return llm.Estimate(req), nil
	}
	if err != nil {
		return 0, err
	}
	return s.Tokens("input_tokens")
}
