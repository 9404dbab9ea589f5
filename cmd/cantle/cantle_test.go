package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cantle-test-")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "cantle")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s\n", out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// world is a home and a project.
type world struct {
	t         *testing.T
	home, dir string
	env       []string
	model     []string
	builds    string // where the commands of a test may keep what they built
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, home: t.TempDir(), dir: t.TempDir()}
	cache, _ := exec.Command("go", "env", "GOCACHE").Output()
	mod, _ := exec.Command("go", "env", "GOMODCACHE").Output()
	w.builds = strings.TrimSpace(string(cache))
	w.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "CANTLE_HOME=" + filepath.Join(w.home, ".cantle"), "GOFLAGS=-buildvcs=false",
		"GOCACHE=" + w.builds, "GOMODCACHE=" + strings.TrimSpace(string(mod)), "TEST_API_KEY=sk-canary-0123456789",
	}
	return w
}

func (w *world) serve(wire string, p llmtest.Player) *llmtest.Server {
	w.t.Helper()
	s := llmtest.NewServer(w.t, p)
	w.use(wire, s.BaseURL(wire))
	return s
}

func (w *world) use(wire, base string) {
	w.model = []string{
		"-m", "test:m", "--set", "providers.test.baseUrl=" + base, "--set", "providers.test.wire=" + wire,
		"--set", "providers.test.apiKeyEnv=TEST_API_KEY", "--set", "models.test:m.context=200000",
		"--set", "sandbox.write=" + w.builds,
	}
}

func (w *world) write(name, text string) {
	w.t.Helper()
	f := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(f, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(program, append([]string{"run"}, append(w.model, args...)...)...)
	cmd.Dir, cmd.Env = w.dir, w.env
	return cmd
}

func (w *world) run(args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	cmd := w.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		w.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil || strings.Count(strings.TrimSpace(text), "\n") != 0 {
		t.Fatalf("standard output is not one JSON document: %v: %q", err, text)
	}
	return doc
}

// mender plays an agent that finds a failing test, reads what it is about,
// mends it and runs the test again, each step worked out from the last result.
func mender(t *testing.T, tests string) llmtest.Player {
	wrong := regexp.MustCompile(`(\w+\.go):?\d*: Add\(2, 3\) = (-?\d+), want (\d+)`)
	return func(e *llmtest.Exchange) llmtest.Reply {
		last, ok := e.LastResult()
		if !ok {
			return llmtest.Call("Bash", map[string]any{"command": tests, "description": "Run the tests"})
		}
		switch {
		case strings.Contains(last, "Updated "):
			return llmtest.Call("Bash", map[string]any{"command": tests + " && echo ALL GREEN"})
		case strings.Contains(last, "ALL GREEN"):
			return llmtest.Say("Mended: Add subtracted, and adds now.")
		case wrong.MatchString(last):
			return llmtest.Call("Grep", map[string]any{"pattern": "func Add", "output_mode": "files_with_matches"})
		case strings.Contains(last, "add.go") && !strings.Contains(last, "func Add"):
			name := regexp.MustCompile(`\S*add\.go`).FindString(last)
			return llmtest.Call("Read", map[string]any{"file_path": name})
		case strings.Contains(last, "return a - b"):
			name := ""
			for _, m := range e.Request.Messages {
				for _, c := range m.Parts.Calls() {
					var in struct {
						Path string `json:"file_path"`
					}
					if c.Name == "Read" && json.Unmarshal(c.Input, &in) == nil {
						name = in.Path
					}
				}
			}
			return llmtest.Call("Edit", map[string]any{"file_path": name, "old_string": "\treturn a - b\n", "new_string": "\treturn a + b\n"})
		}
		t.Errorf("the agent does not know what to make of %q", last)
		return llmtest.Say("lost")
	}
}

func TestMendsAFailingTest(t *testing.T) {
	const code = "package add\n\n// Add adds.\nfunc Add(a, b int) int {\n\treturn a - b\n}\n"
	const test = "package add\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif got := Add(2, 3); got != 5 {\n\t\tt.Errorf(\"Add(2, 3) = %d, want 5\", got)\n\t}\n}\n"
	for name, lay := range map[string]func(w *world){
		"CRLF": func(w *world) {
			w.write("go.mod", "module example.com/add\n\ngo 1.24\n")
			w.write("add.go", strings.ReplaceAll(code, "\n", "\r\n"))
			w.write("add_test.go", test)
		},
		"go.work": func(w *world) {
			w.write("go.work", "go 1.24\n\nuse (\n\t./m\n\t./other\n)\n")
			w.write("other/go.mod", "module example.com/other\n\ngo 1.24\n")
			w.write("other/other.go", "package other\n")
			w.write("m/go.mod", "module example.com/add\n\ngo 1.24\n")
			w.write("m/add.go", code)
			w.write("m/add_test.go", test)
		},
		"many files": func(w *world) {
			w.write("go.mod", "module example.com/add\n\ngo 1.24\n")
			w.write("inner/add.go", code)
			w.write("inner/add_test.go", test)
			n := 500
			if os.Getenv("CANTLE_SOAK") != "" {
				n = 50_000
			}
			for i := range n {
				w.write(fmt.Sprintf("data/%d/%d.txt", i%100, i), "nothing of note\n")
			}
		},
	} {
		for _, wire := range []string{llmtest.WireAnthropic, llmtest.WireChat} {
			t.Run(name+" "+wire, func(t *testing.T) {
				w := newWorld(t)
				lay(w)
				tests := "go test ./..."
				if name == "go.work" {
					tests = "go test ./m/..."
				}
				s := w.serve(wire, mender(t, tests))
				out, errs, code := w.run("--yes", "--json", "make the tests pass")
				doc := decode(t, out)
				if code != 0 || doc["status"] != "completed" || doc["num_turns"] != 6.0 || doc["tool_calls"] != 5.0 || errs != "" {
					t.Fatalf("exit %d, %s\n%s", code, out, errs)
				}
				for i, e := range s.Requests() {
					if strings.Contains(string(e.Body), "sk-canary") {
						t.Errorf("request %d holds the key", i)
					}
					if i > 0 {
						if err := e.Extends(s.Requests()[i-1]); err != nil {
							t.Errorf("request %d: %v", i+1, err)
						}
					}
				}
				if name == "CRLF" {
					b, _ := os.ReadFile(filepath.Join(w.dir, "add.go"))
					if want := strings.ReplaceAll(strings.Replace(codeOf(t), "a - b", "a + b", 1), "\n", "\r\n"); string(b) != want {
						t.Errorf("%q", b)
					}
				}
				journal, err := filepath.Glob(filepath.Join(w.home, ".cantle/sessions/*.jsonl"))
				if err != nil || len(journal) != 1 {
					t.Fatalf("%d journals, %v", len(journal), err)
				}
				b, _ := os.ReadFile(journal[0])
				if strings.Contains(string(b), "sk-canary") || !strings.Contains(string(b), "ALL GREEN") {
					t.Error("the journal holds a key, or lacks a result")
				}
			})
		}
	}
}

func codeOf(*testing.T) string {
	return "package add\n\n// Add adds.\nfunc Add(a, b int) int {\n\treturn a - b\n}\n"
}

func TestErrorsNameTheWayOut(t *testing.T) {
	for name, c := range map[string]struct {
		player llmtest.Player
		args   []string
		base   string
		code   int
		want   []string
	}{
		"overflow": {
			player: llmtest.Play(t, llmtest.Fail(&llm.Error{Kind: llm.KindContextOverflow, Message: "prompt is too long: 300000 tokens > 200000 maximum"})),
			code:   1, want: []string{"test:m", "too long", "new session"},
		},
		"cut":           {player: llmtest.Play(t, llmtest.Say("half an answer").Cut()), code: 1, want: []string{"test:m", "truncated", "--continue"}},
		"busy for once": {player: llmtest.Play(t, llmtest.Status(529, llmtest.RetryAfter(10*time.Millisecond)), llmtest.Say("fine")), code: 0},
		"wrong key":     {player: llmtest.Play(t, llmtest.Status(401, http.Header{})), code: 1, want: []string{"test:m", "auth", "doctor"}},
		"unreachable":   {base: "http://127.0.0.1:1", code: 1, want: []string{"test:m", "127.0.0.1:1", "network"}, args: []string{"--timeout", "30s"}},
		"no model":      {args: []string{"-m", ""}, code: 2, want: []string{"CANTLE_MODEL", "demo:offline"}},
		"odd model":     {args: []string{"-m", "nope"}, code: 2, want: []string{"provider:model"}},
		"odd provider":  {args: []string{"-m", "nope:x"}, code: 2, want: []string{"providers.nope", "baseUrl"}},
		"missing key":   {args: []string{"-m", "anthropic:claude-x"}, code: 2, want: []string{"ANTHROPIC_API_KEY"}},
		"no price":      {args: []string{"--max-cost", "0.10"}, code: 2, want: []string{"price", "--max-tokens"}},
		"odd setting":   {args: []string{"--set", "nope=1"}, code: 2, want: []string{"--set", "nope"}},
		"odd flag":      {args: []string{"--nope"}, code: 2, want: []string{"--nope"}},
		"odd mode":      {args: []string{"--mode", "nope"}, code: 2, want: []string{"acceptEdits"}},
		"no session":    {args: []string{"--resume", "nope1234"}, code: 2, want: []string{"nope1234"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			switch {
			case c.player != nil:
				w.serve(llmtest.WireAnthropic, c.player).Tolerate()
			case c.base != "":
				w.use(llmtest.WireAnthropic, c.base)
			default:
				w.use(llmtest.WireAnthropic, "http://127.0.0.1:1")
			}
			out, errs, code := w.run(append(c.args, "hello")...)
			if code != c.code {
				t.Errorf("exit %d, want %d: %s", code, c.code, errs)
			}
			if code == 1 || code == 2 {
				if out != "" {
					t.Errorf("standard output has %q", out)
				}
			}
			for _, s := range c.want {
				if !strings.Contains(errs, s) {
					t.Errorf("%q does not say %q", errs, s)
				}
			}
			if strings.Contains(errs, "sk-canary") {
				t.Error("the key was printed")
			}
			if code == 2 {
				doc, _, _ := w.run(append(c.args, "--json", "hello")...)
				if !strings.Contains(strings.Join(c.args, " "), "--nope") {
					if d := decode(t, doc); d["status"] != "failed" || d["error"] == nil {
						t.Errorf("%s", doc)
					}
				}
			}
		})
	}
}

// interrupt starts the program, waits until it printed what is waited for, and
// sends the signal.
func interrupt(t *testing.T, w *world, sig os.Signal, until string, args ...string) (string, int) {
	t.Helper()
	cmd := w.command(append([]string{"--output", "stream-json"}, args...)...)
	r, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	buf := make([]byte, 4096)
	sent := false
	for {
		n, err := r.Read(buf)
		out.Write(buf[:n])
		if !sent && strings.Contains(out.String(), until) {
			sent = true
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil {
			break
		}
	}
	_ = cmd.Wait()
	if !sent {
		t.Fatalf("%q never came: %s", until, out.String())
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func TestInterruptedRunsCanBeContinued(t *testing.T) {
	sleep := fmt.Sprintf("sleep 9%07d", os.Getpid()) // of this test alone
	for name, c := range map[string]struct {
		first llmtest.Reply
		until string
		sig   os.Signal
		code  int
	}{
		"Ctrl-C in mid-stream": {llmtest.Say("thinking aloud ").Stall(), `"text_delta"`, os.Interrupt, 130},
		"SIGTERM in mid-tool":  {llmtest.Call("Bash", map[string]any{"command": "setsid " + sleep + " & echo started; " + sleep}), `started`, syscall.SIGTERM, 143},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.serve(llmtest.WireAnthropic, llmtest.Play(t, c.first, llmtest.Say("going on")))
			out, code := interrupt(t, w, c.sig, c.until, "--yes", "go")
			lines := strings.Split(strings.TrimSpace(out), "\n")
			var doc map[string]any
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &doc); err != nil || code != c.code || doc["termination_reason"] != "interrupted" {
				t.Fatalf("exit %d, %s (%v)", code, lines[len(lines)-1], err)
			}
			if ps, _ := exec.Command("pgrep", "-f", sleep).Output(); len(bytes.TrimSpace(ps)) > 0 {
				t.Errorf("processes are left: %s", ps)
			}
			text, errs, code := w.run("--continue", "go on")
			if code != 0 || strings.TrimSpace(text) != "going on" {
				t.Errorf("exit %d, %q, %s", code, text, errs)
			}
		})
	}
}

// TestKilledAnywhere kills runs with no warning at random moments: each
// continues with a request that the strict server takes.
func TestKilledAnywhere(t *testing.T) {
	n := 12
	if os.Getenv("CANTLE_SOAK") != "" {
		n = 200
	}
	rnd := rand.New(rand.NewPCG(7, 7))
	w := newWorld(t)
	w.write("f.txt", "some text\n")
	turn := 0
	w.serve(llmtest.WireAnthropic, func(e *llmtest.Exchange) llmtest.Reply {
		turn++
		if strings.Contains(e.LastText(), "the end") {
			return llmtest.Say("over")
		}
		if turn%2 == 0 {
			return llmtest.Call("Bash", map[string]any{"command": fmt.Sprintf("echo %d", turn)})
		}
		return llmtest.Call("Read", map[string]any{"file_path": "f.txt", "limit": turn})
	})
	for i := range n {
		args := []string{"--yes", "--max-turns", "1000", "work"}
		if i > 0 {
			args = append([]string{"--continue"}, args...)
		}
		cmd := w.command(append(args, "-o", "stream-json")...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// The moment is counted in what it did, since machines differ, and then
		// somewhere in what it does next.
		lines, last := bufio.NewReader(out), ""
		for range 3 + rnd.IntN(60) {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("run %d ended by itself: %v, after %s", i+1, err, last)
			}
			last = line
		}
		<-time.After(time.Duration(rnd.IntN(3000)) * time.Microsecond)
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	}
	out, errs, code := w.run("--continue", "--yes", "the end")
	if code != 0 || strings.TrimSpace(out) != "over" {
		t.Fatalf("exit %d, %q, %s", code, out, errs)
	}
}

func TestStandIn(t *testing.T) {
	answers := map[string]string{}
	for name, line := range map[string]string{"a": "This package measures the tides.", "b": "This tool folds paper cranes."} {
		w := newWorld(t)
		w.write("README.md", "# "+name+"\n\n"+line+"\n")
		w.write("main.go", "package main\n\nfunc main() {}\n")
		w.model = []string{"-m", "demo:offline"}
		out, errs, code := w.run("what does this project do?")
		if code != 0 || !strings.Contains(out, line) || !strings.Contains(out, "stand-in") || errs != "" {
			t.Errorf("exit %d, %s, %s", code, out, errs)
		}
		answers[name] = out
		doc, _, _ := w.run("--json", "hi")
		if d := decode(t, doc); d["stand_in"] != true {
			t.Errorf("%s", doc)
		}
	}
	if answers["a"] == answers["b"] {
		t.Error("two projects got one answer")
	}
}
