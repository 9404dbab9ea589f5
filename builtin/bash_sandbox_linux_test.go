package builtin_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/auto"
	"github.com/cantle-dev/cantle/tool"
)

// TestBashInSandboxes runs commands in the sandboxes that this machine has.
func TestBashInSandboxes(t *testing.T) {
	for _, name := range []string{auto.Bubblewrap, auto.Landlock} {
		t.Run(name, func(t *testing.T) {
			run, _, err := auto.Open(t.Context(), auto.Options{Name: name})
			if err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { run.Close() })
			base := t.TempDir()
			temp, out := filepath.Join(base, "temp"), filepath.Join(base, "out")
			for _, dir := range []string{temp, out} {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			c := &builtin.Confine{Env: map[string]string{"TMPDIR": temp}}
			d := newDesk(t, func(o *builtin.Options) {
				o.Runner, o.Confine = run, c
				o.Environ = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
			})
			c.Policy = sandbox.Policy{WriteRoots: []string{d.dir}, Temp: temp, NoNetwork: true}
			outside, err := os.MkdirTemp("/var/tmp", "outside")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(outside) })
			for _, c := range []struct{ command, says string }{
				{"echo x >in; mktemp >/dev/null && cat in", ""},
				{"echo x >" + outside + "/new", `"off"`},
				{"python3 -c 'open(\"" + outside + "/new\", \"w\")'", `"off"`},
				{"python3 -c 'import urllib.request as u; u.urlopen(\"http://127.0.0.1:9\")'", `"network"`},
				{"git ls-remote http://127.0.0.1:9/x", `"network"`},
				{"curl -sS http://example.com/", `"network"`},
				{"ls nothing-there; exit 1", ""},
			} {
				program, _, _ := strings.Cut(c.command, " ")
				if _, err := exec.LookPath(program); err != nil {
					continue
				}
				o := d.run(c.command)
				if o.Sandbox != name || o.Network {
					t.Errorf("%s: %+v", c.command, o.CommandDetail)
				}
				if said := strings.Contains(o.text, "[It ran in the sandbox "+name+", where it writes only in "+d.dir+", a temp folder, has no network"); said != (c.says != "") || !strings.Contains(o.text, c.says) {
					t.Errorf("%s: %s", c.command, o.text)
				}
			}
			if _, err := os.Stat(outside + "/new"); err == nil {
				t.Error("it was written")
			}
			call := &tool.Call{Name: "Bash", Dir: d.dir, Input: input(map[string]any{"command": "x"}), Access: []tool.Access{
				{Op: tool.Exec, Target: "echo x >" + outside + "/new && echo $TMPDIR."}, {Op: tool.Write, Target: tool.Anywhere},
			}}
			if res, err := tool.Run(t.Context(), d.bash, call); err != nil || res.Parts.Text() != "." {
				t.Errorf("outside: %v %v", res, err)
			}
			// A job stays in its sandbox, and what the command leaves too.
			d.with(map[string]any{"command": "echo x >" + outside + "/job; echo $? >ended", "background": true})
			if s := d.job(map[string]any{"action": "wait", "id": "j1"}); !strings.Contains(s, "ended") {
				t.Error(s)
			}
			if _, err := os.Stat(outside + "/job"); err == nil {
				t.Error("a job wrote outside")
			}
		})
	}
}
