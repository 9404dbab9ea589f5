//go:build linux

package bwrap_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/bwrap"
	"github.com/cantle-dev/cantle/sandbox/internal/confine"
	"github.com/cantle-dev/cantle/sandbox/proxy"
	"github.com/cantle-dev/cantle/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	sandboxtest.Main()
	if len(os.Args) == 3 && os.Args[1] == "get" {
		get(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

func open(t *testing.T) sandbox.Runner {
	run, err := bwrap.Open(t.Context(), bwrap.Options{})
	if err != nil {
		t.Skip(err)
	}
	return run
}

func TestRunner(t *testing.T) { sandboxtest.TestRunner(t, open) }

func TestRunnerUnderPolicy(t *testing.T) {
	sandboxtest.TestRunner(t, func(t *testing.T) sandbox.Runner {
		return sandboxtest.Under(open(t), func(c *sandbox.Command) sandbox.Policy {
			return sandbox.Policy{WriteRoots: []string{c.Dir}, NoNetwork: true}
		})
	})
}

func TestEscapes(t *testing.T) { sandboxtest.Escapes(t, open, sandboxtest.EscapeOptions{}) }

// TestEscapesTemp tries the same with another view of /tmp.
func TestEscapesTemp(t *testing.T) {
	if os.Getenv("CANTLE_SOAK") == "" {
		t.Skip("it takes a while: set CANTLE_SOAK=1")
	}
	base, err := os.MkdirTemp("/var/tmp", "base")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(base+"/self", self, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	sandboxtest.Escapes(t, open, sandboxtest.EscapeOptions{Base: base, Self: base + "/self", Temp: true})
}

func TestTemp(t *testing.T) { sandboxtest.Temp(t, open) }

func TestGit(t *testing.T) { sandboxtest.Git(t, open) }

func TestWork(t *testing.T) { sandboxtest.Work(t, open, true) }

func TestKilled(t *testing.T) {
	sandboxtest.Killed(t, open, func(c *sandbox.Command) sandbox.Policy {
		return sandbox.Policy{WriteRoots: []string{c.Dir}, NoNetwork: true}
	})
}

func TestNobody(t *testing.T) {
	sandboxtest.AsNobody(t, "^(TestRunnerUnderPolicy|TestEscapes|TestKilled|TestTemp|TestGit)$")
}

func BenchmarkTrue(b *testing.B) {
	run, err := bwrap.Open(b.Context(), bwrap.Options{})
	if err != nil {
		b.Skip(err)
	}
	defer run.Close()
	dir := b.TempDir()
	p := sandbox.Policy{WriteRoots: []string{dir}, Hide: []string{"/root/.ssh"}, NoNetwork: true}
	for b.Loop() {
		c := &sandbox.Command{Args: []string{"/bin/sh", "-c", "true"}, Dir: dir, Policy: p}
		proc, err := run.Start(b.Context(), c)
		if err != nil {
			b.Fatal(err)
		}
		if exit, err := proc.Wait(); err != nil || exit.Code != 0 {
			b.Fatal(exit, err)
		}
	}
}

// TestDomains looks at a sandbox from within: there is one way out, and it is
// the proxy's.
func TestDomains(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello from "+r.Host) }))
	defer srv.Close()
	var mu sync.Mutex
	var denied []string
	run, err := bwrap.Open(t.Context(), bwrap.Options{
		Denied: func(host, why string) { mu.Lock(); denied = append(denied, host); mu.Unlock() },
		Proxy: proxy.Options{
			Resolve: func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
			},
			Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", srv.Listener.Addr().String())
			},
		},
	})
	if err != nil {
		t.Skip(err)
	}
	defer run.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	get := func(domains []string, url, extra string) string {
		var out sandboxtest.Buffer
		p, err := run.Start(t.Context(), &sandbox.Command{
			Args: []string{self, "get", url}, Dir: dir, Env: []string{"HTTP_PROXY=http://127.0.0.1:1", extra}, Stdout: &out,
			Policy: sandbox.Policy{WriteRoots: []string{dir}, NoNetwork: true, Domains: domains},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(); err != nil {
			t.Error(err)
		}
		return out.String()
	}
	for range 2 { // the second time in the box of the first
		if got := get([]string{"example.com"}, "http://example.com/", "A=b"); got != "200 hello from example.com" {
			t.Errorf("%q", got)
		}
	}
	if got := get([]string{"example.com"}, "http://evil.com/", "A=b"); !strings.HasPrefix(got, "403 ") {
		t.Errorf("%q", got)
	}
	if got := get([]string{"other.com"}, "http://example.com/", "A=b"); !strings.HasPrefix(got, "403 ") {
		t.Errorf("the box of another policy: %q", got)
	}
	if got := get([]string{"example.com"}, srv.URL, "A=b"); strings.Contains(got, "hello") {
		t.Errorf("past the proxy: %q", got)
	}
	if got := get(nil, "http://example.com/", "A=b"); strings.Contains(got, "hello") {
		t.Errorf("no domains: %q", got)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(denied, []string{"evil.com", "example.com"}) {
		t.Errorf("denied: %v", denied)
	}
}

// get is what TestDomains runs.
func get(url string) {
	resp, err := http.Get(url)
	if err != nil {
		fmt.Print(err)
		return
	}
	b, _ := io.ReadAll(resp.Body)
	fmt.Print(resp.StatusCode, " ", string(b))
}

func TestUnavailable(t *testing.T) {
	for path, want := range map[string]string{"/no/such/bwrap": "/no/such/bwrap", "/bin/false": "/bin/false"} {
		_, err := bwrap.Open(t.Context(), bwrap.Options{Path: path})
		if !errors.Is(err, bwrap.ErrUnavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestPlaces looks at policies whose places are in each other, or change.
func TestPlaces(t *testing.T) {
	run := open(t)
	defer run.Close()
	base := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(base+"/home/hidden/key", "secret")
	write(base+"/home/hidden/trees/one/.git/config", "config")
	write(base+"/home/token", "secret")
	ws := base + "/home/hidden/trees/one"
	policy := sandbox.Policy{
		WriteRoots: []string{ws}, ReadOnly: []string{ws + "/.git/config"}, NoNetwork: true,
		Hide: []string{base + "/home/hidden", base + "/home/token"},
	}
	do := func(script string) string {
		t.Helper()
		var out sandboxtest.Buffer
		p, err := run.Start(t.Context(), &sandbox.Command{
			Args: []string{"/bin/sh", "-c", script}, Dir: ws, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out, Policy: policy,
		})
		if err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		return out.String()
	}
	got := do("echo x >a && cat a; cat ../../key ../../../token; echo x >.git/config; mv .git git; cat .git/config; echo x >../../new")
	if strings.Contains(got, "secret") || !strings.HasPrefix(got, "x\n") || !strings.HasSuffix(strings.TrimSpace(got), "Read-only file system") {
		t.Errorf("a workspace in a hidden directory: %s", got)
	}
	if b, err := os.ReadFile(ws + "/.git/config"); err != nil || string(b) != "config" {
		t.Errorf("%q %v", b, err)
	}
	// Another file takes the name of a hidden one.
	write(base+"/home/next", "secret")
	if err := os.Rename(base+"/home/next", base+"/home/token"); err != nil {
		t.Fatal(err)
	}
	if got := do("cat ../../../token"); strings.Contains(got, "secret") {
		t.Errorf("a hidden file that was replaced: %s", got)
	}
	// A protected file becomes a link, and what it leads to is protected too.
	write(ws+"/.git/other", "other")
	if err := errors.Join(os.Remove(ws+"/.git/config"), os.Symlink("other", ws+"/.git/config")); err != nil {
		t.Fatal(err)
	}
	do("echo x >.git/config; rm -f .git/config; echo x >.git/config; echo x >.git/other")
	if b, err := os.ReadFile(ws + "/.git/config"); err != nil || string(b) != "other" {
		t.Errorf("%q %v", b, err)
	}
}

// TestNested: what is protected, hidden and written may be in each other in
// every way.
func TestNested(t *testing.T) {
	run := open(t)
	defer run.Close()
	ws := t.TempDir()
	for _, dir := range []string{"/a/b/c", "/d/e"} {
		if err := os.MkdirAll(ws+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"/a/x", "/a/b/x", "/a/b/c/x", "/d/x", "/d/e/x"} {
		if err := os.WriteFile(ws+f, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []sandbox.Policy{
		{Hide: []string{ws + "/a"}, ReadOnly: []string{ws + "/a/b", ws + "/a/x"}},
		{Hide: []string{ws + "/a/b", ws + "/a/b/c", ws + "/a/b/c/x"}, ReadOnly: []string{ws + "/a", ws + "/a/b/x"}},
		{Hide: []string{ws + "/a/b"}, WriteRoots: []string{ws + "/a/b/c"}, ReadOnly: []string{ws + "/a/b/c/x"}},
		{Hide: []string{ws + "/d/x"}, ReadOnly: []string{ws + "/d/x", ws + "/d", ws}},
		{WriteRoots: []string{ws + "/a", ws + "/a/b"}, ReadOnly: []string{ws + "/a/b"}},
	} {
		p.WriteRoots, p.NoNetwork = append(p.WriteRoots, ws), true
		if exit, err := sandbox.Run(t.Context(), run, &sandbox.Command{Args: []string{"/bin/sh", "-c", "for f in a/x a/b/x a/b/c/x d/x d/e/x; do cat $f; done >/dev/null 2>&1; :"}, Dir: ws, Policy: p}); err != nil || exit.Code != 0 {
			t.Errorf("%+v: %s %v", p, exit, err)
		}
	}
}

// marked changes the marks of boxes that are made.
type marked struct {
	program string
	marks   func() []sandbox.Mark
	tries   int
}

func (m *marked) Info() sandbox.Info { return sandbox.Info{Name: "marked", Confines: true} }
func (m *marked) Close() error       { return nil }
func (m *marked) Launch(*sandbox.Command) (*sandbox.Launch, error) {
	m.tries++
	return &sandbox.Launch{
		Box:   []string{m.program, "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--as-pid-1", "--"},
		Marks: m.marks(),
	}, nil
}

// TestMarks: a box that shows something else than it was made to show is not
// used, and is made again.
func TestMarks(t *testing.T) {
	open(t).Close()
	program, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	at := func(change func(m *sandbox.Mark)) func() []sandbox.Mark {
		return func() []sandbox.Mark {
			m, ok := sandbox.MarkOf(dir)
			if !ok {
				t.Error("no directory")
			}
			change(&m)
			return []sandbox.Mark{m}
		}
	}
	for want, marks := range map[string]func() []sandbox.Mark{
		"":                  at(func(m *sandbox.Mark) { m.ReadOnly = true }),
		"is another file":   at(func(m *sandbox.Mark) { m.Ino++ }),
		"is not hidden":     at(func(m *sandbox.Mark) { m.Hidden = true }),
		"another file than": at(func(m *sandbox.Mark) { m.Path += "/gone" }),
	} {
		c := &marked{program: program, marks: marks}
		run, err := sandbox.Confined(c)
		if err != nil {
			t.Skip(err)
		}
		_, err = sandbox.Run(t.Context(), run, &sandbox.Command{Args: []string{"/bin/sh", "-c", ":"}, Dir: dir, Policy: sandbox.Policy{NoNetwork: true}})
		if box, ok := errors.AsType[*sandbox.BoxError](err); want == "" && err != nil || want != "" && (!ok || !strings.Contains(box.Said, want) || c.tries != 5) {
			t.Errorf("%q: %v after %d tries", want, err, c.tries)
		}
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOpenNetwork: an open network is no way to this machine's daemons.
func TestOpenNetwork(t *testing.T) {
	if confine.ABI() < confine.ABIScope {
		t.Skip("the kernel keeps no abstract sockets apart")
	}
	run := open(t)
	defer run.Close()
	dir := t.TempDir()
	l, err := net.Listen("unix", "@"+dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]int{
		self + " sandboxtest-attack unix @" + dir:                                   1,
		self + " sandboxtest-attack tcp " + tcp.Addr().String()[len("127.0.0.1:"):]: 0,
	} {
		p, err := run.Start(t.Context(), &sandbox.Command{
			Args: []string{"/bin/sh", "-c", script}, Dir: dir, Policy: sandbox.Policy{WriteRoots: []string{dir}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if exit, err := p.Wait(); err != nil || exit.Code != want {
			t.Errorf("%s: %s %v, want exit code %d", script, exit, err, want)
		}
	}
}
