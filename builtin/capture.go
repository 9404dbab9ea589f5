package builtin

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Bounds of a command's output.
const (
	outputBytes = 30_000 // what the model sees at once: a quarter head, the rest tail
	outputHead  = outputBytes / 4
	outputTail  = outputBytes - outputHead
	spillMax    = 100 << 20 // what is kept in a file
)

// capture keeps the output of a command in bounded memory: its head, its tail
// and, once there is more, all of it in a file up to spillMax.
type capture struct {
	dir  func() (string, error) // for the file; nil is none
	show func(string)           // new output, as it comes; nil is none

	mu    sync.Mutex
	head  []byte
	ring  []byte // the last outputTail bytes
	total int64
	file  *os.File
	path  string
	full  bool // the file has all that it may
	err   error
	last  time.Time // when output last came
	told  time.Time // when it was last shown
	fresh []byte    // not shown yet
}

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	c.last = time.Now()
	c.spill(p)
	if room := outputHead - len(c.head); room > 0 {
		c.head = append(c.head, p[:min(room, n)]...)
	}
	if len(p) >= outputTail {
		c.ring = append(c.ring[:0], p[len(p)-outputTail:]...)
	} else {
		c.ring = append(c.ring, p...)
		if len(c.ring) > 2*outputTail {
			c.ring = append(c.ring[:0], c.ring[len(c.ring)-outputTail:]...)
		}
	}
	c.total += int64(n)
	c.tell(p)
	return n, nil
}

// spill writes to the file, from the moment that the window would no longer
// hold everything.
func (c *capture) spill(p []byte) {
	if c.dir == nil || c.full || c.err != nil || c.total+int64(len(p)) <= outputTail {
		return
	}
	if c.file == nil {
		dir, err := c.dir()
		if err != nil {
			c.err = err
			return
		}
		var b [8]byte
		if _, c.err = rand.Read(b[:]); c.err != nil {
			return
		}
		c.path = filepath.Join(dir, "output-"+hex.EncodeToString(b[:])+".txt")
		if c.file, c.err = os.OpenFile(c.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); c.err != nil {
			return
		}
		if _, c.err = c.file.Write(c.ring); c.err != nil { // all that came before
			return
		}
	}
	if room := spillMax - c.total; int64(len(p)) > room {
		p = p[:max(room, 0)]
		c.full = true
	}
	_, c.err = c.file.Write(p)
}

// tell shows new output, four times a second at most.
func (c *capture) tell(p []byte) {
	if c.show == nil {
		return
	}
	c.fresh = append(c.fresh, p...)
	if len(c.fresh) > 4096 {
		c.fresh = c.fresh[len(c.fresh)-4096:]
	}
	if now := time.Now(); now.Sub(c.told) > 250*time.Millisecond {
		c.told = now
		text := printable(strings.ReplaceAll(string(c.fresh), "\r", "\n"))
		c.fresh = c.fresh[:0]
		c.show(text)
	}
}

// text is the output as the model sees it.
func (c *capture) text() (s string, cutOff bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tail := c.ring
	if len(tail) > outputTail {
		tail = tail[len(tail)-outputTail:]
	}
	switch {
	case c.total <= int64(len(tail)):
		return clean(tail), false
	case c.total <= int64(outputHead+len(tail)):
		from := int64(len(tail)) - (c.total - int64(len(c.head)))
		return clean(append(append([]byte{}, c.head...), tail[from:]...)), false
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	head := cut(string(c.head), outputHead)
	lost := c.total - int64(len(head)) - int64(len(tail))
	return clean([]byte(head)) + fmt.Sprintf("\n[… %d bytes left out …]\n", lost) + clean(tail), true
}

// where says where the whole output is.
func (c *capture) where() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return "The whole output could not be kept: " + c.err.Error()
	case c.path == "":
		return ""
	case c.full:
		return fmt.Sprintf("The first %d MiB of the output are in %s", spillMax>>20, c.path)
	}
	return "The whole output is in " + c.path
}

func (c *capture) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// since is what came after offset, as far as the window has it, and the next
// offset.
func (c *capture) since(offset int64) (string, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	start := c.total - int64(len(c.ring))
	from := min(max(offset, start), c.total)
	b := c.ring[from-start:]
	if len(b) > outputBytes {
		from += int64(len(b) - outputBytes)
		b = b[len(b)-outputBytes:]
	}
	s := clean(b)
	if from > offset {
		s = fmt.Sprintf("[… %d bytes left out …]\n", from-offset) + s
	}
	return s, c.total
}

func (c *capture) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil {
		if err := c.file.Close(); err != nil && c.err == nil {
			c.err = err
		}
		c.file = nil
		c.full = true
	}
}

// clean is output without what drives a terminal.
func clean(b []byte) string {
	s := string(b)
	if strings.IndexByte(s, 0x1B) >= 0 {
		s = stripANSI(s)
	}
	return printable(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"))
}

// stripANSI takes out the escape sequences of ECMA-48.
func stripANSI(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != 0x1B {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i >= len(s) {
			break
		}
		switch s[i] {
		case '[': // CSI: parameters, then one final byte
			for i++; i < len(s) && (s[i] < 0x40 || s[i] > 0x7E); i++ {
			}
		case ']', 'P', '_', '^': // a string up to BEL or ST
			for i++; i < len(s) && s[i] != 0x07; i++ {
				if s[i] == 0x1B && i+1 < len(s) && s[i+1] == '\\' {
					i++
					break
				}
			}
		}
	}
	return b.String()
}
