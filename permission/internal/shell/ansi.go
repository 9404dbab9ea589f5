package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ansiC decodes the inside of a $'…' string as bash does. It is not ok for what
// bash would cut off or read by the locale.
func ansiC(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'a':
			b.WriteByte(7)
		case 'b':
			b.WriteByte(8)
		case 'e', 'E':
			b.WriteByte(27)
		case 'f':
			b.WriteByte(12)
		case 'n':
			b.WriteByte(10)
		case 'r':
			b.WriteByte(13)
		case 't':
			b.WriteByte(9)
		case 'v':
			b.WriteByte(11)
		case '\\', '\'', '"', '?':
			b.WriteByte(c)
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n := digits(s[i:], 3, 8)
			v, _ := strconv.ParseUint(s[i:i+n], 8, 32)
			if v&0xff == 0 {
				return "", false // NUL ends the string
			}
			b.WriteByte(byte(v))
			i += n - 1
		case 'x', 'u', 'U':
			n := digits(s[i+1:], map[byte]int{'x': 2, 'u': 4, 'U': 8}[c], 16)
			v, err := strconv.ParseUint(s[i+1:i+1+n], 16, 32)
			if err != nil || v == 0 || c != 'x' && (v > utf8.MaxRune || v >= 0xd800 && v < 0xe000) {
				return "", false
			}
			if c == 'x' {
				b.WriteByte(byte(v))
			} else if v < 0x80 {
				b.WriteByte(byte(v))
			} else {
				return "", false // by the locale
			}
			i += n
		case 'c':
			return "", false
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

// digits counts the digits of a base that s begins with, up to most.
func digits(s string, most, base int) int {
	n := 0
	for n < len(s) && n < most {
		if _, err := strconv.ParseUint(s[n:n+1], base, 8); err != nil {
			break
		}
		n++
	}
	return n
}
