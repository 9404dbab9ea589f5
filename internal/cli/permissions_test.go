package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPermissionsWhy: the rules that hold are those of the settings and the
// flags, and nothing is run.
func TestPermissionsWhy(t *testing.T) {
	d := newDesk(t)
	if err := os.WriteFile(filepath.Join(d.home, "settings.json"), []byte(`{"permissions": {"allow": ["Bash(rg:*)"], "deny": ["Bash(rm:*)"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"why", "rg x"}, "allow", 0},
		{[]string{"why", "rg x | timeout 5 rm -rf /"}, "deny", 0},
		{[]string{"why", "touch made"}, "ask", 0},
		{[]string{"why", "--allow", "Bash(touch:*)", "touch made"}, "allow", 0},
		{[]string{"why", "--mode", "bypassPermissions", "touch made"}, "allow", 0},
		{[]string{"why", "--deny", "Bash", "rg x"}, "deny", 0},
		{[]string{"why", "git", "log"}, "", 2},
		{[]string{"why", " "}, "", 2},
		{[]string{"why", "Bash"}, "", 2}, // a tool, without its input
		{[]string{"why", "--mode", "nope", "rg x"}, "", 2},
		{[]string{"why", "--allow", "Bash(", "rg x"}, "", 2},
	} {
		out, errs, code := d.run(append([]string{"permissions"}, c.args...)...)
		if code != c.code || !strings.HasPrefix(out, c.want) || c.code != 0 && (out != "" || errs == "") {
			t.Errorf("%q: exit %d, %s%s", c.args, code, out, errs)
		}
		if c.code != 0 {
			continue
		}
		out, _, _ = d.run(append([]string{"permissions", "--json"}, c.args...)...)
		var doc struct {
			Effect, Mode string
			Parts        []struct{ What string }
		}
		if err := json.Unmarshal([]byte(out), &doc); err != nil || doc.Effect != c.want || doc.Mode == "" || len(doc.Parts) == 0 {
			t.Errorf("%q: %v, %s", c.args, err, out)
		}
	}
	if _, err := os.Lstat(filepath.Join(d.dir, "made")); err == nil {
		t.Error("a command was run")
	}
	if out, _, _ := d.run("permissions", "why", "rg '\x1b[2K'"); strings.Contains(out, "\x1b") {
		t.Errorf("%q", out)
	}
}

// TestPermissionsTest: cases from a file and from standard input, by the settings'
// rules or by their own.
func TestPermissionsTest(t *testing.T) {
	const denied = `{"id":"no","tool":"Bash","input":{"command":"rm -rf /"},"expect":"deny"}`
	const own = `{"id":"own","rules":{"allow":["Bash(touch:*)"]},"tool":"Bash","input":{"command":"touch f"},"expect":"allow"}`
	const wrong = `{"id":"wrong","tool":"Bash","input":{"command":"rm x"},"expect":"allow","why":"it is mine"}`
	for name, c := range map[string]struct {
		cases string
		code  int
		out   string
	}{
		"all well":  {denied + "\n# a remark\n\n" + own + "\n", 0, "2 passed, 0 failed\n"},
		"one fails": {denied + "\n" + wrong, 1, "line 2: wrong: deny, want allow: "},
		"malformed": {denied + "\n{", 2, ""},
		"unknown":   {`{"tool":"Bash","expected":"deny"}`, 2, ""},
		"empty":     {"\n", 2, "0 passed"},
	} {
		d := newDesk(t)
		d.in = c.cases
		args := []string{"permissions", "test", "--deny", "Bash(rm:*)"}
		if out, errs, code := d.run(append(args, "-")...); code != c.code || !strings.HasPrefix(out, c.out) || code == 2 && errs == "" {
			t.Errorf("%s: exit %d, %s%s", name, code, out, errs)
		}
		d.in = ""
		if err := os.WriteFile(filepath.Join(d.dir, "cases.jsonl"), []byte(c.cases), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs, code := d.run(append(args, "--json", "cases.jsonl")...)
		var doc struct {
			Passed   int
			Failures []struct{ Line int }
		}
		if err := json.Unmarshal([]byte(out), &doc); code != c.code || c.out != "" && err != nil || (c.code == 1) != (len(doc.Failures) > 0) {
			t.Errorf("%s: exit %d, %v, %s%s", name, code, err, out, errs)
		}
	}
	d := newDesk(t)
	// The example of the help comes out as it should, whatever the project's rules.
	help, _, _ := d.run("permissions", "test", "--help")
	_, example, _ := strings.Cut(help, "echo '")
	d.in, _, _ = strings.Cut(example, "'")
	for _, rules := range [][]string{nil, {"--allow", "Bash"}, {"--mode", "bypassPermissions"}} {
		if out, errs, code := d.run(append([]string{"permissions", "test", "-"}, rules...)...); code != 0 || out != "1 passed, 0 failed\n" {
			t.Errorf("%q: exit %d, %s%s", rules, code, out, errs)
		}
	}
	if _, errs, code := d.run("permissions", "why", "Read"); code != 2 || !strings.Contains(errs, "cantle permissions why Read INPUT") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if _, errs, code := d.run("permissions", "test", "none.jsonl"); code != 2 || !strings.Contains(errs, "none.jsonl") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

// TestPermissionsList: the rules with where they are written, and those that can
// decide nothing.
func TestPermissionsList(t *testing.T) {
	d := newDesk(t)
	settings := filepath.Join(d.home, "settings.json")
	if err := os.WriteFile(settings, []byte(`{"permissions": {"allow": ["Bash(rg:*)"], "deny": ["Raed(x)"], "defaultMode": "acceptEdits"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := d.run("permissions", "list", "--ask", "Write")
	if code != 0 || !strings.HasPrefix(out, "EFFECT\tRULE\tLAYER\tFILE\n") || !strings.Contains(out, "allow\tBash(rg:*)\tuser\t"+settings+"\n") ||
		!strings.Contains(out, "ask\tWrite\tflags\t--ask\n") || !strings.Contains(errs, "the mode is acceptEdits") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	out, _, code = d.run("permissions", "list", "--json")
	var list struct {
		Mode  string
		Rules []struct {
			Text, Effect string
			Source       struct{ Layer, File string }
		}
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 || list.Mode != "acceptEdits" || len(list.Rules) != 2 || list.Rules[0].Source.File != settings {
		t.Errorf("exit %d, %v, %s", code, err, out)
	}
	if out, errs, code := d.run("permissions", "check"); code != 1 || !strings.Contains(out, "the deny rule Raed(x), in "+settings+" names no tool that there is: did you mean Read?\n") || !strings.Contains(out, "2 rule(s), 1 that") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	var report struct {
		Rules  int
		Unused []struct{ Text string }
	}
	if out, _, code := d.run("permissions", "check", "--json"); code != 1 || json.Unmarshal([]byte(out), &report) != nil || len(report.Unused) != 1 {
		t.Errorf("exit %d, %s", code, out)
	}
	if out, _, code := d.run("doctor", "-m", "demo:offline"); code != 1 || !strings.Contains(out, "!!  rules: the deny rule Raed(x)") || !strings.Contains(out, "ok  sandbox: ") || !strings.Contains(out, "ok  trust: this folder brings nothing") {
		t.Errorf("exit %d, %s", code, out)
	}
	if err := os.WriteFile(settings, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := d.run("permissions", "check"); code != 0 || out != "0 rule(s), 0 that can decide nothing\n" {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if _, errs, code := d.run("permissions", "check", "--deny", "Bash("); code != 2 || !strings.Contains(errs, "Bash(") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

// TestPermissionsWhyOfACall: of any tool, with its input as JSON.
func TestPermissionsWhyOfACall(t *testing.T) {
	d := newDesk(t)
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"--deny", "Edit(/secret/**)", "Write", `{"file_path": "secret/a", "content": ""}`}, "deny", 0},
		{[]string{"Read", `{"file_path": "a"}`}, "allow", 0},
		{[]string{"Write", `{"file_path": "a", "content": ""}`}, "ask", 0},
		{[]string{"--allow", "mcp__x__*", "mcp__x__y", `{}`}, "allow", 0},
		{[]string{"Write", `{"file_path": 7`}, "", 2},
		{[]string{"Write", `{"file_path": "a", "nope": 1}`}, "", 2},
	} {
		out, errs, code := d.run(append([]string{"permissions", "why"}, c.args...)...)
		if code != c.code || !strings.HasPrefix(out, c.want) || c.code != 0 && (out != "" || errs == "") {
			t.Errorf("%q: exit %d, %s%s", c.args, code, out, errs)
		}
	}
}
