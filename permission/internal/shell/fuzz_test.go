package shell_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/permission/internal/shell"
)

// FuzzAnalyse looks for a line that a rule for one program would allow and in
// which bash runs another. Lines run in a sandbox alone, without a network, a
// home, or any program but stubs; without one, only the analysis is tested.
func FuzzAnalyse(f *testing.F) {
	for _, seed := range slices.Concat(difficult, odd) {
		f.Add(seed)
	}
	box := newBox(f)
	defer func() { f.Logf("lines run: %d", box.lines()) }()
	// As a plain test, few of the seeds are run: TestDifficultLines runs them all.
	some, n := flag.Lookup("test.fuzz").Value.String() == "" && os.Getenv("CANTLE_SOAK") == "", 0
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
			if len(c.Assigns) > 0 || len(c.Words) > 0 && c.Name() != "aa" && !c.ReadOnly {
				return
			}
		}
		if n++; some && n%16 != 0 {
			return
		}
		// A rule for aa allows it, as it does not ask about echo and its kind: bash
		// runs aa alone.
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
	binds            []string // programs that are more than stubs
}

func (b *box) lines() int {
	if b == nil {
		return 0
	}
	return b.ran
}

func newBox(f testing.TB, programs ...string) *box {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		f.Log("no bubblewrap: nothing is run")
		return nil
	}
	w := newWorld(f)
	b := &box{bwrap: bwrap, bash: w.bash, dir: w.dir}
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			continue
		}
		// A file to bind the program to.
		if err := os.WriteFile(filepath.Join(w.dir, "bin", name), nil, 0o755); err != nil {
			f.Fatal(err)
		}
		b.binds = append(b.binds, "--ro-bind", path, "/stubs/"+name)
	}
	for _, name := range stubs {
		// The log is in the box's own folder, which is bound to it for each run.
		text := "#!" + w.bash + "\nprintf '%s\\0' \"${0##*/}\" \"$@\" $'\\001' >>/tmp/log/log.$$\n"
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
	if data := logged(filepath.Join(w.dir, "out", "log")); !strings.HasPrefix(string(data), "aa\x00ok\x00") {
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
		"--ro-bind", b.bash, b.bash, "--ro-bind", filepath.Join(b.dir, "bin"), "/stubs")
	args = append(args, b.binds...)
	args = append(args,
		"--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/tmp/work",
		"--bind", filepath.Join(b.dir, "out"), "/tmp/log", "--chdir", "/tmp/work", "--setenv", "PATH", "/stubs", "--setenv", "HOME", "/nowhere",
		b.bash, "--norc", "--noprofile", "-p", "-c", `ulimit -f 1000 -t 2 -v 1000000 -u 200; exec "$0" --norc --noprofile -p -c "$1"`, b.bash, line+"\nwait")
	cmd := exec.CommandContext(ctx, b.bwrap, args...)
	cmd.WaitDelay = time.Second
	return cmd
}

func (b *box) run(t *testing.T, line string) (calls [][]string) {
	b.ran++
	if path := os.Getenv("CANTLE_FUZZ_LOG"); path != "" { // fuzzing has no other way to count
		if f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			_, _ = f.WriteString(strconv.Quote(line) + "\n")
			_ = f.Close()
		}
	}
	log := filepath.Join(b.dir, "out", "log")
	logged(log)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_ = b.command(ctx, line).Run() // an endless loop is no fault
	for call := range strings.SplitSeq(logged(log), "\x01\x00") {
		if call != "" {
			calls = append(calls, strings.Split(strings.TrimSuffix(call, "\x00"), "\x00"))
		}
	}
	return calls
}

// TestAgainstWrappers runs programs that run another, themselves, with a stub to
// run, in a sandbox: what they ran is what the analysis found in their words.
func TestAgainstWrappers(t *testing.T) {
	t.Parallel()
	b := newBox(t, "env", "nice", "nohup", "timeout", "stdbuf", "xargs", "setsid", "ionice", "chrt", "taskset", "flock", "time", "script", "setpriv", "prlimit", "find", "sort", "sed", "split", "tar", "choom", "unshare")
	if b == nil {
		t.Skip("no sandbox to run them in")
	}
	ran := 0
	for _, line := range []string{
		"env aa x", "env -i PATH=/stubs aa x", "env -u A -- aa x", "env - PATH=/stubs aa x", "env A=1 B=2 aa x", "env -S 'aa x' y", "env --chdir=/tmp aa x", "env -C /tmp aa x", "env -v aa x", "env --ignore-signal=INT aa x", "env --unset A aa x",
		"nice aa x", "nice -n 5 aa x", "nice -n5 aa", "nice -5 aa x", "nice --adjustment 3 aa x", "nohup aa x", "nohup -- aa x", "timeout 5 aa x", "timeout -k 1 5 aa x", "timeout -s KILL 5 aa x", "timeout --signal KILL 5 aa", "timeout --foreground -v 5 aa x", "timeout --kill=1 5 aa",
		"stdbuf -oL aa x", "stdbuf -o L aa x", "stdbuf --output=L -e 0 aa x", "setsid -w aa x", "setsid --wait aa", "ionice -c 3 aa x", "ionice -c3 -t aa", "chrt -o 0 aa x", "chrt -b 0 aa", "taskset 1 aa x", "taskset -c 0 aa x",
		"flock /tmp/l aa x", "flock -n /tmp/l aa x", "flock -w 1 /tmp/l aa", "flock -xn /tmp/l aa bb", "setpriv --no-new-privs aa x", "setpriv -d", "prlimit --nofile=64 aa x", "prlimit -n=64 aa x", "choom -n 0 aa x", "choom -n 0 -- aa x",
		"xargs aa x <<<y", "xargs -t aa bb <<<y", "xargs -0 aa x <<<y", "xargs -n 1 aa x <<<'y z'", "xargs -n1 aa <<<'y z'", "xargs -I{} aa x{} <<<y", "xargs -I % aa % <<<y", "xargs -i aa {} <<<y", "xargs -iQ aa Q <<<y", "xargs --replace aa {} <<<y", "xargs --replace=Q aa Q <<<y", "xargs -L 1 aa <<<y",
		"xargs -l aa <<<y", "xargs -l1 aa <<<y", "xargs -r -P 2 aa bb <<<y", "xargs -d , aa <<<y,z", "xargs -e aa <<<y", "xargs -E q aa <<<y", "xargs --max-args 1 aa <<<y", "xargs --max-args=1 aa <<<y", "xargs --max-lines aa <<<y", "xargs --eof aa <<<y", "xargs -s 1000 aa <<<y", "xargs -x aa <<<y", "xargs -- aa <<<y", "xargs env aa <<<y", "xargs --no-run aa <<<y",
		"find /tmp -maxdepth 0 -exec aa {} \\;", "find /tmp -maxdepth 0 -exec aa x {} +", "find /tmp -maxdepth 0 -exec aa + x \\;", "find /tmp -maxdepth 0 -exec aa {} + -exec bb {} \\;", "find /tmp -maxdepth 0 -execdir aa x{} \\;", "find /tmp -maxdepth 0 -exec aa ';' -exec bb ';'", "find /tmp -maxdepth 0 \\( -name x -o -exec aa \\; \\)",
		"env nice timeout 5 xargs -n 1 aa <<<y", "sed -n '1!p;$!d' <<<x", "sed 's/a/b/;s,c,d,g' <<<x", "sed 'y/abc/xyz/' <<<x",
	} {
		line = strings.ReplaceAll(line, `\\`, `\`)
		a, err := shell.Analyse(line, shell.Options{Dir: "/tmp/work", Home: "/nowhere"})
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		calls := b.run(t, a.Text)
		ran += len(calls)
		for _, call := range calls {
			if len(a.Unknown) == 0 && !slices.ContainsFunc(a.Commands, func(c shell.Command) bool { return !c.Doubt && fits(c.Words, call) }) {
				t.Errorf("%q ran %q:\n%s", line, call, describe(a))
			}
		}
		if len(a.Unknown) > 0 {
			t.Errorf("%q is not understood:\n%s", line, describe(a))
		}
	}
	if ran < 50 {
		t.Errorf("only %d commands ran", ran)
	}
}
