package permission_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/tool"
)

func TestExplainCall(t *testing.T) {
	root := t.TempDir()
	o := builtin.Options{Root: root, Home: "/home/u"}
	type name struct {
		Name string `json:"name" alias:"skill"`
	}
	tools := []tool.Tool{
		builtin.Bash(o), builtin.Read(o), builtin.Edit(o), builtin.Write(o), builtin.Glob(o), builtin.Grep(o), builtin.WebFetch(o),
		tool.New(tool.Spec{Name: "Skill", ReadOnly: true, Access: tool.NoAccess}, func(context.Context, name) (string, error) { return "", nil }),
		tool.New(tool.Spec{Name: "mcp__a__list"}, func(context.Context, struct{}) (string, error) { return "", nil }),
	}
	g, err := permission.New(permission.Options{Roots: []string{root}, Home: "/home/u", Layers: []permission.Rules{
		{Deny: []string{"Read(*.key)", "Skill(deploy)", "Bash(rm:*)", "mcp__b__*"}, Source: permission.Source{Layer: "user", File: "/home/u/.cantle/settings.json"}},
		{Allow: []string{"WebFetch(domain:go.dev)", "mcp__a", "Edit(/src/**)"}, Source: permission.Source{Layer: "project", File: "p.json"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, input string
		want        permission.Effect
		rule        string
	}{
		{"Read", `{"file_path":"a.key"}`, "deny", "Read(*.key)"},
		{"Read", "a.key", "deny", "Read(*.key)"},
		{"Read", "sub/../a.key", "deny", "Read(*.key)"},
		{"read_file", `{"path":"a.key"}`, "deny", "Read(*.key)"},
		{"Read", "a.txt", "allow", ""},
		{"Grep", "a.key", "deny", "Read(*.key)"},
		{"Glob", "/etc/**", "ask", ""},
		{"Glob", `{"pattern":"**/*.go"}`, "allow", ""},
		{"Edit", "src/a", "allow", "Edit(/src/**)"},
		{"str_replace", "src/a", "allow", "Edit(/src/**)"},
		{"Write", "a", "ask", ""},
		{"Write", `{"file_path":"a","content":"x"}`, "ask", ""},
		{"Bash", "git log; rm x", "deny", "Bash(rm:*)"},
		{"shell", `{"cmd":"rm x"}`, "deny", "Bash(rm:*)"},
		{"Bash", "{ rm x; }", "deny", "Bash(rm:*)"},
		{"WebFetch", "https://go.dev/x", "allow", "WebFetch(domain:go.dev)"},
		{"web_fetch", `{"url":"https://evil.test"}`, "ask", ""},
		{"Skill", "deploy", "deny", "Skill(deploy)"},
		{"use_skill", `{"skill":"deploy"}`, "deny", "Skill(deploy)"},
		{"mcp__a__list", "", "allow", "mcp__a"},
		{"mcp__b__x", `{"y":1}`, "deny", "mcp__b__*"},
	} {
		e, err := g.ExplainCall(t.Context(), tools, c.name, c.input, "")
		if err != nil || e.Effect != c.want || e.Reason == "" || (e.Rule == nil) != (c.rule == "") || e.Rule != nil && e.Rule.Text != c.rule {
			t.Errorf("%s %s: %+v, %v", c.name, c.input, e, err)
			continue
		}
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var out struct {
			Effect, Reason, Mode string
			Rule                 struct {
				Text   string
				Source struct{ Layer, File string }
			}
		}
		if err := json.Unmarshal(b, &out); err != nil || out.Effect != string(c.want) || out.Reason != e.Reason || out.Mode != "default" || out.Rule.Text != c.rule || c.rule != "" && out.Rule.Source.File == "" {
			t.Errorf("%s: %s", c.name, b)
		}
	}
	for input, want := range map[[2]string]string{
		{"Raed", "a"}:                      `no tool "Raed": there are Bash, Edit`,
		{"Read", `{"file_path":7,"x":[]}`}: "Read: the input",
		{"Read", ""}:                       "Read: the input",
		{"Bash", `{"command":"  "}`}:       "Bash: the command is empty",
		{"WebFetch", "not a url"}:          "WebFetch: ",
		{"mcp__b__x", "[]"}:                "mcp__b__x: the input",
	} {
		if _, err := g.ExplainCall(t.Context(), tools, input[0], input[1], ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", input, err, want)
		}
	}
}
