package app_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/cli"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

// printed is a key with characters that are escaped in one place or another.
const printed = "sk-Zq8/Rw2+LmX7cVb1NpT5yHgK4sD9fJ0aUe6oP3iA=="

// traces are pieces of the key, of which none may be anywhere: whoever has half
// as much again of it has one.
func traces() []string {
	var out []string
	add := func(s string, n int) {
		for i := 0; i+n <= len(s); i += n / 2 {
			out = append(out, s[i:i+n])
		}
	}
	add(printed, 8)
	for i := range 3 {
		add(base64.RawStdEncoding.EncodeToString([]byte(printed[i:len(printed)-4])), 12)
	}
	add(hex.EncodeToString([]byte(printed)), 16)
	return out
}

var unescape = strings.NewReplacer(`\/`, "/", `\u002b`, "+", `\u002B`, "+", `\u003d`, "=", "%2F", "/", "%2B", "+", "%3D", "=")

// leak is where a piece of the key is in b, "" if nowhere.
func leak(b []byte, pieces []string) string {
	for _, text := range []string{string(b), unescape.Replace(string(b)), strings.NewReplacer("\n", "", `\n`, "").Replace(string(b))} {
		for _, p := range pieces {
			if i := strings.Index(text, p); i >= 0 {
				return fmt.Sprintf("…%s<<%s>>", text[max(0, i-300):i], p)
			}
		}
	}
	return ""
}

// TestCanaryPrinted has commands and tools print a key that the program holds, in
// many ways. It is in nothing that is sent to the model, printed, or written to
// any file but the ones that hold it.
func TestCanaryPrinted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are of a POSIX shell")
	}
	for _, source := range []string{"variable", "command", "file", "header"} {
		t.Run(source, func(t *testing.T) { testCanaryPrinted(t, source) })
	}
}

func testCanaryPrinted(t *testing.T, source string) {
	home, dir, temp := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	holds := map[string]string{"notes.txt": "the key:\nKEY=" + printed + ";\nend\n", "bare": printed, "deploy.sh": "TOKEN='" + printed + "'\n: deploying with \"$TOKEN\"\nfalse\n"}
	for name, text := range holds {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bash := func(command string) llmtest.Reply { return llmtest.Call("Bash", m{"command": command}) }
	steps := []llmtest.Reply{
		bash("cat notes.txt; . ./deploy.sh; echo \"{\\\"a\\\":\\\"$TOKEN\\\"}\""),
		bash("bash -x deploy.sh || sh -x deploy.sh"),
		bash("cat bare >&2; exit 3"),
		bash("base64 notes.txt; base64 -w 9 bare; printf x | cat - bare | base64; printf xy | cat - bare | base64 -w 0"),
		bash("od -An -tx1 bare | tr -d ' '; fold -w 7 bare; fold -w 3 notes.txt"),
		bash("printf '> Authorization: Bearer %s\\r\\n* Connection refused\\n' $(cat bare)"),
		bash("yes \"$(cat notes.txt)\" | head -n 4500"),
		bash("k=$(cat bare); while [ -n \"$k\" ]; do printf %s \"${k%\"${k#?}\"}\"; k=${k#?}; done"),
		bash("cat nowhere/$(cat bare)"),
		bash("sed 's,/,\\\\/,g' bare; sed 's,/,%2F,g; s,+,%2B,g; s,=,%3D,g' bare"),
		llmtest.Call("Bash", m{"command": "cat notes.txt bare; sleep 0.05; cat bare", "background": true}),
		llmtest.Call("Jobs", m{"id": "j1", "wait_ms": 3000}),
		llmtest.Call("Read", m{"path": "notes.txt"}),
		llmtest.Call("Grep", m{"pattern": "KEY"}),
		llmtest.Call("Edit", m{"path": "notes.txt", "old": "end", "new": "END"}),
		llmtest.Call("Edit", m{"path": "notes.txt", "old": "nothing like it", "new": "END"}),
	}
	var mu sync.Mutex
	var sent bytes.Buffer
	seen := false
	s := llmtest.NewServer(t, func(e *llmtest.Exchange) llmtest.Reply {
		mu.Lock()
		defer mu.Unlock()
		seen = seen || strings.Contains(fmt.Sprint(e.Header), printed)
		if n := (len(e.Request.Messages) - 1) / 2; n < len(steps) {
			return steps[n]
		}
		sent.Write(e.Body) // it has all that was said before
		return llmtest.Say("done")
	})
	vars := map[string]string{"CANTLE_HOME": home, "CANTLE_KEYRING": "off", "HOME": home}
	block := `"maxRetries": 0`
	switch source {
	case "variable":
		vars["SOME_API_KEY"], block = printed, `"apiKeyEnv": "SOME_API_KEY"`
	case "command":
		block = fmt.Sprintf(`"apiKeyCommand": ["cat", %q]`, filepath.Join(dir, "bare"))
	case "file":
		if _, err := app.Keys(app.Env{Home: home, Getenv: func(k string) string { return vars[k] }}).Set(t.Context(), "mine", printed); err != nil {
			t.Fatal(err)
		}
	case "header":
		vars["PLAIN_NAME"], block = printed, `"headers": {"X-Mine": "Bearer ${PLAIN_NAME}"}`
	}
	settings := fmt.Sprintf(`{"model": "mine:m", "providers": {"mine": {"baseUrl": %q, "wire": %q, %s}}, "models": {"mine:m": {"context": 200000}}, "permissions": {"defaultMode": "acceptEdits"}}`,
		s.BaseURL(llmtest.WireChat), llmtest.WireChat, block)
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	pieces := traces()
	for i, args := range [][]string{
		{"run", "--yes", "--output", "stream-json", "-p", "go"},
		{"sessions"},
		{"run", "-v", "--yes", "-p", "go"},
		{"run", "--yes", "--output", "json", "-p", "go"},
		{"run", "--yes", "--continue", "-p", "and again"},
		{"doctor"},
	} {
		if i > 1 && source != "variable" {
			break // all that differs is how the key is held
		}
		var out, errs bytes.Buffer
		code := cli.Main(t.Context(), cli.Env{
			Streams: cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, Getenv: func(k string) string { return vars[k] },
			Environ: []string{"PATH=/usr/bin:/bin", "HOME=" + home}, Dir: dir, User: home,
		}, args)
		if code != 0 {
			t.Errorf("%q: exit %d: %s", args, code, errs.String())
		}
		if at := leak(append(out.Bytes(), errs.Bytes()...), pieces); at != "" {
			t.Errorf("%q prints it: %s", args, at)
		}
	}
	if !seen || !bytes.Contains(sent.Bytes(), []byte("[key of ")) || bytes.Count(sent.Bytes(), []byte("Authorization: Bearer [key of ")) == 0 || !bytes.Contains(sent.Bytes(), []byte("deploying with '[key of ")) && !bytes.Contains(sent.Bytes(), []byte("deploying with [key of ")) {
		t.Errorf("the key was not sent as one, or no command printed it: %.2000s", sent.Bytes())
	}
	if at := leak(sent.Bytes(), pieces); at != "" {
		t.Errorf("it was sent: %s", at)
	}
	outputs := 0
	for _, root := range []string{home, dir, temp} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Base(filepath.Dir(path)) == "credentials" || filepath.Dir(path) == dir && holds[d.Name()] != "" {
				return err
			}
			b, err := os.ReadFile(path)
			if at := leak(b, pieces); at != "" {
				t.Errorf("%s has it: %s", path, at)
			}
			if info, err := d.Info(); err == nil && d.Type().IsRegular() && info.Mode().Perm()&0o077 != 0 && path != filepath.Join(home, "settings.json") && bytes.Contains(b, []byte("[key of")) {
				t.Errorf("%s can be read by others: %v", path, info.Mode())
			}
			if strings.HasPrefix(d.Name(), "output-") {
				outputs++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if outputs == 0 {
		t.Error("no output was long enough for a file")
	}
}
