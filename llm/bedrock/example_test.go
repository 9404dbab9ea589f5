package bedrock_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/bedrock"
)

// A server on loopback stands for Bedrock.
func ExampleNew() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.URL.EscapedPath(), r.Header.Get("Authorization"))
		for _, ev := range [][2]string{
			{"messageStart", `{"role":"assistant"}`},
			{"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"Rayleigh "}}`},
			{"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"scattering."}}`},
			{"contentBlockStop", `{"contentBlockIndex":0}`},
			{"messageStop", `{"stopReason":"end_turn"}`},
			{"metadata", `{"usage":{"inputTokens":9,"outputTokens":4,"totalTokens":13}}`},
		} {
			msg := eventstream.Message{Payload: []byte(ev[1])}
			msg.Headers.Set(":message-type", eventstream.StringValue("event"))
			msg.Headers.Set(":event-type", eventstream.StringValue(ev[0]))
			var b bytes.Buffer
			_ = eventstream.NewEncoder().Encode(&b, msg)
			_, _ = w.Write(b.Bytes())
		}
	}))
	defer srv.Close()

	m := bedrock.New("us.amazon.nova-2-lite-v1:0", bedrock.Options{APIKey: "secret", BaseURL: srv.URL})
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
	// /model/us.amazon.nova-2-lite-v1%3A0/converse-stream Bearer secret
	// Rayleigh scattering.
	// end 9 4
}

// The request is one of Anthropic's, in Bedrock's envelope: the model is in the
// path, and the version in the body.
func ExampleNewAnthropic() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Version string `json:"anthropic_version"`
			Model   string
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		fmt.Printf("%s %s %q\n", r.URL.EscapedPath(), body.Version, body.Model)
		http.Error(w, `{"message":"The security token included in the request is invalid."}`, http.StatusForbidden)
	}))
	defer srv.Close()

	m := bedrock.NewAnthropic("us.anthropic.claude-opus-4-8", bedrock.Options{APIKey: "secret", BaseURL: srv.URL})
	_, err := llm.Generate(context.Background(), m, &llm.Request{
		Messages: []llm.Message{llm.UserText("Why is the sky blue?")},
	})
	fmt.Println(llm.IsKind(err, llm.KindAuth))
	// Output:
	// /model/us.anthropic.claude-opus-4-8/invoke-with-response-stream bedrock-2023-05-31 ""
	// true
}
