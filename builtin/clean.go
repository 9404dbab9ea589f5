package builtin

import (
	"strings"
	"unicode/utf8"
)

// clean is output without what drives a terminal, as the model may see it.
func clean(b []byte) string {
	s := string(b)
	if strings.IndexByte(s, 0x1B) >= 0 {
		s = stripANSI(s)
	}
	if strings.IndexByte(s, '\r') >= 0 {
		s = withEOL(s, "\n")
	}
	return printable(s)
}

// stripANSI takes out the escape sequences of ECMA-48. A sequence that never
// ends is taken out up to its line's end, no further: it must not hide what
// follows.
func stripANSI(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if s[i] != 0x1B {
			b.WriteByte(s[i])
			i++
			continue
		}
		i++
		if i == len(s) {
			break
		}
		switch c := s[i]; {
		case c == '[': // CSI: parameters and intermediates, then a final byte
			for i++; i < len(s) && s[i] >= 0x20 && s[i] <= 0x3F; i++ {
			}
			if i < len(s) && s[i] >= 0x40 && s[i] <= 0x7E {
				i++
			}
		case strings.IndexByte("]PX^_", c) >= 0: // a string up to BEL or ST
			for i++; i < len(s) && s[i] != 0x07 && s[i] != 0x1B && s[i] != '\n'; i++ {
			}
			if i < len(s) && s[i] == 0x07 {
				i++
			} else if strings.HasPrefix(s[i:], "\x1b\\") {
				i += 2
			}
		default: // intermediates, then a final byte
			for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2F {
				i++
			}
			if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7E {
				i++
			}
		}
	}
	return b.String()
}

// whole is the length of b without a rune at its end that may go on in what
// comes next.
func whole(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
				return len(b) - i
			}
			break
		}
	}
	return len(b)
}

// cutFront is the last n bytes of s, less a rune that the cut goes through.
func cutFront(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return s
}
