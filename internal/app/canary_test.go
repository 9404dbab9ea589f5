package app_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/cli"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

const canary = "sk-canary-5f1d77c0a9"

// hasKey reports whether a text has the key or a part of it: not even that may
// stand for it, be it as an id or so that its user knows it again.
func hasKey(text string) bool {
	const mark = len("sk-canary")
	for i := mark; i+6 <= len(canary); i++ {
		if strings.Contains(text, canary[i:i+6]) {
			return true
		}
	}
	return strings.Contains(text, canary[:mark])
}

// A key is in nothing that is written, wherever it is from: not in what the
// program prints, in text or JSON, when all goes well and when the server throws
// the key back in an error; not in journals, caches or any other file but the
// one that was made to hold it; nor in what commands see.
func TestCanary(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are of a POSIX shell")
	}
	for _, source := range []string{"variable", "own variable", "command", "shell", "file", "login", "run key", "header", "query"} {
		for _, wire := range []string{llmtest.WireChat, llmtest.WireAnthropic} {
			t.Run(source+" on "+wire, func(t *testing.T) { testCanary(t, source, wire) })
		}
	}
}

func testCanary(t *testing.T, source, wire string) {
	home, dir := t.TempDir(), t.TempDir()
	seen := false
	play := llmtest.NewServer(t, func(e *llmtest.Exchange) llmtest.Reply {
		seen = seen || strings.Contains(fmt.Sprint(e.Header), canary)
		if len(e.Request.Messages) == 1 {
			return llmtest.Call("Bash", m{"command": "env; cat /proc/$PPID/environ 2>/dev/null; cat " + home + "/settings.json"})
		}
		return llmtest.Say("done")
	})
	angry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := r.Header.Get("Authorization") + " " + r.Header.Get("X-Api-Key") + " " + r.Header.Get("X-Mine") + " " + r.URL.RawQuery
		seen = seen || strings.Contains(said, canary)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"type":"authentication_error","message":"Incorrect API key provided: `+said+`"}}`)
	}))
	defer angry.Close()

	vars := map[string]string{"CANTLE_HOME": home, "CANTLE_KEYRING": "off", "HOME": home}
	environ := []string{"PATH=/usr/bin:/bin", "HOME=" + home}
	give := func(name string) {
		vars[name] = canary
		environ = append(environ, name+"="+canary)
	}
	block := ""
	switch source {
	case "variable":
		give("MY_PROVIDER_API_KEY")
		block = `"apiKeyEnv": "MY_PROVIDER_API_KEY"`
	case "own variable":
		give("PLAIN_NAME")
		block = `"apiKeyEnv": "PLAIN_NAME"`
	case "command":
		if err := os.WriteFile(filepath.Join(home, "key"), []byte("#!/bin/sh\necho "+canary[:8]+canary[8:]+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		block = fmt.Sprintf(`"apiKeyCommand": [%q]`, filepath.Join(home, "key"))
	case "shell":
		block = fmt.Sprintf(`"apiKeyCommand": "printf %%s-%%s %s %s"`, canary[:9], canary[10:])
	case "file":
		if _, err := app.Keys(app.Env{Home: home, Getenv: func(k string) string { return vars[k] }}).Set(t.Context(), "mine", canary); err != nil {
			t.Fatal(err)
		}
		block = `"maxRetries": 0`
	case "run key":
		give("PLAIN_NAME")
		block = `"maxRetries": 0`
	case "login":
		block = `"maxRetries": 0`
	case "header":
		give("PLAIN_NAME")
		block = `"headers": {"X-Mine": "${PLAIN_NAME}"}`
	case "query":
		if wire != llmtest.WireChat {
			t.Skip("the wire has no query")
		}
		give("PLAIN_NAME")
		block = `"query": {"key": "${PLAIN_NAME}"}`
	}
	settings := fmt.Sprintf(`{"model": "mine:m", "providers": {"mine": {"baseUrl": %q, "wire": %q, %s}, "angry": {"baseUrl": %q, "wire": %q, %s}},
		"models": {"mine:m": {"context": 200000}, "angry:m": {"context": 200000}}}`, play.BaseURL(wire), wire, block, angry.URL, wire, block)
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	if source == "file" {
		if _, err := app.Keys(app.Env{Home: home, Getenv: func(k string) string { return vars[k] }}).Set(t.Context(), "angry", canary); err != nil {
			t.Fatal(err)
		}
	}
	commands := [][]string{
		{"run", "-v", "--yes", "-p", "go"},
		{"run", "--yes", "--output", "json", "-p", "go"},
		{"run", "-v", "--yes", "--output", "stream-json", "-p", "go"},
		{"run", "-v", "-m", "angry:m", "-p", "go"},
		{"run", "-m", "angry:m", "--output", "json", "-p", "go"},
		{"run", "-v", "-m", "angry:m", "--output", "stream-json", "-p", "go"},
		{"doctor"},
		{"models"},
		{"models", "--json"},
		{"models", "refresh", "mine"},
		{"models", "refresh", "angry"},
		{"models", "show", "mine:m"},
		{"sessions"},
		{"run", "--set", "providers.mine.headers.Authorization=Bearer " + canary, "-p", "go"},
		{"run", "--set", "providers.mine.apiKey=" + canary, "-p", "go"},
		{"run", "--set", "providers.mine.apiKeyEnv=" + canary, "-p", "go"},
		{"login", canary, "x"},
		{"logout", "mine"},
	}
	if source == "login" {
		commands = append([][]string{{"login", "mine"}, {"login", "angry"}}, commands...)
	}
	for _, args := range commands {
		if source == "run key" && args[0] == "run" {
			args = append(args, "--api-key-env", "PLAIN_NAME")
		}
		var out, errs bytes.Buffer
		code := cli.Main(t.Context(), cli.Env{
			Streams: cli.Streams{In: strings.NewReader(map[bool]string{true: canary + "\n"}[args[0] == "login"]), Out: &out, Err: &errs}, Getenv: func(k string) string { return vars[k] },
			Environ: environ, Dir: dir, User: home,
		}, args)
		if text := out.String() + errs.String(); hasKey(text) || text == "" {
			t.Errorf("%q (exit %d) prints the key, or nothing:\n%s", args, code, text)
		}
	}
	if !seen && source != "query" {
		t.Error("the key was never sent: the test shows nothing")
	}
	for _, root := range []string{home, dir} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Base(filepath.Dir(path)) == "credentials" || path == filepath.Join(home, "key") || path == filepath.Join(home, "settings.json") {
				return err
			}
			b, err := os.ReadFile(path)
			if hasKey(string(b)) {
				t.Errorf("%s has a part of the key: %.1000s", path, b)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
