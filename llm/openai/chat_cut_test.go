package openai_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
	"github.com/cantle-dev/cantle/llm/openai"
)

// TestCut holds that a prompt that Ollama would cut, or did cut, is an error.
func TestCut(t *testing.T) {
	text := func(tokens int) *llm.Request { // by the estimate
		return &llm.Request{Messages: []llm.Message{llm.UserText(strings.Repeat("x", tokens*36/10))}}
	}
	image := &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Parts{llm.Blob{MIME: "image/png", Data: []byte("x")}}}}}
	for _, tt := range []struct {
		name     string
		provider string
		context  int
		req      *llm.Request
		reported int
		overflow string // what the error must say; "" is no error
	}{
		{"fits", "ollama", 2048, text(1000), 1100, ""},
		{"plainly too long", "ollama", 2048, text(3000), 0, "the window 2048"},
		{"an image is not guessed at", "ollama", 1000, image, 300, ""},
		{"filled the window", "ollama", 2048, text(1500), 2048, "cut the prompt to the 2048 tokens"},
		{"a larger window than was assumed", "ollama", 2048, text(2000), 2300, ""},
		{"a smaller window than was assumed", "ollama", 8192, text(6000), 4096, "cut the prompt to the 4096 tokens"},
		{"a round number by chance", "ollama", 8192, text(4200), 4096, ""},
		{"a window that is not known", "ollama", 0, text(6000), 2048, "cut the prompt to the 2048 tokens"},
		{"another server says so itself", "groq", 2048, text(3000), 2048, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := fmt.Sprintf("data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n", tt.reported)
			m := openai.NewChat("m", openai.Options{
				Client: wirecase.Canned{Body: body}.Client(), Info: llm.Info{Provider: tt.provider, Context: tt.context, Traits: llm.Traits{Images: true}},
			})
			_, err := llm.Generate(t.Context(), m, tt.req)
			if tt.overflow == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !llm.IsKind(err, llm.KindContextOverflow) || !strings.Contains(err.Error(), tt.overflow) || !strings.Contains(err.Error(), "num_ctx") {
				t.Errorf("error %v, want an overflow with %q", err, tt.overflow)
			}
		})
	}
}
