package gemini_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/gemini"
)

// A server on loopback stands for the provider.
func ExampleNew() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.URL, r.Header.Get("X-Goog-Api-Key"))
		_, _ = io.WriteString(w, `data: {"candidates":[{"content":{"parts":[{"text":"Rayleigh "}],"role":"model"}}]}

data: {"candidates":[{"content":{"parts":[{"text":"scattering."}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":4,"totalTokenCount":13}}

`)
	}))
	defer srv.Close()

	m := gemini.New("gemini-x", gemini.Options{APIKey: "secret", BaseURL: srv.URL})
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
	// /v1beta/models/gemini-x:streamGenerateContent?alt=sse secret
	// Rayleigh scattering.
	// end 9 4
}

// Of two variables the first that is set counts; that none is, is an error.
func ExampleFromEnv() {
	_, err := gemini.FromEnv("gemini-x", func(string) string { return "" }, gemini.Options{})
	fmt.Println(err)
	m, err := gemini.FromEnv("gemini-x", func(string) string { return "secret" }, gemini.Options{}) // or os.Getenv
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Info().Ref())
	// Output:
	// gemini: no API key: set GEMINI_API_KEY or GOOGLE_API_KEY
	// google:gemini-x
}
