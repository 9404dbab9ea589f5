package wirecase_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
	"github.com/cantle-dev/cantle/llm/openai"
)

func open(wire, provider, model, base string) llm.Model {
	info := llm.Info{Provider: provider, Traits: llm.Traits{Images: true, PDF: true, Thinking: true}}
	if wire == "anthropic" {
		return anthropic.New(model, anthropic.Options{BaseURL: base, APIKey: "k", Info: info})
	}
	return openai.NewChat(model, openai.Options{BaseURL: base, APIKey: "k", Info: info})
}

// TestRecorded replays the recorded exchanges, where they are beside the
// repository.
func TestRecorded(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "shared", "wire")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the recorded exchanges are not there: ", err)
	}
	wires := []string{"anthropic", "openai-chat"}
	cases, err := wirecase.Load(dir, wires...)
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, c := range cases {
		faults := c.Run(t.Context(), wires, open)
		if len(faults) > 0 {
			failed++
		}
		for _, f := range faults {
			t.Error(f)
		}
	}
	t.Logf("%d cases passed, %d failed", len(cases)-failed, failed)
}
