package llmtest

import (
	"context"
	"io"
	"net/http"
	"time"
)

// sender writes a body piece by piece and breaks off where it is told.
type sender struct {
	w     http.ResponseWriter
	ctx   context.Context
	done  chan struct{}
	cut   int // events left; -1 for no cut
	bytes int // bytes left; -1 for no cut
	slow  time.Duration
}

func (o *sender) event(f string) bool {
	if o.cut == 0 {
		panic(http.ErrAbortHandler)
	}
	if o.cut > 0 {
		o.cut--
	}
	if !o.wait(o.slow) {
		return false
	}
	return o.send(f)
}

func (o *sender) send(f string) bool {
	broken := false
	if o.bytes >= 0 {
		if len(f) > o.bytes {
			f, broken = f[:o.bytes], true
		}
		o.bytes -= len(f)
	}
	_, err := io.WriteString(o.w, f)
	if flusher, ok := o.w.(http.Flusher); ok {
		flusher.Flush()
	}
	if broken {
		panic(http.ErrAbortHandler)
	}
	return err == nil
}

// wait is false if the client went away or the server closed meanwhile.
func (o *sender) wait(d time.Duration) bool {
	if d <= 0 {
		return o.ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-o.ctx.Done():
		return false
	case <-o.done:
		return false
	case <-timer.C:
		return true
	}
}

func (o *sender) stall() {
	select {
	case <-o.ctx.Done():
	case <-o.done:
	}
}
