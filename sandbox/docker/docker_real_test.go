//go:build linux

package docker_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/auto"
	"github.com/cantle-dev/cantle/sandbox/docker"
	"github.com/cantle-dev/cantle/sandbox/sandboxtest"
	"github.com/cantle-dev/cantle/tool"
)

// image is one that has a shell and the usual programs. Made of busybox:
//
//	tar -C root -c . | docker import - cantle-test:busybox
const image = "cantle-test:busybox"

var helperDir string

func TestMain(m *testing.M) {
	sandbox.Main()
	code := m.Run()
	if helperDir != "" {
		os.RemoveAll(helperDir)
	}
	os.Exit(code)
}

// helper is a static program: one of tests may not be.
var helper = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "helper")
	if err != nil {
		return "", err
	}
	helperDir = dir
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "helper"), "./testdata/helper")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return filepath.Join(dir, "helper"), nil
})

func open(t testing.TB) sandbox.Runner {
	t.Helper()
	h, err := helper()
	if err != nil {
		t.Fatal(err)
	}
	run, err := docker.Open(context.Background(), docker.Options{Image: image, Helper: h})
	if err != nil {
		t.Skip(err)
	}
	return run
}

func openT(t *testing.T) sandbox.Runner { return open(t) }

func TestRunner(t *testing.T) { sandboxtest.TestRunner(t, openT) }

func TestEscapes(t *testing.T) {
	sandboxtest.Escapes(t, openT, sandboxtest.EscapeOptions{Self: "/.cantle-supervisor", Uncontrolled: true})
}

func TestTemp(t *testing.T) { sandboxtest.Temp(t, openT) }

func TestWork(t *testing.T) { sandboxtest.Work(t, openT, true) }

func TestKilled(t *testing.T) {
	sandboxtest.Killed(t, openT, func(c *sandbox.Command) sandbox.Policy {
		return sandbox.Policy{WriteRoots: []string{c.Dir}, NoNetwork: true}
	})
}

// TestLimits looks at what the command is held to.
func TestLimits(t *testing.T) {
	run := open(t)
	defer run.Close()
	var out sandboxtest.Buffer
	p, err := run.Start(t.Context(), &sandbox.Command{Args: []string{"/bin/sh", "-c", `
for f in /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max; do [ -e $f ] && echo pids $(cat $f); done
for f in /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes; do [ -e $f ] && echo memory $(cat $f); done
for f in /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu/cpu.cfs_quota_us; do [ -e $f ] && echo cpu $(cat $f); done
grep CapEff /proc/self/status; ls /sys/class/net; (: >/x) 2>/dev/null || echo read-only; :>/tmp/x && echo tmp`}, Dir: t.TempDir(), Env: []string{"PATH=/bin"}, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil {
		t.Error(exit, err)
	}
	for _, want := range []string{"pids 256\n", "cpu 100000", "memory 536870912\n", "CapEff:\t0000000000000000\n", "lo\nread-only\ntmp\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestImage: what an image says of its programs holds, unless the command says
// otherwise.
func TestImage(t *testing.T) {
	named := image + "-env"
	cmd := exec.Command("docker", "build", "--quiet", "--tag", named, "-")
	cmd.Stdin = strings.NewReader("FROM " + image + "\nENV PATH=/own:/bin HOME=/home/x OTHER=there\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%v %s", err, out)
	}
	defer func() { _ = exec.Command("docker", "rmi", "--force", named).Run() }() // left, it does no harm
	h, err := helper()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{image: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin /tmp . mine", named: "/own:/bin /home/x there. mine"} {
		run, err := docker.Open(t.Context(), docker.Options{Image: name, Helper: h})
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		var out sandboxtest.Buffer
		p, err := run.Start(t.Context(), &sandbox.Command{Args: []string{"/bin/sh", "-c", "echo $PATH $HOME $OTHER. $MINE"}, Dir: t.TempDir(), Env: []string{"MINE=mine"}, Stdout: &out})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(); err != nil || strings.TrimSpace(out.String()) != want {
			t.Errorf("%s: %q %v", name, out.String(), err)
		}
	}
}

// TestKept: a policy has one container, and another policy another.
func TestKept(t *testing.T) {
	run := open(t)
	defer run.Close()
	dir := t.TempDir()
	host := func(p sandbox.Policy) string {
		t.Helper()
		var out sandboxtest.Buffer
		if exit, err := sandbox.Run(t.Context(), run, &sandbox.Command{Args: []string{"/bin/sh", "-c", "cat /proc/sys/kernel/hostname"}, Dir: dir, Stdout: &out, Policy: p}); err != nil || exit.Code != 0 {
			t.Fatal(exit, err)
		}
		return strings.TrimSpace(out.String())
	}
	p := sandbox.Policy{WriteRoots: []string{dir}, NoNetwork: true}
	one, two := host(p), host(p)
	p.Hide = []string{dir + "/x"}
	if err := os.WriteFile(dir+"/x", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if three := host(p); one == "" || one != two || one == three {
		t.Errorf("%q %q %q", one, two, three)
	}
}

// TestBash: in a container Bash uses the shell and the environment of the image,
// and what runs outside of it runs on this machine.
func TestBash(t *testing.T) {
	open(t).Close()
	h, err := helper()
	if err != nil {
		t.Fatal(err)
	}
	run, _, err := auto.Open(t.Context(), auto.Options{Name: auto.Docker, Docker: docker.Options{Image: image, Helper: h}})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	dir, temp := t.TempDir(), t.TempDir()
	bash := builtin.Bash(builtin.Options{
		Runner: run, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=/home/ann", "GOPATH=/home/ann/go"},
		Confine: &builtin.Confine{Policy: sandbox.Policy{WriteRoots: []string{dir}, Temp: temp, NoNetwork: true}, Env: map[string]string{"TMPDIR": temp}},
	})
	for _, c := range []struct {
		command, want string
		beyond        []tool.Access
	}{
		{"echo $HOME $GOPATH.; readlink /proc/self/exe; pwd; echo x >$TMPDIR/x; cat /tmp/x", "/tmp .\n/bin/busybox\n" + dir + "\nx", nil},
		{"ls /sys/class/net; echo x >/etc/x", "lo\n", nil},
		{"echo x >/etc/x", "where it writes only in " + dir, nil},
		{"echo $HOME; readlink /proc/self/exe | grep -v busybox >/dev/null && echo here", "/home/ann\nhere", []tool.Access{{Op: tool.Write, Target: tool.Anywhere}}},
	} {
		res, err := tool.Run(t.Context(), bash, &tool.Call{
			Name: "Bash", Dir: dir, Input: []byte(`{"command":"x"}`), Access: append([]tool.Access{{Op: tool.Exec, Target: c.command}}, c.beyond...),
		})
		if err != nil || !strings.Contains(res.Parts.Text(), c.want) {
			t.Errorf("%s: %v %v, want %q", c.command, res, err, c.want)
		}
	}
}

func TestGone(t *testing.T) {
	run := open(t)
	var out sandboxtest.Buffer
	p, err := run.Start(t.Context(), &sandbox.Command{Args: []string{"/bin/sh", "-c", "sleep 300 & sleep 300"}, Dir: t.TempDir(), Env: []string{"PATH=/bin"}, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(sandbox.Grace); err != nil {
		t.Error(err)
	}
	if err := run.Close(); err != nil {
		t.Error(err)
	}
	sandboxtest.Until(t, "the container is gone", func() bool {
		out, err := exec.Command("docker", "ps", "--all", "--format", "{{.Names}}", "--filter", "ancestor="+image).Output()
		return err == nil && !strings.Contains(string(out), "cantle-")
	})
}

func BenchmarkTrue(b *testing.B) {
	run := open(b)
	defer run.Close()
	dir := b.TempDir()
	for b.Loop() {
		p, err := run.Start(b.Context(), &sandbox.Command{Args: []string{"/bin/sh", "-c", "true"}, Dir: dir, Policy: sandbox.Policy{WriteRoots: []string{dir}, NoNetwork: true}})
		if err != nil {
			b.Fatal(err)
		}
		if exit, err := p.Wait(); err != nil || exit.Code != 0 {
			b.Fatal(exit, err)
		}
	}
}

// TestPlacesNamedTwice: a policy may name a place more than once, and what it is
// named for last, or most strictly, holds.
func TestPlacesNamedTwice(t *testing.T) {
	run := open(t)
	defer run.Close()
	dir := t.TempDir()
	for _, name := range []string{".git/hooks", ".git/objects", "secret"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var out sandboxtest.Buffer
	p, err := run.Start(t.Context(), &sandbox.Command{
		Args: []string{"/bin/sh", "-c", "echo x >.git/hooks/x; echo x >.git/x; echo x >in && echo wrote"}, Dir: dir, Env: []string{"PATH=/bin"}, Stdout: &out,
		Policy: sandbox.Policy{
			WriteRoots: []string{dir, dir, dir + "/.git/objects"}, ReadOnly: []string{dir + "/.git/hooks", dir + "/.git/hooks", dir + "/.git"},
			Hide: []string{dir + "/secret", dir + "/secret/"}, NoNetwork: true,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 || !strings.Contains(out.String(), "wrote") {
		t.Error(exit, err, out.String())
	}
	for _, name := range []string{".git/x", ".git/hooks/x"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}
