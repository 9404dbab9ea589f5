package search

import (
	"bytes"
	"context"
	"errors"
	"io"
)

const (
	chunk = 256 << 10 // bytes that are read at a time
	// maxBuffer is the longest line that is matched as a whole. Of a longer one
	// the parts are, with an overlap; an anchor may match at the start of a part.
	maxBuffer = 8 << 20
	overlap   = 64 << 10
	// MaxMultiline is the largest file that is searched in multiline mode.
	MaxMultiline = 16 << 20
	sniff        = 8 << 10 // bytes in which a NUL makes a file binary at once
	history      = 64 << 10
)

// want is what is asked of one file.
type want struct {
	skip, most    int // matching lines: those not kept first, and how many to look for after them
	before, after int
	keep          int  // bytes of lines that are kept; 0 keeps none
	first         bool // stop at the first match
}

// found is what one file gave.
type found struct {
	hits   int    // matching lines, skipped ones too, up to skip+most
	more   bool   // it was left off at skip+most: there is one more at least
	lines  []Line // the matching lines after skip, with their context
	cut    bool   // lines were left off at keep bytes
	binary bool
	large  bool // too large for multiline mode
}

// scanner searches one file at a time. Each goroutine needs its own.
type scanner struct {
	p     *Pattern
	find  *finder // nil: no needles are known
	table *dfa    // nil: none could be made
	buf   []byte
	fd    reader

	// of the present file
	w       want
	f       found
	kept    int
	number  int // of the line that starts at counted
	counted int
	shown   int // up to where lines were kept or passed over as context
	left    int // lines of context still to come
	trust   bool
}

func newScanner(p *Pattern) *scanner {
	s := &scanner{p: p, buf: make([]byte, chunk)}
	if p.set != nil {
		s.find = newFinder(p.set)
	}
	if p.prog != nil && !(p.set != nil && p.pure) {
		s.table = newDFA(p.prog)
	}
	return s
}

var utf8BOM = []byte("\xef\xbb\xbf")

// scan searches what r holds, up to its end.
func (s *scanner) scan(ctx context.Context, r io.Reader, w want) (found, error) {
	s.w, s.f, s.kept = w, found{}, 0
	s.number, s.counted, s.shown, s.left = 1, 0, 0, 0
	n, eof, err := s.fill(r, 0)
	if err != nil {
		return s.f, err
	}
	head := s.buf[:n]
	switch {
	case n >= 2 && head[0] == 0xff && head[1] == 0xfe && !(n >= 4 && head[2] == 0 && head[3] == 0),
		n >= 2 && head[0] == 0xfe && head[1] == 0xff:
		rest := bytes.Clone(head[2:])
		r = &utf16Reader{r: io.MultiReader(bytes.NewReader(rest), r), big: head[0] == 0xfe}
		if n, eof, err = s.fill(r, 0); err != nil {
			return s.f, err
		}
	case bytes.HasPrefix(head, utf8BOM):
		n = copy(s.buf, head[len(utf8BOM):])
	}
	if bytes.IndexByte(s.buf[:min(n, sniff)], 0) >= 0 {
		s.f.binary = true
		return s.f, nil
	}
	if s.p.flags.Multiline {
		return s.f, s.whole(ctx, r, n, eof)
	}
	return s.f, s.lines(ctx, r, n, eof)
}

// fill reads until the buffer is full or r is at its end.
func (s *scanner) fill(r io.Reader, n int) (int, bool, error) {
	for n < len(s.buf) {
		k, err := r.Read(s.buf[n:])
		n += k
		if errors.Is(err, io.EOF) {
			return n, true, nil
		}
		if err != nil {
			return n, false, err
		}
	}
	return n, false, nil
}

func (s *scanner) grow(limit int) bool {
	if len(s.buf) >= limit {
		return false
	}
	s.buf = append(s.buf, make([]byte, min(len(s.buf), limit-len(s.buf)))...)
	return true
}

// lines goes through a file whose first n bytes are in the buffer.
func (s *scanner) lines(ctx context.Context, r io.Reader, n int, eof bool) error {
	start := 0     // of what is not searched yet
	inner := false // start is within a line that is too long for the buffer
	hit := false   // which has matched
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		end := n
		if !eof {
			end = bytes.LastIndexByte(s.buf[start:n], '\n') + 1 + start
		}
		part := false
		if end == start && !eof {
			if s.grow(maxBuffer) {
				var err error
				if n, eof, err = s.fill(r, n); err != nil {
					return err
				}
				continue
			}
			end, part = n, true
		}
		if inner && hit { // the rest of a line that was reported
			if k := bytes.IndexByte(s.buf[start:end], '\n'); k >= 0 {
				start += k + 1
				inner, hit = false, false
			} else {
				start = end
			}
			s.shown = max(s.shown, start)
		}
		before := s.f.hits
		if s.search(start, end) {
			return nil
		}
		if part {
			inner, hit = true, hit || s.f.hits > before
		} else if end > start {
			inner, hit = false, false
		}
		if eof {
			s.context(end, end)
			return nil
		}
		// Keep what context needs, and what is not searched.
		s.context(end, end)
		from := s.back(end)
		if part {
			from = end
			if !hit {
				from = end - overlap
			}
			start = end - from
			if !hit {
				start = 0
			}
		} else {
			start = end - from
		}
		s.count(from)
		copy(s.buf, s.buf[from:n])
		n -= from
		s.counted, s.shown = s.counted-from, max(s.shown-from, 0)
		var err error
		if n, eof, err = s.fill(r, n); err != nil {
			return err
		}
	}
}

// back is where the lines begin that may be context for what follows end.
func (s *scanner) back(end int) int {
	from := end
	for i := 0; i < s.w.before && s.w.keep > 0 && from > 0; i++ {
		k := bytes.LastIndexByte(s.buf[:from-1], '\n') + 1
		if end-k > history {
			break
		}
		from = k
	}
	return from
}

// search looks at the lines of buf[from:end] and reports whether to stop.
func (s *scanner) search(from, end int) bool {
	buf := s.buf[:end]
	s.trust = s.find != nil && s.find.reset(buf)
	first := true
	for from < end {
		ls, le, ok := s.next(buf, from)
		if !ok {
			return false
		}
		if first && bytes.IndexByte(buf[from:], 0) >= 0 {
			s.f.binary = true
			return true
		}
		first = false
		if s.f.hits >= s.w.skip+s.w.most {
			s.f.more = true
			s.context(ls, ls)
			return true
		}
		s.f.hits++
		if s.w.first {
			return true
		}
		if s.f.hits > s.w.skip && s.w.keep > 0 {
			s.context(ls, end)
			s.ahead(ls)
			s.put(ls, le, s.start(buf[ls:le]), true)
			s.left = s.w.after
		}
		s.shown = min(le+1, end)
		from = le + 1
	}
	return false
}

// next finds the next line that matches: where it begins and ends.
func (s *scanner) next(buf []byte, from int) (ls, le int, ok bool) {
	for from < len(buf) {
		switch {
		case s.trust:
			i, _ := s.find.next(from)
			if i < 0 {
				return 0, 0, false
			}
			ls, le = lineOf(buf, from, i)
			if s.p.pure {
				return ls, le, true
			}
		case s.table != nil && !s.table.broken:
			i := s.table.next(buf, from)
			if s.table.broken {
				ls, le = lineOf(buf, from, i) // no line before this one matches
				break
			}
			if i < 0 {
				return 0, 0, false
			}
			ls, le = lineOf(buf, from, i)
			return ls, le, true
		default:
			ls, le = from, seek(buf, from, '\n')
		}
		if s.matches(buf[ls:le]) {
			return ls, le, true
		}
		from = le + 1
	}
	return 0, 0, false
}

// matches says whether one line, which may end in a carriage return, does.
func (s *scanner) matches(line []byte) bool {
	if s.table != nil && !s.table.broken && len(line) > 0 {
		if ok := s.table.matches(line); !s.table.broken {
			return ok
		}
	}
	return s.p.re.Match(chomp(line))
}

// start is where in a line the match begins, which only a long one needs.
func (s *scanner) start(line []byte) int {
	if len(line) <= MaxLine {
		return 0
	}
	if loc := s.p.re.FindIndex(chomp(line)); loc != nil {
		return loc[0]
	}
	return 0
}

// count brings the line number up to place i, where a line begins.
func (s *scanner) count(i int) {
	if i > s.counted {
		s.number += bytes.Count(s.buf[s.counted:i], []byte{'\n'})
		s.counted = i
	}
}

// context keeps the lines after a match that lie before limit.
func (s *scanner) context(limit, end int) {
	for s.left > 0 && s.shown < limit {
		le := seek(s.buf[:end], s.shown, '\n')
		s.put(s.shown, le, 0, false)
		s.left--
		s.shown = min(le+1, end)
	}
}

// ahead keeps the lines of context before the one that begins at ls.
func (s *scanner) ahead(ls int) {
	from := ls
	for i := 0; i < s.w.before && from > s.shown; i++ {
		from = bytes.LastIndexByte(s.buf[s.shown:from-1], '\n') + 1 + s.shown
	}
	for from < ls {
		le := seek(s.buf[:ls], from, '\n')
		s.put(from, le, 0, false)
		from = le + 1
	}
}

// put keeps one line, if there is room.
func (s *scanner) put(ls, le, at int, match bool) {
	if s.kept >= s.w.keep {
		s.f.cut = true
		return
	}
	s.count(ls)
	l := Line{Number: s.number, Match: match}
	l.Text, l.Before, l.After = window(chomp(s.buf[ls:le]), at)
	s.kept += len(l.Text) + 16
	s.f.lines = append(s.f.lines, l)
}
