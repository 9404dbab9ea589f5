package sandboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/sandbox"
)

// Work does in a sandbox with no network what projects do: it builds and tests,
// with a private temp folder. Own says whether the runner gives commands a
// machine of their own, with its own network and shared memory.
func Work(t *testing.T, open func(t *testing.T) sandbox.Runner, own bool) {
	if os.Getenv("CANTLE_SOAK") == "" {
		t.Skip("it takes a while: set CANTLE_SOAK=1")
	}
	run := open(t)
	t.Cleanup(func() { run.Close() })
	base := t.TempDir()
	ws, temp := filepath.Join(base, "ws"), filepath.Join(base, "temp")
	for name, text := range map[string]string{
		"go.mod": "module x\n\ngo 1.24\n",
		"x.go":   "package x\n\n// Two is 2.\nfunc Two() int { return 2 }\n",
		"cmd.go": "//go:build ignore\n\npackage main\n\nfunc main() { println(\"built\") }\n",
		"x_test.go": `package x

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

func TestTwo(t *testing.T) {
	if Two() != 2 {
		t.Error("not 2")
	}
	if err := os.WriteFile(t.TempDir()+"/x", nil, 0o600); err != nil {
		t.Error(err)
	}
}

func TestServer(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	resp, err := http.Get(srv.URL)
	if err != nil || resp.StatusCode != 404 {
		t.Error(err)
	}
}
`,
		"server.py": `import http.server, threading, urllib.request, tempfile
tempfile.NamedTemporaryFile().write(b"x")
s = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=s.serve_forever, daemon=True).start()
print(urllib.request.urlopen("http://localhost:%d/server.py" % s.server_port).status)
`,
		"pool.py": `from multiprocessing import Pool
if __name__ == "__main__":
    with Pool(2) as p: print(sum(p.map(abs, [-1, -2])))
`,
		"server.js": `const http = require("http");
const s = http.createServer((q, r) => r.end("ok")).listen(0, "localhost", () =>
  http.get({port: s.address().port, host: "localhost"}, r => { console.log(r.statusCode); s.close(); process.exit(0); }));
`,
		"package.json": `{"name":"x","version":"1.0.0","scripts":{"test":"node -e 'console.log(42)'","serve":"node server.js"}}`,
		"Makefile":     "all:\n\t@echo made >out && cat out\n",
	} {
		if err := os.MkdirAll(ws, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(ws, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	// A cache of its own would take minutes to fill.
	roots, cache := []string{ws}, ""
	if out, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output(); err == nil {
		cache = strings.TrimSpace(string(out))
		roots = append(roots, cache)
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + temp, "TMPDIR=" + temp, "GOCACHE=" + cache, "GOFLAGS=-buildvcs=false",
		"GOTOOLCHAIN=local", "GOPROXY=off", "npm_config_cache=" + temp + "/npm", "npm_config_update_notifier=false", "PYTHONDONTWRITEBYTECODE=1",
	}
	for _, c := range []struct {
		script, want string
		own          bool
	}{
		{"make", "made", false},
		{"go build ./... && go run cmd.go", "built", false},
		{"go test -vet=off -run TestTwo .", "ok  \tx", false},
		{"go test -vet=off .", "ok  \tx", true},
		{"python3 pool.py", "3", true},
		{"python3 server.py 2>/dev/null", "200", true},
		{"npm test --silent", "42", false},
		{"npm run --silent serve", "200", true},
		{"busybox httpd -p 127.0.0.1:4711 -h . && busybox wget -q -O - http://127.0.0.1:4711/Makefile", "made", true},
	} {
		t.Run(c.script, func(t *testing.T) {
			if run.Info().Image {
				if c.script = strings.ReplaceAll(c.script, "busybox ", ""); !strings.HasPrefix(c.script, "httpd") {
					t.Skip("the image has no such programs")
				}
			} else if program, _, _ := strings.Cut(c.script, " "); program != "" {
				if _, err := exec.LookPath(program); err != nil {
					t.Skip(err)
				}
			}
			var out Buffer
			p, err := run.Start(t.Context(), &sandbox.Command{
				Args: []string{"/bin/sh", "-c", c.script}, Dir: ws, Env: env, Stdout: &out,
				Policy: sandbox.Policy{WriteRoots: roots, Temp: temp, NoNetwork: true},
			})
			if err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(time.Minute, func() { _ = p.Stop(0) }) // what is left shows in the result
			defer timer.Stop()
			exit, err := p.Wait()
			if err != nil {
				t.Error(err)
			}
			if err := p.Stop(sandbox.Grace); err != nil { // a server goes on
				t.Error(err)
			}
			switch did := exit.Code == 0 && strings.Contains(out.String(), c.want); {
			case c.own && !own:
				if did {
					t.Error("it is said not to work, and does")
				}
			case !did:
				t.Errorf("%s %s", exit, out.String())
			}
		})
	}
}
