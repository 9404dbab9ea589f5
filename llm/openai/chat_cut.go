package openai

import (
	"fmt"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// tooLong refuses a prompt that is longer than the window, by the estimate,
// where the server would not say so. Images are left to it: they are small for
// one model and large for another.
func (m *Chat) tooLong(req *llm.Request) error {
	if !m.profile.Cuts || m.info.Context == 0 {
		return nil
	}
	for i := range req.Messages {
		if hasBlob(req.Messages[i].Parts) {
			return nil
		}
	}
	if n := llm.Estimate(req); n > m.info.Context {
		return m.overflow(0, fmt.Sprintf("the prompt has about %d tokens and the window %d", n, m.info.Context))
	}
	return nil
}

func hasBlob(ps llm.Parts) bool {
	for _, p := range ps {
		switch p := p.(type) {
		case llm.Blob:
			return true
		case llm.ToolResult:
			if hasBlob(p.Parts) {
				return true
			}
		}
	}
	return false
}

func (m *Chat) overflow(status int, what string) error {
	return &llm.Error{
		Kind: llm.KindContextOverflow, Provider: m.info.Provider, Model: m.info.Name, Status: status,
		Message: what + ": on this interface the window is the server's to set, by num_ctx in the model's Modelfile or OLLAMA_CONTEXT_LENGTH; the wire ollama sets it with each request",
	}
}

// uncut is the decoder of a server that takes of a prompt what fits: an answer
// to a part of it is an error.
type uncut struct {
	*decoder
	m        *Chat
	estimate int
}

// Event is [wire.Decoder].Event.
func (d uncut) Event(ev wire.Event) ([]llm.Event, error) {
	out, err := d.decoder.Event(ev)
	if err != nil || d.State() != wire.Done {
		return out, err
	}
	_, reported := d.usage.both()
	if reported == nil || !d.filled(reported.Input) {
		return out, nil
	}
	return out, d.m.overflow(200, fmt.Sprintf("the server cut the prompt to the %d tokens of its window", reported.Input))
}

// filled reports whether a prompt of n tokens is one that was cut to the
// window. Where the window is not what was assumed, it shows by a round number
// that is well below the estimate: windows are powers of two.
func (d uncut) filled(n int64) bool {
	if n == int64(d.m.info.Context) && n > 0 {
		return true
	}
	return n >= 512 && n&(n-1) == 0 && int64(d.estimate) > n+n/4
}
