package bedrock

import (
	"context"
	"iter"
	"net/http"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// bodyVersion is the anthropic_version that Bedrock wants.
const bodyVersion = "bedrock-2023-05-31"

// Anthropic is a Claude model that is spoken to on Anthropic's own wire,
// through InvokeModelWithResponseStream. Its [llm.Info.Wire], and the name for
// [llm.Request.Extra], are [anthropic.Wire]. It is safe for concurrent use.
type Anthropic struct{ client }

// NewAnthropic makes the Claude model with that id: see [New]. What Anthropic's
// wire has and Converse has not, such as search results with citations, works
// through it alone.
func NewAnthropic(name string, opts Options) *Anthropic {
	return &Anthropic{newClient(name, anthropic.Wire, opts)}
}

// Info is [llm.Model].Info.
func (m *Anthropic) Info() llm.Info { return m.info }

// Stream is [llm.Model].Stream.
func (m *Anthropic) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return m.stream(ctx, func() iter.Seq2[llm.Event, error] {
		if ctx.Err() != nil {
			return failed(context.Cause(ctx))
		}
		at, err := m.address(ctx)
		if err != nil {
			return failed(err)
		}
		return m.model(at).Stream(ctx, req)
	})
}

func failed(err error) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) { yield(nil, err) }
}

// model is the adapter of the wire, at an address of Bedrock's.
func (m *Anthropic) model(at address) *anthropic.Model {
	op := "invoke-with-response-stream"
	if m.opts.NoStream {
		op = "invoke"
	}
	o := anthropic.Options{
		BaseURL: at.base, Path: m.path(op), BodyVersion: bodyVersion,
		Framing: wire.Framing{New: newChunks}, Beta: m.opts.Beta,
		Info: m.info, Header: m.headers(), NoCache: m.opts.NoCache, CacheTTL: m.opts.CacheTTL,
		Sign: m.signer(at), Client: m.opts.Client, Stall: m.opts.Stall,
	}
	if o.Sign == nil {
		o.Sign = func(req *http.Request) error {
			req.Header.Set("Authorization", "Bearer "+m.opts.APIKey)
			return nil
		}
	}
	family := family(m.info.Name)
	if m.opts.Family != "" {
		family = m.opts.Family
	}
	if o.Info.Traits.ThinkingStyle == "" {
		o.Info.Traits.ThinkingStyle = style(family)
	}
	o.NoCache = o.NoCache || notCached().MatchString(family)
	return anthropic.New(m.info.Name, o)
}
