package openai_test

import (
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
	"github.com/cantle-dev/cantle/llm/openai"
)

// responses makes a model that is always answered with body.
func responses(body string, opts openai.Options) *openai.Responses {
	opts.Client = wirecase.Canned{Body: body}.Client()
	opts.BaseURL = "http://responses.test/v1"
	return openai.NewResponses("m", opts)
}

// TestResponsesStreams holds what is made of the answers in testdata/responses.
// Files whose names begin with xai are of that provider.
func TestResponsesStreams(t *testing.T) {
	wirecase.Golden(t, "testdata/responses/*.txt", *update, func(_ *testing.T, file, body string) llm.Model {
		var opts openai.Options
		if strings.HasPrefix(file, "xai") {
			opts.Info.Provider = "xai"
		}
		return responses(body, opts)
	})
}
