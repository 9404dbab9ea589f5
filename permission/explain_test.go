package permission_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/tool"
)

func ExampleGate_ExplainCommand() {
	gate, err := permission.New(permission.Options{
		Roots: []string{"/w"}, Home: "/home/u",
		Layers: []permission.Rules{
			{Allow: []string{"Bash(rg:*)", "Bash(tee:*)"}, Source: permission.Source{Layer: "user", File: "~/.cantle/settings.json"}},
			{Deny: []string{"Bash(rm:*)"}, Source: permission.Source{Layer: "project", File: ".cantle/settings.json"}},
		},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(gate.ExplainCommand("rg x | tee f", ""))
	fmt.Println(gate.ExplainCommand("rg x | timeout 5 rm -rf /", ""))
	fmt.Println(gate.ExplainCommand("rg x | go test ./...", ""))
	// Output:
	// allow: the allow rule "Bash(rg:*)" of ~/.cantle/settings.json (user) allows it
	// rule: Bash(rg:*), in ~/.cantle/settings.json (user)
	// mode: default
	//   allow  run rg x  [Bash(rg:*)]
	//   allow  run tee f, which writes /w/f  [Bash(tee:*)]
	// deny: it would run rm -rf /: the deny rule "Bash(rm:*)" of .cantle/settings.json (project) denies it
	// rule: Bash(rm:*), in .cantle/settings.json (project)
	// mode: default
	//   allow  run rg x  [Bash(rg:*)]
	//   allow  run timeout 5 rm -rf /
	//   deny   run rm -rf /, by timeout, which writes /  [Bash(rm:*)]
	// ask: it would run go test ./...
	// mode: default
	//   allow  run rg x  [Bash(rg:*)]
	//   ask    run go test ./...
	// to allow it: Bash(go test:*)
}

// Where commands are confined, an explanation says where this one would run,
// and what it would have beyond.
func ExampleGate_Explain() {
	gate, err := permission.New(permission.Options{
		Roots: []string{"/w"}, Rules: permission.Rules{Allow: []string{"Bash(go:*)"}},
		Sandbox: &permission.Sandbox{Holds: func() bool { return true }, Auto: true, Excluded: []string{"docker:*"}},
	})
	if err != nil {
		panic(err)
	}
	for _, c := range []string{"make", "docker ps", "go get x && make"} {
		fmt.Println(gate.ExplainCommand(c, ""))
	}
	fmt.Println(gate.Explain(permission.Request{Spec: tool.Spec{Name: "Bash"}, Access: []tool.Access{
		{Op: tool.Exec, Target: "go vet"}, {Op: tool.Write, Target: tool.Anywhere},
	}}))
	// Output:
	// allow: it stays inside of the sandbox
	// mode: default
	// runs: in the sandbox, without the network
	//   allow  run make
	// ask: it would run docker ps
	// mode: default
	// runs: outside of the sandbox, with the network
	//   ask    run docker ps
	// to allow it: Bash(docker ps:*)
	// ask: it would run make
	// mode: default
	// runs: in the sandbox, with the network
	//   allow  run go get x  [Bash(go:*)]
	//   ask    run make
	// to allow it: Bash(make)
	// ask: it would run outside of the sandbox
	// mode: default
	// runs: outside of the sandbox, with the network
	//   allow  run go vet  [Bash(go:*)]
	//   ask    run outside of the sandbox
}

func TestExplanationsHideNothing(t *testing.T) {
	g, err := permission.New(permission.Options{Roots: []string{"/w"}})
	if err != nil {
		t.Fatal(err)
	}
	text := g.ExplainCommand("echo \x1b[2K\r\u202e\u200b\u009bx\u00ad", "").String()
	if i := strings.IndexFunc(strings.ReplaceAll(text, "\n", ""), func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
		t.Errorf("%q", text)
	}
}

// TestPartsAgreeWithTheWhole: one command by itself is decided on as the line is
// that has it alone, in every mode.
func TestPartsAgreeWithTheWhole(t *testing.T) {
	for _, mode := range permission.Modes() {
		for _, command := range []string{"ls", "git log", "rm x", "cat .env", "echo x > made", "python3 x.py"} {
			for _, auto := range []bool{false, true} {
				g, err := permission.New(permission.Options{
					Mode: mode, Roots: []string{"/w"}, Rules: permission.Rules{Allow: []string{"Bash(echo:*)"}},
					Sandbox: &permission.Sandbox{Auto: auto, Holds: func() bool { return true }},
				})
				if err != nil {
					t.Fatal(err)
				}
				e := g.ExplainCommand(command, "/w")
				if len(e.Parts) != 1 || e.Parts[0].Effect != e.Effect {
					t.Errorf("%s, auto %v: %s: %s, and its part %+v", mode, auto, command, e.Effect, e.Parts)
				}
			}
		}
	}
}
