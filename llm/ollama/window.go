package ollama

import (
	"errors"
	"fmt"

	"github.com/cantle-dev/cantle/llm"
)

// tooLong refuses a prompt that is beyond doubt longer than the window: the
// server would load the model and read the prompt before it said so, and older
// ones cut it without a word. What is near the window is for the server to
// count, and so are images, which are small for one model and large for another.
func (m *Model) tooLong(req *llm.Request) error {
	if m.numCtx == 0 || hasBlobs(req) {
		return nil
	}
	if n := llm.Estimate(req); n > m.numCtx+m.numCtx/4 {
		return &llm.Error{
			Kind: llm.KindContextOverflow, Provider: m.info.Provider, Model: m.info.Name,
			Message: fmt.Sprintf("the prompt has about %d tokens; %s", n, m.window()),
		}
	}
	return nil
}

// window names the window and how to have a larger one.
func (m *Model) window() string {
	switch {
	case m.numCtx > 0:
	case m.hosted:
		return "the window is that of the model at ollama.com"
	default:
		return "the window is the server's own: set num_ctx in the model's Modelfile or OLLAMA_CONTEXT_LENGTH of the server"
	}
	return fmt.Sprintf("the window (num_ctx) is %d: ask for a larger context window for this model, up to what it was made for and the memory holds", m.numCtx)
}

// explain adds the window to the server's word that the prompt is too long.
func (m *Model) explain(err error) error {
	var e *llm.Error
	if errors.As(err, &e) && e.Kind == llm.KindContextOverflow {
		e.Message += "; " + m.window()
	}
	return err
}

// wasCut reports whether the server, one that knows no "truncate", took a part
// of the prompt only: what it then reads fills the window.
func (m *Model) wasCut(promptTokens int64) bool {
	return m.numCtx > 0 && promptTokens >= int64(m.numCtx)
}

func hasBlobs(req *llm.Request) bool {
	for _, msg := range req.Messages {
		for _, p := range msg.Parts {
			switch p := p.(type) {
			case llm.Blob:
				return true
			case llm.ToolResult:
				for _, q := range p.Parts {
					if _, ok := q.(llm.Blob); ok {
						return true
					}
				}
			}
		}
	}
	return false
}
