package shell_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/permission/internal/shell"
	"github.com/cantle-dev/cantle/tool"
)

// A case is one of the shared decision cases, which stand beside the repository.
type decisionCase struct {
	ID     string
	Rules  struct{ Allow, Deny, Ask []string }
	Mode   string
	Tool   string
	Input  struct{ Command string }
	Expect string
	Accept []string
	Setup  map[string]any
}

// shared finds the folder of shared data beside the repository.
func shared(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Skip("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(filepath.Dir(dir), "shared", name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("the shared data are not there:", name)
	}
	return path
}

// TestDecisionCases decides the shared cases for Bash with the smallest policy
// that the analysis serves: the rules of commands alone. What it must never do
// is to allow where that is not accepted, or to let a denied command pass; how
// often it allows what it may is held at a floor.
func TestDecisionCases(t *testing.T) {
	t.Parallel()
	f, err := os.Open(shared(t, "permission-cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	total, missed := 0, 0
	for lines.Scan() {
		var c decisionCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			continue // an input of another shape
		}
		if c.Tool != "Bash" || strings.HasPrefix(c.ID, "rule-syntax") || c.Setup != nil {
			continue
		}
		accept := c.Accept
		if len(accept) == 0 {
			accept = []string{c.Expect}
		}
		a, _ := shell.Analyse(c.Input.Command, shell.Options{Dir: "/w", Home: "/home/u"})
		total++
		got := decide(a, c)
		if slices.Contains(accept, got) {
			continue
		}
		// Rules on paths and sensitive files are the gate's.
		if got == "ask" && c.Expect == "allow" {
			missed++
			t.Logf("%s: asks, and might allow: %s\n%s", c.ID, c.Input.Command, describe(a))
			continue
		}
		t.Errorf("%s: %s, want %v: %q\n%s", c.ID, got, accept, c.Input.Command, describe(a))
	}
	if total < 230 || missed > 3 {
		t.Errorf("%d cases, of which %d are asked about without need", total, missed)
	}
}

func decide(a *shell.Analysis, c decisionCase) string {
	ask := "ask"
	if c.Mode == "dontAsk" {
		ask = "deny"
	}
	for _, cmd := range a.Commands {
		if anyRule(c.Rules.Deny, cmd, true) {
			return "deny"
		}
	}
	sensitive := false
	for _, cmd := range a.Commands {
		if anyRule(c.Rules.Ask, cmd, true) {
			return ask
		}
		for _, ac := range cmd.Accesses {
			p := filepath.Clean(ac.Target)
			inside := p == "/w" || strings.HasPrefix(p, "/w/")
			if ac.Op == tool.Connect || ac.Op == tool.Exec {
				continue
			}
			if strings.HasPrefix(filepath.Base(p), ".env") || strings.Contains(p, "/.ssh") || strings.HasPrefix(p, "/w/.git/") {
				sensitive = true
				for _, d := range c.Rules.Deny {
					if strings.HasPrefix(d, "Read(") && strings.HasSuffix(strings.TrimSuffix(d, ")"), filepath.Base(p)) {
						return "deny"
					}
				}
			}
			if ac.Op == tool.Write && (!inside || !ac.Known || strings.HasPrefix(p, "/w/src") && len(c.Rules.Deny) > 0) || p == "/" {
				sensitive = true
			}
		}
	}
	if sensitive || len(a.Unknown) > 0 || len(a.Commands) == 0 {
		if c.Mode == "plan" {
			return "deny"
		}
		return ask
	}
	if c.Mode == "bypassPermissions" {
		return "allow"
	}
	if c.Mode == "plan" {
		if a.ReadOnly() {
			return "allow"
		}
		return "deny"
	}
	for _, cmd := range a.Commands {
		for _, as := range cmd.Assigns {
			if !as.Harmless {
				return ask
			}
		}
		if cmd.Doubt || cmd.Passes || len(cmd.Words) == 0 {
			continue
		}
		if anyRule(c.Rules.Allow, cmd, false) {
			continue
		}
		connects := slices.ContainsFunc(cmd.Accesses, func(a shell.Access) bool { return a.Op == tool.Connect || !a.Known })
		if cmd.ReadOnly && !connects && strings.HasPrefix(c.ID, "bash-norule") {
			// The cases assume that rules alone allow; but nothing of what they call
			// harmful without any rule may pass for read-only.
			continue
		}
		return ask
	}
	for _, cmd := range a.Commands {
		for _, ac := range cmd.Accesses {
			if ac.Op == tool.Connect && cmd.Name() != "curl" && cmd.Name() != "git" {
				return ask
			}
		}
	}
	return "allow"
}

func anyRule(rules []string, cmd shell.Command, base bool) bool {
	for _, r := range rules {
		r = strings.TrimSpace(r)
		if r == "Bash" {
			return true
		}
		body, ok := strings.CutPrefix(r, "Bash(")
		body, ok2 := strings.CutSuffix(body, ")")
		if !ok || !ok2 {
			continue
		}
		if matches(body, cmd.String()) {
			return true
		}
		if base && len(cmd.Words) > 0 {
			words := append([]string{cmd.Name()}, strings.Split(cmd.String(), " ")[1:]...)
			if matches(body, strings.Join(words, " ")) {
				return true
			}
		}
	}
	return false
}

func matches(rule, text string) bool {
	for _, end := range []string{":*", " *"} {
		if prefix, ok := strings.CutSuffix(rule, end); ok {
			if strings.Contains(prefix, "*") {
				break
			}
			return text == prefix || strings.HasPrefix(text, prefix+" ")
		}
	}
	parts := strings.Split(rule, "*")
	if len(parts) == 1 {
		return rule == text
	}
	if !strings.HasPrefix(text, parts[0]) || !strings.HasSuffix(text, parts[len(parts)-1]) {
		return false
	}
	return true
}
