package main_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm/llmtest"
)

// boxed is a world whose commands run in a sandbox without asking, with a model
// that has one command run.
type boxed struct {
	*world
	t    *testing.T
	mode string
	temp string // where temporary files are made
	out  string // which commands must not write
	hits chan struct{}
	port int
}

func newBoxed(t *testing.T, mode string, env ...string) *boxed {
	t.Helper()
	b := &boxed{world: newWorld(t), t: t, mode: mode, temp: t.TempDir(), out: t.TempDir(), hits: make(chan struct{}, 99)}
	b.env = append(append(b.env, "TMPDIR="+b.temp), env...)
	if out, errs, code := b.exec("sandbox", "probe", "--set", "sandbox.mode="+mode, "--set", "sandbox.image="+dockerImage); code != 0 {
		t.Skipf("there is no %s here: %s%s", mode, out, errs)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	b.port = l.Addr().(*net.TCPAddr).Port // what is listened at by tcp is nothing else
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.hits <- struct{}{}
			c.Close()
		}
	}()
	for name, text := range map[string]string{".ssh/id_ed25519": theSecret, ".cantle/settings.json": "{}", ".bashrc": "# the user's\n"} {
		f := filepath.Join(b.home, name)
		if err := os.MkdirAll(filepath.Dir(f), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.world.write(".git/HEAD", "ref: refs/heads/main\n")
	b.world.write(".git/config", "[core]\n")
	for _, name := range []string{".git/hooks/x", ".git/objects/x", ".git/refs/x"} {
		b.world.write(name, "")
	}
	return b
}

// commands has the program run commands, each in a call of its own, and gives
// what the model was told of each.
func (b *boxed) commands(commands ...string) []string {
	b.t.Helper()
	s := b.serve(llmtest.WireChat, func(e *llmtest.Exchange) llmtest.Reply {
		if n := len(e.Request.Messages) / 2; n < len(commands) {
			return llmtest.Call("Bash", map[string]any{"command": commands[n]})
		}
		return llmtest.Say("done")
	})
	if out, errs, code := b.run(append(b.flags(), "go")...); code != 0 {
		b.t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	var got []string
	for _, e := range s.Requests()[1:] {
		text, _ := e.LastResult()
		got = append(got, text)
	}
	return got
}

func (b *boxed) flags() []string {
	return []string{"--set", "sandbox.mode=" + b.mode, "--set", "sandbox.image=" + dockerImage, "--set", "sandbox.autoAllow=true"}
}

// attacks say "GOT" and what, if they come through.
const attacks = `got() { echo "GOT $*"; }
echo x >$OUT/planted && got a file outside
(setsid sh -c 'echo x >$OUT/planted') && got a file outside, by a child that left
ln -s $OUT link; echo x >link/planted && got a file through a link
echo x >/proc/self/root$OUT/planted && got a file through /proc
grep . $H/.ssh/id_ed25519 && got a key
grep . /proc/self/root$H/.ssh/id_ed25519 && got a key through /proc
ln -s $H/.ssh keys; grep . keys/id_ed25519 && got a key through a link
grep . $H/.cantle/settings.json && got settings
mkdir -p $H/.cantle/projects/x && echo x >$H/.cantle/settings.json
echo x >>$H/.bashrc
grep -al canary /proc/[0-9]*/environ && got the environment of others
for p in /proc/[0-9]*; do grep . $p/root$H/.ssh/id_ed25519 && got a key through another; done
mkdir m && mount --bind $OUT m && got a mount
(echo x >/dev/tcp/127.0.0.1/$PORT) && got the network
nc 127.0.0.1 $PORT </dev/null && got the network, by a program
kill -9 $HOST && got a process of the host
echo x >$TMPDIR/x && echo x >$XDG_CACHE_HOME/x && echo x >here && echo end
`

// protected are attacks on files in the workspace.
const protected = `echo x >>.git/config && got configuration
echo x >.git/hooks/pre-commit && got a hook
mv .git elsewhere && got all of git
`

// escapes tries to get out of the sandbox of a mode, with the program as a user
// has it.
func escapes(t *testing.T, b *boxed) {
	host := exec.Command("/bin/sleep", "300")
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- host.Wait() }()
	script := attacks
	if b.mode != "landlock" { // which says that it holds none of these
		script += protected
	}
	b.world.write("script", fmt.Sprintf("OUT=%s H=%s PORT=%d HOST=%d; export OUT H PORT\n", b.out, b.home, b.port, host.Process.Pid)+script)
	b.world.write("git", "echo /nonexistent >.git/commondir; sleep 1")
	got := b.commands("sh script", "sh git", "echo $TMPDIR; cat $TMPDIR/x")
	if !strings.Contains(got[0], "end") || strings.Contains(got[0], "GOT") || !strings.Contains(got[2], "x") {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(filepath.Join(b.dir, ".git/commondir")); err == nil && b.mode != "landlock" {
		t.Errorf("git is led to another configuration: %q", got)
	}
	if list, err := os.ReadDir(b.out); err != nil || len(list) > 0 {
		t.Errorf("it wrote outside: %v %v", list, err)
	}
	for name, want := range map[string]string{".cantle/settings.json": "{}", ".bashrc": "# the user's\n"} {
		if text, err := os.ReadFile(filepath.Join(b.home, name)); err != nil || string(text) != want {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
	if list, err := filepath.Glob(b.home + "/.cantle/projects/x"); err != nil || len(list) > 0 {
		t.Errorf("trust was forged: %v %v", list, err)
	}
	if len(b.hits) > 0 {
		t.Error("it reached the network")
	}
	select {
	case err := <-exited:
		t.Errorf("it ended a process of the host: %v", err)
	default:
		_ = host.Process.Kill()
		<-exited
	}
	if list, err := filepath.Glob(b.temp + "/*"); err != nil || len(list) > 0 {
		t.Errorf("%v are left, %v", list, err)
	}
}

// running are the processes that have a word among their arguments.
func running(word string) []string {
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil
	}
	var out []string
	for _, f := range list {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte("\x00"+word+"\x00")) {
			out = append(out, filepath.Base(filepath.Dir(f)))
		}
	}
	return out
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// ended ends the program while commands of it run, in different ways: nothing of
// them is left, and no folder after the next run.
func ended(t *testing.T, b *boxed) {
	for i, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGKILL} {
		word := fmt.Sprintf("%d.%d", 4000+i, os.Getpid())
		b.serve(llmtest.WireChat, func(e *llmtest.Exchange) llmtest.Reply {
			return llmtest.Call("Bash", map[string]any{"command": fmt.Sprintf("trap '' INT TERM HUP; sleep %[1]s & setsid sleep %[1]s & (setsid sh -c 'trap \"\" TERM; sleep %[1]s; sleep %[1]s' &) ; sleep %[1]s", word)})
		}).Tolerate()
		cmd := b.command(append(b.flags(), "go")...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, "the commands run", func() bool { return len(running(word)) >= 4 })
		if err := cmd.Process.Signal(sig); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
		until(t, fmt.Sprintf("after %v, nothing of the commands is left", sig), func() bool { return len(running(word)) == 0 })
		left, err := filepath.Glob(b.temp + "/cantle-commands-*")
		if err != nil || sig == syscall.SIGINT && len(left) > 0 {
			t.Errorf("after %v: %v, %v", sig, left, err)
		}
	}
	b.commands("true")
	if list, err := filepath.Glob(b.temp + "/*"); err != nil || len(list) > 0 {
		t.Errorf("%v are left, %v", list, err)
	}
}

// TestSandbox is the program with each sandbox that needs no service.
func TestSandbox(t *testing.T) {
	for _, mode := range []string{"bubblewrap", "landlock"} {
		t.Run(mode, func(t *testing.T) {
			t.Run("escapes", func(t *testing.T) { escapes(t, newBoxed(t, mode)) })
			t.Run("ended", func(t *testing.T) { ended(t, newBoxed(t, mode)) })
		})
	}
}
