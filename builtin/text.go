package builtin

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding is how the text of a file is written.
type encoding struct {
	bom   string
	order order // of UTF-16; nil for anything made of bytes
}

type order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

var bom8 = "\xEF\xBB\xBF"

// detect tells the encoding by its byte order mark.
func detect(b []byte) encoding {
	switch {
	case bytes.HasPrefix(b, []byte(bom8)):
		return encoding{bom: bom8}
	case len(b) >= 2 && b[0] == 0xFF && b[1] == 0xFE:
		return encoding{bom: "\xFF\xFE", order: binary.LittleEndian}
	case len(b) >= 2 && b[0] == 0xFE && b[1] == 0xFF:
		return encoding{bom: "\xFE\xFF", order: binary.BigEndian}
	}
	return encoding{}
}

// decode is the file's text, without its mark. Bytes that are no UTF-8 stay as
// they are.
func (e encoding) decode(b []byte) (string, error) {
	b = b[len(e.bom):]
	if e.order == nil {
		return string(b), nil
	}
	if len(b)%2 != 0 {
		return "", errors.New("it begins as UTF-16 and has an odd number of bytes")
	}
	u := make([]uint16, len(b)/2)
	for i := range u {
		u[i] = e.order.Uint16(b[2*i:])
	}
	s := string(utf16.Decode(u))
	if !bytes.Equal(e.encode(s)[len(e.bom):], b) {
		return "", errors.New("it is not whole UTF-16")
	}
	return s, nil
}

// encode is the reverse of decode.
func (e encoding) encode(s string) []byte {
	out := []byte(e.bom)
	if e.order == nil {
		return append(out, s...)
	}
	for _, u := range utf16.Encode([]rune(s)) {
		out = e.order.AppendUint16(out, u)
	}
	return out
}

// eol is the line ending that most lines of s have; "\n" if it has none.
func eol(s string) string {
	crlf := strings.Count(s, "\r\n")
	lf := strings.Count(s, "\n") - crlf
	cr := strings.Count(s, "\r") - crlf
	switch {
	case crlf > lf && crlf >= cr:
		return "\r\n"
	case cr > lf:
		return "\r"
	}
	return "\n"
}

// withEOL gives every line of s the ending.
func withEOL(s, end string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	if end == "\n" {
		return s
	}
	return strings.ReplaceAll(s, "\n", end)
}

// binaryLike reports whether the beginning of a file is not text.
func binaryLike(head []byte) bool {
	return detect(head).order == nil && bytes.IndexByte(head, 0) >= 0
}

// printable is s as the model may see it: control characters other than tabs
// and line ends are replaced, and so is what is not UTF-8.
func printable(s string) string {
	ok := utf8.ValidString(s)
	for i := 0; ok && i < len(s); i++ {
		if c := s[i]; c < ' ' && c != '\t' && c != '\n' || c == 0x7F {
			ok = false
		}
	}
	if ok {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == 0x7F {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// cut is the first n bytes of s, less a rune that the cut goes through.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
