package sandboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/sandbox"
)

// gitEnv keeps git from this machine's settings.
var gitEnv = []string{
	"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
	"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	"GIT_TERMINAL_PROMPT=0",
}

// Git shows that git works under a policy of [sandbox.Git] in a repository, in a
// directory of one, in a worktree and in a submodule, and that nothing that git
// runs on this machine can be changed.
func Git(t *testing.T, open func(t *testing.T) sandbox.Runner) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	run := open(t)
	t.Cleanup(func() { run.Close() })
	if run.Info().Image {
		t.Skip("there is no git in the image")
	}
	base := t.TempDir()
	host := func(dir, script string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-ec", script)
		cmd.Dir, cmd.Env = dir, append([]string{"BASE=" + base}, gitEnv...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
	}
	host(base, `git init -q -b main lib && cd lib && echo lib >file && git add . && git commit -qm lib
cd .. && git init -q -b main --template= repo && cd repo && mkdir -p sub/dir hooks && echo one >file && echo one >sub/dir/file && git add . && git commit -qm one
git config core.hooksPath hooks
git -c protocol.file.allow=always submodule --quiet add ../lib mod && git commit -qm mod
git worktree add -q ../tree -b side`)
	for _, c := range []struct{ name, ws string }{
		{"repository", "repo"}, {"directory of one", "repo/sub/dir"}, {"worktree", "tree"}, {"submodule", "repo/mod"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ws := filepath.Join(base, c.ws)
			policy := sandbox.Policy{WriteRoots: []string{ws}, NoNetwork: true}
			write, readOnly := sandbox.Git(ws)
			policy.WriteRoots = append(policy.WriteRoots, write...)
			if run.Info().ReadOnly {
				policy.ReadOnly = readOnly
			}
			do := func(script string) (string, int) {
				t.Helper()
				var out Buffer
				p, err := run.Start(t.Context(), &sandbox.Command{Args: []string{"/bin/sh", "-c", script}, Dir: ws, Env: append([]string{"BASE=" + base, "NAME=" + strings.ReplaceAll(c.name, " ", "-")}, gitEnv...), Stdout: &out, Policy: policy})
				if err != nil {
					t.Fatal(err)
				}
				<-p.Done()
				exit, err := p.Wait()
				if err != nil {
					t.Error(err)
				}
				return strings.TrimSpace(out.String()), exit.Code
			}
			for _, script := range []string{
				"git status --short", "git log HEAD --oneline", "echo two >>file && git diff --exit-code; git add file && git commit -qm two && git log -1 --format=%s | grep -x two",
				"git checkout -q -b $NAME && echo three >file && git commit -qam three && git stash list && git reset -q --hard HEAD~1 && git rev-parse HEAD && git show --stat HEAD && git branch --list",
				"git fsck --no-progress", "git tag v-$NAME && git worktree list", "git init -q nested && rm -rf nested",
			} {
				if out, code := do(script); code != 0 {
					t.Errorf("%s: exit code %d: %s", script, code, out)
				}
			}
			if !run.Info().ReadOnly {
				return
			}
			// On this machine nothing is there that was not.
			before := tree(t, base)
			do(`d=$(git rev-parse --git-dir); c=$(git rev-parse --git-common-dir); top=$(git rev-parse --show-toplevel)
for f in "$d" "$c" "$BASE/repo/.git" "$BASE/repo/.git/modules/mod" "$BASE/repo/.git/worktrees/tree" "$BASE/lib/.git"; do
 echo '[core] fsmonitor=/bin/false' >>"$f/config"; echo x >"$f/hooks/pre-commit"; echo x >"$f/config.new" && mv -f "$f/config.new" "$f/config"
 mv "$f/hooks" "$f/hooks2"; rm -rf "$f/hooks"; rm -f "$f/config"; echo /nonexistent >"$f/gitdir"; [ -e "$f/commondir" ] && echo /nonexistent >"$f/commondir"
 rm -f "$f/config.new" "$f/gitdir.new"
done
echo 'gitdir: /nonexistent' >"$BASE/repo/mod/.git"; rm -f "$BASE/repo/mod/.git"; mv "$BASE/repo/mod" "$BASE/repo/mod2"
[ -f .git ] && { echo 'gitdir: /nonexistent' >.git; mv .git .git2; rm -f .git; }
echo x >"$BASE/repo/hooks/pre-commit"; mkdir -p "$top/hooks"; echo x >"$top/hooks/pre-commit"; git config core.fsmonitor /bin/false; git -C "$BASE/repo" config core.fsmonitor /bin/false`)
			for path, was := range before {
				name := filepath.Base(path)
				dir := filepath.Base(filepath.Dir(path))
				if name != "config" && name != "commondir" && name != ".git" && dir != "hooks" && dir != "lib" {
					continue
				}
				if b, err := os.ReadFile(path); err != nil || string(b) != was {
					t.Errorf("%s: %q %v, was %q", path, b, err, was)
				}
			}
			for path := range tree(t, base) {
				if _, ok := before[path]; !ok && filepath.Base(filepath.Dir(path)) == "hooks" && !strings.Contains(path, "/mod/hooks/") { // no hooks of it
					t.Errorf("a new hook: %s", path)
				}
			}
		})
	}
	host(base, "git -C repo status --short; git -C repo fsck --no-progress; git -C tree log --oneline -1 worktree")
}

// tree are the files below a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			out[path] = string(b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
