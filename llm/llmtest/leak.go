package llmtest

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// leakWait is how long goroutines get to end after the test.
const leakWait = 3 * time.Second

// NoLeaks fails the test if goroutines that it started still run when it has
// ended, cleanups included: call it first. Idle connections of
// [http.DefaultTransport] are closed before it looks. It sees the goroutines of
// the whole process, so it is for tests that are not parallel.
func NoLeaks(t testing.TB) {
	t.Helper()
	before := goroutines()
	t.Cleanup(func() {
		if tr, ok := http.DefaultTransport.(interface{ CloseIdleConnections() }); ok {
			tr.CloseIdleConnections()
		}
		deadline := time.NewTimer(leakWait)
		defer deadline.Stop()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			var left []string
			for id, stack := range goroutines() {
				if _, ok := before[id]; !ok {
					left = append(left, stack)
				}
			}
			if len(left) == 0 {
				return
			}
			select {
			case <-tick.C:
			case <-deadline.C:
				t.Errorf("llmtest: %d goroutines are left:\n\n%s", len(left), strings.Join(left, "\n\n"))
				return
			}
		}
	})
}

// goroutines returns the stacks of all goroutines but the caller and those of
// the test framework and the runtime, by their id.
func goroutines() map[string]string {
	buf := make([]byte, 64<<10)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	out := map[string]string{}
	for i, stack := range strings.Split(string(buf), "\n\n") {
		head, _, _ := strings.Cut(stack, " [")
		if i == 0 || ignored(stack) {
			continue
		}
		out[head] = stack
	}
	return out
}

func ignored(stack string) bool {
	for _, s := range []string{"testing.tRunner", "testing.(*T).Run(", "testing.(*M).", "os/signal.", "runtime.ensureSigM", "runtime/trace", "testing.runFuzzing"} {
		if strings.Contains(stack, s) {
			return true
		}
	}
	return false
}
