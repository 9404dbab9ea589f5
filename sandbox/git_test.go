//go:build unix

package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cantle-dev/cantle/sandbox"
)

// TestGitIsNotLed: a folder that says that its repository is another's is given
// nothing of it.
func TestGitIsNotLed(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-ec", `git init -q victim; git -C victim commit -q --allow-empty -m x; git -C victim worktree add -q ../tree
mkdir plain link faked commondir stray loop deep deep/a deep/a/b secret; echo key >secret/id
ln -s ../victim/.git link/.git
echo "gitdir: $PWD/victim/.git" >faked/.git
echo "gitdir: $PWD/victim/.git/worktrees/tree" >commondir/.git
echo "gitdir: $PWD/secret" >stray/.git
echo "gitdir: .git" >loop/.git
mkdir deep/.git # no repository
mkdir own own/data own/data/objects own/data/refs; echo ref >own/data/HEAD; echo "$PWD/victim/.git" >own/data/commondir; echo "$PWD/own/.git" >own/data/gitdir; echo "gitdir: data" >own/.git
mkdir -p module/objects module/refs sub; echo ref >module/HEAD; printf '[core]\n\tworktree = ../victim\n' >module/config; echo "gitdir: ../module" >sub/.git`)
	cmd.Dir = base
	cmd.Env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for _, name := range []string{"plain", "faked", "commondir", "stray", "loop", "deep", "deep/a/b", "own", "sub", "no such"} {
		write, _ := sandbox.Git(filepath.Join(base, name))
		if len(write) > 0 {
			t.Errorf("%s: may write %v", name, write)
		}
	}
	// A link is in the folder that commands may write; what it leads to is not.
	if write, _ := sandbox.Git(base + "/link"); len(write) > 0 {
		t.Errorf("a link: may write %v", write)
	}
	write, readOnly := sandbox.Git(base + "/tree")
	if data := base + "/victim/.git/worktrees/tree"; !slices.Contains(write, data) || !slices.Contains(readOnly, base+"/tree/.git") || !slices.Contains(readOnly, data+"/commondir") {
		t.Errorf("a worktree: %v, not %v", write, readOnly)
	}
	for _, w := range write {
		if w == base+"/victim/.git" || strings.HasSuffix(w, "hooks") {
			t.Errorf("a worktree may write %s", w)
		}
	}
	_, readOnly = sandbox.Git(base + "/victim")
	for _, want := range []string{"hooks", "config", "worktrees/tree/gitdir"} {
		if !slices.Contains(readOnly, base+"/victim/.git/"+want) {
			t.Errorf("%s is not protected: %v", want, readOnly)
		}
	}
	if _, err := os.Stat(base + "/victim/.git/hooks"); err != nil {
		t.Error(err)
	}
}

// TestGitIncludes: files that the configuration includes are part of it.
func TestGitIncludes(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		".git/HEAD": "", ".git/objects/x": "", ".git/refs/x": "",
		".git/config":  "[core]\n\tbare = false\n[include]\n\tpath = ../tools/config\n[IncludeIf \"onbranch:main\"]\n\tpath = \"more\" ; too\n",
		"tools/config": "[include] path = inner # of mine\n[include]\n\tpath = ../.git/config\n\tpath = ~/x\n", "tools/inner": "", ".git/more": "",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, readOnly := sandbox.Git(dir)
	for _, want := range []string{"tools/config", "tools/inner", ".git/more"} {
		if !slices.Contains(readOnly, filepath.Join(real, want)) {
			t.Errorf("%s is not protected: %v", want, readOnly)
		}
	}
}

// TestGitWaitsForNobody: pipes and endless files where git has its own.
func TestGitWaitsForNobody(t *testing.T) {
	for _, to := range []string{"", "/dev/zero"} {
		for _, name := range []string{"config", "commondir"} {
			dir := t.TempDir()
			for _, d := range []string{"objects", "refs"} {
				if err := os.MkdirAll(filepath.Join(dir, ".git", d), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(dir+"/.git/HEAD", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			at := filepath.Join(dir, ".git", name)
			err := os.Symlink(to, at)
			if to == "" {
				err = syscall.Mkfifo(at, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, readOnly := sandbox.Git(dir); !slices.ContainsFunc(readOnly, func(p string) bool { return strings.HasSuffix(p, ".git/config") }) {
				t.Errorf("%s: %v", name, readOnly)
			}
		}
	}
	dir := t.TempDir()
	if err := syscall.Mkfifo(dir+"/.git", 0o600); err != nil {
		t.Fatal(err)
	}
	if write, _ := sandbox.Git(dir); len(write) > 0 {
		t.Error(write)
	}
}
