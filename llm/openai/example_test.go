package openai_test

import (
	"fmt"

	"github.com/cantle-dev/cantle/llm/openai"
)

// The variables of OpenAI's own clients are understood, the address among them.
func ExampleFromEnv() {
	vars := map[string]string{"OPENAI_API_KEY": "secret", "OPENAI_BASE_URL": "https://api.groq.com/openai/v1"}
	m := openai.NewChat("m", openai.FromEnv(func(name string) string { return vars[name] })) // or os.Getenv
	fmt.Println(m.Info().Ref())
	// Output:
	// groq:m
}
