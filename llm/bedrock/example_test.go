package bedrock_test

import (
	"bytes"
	"context"
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
