package bedrock

import (
	"context"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// CountTokens is [llm.TokenCounter].CountTokens. It asks Bedrock, which counts
// for models by their own ids; where it does not, as for a profile that does not
// tell the model, it is [llm.Estimate].
func (m *Model) CountTokens(ctx context.Context, req *llm.Request) (int, error) {
	at, err := m.address(ctx)
	if err != nil {
		return 0, err
	}
	encode := func() (*wire.Body, error) {
		body, err := m.counted(req)
		if err != nil {
			return nil, err
		}
		var in, out wire.Body
		in.Raw("converse", body.Bytes())
		out.Raw("input", in.Bytes())
		return &out, nil
	}
	one := m.client
	one.opts.NoStream = true
	one.info.Name = profilePrefix().ReplaceAllString(m.info.Name, "")
	s, err := m.lessons.Post(ctx, at.base+one.path("count-tokens"), encode, wire.Options{
		Provider: m.info.Provider, Model: m.info.Name, Client: m.opts.Client,
		Key: m.opts.APIKey, Header: one.headers(), Sign: m.signer(at), Stall: m.opts.Stall,
	})
	if wire.Uncounted(err) {
		return llm.Estimate(req), nil
	}
	if err != nil {
		return 0, err
	}
	return s.Tokens("inputTokens")
}

// counted is the part of a request that has tokens.
func (m *Model) counted(req *llm.Request) (*wire.Body, error) {
	req = wire.Hosted(req, m.hosts)
	msgs, used, err := m.messages(req.Messages, nil)
	if err != nil {
		return nil, err
	}
	var o wire.Body
	tools, err := m.tools(req, used, nil)
	if err != nil {
		return nil, err
	}
	o.Raw("toolConfig", tools)
	if s := text(req.System); s != nil {
		o.Raw("system", append(append([]byte("["), s...), ']'))
	}
	o.Pieces("messages", msgs)
	return &o, nil
}
