package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
)

// A server on loopback stands for the provider.
func ExampleNew() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		fmt.Println(r.URL.Path, body.Model, r.Header.Get("X-Api-Key"))
		_, _ = io.WriteString(w, `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","model":"claude-x","usage":{"input_tokens":9,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Rayleigh "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"scattering."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}

event: message_stop
data: {"type":"message_stop"}

`)
	}))
	defer srv.Close()

	m := anthropic.New("claude-x", anthropic.Options{APIKey: "secret", BaseURL: srv.URL})
	resp, err := llm.Generate(context.Background(), m, &llm.Request{
		Messages: []llm.Message{llm.UserText("Why is the sky blue?")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Message.Text())
	fmt.Println(resp.Stop, resp.Usage.Input, resp.Usage.Output)
	// Output:
	// /v1/messages claude-x secret
	// Rayleigh scattering.
	// end 9 4
}

// That there is no key is an error that names the variable.
func ExampleFromEnv() {
	_, err := anthropic.FromEnv("claude-x", func(string) string { return "" }, anthropic.Options{})
	fmt.Println(err)
	m, err := anthropic.FromEnv("claude-x", func(string) string { return "secret" }, anthropic.Options{}) // or os.Getenv
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Info().Ref())
	// Output:
	// anthropic: no API key: set ANTHROPIC_API_KEY
	// anthropic:claude-x
}
