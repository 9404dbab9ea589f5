package ollama_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
	"github.com/cantle-dev/cantle/llm/ollama"
)

// TestRecorded replays recorded exchanges, where they are there.
func TestRecorded(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "wire")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("there are no recorded exchanges beside the repository: ", err)
	}
	dirs, err := wirecase.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, d := range dirs {
		c, err := wirecase.Load(d)
		if err != nil {
			t.Fatal(err)
		}
		if c.Exchanges[0].Wire != ollama.Wire {
			continue
		}
		n++
		t.Run(c.Name, func(t *testing.T) {
			for _, fault := range c.Run(t.Context(), func(x *wirecase.Exchange, base string) llm.Model {
				return ollama.New(x.Model(), ollama.Options{BaseURL: base, APIKey: "key-for-tests", Info: llm.Info{
					Provider: x.Provider, Traits: llm.Traits{Images: true, PDF: true, Thinking: true, Schema: true},
				}})
			}) {
				t.Error(fault)
			}
		})
	}
	if n == 0 {
		t.Error("none of the recorded exchanges is on this wire")
	}
}
