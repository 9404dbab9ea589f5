package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm/llmtest"
)

// TestASessionGoesOnWithItsModel: with the one that it had last, unless a flag or
// the environment names another; one that is there no more leaves that of the
// settings.
func TestASessionGoesOnWithItsModel(t *testing.T) {
	d := newDesk(t)
	_, s := d.model(fine)
	settings := func(provider string) {
		text := `{"model": "` + provider + `:usual", "providers": {"` + provider + `": {"baseUrl": "` + s.BaseURL(llmtest.WireChat) + `", "wire": "openai-chat"}}}`
		if err := os.WriteFile(filepath.Join(d.home, "settings.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settings("test")
	step := func(want, env string, args ...string) string {
		t.Helper()
		d.env["CANTLE_MODEL"] = env
		_, errs, code := d.run(args...)
		if n := len(s.Requests()); code != 0 || n == 0 || s.Requests()[n-1].Model != want {
			t.Fatalf("%q: exit %d, %d requests, not to %s: %s", args, code, n, want, errs)
		}
		return errs
	}
	step("usual", "", "run", "go")
	step("other", "", "run", "-m", "test:other", "go")
	step("other", "", "run", "-c", "on")
	d.in = "on\n"
	step("other", "", "--plain", "--continue")
	d.in = "/model test:third\non\n"
	step("third", "", "--plain", "--continue")
	d.in = ""
	step("third", "", "run", "-c", "on")
	step("third", "", "run", "-c", "--fork", "on")
	step("fourth", "", "run", "-c", "-m", "test:fourth", "on")
	step("fifth", "test:fifth", "run", "-c", "on")
	step("usual", "", "run", "new") // a new one is as the settings say
	step("sixth", "", "run", "-c", "--set", "model=test:sixth", "on")
	settings("changed")
	if errs := step("usual", "", "run", "-c", "-v", "on"); !strings.Contains(errs, "test:sixth, which this session had, cannot be used") {
		t.Errorf("%s", errs)
	}
}

// TestWhatWasMeant: a command that there is not, with the likest ones.
func TestWhatWasMeant(t *testing.T) {
	d := newDesk(t)
	for args, want := range map[string]string{
		"model": "did you mean models", "permisions list": "did you mean permissions", "permissions wy": "did you mean why", "models shwo x": "did you mean show",
		"zzzzzz": `there is no command "zzzzzz" of cantle; see cantle --help`,
	} {
		if _, errs, code := d.run(strings.Fields(args)...); code != 2 || !strings.Contains(errs, want) || want[0] == 't' && strings.Contains(errs, "did you") {
			t.Errorf("%s: exit %d, %s", args, code, errs)
		}
	}
	d.in = "/modle\n/zzzzzz\n"
	if _, errs, _ := d.run("--plain", "-m", "demo:offline"); !strings.Contains(errs, "did you mean /model?") || strings.Count(errs, "did you mean") != 1 {
		t.Errorf("%s", errs)
	}
}

// TestTheStandInByAnAlias is the stand-in wherever it is told of.
func TestTheStandInByAnAlias(t *testing.T) {
	d := newDesk(t)
	if err := os.WriteFile(filepath.Join(d.home, "settings.json"), []byte(`{"model": "mock", "aliases": {"mock": "demo:offline"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, code := d.run("doctor"); code != 0 || !strings.Contains(out, "model: demo:offline, a stand-in") {
		t.Errorf("exit %d, %s", code, out)
	}
	if _, errs, code := d.run("models"); code != 0 || !strings.Contains(errs, "In use: demo:offline\n") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if _, errs, code := d.run("models", "show", "mock"); code != 2 || !strings.Contains(errs, "nothing to show") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

// TestATalkThatEndsOnAQuestion: a pipe that is read to its end says so by the exit
// code.
func TestATalkThatEndsOnAQuestion(t *testing.T) {
	d := newDesk(t)
	args, _ := d.model(llmtest.Play(t, llmtest.Call("Bash", map[string]any{"command": "touch ran"})))
	d.in = "go\n"
	if _, errs, code := d.run(append([]string{"--plain"}, args[1:]...)...); code != 4 || !strings.Contains(errs, "wait for an answer") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

// TestPartialTextAtALimit: what was said before the calls that were one too many
// is the result so far.
func TestPartialTextAtALimit(t *testing.T) {
	d := newDesk(t)
	args, _ := d.model(func(*llmtest.Exchange) llmtest.Reply {
		return llmtest.Call("Glob", map[string]any{"pattern": "*"}).Say("so far")
	})
	if out, errs, code := d.run(append(args, "--max-turns", "1", "go")...); code != 3 || out != "so far\n" {
		t.Errorf("exit %d, %q, %s", code, out, errs)
	}
}
