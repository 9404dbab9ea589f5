package gitconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/permission/internal/gitconfig"
)

// repository makes what git takes for one, with a configuration.
func repository(t testing.TB, dir, config string) {
	t.Helper()
	for _, d := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "HEAD"), "ref: refs/heads/main\n")
	write(t, filepath.Join(dir, "config"), config)
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func shown(found []gitconfig.Setting) string {
	var out []string
	for _, s := range found {
		out = append(out, string(s.When)+" "+s.Name+"="+s.Value)
	}
	return strings.Join(out, "; ")
}

func TestRuns(t *testing.T) {
	for _, c := range []struct{ config, want string }{
		{"", ""},
		{"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n", ""},
		{"[core]\nfsmonitor = ./x", "reading core.fsmonitor=./x"},
		{"[CORE] FSMonitor=./x # why\n", "reading core.fsmonitor=./x"},
		{"[core]fsmonitor=\"./a b\"\n", "reading core.fsmonitor=./a b"},
		{"[core]\nfsmonitor = tr\\\nue-but-not\n", "reading core.fsmonitor=true-but-not"},
		{"[core]\nfsmonitor = true\nfsmonitor\n", ""},
		{"[core]\nfsmonitor = false\n fsmonitor = touch /tmp/p\n", "reading core.fsmonitor=touch /tmp/p"},
		{"[core]\r\nfsmonitor = ./x\r\n", "reading core.fsmonitor=./x"},
		{"\uFEFF[core]\nfsmonitor = ./x", "reading core.fsmonitor=./x"},
		{"[filter \"lfs\"]\nclean = git-lfs clean -- %f\nsmudge = git-lfs smudge -- %f\nprocess = git-lfs filter-process\nrequired = true\n", ""},
		{"[filter \"lfs\"]\nclean = git-lfs clean -- %f; ./x\n", ""}, // the end is a comment
		{"[filter \"lfs\"]\nclean = \"git-lfs clean -- %f; ./x\"\n", "reading filter.lfs.clean=git-lfs clean -- %f; ./x"},
		{"[filter \"a.b\"]\nclean = ./x", "reading filter.a.b.clean=./x"},
		{"[filter.a]\nclean = ./x", "reading filter.a.clean=./x"},
		{"[diff]\nexternal = ./x\n[diff \"y\"]\ntextconv = ./y\ncommand = ./z", "reading diff.external=./x; reading diff.y.textconv=./y; reading diff.y.command=./z"},
		{"[diff]\nalgorithm = histogram", ""},
		{"[log]\nshowSignature = true\n[gpg]\nprogram = ./x\n[gpg \"ssh\"]\nprogram = ./y", "reading gpg.program=./x; reading gpg.ssh.program=./y"},
		{"[include]\npath = ../.gitconfig", "reading include.path=../.gitconfig"},
		{"[includeIf \"gitdir:~/\"]\npath = x", "reading includeif.gitdir:~/.path=x"},
		{"[core]\nsshCommand = ssh -i k\n[credential]\nhelper = !x", "remote core.sshcommand=ssh -i k; remote credential.helper=!x"},
		{"[remote \"o\"]\nurl = ext::sh -c x\n[protocol \"ext\"]\nallow = always", "remote remote.o.url=ext::sh -c x; remote protocol.ext.allow=always"},
		{"[alias]\nst = status\nx = !./x", "alias alias.x=!./x"},
		{"[core]\nhooksPath = .husky/_\neditor = vi\npager = less", ""}, // no terminal; hooks are those of changes
		{"[core]\nworktree = /", "reading core.worktree=/"},
		{"[core]\nworktree = ..", ""},
		{"[core\nfsmonitor = ./x", "reading (unreadable)=a section that is not closed"},
		{"[core]\nfsmonitor = \"./x", "reading (unreadable)=a value that is not closed"},
		{"[core]\n= ./x", "reading (unreadable)=a line that is no setting"},
		{"fsmonitor = x", "reading (unreadable)=a line that is no setting"},
	} {
		dir := t.TempDir()
		repository(t, filepath.Join(dir, ".git"), c.config)
		if got := shown(gitconfig.Runs(dir)); got != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.config, got, c.want)
		}
	}
}

// TestWhere is about the repositories that git finds from a directory.
func TestWhere(t *testing.T) {
	const evil = "[core]\nfsmonitor = ./x"
	dir := t.TempDir()
	repository(t, filepath.Join(dir, ".git"), "")
	repository(t, filepath.Join(dir, "vendor", "x.git"), evil)
	repository(t, filepath.Join(dir, "elsewhere"), evil)
	write(t, filepath.Join(dir, "sub", ".git"), "gitdir: ../elsewhere\n")
	write(t, filepath.Join(dir, "tree", ".git"), "gitdir: ../.git/worktrees/tree\n")
	write(t, filepath.Join(dir, ".git", "worktrees", "tree", "HEAD"), "x")
	write(t, filepath.Join(dir, ".git", "worktrees", "tree", "commondir"), "../..\n")
	write(t, filepath.Join(dir, "plain", "a", "b"), "")
	write(t, filepath.Join(dir, "empty", ".git", "config"), evil) // no repository: git goes on
	if err := os.Symlink("elsewhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string]bool{
		"": false, "plain/a": false, "vendor": false, "empty": false, "tree": false, "nowhere/x": false,
		"vendor/x.git": true, "vendor/x.git/objects": true, "sub": true, "elsewhere": true, "link": true, "link/refs": true,
	} {
		if got := len(gitconfig.Runs(filepath.Join(dir, where))) > 0; got != want {
			t.Errorf("from %q: %v", where, got)
		}
	}
	repository(t, filepath.Join(dir, ".git", "modules", "a", "b"), "[core]\nworktree = ../../../../a/b\n")
	if found := gitconfig.Runs(dir); len(found) != 0 {
		t.Errorf("a submodule: %v", found)
	}
	repository(t, filepath.Join(dir, ".git", "modules", "a", "b", "modules", "c"), evil)
	if len(gitconfig.Runs(dir)) == 0 {
		t.Error("the settings of a submodule were not found")
	}
	if err := os.RemoveAll(filepath.Join(dir, ".git", "modules")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".git", "config.worktree"), evil)
	for _, where := range []string{"plain", "tree"} {
		if len(gitconfig.Runs(filepath.Join(dir, where))) == 0 {
			t.Errorf("from %q: the settings of a working tree were not found", where)
		}
	}
}

func BenchmarkRuns(b *testing.B) {
	dir := b.TempDir()
	repository(b, filepath.Join(dir, ".git"), "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n")
	write(b, filepath.Join(dir, "a", "b", "c", "d"), "")
	for b.Loop() {
		gitconfig.Runs(filepath.Join(dir, "a", "b", "c"))
	}
}
