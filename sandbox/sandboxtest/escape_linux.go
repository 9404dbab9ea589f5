package sandboxtest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cantle-dev/cantle/sandbox"
)

func ptr(p *[120]byte) unsafe.Pointer { return unsafe.Pointer(p) }

// EscapeOptions configure [Escapes].
type EscapeOptions struct {
	// Self is this test's program as a command in the sandbox finds it, whose
	// main calls [Main]; "" is [os.Executable].
	Self string
	// Base is where the suite makes its directories; "" is a temporary one.
	Base string
	// Uncontrolled leaves out the runs without a sandbox, which show that the
	// attacks work: for programs that run in the sandbox alone.
	Uncontrolled bool
	// Temp gives the policies a private temp folder. Base and Self must not be
	// below /tmp then.
	Temp bool
}

// stage is what an attack is made on.
type stage struct {
	ws, out, secrets      string
	tcp, udp              string
	sock, dgram, abstract string
	victim                *exec.Cmd
	hits                  atomic.Int64
	memory                int    // of System V, that is
	shared                []byte // here
	self, from, temp      string
}

const secret = "the secret of this test"

func newStage(t *testing.T, o EscapeOptions) *stage {
	t.Helper()
	base := o.Base
	if base == "" {
		base = t.TempDir()
	}
	base, err := os.MkdirTemp(base, "s")
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{ws: base + "/ws", out: base + "/out", secrets: base + "/secrets", temp: base + "/temp", self: o.Self}
	if s.self == "" {
		if s.self, err = os.Executable(); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{s.ws + "/.git/hooks", s.out, s.secrets, s.temp, s.ws + "/tmp"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for f, text := range map[string]string{
		s.out + "/kept": "kept", s.secrets + "/key": secret, s.out + "/token": secret, s.ws + "/.git/hooks/pre-commit": "kept",
		s.ws + "/own": "own", s.ws + "/kept": "kept",
	} {
		if err := os.WriteFile(f, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hit := func(l net.Listener) net.Addr {
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				s.hits.Add(1)
				c.Close()
			}
		}()
		return l.Addr()
	}
	packets := func(c net.PacketConn, err error) net.PacketConn {
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		go func() {
			for b := make([]byte, 64); ; {
				if _, _, err := c.ReadFrom(b); err != nil {
					return
				}
				s.hits.Add(1)
			}
		}()
		return c
	}
	listen := func(network, addr string) net.Listener {
		var lc net.ListenConfig
		lc.SetMultipathTCP(true)
		l, err := lc.Listen(t.Context(), network, addr)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	port := func(a net.Addr) string { return a.String()[strings.LastIndexByte(a.String(), ':')+1:] }
	s.tcp = port(hit(listen("tcp4", "127.0.0.1:0")))
	s.udp = port(packets(net.ListenPacket("udp4", "127.0.0.1:0")).LocalAddr())
	// Paths of sockets are short.
	short, err := os.MkdirTemp("/var/tmp", "c")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	if err := os.Chmod(short, 0o755); err != nil {
		t.Fatal(err)
	}
	s.sock, s.dgram, s.abstract = short+"/s", short+"/d", "@cantle-"+filepath.Base(short)
	hit(listen("unix", s.sock))
	hit(listen("unix", s.abstract))
	packets(net.ListenPacket("unixgram", s.dgram))
	hit(listen("unix", s.ws+"/in"))
	if s.memory, err = unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600); err != nil {
		t.Fatal(err)
	}
	if s.shared, err = unix.SysvShmAttach(s.memory, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := unix.SysvShmCtl(s.memory, unix.IPC_RMID, nil)
		if err := errors.Join(err, unix.SysvShmDetach(s.shared)); err != nil {
			t.Error(err)
		}
	})
	s.victim = exec.Command("/bin/sleep", "300")
	s.victim.Env = []string{"SECRET=" + secret}
	if err := s.victim.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { _ = s.victim.Wait(); close(exited) }()
	t.Cleanup(func() { _ = s.victim.Process.Kill(); <-exited })
	return s
}

// an escape is a script that must not do what it is about. Its variables are
// those of a stage.
type escape struct {
	name, script string
	did          func(s *stage) bool
	// when says what a runner promises, where not all promise it.
	when func(sandbox.Info) bool
	root bool // the attack works for root alone
	may  bool // the attack need not work on this machine, even unconfined
}

func escapes() []escape {
	has := func(path func(*stage) string) func(*stage) bool {
		return func(s *stage) bool { _, err := os.Lstat(path(s)); return err == nil }
	}
	planted := has(func(s *stage) string { return s.out + "/planted" })
	holds := func(file func(*stage) string, text string) func(*stage) bool {
		return func(s *stage) bool {
			b, err := os.ReadFile(file(s))
			return err == nil && strings.Contains(string(b), text)
		}
	}
	kept := func(s *stage) string { return s.out + "/kept" }
	changed := func(s *stage) bool { b, err := os.ReadFile(kept(s)); return err != nil || string(b) != "kept" }
	leaked := holds(func(s *stage) string { return s.ws + "/leak" }, secret)
	hit := func(s *stage) bool { return s.hits.Load() > 0 }
	hook := func(s *stage) bool {
		b, err := os.ReadFile(s.ws + "/.git/hooks/pre-commit")
		return err != nil || string(b) != "kept"
	}
	readOnly := func(i sandbox.Info) bool { return i.ReadOnly }
	return []escape{
		{name: "a file outside", script: `echo x >"$OUT/planted"`, did: planted},
		{name: "a file outside, by a program", script: `"$SELF" sandboxtest-attack write "$OUT/planted"`, did: planted},
		{name: "the parent", script: `cd "$WS" && echo x >../out/planted`, did: planted},
		{name: "appending", script: `echo x >>"$OUT/kept"`, did: changed},
		{name: "emptying", script: `: >"$OUT/kept"`, did: changed},
		{name: "truncating", script: `"$SELF" sandboxtest-attack truncate "$OUT/kept"`, did: changed},
		{name: "removing", script: `rm -f "$OUT/kept"`, did: changed},
		{name: "replacing", script: `echo x >"$WS/new"; mv -f "$WS/new" "$OUT/kept"`, did: changed},
		{name: "taking away", script: `mv -f "$OUT/kept" "$WS/taken"`, did: changed},
		{name: "a directory outside", script: `mkdir "$OUT/planted"`, did: planted},
		{name: "a link outside", script: `ln -s / "$OUT/planted"`, did: planted},
		{name: "a pipe outside", script: `mkfifo "$OUT/planted"`, did: planted},
		{name: "a planted link", script: `ln -s "$OUT/kept" "$WS/l"; echo x >"$WS/l"`, did: changed},
		{name: "a planted link to a directory", script: `ln -s "$OUT" "$WS/d"; echo x >"$WS/d/planted"`, did: planted},
		{name: "a hard link", script: `ln "$OUT/kept" "$WS/h" && echo x >>"$WS/h"`, did: changed},
		{name: "/proc/self/root", script: `echo x >"/proc/self/root$OUT/planted"`, did: planted},
		{name: "/proc/self/cwd", script: `cd "$OUT" && echo x >/proc/self/cwd/planted`, did: planted},
		{name: "another's root", script: `echo x >"/proc/$VICTIM/root$OUT/planted"`, did: planted},
		{name: "a child", script: `sh -c 'sh -c "echo x >\"$OUT/planted\""'`, did: planted},
		{name: "a child that left", script: `setsid sh -c 'echo x >"$OUT/planted"; :>"$WS/end"' & until [ -e "$WS/end" ]; do :; done`, did: planted},
		{name: "modes", script: `chmod 777 "$OUT/kept"`, did: func(s *stage) bool {
			fi, err := os.Stat(kept(s))
			return err != nil || fi.Mode().Perm() != 0o600
		}, when: readOnly},
		{name: "mounting", script: `mkdir "$WS/m" && mount --bind "$OUT" "$WS/m" && echo x >"$WS/m/planted"; umount "$WS/m"`, did: planted, root: true},
		{name: "unmounting", script: `unshare -m sh -c 'umount -l "$OUT" "$WS" / ; echo x >"$OUT/planted"'`, did: planted, root: true, may: true},
		{name: "a user namespace", script: `unshare -Urm sh -c 'mkdir -p "$WS/m"; mount --bind "$OUT" "$WS/m"; echo x >"$OUT/planted"; echo x >"$WS/m/planted"'`, did: planted, may: true},
		{name: "a disk", script: `mknod "$WS/disk" b $(stat -c '0x%t 0x%T' /dev/vda) && head -c 1 "$WS/disk" >"$WS/disk1" && [ -s "$WS/disk1" ] && : >"$WS/ok"`, did: ok, root: true, may: true},
		{name: "a disk's own node", script: `head -c 1 /dev/vda >"$WS/disk1" && [ -s "$WS/disk1" ] && : >"$WS/ok"`, did: ok, root: true, may: true},
		{name: "the kernel's settings", script: `cat /proc/sys/kernel/core_pattern >"$WS/p" && cat "$WS/p" >/proc/sys/kernel/core_pattern && : >"$WS/ok"`, did: ok, root: true, may: true},

		{name: "a secret", script: `cat "$SECRETS/key" >"$WS/leak"`, did: leaked},
		{name: "a secret file", script: `cat "$OUT/token" >"$WS/leak"`, did: leaked},
		{name: "a secret by a link", script: `ln -s "$SECRETS" "$WS/l"; cat "$WS/l/key" >"$WS/leak"`, did: leaked},
		{name: "a secret by a hard link", script: `ln "$SECRETS/key" "$WS/leak"`, did: leaked},
		{name: "a secret by /proc/self/root", script: `cat "/proc/self/root$SECRETS/key" >"$WS/leak"`, did: leaked},
		{name: "a secret by another's root", script: `cat "/proc/$VICTIM/root$SECRETS/key" >"$WS/leak"`, did: leaked},
		{name: "a secret that is moved", script: `mv "$SECRETS" "$WS/s"; cat "$WS/s/key" >"$WS/leak"`, did: leaked},
		{name: "a secret, by a child", script: `sh -c 'setsid sh -c "cat \"$SECRETS/key\""' >"$WS/leak"`, did: leaked},
		{name: "another's environment", script: `cat /proc/$VICTIM/environ >"$WS/leak"`, did: leaked},

		{name: "TCP", script: `"$SELF" sandboxtest-attack tcp $TCP`, did: hit},
		{name: "UDP", script: `"$SELF" sandboxtest-attack udp $UDP`, did: hit},
		{name: "MPTCP", script: `"$SELF" sandboxtest-attack mptcp $TCP`, did: hit, may: true},
		{name: "TCP, by a child", script: `sh -c 'setsid "$SELF" sandboxtest-attack tcp $TCP'`, did: hit},
		{name: "a Unix socket", script: `"$SELF" sandboxtest-attack unix "$SOCK"`, did: hit},
		{name: "a Unix socket by a link", script: `ln -s "$SOCK" "$WS/l"; "$SELF" sandboxtest-attack unix "$WS/l"`, did: hit},
		{name: "an abstract socket", script: `"$SELF" sandboxtest-attack unix "$ABSTRACT"`, did: hit},
		{name: "a pair of sockets", script: `"$SELF" sandboxtest-attack pair "$DGRAM"`, did: hit},
		{name: "a Unix socket in the workspace", script: `"$SELF" sandboxtest-attack unix "$WS/in"`, did: hit},
		{name: "another kind of socket", script: `"$SELF" sandboxtest-attack family && : >"$WS/ok"`, did: ok, may: true},
		{name: "a ring", script: `"$SELF" sandboxtest-attack ring && : >"$WS/ok"`, did: ok, may: true},

		{name: "a signal", script: `kill -9 $VICTIM`, did: func(s *stage) bool { return !Alive(s.victim.Process.Pid) }},
		{name: "a signal to all", script: `kill -9 -1`, did: func(s *stage) bool { return !Alive(s.victim.Process.Pid) }, root: true, may: true},
		{name: "the supervisor", script: `"$SELF" sandboxtest-attack supervisor && : >"$WS/ok"`, did: ok, may: true},

		{name: "another's limits", script: `"$SELF" sandboxtest-attack limits $VICTIM`, did: func(s *stage) bool {
			var l unix.Rlimit
			return unix.Prlimit(s.victim.Process.Pid, unix.RLIMIT_NOFILE, nil, &l) == nil && l.Cur == 7
		}},
		{name: "memory that is shared", script: `"$SELF" sandboxtest-attack memory $MEMORY`, did: func(s *stage) bool { return s.shared[0] != 0 }},
		{name: "another user in a namespace", script: `"$SELF" sandboxtest-attack namespace && : >"$WS/ok"`, did: ok, may: true},

		{name: "a protected file", script: `echo x >"$WS/.git/hooks/pre-commit"`, did: hook, when: readOnly},
		{name: "a protected file that is removed", script: `rm -rf "$WS/.git"`, did: hook, when: readOnly},
		{name: "a protected file by a move", script: `mv "$WS/.git" "$WS/git"; mkdir -p "$WS/.git/hooks"; echo x >"$WS/.git/hooks/pre-commit"`, did: hook, when: readOnly},
		{name: "a new protected file", script: `echo x >"$WS/.git/hooks/post-commit"`, did: has(func(s *stage) string { return s.ws + "/.git/hooks/post-commit" }), when: readOnly},
	}
}

// unsafeUnconfined are attacks that are not tried without a sandbox: they would
// work.
var unsafeUnconfined = map[string]bool{"a signal to all": true}

// Escapes holds a runner to a policy and tries to get around it, in some fifty
// ways. Each is first tried without a sandbox, where it must succeed.
func Escapes(t *testing.T, open func(t *testing.T) sandbox.Runner, o EscapeOptions) {
	run := open(t)
	t.Cleanup(func() { run.Close() })
	local := sandbox.Local(sandbox.LocalOptions{})
	t.Cleanup(func() { local.Close() })
	info := run.Info()
	for _, e := range escapes() {
		t.Run(e.name, func(t *testing.T) {
			if e.when != nil && !e.when(info) {
				t.Skip("this runner says that it does not hold this")
			}
			if !o.Uncontrolled && !unsafeUnconfined[e.name] && (!e.root || os.Getuid() == 0) {
				s := newStage(t, o)
				said := s.run(t, local, sandbox.Policy{}, e.script)
				if !s.wait(e.did) && !e.may {
					t.Fatalf("without a sandbox it does nothing, so it shows nothing: %s", said)
				}
			}
			s := newStage(t, o)
			p := sandbox.Policy{WriteRoots: []string{s.ws}, Hide: []string{s.secrets, s.out + "/token"}, NoNetwork: true}
			if o.Temp {
				p.Temp = s.temp
			}
			if info.ReadOnly {
				p.ReadOnly = []string{s.ws + "/.git/hooks", s.ws + "/.git/no such file"}
			}
			said := s.run(t, run, p, e.script)
			if e.did(s) {
				t.Errorf("it got out: %s\n%s", e.script, said)
			}
		})
	}
	t.Run("what is allowed", func(t *testing.T) {
		s := newStage(t, o)
		if s.from = s.out; info.Image { // which has no files of this machine
			s.from = s.ws
		}
		p := sandbox.Policy{WriteRoots: []string{s.ws, s.out + "/../more"}, Hide: []string{s.secrets, s.secrets + "/no/such"}, NoNetwork: true}
		said := s.run(t, run, p, `set -e
cat "$FROM/kept" >"$WS/a"; mkdir "$WS/b"; mv "$WS/a" "$WS/b/c"; ln "$WS/b/c" "$WS/d"; ln -s b "$WS/e"
echo x >/dev/null; head -c 4 /dev/urandom >"$WS/r"; chmod 755 "$WS/d"; rm "$WS/r"; ls / >/dev/null; ls "$FROM" >/dev/null
echo more >>"$WS/own"; (echo sub | cat >"$WS/f"); kill -0 $$; : >"$WS/ok"`)
		if !ok(s) {
			t.Errorf("a command could not do its work: %s", said)
		}
		if !info.Image {
			var out Buffer
			proc, err := run.Start(t.Context(), &sandbox.Command{
				Args: []string{"/bin/sh", "-c", "pwd; (: >no) 2>/dev/null || echo refused"}, Dir: s.out, Stdout: &out, Policy: p,
			})
			if err != nil {
				t.Fatal(err)
			}
			if exit, err := proc.Wait(); err != nil || out.String() != s.out+"\nrefused\n" {
				t.Errorf("in a directory that cannot be written: %s %v %s", exit, err, out.String())
			}
		}
		if b, err := os.ReadFile(s.ws + "/e/c"); err != nil || string(b) != "kept" {
			t.Errorf("%q %v", b, err)
		}
	})
}

func ok(s *stage) bool { _, err := os.Stat(s.ws + "/ok"); return err == nil }

// wait gives a listener time to hear.
func (s *stage) wait(did func(*stage) bool) bool {
	for range 100 {
		if did(s) {
			return true
		}
		<-time.After(2 * time.Millisecond)
	}
	return false
}

// run runs a script to its end, and gives what it said.
func (s *stage) run(t *testing.T, run sandbox.Runner, p sandbox.Policy, script string) string {
	t.Helper()
	var out Buffer
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	for k, v := range map[string]string{
		"OUT": s.out, "WS": s.ws, "SECRETS": s.secrets, "SELF": s.self, "TCP": s.tcp, "UDP": s.udp, "SOCK": s.sock,
		"DGRAM": s.dgram, "ABSTRACT": s.abstract, "VICTIM": strconv.Itoa(s.victim.Process.Pid), "TMPDIR": s.ws + "/tmp", "FROM": s.from, "MEMORY": strconv.Itoa(s.memory),
	} {
		env = append(env, k+"="+v)
	}
	proc, err := run.Start(t.Context(), &sandbox.Command{
		Args: []string{"/bin/sh", "-c", script}, Dir: s.ws, Env: env, Stdout: &out, Policy: p,
	})
	if err != nil {
		if errors.Is(err, sandbox.ErrPolicy) {
			t.Fatalf("the runner does not hold what it says it holds: %v", err)
		}
		t.Fatal(err)
	}
	select {
	case <-proc.Done():
	case <-time.After(patience):
		_ = proc.Stop(0) // what did not end was not asked to
		t.Errorf("it did not end: %s", script)
	}
	exit, err := proc.Wait()
	return fmt.Sprintf("%s, %v: %s", exit, err, bytes.TrimSpace([]byte(out.String())))
}
