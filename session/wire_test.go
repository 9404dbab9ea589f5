package session_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/bedrock"
	"github.com/cantle-dev/cantle/llm/cohere"
	"github.com/cantle-dev/cantle/llm/gemini"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/llm/ollama"
	"github.com/cantle-dev/cantle/llm/openai"
	"github.com/cantle-dev/cantle/session"
)

// wires are models on every wire, against a server that refuses what
// a provider would, and fails the test for it.
func wires(t *testing.T) []llm.Model {
	srv := llmtest.NewServer(t, func(*llmtest.Exchange) llmtest.Reply { return llmtest.Say("ok") })
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	t.Cleanup(client.CloseIdleConnections)
	info := llm.Info{Traits: llm.Traits{Images: true, PDF: true, Thinking: true}}
	return []llm.Model{
		anthropic.New("test-model", anthropic.Options{BaseURL: srv.BaseURL(llmtest.WireAnthropic), Info: info, Client: client}),
		openai.NewChat("test-model", openai.Options{BaseURL: srv.BaseURL(llmtest.WireChat), Info: info, Client: client}),
		openai.NewResponses("test-model", openai.Options{BaseURL: srv.BaseURL(llmtest.WireResponses), Info: info, Client: client}),
		gemini.New("gemini-3-test", gemini.Options{BaseURL: srv.BaseURL(llmtest.WireGemini), Info: info, Client: client}),
		bedrock.New("anthropic.claude-test", bedrock.Options{BaseURL: srv.BaseURL(llmtest.WireBedrock), APIKey: "k", Region: "us-east-1", Info: info, Client: client}),
		cohere.New("test-model", cohere.Options{BaseURL: srv.BaseURL(llmtest.WireCohere), Info: info, Client: client}),
		ollama.New("test-model", ollama.Options{BaseURL: srv.BaseURL(llmtest.WireOllama), NumCtx: 64_000, Info: info, Client: client}),
	}
}

var readTool = []llm.ToolSpec{{Name: "Read", Description: "Reads a file.", Input: []byte(`{"type":"object","properties":{}}`)}}

func ask(t *testing.T, models []llm.Model, ms []llm.Message) error {
	for _, m := range models {
		if _, err := llm.Collect(m.Stream(t.Context(), &llm.Request{Messages: ms, Tools: readTool, MaxTokens: 100})); err != nil {
			return fmt.Errorf("%s: %w", m.Info().Wire, err)
		}
	}
	return nil
}

// TestEveryPrefixIsAValidRequest cuts the journals of sessions, sound and odd
// ones, off anywhere, as a crash does. What the user says next makes a request
// that the strict validator of each wire takes, and the journal keeps what it
// had.
func TestEveryPrefixIsAValidRequest(t *testing.T) {
	runs := 1000
	if os.Getenv("CANTLE_SOAK") != "" {
		runs = 10_000
	}
	var models []llm.Model
	repairs := 0
	for seed := range runs {
		if seed%500 == 0 {
			models = wires(t) // a server keeps its requests
		}
		c := &chaos{Rand: rand.New(rand.NewPCG(uint64(seed), 11))}
		s, err := session.Open(t.Context(), new(session.Memory), "s", session.OpenOptions{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		make1 := c.entry
		if seed%2 == 0 {
			make1 = c.sound()
		}
		for range c.IntN(30) {
			e := make1()
			if h, ok := e.Data.(session.Head); ok && !h.Root {
				if e.Parent = s.Leaf(); e.Parent == "" {
					continue
				}
			}
			if err := s.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			c.ids = append(c.ids, e.ID)
		}
		before := journal(t, s)
		if err := s.Append(t.Context(), session.Entry{ID: "last", Data: user("go on")}); err != nil {
			t.Fatal(err)
		}
		// Each history goes over two of the wires.
		some := []llm.Model{models[seed%len(models)], models[(seed+3)%len(models)]}
		if err := ask(t, some, s.Messages()); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, plain(t, s.Messages()))
		}
		if now := journal(t, s); !strings.HasPrefix(now, before) {
			t.Fatalf("seed %d: a repair changed the journal", seed)
		}
		repairs += len(s.Repairs())
	}
	if repairs < runs {
		t.Errorf("%d repairs in %d runs: the prefixes were not odd enough", repairs, runs)
	}
}

// journal is all records of s.
func journal(t *testing.T, s *session.Session) string {
	t.Helper()
	var b []byte
	if s.Leaf() == "" {
		return ""
	}
	for e, err := range s.Store().Read(t.Context(), s.ID()) {
		if err == nil {
			b, err = e.Encode(b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return string(b)
}

// sound returns a maker of entries as a run writes them: input, an answer with
// calls, their results one by one or together, notes between them.
func (c *chaos) sound() func() session.Entry {
	var waiting []string
	said := false
	return func() session.Entry {
		e := session.Entry{ID: fmt.Sprint("e", c.n)}
		c.n++
		switch {
		case len(waiting) > 0 && c.IntN(4) == 0:
			e.Data = session.Note{Kind: "k", Data: []byte(`1`)}
		case len(waiting) > 0:
			n := 1 + c.IntN(len(waiting))
			ps := make([]string, 0, 2*n)
			for _, id := range waiting[:n] {
				ps = append(ps, id, "done")
			}
			waiting = waiting[n:]
			e.Data = results(ps...)
		case !said:
			said = true
			e.Data = user("do it")
		default:
			said = false
			ps := llm.Parts{llm.Text{Text: "I look"}}
			for range c.IntN(4) {
				id := fmt.Sprint("c", c.n, "-", len(waiting))
				waiting = append(waiting, id)
				ps = append(ps, llm.ToolCall{ID: id, Name: "Read", Input: []byte(`{}`)})
			}
			e.Data = session.Message{Message: llm.Message{Role: llm.RoleAssistant, Parts: ps}, Partial: c.IntN(8) == 0}
		}
		return e
	}
}

// TestEachRepairIsAValidRequest has the damages one by one, and what each is
// called.
func TestEachRepairIsAValidRequest(t *testing.T) {
	models := wires(t)
	for name, c := range map[string]struct {
		datas []session.Data
		want  session.RepairKind // "" for what needs none
	}{
		"call without result":       {[]session.Data{user("hi"), calls("a")}, session.RepairNoResult},
		"result without call":       {[]session.Data{user("hi"), results("a", "late")}, session.RepairNoCall},
		"second result":             {[]session.Data{user("hi"), calls("a"), results("a", "1", "a", "2")}, session.RepairNoCall},
		"second result later":       {[]session.Data{user("hi"), calls("a"), results("a", "1"), results("a", "2")}, session.RepairNoCall},
		"empty text":                {[]session.Data{user("hi"), model(llm.Text{Text: " "})}, session.RepairMessage},
		"empty text beside another": {[]session.Data{user("hi"), model(llm.Text{}, llm.Text{Text: "hello"})}, ""},
		"the model spoke last":      {[]session.Data{user("hi"), model(llm.Text{Text: "hello"})}, ""},
		"results in another order":  {[]session.Data{user("hi"), calls("a", "b", "c"), results("c", "3", "a", "1", "b", "2")}, ""},
		"the first of three":        {[]session.Data{user("hi"), calls("a", "b", "c"), results("b", "2")}, session.RepairNoResult},
		"nothing but thinking":      {[]session.Data{user("hi"), model(llm.Thinking{Text: "hm"})}, session.RepairMessage},
		"arguments cut off":         {[]session.Data{user("hi"), model(llm.ToolCall{ID: "a", Name: "Read", Input: []byte(`null`)})}, session.RepairCall},
		"no name":                   {[]session.Data{user("hi"), model(llm.ToolCall{ID: "a", Input: []byte(`{}`)})}, session.RepairCall},
		"an id twice":               {[]session.Data{user("hi"), model(llm.ToolCall{ID: "a", Name: "Read", Input: []byte(`{}`)}, llm.ToolCall{ID: "a", Name: "Read", Input: []byte(`{}`)}), results("a", "1")}, session.RepairCall},
		"the model spoke first":     {[]session.Data{model(llm.Text{Text: "hello"})}, session.RepairMessage},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, c.datas...)
			before := journal(t, s)
			add(t, s, user("go on"))
			if err := ask(t, models, s.Messages()); err != nil {
				t.Errorf("%v\n%s", err, plain(t, s.Messages()))
			}
			rs := s.Repairs()
			if c.want == "" && len(rs) > 0 || c.want != "" && (len(rs) == 0 || rs[0].Kind != c.want) {
				t.Errorf("repairs %v, want %q", rs, c.want)
			}
			if !strings.HasPrefix(journal(t, s), before) {
				t.Error("the journal was changed")
			}
		})
	}
}
