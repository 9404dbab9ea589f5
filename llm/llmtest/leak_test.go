package llmtest_test

import (
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm/llmtest"
)

func TestNoLeaks(t *testing.T) {
	tb := &fakeTB{}
	llmtest.NoLeaks(tb)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() { <-done; close(ended) }()
	// The goroutine ends while the check waits for it: no error.
	tb.Cleanup(func() { close(done) })
	if got := tb.end(); got != "" {
		t.Errorf("it ended, but: %s", got)
	}
	<-ended
}

func TestNoLeaksNamesTheGoroutine(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for 3 s")
	}
	t.Parallel()
	tb := &fakeTB{}
	llmtest.NoLeaks(tb)
	done := make(chan struct{})
	defer close(done)
	go leakyFunction(done)
	if got := tb.end(); !strings.Contains(got, "leakyFunction") {
		t.Errorf("got %q", got)
	}
}

func leakyFunction(done chan struct{}) { <-done }
