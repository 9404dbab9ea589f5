package wire_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/bedrock"
	"github.com/cantle-dev/cantle/llm/cohere"
	"github.com/cantle-dev/cantle/llm/gemini"
	"github.com/cantle-dev/cantle/llm/internal/wire"
	"github.com/cantle-dev/cantle/llm/openai"
)

// picky refuses bodies that hold what is refused, with the error that belongs to
// it, and otherwise has some other error, which nobody tries again.
type picky struct {
	refuse [][2]string
	mu     sync.Mutex
	bodies []string
}

func (p *picky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bodies = append(p.bodies, string(b))
	for _, x := range p.refuse {
		if strings.Contains(string(b), x[0]) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, x[1])
			return
		}
	}
	w.WriteHeader(http.StatusPaymentRequired)
	_, _ = io.WriteString(w, `{"error":{"message":"enough"},"message":"enough"}`)
}

// TestLearnsAtEveryWire has servers of every wire refuse something in words of
// theirs. The request is sent again without it, and a second model at the same
// endpoint knows, as does not one with another key.
func TestLearnsAtEveryWire(t *testing.T) {
	claude := func(message string) string {
		return `{"type":"error","error":{"type":"invalid_request_error","message":"` + message + `"}}`
	}
	enabled := claude(`\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.`)
	google := func(message string) string {
		return `{"error":{"code":400,"message":"` + message + `","status":"INVALID_ARGUMENT"}}`
	}
	aws := func(message string) string {
		return `{"message":"The model returned the following errors: ` + message + `"}`
	}
	openaiOf := func(message string) string {
		return `{"error":{"message":"` + message + `","type":"invalid_request_error"}}`
	}
	thinks := func(style string) llm.Info {
		return llm.Info{Traits: llm.Traits{Thinking: true, ThinkingStyle: style}}
	}
	type maker func(name, url, key string) llm.Model
	anthropicAs := func(style string) maker {
		return func(name, url, key string) llm.Model {
			return anthropic.New(name, anthropic.Options{BaseURL: url, APIKey: key, Info: thinks(style)})
		}
	}
	bedrockAs := func(style string) maker {
		return func(name, url, key string) llm.Model {
			return bedrock.New(name, bedrock.Options{
				BaseURL: url, APIKey: key, Region: "us-east-1", Family: "anthropic.claude-x", Info: thinks(style),
			})
		}
	}
	geminiAs := func(style string) maker {
		return func(name, url, key string) llm.Model {
			return gemini.New(name, gemini.Options{BaseURL: url, APIKey: key, Info: thinks(style)})
		}
	}
	cohereAs := func(name, url, key string) llm.Model {
		return cohere.New(name, cohere.Options{BaseURL: url, APIKey: key, Info: thinks("")})
	}
	chatAs := func(name, url, key string) llm.Model {
		return openai.NewChat(name, openai.Options{BaseURL: url, APIKey: key, Info: thinks("")})
	}
	responsesAs := func(name, url, key string) llm.Model {
		return openai.NewResponses(name, openai.Options{BaseURL: url, APIKey: key, Info: thinks("")})
	}
	const quiet = "" // no effort: sampling parameters are for models that do not think
	for _, c := range []struct {
		name   string
		model  maker
		effort llm.Effort
		refuse [][2]string
		has    string // of the body in the end
	}{
		{"anthropic temperature", anthropicAs(""), quiet, [][2]string{{`"temperature"`, claude("`temperature` is deprecated for this model.")}}, "max_tokens"},
		{"anthropic extra input", anthropicAs(""), quiet, [][2]string{{`"metadata"`, claude("metadata: Extra inputs are not permitted")}}, `"temperature"`},
		{"anthropic budget", anthropicAs("budget"), llm.EffortHigh, [][2]string{{`"enabled"`, enabled}}, `"effort":"high"`},
		{"anthropic adaptive", anthropicAs("adaptive"), llm.EffortHigh, [][2]string{{`"adaptive"`, claude("adaptive thinking is not supported on this model")}}, `"budget_tokens"`},
		{"anthropic neither", anthropicAs("adaptive"), llm.EffortHigh, [][2]string{
			{`"adaptive"`, claude("adaptive thinking is not supported on this model")}, {`"enabled"`, enabled},
		}, `"temperature"`},
		{"anthropic effort", anthropicAs("adaptive"), llm.EffortHigh, [][2]string{{`"effort"`, claude("This model does not support the effort parameter.")}}, `"adaptive"`},
		{"anthropic off", anthropicAs("adaptive"), llm.EffortOff, [][2]string{{`"disabled"`, claude(`\"thinking.type.disabled\" is not supported for this model.`)}}, "max_tokens"},
		{"anthropic none", anthropicAs("budget"), llm.EffortHigh, [][2]string{{`"thinking"`, claude("Extended thinking is not supported for this model.")}}, `"temperature"`},
		{"bedrock temperature", bedrockAs(""), quiet, [][2]string{{`"temperature"`, aws("`temperature` is deprecated for this model.")}}, "messages"},
		{"bedrock budget", bedrockAs("budget"), llm.EffortHigh, [][2]string{
			{`"enabled"`, aws(`\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\".`)},
		}, `"effort":"high"`},
		{"bedrock adaptive", bedrockAs("adaptive"), llm.EffortHigh, [][2]string{{`"adaptive"`, aws("adaptive thinking is not supported on this model")}}, `"budget_tokens"`},
		{"gemini level", geminiAs("level"), llm.EffortHigh, [][2]string{{`"thinkingLevel"`, google("Thinking level is not supported for this model.")}}, `"thinkingBudget"`},
		{"gemini unknown level", geminiAs("level"), llm.EffortHigh, [][2]string{
			{`"thinkingLevel"`, google(`Invalid JSON payload received. Unknown name \"thinkingLevel\" at 'generation_config.thinking_config': Cannot find field.`)},
		}, `"thinkingBudget"`},
		{"gemini off", geminiAs("budget"), llm.EffortOff, [][2]string{{`"thinkingBudget":0`, google("Budget 0 is invalid. This model only works in thinking mode.")}}, `"thinkingBudget":128`},
		{"gemini none", geminiAs("budget"), llm.EffortHigh, [][2]string{{`"thinkingConfig"`, google("Unable to submit request because thinking is not supported by this model.")}}, `"temperature"`},
		{"gemini temperature", geminiAs("budget"), quiet, [][2]string{{`"temperature"`, google(`Unknown name \"temperature\" at 'generation_config': Cannot find field.`)}}, "contents"},
		{"cohere temperature", cohereAs, quiet, [][2]string{{`"temperature"`, `{"message":"invalid request: parameter 'temperature' is not supported by this model"}`}}, "messages"},
		{"cohere thinking", cohereAs, llm.EffortHigh, [][2]string{{`"thinking"`, `{"message":"thinking is not supported by this model"}`}}, `"temperature"`},
		{"chat", chatAs, quiet, [][2]string{
			{`"temperature"`, openaiOf("Unsupported value: 'temperature' does not support 0 with this model.")},
			{`"max_tokens"`, openaiOf("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")},
		}, `"max_completion_tokens"`},
		{"responses", responsesAs, quiet, [][2]string{{`"temperature"`, openaiOf("Unsupported parameter: 'temperature' is not supported with this model.")}}, `"input"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := &picky{refuse: c.refuse}
			srv := httptest.NewServer(p)
			defer srv.Close()
			temp := 0.5
			ask := func(key string) (posts []string) {
				p.bodies = nil
				_, err := llm.Generate(t.Context(), c.model(t.Name(), srv.URL, key), &llm.Request{
					Messages: []llm.Message{llm.UserText("hi")}, MaxTokens: 20_000, Temperature: &temp, User: "u", Effort: c.effort,
				})
				if err == nil || !strings.Contains(err.Error(), "enough") {
					t.Errorf("ends with %v", err)
				}
				return p.bodies
			}
			first := ask("k")
			if n := len(first); n != len(c.refuse)+1 || !strings.Contains(first[n-1], c.has) {
				t.Fatalf("%d posts:\n%s", n, strings.Join(first, "\n"))
			}
			if again := ask("k"); len(again) != 1 || again[0] != first[len(first)-1] {
				t.Errorf("another model: %d posts", len(again))
			}
			if other := ask("k2"); len(other) != len(first) {
				t.Errorf("another account: %d posts", len(other))
			}
		})
	}
}

// TestLessonsThatChangeNothing are not learned, and not tried twice.
func TestLessonsThatChangeNothing(t *testing.T) {
	p := &picky{refuse: [][2]string{{`"a"`, `{"error":{"message":"'a' is not supported"}}`}}}
	srv := httptest.NewServer(p)
	defer srv.Close()
	l := wire.LessonsOf(srv.URL, t.Name(), "", wire.Optional{Name: "a"})
	_, err := l.Post(t.Context(), srv.URL, func() (*wire.Body, error) {
		var o wire.Body
		o.Value("a", 1)
		return &o, nil
	}, wire.Options{})
	if !llm.IsKind(err, llm.KindInvalidRequest) || len(p.bodies) != 1 || l.Refused("a") {
		t.Errorf("%d posts, %v, %t", len(p.bodies), err, l.Refused("a"))
	}
	// Nor is there an end to servers that want something else each time.
	n := 0
	_, err = l.Post(t.Context(), srv.URL, func() (*wire.Body, error) {
		var o wire.Body
		n++
		o.Value("a", n)
		return &o, nil
	}, wire.Options{})
	if !llm.IsKind(err, llm.KindInvalidRequest) || n > 5 {
		t.Errorf("%d times, %v", n, err)
	}
}

// TestLessonsAreBounded asks for those of more endpoints than are remembered:
// what a model has stays its own.
func TestLessonsAreBounded(t *testing.T) {
	p := &picky{refuse: [][2]string{{`"a"`, `{"error":{"message":"'a' is not supported"}}`}}}
	srv := httptest.NewServer(p)
	defer srv.Close()
	l := wire.LessonsOf(srv.URL, t.Name(), "", wire.Optional{Name: "a"})
	post := func(l wire.Lessons) int {
		p.bodies = nil
		_, err := l.Post(t.Context(), srv.URL, func() (*wire.Body, error) {
			var o wire.Body
			if !l.Refused("a") {
				o.Value("a", 1)
			}
			return &o, nil
		}, wire.Options{})
		if err == nil {
			t.Error("no error")
		}
		return len(p.bodies)
	}
	if n := post(l); n != 2 {
		t.Fatalf("%d posts", n)
	}
	for i := range 3000 {
		wire.LessonsOf(srv.URL, fmt.Sprint(t.Name(), i), "")
	}
	if a, b := post(l), post(wire.LessonsOf(srv.URL, t.Name(), "", wire.Optional{Name: "a"})); a != 1 || b != 2 {
		t.Errorf("%d posts by who has them, %d by who asks anew", a, b)
	}
}
