package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm/llmtest"
)

const secret = "sk-login-canary-42"

// execWith is exec with standard input.
func (w *world) execWith(stdin string, args ...string) (string, string, int) {
	w.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	var out, errs strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// TestLogin: a key comes by standard input and never as an argument, is used,
// shows nowhere, and goes again.
func TestLogin(t *testing.T) {
	w := newWorld(t)
	w.env = append(w.env, "CANTLE_KEYRING=off")
	said := ""
	do := func(stdin string, code int, want string, args ...string) {
		t.Helper()
		out, errs, got := w.execWith(stdin, args...)
		if said += out + errs; got != code || !strings.Contains(out+errs, want) {
			t.Errorf("%q: exit %d, want %d and %q: %s%s", args, got, code, want, out, errs)
		}
	}
	do("", 2, "standard input", "login", "anthropic", secret)
	do("", 2, "one provider", "login")
	do(secret, 2, "nope", "login", "nope")
	do("", 1, "empty", "login", "anthropic")
	do("a\nb", 1, "control characters", "login", "anthropic")
	do("", 1, "no key is stored", "logout", "anthropic")
	do(secret+"\n", 0, "stored in the file", "login", "anthropic")
	do("", 0, "key of anthropic: stored in the file", "doctor", "-m", "demo:offline")
	do("", 1, "!!  model: openai:gpt-5: provider: no key for openai", "doctor", "-m", "openai:gpt-5")
	do("", 0, "model: anthropic:claude-opus-4-8 at https://api.anthropic.com, key: stored in the file", "doctor", "-m", "anthropic:claude-opus-4-8")
	files, err := filepath.Glob(filepath.Join(w.home, ".cantle/credentials/*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if st, err := os.Stat(files[0]); err != nil || st.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", st, err)
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(files[0], 0o644); err != nil {
			t.Fatal(err)
		}
		do("", 1, "!!  key of anthropic: stored in the file; it cannot be used", "doctor", "-m", "demo:offline")
		if err := os.Chmod(files[0], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.env = append(w.env, "ANTHROPIC_API_KEY=sk-variable")
	do(secret, 0, "ANTHROPIC_API_KEY goes before it", "login", "anthropic")
	do("", 0, "ANTHROPIC_API_KEY is set, and goes before the one stored in the file", "doctor", "-m", "demo:offline")
	do("", 0, "removed", "logout", "anthropic")
	do("", 1, "no key is stored", "logout", "anthropic")

	s := w.serve(llmtest.WireAnthropic, func(*llmtest.Exchange) llmtest.Reply { return llmtest.Say("fine") })
	w.model = append(w.model, "--set", "providers.test.apiKeyEnv=UNSET_KEY")
	do(secret, 0, "stored", append([]string{"login", "test"}, w.model[2:]...)...)
	if out, errs, code := w.run("go"); code != 0 || s.Requests()[0].Header.Get("X-Api-Key") != secret {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	w.env = append(w.env, "MY_KEY=sk-mine")
	if out, errs, code := w.run("--api-key-env", "MY_KEY", "go"); code != 0 || s.Requests()[1].Header.Get("X-Api-Key") != "sk-mine" {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if strings.Contains(said, secret) {
		t.Errorf("the key was shown: %s", said)
	}
}
