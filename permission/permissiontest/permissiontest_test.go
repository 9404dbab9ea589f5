package permissiontest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/permission/permissiontest"
)

func ExampleRun() {
	cases := `
// What this project's rules are to mean.
{"id": "log", "rules": {"allow": ["Bash(git log:*)"]}, "tool": "Bash", "input": {"command": "git log -3"}, "expect": "allow"}
{"id": "pipe", "rules": {"allow": ["Bash(git log:*)"]}, "tool": "Bash", "input": {"command": "git log | make"}, "expect": "allow"}
{"id": "link", "rules": {"deny": ["Read(secret/**)"]}, "tool": "Read", "input": {"file_path": "a.txt"}, "expect": "deny", "setup": {"symlink": {"/w/a.txt": "/w/secret/a"}}}
`
	report, err := permissiontest.Run(strings.NewReader(cases), permissiontest.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(report)
	// Output:
	// line 4: pipe: ask, want allow: it would run make
	// 2 passed, 1 failed
}

func TestSetups(t *testing.T) {
	for line, want := range map[string]permission.Effect{
		`{"tool":"Edit","rules":{},"mode":"acceptEdits","input":{"file_path":"h"},"expect":"ask","setup":{"hardlink":{"/w/h":"/home/u/.bashrc"}}}`:                      "ask",
		`{"tool":"Edit","rules":{},"mode":"acceptEdits","input":{"file_path":"h"},"expect":"allow","setup":{"hardlink":{"/w/h":"/w/i"}}}`:                               "allow",
		`{"tool":"Read","rules":{"deny":["Read(i)"]},"input":{"file_path":"h"},"expect":"deny","setup":{"hardlink":{"/w/h":"/w/d/i"}}}`:                                 "deny",
		`{"tool":"Read","rules":{},"input":{"file_path":"l/x"},"expect":"ask","setup":{"symlink":{"/w/l":"../out"}}}`:                                                   "ask",
		`{"tool":"Read","rules":{},"input":{"file_path":"l/x"},"expect":"allow","setup":{"symlink":{"/w/l":"../out"},"absent":["/w/l"]}}`:                               "allow",
		`{"tool":"Write","rules":{},"mode":"acceptEdits","input":{"file_path":"new/../l/x"},"expect":"ask","setup":{"symlink":{"/w/l":"/home/u"},"absent":["/w/new"]}}`: "ask",
		`{"tool":"mcp__a__b","rules":{"allow":["mcp__a__b"]},"input":{},"expect":"ask","setup":{"tool_definition_changed":true}}`:                                       "ask",
		`{"tool":"mcp__a__b","rules":{"allow":["mcp__a__b"]},"input":{},"mode":"plan","expect":"allow","setup":{"annotations":{"readOnlyHint":true}}}`:                  "allow",
		`{"tool":"Bash","rules":{"allow":["Bash(cat:*)"],"deny":["Read(k)"]},"input":{"command":"cat d/*"},"expect":"deny","setup":{"symlink":{"/w/d/x":"/w/k"}}}`:      "deny",
		`{"tool":"Bash","rules":{"allow":["Bash(ls)"]},"input":{"command":"ls"},"cwd":"/elsewhere","expect":"allow"}`:                                                   "allow",
		`{"tool":"Skill","rules":{"ask":["Skill(deploy*)"]},"mode":"bypassPermissions","input":{"name":"deploy-all"},"expect":"ask"}`:                                   "ask",
		`{"tool":"Bash","rules":{"deny":["Bash("]},"input":{"command":"ls"},"expect":"deny"}`:                                                                           "deny",
		`{"tool":"Bash","rules":{"allow":["Bash(","Bash(pwd)"]},"input":{"command":"ls"},"expect":"ask"}`:                                                               "ask",
		`{"tool":"Bash","rules":{"allow":["Bash(","Bash(ls)"]},"input":{"command":"ls"},"expect":"allow"}`:                                                              "allow",
	} {
		report, err := permissiontest.Run(strings.NewReader(line), permissiontest.Options{})
		if err != nil || report.Passed != 1 {
			t.Errorf("%s: %v, %v", line, report, err)
		}
		wrong := strings.Replace(line, `"expect":"`+string(want), `"expect":"`+map[permission.Effect]string{"allow": "deny", "deny": "allow", "ask": "allow"}[want], 1)
		report, err = permissiontest.Run(strings.NewReader(wrong), permissiontest.Options{})
		if err != nil || len(report.Failures) != 1 || report.Failures[0].Got != string(want) {
			t.Errorf("%s: %v, %v", wrong, report, err)
		}
	}
}

// A case without rules is decided by the caller's own, in his own files.
func TestOwnRules(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "l")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	base := permission.Options{Roots: []string{dir}, Rules: permission.Rules{Allow: []string{"Bash(make:*)"}}}
	report, err := permissiontest.Run(strings.NewReader(`{"id":"a","tool":"Bash","input":{"command":"make x"},"expect":"allow"}
{"id":"b","tool":"Read","input":{"file_path":"l/hosts"},"expect":"ask"}
{"id":"c","tool":"Read","input":{"file_path":"m"},"expect":"allow"}`), permissiontest.Options{Base: base})
	if err != nil || report.Passed != 3 {
		t.Errorf("%v, %v", report, err)
	}
}

func TestMalformedFiles(t *testing.T) {
	for text, want := range map[string]string{
		"\n{": "line 2: ", `{"tool":"Bash","expect":"maybe"}`: `"maybe" is not a decision`, `{"expect":"ask"}`: "names no tool", `{"tool":"Bash","expect":"ask","expects":1}`: "expects",
		`{"id":"q","tool":"Bash","expect":"ask","cwd":"w"}`: "q: the cwd", `{"tool":"Bash","expect":"ask","mode":"x"}`: "not a mode",
		`{"tool":"` + strings.Repeat("x", 1<<20) + `"}`: "too long",
	} {
		if _, err := permissiontest.Run(strings.NewReader(text), permissiontest.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}

// TestCasesBringTheirFolder: paths in the rules of a case are from its own folder,
// and not from the project of whoever runs it.
func TestCasesBringTheirFolder(t *testing.T) {
	base := permission.Options{Roots: []string{"/p/sub"}, Project: "/p"}
	cases := `{"tool":"Write","input":{"file_path":"src/a.go","content":""},"cwd":"/w","rules":{"allow":["Edit(/src/**)"]},"mode":"default","expect":"allow"}`
	r, err := permissiontest.Run(strings.NewReader(cases), permissiontest.Options{Base: base})
	if err != nil || r.Passed != 1 {
		t.Errorf("%v, %v", r, err)
	}
}
