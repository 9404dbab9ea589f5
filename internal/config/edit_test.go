package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/internal/config"
)

// settingsFile is a file with that text; "" is none.
func settingsFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "home", "settings.json")
	if text != "" {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

func content(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const commented = `// mine
{
	/* the model */ "model": "a:b", // fast

	"permissions": {
		// what may run
		"allow": [
			"Read",   // always
			"Bash(git log *)"
			// "Bash(git push *)"
		],
		"deny": ["Write", /* never */ "Edit"],
	},
	"models": {"a:b-1.2": {"context": 1000}}, // last
	// the end
}
// bye`

// What is not named stays byte by byte: each case is a text, what is done, and
// the pieces of the text that change.
func TestEditKeepsTheRest(t *testing.T) {
	set := func(key, value string) func(string) error {
		return func(f string) error { return config.Set(f, key, value) }
	}
	add := func(key, item string) func(string) error {
		return func(f string) error { return config.Add(f, key, item) }
	}
	remove := func(key, item string) func(string) error {
		return func(f string) error { return config.Remove(f, key, item) }
	}
	for i, tt := range []struct {
		text     string
		do       func(string) error
		old, new string // of the text
	}{
		{commented, set("model", "c:d"), `"a:b", // fast`, `"c:d", // fast`},
		{commented, set("model", "a:b"), "", ""},
		{commented, set("maxTurns", "7"), "// the end\n", "// the end\n\t\"maxTurns\": 7,\n"},
		{commented, set("permissions.defaultMode", "plan"), "\"Edit\"],\n", "\"Edit\"],\n\t\t\"defaultMode\": \"plan\",\n"},
		{commented, set("models.a:b-1.2.context", "5"), `"context": 1000`, `"context": 5`},
		{commented, set("models.a:b-1.2.output", "5"), `1000}`, `1000, "output": 5}`},
		{commented, set("web.maxChars", "0"), "// the end\n", "// the end\n\t\"web\": {\n\t\t\"maxChars\": 0\n\t},\n"},
		{commented, set("permissions.deny", `["Bash"]`), `["Write", /* never */ "Edit"]`, `["Bash"]`},
		{commented, add("permissions.allow", "Bash(a && b > c)"), "git log *)\"\n\t\t\t// \"Bash(git push *)\"\n", "git log *)\",\n\t\t\t// \"Bash(git push *)\"\n\t\t\t\"Bash(a && b > c)\"\n"},
		{commented, add("permissions.allow", "Read"), "", ""},
		{commented, add("permissions.deny", "Bash"), `"Edit"]`, `"Edit", "Bash"]`},
		{commented, add("permissions.ask", "Bash"), "\"Edit\"],\n", "\"Edit\"],\n\t\t\"ask\": [\n\t\t\t\"Bash\"\n\t\t],\n"},
		{commented, remove("permissions.allow", "Read"), "\t\t\t\"Read\",   // always\n", "\t\t\t// always\n"},
		{commented, remove("permissions.allow", "Bash(git log *)"), "\"Read\",   // always\n\t\t\t\"Bash(git log *)\"\n", "\"Read\"   // always\n"},
		{commented, remove("permissions.deny", "Write"), `["Write", /* never */ "Edit"]`, `[/* never */ "Edit"]`},
		{commented, remove("permissions.deny", "Edit"), `["Write", /* never */ "Edit"]`, `["Write" /* never */]`},
		{"{}", set("model", "a:b"), "{}", "{\n  \"model\": \"a:b\"\n}"},
		{"{ // none\n}\n", set("model", "a:b"), "none\n", "none\n  \"model\": \"a:b\"\n"},
		{"{ /* none */ }", set("model", "a:b"), "*/ }", "*/\n  \"model\": \"a:b\"\n }"},
		{"{\"maxTurns\": 3}", set("model", "a:b"), "3}", "3, \"model\": \"a:b\"}"},
		{"{\"maxTurns\": 3 // c\n}", set("model", "a:b"), "3 // c\n", "3, // c\n  \"model\": \"a:b\"\n"},
		{"{\r\n    \"maxTurns\": 3\r\n}\r\n", add("permissions.allow", "R"), "3\r\n", "3,\r\n    \"permissions\": {\r\n        \"allow\": [\r\n            \"R\"\r\n        ]\r\n    }\r\n"},
		{"{\"maxTurns\": 1, \"maxTurns\": 2}", set("maxTurns", "3"), "2", "3"},
		{"{\"fallback\": []}", add("fallback", "a:b"), "[]", "[\n  \"a:b\"\n]"},
		{"{\"fallback\": [\"a:b\",]}", add("fallback", "c:d"), "\"a:b\",", "\"a:b\", \"c:d\","},
		{"{\"fallback\": [\"a:b\"]}", remove("fallback", "a:b"), "[\"a:b\"]", "[]"},
		{"{\"fallback\": [\"a:b\",]}", remove("fallback", "a:b"), "[\"a:b\",]", "[]"},
		{"{\"fallback\": [\"a:b\", \"c:d\", \"a:b\"]}", remove("fallback", "a:b"), "[\"a:b\", \"c:d\", \"a:b\"]", "[\"c:d\"]"},
		{"{\"fallback\": [\"x:y\", \"a:b\" /* c */, \"c:d\"]}", remove("fallback", "a:b"), "\"a:b\" /* c */,", " /* c */"},
		{"{\"fallback\": [\n  \"a:b\",\n  \"c:d\",\n]}", remove("fallback", "c:d"), "  \"c:d\",\n", ""},
		{"{\"fallback\": [\n  \"\\u0061:b\",\n  \"c:d\"\n]}", remove("fallback", "a:b"), "  \"\\u0061:b\",\n", ""},
		{"{\"fallback\": [\"x:y\"\n, \"a:b\"]}", remove("fallback", "a:b"), "\n, \"a:b\"", "\n"},
	} {
		f := settingsFile(t, tt.text)
		if err := tt.do(f); err != nil {
			t.Errorf("%d: %v", i, err)
			continue
		}
		if want, got := strings.Replace(tt.text, tt.old, tt.new, 1), content(t, f); got != want {
			t.Errorf("%d:\n%s\nwant\n%s", i, got, want)
		}
		if info, err := os.Stat(f); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
			t.Errorf("%d: %v, %v", i, info.Mode(), err)
		}
	}
}

// A file that is not there is made, for its user alone, and read as it was
// meant. Nothing else is left in the folder.
func TestEditMakesTheFile(t *testing.T) {
	for _, text := range []string{"", " \n"} {
		f := settingsFile(t, text)
		if err := config.Add(f, "permissions.allow", "Bash(git status)"); err != nil {
			t.Fatal(err)
		}
		if want, got := "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(git status)\"\n    ]\n  }\n}\n", content(t, f); got != want {
			t.Errorf("got %s", got)
		}
		info, err := os.Stat(f)
		if err != nil || text == "" && runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if list, err := os.ReadDir(filepath.Dir(f)); err != nil || len(list) != 1 {
			t.Errorf("%v, %v", list, err)
		}
		c, err := config.Load(config.Sources{Home: filepath.Dir(f), Dir: t.TempDir(), Getenv: func(string) string { return "" }})
		if err != nil || !slices.Equal(c.Permissions.Allow, []string{"Bash(git status)"}) {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

// What reading refuses is not written, and the file stays.
func TestEditRefuses(t *testing.T) {
	set, add, remove := config.Set, config.Add, config.Remove
	for _, tt := range []struct {
		text       string
		do         func(file, key, value string) error
		key, value string
		want       string
	}{
		{"{\n\"model\": \n", set, "model", "x", "settings.json:3: not JSON"},
		{"{\n\"a\" 1}", add, "fallback", "a:b", "settings.json:2: not JSON"},
		{"[]", set, "model", "x", "an object is wanted"},
		{"{\n\"permissions\": []}", add, "permissions.allow", "x", "settings.json:2: permissions: an object is wanted"},
		{"{\n\n\"fallback\": \"x\"}", add, "fallback", "a:b", "settings.json:3: fallback: a list is wanted"},
		{"{\n\n\"modle\": \"x\"}", set, "maxTurns", "3", "settings.json:3: modle: there is no such setting"},
		{"{}", set, "modle", "x", "settings: modle: there is no such setting; did you mean model?"},
		{"{}", set, "", "x", `settings: "": there is no such setting`},
		{"{}", set, "maxTurns", "many", "settings: maxTurns: a whole number"},
		{"{}", set, "maxTurns", "null", "settings: maxTurns: null is not a value"},
		{"{}", set, "env.GITHUB_TOKEN", "canary", "a key must not be in the settings"},
		{"{}", set, "providers.x.apiKey", "canary", "a key must not be in the settings"},
		{"{}", set, "providers.x.apiKeyEnv", "sk-canary", "what is there is not the name of the variable"},
		{"{}", set, "models.a:b.price.input", "1", "models.a:b.price: output is missing"},
		{"{}", add, "model", "x", "settings: model: it is not a list"},
		{"{}", add, "fallback", "", `"" is not a model`},
		{"{}", remove, "permissions.allow", "x", `settings.json:1: permissions.allow: "x": it is not there`},
		{"{}", set, "system", strings.Repeat("x", 1<<20), "larger than 1024 KiB"},
	} {
		f := settingsFile(t, tt.text)
		err := tt.do(f, tt.key, tt.value)
		var e *config.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s, %s: got %.300v, want %q", tt.text, tt.key, err, tt.want)
		}
		if got := content(t, f); got != tt.text {
			t.Errorf("%s: it was changed: %.300s", tt.key, got)
		}
	}
	if err := remove(settingsFile(t, ""), "fallback", "a:b"); !errors.Is(err, config.ErrNotThere) {
		t.Errorf("got %v", err)
	}
	// A value that is wrong can be mended.
	f := settingsFile(t, "{\n\"maxTurns\": \"x\"}")
	if err := set(f, "maxTurns", "4"); err != nil || content(t, f) != "{\n\"maxTurns\": 4}" {
		t.Errorf("%v: %s", err, content(t, f))
	}
}

// A link is followed, and is no way to make a file elsewhere.
func TestEditOfALink(t *testing.T) {
	f := settingsFile(t, "{}")
	dir := filepath.Dir(f)
	link, dangling := filepath.Join(dir, "link.json"), filepath.Join(dir, "dangling.json")
	for name, to := range map[string]string{link: f, dangling: filepath.Join(dir, "elsewhere")} {
		if err := os.Symlink(to, name); err != nil {
			t.Skip("this system makes no links: ", err)
		}
	}
	if err := config.Set(link, "maxTurns", "4"); err != nil || !strings.Contains(content(t, f), "maxTurns") {
		t.Errorf("%v: %s", err, content(t, f))
	}
	if err := config.Set(dangling, "maxTurns", "4"); err == nil || !strings.Contains(err.Error(), "leads nowhere") {
		t.Errorf("got %v", err)
	}
}

// Of many who write at once none loses what another wrote.
func TestEditAtOnce(t *testing.T) {
	f := settingsFile(t, "")
	const writers, each = 8, 5
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				if err := config.Add(f, "permissions.allow", fmt.Sprintf("Bash(%d %d)", w, n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	c, err := config.Load(config.Sources{Home: filepath.Dir(f), Dir: t.TempDir(), Getenv: func(string) string { return "" }})
	if err != nil || len(c.Permissions.Allow) != writers*each {
		t.Errorf("%d, %v", len(c.Permissions.Allow), err)
	}
}

// FuzzEdit holds that whatever a file that is read is changed to can be read,
// and says what it is to say, and that adding takes no byte away.
func FuzzEdit(f *testing.F) {
	for _, text := range []string{commented, "{}", "{\"permissions\":{\"allow\":[\"x\" /*c*/ , // d\n\"y\",]},}", "{/**/\"permissions\"/**/:/**/{/**/}/**/}"} {
		f.Add(text, "x")
	}
	f.Fuzz(func(t *testing.T, text, item string) {
		const key = "permissions.allow"
		file := settingsFile(t, text)
		read := func() (*config.Config, error) {
			return config.Load(config.Sources{Home: filepath.Dir(file), Dir: filepath.Join(filepath.Dir(file), "none"), Getenv: func(string) string { return "" }})
		}
		before, err := read()
		if err != nil || strings.ToValidUTF8(item, "") != item {
			return
		}
		if err := config.Add(file, key, item); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		c, err := read()
		if err != nil || !slices.Contains(c.Permissions.Allow, item) {
			t.Fatalf("%q became %q: %v", text, content(t, file), err)
		}
		rest := content(t, file)
		for _, b := range []byte(text) {
			i := strings.IndexByte(rest, b)
			if i < 0 && strings.TrimSpace(text) != "" {
				t.Fatalf("%q became %q", text, content(t, file))
			}
			rest = rest[i+1:]
		}
		if err := config.Remove(file, key, item); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		c, err = read()
		want := slices.DeleteFunc(slices.Clone(before.Permissions.Allow), func(s string) bool { return s == item })
		if err != nil || !slices.Equal(c.Permissions.Allow, want) {
			t.Fatalf("%q became %q: %q, want %q, %v", text, content(t, file), c.Permissions.Allow, want, err)
		}
	})
}
