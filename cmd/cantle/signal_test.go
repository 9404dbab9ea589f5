package main_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm/llmtest"
)

// signalled runs the program until ready, sends it these signals, and returns
// what it printed.
func (w *world) signalled(stdin io.Reader, ready <-chan struct{}, sigs []os.Signal, args ...string) (string, int) {
	w.t.Helper()
	cmd := w.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &errs
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	<-ready
	for _, s := range sigs {
		if err := cmd.Process.Signal(s); err != nil {
			w.t.Errorf("the signal %v: %v", s, err)
		}
	}
	_ = cmd.Wait()
	return out.String(), cmd.ProcessState.ExitCode()
}

// TestSignalsThatComeTogether: timeout(1) sends its signal to the program and to
// the program's group, so that it comes twice. That is one wish, and the run ends
// in order.
func TestSignalsThatComeTogether(t *testing.T) {
	for _, sigs := range [][]os.Signal{{os.Interrupt, os.Interrupt}, {syscall.SIGTERM, syscall.SIGTERM, syscall.SIGHUP}} {
		w := newWorld(t)
		ready := make(chan struct{}, 9)
		w.serve(llmtest.WireChat, func(*llmtest.Exchange) llmtest.Reply {
			ready <- struct{}{}
			return llmtest.Say("thinking aloud ").Stall()
		})
		out, code := w.signalled(nil, ready, sigs, "-o", "json", "go")
		doc := decode(t, out)
		if code < 130 || doc["status"] != "cancelled" || doc["termination_reason"] != "interrupted" || doc["session_id"] == nil || doc["usage"] == nil {
			t.Errorf("%v: exit %d, %s", sigs, code, out)
		}
	}
}

// TestSecondSignalEndsAtOnce, also where nobody reads what is printed.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, func(*llmtest.Exchange) llmtest.Reply {
		return llmtest.Say(strings.Repeat("thinking aloud ", 100_000)).Stall()
	})
	cmd := w.command("-o", "stream-json", "go")
	r, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, 1000)); err != nil { // and then no more
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = cmd.Process.Wait()
	}()
	for range 2 {
		<-time.After(300 * time.Millisecond)
		_ = cmd.Process.Signal(os.Interrupt)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		_ = cmd.Process.Kill()
		t.Error("it goes on")
	}
}

// TestSignalBeforeTheRun: while standard input is waited for, too.
func TestSignalBeforeTheRun(t *testing.T) {
	for _, args := range [][]string{{"-o", "json"}, {"-o", "json", "--input", "stream-json"}} {
		w := newWorld(t)
		w.use(llmtest.WireChat, "http://127.0.0.1:1")
		r, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer in.Close()
		// It has begun to read when there is room in the pipe again.
		if runtime.GOOS == "windows" {
			t.Skip("signals are those of POSIX")
		}
		ready := make(chan struct{})
		go func() {
			defer close(ready)
			_, _ = io.WriteString(in, strings.Repeat(" ", 1<<20))
		}()
		out, code := w.signalled(r, ready, []os.Signal{syscall.SIGTERM}, args...)
		if doc := decode(t, out); code != 143 || doc["status"] != "cancelled" || !strings.Contains(fmt.Sprint(doc["error"]), "terminated") {
			t.Errorf("%q: exit %d, %s", args, code, out)
		}
	}
}

// TestSignalWhileAFileIsWaitedFor: a pipe that nobody writes to is not waited
// for when the program is to end.
func TestSignalWhileAFileIsWaitedFor(t *testing.T) {
	if _, err := exec.LookPath("mkfifo"); err != nil {
		t.Skip("no named pipes here: ", err)
	}
	w := newWorld(t)
	w.use(llmtest.WireChat, "http://127.0.0.1:1")
	if out, err := exec.Command("mkfifo", filepath.Join(w.dir, "pipe")).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	ready := make(chan struct{})
	go func() { // a writer that writes nothing can come when there is a reader
		defer close(ready)
		for range 2000 {
			if f, err := os.OpenFile(filepath.Join(w.dir, "pipe"), os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				t.Cleanup(func() { f.Close() })
				return
			}
			<-time.After(5 * time.Millisecond)
		}
	}()
	out, code := w.signalled(nil, ready, []os.Signal{os.Interrupt}, "-o", "json", "--file", "pipe", "go")
	if doc := decode(t, out); code != 130 || doc["status"] != "cancelled" {
		t.Errorf("exit %d, %s", code, out)
	}
}
