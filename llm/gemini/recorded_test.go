package gemini_test

import (
	"os"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/gemini"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
)

// TestRecorded replays recorded exchanges with the provider, of which those on
// this wire alone are looked at.
func TestRecorded(t *testing.T) {
	const dir = "../../../shared/wire"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the recorded exchanges are kept beside the repository, in shared/wire, and are not here")
	}
	dirs, err := wirecase.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
cases:
	for _, d := range dirs {
		c, err := wirecase.Load(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range c.Exchanges {
			if x.Wire != gemini.Wire {
				continue cases
			}
		}
		ran++
		for _, fault := range c.Run(t.Context(), func(x *wirecase.Exchange, base string) llm.Model {
			return gemini.New(x.Model(), gemini.Options{
				BaseURL: base, APIKey: "key-for-tests",
				Info: llm.Info{Provider: x.Provider, Traits: llm.Traits{Images: true, PDF: true, Thinking: true, Schema: true}},
			})
		}) {
			t.Error(fault)
		}
	}
	if ran < 10 {
		t.Errorf("only %d cases are on this wire", ran)
	}
}
