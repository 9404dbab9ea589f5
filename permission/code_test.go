package permission_test

import (
	"testing"

	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/tool"
)

// TestProgramsInWords: what a program that is given in words reads and writes is
// not seen, so that no rule for the command passes by a denial of a path.
func TestProgramsInWords(t *testing.T) {
	for _, c := range []struct {
		command      string
		allow, deny  string
		want, bypass permission.Effect
	}{
		{"python3 -c 'print(open(\"secret\").read())'", "Bash(python3:*)", "", permission.Allow, permission.Allow},
		{"python3 -c 'print(open(\"secret\").read())'", "Bash(python3:*)", "Read(secret)", permission.Ask, permission.Ask},
		{"echo 'x' | perl -ne 'print'", "Bash", "Edit(/src/**)", permission.Ask, permission.Ask},
		{"python3 tests/run.py", "Bash(python3:*)", "Read(secret)", permission.Allow, permission.Allow},
		{"python3 -c 'print(1)'", "Bash(python3:*)", "Bash(rm:*)", permission.Allow, permission.Allow},
		{"make --eval='all:; cat secret'", "Bash(make:*)", "Read(secret)", permission.Ask, permission.Ask},
		{"make test", "Bash(make:*)", "Read(secret)", permission.Allow, permission.Allow},
		{"awk '{print $1}' notes", "Bash(awk:*)", "Read(secret)", permission.Allow, permission.Allow},
	} {
		for mode, want := range map[permission.Mode]permission.Effect{permission.Default: c.want, permission.Bypass: c.bypass} {
			rules := permission.Rules{Allow: []string{c.allow}}
			if c.deny != "" {
				rules.Deny = []string{c.deny}
			}
			if c.allow != "Bash" {
				rules.Allow = append(rules.Allow, "Bash(echo:*)")
			}
			g, err := permission.New(permission.Options{Mode: mode, Roots: []string{"/w"}, Rules: rules})
			if err != nil {
				t.Fatal(err)
			}
			v := g.Decide(tool.Spec{Name: "Bash"}, []tool.Access{{Op: tool.Exec, Target: c.command}})
			if v.Effect != want {
				t.Errorf("%s: %s with deny %q: %s, not %s: %s", mode, c.command, c.deny, v.Effect, want, v.Reason)
			}
		}
	}
}
