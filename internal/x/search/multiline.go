package search

import (
	"bytes"
	"context"
	"io"
)

// maxMatches is how many matches of a file are looked at in multiline mode.
const maxMatches = 100_000

// whole searches a file, whose first n bytes are in the buffer, as one text. A
// line is a hit if a match has a part of it.
func (s *scanner) whole(ctx context.Context, r io.Reader, n int, eof bool) error {
	for !eof {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if n == len(s.buf) && !s.grow(MaxMultiline) {
			var one [1]byte
			if k, err := r.Read(one[:]); k > 0 {
				s.f.large = true
				return nil
			} else if err == io.EOF {
				break
			}
			continue
		}
		var err error
		if n, eof, err = s.fill(r, n); err != nil {
			return err
		}
	}
	buf := s.buf[:n]
	if bytes.Contains(buf, []byte("\r\n")) {
		buf = bytes.ReplaceAll(buf, []byte("\r\n"), []byte("\n"))
		n = copy(s.buf, buf)
		buf = s.buf[:n]
	}
	if s.find != nil && s.find.reset(buf) {
		if i, _ := s.find.next(0); i < 0 {
			return nil
		}
	}
	limit := min(s.w.skip+s.w.most, maxMatches) + 1
	matches := s.p.re.FindAllIndex(buf, limit)
	if len(matches) == 0 {
		return nil
	}
	if bytes.IndexByte(buf, 0) >= 0 {
		s.f.binary = true
		return nil
	}
	done := 0 // where the last hit's line ended
	for _, m := range matches {
		from, last := m[0], max(m[0], m[1]-1)
		ls := bytes.LastIndexByte(buf[:from], '\n') + 1
		for ls <= last || ls == from {
			if ls == n && n > 0 && buf[n-1] == '\n' {
				break // an empty match behind the last line
			}
			le := seek(buf, ls, '\n')
			if ls >= done {
				if s.f.hits >= s.w.skip+s.w.most {
					s.f.more = true
					s.context(ls, ls)
					return nil
				}
				s.f.hits++
				if s.w.first {
					return nil
				}
				if s.f.hits > s.w.skip && s.w.keep > 0 {
					s.context(ls, n)
					s.ahead(ls)
					s.put(ls, le, max(from-ls, 0), true)
					s.left = s.w.after
				}
				s.shown = min(le+1, n)
				done = le + 1
			}
			if le >= last || le >= n {
				break
			}
			ls = le + 1
		}
	}
	s.f.more = s.f.more || len(matches) == limit
	s.context(n, n)
	return nil
}
