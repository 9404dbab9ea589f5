// Command bench measures cantle against the floor, side by side in one run, and
// prints a table in Markdown. It talks to a server of its own on loopback.
//
//	go run ./bench
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// server plays a model that calls Read n times and then answers with deltas
// pieces of text.
type server struct {
	n, deltas int
	file      string
	tool      func(i int) string // the call as its name and arguments
	turn      atomic.Int64
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // what was sent is not what is measured here
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(format string, args ...any) { fmt.Fprintf(w, "data: "+format+"\n\n", args...) }
	say(`{"type":"message_start","message":{"id":"m","model":"m","usage":{"input_tokens":10,"output_tokens":1}}}`)
	stop := "end_turn"
	if i := int(s.turn.Add(1)); i <= s.n {
		stop = "tool_use"
		say(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"call_%d",%s}`, i, s.tool(i))
	} else {
		say(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
		for range s.deltas {
			say(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}`)
		}
	}
	say(`{"type":"content_block_stop","index":0}`)
	say(`{"type":"message_delta","delta":{"stop_reason":"%s"},"usage":{"output_tokens":5}}`, stop)
	say(`{"type":"message_stop"}`)
}

// figure is what some runs of a command took.
type figure struct {
	wall, cpu time.Duration // medians
	rss       int64         // the largest, in KiB
}

type bench struct {
	dir, cantle, floor, url string
	srv                     *server
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "cantle-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, cantle: filepath.Join(dir, "cantle"), floor: filepath.Join(dir, "floor")}
	for out, pkg := range map[string]string{b.cantle: "./cmd/cantle", b.floor: "./bench/floor"} {
		built := out + ".built"
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", built, pkg)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return err
		}
		// What the linker wrote lies in small pieces in the page cache, which costs
		// a start some milliseconds; an installed program is a copy.
		if err := install(built, out); err != nil {
			return err
		}
	}
	file := filepath.Join(dir, "file.txt")
	if err := os.WriteFile(file, []byte("one line of text, of no great length\n"), 0o600); err != nil {
		return err
	}
	b.srv = &server{file: file}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(l, b.srv) }()
	b.url = "http://" + l.Addr().String()
	fmt.Printf("%s, %s/%s, %d processors\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	fmt.Println("| what | cantle wall | cantle CPU | floor wall | floor CPU | CPU ratio | cantle memory |")
	fmt.Println("|---|---|---|---|---|---|---|")
	return b.all()
}

// install copies a program. No more of it is in memory than must be: the peak of
// what this process starts begins with its own.
func install(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func (b *bench) all() error {
	read := func(i int) string {
		return fmt.Sprintf(`"name":"Read","input":{"file_path":%q,"limit":%d}}`, b.srv.file, i)
	}
	shell := func(i int) string { return fmt.Sprintf(`"name":"Bash","input":{"command":"true %d"}}`, i) }
	for _, c := range []struct {
		what    string
		n, reps int
		deltas  int
		tool    func(int) string
		args    []string
		noFloor bool
	}{
		{"`cantle --version`", 0, 20, 1, read, []string{"--version"}, true},
		{"a run that is answered at once", 0, 15, 1, read, nil, false},
		{"the same, not recorded", 0, 15, 1, read, []string{"--no-session"}, false},
		{"20 turns with a read", 20, 7, 1, read, nil, false},
		{"100 turns with a read", 100, 5, 1, read, nil, false},
		{"1,000 turns with a read", 1000, 2, 1, read, nil, false},
		{"100 turns with a shell call", 100, 3, 1, shell, nil, false},
		{"5,000 deltas", 0, 5, 5000, read, nil, false},
	} {
		b.srv.n, b.srv.deltas, b.srv.tool = c.n, c.deltas, c.tool
		args := []string{
			"run", "--yes", "-m", "t:m", "--set", "providers.t.baseUrl=" + b.url, "--set", "providers.t.wire=anthropic",
			"--max-turns", "5000", "go",
		}
		if len(c.args) > 0 && c.args[0] == "--version" {
			args = c.args
		} else {
			args = append(args, c.args...)
		}
		mine, err := b.time(c.reps, b.cantle, args...)
		if err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
		if c.noFloor {
			fmt.Printf("| %s | %s | %s | | | | %d MiB |\n", c.what, ms(mine.wall), ms(mine.cpu), mine.rss>>10)
			continue
		}
		least, err := b.time(c.reps, b.floor, b.url, b.srv.file)
		if err != nil {
			return fmt.Errorf("%s: the floor: %w", c.what, err)
		}
		fmt.Printf("| %s | %s | %s | %s | %s | %.1f | %d MiB |\n", c.what, ms(mine.wall), ms(mine.cpu), ms(least.wall), ms(least.cpu),
			float64(mine.cpu)/float64(max(least.cpu, 1)), mine.rss>>10)
	}
	if err := sessions(1000, 20); err != nil {
		return err
	}
	return openLong(filepath.Join(b.dir, "long"))
}

// time runs a program some times, after once to warm up.
func (b *bench) time(reps int, prog string, args ...string) (figure, error) {
	var walls, cpus []time.Duration
	var f figure
	for i := range reps + 1 {
		b.srv.turn.Store(0)
		cmd := exec.CommandContext(context.Background(), prog, args...)
		cmd.Dir = b.dir
		cmd.Env = append(os.Environ(), "CANTLE_HOME="+filepath.Join(b.dir, "home"))
		cmd.Stderr = os.Stderr
		began := time.Now()
		if err := cmd.Run(); err != nil {
			return f, err
		}
		if i == 0 {
			continue
		}
		walls = append(walls, time.Since(began))
		cpus = append(cpus, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		f.rss = max(f.rss, peak(cmd.ProcessState))
	}
	slices.Sort(walls)
	slices.Sort(cpus)
	f.wall, f.cpu = walls[len(walls)/2], cpus[len(cpus)/2]
	return f, nil
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }
