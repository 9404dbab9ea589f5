package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/cantle-dev/cantle/llm"
)

// CountTokens is [llm.TokenCounter].CountTokens. It asks the provider; where
// the model is served at an address of its own ([Options.Path]), and where
// a compatible server does not count, it is [llm.Estimate].
func (m *Model) CountTokens(ctx context.Context, req *llm.Request) (int, error) {
	if m.opts.Path != "/v1/messages" {
		return llm.Estimate(req), nil
	}
	s, err := m.post(ctx, req, "/count_tokens", true)
	if llm.IsKind(err, llm.KindNotFound) {
		return llm.Estimate(req), nil
	}
	if err != nil {
		return 0, err
	}
	defer s.Close()
	ev, err := s.Next()
	if err == io.EOF {
		return 0, s.Truncated()
	}
	if err != nil {
		return 0, err
	}
	var got struct {
		InputTokens *int `json:"input_tokens"`
	}
	if err := json.Unmarshal(ev.Data, &got); err != nil {
		return 0, s.Undecodable(ev, err)
	}
	if got.InputTokens == nil {
		return 0, s.Undecodable(ev, errors.New("it has no input_tokens"))
	}
	return *got.InputTokens, nil
}
