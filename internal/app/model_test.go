package app_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

// busy is a server that never can, and counts who asked.
func busy(t *testing.T) (string, *atomic.Int32) {
	var n atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n.Add(1)
		http.Error(w, `{"error":{"message":"busy"}}`, http.StatusServiceUnavailable)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, &n
}

// A model that cannot answer is given up after its own retries, the next one
// answers, and its price counts.
func TestFallback(t *testing.T) {
	w := newWorld(t)
	url, asked := busy(t)
	one, none := 1, 0
	w.change = func(o *app.Options) {
		c := o.Config
		c.Providers["down"] = config.Provider{BaseURL: url, Wire: llmtest.WireChat, MaxRetries: &one}
		c.Models["down:m"] = config.Model{Context: 200_000, Price: &config.ModelPrice{Input: "1000", Output: "1000"}}
		c.Aliases = map[string]string{"main": "first", "first": "down:m", "spare": "t:m"}
		c.Model, c.Fallback = "main", []string{"spare"}
		c.Retry = config.Retry{Max: &none, MaxWait: "1ms"}
		c.MaxCost = "100"
	}
	a, srv := w.open(llmtest.Say("the spare one"))
	var events []string
	st := a.Agent.Stream(t.Context(), a.Session, llm.Text{Text: "hi"})
	for ev, err := range st.Events() {
		if err != nil {
			t.Fatal(err)
		}
		switch d := ev.Data.(type) {
		case agent.Retrying:
			events = append(events, "retrying")
		case agent.Switched:
			events = append(events, d.From+" → "+d.To)
		}
	}
	if len(srv.Requests()) != 1 || asked.Load() != 2 || strings.Join(events, ", ") != "retrying, down:m → t:m" {
		t.Errorf("%d and %d requests; %q", asked.Load(), len(srv.Requests()), events)
	}
	res := st.Result()
	if res.Stop != agent.StopFinished || !strings.Contains(asJSON(t, res), "the spare one") {
		t.Errorf("%s", asJSON(t, res))
	}
	if cost := res.Cost; cost == nil || *cost > 100_000_000_000 { // a tenth of a dollar, at the spare model's price
		t.Errorf("the cost is %v", cost)
	}
}

func TestModelSettingsThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		`{"model": "a", "aliases": {"a": "b", "b": "a"}}`:                                                                         "the aliases go round in a circle: a → b → a",
		`{"model": "demo:offline", "fallback": [` + "\n" + `"nope:m"]}`:                                                           `settings.json:2: fallback: provider: unknown provider "nope"`,
		`{"model": "demo:offline", "fallback": ["groq:m"]}`:                                                                       "fallback: provider: no key for groq: set GROQ_API_KEY, or store one with cantle login groq",
		`{"model": "demo:offline", "maxCost": "1", "fallback": ["x:m"], "providers": {"x": {"baseUrl": "https://x.example/v1"}}}`: "that of x:m is unknown",
		`{"model": "demo:offline", "route": {` + "\n" + `"mode": "triage"}}`:                                                      "settings.json:2: route.mode: triage needs route.cheap",
		`{"model": "demo:offline", "route": {"mode": "triage", "cheap": "nope:m"}}`:                                               `route.cheap: provider: unknown provider "nope"`,
		`{"route": {"mode": "triage", "cheap": "demo:offline", "frontier": "nope:m"}}`:                                            `route.frontier: provider: unknown provider "nope"`,
		`{"model": "x:m", "providers": {` + "\n" + `"x": {"baseUrl": "http://h/v1", "headers": {"A": "${NOT_SET}"}}}}`:            "settings.json:2: providers.x: headers.A: the variable NOT_SET is not set",
		`{"model": "x:m", "providers": {"x": {"baseUrl": "http://h/v1", "options": {"organisation": "o"}}}}`:                      "did you mean organization?",
		`{"model": "x:m", "providers": {"x": {"baseUrl": "http://h/v1", "numCtx": 5}}}`:                                           `has no option "numCtx"`,
		`{"model": "x:m", "providers": {"x": {"baseUrl": "http://h/v1"}}, "models": {"x:m": {"thinkingStyle": "nestd"}}}`:         "did you mean nested?",
		`{"model": "x:m", "providers": {"x": {"baseUrl": "http://h/v1", "apiKeyCommand": ["/no/such/program"]}}}`:                 "providers.x.apiKeyCommand: credential: the command /no/such/program for a key: ",
	} {
		home, dir := t.TempDir(), t.TempDir()
		if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		none := func(string) string { return "" }
		c, err := config.Load(config.Sources{Home: home, Dir: dir, Getenv: none})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if _, err = app.New(t.Context(), app.Options{Config: c, Home: home, Dir: dir, Getenv: none}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\ngot %v, want %q", text, err, want)
		}
	}
}

// The run's own key goes to the provider of its model, and to no other.
func TestKeyOfARun(t *testing.T) {
	w := newWorld(t)
	vars := map[string]string{"RUN_KEY": "run-key-1", "SPARE_KEY": "spare-key-2"}
	url, _ := busy(t)
	none := 0
	w.change = func(o *app.Options) {
		o.Getenv = func(k string) string { return vars[k] }
		o.APIKeyEnv = "RUN_KEY"
	}
	a, srv := w.open(llmtest.Say("ok"))
	say(t, a, "hi")
	if h := srv.Requests()[0].Header; h.Get("X-Api-Key") != "run-key-1" {
		t.Errorf("%v", h)
	}
	w.change = func(o *app.Options) {
		o.Getenv = func(k string) string { return vars[k] }
		o.APIKeyEnv = "RUN_KEY"
		p := o.Config.Providers["t"]
		p.APIKeyEnv = "SPARE_KEY"
		o.Config.Providers["t"] = p
		o.Config.Providers["down"] = config.Provider{BaseURL: url, MaxRetries: &none}
		o.Config.Model, o.Config.Fallback = "down:m", []string{"t:m"}
	}
	a, srv = w.open(llmtest.Say("ok"))
	say(t, a, "hi")
	if h := srv.Requests()[0].Header; h.Get("X-Api-Key") != "spare-key-2" {
		t.Errorf("%v", h)
	}
	_, err := app.New(t.Context(), app.Options{Config: &config.Config{Model: "t:m"}, Home: w.home, Dir: w.dir, Getenv: func(string) string { return "" }, APIKeyEnv: "RUN_KEY"})
	if err == nil || !strings.Contains(err.Error(), "the variable RUN_KEY, which is to have the key, is not set") {
		t.Error(err)
	}
}

// A command for a key runs once, however many models need it, away from the
// project, with the user's environment.
func TestKeyCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command is of a POSIX shell")
	}
	w := newWorld(t)
	user := t.TempDir()
	w.write("printf", "evil")
	w.change = func(o *app.Options) {
		o.User = user
		p := o.Config.Providers["t"]
		p.APIKeyCommand = config.Command{Shell: `echo x >> runs; echo "key-in-$PWD-$MINE"`}
		o.Config.Providers["t"] = p
		o.Config.Fallback = []string{"t:other", "t:third"}
		o.Environ = append(o.Environ, "MINE=yes")
	}
	a, srv := w.open(llmtest.Say("ok"))
	say(t, a, "hi")
	real, err := filepath.EvalSymlinks(user)
	if err != nil {
		t.Fatal(err)
	}
	if got := srv.Requests()[0].Header.Get("X-Api-Key"); got != "key-in-"+real+"-yes" {
		t.Errorf("the key is %q", got)
	}
	if runs, err := os.ReadFile(filepath.Join(user, "runs")); string(runs) != "x\n" {
		t.Errorf("%q, %v", runs, err)
	}
}

// What the settings say of a model is what is known of it.
func TestModelSettings(t *testing.T) {
	yes, no, least := true, false, 4096
	c := &config.Config{Models: map[string]config.Model{"openai:gpt-5": {
		Context: 1000, Output: 10, Images: &no, NoTools: &yes, ThinkingStyle: "flat", MinCache: &least,
		Efforts: map[llm.Effort]string{"high": "top"}, Price: &config.ModelPrice{Input: "1", Output: "2"},
	}}, Aliases: map[string]string{"g": "openai:gpt-5"}}
	po, err := app.ModelOptions(c, app.Env{Home: t.TempDir(), Getenv: func(string) string { return "" }}, "g")
	if err != nil {
		t.Fatal(err)
	}
	k, err := po.Describe("g")
	if err != nil {
		t.Fatal(err)
	}
	i, tr := k.Info, k.Info.Traits
	if i.Context != 1000 || i.Output != 10 || tr.Images || !tr.NoTools || tr.ThinkingStyle != "flat" || tr.MinCache != 4096 || tr.Efforts["high"] != "top" || tr.Efforts["low"] != "low" || i.Price.Output != 2_000_000 {
		t.Errorf("%+v", i)
	}
}

// What the user adds for commands may name a variable.
func TestEnvReferences(t *testing.T) {
	w := newWorld(t)
	w.change = func(o *app.Options) {
		o.Getenv = func(k string) string { return map[string]string{"GH": "token-1"}[k] }
		o.Config.Env = map[string]string{"ACCOUNT": "${GH}", "TEXT": "a ${GH} b"}
	}
	got, _ := w.run("go", llmtest.Call("Bash", m{"command": "/usr/bin/env"}), llmtest.Say("ok"))[1].LastResult()
	if !strings.Contains(got, "ACCOUNT=token-1") || !strings.Contains(got, "TEXT=a ${GH} b") {
		t.Error(got)
	}
}

// A model that writes its calls as text is understood where the settings say
// that it does.
func TestSalvage(t *testing.T) {
	for _, on := range []bool{true, false} {
		w := newWorld(t)
		w.write("a.txt", "what is in it")
		w.change = func(o *app.Options) {
			mm := o.Config.Models["t:m"]
			mm.Salvage = &on
			o.Config.Models["t:m"] = mm
		}
		replies := []llmtest.Reply{llmtest.Say("<tool_call>{\"name\": \"Read\", \"arguments\": {\"file_path\": \"a.txt\"}}</tool_call>")}
		if on {
			replies = append(replies, llmtest.Say("done"))
		}
		a, srv := w.open(replies...)
		res := say(t, a, "go")
		if on != (res.Text == "done") || len(srv.Requests()) != len(replies) {
			t.Errorf("salvage %v: %d requests, %q", on, len(srv.Requests()), res.Text)
		}
	}
}

// Of a model that is known to write them so, that needs no setting, and one that
// says no counts.
func TestSalvageIsKnown(t *testing.T) {
	no := false
	for _, own := range []*bool{nil, &no} {
		w := newWorld(t)
		w.write("a.txt", "what is in it")
		w.change = func(o *app.Options) {
			c := o.Config
			c.Providers["vllm"] = config.Provider{BaseURL: c.Providers["t"].BaseURL, Wire: llmtest.WireAnthropic}
			c.Model = "vllm:Qwen/Qwen2.5-Coder-7B-Instruct"
			c.Models[c.Model] = config.Model{Context: 32_000, Salvage: own}
		}
		replies := []llmtest.Reply{llmtest.Say("```json\n{\"name\": \"Read\", \"arguments\": {\"file_path\": \"a.txt\"}}\n```")}
		if own == nil {
			replies = append(replies, llmtest.Say("done"))
		}
		a, srv := w.open(replies...)
		res := say(t, a, "go")
		if (own == nil) != (res.Text == "done") || len(srv.Requests()) != len(replies) {
			t.Errorf("salvage %v: %d requests, %q", own, len(srv.Requests()), res.Text)
		}
	}
}

// A model that takes no tools is offered none, which is said before anything is
// sent, to the user and to the model.
func TestNoTools(t *testing.T) {
	yes := true
	w := newWorld(t)
	w.change = func(o *app.Options) {
		mm := o.Config.Models["t:m"]
		mm.NoTools = &yes
		o.Config.Models["t:m"] = mm
	}
	a, srv := w.open(llmtest.Say("without"))
	if !strings.Contains(strings.Join(a.Notes, "\n"), `t:m takes no tools: it is offered none, and can read and change nothing; set models."t:m".noTools to false`) {
		t.Errorf("%q", a.Notes)
	}
	if res := say(t, a, "go"); res.Text != "without" {
		t.Error(res.Text)
	}
	body := string(srv.Requests()[0].Body)
	if strings.Contains(body, `"tools"`) || !strings.Contains(body, "You have no tools here") {
		t.Error(body)
	}
	for name, tt := range map[string]struct {
		change func(*app.Options)
		want   string // in the error; "" is that there is none
		note   string
	}{
		"schema": {func(o *app.Options) { o.Schema = &llm.Schema{JSON: []byte(`{"type":"object"}`)} }, "p:m takes neither tools nor a schema", ""},
		"route": {func(o *app.Options) {
			o.Config.Model, o.Config.Route = "t:m", config.Route{Mode: "triage", Cheap: "p:m"}
		}, "route.cheap: p:m takes no tools, and t:m would get none either", ""},
		"fallback": {func(o *app.Options) { o.Config.Model, o.Config.Fallback = "t:m", []string{"p:m"} }, "", "fallback: p:m takes no tools, and is passed over"},
	} {
		o := app.Options{
			Config: &config.Config{
				Model:     "p:m",
				Providers: map[string]config.Provider{"p": {BaseURL: "http://127.0.0.1:1/v1"}, "t": {BaseURL: "http://127.0.0.1:1/v1"}},
				Models:    map[string]config.Model{"p:m": {NoTools: &yes}},
			},
			Home: t.TempDir(), Dir: t.TempDir(), Getenv: func(string) string { return "" },
		}
		tt.change(&o)
		a, err := app.New(t.Context(), o)
		switch {
		case tt.want != "":
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		default:
			if !strings.Contains(strings.Join(a.Notes, "\n"), tt.note) {
				t.Errorf("%s: %q", name, a.Notes)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// The stand-in may have another name, and says that it is one where it takes
// over: once in a run.
func TestStandIn(t *testing.T) {
	c := &config.Config{Model: "try", Aliases: map[string]string{"try": "offline", "offline": app.DemoModel}}
	a, err := app.New(t.Context(), app.Options{Config: c, Home: t.TempDir(), Dir: t.TempDir(), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]bool{"try": true, app.DemoModel: true, "": false, "t:m": false} {
		if app.IsDemo(c, ref) != want {
			t.Errorf("%q: %v", ref, !want)
		}
	}
	if a.Info.Ref() != app.DemoModel || !a.Info.Traits.StandIn {
		t.Errorf("%+v", a.Info)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	roles, err := app.Roles(c, app.Env{Home: t.TempDir(), Getenv: func(string) string { return "" }})
	if err != nil || roles[0].Err != nil {
		t.Errorf("%+v, %v", roles, err)
	}

	w := newWorld(t)
	w.write("a.txt", "text")
	url, _ := busy(t)
	none := 0
	w.change = func(o *app.Options) {
		c := o.Config
		c.Providers["down"] = config.Provider{BaseURL: url, MaxRetries: &none}
		c.Models["down:m"] = config.Model{Context: 200_000}
		c.Model, c.Fallback, c.Aliases = "down:m", []string{"spare"}, map[string]string{"spare": app.DemoModel}
	}
	a, _ = w.open()
	for range 2 { // in each run
		st := a.Agent.Stream(t.Context(), a.Session, llm.Text{Text: "read a.txt"})
		var notices []string
		for ev, err := range st.Events() {
			if err != nil {
				t.Fatal(err)
			}
			if n, ok := ev.Data.(agent.Notice); ok && n.Kind == app.NoticeStandIn {
				notices = append(notices, n.Text)
			}
		}
		if len(notices) != 1 || !strings.Contains(notices[0], "demo:offline is a stand-in, not a language model") || st.Result().Turns < 2 {
			t.Errorf("%q in %d turns", notices, st.Result().Turns)
		}
	}
}

// With the stand-in as the cheap model of a route, the model is none, and where
// the stand-in answers it says so.
func TestStandInOfARoute(t *testing.T) {
	w := newWorld(t)
	w.change = func(o *app.Options) { o.Config.Route = config.Route{Mode: "triage", Cheap: app.DemoModel} }
	a, _ := w.open(llmtest.Say("frontier"))
	if a.Info.Traits.StandIn {
		t.Errorf("%+v", a.Info)
	}
	for input, want := range map[string]int{"refactor the whole of the scheduler": 0, "hi": 1} {
		got := 0
		for ev, err := range a.Agent.Stream(t.Context(), a.Session, llm.Text{Text: input}).Events() {
			if err != nil {
				t.Fatal(err)
			}
			switch e := ev.Data.(type) {
			case agent.RunStarted:
				if e.StandIn {
					t.Errorf("%q: the run is said to be of a stand-in", input)
				}
			case agent.Notice:
				if e.Kind == app.NoticeStandIn {
					got++
				}
			}
		}
		if got != want {
			t.Errorf("%q: told %d times, want %d", input, got, want)
		}
	}
}

// With a route, plain inputs go to the cheap model and hard ones to the other;
// a model that the user names for the run gets all of them.
func TestRoute(t *testing.T) {
	for _, named := range []bool{false, true} {
		w := newWorld(t)
		cheap := llmtest.NewServer(t, func(*llmtest.Exchange) llmtest.Reply { return llmtest.Say("cheap") })
		w.change = func(o *app.Options) {
			c := o.Config
			c.Providers["small"] = config.Provider{BaseURL: cheap.BaseURL(llmtest.WireChat), Wire: llmtest.WireChat}
			c.Models["small:m"] = config.Model{Context: 200_000, Price: &config.ModelPrice{Input: "1", Output: "1"}}
			c.Aliases = map[string]string{"quick": "small:m"}
			c.Route = config.Route{Mode: "triage", Cheap: "quick"}
			if named {
				c.From = map[string]string{"model": "--model"}
			}
		}
		replies := []llmtest.Reply{llmtest.Say("frontier")}
		if named {
			replies = append(replies, llmtest.Say("frontier"))
		}
		a, srv := w.open(replies...)
		plain, hard := "cheap", say(t, a, "refactor the whole of the scheduler").Text
		if named {
			plain = "frontier"
		}
		notices := 0
		st := a.Agent.Stream(t.Context(), a.Session, llm.Text{Text: "hi"})
		for ev, err := range st.Events() {
			if err != nil {
				t.Fatal(err)
			}
			if n, ok := ev.Data.(agent.Notice); ok && n.Kind == "route" {
				notices++
			}
		}
		if got := st.Result().Text; hard != "frontier" || got != plain || len(srv.Requests()) != len(replies) || (notices == 1) == named {
			t.Errorf("named %v: %q and %q, %d requests, %d notices", named, hard, got, len(srv.Requests()), notices)
		}
	}
}
