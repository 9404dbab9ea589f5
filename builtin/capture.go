package builtin

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// Bounds of a command's output.
const (
	outputBytes = 30_000 // what the model sees at once: a quarter head, the rest tail
	outputHead  = outputBytes / 4
	outputTail  = outputBytes - outputHead
	spillMax    = 512 << 20 // what is kept in a file of one command
	floodBytes  = 100 << 20 // from which on a command that times out is ended
	sessionMax  = 1 << 30   // what is kept in the files of a session
	showMax     = 4 << 10   // what is shown at once while a command runs
	showEvery   = 250 * time.Millisecond
)

// quota is what a session's files have taken.
type quota struct{ used atomic.Int64 }

// take grants n bytes, or what is left of them.
func (q *quota) take(n int64) int64 {
	left := sessionMax - (q.used.Add(n) - n)
	if left >= n {
		return n
	}
	left = max(left, 0)
	q.used.Add(left - n)
	return left
}

// capture keeps the output of a command in bounded memory: its head, its end
// and, once there is more than the model sees at once, all of it in a file.
type capture struct {
	dir   func() (string, error) // where the file is made; nil is nowhere
	quota *quota
	show  func(string) // new output, as it comes; nil is nobody
	// filter is what output passes first; nil is nothing.
	filter io.WriteCloser

	mu    sync.Mutex
	head  []byte // the first outputHead bytes
	end   []byte // the last outputBytes bytes, or more
	total int64
	last  time.Time // when output last came
	path  string
	file  *os.File
	kept  int64 // bytes in the file
	why   string
	done  bool // there will be no more

	showMu sync.Mutex // held while showing, so that pieces stay in order
	fresh  []byte     // not shown yet; mu
	shown  time.Time  // when something was last shown; mu
}

// through has all output pass a filter first.
func (c *capture) through(filter func(io.Writer) io.WriteCloser) {
	if filter != nil {
		c.filter = filter(keeper{c})
	}
}

// keeper takes what has passed the filter.
type keeper struct{ c *capture }

func (k keeper) Write(p []byte) (int, error) { return k.c.keep(p) }

// Write never fails: a full disk must not end a command.
func (c *capture) Write(p []byte) (int, error) {
	if c.filter == nil {
		return c.keep(p)
	}
	_, _ = c.filter.Write(p) // keep never fails
	return len(p), nil
}

func (c *capture) keep(p []byte) (int, error) {
	now := time.Now()
	c.mu.Lock()
	if c.total+int64(len(p)) > outputBytes {
		c.spill(p)
	}
	if room := outputHead - len(c.head); room > 0 {
		c.head = append(c.head, p[:min(room, len(p))]...)
	}
	c.end = appendTail(c.end, p, outputBytes)
	c.total += int64(len(p))
	c.last = now
	due := false
	if c.show != nil {
		c.fresh = appendTail(c.fresh, p, showMax)
		due = now.Sub(c.shown) >= showEvery
	}
	c.mu.Unlock()
	if due {
		c.flush()
	}
	return len(p), nil
}

// appendTail appends p to b, of which the last n bytes at least are kept, and
// twice as many at most.
func appendTail(b, p []byte, n int) []byte {
	if len(p) >= n {
		return append(b[:0], p[len(p)-n:]...)
	}
	if len(b)+len(p) > 2*n {
		b = append(b[:0], b[len(b)+len(p)-n:]...)
	}
	return append(b, p...)
}

// flush shows what has come since it last did.
func (c *capture) flush() {
	if c.show == nil {
		return
	}
	c.showMu.Lock()
	defer c.showMu.Unlock()
	c.mu.Lock()
	n := len(c.fresh)
	if !c.done {
		n = whole(c.fresh)
	}
	b := append([]byte{}, c.fresh[max(0, n-showMax):n]...)
	c.fresh = append(c.fresh[:0], c.fresh[n:]...)
	if n > 0 {
		c.shown = time.Now()
	}
	c.mu.Unlock()
	if len(b) > 0 {
		c.show(clean(b))
	}
}

// spill writes p to the file. The first time, what came before goes first.
// c.mu is held.
func (c *capture) spill(p []byte) {
	if c.dir == nil || c.why != "" || c.path != "" && c.file == nil {
		return
	}
	if c.file == nil {
		if err := c.open(); err != nil {
			c.why = "it could not be kept: " + err.Error()
			return
		}
		c.put(c.end) // end has all of it until here
	}
	c.put(p)
}

func (c *capture) open() error {
	dir, err := c.dir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, "output-"+rand.Text()+".txt")
	if c.file, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	c.path = path
	return nil
}

func (c *capture) put(p []byte) {
	if c.why != "" || len(p) == 0 {
		return
	}
	n := min(int64(len(p)), spillMax-c.kept)
	if n < int64(len(p)) {
		c.why = fmt.Sprintf("%d MiB of one command are kept", spillMax>>20)
	}
	if got := c.quota.take(n); got < n {
		n = got
		c.why = fmt.Sprintf("%d MiB of one session are kept", sessionMax>>20)
	}
	w, err := c.file.Write(p[:n])
	c.kept += int64(w)
	if err != nil {
		c.why = "the rest could not be kept: " + err.Error()
	}
}

// text is the output as the model sees it, and whether something is left out.
func (c *capture) text() (s string, cutOff bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total <= outputBytes {
		s = clean(c.end)
		if len(s) <= outputBytes {
			return s, false
		}
		// What replaces bytes that are no text takes more room than they did.
		c.spill(nil)
		if c.done && c.file != nil {
			c.file.Close() // all of it was written, in one piece
			c.file = nil
		}
		h, t := cut(s, outputHead), cutFront(s, outputTail)
		return h + leftOut(int64(len(s)-len(h)-len(t))) + t, true
	}
	h := c.head[:whole(c.head)]
	t := c.end[len(c.end)-outputTail:]
	for i := 0; i < utf8.UTFMax-1 && len(t) > 0 && !utf8.RuneStart(t[0]); i++ {
		t = t[1:]
	}
	lost := c.total - int64(len(h)) - int64(len(t))
	return cut(clean(h), outputHead) + leftOut(lost) + cutFront(clean(t), outputTail), true
}

func leftOut(n int64) string { return fmt.Sprintf("\n[… %d bytes left out …]\n", n) }

// where says where the whole output is.
func (c *capture) where() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.path == "" && c.why != "":
		return "Of the whole output, " + c.why
	case c.path == "":
		return "The whole output was not kept"
	case c.why != "":
		return fmt.Sprintf("The first %d of %d bytes are in %s (%s): read it with Read or Grep", c.kept, c.total, c.path, c.why)
	}
	return fmt.Sprintf("All %d bytes are in %s: read it with Read or Grep", c.total, c.path)
}

// flooding reports whether there was more than anybody will read: a command
// that goes on like this is not worth a job.
func (c *capture) flooding() bool { return c.size() > floodBytes }

func (c *capture) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// quiet is how long no output has come, since began at most.
func (c *capture) quiet(began time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.After(began) {
		began = c.last
	}
	return time.Since(began)
}

func (c *capture) filePath() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.path
}

// since is a piece of what came after offset, and where the next one begins.
// What neither the file nor the memory has is skipped, and said so.
func (c *capture) since(offset int64) (s string, next int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	offset = min(offset, c.total)
	from := offset
	var b []byte
	if inMemory := c.total - int64(len(c.end)); offset >= inMemory {
		b = c.end[offset-inMemory:]
	} else if b = c.fromFile(offset); len(b) == 0 {
		from, b = inMemory, c.end
	}
	b = b[:min(len(b), outputBytes)]
	if !c.done || from+int64(len(b)) < c.total {
		b = b[:whole(b)]
	}
	next = from + int64(len(b))
	s = clean(b)
	if len(s) > outputBytes {
		h, t := cut(s, outputHead), cutFront(s, outputTail)
		s = h + leftOut(int64(len(s)-len(h)-len(t))) + t
	}
	if from > offset {
		s = fmt.Sprintf("[… %d bytes were not kept …]\n", from-offset) + s
	}
	return s, next
}

func (c *capture) fromFile(offset int64) []byte {
	if c.path == "" || offset >= c.kept {
		return nil
	}
	f, err := os.Open(c.path)
	if err != nil {
		return nil // removed by someone: what memory has must do
	}
	defer f.Close()
	b := make([]byte, min(outputBytes, c.kept-offset))
	n, err := f.ReadAt(b, offset)
	if err != nil && err != io.EOF {
		return nil
	}
	return b[:n]
}

// release takes what the filter keeps back.
func (c *capture) release() {
	if c.filter != nil {
		_ = c.filter.Close() // keep never fails
	}
}

// close is called when no more will come.
func (c *capture) close() {
	c.release()
	c.mu.Lock()
	c.done = true
	if c.file != nil {
		if err := c.file.Close(); err != nil && c.why == "" {
			c.why = "the rest could not be kept: " + err.Error()
		}
		c.file = nil
	}
	c.mu.Unlock()
	c.flush()
}
