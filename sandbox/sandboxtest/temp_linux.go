package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/sandbox"
)

// Temp looks at the private temp folder of a policy: what a command leaves
// there the next one finds, whatever else its policy, and of this machine's
// /tmp nothing is seen but what is to be written.
func Temp(t *testing.T, open func(t *testing.T) sandbox.Runner) {
	run := open(t)
	t.Cleanup(func() { run.Close() })
	base, err := os.MkdirTemp("/tmp", "base")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	elsewhere, err := os.MkdirTemp("/var/tmp", "temp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(elsewhere) })
	for name, temp := range map[string]string{"below /tmp": base + "/private", "elsewhere": elsewhere + "/private"} {
		t.Run(name, func(t *testing.T) { tempFolder(t, run, base, temp) })
	}
}

func tempFolder(t *testing.T, run sandbox.Runner, base, temp string) {
	ws := filepath.Join(base, strings.ReplaceAll(t.Name(), "/", "-"), "deep", "ws")
	for _, dir := range []string{temp, ws + "/.git/hooks", ws + "/hidden"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{base + "/other", ws + "/.git/hooks/kept", ws + "/hidden/key"} {
		if err := os.WriteFile(f, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	info := run.Info()
	policy := sandbox.Policy{WriteRoots: []string{ws}, Temp: temp, NoNetwork: true}
	if info.ReadOnly {
		policy.ReadOnly, policy.Hide = []string{ws + "/.git/hooks"}, []string{ws + "/hidden", base + "/other"}
	}
	do := func(p sandbox.Policy, script string) string {
		t.Helper()
		var out Buffer
		proc, err := run.Start(t.Context(), &sandbox.Command{
			Args: []string{"/bin/sh", "-c", script}, Dir: ws, Stdout: &out, Policy: p,
			Env: []string{"PATH=/usr/bin:/bin", "TMPDIR=" + temp, "BASE=" + base, "WS=" + ws},
		})
		if err != nil {
			t.Fatal(err)
		}
		<-proc.Done()
		return strings.TrimSpace(out.String())
	}
	want := func(script, want string) {
		t.Helper()
		if got := do(policy, script); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
	want(`echo x >"$TMPDIR/x" && cat "$TMPDIR/x"`, "x")
	if b, err := os.ReadFile(temp + "/x"); err != nil || string(b) != "x\n" {
		t.Errorf("on this machine: %q %v", b, err)
	}
	if !info.Temp {
		want(`(: >/tmp/sandboxtest.x) 2>/dev/null || echo refused`, "refused")
		return
	}
	want(`cat /tmp/x; echo y >/tmp/sandboxtest.y; mkdir /tmp/d; echo z >/tmp/d/z`, "x")
	if _, err := os.Lstat("/tmp/sandboxtest.y"); err == nil {
		t.Error("it was written to this machine's /tmp")
	}
	online := policy
	online.NoNetwork = false
	if got := do(online, `cat /tmp/sandboxtest.y "$TMPDIR/d/z"`); got != "y\nz" {
		t.Errorf("a command with another policy: %q", got)
	}
	var wg sync.WaitGroup
	for range 2 { // side by side, in boxes of their own
		wg.Go(func() {
			if got := do(policy, `cat /tmp/sandboxtest.y`); got != "y" {
				t.Errorf("side by side: %q", got)
			}
		})
	}
	wg.Wait()
	want(`cat "$BASE/other" 2>/dev/null || echo none; ls -A "$BASE" | grep -c other`, "none\n0")
	want(`echo own >"$WS/own" && cat "$WS/own"; cat "$WS/.git/hooks/kept"`, "own\nkept")
	if b, err := os.ReadFile(ws + "/own"); err != nil || string(b) != "own\n" {
		t.Errorf("the workspace: %q %v", b, err)
	}
	protected := func() {
		t.Helper()
		do(policy, `echo x >"$WS/.git/hooks/kept"; mv "$WS/.git" "$WS/git"; cat "$WS/hidden/key" >"$WS/leak"`)
		if b, err := os.ReadFile(ws + "/.git/hooks/kept"); err != nil || string(b) != "kept" {
			t.Errorf("a protected file: %q %v", b, err)
		}
		if b, _ := os.ReadFile(ws + "/leak"); len(b) > 0 {
			t.Errorf("a hidden file: %q", b)
		}
	}
	protected()
	// Commands put things in the way of what comes to be seen.
	first := strings.Split(strings.TrimPrefix(ws, "/tmp/"), "/")[0]
	do(policy, `mv "/tmp/`+first+`" /tmp/moved; mv "$TMPDIR/`+first+`" "$TMPDIR/moved"; ln -sfn / "$TMPDIR/`+first+`"`)
	want(`cat "$WS/own"`, "own")
	if err := os.RemoveAll(filepath.Join(temp, first)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(temp, first)); err != nil {
		t.Fatal(err)
	}
	policy.Hide = append(policy.Hide, base+"/nothing")
	online = policy
	online.NoNetwork = false
	if got := do(online, `cat "$WS/own"; echo more >"$WS/more"`); got != "own" {
		t.Errorf("behind a planted link: %q", got)
	}
	if _, err := os.Stat(ws + "/more"); err != nil {
		t.Error(err)
	}
	protected()
	// A directory that cannot be written is seen all the same.
	out := filepath.Join(base, "out", filepath.Base(temp))
	if err := os.MkdirAll(out, 0o755); err != nil {
		t.Fatal(err)
	}
	ws = out
	want(`pwd; (: >no) 2>/dev/null || echo refused`, out+"\nrefused")
}
