package search

import (
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// utf16Reader turns UTF-16 into UTF-8.
type utf16Reader struct {
	r    io.Reader
	big  bool
	raw  [4096]byte
	n    int // bytes in raw that are not decoded
	out  []byte
	done bool
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.out) == 0 {
		if u.done {
			return 0, io.EOF
		}
		n, err := u.r.Read(u.raw[u.n:])
		u.n += n
		if errors.Is(err, io.EOF) {
			u.done = true
		} else if err != nil {
			return 0, err
		}
		u.decode()
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

func (u *utf16Reader) decode() {
	unit := func(i int) rune {
		if u.big {
			return rune(u.raw[i])<<8 | rune(u.raw[i+1])
		}
		return rune(u.raw[i+1])<<8 | rune(u.raw[i])
	}
	u.out = u.out[:0]
	i := 0
	for i+1 < u.n {
		r := unit(i)
		if !utf16.IsSurrogate(r) {
			u.out = utf8.AppendRune(u.out, r)
			i += 2
			continue
		}
		if i+3 >= u.n && !u.done {
			break // the other half is still to come
		}
		i += 2
		if i+1 < u.n {
			if both := utf16.DecodeRune(r, unit(i)); both != utf8.RuneError {
				u.out = utf8.AppendRune(u.out, both)
				i += 2
				continue
			}
		}
		u.out = utf8.AppendRune(u.out, utf8.RuneError)
	}
	u.n = copy(u.raw[:], u.raw[i:u.n])
	if u.done {
		u.n = 0
	}
}
