package shell_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/permission/internal/shell"
)

// FuzzAnalyse looks for a line that a rule for one program would allow and in
// which bash runs another. Lines run in a sandbox alone, without a network, a
// home, or any program but stubs; without one, only the analysis is tested.
func FuzzAnalyse(f *testing.F) {
	for _, seed := range []string{
		"aa x", "aa $(bb)", "aa <<E\n$(bb)\nE", "aa 'x' \"$(aa)\" | aa", "aa # \\\nbb", "aa {a,b}~ $'\\x41'", "aa `bb`", "for i in x; do aa; done", "aa ${x:-$(aa)}", "[[ a ]] && aa", "aa >o 2>&1 <<<x", "aa <(aa)", "case x in x) aa;; esac", "aa $((1+1))", "{ aa; }", "(aa)", "! aa", "time aa", "aa\\\nx", "aa & aa",
	} {
		f.Add(seed)
	}
	box := newBox(f)
	defer func() { f.Logf("lines run: %d", box.lines()) }()
	f.Fuzz(func(t *testing.T, line string) {
		start := time.Now()
		a, err := shell.Analyse(line, shell.Options{Dir: "/tmp", Home: "/nowhere"})
		if d := time.Since(start); d > 3*time.Second {
			t.Fatalf("%v for %d bytes", d, len(line))
		}
		for _, r := range a.Unknown {
			if r.Start < 0 || r.End < r.Start || r.End > len(a.Text) {
				t.Fatalf("a reason outside of the text: %+v", r)
			}
		}
		for _, c := range a.Commands {
			if c.Start < 0 || c.End < c.Start || c.End > len(a.Text) {
				t.Fatalf("a command outside of the text: %+v", c)
			}
		}
		if err != nil || len(a.Unknown) > 0 || len(line) > 4000 || box == nil {
			return
		}
		for _, c := range a.Commands {
			if len(c.Assigns) > 0 || len(c.Words) > 0 && c.Name() != "aa" {
				return
			}
		}
		// A rule for aa allows it: bash runs aa alone.
		for _, call := range box.run(t, a.Text) {
			if call[0] != "aa" || !slices.ContainsFunc(a.Commands, func(c shell.Command) bool { return !c.Doubt && fits(c.Words, call) }) {
				t.Fatalf("bash ran %q for %q\n%s", call, a.Text, describe(a))
			}
		}
	})
}

// A box runs lines in bubblewrap.
type box struct {
	bwrap, bash, dir string
	ran              int
}

func (b *box) lines() int {
	if b == nil {
		return 0
	}
	return b.ran
}

func newBox(f *testing.F) *box {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		f.Log("no bubblewrap: nothing is run")
		return nil
	}
	w := newWorld(f)
	b := &box{bwrap: bwrap, bash: w.bash, dir: w.dir}
	for _, name := range stubs {
		// The log is in the box's own folder, which is bound to it for each run.
		text := "#!" + w.bash + "\nprintf '%s\\0' \"${0##*/}\" \"$@\" $'\\001' >>/tmp/log/log\n"
		if err := os.WriteFile(filepath.Join(w.dir, "bin", name), []byte(text), 0o755); err != nil {
			f.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(w.dir, "out"), 0o755); err != nil {
		f.Fatal(err)
	}
	if out, err := b.command(f.Context(), "aa ok").CombinedOutput(); err != nil {
		f.Logf("bubblewrap does not work here, nothing is run: %v: %s", err, out)
		return nil
	}
	if data, _ := os.ReadFile(filepath.Join(w.dir, "out", "log")); !strings.HasPrefix(string(data), "aa\x00ok\x00") {
		f.Fatalf("the box is not set up: %q", data)
	}
	return b
}

func (b *box) command(ctx context.Context, line string) *exec.Cmd {
	args := []string{"--unshare-all", "--die-with-parent", "--new-session", "--clearenv"}
	for _, dir := range []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64"} {
		if _, err := os.Stat(dir); err == nil {
			args = append(args, "--ro-bind", dir, dir)
		}
	}
	args = append(args,
		"--ro-bind", b.bash, b.bash, "--ro-bind", filepath.Join(b.dir, "bin"), "/stubs", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/tmp/work",
		"--bind", filepath.Join(b.dir, "out"), "/tmp/log", "--chdir", "/tmp/work", "--setenv", "PATH", "/stubs",
		b.bash, "--norc", "--noprofile", "-p", "-c", `ulimit -f 1000 -t 2 -v 1000000 -u 200; exec "$0" --norc --noprofile -p -c "$1"`, b.bash, line+"\nwait")
	cmd := exec.CommandContext(ctx, b.bwrap, args...)
	cmd.WaitDelay = time.Second
	return cmd
}

func (b *box) run(t *testing.T, line string) (calls [][]string) {
	b.ran++
	log := filepath.Join(b.dir, "out", "log")
	_ = os.Remove(log)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_ = b.command(ctx, line).Run() // an endless loop is no fault
	data, _ := os.ReadFile(log)
	for call := range strings.SplitSeq(string(data), "\x01\x00") {
		if call != "" {
			calls = append(calls, strings.Split(strings.TrimSuffix(call, "\x00"), "\x00"))
		}
	}
	return calls
}
