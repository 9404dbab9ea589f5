package search

import (
	"bytes"
	"slices"
)

// needle is a string with its two rarest bytes, which are looked for first.
type needle struct {
	text   []byte // lower case if fold
	fold   bool
	at     int // of the rarest byte
	second int // of the next
}

func newNeedle(l lit) needle {
	n := needle{text: []byte(l.text), fold: l.fold}
	rank := func(i int) int {
		r := int(rarity[n.text[i]])
		if n.fold && isLetter(n.text[i]) {
			r -= 6 // twice the work
		}
		return r
	}
	for i := range n.text {
		if rank(i) > rank(n.at) {
			n.at = i
		}
	}
	n.second = -1
	for i := range n.text {
		if i != n.at && (n.second < 0 || rank(i) > rank(n.second)) {
			n.second = i
		}
	}
	if n.second < 0 {
		n.second = n.at
	}
	return n
}

// here says whether the needle stands at buf[i:].
func (n *needle) here(buf []byte, i int) bool {
	if i < 0 || len(buf)-i < len(n.text) {
		return false
	}
	s := buf[i : i+len(n.text)]
	if !n.fold {
		return s[n.second] == n.text[n.second] && bytes.Equal(s, n.text)
	}
	if lower(s[n.second]) != n.text[n.second] {
		return false
	}
	for k, c := range n.text {
		if s[k] != c && lower(s[k]) != c {
			return false
		}
	}
	return true
}

// cursor is the next place of one byte of one needle.
type cursor struct {
	b   byte
	n   *needle
	pos int // of the byte; len(buf) when there is no more
}

// manyNeedles is from how many cursors on one pass over all bytes is faster
// than one quick pass for each.
const manyNeedles = 12

// finder finds the first of a set of needles in a buffer, going forward. It
// has the state of one search: each goroutine needs its own.
type finder struct {
	needles []needle
	cursors []cursor
	buf     []byte
	pos     int            // where the one pass is
	byByte  [256][]*needle // when there are many
	many    bool
	third   bool // has a folded k or s, which U+212A and U+017F match too
}

func newFinder(set []lit) *finder {
	f := &finder{}
	for _, l := range set {
		n := newNeedle(l)
		f.needles = append(f.needles, n)
		if l.fold && bytes.ContainsAny(n.text, "ks") {
			f.third = true
		}
	}
	for i := range f.needles {
		n := &f.needles[i]
		b := n.text[n.at]
		f.cursors = append(f.cursors, cursor{b: b, n: n})
		if n.fold && isLetter(b) {
			f.cursors = append(f.cursors, cursor{b: b &^ 0x20, n: n})
		}
	}
	if f.many = len(f.cursors) > manyNeedles; f.many {
		for _, c := range f.cursors {
			if !slices.Contains(f.byByte[c.b], c.n) {
				f.byByte[c.b] = append(f.byByte[c.b], c.n)
			}
		}
	}
	return f
}

// reset begins with another buffer. It reports whether the needles can be
// relied on: they cannot when a form of a letter is there that they do not know.
func (f *finder) reset(buf []byte) bool {
	f.buf, f.pos = buf, 0
	for i := range f.cursors {
		f.cursors[i].pos = -1
	}
	return !f.third || !bytes.Contains(buf, []byte("ſ")) && !bytes.Contains(buf, []byte("\u212a"))
}

// next finds the first needle at or after from, which never goes back, and
// gives its place and length; the place is -1 when there is none. Among needles
// that overlap it may give a later one.
func (f *finder) next(from int) (int, int) {
	if f.many {
		return f.nextOfMany(from)
	}
	if len(f.cursors) == 1 {
		return f.nextOfOne(from)
	}
	buf := f.buf
	for {
		first, best := len(buf), -1
		for i := range f.cursors {
			c := &f.cursors[i]
			if at := from + c.n.at; c.pos < at {
				c.pos = seek(buf, at, c.b)
			}
			if c.pos < len(buf) && c.pos-c.n.at < first {
				first, best = c.pos-c.n.at, i
			}
		}
		if best < 0 {
			return -1, 0
		}
		c := &f.cursors[best]
		if c.n.here(buf, first) {
			return first, len(c.n.text)
		}
		c.pos = seek(buf, c.pos+1, c.b)
	}
}

func (f *finder) nextOfOne(from int) (int, int) {
	buf, n := f.buf, &f.cursors[0]
	b, at := n.b, n.n.at
	for i := from + at; i < len(buf); i++ {
		k := bytes.IndexByte(buf[i:], b)
		if k < 0 {
			break
		}
		i += k
		if n.n.here(buf, i-at) {
			return i - at, len(n.n.text)
		}
	}
	return -1, 0
}

func (f *finder) nextOfMany(from int) (int, int) {
	buf := f.buf
	for i := max(from, f.pos); i < len(buf); i++ {
		list := f.byByte[buf[i]]
		if list == nil {
			continue
		}
		for _, n := range list {
			if s := i - n.at; s >= from && n.here(buf, s) {
				f.pos = i
				return s, len(n.text)
			}
		}
	}
	f.pos = len(buf)
	return -1, 0
}

// seek is the place of the first b at or after i, or len(buf).
func seek(buf []byte, i int, b byte) int {
	if i >= len(buf) {
		return len(buf)
	}
	k := bytes.IndexByte(buf[i:], b)
	if k < 0 {
		return len(buf)
	}
	return i + k
}
