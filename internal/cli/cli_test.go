package cli_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/cli"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

// desk is a home and a project, and what the commands know of the world.
type desk struct {
	t         *testing.T
	home, dir string
	env       map[string]string
	in        string
	tty       bool // of standard error, and of standard output
}

func newDesk(t *testing.T) *desk {
	return &desk{t: t, home: t.TempDir(), dir: t.TempDir(), env: map[string]string{}}
}

func (d *desk) run(args ...string) (out, errs string, code int) {
	d.t.Helper()
	var o, e bytes.Buffer
	d.env["CANTLE_HOME"] = d.home
	code = cli.Main(d.t.Context(), cli.Env{
		Streams: cli.Streams{In: strings.NewReader(d.in), Out: &o, Err: &e, OutTTY: d.tty, ErrTTY: d.tty},
		Getenv:  func(k string) string { return d.env[k] }, Dir: d.dir, User: d.home,
	}, args)
	return o.String(), e.String(), code
}

func (d *desk) model(p llmtest.Player) ([]string, *llmtest.Server) {
	d.t.Helper()
	s := llmtest.NewServer(d.t, p)
	return []string{
		"run", "-m", "test:m", "--set", "providers.test.baseUrl=" + s.BaseURL(llmtest.WireChat), "--set", "providers.test.wire=openai-chat",
		"--set", "models.test:m.context=200000",
	}, s
}

func fine(*llmtest.Exchange) llmtest.Reply { return llmtest.Say("fine") }

// TestFlagsBecomeWhatTheModelIsAsked follows flags to the request and to the
// tools.
func TestFlagsBecomeWhatTheModelIsAsked(t *testing.T) {
	d := newDesk(t)
	sub := filepath.Join(d.dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	args, s := d.model(fine)
	out, errs, code := d.run(append(args, "-C", "sub", "--system", "BASE", "--append-system", "END", "--effort", "high",
		"--set", "models.test:m.thinking=true", "--set", "providers.test.profile=openai", "--mode", "plan", "-p", "the prompt")...)
	if code != 0 || out != "fine\n" || errs != "" {
		t.Fatalf("exit %d, %q, %q", code, out, errs)
	}
	r := s.Requests()[0].Request
	if !strings.HasPrefix(r.System, "BASE") || !strings.HasSuffix(strings.TrimSpace(r.System), "END") || !strings.Contains(r.System, sub) {
		t.Errorf("%q", r.System)
	}
	if body := string(s.Requests()[0].Body); !strings.Contains(body, `"reasoning_effort":"high"`) {
		t.Errorf("no effort: %s", body[max(0, len(body)-900):])
	}
	if text := r.Messages[0].Text(); !strings.HasPrefix(text, "the prompt") || !strings.Contains(text, "plan") {
		t.Errorf("%q", text)
	}
}

func TestRulesAndModes(t *testing.T) {
	for name, c := range map[string]struct {
		flags []string
		runs  bool
	}{
		"nobody to ask":         {nil, false},
		"--yes":                 {[]string{"--yes"}, true},
		"--allow":               {[]string{"--allow", "Bash"}, true},
		"--deny over --yes":     {[]string{"--yes", "--deny", "Bash"}, false},
		"--ask over --yes":      {[]string{"--yes", "--ask", "Bash"}, false},
		"bypassPermissions":     {[]string{"--mode", "bypassPermissions"}, true},
		"dontAsk":               {[]string{"--mode", "dontAsk"}, false},
		"plan, and --yes":       {[]string{"--mode", "plan", "--yes"}, false},
		"deny over allow":       {[]string{"--allow", "Bash", "--deny", "Ba*"}, false},
		"a mode of the setting": {[]string{"--set", "permissions.defaultMode=bypassPermissions"}, true},
	} {
		d := newDesk(t)
		args, _ := d.model(llmtest.Play(t, llmtest.Call("Bash", map[string]any{"command": "touch ran"}), llmtest.Say("over")))
		_, errs, code := d.run(append(append(args, c.flags...), "go")...)
		_, err := os.Stat(filepath.Join(d.dir, "ran"))
		if code != 0 || (err == nil) != c.runs {
			t.Errorf("%s: exit %d, ran: %v, %s", name, code, err == nil, errs)
		}
	}
}

// TestForms: what each form prints of the same run, to a terminal and into a
// file. Only the answer is on standard output, and nothing of a spinner or of a
// width is in a file.
func TestForms(t *testing.T) {
	player := func(t *testing.T) llmtest.Player {
		return llmtest.Play(t,
			llmtest.Call("Glob", map[string]any{"pattern": "*"}).Say("looking"),
			llmtest.Think("hm").Say(strings.Repeat("a long answer ", 30)+"\x1b[31m."),
		)
	}
	answer := strings.Repeat("a long answer ", 30)
	for name, c := range map[string]struct {
		args  []string
		tty   bool
		check func(t *testing.T, out, errs string)
	}{
		"text": {nil, false, func(t *testing.T, out, errs string) {
			// What a model says goes into a file as it is.
			if out != answer+"\x1b[31m.\n" || errs != "" {
				t.Errorf("%q, %q", out, errs)
			}
		}},
		"text, verbose": {[]string{"-v"}, false, func(t *testing.T, out, errs string) {
			if out != answer+"\x1b[31m.\n" || !strings.Contains(errs, "▸ Glob(") || !strings.Contains(errs, "— 2 steps · 1 tools") || strings.ContainsAny(errs, "\r⠋⠙") {
				t.Errorf("%q, %q", out, errs)
			}
		}},
		"text at a terminal": {nil, true, func(t *testing.T, out, errs string) {
			if out != "looking\n"+answer+"[31m.\n" || strings.Count(errs, "▸ Glob(") != 1 || strings.Contains(errs, "looking") || strings.Contains(errs, "\x1b") {
				t.Errorf("%q, %q", out, errs)
			}
		}},
		"json": {[]string{"--json"}, false, func(t *testing.T, out, errs string) {
			var doc cli.Document
			if err := json.Unmarshal([]byte(out), &doc); err != nil || strings.Count(out, "\n") != 1 || errs != "" {
				t.Fatalf("%v: %q, %q", err, out, errs)
			}
			if doc.Version != cli.SchemaVersion || doc.Result != answer+"\x1b[31m." || doc.Turns != 2 || doc.ToolCalls != 1 || doc.Usage == nil || doc.Cost != nil || doc.SessionID == "" {
				t.Errorf("%+v", doc)
			}
		}},
		"json at a terminal": {[]string{"--json"}, true, func(t *testing.T, out, errs string) {
			if strings.Count(out, "\n") != 1 || errs != "" {
				t.Errorf("%q, %q", out, errs)
			}
		}},
		"stream-json": {[]string{"-o", "stream-json"}, false, func(t *testing.T, out, errs string) {
			lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
			for i, l := range lines {
				var head struct {
					Type string
					Seq  int
				}
				if err := json.Unmarshal([]byte(l), &head); err != nil || (head.Type == "result") != (i == len(lines)-1) || head.Type != "result" && head.Seq != i+1 {
					t.Errorf("line %d: %v: %q", i+1, err, l)
				}
			}
			if errs != "" {
				t.Errorf("%q", errs)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.tty = c.tty
			args, _ := d.model(player(t))
			out, errs, code := d.run(append(append(args, c.args...), "go")...)
			if code != 0 {
				t.Fatalf("exit %d, %s", code, errs)
			}
			c.check(t, out, errs)
		})
	}
}

// TestWhatIsWrongWithAServer: that there is no key, or that the address is that of
// something else, is told with the setting to change.
func TestWhatIsWrongWithAServer(t *testing.T) {
	d := newDesk(t)
	args, s := d.model(fine)
	s.RequireKey("k")
	if out, errs, code := d.run(append(args, "go")...); code != 1 || out != "" || !strings.Contains(errs, "providers.test.apiKeyEnv") || !strings.Contains(errs, "cantle login test") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	d.env["KEY"] = "wrong"
	if _, errs, _ := d.run(append(args, "--api-key-env", "KEY", "go")...); strings.Contains(errs, "No key is configured") || !strings.Contains(errs, "cantle doctor") {
		t.Errorf("%s", errs)
	}
	for page, name := range map[int]bool{http.StatusOK: false, http.StatusNotFound: true} {
		args, _ := d.model(func(*llmtest.Exchange) llmtest.Reply {
			return llmtest.Plain(page, "<html><title>Welcome</title></html>")
		})
		if _, errs, code := d.run(append(args, "go")...); code != 1 || !strings.Contains(errs, "providers.test.baseUrl") || strings.Contains(errs, "model's name") != name {
			t.Errorf("%d: exit %d, %s", page, code, errs)
		}
	}
}

// TestPlainModel: another model answers from the next prompt on, in the same
// session; one that cannot be used changes nothing.
func TestPlainModel(t *testing.T) {
	d := newDesk(t)
	args, s := d.model(fine)
	args = append(args, "--set", "models.test:other.context=1000000", "--set", "effort=high")
	d.in = "/help\n/model\none\n/model \ttest:other \ntwo\n/model nope:x\n/model\nthree\n/model demo:offline\n/models\n"
	out, errs, code := d.run(append([]string{"--plain"}, args[1:]...)...)
	if code != 0 || strings.Count(out, "fine") != 3 || len(s.Requests()) != 3 {
		t.Fatalf("exit %d, %q, %q", code, out, errs)
	}
	for i, want := range []string{"m", "other", "other"} {
		if r := s.Requests()[i].Request; s.Requests()[i].Model != want || len(r.Messages) < 2*i+1 {
			t.Errorf("prompt %d went to %q: %d messages", i+1, s.Requests()[i].Model, len(r.Messages))
		}
	}
	last := 0
	for _, want := range []string{
		"/model provider:model", "test:m answers.\n", "Now with test:other.\n", "cantle: ", "nope", "test:other goes on to answer.\n",
		"test:other answers.\n", "Now with demo:offline.\n", "This is a stand-in", "no command /models",
	} {
		i := strings.Index(errs[last:], want)
		if i < 0 {
			t.Fatalf("no %q in %q", want, errs[last:])
		}
		last += i + len(want)
	}
	d.tty = true // where notes are shown
	d.in = "/model test:other\n"
	if _, errs, _ := d.run(append([]string{"--plain"}, args[1:]...)...); strings.Count(errs, "effort high is left out: test:other") != 1 {
		t.Errorf("%q", errs)
	}
}

// TestPlainPiped: the plain loop without a terminal reads lines and edits
// nothing.
func TestPlainPiped(t *testing.T) {
	d := newDesk(t)
	args, s := d.model(fine)
	d.in = "one\r\ntwo\\\nthree\n\n/nope\n/help\n/session\n/usr/bin is a path\nlast"
	out, errs, code := d.run(append([]string{"--plain"}, args[1:]...)...)
	if code != 0 || strings.Count(out, "fine") != 4 {
		t.Fatalf("exit %d, %q, %q", code, out, errs)
	}
	for i, want := range []string{"one", "two\nthree", "/usr/bin is a path", "last"} {
		r := s.Requests()[i].Request
		if got := r.Messages[len(r.Messages)-1].Parts[0].(llm.Text).Text; got != want {
			t.Errorf("prompt %d is %q, not %q", i+1, got, want)
		}
	}
	if !strings.Contains(errs, "no command /nope") || strings.ContainsAny(errs, "\x1b\r") {
		t.Errorf("%q", errs)
	}
	// CANTLE_PLAIN is the same, and is off where it says so.
	d.in = "/exit\n"
	d.env["CANTLE_MODEL"] = "demo:offline"
	for v, plain := range map[string]bool{"1": true, "true": true, "0": false, "false": false, "": false} {
		d.env["CANTLE_PLAIN"] = v
		if out, errs, code := d.run(); code != 0 || strings.Contains(errs, "> ") != plain || strings.Contains(out, "Usage:") == plain {
			t.Errorf("CANTLE_PLAIN=%q: exit %d, %q, %q", v, code, out, errs)
		}
	}
}
