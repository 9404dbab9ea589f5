package llmtest_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

// client is a client whose connections end with the test.
func client(t testing.TB) *http.Client {
	tr := llmtest.Loopback()
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func TestModels(t *testing.T) {
	for name, h := range map[string]llmtest.Harness{
		"script": {New: func(testing.TB, string) llm.Model {
			return llmtest.New(nil, llmtest.Times(20, llmtest.Say("Here is a short answer."))...)
		}},
		"func": {New: func(testing.TB, string) llm.Model {
			return llmtest.Func(llm.Info{Name: "f"}, func(context.Context, *llm.Request) (*llm.Response, error) {
				return &llm.Response{Message: llm.Message{Parts: llm.Texts("fine")}}, nil
			})
		}},
		"auto": {New: func(testing.TB, string) llm.Model { return llmtest.Auto() }},
	} {
		t.Run(name, func(t *testing.T) { llmtest.TestModel(t, h) })
	}
}

func TestForbidNetwork(t *testing.T) {
	t.Run("inside", func(t *testing.T) {
		llmtest.ForbidNetwork(t)
		if _, err := http.Get("http://192.0.2.1/"); err == nil || !strings.Contains(err.Error(), "only loopback is allowed") {
			t.Error(err)
		}
	})
}
