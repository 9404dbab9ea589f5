package app_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// second adds a provider of the wire to a world's settings, as "name:m".
func second(t *testing.T, c *config.Config, name, wire string, p llmtest.Player) *llmtest.Server {
	t.Helper()
	srv := llmtest.NewServer(t, p)
	c.Providers[name] = config.Provider{BaseURL: srv.BaseURL(wire), Wire: wire}
	c.Models[name+":m"] = config.Model{Context: 200_000, Price: &config.ModelPrice{Input: "1", Output: "1"}}
	return srv
}

// told runs one prompt, and returns the result and what was said of the models.
func told(t *testing.T, a *app.App, prompt string) (*agent.Result, []string) {
	t.Helper()
	var out []string
	st := a.Agent.Stream(t.Context(), a.Session, llm.Text{Text: prompt})
	for ev, err := range st.Events() {
		if err != nil {
			t.Fatal(err)
		}
		switch d := ev.Data.(type) {
		case agent.Retrying:
			out = append(out, "retrying")
		case agent.Switched:
			out = append(out, d.From+" → "+d.To)
		case agent.Notice:
			out = append(out, d.Kind+": "+d.Text)
		case agent.Warning:
			out = append(out, "warning: "+d.Text)
		}
	}
	return st.Result(), out
}

// A model that is overloaded for the third time is replaced to the end of the
// run, with its tools; the next run begins with it again.
func TestFallbackLastsForTheRun(t *testing.T) {
	w := newWorld(t)
	w.write("a.txt", "hello")
	var spare *llmtest.Server
	w.change = func(o *app.Options) {
		two := 2
		o.Config.Retry = config.Retry{Max: &two, MaxWait: "1ms"}
		o.Config.Fallback = []string{"spare:m"}
		spare = second(t, o.Config, "spare", llmtest.WireChat, llmtest.Play(t, llmtest.Call("Read", m{"file_path": "a.txt"}), llmtest.Say("from the spare one")))
	}
	replies := slices.Concat(llmtest.Times(3, llmtest.Status(529, nil)), []llmtest.Reply{llmtest.Say("the main one is back")})
	a, srv := w.open(replies...)
	res, said := told(t, a, "read a.txt")
	if want := "retrying, retrying, t:m → spare:m"; res.Text != "from the spare one" || strings.Join(said, ", ") != want {
		t.Errorf("%q; told %q", res.Text, said)
	}
	if len(srv.Requests()) != 3 || len(spare.Requests()) != 2 {
		t.Errorf("%d and %d requests", len(srv.Requests()), len(spare.Requests()))
	}
	if res, said := told(t, a, "and now?"); res.Text != "the main one is back" || len(said) != 0 {
		t.Errorf("%q; told %q", res.Text, said)
	}
}

// The judge of a route is asked as a side call, which the run pays for. What
// goes wrong with it is told, and the rules decide.
func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name   string
		judge  llmtest.Reply
		answer string
		told   []string
		paid   bool
	}{
		{"hard", llmtest.Say("hard"), "frontier", []string{"route: t:m answers: judged hard"}, true},
		{"plain", llmtest.Say("plain"), "cheap", []string{"route: cheap:m answers: judged plain"}, true},
		{"no quota", llmtest.Fail(&llm.Error{Kind: llm.KindQuota, Status: http.StatusPaymentRequired, Message: "no credit"}), "cheap", []string{"route: cheap:m answers: short and plain (the judge failed: ", "warning: agent: route: "}, false},
		{"a wrong key", llmtest.Status(http.StatusUnauthorized, nil), "cheap", []string{"route: cheap:m answers: short and plain (the judge failed: ", "warning: agent: route: "}, false},
	} {
		w := newWorld(t)
		var judge *llmtest.Server
		w.change = func(o *app.Options) {
			c := o.Config
			second(t, c, "cheap", llmtest.WireChat, func(*llmtest.Exchange) llmtest.Reply { return llmtest.Say("cheap") })
			judge = second(t, c, "judge", llmtest.WireChat, llmtest.Play(t, tt.judge))
			c.Route = config.Route{Mode: "triage", Cheap: "cheap:m", Judge: "judge:m"}
			c.MaxCost = "1"
		}
		var replies []llmtest.Reply
		if tt.answer == "frontier" {
			replies = append(replies, llmtest.Say("frontier"))
		}
		a, _ := w.open(replies...)
		res, said := told(t, a, "hello")
		if res.Text != tt.answer || len(judge.Requests()) != 1 {
			t.Errorf("%s: %q, %d requests to the judge", tt.name, res.Text, len(judge.Requests()))
		}
		for _, want := range tt.told {
			if !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, want) }) {
				t.Errorf("%s: told %q, want %q", tt.name, said, want)
			}
		}
		side := 0
		for n, err := range a.Session.Notes(t.Context(), session.SpentNote) {
			if err != nil {
				t.Fatal(err)
			}
			if text := string(n.Data); strings.Contains(text, `"route"`) && strings.Contains(text, `"judge:m"`) && strings.Contains(text, `"cost"`) {
				side++
			}
		}
		if (side == 1) != tt.paid {
			t.Errorf("%s: %d side calls are in the journal", tt.name, side)
		}
	}
}

// A tool that comes or goes between two runs of a session is named when the
// cache is missed for it. Children and a history that was made smaller are none
// of the watch's.
func TestCacheWatchNamesTheTools(t *testing.T) {
	for _, silent := range []bool{false, true} {
		w := newWorld(t)
		w.write("AGENTS.md", strings.Repeat("A rule of this project. ", 2000))
		w.change = func(o *app.Options) {
			if silent {
				no := false
				o.Config.CacheWatch = &no
			}
		}
		a, _ := w.open(llmtest.Say("one"), llmtest.Say("two"), llmtest.Say("three"))
		for _, prompt := range []string{"a", "b"} {
			if _, said := told(t, a, prompt); len(said) != 0 {
				t.Fatalf("told %q", said)
			}
		}
		opts := a.Agent.Options()
		opts.Tools = slices.DeleteFunc(slices.Clone(opts.Tools), func(tl tool.Tool) bool { return tl.Spec().Name == "Grep" })
		fewer, err := agent.New(a.Agent.Model(), opts)
		if err != nil {
			t.Fatal(err)
		}
		a.Agent = fewer
		_, said := told(t, a, "c")
		if named := len(said) == 1 && strings.HasPrefix(said[0], "cache_break: ") && strings.Contains(said[0], "tool set changed (-Grep)"); named == silent {
			t.Errorf("silent %v: told %q", silent, said)
		}
	}
}

// A session goes on with another model, of another wire, which is told of all
// that was said and done; what is wrong with a model leaves all as it was.
func TestSetModel(t *testing.T) {
	w := newWorld(t)
	w.write("a.txt", "hello")
	var other *llmtest.Server
	w.change = func(o *app.Options) {
		c := o.Config
		other = second(t, c, "other", llmtest.WireChat, llmtest.Play(t, llmtest.Say("the other"), llmtest.Call("Read", m{"file_path": "a.txt"}), llmtest.Say("the other again")))
		second(t, c, "dear", llmtest.WireChat, llmtest.Play(t))
		c.Models["dear:m"] = config.Model{Context: 200_000}
		c.Models["other:small"] = config.Model{Context: 8_000, Price: &config.ModelPrice{Input: "1", Output: "1"}}
		c.Aliases = map[string]string{"o": "other:m"}
		c.Route = config.Route{Mode: "triage", Cheap: "t:m"}
		c.MaxCost = "5"
	}
	a, srv := w.open(llmtest.Think("hm").Call("Read", m{"file_path": "a.txt"}), llmtest.Say("the first"))
	say(t, a, "look at a.txt")
	for ref, want := range map[string]string{
		"nope:m": `unknown provider "nope"`, "groq:x": "no key for groq", "gpt-4o": "openai:gpt-4o", "dear:m": "a cost limit needs a price", "": "no model is named",
	} {
		if err := a.SetModel(ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", ref, err, want)
		}
	}
	if a.Info.Ref() != "t:m" {
		t.Errorf("the model is %s", a.Info.Ref())
	}
	if err := a.SetModel("o"); err != nil {
		t.Fatal(err)
	}
	// Plain as it is, no route takes it to another one.
	if res, said := told(t, a, "hi"); res.Text != "the other" || len(said) != 0 || a.Info.Ref() != "other:m" {
		t.Errorf("%q, told %q", res.Text, said)
	}
	seen := other.Requests()[0]
	if got := asJSON(t, seen.Request); !strings.Contains(got, "hello") || !strings.Contains(got, "the first") || !strings.Contains(seen.Request.System, "Model: other:m") {
		t.Errorf("the other model saw %.600s", got)
	}
	say(t, a, "read it again")
	if len(srv.Requests()) != 2 || len(other.Requests()) != 3 {
		t.Errorf("%d and %d requests", len(srv.Requests()), len(other.Requests()))
	}
	full := len(a.Agent.Options().Tools)
	if err := a.SetModel("other:small"); err != nil || len(a.Agent.Options().Tools) >= full {
		t.Errorf("%v, %d tools of %d for a small window", err, len(a.Agent.Options().Tools), full)
	}
	if err := a.SetModel("groq:x"); err == nil || a.Info.Ref() != "other:small" {
		t.Errorf("%v; the model is %s", err, a.Info.Ref())
	}
}

// A session is gone on with later, by another model.
func TestContinueWithAnotherModel(t *testing.T) {
	w := newWorld(t)
	w.write("a.txt", "hello")
	a, _ := w.open(llmtest.Think("hm").Call("Read", m{"file_path": "a.txt"}), llmtest.Say("the first"))
	say(t, a, "look at a.txt")
	if err := a.Session.Close(); err != nil {
		t.Fatal(err)
	}
	for _, wire := range []string{llmtest.WireChat, llmtest.WireResponses, llmtest.WireGemini} {
		var other *llmtest.Server
		w.change = func(o *app.Options) {
			other = second(t, o.Config, "other", wire, llmtest.Play(t, llmtest.Say("the other")))
			o.Config.Model, o.Session.Continue = "other:m", true
		}
		b, _ := w.open()
		if res := say(t, b, "go on"); res.Text != "the other" || !strings.Contains(asJSON(t, other.Requests()[0].Request), "hello") {
			t.Errorf("%s: %q", wire, res.Text)
		}
		if err := b.Session.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRoles(t *testing.T) {
	e := app.Env{Home: t.TempDir(), Getenv: func(k string) string { return map[string]string{"GROQ_API_KEY": "k"}[k] }}
	for _, tt := range []struct {
		c    config.Config
		want []string // name, model, and what is wrong
	}{
		{config.Config{}, []string{"default||no model is configured"}},
		{config.Config{Model: "demo:offline"}, []string{"default|demo:offline|"}},
		{config.Config{
			Model: "groq:llama-3.3-70b-versatile", Fallback: []string{"ollama:qwen3:4b", "nope:m", "anthropic:claude-opus-4-8"},
			Route: config.Route{Mode: "triage", Judge: "quick"}, Aliases: map[string]string{"quick": "groq:llama-3.1-8b-instant"},
		}, []string{
			"default|groq:llama-3.3-70b-versatile|", "fallback|ollama:qwen3:4b|", `fallback|nope:m|unknown provider "nope"`, "fallback|anthropic:claude-opus-4-8|no key for anthropic: set ANTHROPIC_API_KEY",
			"route.cheap||triage needs route.cheap", "route.frontier|groq:llama-3.3-70b-versatile|", "route.judge|quick|",
		}},
		{config.Config{
			Model: "x:m", Route: config.Route{Cheap: "x:n", Frontier: "y:m"},
			Providers: map[string]config.Provider{"x": {BaseURL: "http://127.0.0.1:1/v1", APIKeyCommand: config.Command{Args: []string{"/no/such/program"}}}, "y": {BaseURL: "http://127.0.0.1:1/v1", Options: map[string]string{"no": "1"}}},
		}, []string{"default|x:m|", "route.cheap|x:n|", `route.frontier|y:m|has no option "no"`}},
	} {
		roles, err := app.Roles(&tt.c, e)
		if err != nil || len(roles) != len(tt.want) {
			t.Errorf("%v, %+v", err, roles)
			continue
		}
		for i, r := range roles {
			w := strings.SplitN(tt.want[i], "|", 3)
			if r.Name != w[0] || r.Model != w[1] || (r.Err == nil) != (w[2] == "") || r.Err != nil && !strings.Contains(r.Err.Error(), w[2]) {
				t.Errorf("%+v, want %q", r, tt.want[i])
			}
		}
	}
}

// What the settings say of each answer goes along with every request, in the
// wire's own fields; where they say nothing, nothing does.
func TestGeneration(t *testing.T) {
	for _, tt := range []struct {
		wire    string
		set     bool
		has, no []string
	}{
		{llmtest.WireChat, true, []string{`"user":"u-7"`, `"temperature":0.3`, `"max_tokens":77`}, nil},
		{llmtest.WireAnthropic, true, []string{`"metadata":{"user_id":"u-7"}`, `"temperature":0.3`, `"max_tokens":77`}, nil},
		{llmtest.WireChat, false, nil, []string{`"user"`, `"temperature"`, `"max_tokens"`}},
	} {
		w := newWorld(t)
		var other *llmtest.Server
		w.change = func(o *app.Options) {
			if tt.set {
				warm := json.Number("0.3")
				o.Config.User, o.Config.Temperature, o.Config.MaxOutputTokens = "u-7", &warm, 77
			}
			other = second(t, o.Config, "other", tt.wire, llmtest.Play(t, llmtest.Say("ok")))
			o.Config.Model = "other:m"
		}
		a, _ := w.open()
		say(t, a, "hi")
		body := string(other.Requests()[0].Body)
		body = body[:min(len(body), 400)] + body[max(0, len(body)-400):]
		for _, want := range tt.has {
			if !strings.Contains(string(other.Requests()[0].Body), want) {
				t.Errorf("%s: no %s in %s", tt.wire, want, body)
			}
		}
		for _, no := range tt.no {
			if strings.Contains(string(other.Requests()[0].Body), no+":") {
				t.Errorf("%s: %s in %s", tt.wire, no, body)
			}
		}
	}
}

// What is assumed of a model is said, with the way to say otherwise.
func TestAssumedWindow(t *testing.T) {
	for _, tt := range []struct {
		model, want string
		own         config.Model
	}{
		{"groq:llama-3.3-70b-versatil", `nothing is known of groq:llama-3.3-70b-versatil: a window of 128000 tokens is assumed; models."groq:llama-3.3-70b-versatil".context says another, and cantle models refresh groq asks for it; the nearest names are llama-3.3-70b-versatile`, config.Model{}},
		{"groq:new", "", config.Model{Context: 5000}},
		{"groq:llama-3.1-8b-instant", "", config.Model{}},
		{"mine:m", "nothing is known of mine:m: a window of 8192 tokens", config.Model{}},
	} {
		dir := t.TempDir()
		c := &config.Config{
			Model: tt.model, Models: map[string]config.Model{tt.model: tt.own},
			Providers: map[string]config.Provider{"mine": {BaseURL: "http://127.0.0.1:1/v1"}},
		}
		a, err := app.New(t.Context(), app.Options{Config: c, Home: dir, Dir: dir, Getenv: func(string) string { return "key" }, Session: app.Session{None: true}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(a.Notes, "; "); !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: %q", tt.model, got)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A provider that asks for a longer wait than the longest is waited for as long
// as the settings say that a request may wait in all, and no longer.
func TestRetryWait(t *testing.T) {
	for _, wait := range []string{"", "10s"} {
		w := newWorld(t)
		w.change = func(o *app.Options) { o.Config.Retry = config.Retry{MaxWait: "1ms", Wait: wait} }
		replies := []llmtest.Reply{llmtest.Status(http.StatusTooManyRequests, http.Header{"Retry-After-Ms": {"20"}})}
		if wait != "" {
			replies = append(replies, llmtest.Say("ok"))
		}
		a, _ := w.open(replies...)
		res, err := a.Agent.Run(t.Context(), a.Session, llm.Text{Text: "hi"})
		if wait == "" && (err == nil || !strings.Contains(err.Error(), "the provider asks to wait")) || wait != "" && (err != nil || res.Text != "ok") {
			t.Errorf("wait %q: %v", wait, err)
		}
	}
}
