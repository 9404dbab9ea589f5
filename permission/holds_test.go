package permission_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cantle-dev/cantle/permission"
)

// A command that takes a folder with all that is in it takes what a rule denies by
// its name alone too, but for programs that pass over it.
func TestFoldersThatHoldWhatIsDenied(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".env": "x", "deep/er/server.pem": "x", "src/a.go": "x", "plain.txt": "x", "deep/x": "x", "build/out.key": "x", ".gitignore": ".env\n/build/\n", "deep/.gitignore": "!er\n*.pem\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const may, no = permission.Ask, permission.Allow
	for _, c := range []struct {
		rule, command string
		want          permission.Effect
	}{
		{"Read(.env)", "grep -r x .", may},
		{"Read(.env)", "grep -rn x", may},
		{"Read(.env)", "grep -r x src", no},
		{"Read(.env)", "cp -r . /tmp/x", may},
		{"Read(.env)", "tar c .", may},
		{"Read(.env)", "tar c src deep", no},
		{"Read(.env)", "rg x", no},
		{"Read(.env)", "rg -n x src", no},
		{"Read(.env)", "rg --hidden x", may},
		{"Read(.env)", "rg -uu x", may},
		{"Read(.env)", "rg -nu x", may},
		{"Read(.env)", "git add -A", no},
		{"Read(.env)", "git add .", no},
		{"Read(.env)", "git add -f .", may},
		{"Read(.env)", "git commit -am x", no},
		{"Read(.env)", "ls -la", no},
		{"Read(.env)", "find . -name '*.go'", no},
		{"Read(.env)", "go test ./...", no},
		{"Read(./.env)", "grep -r x .", may},
		{"Read(./.env)", "rg x", no},
		{"Read(./.env)", "git add -A", no},
		{"Read(*.pem)", "grep -r x deep", may},
		{"Read(*.pem)", "grep -r x src", no},
		{"Read(*.pem)", "rg x", no},
		{"Read(*.pem)", "git add deep", no},
		{"Read(**/*.pem)", "cp -r deep /tmp/x", may},
		{"Read(*.key)", "git add -A", no},
		{"Read(*.key)", "rg --no-ignore x", may},
		{"Read(plain.txt)", "git add -A", may},
		{"Read(plain.txt)", "rg x", may},
		{"Read(plain.txt)", "git add src", no},
		{"Edit(plain.txt)", "grep -r x .", no},
		{"Edit(plain.txt)", "rm -r .", may},
	} {
		g, err := permission.New(permission.Options{
			Mode: permission.Bypass, Yes: true, Roots: []string{root}, Home: "/home/u", Rules: permission.Rules{Allow: []string{"Bash"}, Deny: []string{c.rule}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if v := g.ExplainCommand(c.command, root); v.Effect != c.want {
			t.Errorf("deny %s: %s: %s, not %s: %s", c.rule, c.command, v.Effect, c.want, v.Reason)
		}
	}
}
