package permission_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/tool"
)

// decisions holds one rule after another to a call, as an allow rule: "+" in
// front of what it is for, "-" of what it is not for.
func decisions(t *testing.T, request func(g *permission.Gate, what string) permission.Verdict, table map[string][]string) {
	t.Helper()
	for rule, list := range table {
		g, err := permission.New(permission.Options{Roots: []string{"/w"}, Home: "/home/u", Rules: permission.Rules{Allow: []string{rule}}})
		if err != nil {
			t.Errorf("%s: %v", rule, err)
			continue
		}
		for _, what := range list {
			v := request(g, what[1:])
			if allowed := v.Effect == permission.Allow; allowed != (what[0] == '+') {
				t.Errorf("%s: %q: %+v", rule, what[1:], v)
			}
			if what[0] == '+' { // a denial with the same words is no narrower
				d, err := permission.New(permission.Options{Mode: permission.Bypass, Roots: []string{"/w"}, Home: "/home/u", Rules: permission.Rules{Deny: []string{rule}}})
				if err != nil {
					t.Fatal(err)
				}
				if v := request(d, what[1:]); v.Effect != permission.Deny {
					t.Errorf("deny %s: %q: %+v", rule, what[1:], v)
				}
			}
		}
	}
}

func TestCommandRules(t *testing.T) {
	decisions(t, func(g *permission.Gate, c string) permission.Verdict { return g.ExplainCommand(c, "/w").Verdict }, map[string][]string{
		"Bash(go test:*)":           {"+go test", "+go test ./...", "+go  test\t-v", "+'go' \"test\"", "-go tests", "-go vet", "-go", "-'go test'", "-X=1 go test", "-go test; ls", "-go test $(ls)", "-/bin/go test", "-go -C /x test", "+go test > out.txt", "-go test > /tmp/x", "-go test > .git/x", "-go test > $X"},
		"Bash(go test *)":           {"+go test", "+go test x", "-go testx"},
		"Bash(go *)":                {"+go", "+go x", "-gox"},
		"Bash(go*)":                 {"+go", "+gox y", "+go x", "-x go"},
		"Bash(git * main)":          {"+git diff main", "+git diff a b main", "-git main", "-git diff mainx", "-git diff main x", "-git merge x; rm main"},
		`Bash(echo \*)`:             {"+echo '*'", `+echo \*`, "-echo x", "-echo *"},
		`Bash(echo a\\b)`:           {`+echo 'a\b'`, "-echo ab"},
		`Bash(echo "a b")`:          {"+echo 'a b'", `+echo a\ b`, "-echo a b"},
		`Bash(find . -name "*.go")`: {"+find . -name '*.go'", "+find . -name 'x.go'", "-find . -name x -delete -name y.go"},
		"Bash(make test)":           {"+make test", "-make test x", "-make", "-make testx", "+timeout 5 make test", "+time make test", "-sudo make test", "-make test CC=x"},
		"Bash(FOO=1 make)":          {"+FOO=1 make", "-FOO=2 make", "-FOO=1 BAR=2 make", "-make"},
		"Bash(npm run test:*)":      {"+npm run test", "+npm run test a", "-npm run test:unit", "-npm --prefix x run test"},
		"Bash(git:* push)":          {"-git push", "-git status"},
		"shell(ls:*)":               {"+ls -l"},
		"run_shell_command(ls)":     {"+ls"},
		"Bash":                      {"+anything at all > /tmp/x", "+X=1 ls", "-$CMD", "-f() { :; }", "-echo 'unterminated", "-cat .env", "-echo x > ~/.bashrc"},
		"Bash(*)":                   {"+ls", "-$CMD x"},
		"Bash(ls:*)":                {"+ls", "-ls .ssh", "+ls src", "-ls `id`", "-ls\r\nrm x"},
		"Bash(cat:*)":               {"+cat a b", "+cat < a", "-cat .env", "-cat .e*", "-cat .[e]nv", "-cat ~/.ssh/id_rsa", "-cat $X", "-cat < /dev/tcp/x/80", "+cat /etc/hosts", "-cat {a,.env}", "-cat /proc/self/environ"},
		"Bash(rm:*)":                {"+rm -rf build", "-rm -rf /", "-rm -rf .", "-rm -rf ..", "-rm -rf ~", "-rm -rf $X", "-rm .git/config", "-rm /tmp/x"},
		"Bash(cp:*)":                {"+cp a b", "-cp .env b", "-cp a /tmp/b", "-cp a ~/.bashrc", "-cp ~/.aws/credentials b"},
	})
}

func TestPathRules(t *testing.T) {
	decisions(t, func(g *permission.Gate, p string) permission.Verdict {
		if !filepath.IsAbs(p) {
			p = "/w/" + p
		}
		return g.Decide(tool.Spec{Name: "Write"}, []tool.Access{{Op: tool.Write, Target: p}})
	}, map[string][]string{
		"Edit(src/**)":      {"+src/a", "+src/x/y/a", "+src/../src/a", "-pkg/src/a", "-srcx/a", "-/src/a", "-src/../a", "-src/.git/x"},
		"Edit(/src/**)":     {"+src/a", "-pkg/src/a", "-/src/a"},
		"Edit(./src)":       {"+src/a", "+src", "-x/src"},
		"Edit(src/)":        {"+src/a", "+x/src/a", "-srcx/a"},
		"Edit(*.md)":        {"+a.md", "+x/y/a.md", "-a.mdx", "-/tmp/a.md"},
		"Edit(**/*.md)":     {"+a.md", "+x/a.md", "-/tmp/a.md"},
		"Edit(//tmp/**)":    {"+/tmp/a", "+/tmp/x/y", "-/tmpx/a", "-/tmp/../x", "-/w/tmp/a"},
		"Edit(~/notes/*)":   {"+/home/u/notes/a", "-/home/u/a", "-/w/home/u/notes/a", "-/home/u/notes/../.bashrc"},
		"Edit(~)":           {"+/home/u/a", "-/home/v/a", "-/home/u/.profile"},
		"Edit(../x/*)":      {"+/x/a", "-/w/x/a"},
		"Edit(a[1-3].txt)":  {"+a2.txt", "-a4.txt"},
		"Edit(/**)":         {"+a", "-/a"},
		"Edit(//**)":        {"+a", "+/a", "-/etc/a"},
		"Edit(#x/*)":        {"+#x/a", "-x/a"},
		"Edit(a b/c)":       {"+a b/c", "-a/c"},
		"Edit":              {"+a", "+/tmp/a", "-.env"},
		"Write":             {"+a"},
		"write_file(src/*)": {"+src/a"},
		"replace(src/*)":    {"+src/a"},
		"Read(src/**)":      {"-src/a"},
	})
}

func TestNames(t *testing.T) {
	decisions(t, func(g *permission.Gate, name string) permission.Verdict { return g.Decide(tool.Spec{Name: name}, nil) }, map[string][]string{
		"mcp__github":        {"+mcp__github__get", "+mcp__github", "-mcp__github__", "-mcp__githubevil__get"},
		"mcp__github__*":     {"+mcp__github__get", "-mcp__github__", "-mcp__githubevil__get"},
		"mcp__github__get_*": {"+mcp__github__get_x", "+mcp__github__get_", "-mcp__github__del_x"},
		"mcp__github__get":   {"+mcp__github__get", "-mcp__github__get2"},
		"mcp__":              {"-mcp__a__b", "-mcp____b"},
		"Deploy":             {"+Deploy", "-deploy", "-Deploy2"},
		"task":               {"+Agent", "+Task", "+delegate"},
	})
	for rule, want := range map[string]permission.Effect{"Deploy(x)": permission.Deny, "Other(x)": permission.Ask} {
		g, err := permission.New(permission.Options{Roots: []string{"/w"}, Rules: permission.Rules{Deny: []string{rule}}})
		if err != nil {
			t.Fatal(err)
		}
		// What cannot be held against a restriction is restricted.
		if v := g.Decide(tool.Spec{Name: "Deploy"}, nil); v.Effect != want {
			t.Errorf("%s: %+v", rule, v)
		}
	}
}

func TestHostRules(t *testing.T) {
	decisions(t, func(g *permission.Gate, u string) permission.Verdict {
		return g.Decide(tool.Spec{Name: "WebFetch", ReadOnly: true}, []tool.Access{{Op: tool.Connect, Target: u}})
	}, map[string][]string{
		"WebFetch(domain:go.dev)":    {"+https://go.dev/x", "+go.dev", "+GO.dev.", "+go.dev:443", "-https://x.go.dev", "-https://go.dev.evil.test", "-https://go.dev@evil.test/", `-https://evil.test\@go.dev/`, "-https://evil.test/go.dev", "-ftp://go.dev"},
		"WebFetch(domain:*.go.dev)":  {"+https://x.go.dev", "+a.b.go.dev", "-go.dev", "-evilgo.dev"},
		"WebFetch(domain:BÜCHER.de)": {"+https://xn--bcher-kva.de/", "+https://bücher.de"},
		"WebFetch":                   {"+https://anything.test/", "-http://127.0.0.1/", "-http://localhost/", "-http://169.254.169.254/", "-not a url"},
	})
}

func TestRulesOfSeveralPlacesHoldTogether(t *testing.T) {
	g, err := permission.New(permission.Options{Roots: []string{"/w"}, Layers: []permission.Rules{
		{Deny: []string{"Bash(rm:*)"}, Source: permission.Source{Layer: "user", File: "/home/u/settings.json"}},
		{Allow: []string{"Bash(rm:*)", "Bash(ls)"}, Source: permission.Source{Layer: "local", File: "/w/.cantle/settings.local.json"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if v := g.ExplainCommand("rm x", ""); v.Effect != permission.Deny || v.Rule.Source.File != "/home/u/settings.json" {
		t.Errorf("%+v", v)
	}
	if v := g.ExplainCommand("ls", ""); v.Effect != permission.Allow || v.Rule.Source.Layer != "local" {
		t.Errorf("%+v", v)
	}
	_, err = permission.New(permission.Options{Layers: []permission.Rules{{Ask: []string{"Bash("}, Deny: []string{"Read()"}, Source: permission.Source{File: "a.json"}}}})
	if err == nil || !strings.Contains(err.Error(), `ask rule "Bash("`) || !strings.Contains(err.Error(), `deny rule "Read()"`) || !strings.Contains(err.Error(), "a.json") {
		t.Errorf("%v", err)
	}
}

// Folders of skills can be read and not written.
func TestReadRoots(t *testing.T) {
	g, err := permission.New(permission.Options{Mode: permission.AcceptEdits, Roots: []string{"/w"}, ReadRoots: []string{"/skills", "/w/skills"}})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][2]permission.Effect{"/skills/a": {"allow", "ask"}, "/w/skills/a": {"allow", "ask"}, "/w/a": {"allow", "allow"}, "/other": {"ask", "ask"}} {
		r := g.Decide(tool.Spec{Name: "Read", ReadOnly: true}, []tool.Access{{Op: tool.Read, Target: path}})
		w := g.Decide(tool.Spec{Name: "Write"}, []tool.Access{{Op: tool.Write, Target: path}})
		if r.Effect != want[0] || w.Effect != want[1] {
			t.Errorf("%s: %s, %s", path, r.Effect, w.Effect)
		}
	}
}

// A permission holds only if all that a path stands for is in it.
func TestPermissionsDoNotFollowLinks(t *testing.T) {
	v := newVault(t)
	out := filepath.Join(filepath.Dir(v.root), "out")
	if err := os.MkdirAll(out, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, filepath.Join(v.root, "away")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", filepath.Join(v.root, "loop")); err != nil {
		t.Fatal(err)
	}
	g, err := permission.New(permission.Options{Mode: permission.AcceptEdits, Roots: []string{v.root}, Rules: permission.Rules{Allow: []string{"Edit(/away/**)", "Bash(echo:*)", "Bash(cd:*)"}}})
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]permission.Effect{"away/x": "ask", "away/../x": "ask", "loop/x": "ask", "open/new": "allow", "dir/x": "allow", "x\x00": "ask"} {
		if v := g.Decide(tool.Spec{Name: "Write"}, []tool.Access{{Op: tool.Write, Target: v.root + "/" + p}}); v.Effect != want {
			t.Errorf("%s: %+v", p, v)
		}
	}
	for c, want := range map[string]permission.Effect{
		"echo x > away/x": "ask", "echo x > open/x": "allow", "cd away && echo x > x": "ask", "cd open && echo x > x": "allow", "cd .. && echo x > x": "ask", "cd $X && echo x > x": "ask",
	} {
		if v := g.ExplainCommand(c, v.root); v.Effect != want {
			t.Errorf("%s: %s", c, v)
		}
	}
}

func TestSuggestionsAreNarrow(t *testing.T) {
	g, err := permission.New(permission.Options{Roots: []string{"/w"}, Home: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	for c, want := range map[string]string{
		"go test ./...": "Bash(go test:*)", "npm run build --x": "Bash(npm run build:*)", "gh pr view 3": "Bash(gh pr view:*)", "git": "Bash(git)", "git -C x log": "Bash(git -C x log)",
		"python x.py": "Bash(python x.py)", "echo 'a b*'": "Bash(echo:*)", "./run.sh 'a b*'": `Bash(./run.sh a\ b\*)`, "rm -rf build": "Bash(rm -rf build)", "sudo ls": "Bash(sudo ls) Bash(ls:*)",
		"go vet && go vet x": "Bash(go vet:*)", "ls | wc -l": "Bash(ls:*) Bash(wc:*)", "$X y": "", "X=1 make": "", "cat .env": "", "echo x > /tmp/y": "Bash(echo x) Edit(//tmp/y)",
		"a && b && c && d && e && f && g": "",
	} {
		var got []string
		for _, s := range g.ExplainCommand(c, "").Suggest {
			got = append(got, s.Rule)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %q, want %q", c, s, want)
		}
	}
	for p, want := range map[string]string{"/w/src/a.go": "Edit(/src/**)", "/w/a.go": "Edit(/a.go)", "/tmp/a[1]": `Edit(//tmp/a\[1])`, "/w/.env": ""} {
		got := ""
		for _, s := range g.Decide(tool.Spec{Name: "Write"}, []tool.Access{{Op: tool.Write, Target: p}}).Suggest {
			got += s.Rule
		}
		if got != want {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
}

func TestUnusedRules(t *testing.T) {
	g, err := permission.New(permission.Options{Rules: permission.Rules{Allow: []string{"Bahs(ls)", "Bash(ls)", "mcp__a__*", "mcp__b", "task", "Deploy"}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range g.Unused([]tool.Spec{{Name: "mcp__a__x"}, {Name: "Ship", Aliases: []string{"Deploy"}}}) {
		got = append(got, r.Text)
	}
	if s := strings.Join(got, " "); s != "Bahs(ls) mcp__b" {
		t.Errorf("%q", s)
	}
}

// A question names all that no rule covers, each by itself.
func TestAllPartsThatNeedLeaveAreNamed(t *testing.T) {
	g, err := permission.New(permission.Options{Roots: []string{"/w"}, Rules: permission.Rules{Allow: []string{"Bash(ls:*)"}}})
	if err != nil {
		t.Fatal(err)
	}
	v := g.ExplainCommand("cd /etc && make; ls; a > /tmp/x; b; c", "")
	if got, want := strings.Join(v.Needs, "; "), "run cd /etc; run make; run a; write /tmp/x, outside of the workspace; run b; run c"; got != want || !strings.HasSuffix(v.Reason, "and 3 more") || len(v.Words) != 6 {
		t.Errorf("%q, %+v", got, v)
	}
}

// TestRulesAreFromTheProject: in a folder below the project's, paths in rules are
// from the project's.
func TestRulesAreFromTheProject(t *testing.T) {
	g, err := permission.New(permission.Options{
		Mode: permission.Bypass, Roots: []string{"/p/sub"}, Project: "/p",
		Rules: permission.Rules{Deny: []string{"Read(./secrets/**)", "Edit(/gen/**)", "Edit(sub/made)"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]permission.Effect{
		"cat ../secrets/k": permission.Deny, "cat secrets/k": permission.Allow, "touch ../gen/x": permission.Deny, "touch gen/x": permission.Allow, "touch made": permission.Deny,
	} {
		if v := g.Decide(tool.Spec{Name: "Bash"}, []tool.Access{{Op: tool.Exec, Target: command}}); v.Effect != want {
			t.Errorf("%s: %s, not %s: %s", command, v.Effect, want, v.Reason)
		}
	}
}
