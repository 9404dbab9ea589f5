package wire

import (
	"context"
	"io"
	"sync/atomic"
	"time"
)

// watch is the stall watchdog of one call. Its timer runs only while the call
// waits for the network, so that a slow consumer never looks like a stalled
// server, and cancels the call's context when it fires.
type watch struct {
	parent, ctx context.Context
	cancel      context.CancelFunc
	limit       time.Duration
	timer       *time.Timer
	state       atomic.Int32
}

const (
	idle int32 = iota
	waiting
	fired
)

func newWatch(parent context.Context, stall time.Duration) *watch {
	if stall == 0 {
		stall = DefaultStall
	}
	w := &watch{parent: parent, limit: stall}
	w.ctx, w.cancel = context.WithCancel(parent)
	return w
}

func (w *watch) start() {
	if w.limit < 0 {
		return
	}
	w.state.CompareAndSwap(idle, waiting)
	if w.timer == nil {
		w.timer = time.AfterFunc(w.limit, w.fire)
	} else {
		w.timer.Reset(w.limit)
	}
}

// touch restarts the time where it runs.
func (w *watch) touch() {
	if w.timer != nil && w.state.Load() == waiting {
		w.timer.Reset(w.limit)
	}
}

// stop ends the wait and reports whether the time was up.
func (w *watch) stop() bool {
	if w.timer == nil {
		return false
	}
	w.timer.Stop()
	return !w.state.CompareAndSwap(waiting, idle) && w.state.Load() == fired
}

func (w *watch) fire() {
	if w.state.CompareAndSwap(waiting, fired) {
		w.cancel()
	}
}

func (w *watch) close() {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.cancel()
}

// download is an answer's body.
type download struct {
	r     io.Reader
	w     *watch
	fired bool
}

func (d *download) Read(p []byte) (int, error) {
	d.w.start()
	n, err := d.r.Read(p)
	if d.w.stop() {
		d.fired = true
	}
	return n, err
}
