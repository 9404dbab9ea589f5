package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/sandboxtest"
)

func init() {
	programs["undumpable"] = func() {
		const prSetDumpable = 4
		if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0); errno != 0 {
			fmt.Println(errno)
		}
		sayHello()
	}
	programs["deleted"] = func() {
		if err := os.Remove(os.Args[0]); err != nil {
			fmt.Println(err)
		}
		sayHello()
	}
	programs["replaced"] = func() {
		if err := os.Remove(os.Args[0]); err != nil {
			fmt.Println(err)
		}
		if err := os.WriteFile(os.Args[0], []byte("#!/bin/sh\necho another program\n"), 0o755); err != nil {
			fmt.Println(err)
		}
		sayHello()
	}
	programs["bare"] = sayHello
	programs["few-files"] = fewFiles
}

// sayHello runs a command, says what it printed and what the runner promises,
// and leaves a process that has to be ended.
func sayHello() {
	run := sandbox.Local(sandbox.LocalOptions{})
	var out sandboxtest.Buffer
	c := command("/", "echo hello; sleep 300 & echo $!")
	c.Stdout = &out
	p, err := run.Start(context.Background(), c)
	if err != nil {
		fmt.Println(err)
		return
	}
	exit, err := p.Wait()
	left := len(p.PIDs())
	fmt.Print(out.String())
	fmt.Println(exit, err, left, run.Info().Sweeps, run.Close(), len(p.PIDs()))
}

// again copies the test binary to where everybody may run it, and gives a
// command that starts it as one of programs.
func again(t *testing.T, program string, before ...string) *exec.Cmd {
	t.Helper()
	dir, err := os.MkdirTemp("", "cantle-sandbox-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	defer from.Close()
	name := filepath.Join(dir, "program")
	to, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	args := append(before, name, program)
	return exec.Command(args[0], args[1:]...)
}

// A session goes on when the program's file is replaced or deleted by an
// update, and when the program keeps others from looking into it.
func TestOddPrograms(t *testing.T) {
	if !sandbox.Local(sandbox.LocalOptions{}).Info().Supervise {
		t.Skip("no supervisor on this system")
	}
	for _, name := range []string{"undumpable", "deleted", "replaced"} {
		t.Run(name, func(t *testing.T) {
			cmd := again(t, name)
			if name == "undumpable" && os.Getuid() == 0 { // root may do what others may not
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			}
			out, err := cmd.CombinedOutput()
			lines := strings.Split(string(out), "\n")
			if err != nil || len(lines) != 4 || lines[0] != "hello" || lines[2] != "exit code 0 <nil> 1 true <nil> 0" {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// Without /proc nobody's children can be found: then there are groups alone,
// and Info says so.
func TestNoProc(t *testing.T) {
	unshare, err := exec.LookPath("unshare")
	if err != nil || os.Getuid() != 0 {
		t.Skip("taking /proc away needs root and unshare")
	}
	cmd := again(t, "bare", unshare, "--mount", "/bin/sh", "-c", `umount -l /proc && exec "$0" "$@"`)
	out, err := cmd.Output()
	lines := strings.Split(string(out), "\n")
	var failed *exec.ExitError
	if errors.As(err, &failed) && len(out) == 0 {
		t.Skipf("no mount namespaces here: %s", failed.Stderr)
	}
	if err != nil || len(lines) != 4 || lines[0] != "hello" || lines[2] != "exit code 0 <nil> 1 false <nil> 0" {
		t.Fatalf("%v: %s", err, out)
	}
	pid, err := strconv.Atoi(lines[1])
	if err != nil || sandboxtest.Alive(pid) {
		t.Errorf("process %q survived, %v", lines[1], err)
	}
}

// fewFiles runs more commands at once than there are files to open. Some are
// refused, with a clear error; afterwards all is as before.
func fewFiles() {
	limit := syscall.Rlimit{Cur: 64, Max: 64}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		fmt.Println(err)
		return
	}
	run := sandbox.Local(sandbox.LocalOptions{})
	defer run.Close()
	for round := range 3 {
		var mu sync.Mutex
		var wg sync.WaitGroup
		ran, refused := 0, 0
		for range 60 {
			wg.Go(func() {
				p, err := run.Start(context.Background(), command("/", "sleep 0.3"))
				if err == nil {
					_, err = p.Wait()
					<-p.Done()
				}
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					ran++
				case strings.Contains(err.Error(), "open files"):
					refused++
				default:
					fmt.Println(err)
				}
			})
		}
		wg.Wait()
		if ran == 0 || refused == 0 || ran+refused != 60 {
			fmt.Println("round", round, "ran", ran, "refused", refused)
		}
	}
	fmt.Println("ok")
}

func TestFewFiles(t *testing.T) {
	out, err := again(t, "few-files").CombinedOutput()
	if err != nil || string(out) != "ok\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// A command may stop its supervisor; that must not save it, nor hold up who
// asks what is left.
func TestSupervisorStopped(t *testing.T) {
	r := sandbox.Local(sandbox.LocalOptions{})
	defer r.Close()
	if !r.Info().Supervise {
		t.Skip("no supervisor on this system")
	}
	dir := t.TempDir()
	p, err := r.Start(t.Context(), command(dir, "setsid sleep 300 & echo $! >pid; kill -STOP $PPID; echo x >stopped; sleep 300"))
	if err != nil {
		t.Fatal(err)
	}
	pid := sandboxtest.ReadPID(t, filepath.Join(dir, "pid"))
	sandboxtest.Until(t, "the stop", func() bool { _, err := os.Stat(filepath.Join(dir, "stopped")); return err == nil })
	if pids := p.PIDs(); len(pids) < 2 {
		t.Errorf("processes %v", pids)
	}
	if err := p.Stop(sandbox.Grace); err != nil {
		t.Error(err)
	}
	if sandboxtest.Alive(pid) {
		t.Error("alive")
	}
	// One that ends after that has ended all the same.
	p, err = r.Start(t.Context(), command(dir, "kill -STOP $PPID; exit 7"))
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 7 {
		t.Errorf("%+v %v", exit, err)
	}
	// One that stops it over and over is ended all the same.
	p, err = r.Start(t.Context(), command(dir, "trap '' TERM; echo $$ >pid2; while :; do kill -STOP $PPID; done"))
	if err != nil {
		t.Fatal(err)
	}
	pid = sandboxtest.ReadPID(t, filepath.Join(dir, "pid2"))
	if err := p.Stop(sandbox.Grace); err != nil {
		t.Error(err)
	}
	sandboxtest.Until(t, "the end", func() bool { return !sandboxtest.Alive(pid) })
}

// usage is what the process holds: open files, goroutines, kilobytes.
func usage(t *testing.T) (files, goroutines, rss int) {
	t.Helper()
	ents, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	rss, err = strconv.Atoi(strings.Fields(string(b))[1])
	if err != nil {
		t.Fatal(err)
	}
	return len(ents), runtime.NumGoroutine(), rss * os.Getpagesize() >> 10
}

func TestManyCommandsLeaveNothing(t *testing.T) {
	n := 150
	if os.Getenv("CANTLE_SOAK") == "1" {
		n = 10_000
	}
	for _, opts := range []sandbox.LocalOptions{{}, {NoSupervisor: true}} {
		r := sandbox.Local(opts)
		run := func() {
			p, err := r.Start(t.Context(), command("/", "echo hello"))
			if err != nil {
				t.Fatal(err)
			}
			if exit, err := p.Wait(); err != nil || exit.Code != 0 {
				t.Fatal(exit, err)
			}
			<-p.Done()
		}
		for range 20 {
			run()
		}
		files, goroutines, rss := usage(t)
		for range n {
			run()
		}
		var f, g, m int
		sandboxtest.Until(t, "as few files and goroutines as before", func() bool {
			f, g, m = usage(t)
			return f <= files+2 && g <= goroutines+6
		})
		if m > rss+16<<10 {
			t.Errorf("memory grew from %d to %d KiB", rss, m)
		}
		t.Logf("%d commands, %+v: files %d → %d, goroutines %d → %d, KiB %d → %d", n, opts, files, f, goroutines, g, rss, m)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		sandboxtest.Until(t, "no children", func() bool { return children() == 0 })
	}
}

// children counts this process's children, ended ones too.
func children() int {
	n := 0
	ents, _ := os.ReadDir("/proc")
	for _, e := range ents {
		b, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if f[1] == strconv.Itoa(os.Getpid()) {
			n++
		}
	}
	return n
}

func TestManyAtOnce(t *testing.T) {
	if os.Getenv("CANTLE_SOAK") != "1" {
		t.Skip("200 commands at once: set CANTLE_SOAK=1")
	}
	r := sandbox.Local(sandbox.LocalOptions{})
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			var out sandboxtest.Buffer
			c := command("/", fmt.Sprintf("sleep 1; (setsid sleep 300 &); echo %d", i))
			c.Stdout = &out
			p, err := r.Start(t.Context(), c)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := p.Wait(); err != nil || out.String() != fmt.Sprintln(i) {
				t.Errorf("%d: %q %v", i, out.String(), err)
			}
			if err := p.Stop(0); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	sandboxtest.Until(t, "no children", func() bool { return children() == 0 })
}
