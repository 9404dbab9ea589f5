//go:build unix

package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/sandboxtest"
	"github.com/cantle-dev/cantle/tool"
)

// desk is Bash and Jobs over one table.
type desk struct {
	t          testing.TB
	dir        string
	out        string
	table      *builtin.JobTable
	bash, jobs tool.Tool
}

func newDesk(t testing.TB, change ...func(*builtin.Options)) *desk {
	run := sandbox.Local(sandbox.LocalOptions{})
	t.Cleanup(func() {
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	})
	d := &desk{t: t, dir: t.TempDir(), out: filepath.Join(t.TempDir(), "outputs"), table: builtin.NewJobs()}
	o := builtin.Options{Runner: run, Jobs: d.table, OutputDir: func(string) (string, error) { return d.out, nil }}
	for _, c := range change {
		c(&o)
	}
	d.bash, d.jobs = builtin.Bash(o), builtin.Jobs(o)
	return d
}

type outcome struct {
	builtin.CommandDetail
	text string
	took time.Duration
}

func input(in map[string]any) json.RawMessage {
	b, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return b
}

func (d *desk) call(ctx context.Context, in map[string]any) (outcome, error) {
	began := time.Now()
	c := &tool.Call{Name: "Bash", Dir: d.dir, Input: input(in)}
	access, err := d.bash.Spec().Access(ctx, c)
	if err != nil {
		return outcome{}, err
	}
	c.Access = access
	res, err := tool.Run(ctx, d.bash, c)
	o := outcome{took: time.Since(began)}
	if err != nil {
		return o, err
	}
	if res.IsError {
		return o, fmt.Errorf("an error result: %v", res.Parts)
	}
	o.text = res.Parts.Text()
	return o, json.Unmarshal(res.Detail, &o.CommandDetail)
}

func (d *desk) run(command string) outcome {
	d.t.Helper()
	return d.with(map[string]any{"command": command})
}

func (d *desk) with(in map[string]any) outcome {
	d.t.Helper()
	o, err := d.call(d.t.Context(), in)
	if err != nil {
		d.t.Fatalf("%v: %v", in, err)
	}
	return o
}

func (d *desk) job(in map[string]any) string {
	d.t.Helper()
	res, err := tool.Run(d.t.Context(), d.jobs, &tool.Call{Name: "Jobs", Dir: d.dir, Input: input(in)})
	if err != nil {
		return "error: " + err.Error()
	}
	return res.Parts.Text()
}

func (d *desk) pid() int { d.t.Helper(); return sandboxtest.ReadPID(d.t, filepath.Join(d.dir, "pid")) }

func TestBashResults(t *testing.T) {
	d := newDesk(t)
	for _, c := range []struct {
		command, text string
		code          int
		signal        string
	}{
		{"echo hi", "hi", 0, ""},
		{"true", "(no output)", 0, ""},
		{"echo a; echo b >&2; exit 3", "a\nb\n[exit code 3]", 3, ""},
		{"false", "(no output)\n[exit code 1]", 1, ""},
		{"exit 143", "(no output)\n[exit code 143]", 143, ""},
		{"kill -TERM $$", "(no output)\n[terminated by SIGTERM]", 143, "SIGTERM"},
		{"kill -SEGV $$", "(no output)\n[terminated by SIGSEGV]", 139, "SIGSEGV"},
		{"cat", "(no output)", 0, ""},
		{"read x", "(no output)\n[exit code 1]", 1, ""},
		{"(read x </dev/tty) 2>/dev/null", "(no output)\n[exit code 1]", 1, ""},
		{`printf 'a\0b\351\033[31mred\033[0m\r\n\033]0;title\007end'`, "a\uFFFDb\uFFFDred\nend", 0, ""},
		{`printf '\033]never ended\nnext\033[1'`, "\nnext", 0, ""},
		{"nosuchcommand 2>/dev/null", "(no output)\n[exit code 127]", 127, ""},
		{"cd / && pwd", "/", 0, ""},
		{"x=1; export BASH_ENV=/nonexistent", "(no output)", 0, ""},
	} {
		o := d.run(c.command)
		if o.text != c.text || o.ExitCode == nil || *o.ExitCode != c.code || o.Signal != c.signal || o.TimedOut || o.Truncated || o.Job != "" || o.Command != c.command {
			t.Errorf("%s: %q %+v, want %q", c.command, o.text, o.CommandDetail, c.text)
		}
	}
	if o := d.run("pwd; echo [$x]"); o.text != d.dir+"\n[]" {
		t.Errorf("a directory or a variable lasted: %q", o.text)
	}
	if ents, err := os.ReadDir(d.out); err == nil && len(ents) > 0 {
		t.Errorf("short outputs were written to files: %v", ents)
	}
}

func TestBashRunsWhatWasDecidedOn(t *testing.T) {
	d := newDesk(t)
	c := &tool.Call{Name: "Bash", Dir: d.dir, Input: input(map[string]any{"command": "echo input"}), Access: []tool.Access{{Op: tool.Exec, Target: "echo decided"}}}
	res, err := tool.Run(t.Context(), d.bash, c)
	if err != nil || res.Parts.Text() != "decided" {
		t.Errorf("%v %v", res, err)
	}
	for _, bad := range [][]tool.Access{{}, {{Op: tool.Read, Target: "/x"}}} {
		c.Access = bad
		if _, err := tool.Run(t.Context(), d.bash, c); err == nil {
			t.Errorf("%v was run", bad)
		}
	}
	p, err := d.bash.(tool.Previewer).Preview(t.Context(), &tool.Call{Input: input(map[string]any{"command": "a\nb\nc"})})
	if err != nil || p.Text != "a\nb\nc" || p.Title != "a …" {
		t.Errorf("%+v %v", p, err)
	}
}

func TestBashRefuses(t *testing.T) {
	d := newDesk(t)
	for command, want := range map[string]string{
		" \n": "empty", "a\x00b": "NUL", strings.Repeat("x", 121<<10): "write a script",
	} {
		if _, err := d.call(t.Context(), map[string]any{"command": command}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", command, err)
		}
	}
	if o := d.run("echo " + strings.Repeat("x", 100<<10) + " | wc -c"); o.text != strconv.Itoa(100<<10+1) {
		t.Errorf("a long command: %q", o.text)
	}
	if err := os.Remove(d.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := d.call(t.Context(), map[string]any{"command": "true"}); err == nil || !strings.Contains(err.Error(), d.dir+" does not exist") {
		t.Errorf("a deleted directory: %v", err)
	}
}

func TestBashReturnsAndListsWhatItLeft(t *testing.T) {
	d := newDesk(t)
	for i, command := range []string{
		"sleep 300 & echo $! >pid; echo hi",
		"setsid sh -c 'echo $$ >pid; exec sleep 300' & until [ -s pid ]; do :; done; echo hi",
		"nohup sleep 300 >/dev/null 2>&1 & disown; echo $! >pid; echo hi",
	} {
		os.Remove(filepath.Join(d.dir, "pid"))
		o := d.run(command)
		pid, id := d.pid(), fmt.Sprintf("j%d", i+1)
		if o.took > time.Second || !strings.HasPrefix(o.text, "hi\n[It left running pid ") || o.Job != id || !strings.Contains(o.text, strconv.Itoa(pid)) {
			t.Errorf("%s: after %v: %s %+v", command, o.took, o.text, o.CommandDetail)
		}
		if list := d.job(map[string]any{"action": "list"}); !strings.Contains(list, id+": ended: exit code 0; left running: pid "+strconv.Itoa(pid)) {
			t.Errorf("%s: listed as %s", command, list)
		}
		if s := d.job(map[string]any{"action": "kill", "id": id}); !strings.Contains(s, "(no new output)") || strings.Contains(s, "left running") {
			t.Errorf("kill: %s", s)
		}
		if sandboxtest.Alive(pid) {
			t.Errorf("%s: survived", command)
		}
	}
}

func TestBashCancel(t *testing.T) {
	d := newDesk(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := d.call(ctx, map[string]any{"command": "trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo $$ >pid; while :; do sleep 300; done' &); sleep 300; sleep 300"})
		done <- err
	}()
	pid := d.pid()
	began := time.Now()
	cancel()
	err := <-done
	if took := time.Since(began); took > 500*time.Millisecond || sandboxtest.Alive(pid) {
		t.Errorf("alive %v after %v", sandboxtest.Alive(pid), took)
	}
	if err == nil || !strings.Contains(err.Error(), "cancel") {
		t.Errorf("error %v", err)
	}
	if got := d.table.List(""); len(got) != 0 {
		t.Errorf("jobs %+v", got)
	}
}

func TestBashTimeOutMakesAJob(t *testing.T) {
	d := newDesk(t)
	o := d.with(map[string]any{"command": "echo one; until [ -e go ]; do sleep 0.01; done; echo two; exit 4", "timeout_ms": 100})
	if !o.TimedOut || o.Job != "j1" || o.ExitCode != nil || !strings.HasPrefix(o.text, "one\n[It has not ended after 100ms") {
		t.Fatalf("%q %+v", o.text, o.CommandDetail)
	}
	if s := d.job(map[string]any{"action": "read", "id": "j1"}); !strings.HasPrefix(s, "(no new output)\n[j1 has been running") {
		t.Errorf("read: %s", s)
	}
	if got := d.table.Finished(""); len(got) != 0 {
		t.Errorf("finished: %+v", got)
	}
	if err := os.WriteFile(filepath.Join(d.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sandboxtest.Until(t, "the job's end", func() bool { return len(d.table.List("")[0].PIDs) == 0 && d.table.List("")[0].Exit != nil })
	var got []builtin.Job
	sandboxtest.Until(t, "a finished job", func() bool { got = d.table.Finished(""); return len(got) > 0 })
	if got[0].ID != "j1" || got[0].Exit.Code != 4 || got[0].Status != "ended: exit code 4" {
		t.Errorf("%+v", got)
	}
	if again := d.table.Finished(""); len(again) != 0 {
		t.Errorf("told twice: %+v", again)
	}
	if s := d.job(map[string]any{"action": "wait", "id": "j1"}); s != "two\n[j1 ended: exit code 4; next offset 8]" {
		t.Errorf("wait: %s", s)
	}
	if s := d.job(map[string]any{"action": "read", "id": "j1", "offset": 0}); !strings.HasPrefix(s, "one\ntwo\n[") {
		t.Errorf("read from 0: %s", s)
	}
}

func TestBashFloodIsEndedByTheTimeOut(t *testing.T) {
	d := newDesk(t)
	// Until it has printed much there is no knowing that it is a flood.
	o := d.with(map[string]any{"command": "yes", "timeout_ms": 1500})
	if !o.TimedOut || o.Job != "" || !strings.Contains(o.text, "was ended, since it had printed") {
		t.Errorf("%.100q … %q %+v", o.text, o.text[max(0, len(o.text)-300):], o.CommandDetail)
	}
	if list := d.job(map[string]any{"action": "list"}); list != "There are no jobs." {
		t.Error(list)
	}
}

// However much comes, memory does not grow, the model sees the two ends, and
// the file has all of it up to its bound.
func TestBashLargeOutput(t *testing.T) {
	sizes := []int{120_000_000}
	if os.Getenv("CANTLE_SOAK") == "1" {
		sizes = []int{500_000_000, 600_000_000}
	}
	for _, size := range sizes {
		d := newDesk(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		o := d.run(fmt.Sprintf("echo first; yes 0123456789 | head -c %d; echo last", size))
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 16<<20 {
			t.Errorf("memory grew by %d bytes", grown)
		}
		t.Logf("%d MB in %v", size/1_000_000, o.took)
		kept, where := int64(size)+11, fmt.Sprintf("last\n[All %d bytes are in ", size+11)
		if kept > 512<<20 {
			kept, where = 512<<20, "last\n[The first 536870912 of "
		}
		if len(o.text) > 30_000+400 || !strings.HasPrefix(o.text, "first\n") || !strings.Contains(o.text, where) {
			t.Errorf("%d bytes: %.20q … %q", len(o.text), o.text, o.text[max(0, len(o.text)-300):])
		}
		if !o.Truncated || o.Bytes != int64(size)+11 || filepath.Dir(o.Output) != d.out {
			t.Errorf("%+v", o.CommandDetail)
		}
		fi, err := os.Stat(o.Output)
		if err != nil || fi.Size() != kept || fi.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", fi, err)
		}
	}
}

func TestBashOutputFile(t *testing.T) {
	d := newDesk(t)
	for _, command := range []string{
		"seq 1 20000",
		"seq 1 20000 >&2",
		"head -c 20000 /dev/zero", // short, but not once it can be shown
		"i=0; while [ $i -lt 4000 ]; do printf 'zwölf é€😀'; i=$((i+1)); done",
	} {
		o := d.run(command)
		if !o.Truncated || len(o.text) > 30_400 || !strings.Contains(o.text, "bytes left out") || !strings.Contains(o.text, fmt.Sprintf("[All %d bytes are in %s: ", o.Bytes, o.Output)) {
			t.Errorf("%s: %d bytes, …%q %+v", command, len(o.text), o.text[max(0, len(o.text)-300):], o.CommandDetail)
			continue
		}
		b, err := os.ReadFile(o.Output)
		if err != nil || int64(len(b)) != o.Bytes {
			t.Errorf("%s: file of %d bytes, %v", command, len(b), err)
		}
		if strings.HasPrefix(command, "i=") && strings.Contains(o.text, "\uFFFD") {
			t.Errorf("cut through a rune")
		}
	}
	none := newDesk(t, func(o *builtin.Options) { o.OutputDir = nil })
	if o := none.run("seq 1 20000"); !strings.HasSuffix(o.text, "[The whole output was not kept.]") || o.Output != "" {
		t.Errorf("no folder: %q", o.text[len(o.text)-100:])
	}
	bad := newDesk(t, func(o *builtin.Options) { o.OutputDir = func(string) (string, error) { return "/dev/null/x", nil } })
	if o := bad.run("seq 1 20000"); !strings.Contains(o.text, "it could not be kept: ") || !strings.Contains(o.text, "\n20000\n[") {
		t.Errorf("a bad folder: %q", o.text[len(o.text)-100:])
	}
}

func TestBashEnvironment(t *testing.T) {
	// The tools read nothing by themselves.
	t.Setenv("LC_MINE", "canary-process")
	env := []string{"PATH=/usr/bin:/bin", "HOME=/somewhere", "LC_ALL=C.UTF-8", "GOPROXY=https://user:canary@proxy.example/,direct", "no equals sign", "=canary"}
	for _, name := range []string{"ANTHROPIC_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "XDG_SECRET", "LC_TOKEN", "MY_OWN_SETTING", "VERTEX_CRED", "GOFLAGS", "BASH_ENV", "ENV", "PS4", "LD_PRELOAD", "BASH_FUNC_ls%%", "COMSPEC_KEY", "LC_API_KEY"} {
		env = append(env, name+"=canary-"+name)
	}
	// A key is one under whatever name it stands.
	for i, v := range []string{"sk-ant-canary0123456789abcdef", "ghp_canary0123456789abcdefghijklmnopqrst", "AKIACANARY0123456789"} {
		env = append(env, fmt.Sprintf("XDG_%d=%s", i, v))
	}
	d := newDesk(t, func(o *builtin.Options) {
		o.Environ = env
		o.Env = map[string]string{"ADDED": "yes", "ASKED_TOKEN": "canary-asked", "GOFLAGS2": "canary-hidden", "ADDED_TOO": "sk-proj-canary0123456789abcdef", "BASH_ENV": "canary-file", "BASH_FUNC_ls%%": "() { echo canary-func; }", "PAGER": "more"}
		o.Hidden = []string{"GOFLAGS", "GOFLAGS2"}
	})
	o := d.run("env; tr '\\0' '\\n' </proc/$PPID/environ 2>/dev/null; ls")
	if strings.Contains(strings.ToLower(o.text), "canary") {
		t.Errorf("a secret came through:\n%s", o.text)
	}
	for _, want := range []string{"PATH=/usr/bin:/bin", "HOME=/somewhere", "LC_ALL=C.UTF-8", "ADDED=yes", "PAGER=more", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "EDITOR=false", "VISUAL=false", "GIT_PAGER=cat", "NO_COLOR=1"} {
		if !strings.Contains("\n"+o.text, "\n"+want) {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestBashManyAtOnce(t *testing.T) {
	d := newDesk(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			command := fmt.Sprintf("seq 1 %d | tail -1; echo %d >&2", 20000+i, i)
			o, err := d.call(context.WithoutCancel(t.Context()), map[string]any{"command": command})
			if err != nil || o.text != fmt.Sprintf("%d\n%d", 20000+i, i) {
				t.Errorf("%s: %q %v", command, o.text, err)
			}
		})
	}
	wg.Wait()
}

func TestBashProgress(t *testing.T) {
	d := newDesk(t)
	var mu sync.Mutex
	var shown strings.Builder
	c := &tool.Call{Name: "Bash", Dir: d.dir, Input: input(map[string]any{"command": "echo one; until [ -e go ]; do sleep 0.01; done; echo two"})}
	c.Progress = func(p llm.Part) {
		mu.Lock()
		shown.WriteString(p.(llm.Text).Text)
		mu.Unlock()
		_ = os.WriteFile(filepath.Join(d.dir, "go"), nil, 0o600) // else the test ends by its time-out
	}
	if _, err := tool.Run(t.Context(), d.bash, c); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if shown.String() != "one\ntwo\n" {
		t.Errorf("shown %q", shown.String())
	}
}

func BenchmarkBashTrue(b *testing.B) {
	d := newDesk(b)
	for b.Loop() {
		d.run("true")
	}
}
