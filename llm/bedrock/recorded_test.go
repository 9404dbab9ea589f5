package bedrock_test

import (
	"os"
	"slices"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/bedrock"
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
	for _, d := range dirs {
		c, err := wirecase.Load(d)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(c.Exchanges, func(x wirecase.Exchange) bool { return x.Wire != bedrock.Wire }) {
			continue
		}
		ran++
		for _, fault := range c.Run(t.Context(), recorded) {
			t.Error(fault)
		}
	}
	if ran < 20 {
		t.Errorf("only %d cases are on this wire", ran)
	}
}

func recorded(x *wirecase.Exchange, base string) llm.Model {
	o := bedrock.Options{
		BaseURL: base, APIKey: "key-for-tests", NoStream: x.API == "converse" || x.API == "invoke",
		Info: llm.Info{Provider: x.Provider, Traits: llm.Traits{Images: true, PDF: true, Thinking: true, Schema: true}},
	}
	if x.API == "invoke" || x.API == "invoke-with-response-stream" {
		return bedrock.NewAnthropic(x.Model(), o)
	}
	return bedrock.New(x.Model(), o)
}
