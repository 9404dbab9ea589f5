package ollama_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/ollama"
	"github.com/cantle-dev/cantle/llm/openai"
)

// real is the address of a server that testdata/serve.sh started.
func real(t *testing.T) string {
	t.Helper()
	base := os.Getenv("CANTLE_OLLAMA_URL")
	if base == "" {
		t.Skip("there is no real Ollama: start one with testdata/serve.sh and put its address into CANTLE_OLLAMA_URL")
	}
	return base
}

var weather = llm.ToolSpec{
	Name: "weather", Description: "Tells the weather.",
	Input: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
}

// digits are far more tokens than their length lets one guess: one each.
func digits(n int) string { return strings.Repeat("7318264950", n/10) }

func wires(base string, window int) map[string]llm.Model {
	info := llm.Info{Provider: "ollama", Context: window}
	return map[string]llm.Model{
		"native": ollama.New("smollm2", ollama.Options{BaseURL: base, Info: info}),
		"chat":   openai.NewChat("smollm2", openai.Options{BaseURL: base + "/v1", Info: info, Stall: -1}),
	}
}

func TestRealAnswer(t *testing.T) {
	for name, m := range wires(real(t), 2048) {
		t.Run(name, func(t *testing.T) {
			req := &llm.Request{
				System: "You are brief.", Tools: []llm.ToolSpec{weather}, MaxTokens: 24,
				Messages: []llm.Message{llm.UserText("What is the capital of France?")},
			}
			var deltas strings.Builder
			var resp *llm.Response
			for ev, err := range m.Stream(t.Context(), req) {
				if err != nil {
					t.Fatal(err)
				}
				switch ev := ev.(type) {
				case llm.TextDelta:
					deltas.WriteString(ev.Text)
				case llm.Done:
					resp = ev.Response
				}
			}
			t.Logf("%q, calls %v, stop %s, usage %+v", resp.Message.Text(), resp.Message.Parts.Calls(), resp.Stop, resp.Usage)
			if resp.Message.Text() != deltas.String() {
				t.Errorf("text %q, deltas %q", resp.Message.Text(), deltas.String())
			}
			if resp.Message.Text() == "" && len(resp.Message.Parts.Calls()) == 0 {
				t.Error("there is no answer")
			}
			if resp.Usage == nil || resp.Usage.Input == 0 || resp.Usage.Output == 0 {
				t.Errorf("usage %+v", resp.Usage)
			}
			if resp.Model != "smollm2" {
				t.Errorf("model %q", resp.Model)
			}
		})
	}
}

// TestRealHistory sends calls and results back, which must suit the server.
func TestRealHistory(t *testing.T) {
	for name, m := range wires(real(t), 2048) {
		t.Run(name, func(t *testing.T) {
			resp, err := llm.Generate(t.Context(), m, &llm.Request{
				Tools: []llm.ToolSpec{weather}, MaxTokens: 8,
				Messages: []llm.Message{
					llm.UserText("How is the weather in Oslo?"),
					{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "call_1", Name: "weather", Input: json.RawMessage(`{"city":"Oslo"}`)}}},
					{Role: llm.RoleUser, Parts: llm.Parts{llm.ToolResult{CallID: "call_1", Name: "weather", Parts: llm.Texts("rain, 4 °C")}}},
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%q", resp.Message.Text())
		})
	}
}

// TestRealOverflow holds that a prompt that is too long is an error that names
// the window: before it is sent where that is plain, by the server's count, and
// by what the server took of it.
func TestRealOverflow(t *testing.T) {
	base := real(t)
	overflow := func(t *testing.T, m llm.Model, req *llm.Request, window int) {
		t.Helper()
		_, err := llm.Generate(t.Context(), m, req)
		t.Log(err)
		if !llm.IsKind(err, llm.KindContextOverflow) || !strings.Contains(err.Error(), fmt.Sprint(window)) {
			t.Errorf("error %v, want an overflow that names %d", err, window)
		}
	}
	for name, m := range wires(base, 256) {
		t.Run("plain "+name, func(t *testing.T) {
			overflow(t, m, &llm.Request{Messages: []llm.Message{llm.UserText(strings.Repeat("A word or two. ", 200))}}, 256)
		})
	}
	// Some 200 tokens by the estimate, and 600 by the tokenizer.
	dense := []llm.Message{llm.UserText(digits(600))}
	native := ollama.New("smollm2", ollama.Options{BaseURL: base, NumCtx: 256})
	t.Run("counted by the server", func(t *testing.T) {
		overflow(t, native, &llm.Request{Messages: dense}, 256)
	})
	t.Run("cut by the server", func(t *testing.T) {
		overflow(t, native, &llm.Request{
			Messages: dense, MaxTokens: 4,
			Extra: map[string]json.RawMessage{ollama.Wire: json.RawMessage(`{"truncate":true}`)},
		}, 256)
	})
	t.Run("cut by the server on chat", func(t *testing.T) {
		m := openai.NewChat("smollm2-256", openai.Options{BaseURL: base + "/v1", Info: llm.Info{Provider: "ollama", Context: 256}, Stall: -1})
		overflow(t, m, &llm.Request{Messages: dense, MaxTokens: 4}, 256)
	})
}

func TestRealShow(t *testing.T) {
	m := ollama.New("smollm2", ollama.Options{BaseURL: real(t)})
	d, err := m.Show(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", d)
	if d.Max != 8192 || d.NumCtx != 2048 || !d.Tools || d.Images || d.Thinking {
		t.Errorf("details %+v", d)
	}
	_, err = ollama.New("nobody", ollama.Options{BaseURL: real(t)}).Show(t.Context())
	if !llm.IsKind(err, llm.KindNotFound) {
		t.Errorf("error %v", err)
	}
}
