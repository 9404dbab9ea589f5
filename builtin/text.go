package builtin

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding is how the text of a file is written.
type encoding struct {
	bom   string
	order order      // of UTF-16; nil for anything made of bytes
	table *[128]rune // the characters of the bytes from 0x80; nil for UTF-8
}

type order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

const bom8 = "\xEF\xBB\xBF"

// detect tells the encoding of a whole file: by its byte order mark, or else
// by its bytes. What is neither UTF-8 nor in a code page is taken as UTF-8 with
// bytes in it that are none, and they are left as they are.
func detect(b []byte) encoding {
	if e, ok := marked(b); ok {
		return e
	}
	var s survey
	s.add(b)
	return s.encoding()
}

// marked tells the encoding by the byte order mark.
func marked(b []byte) (encoding, bool) {
	switch {
	case bytes.HasPrefix(b, []byte(bom8)):
		return encoding{bom: bom8}, true
	case bytes.HasPrefix(b, []byte("\xFF\xFE\x00\x00")): // UTF-32
		return encoding{}, false
	case bytes.HasPrefix(b, []byte("\xFF\xFE")):
		return encoding{bom: "\xFF\xFE", order: binary.LittleEndian}, true
	case bytes.HasPrefix(b, []byte("\xFE\xFF")):
		return encoding{bom: "\xFE\xFF", order: binary.BigEndian}, true
	}
	return encoding{}, false
}

// survey looks at bytes, as they come, for signs of their encoding.
type survey struct {
	carry   []byte // the start of a character that the next bytes may complete
	multi   bool   // characters of several bytes in UTF-8 were met
	invalid bool   // bytes that are no UTF-8 were met
	c1      bool   // bytes from 0x80 to 0x9F among them
	undef   bool   // bytes among those that Windows-1252 leaves undefined
}

func (s *survey) add(b []byte) {
	if len(s.carry) > 0 {
		b = append(s.carry, b...)
		s.carry = nil
	}
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		if !utf8.FullRune(b[i:]) {
			s.carry = bytes.Clone(b[i:])
			return
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			s.bad(b[i])
		} else {
			s.multi = true
		}
		i += n
	}
}

func (s *survey) bad(c byte) {
	s.invalid = true
	if c < 0xA0 {
		s.c1 = true
		s.undef = s.undef || windows1252[c-0x80] == utf8.RuneError
	}
}

// encoding is what the bytes so far are in, if they are all.
func (s *survey) encoding() encoding {
	for _, c := range s.carry {
		s.bad(c)
	}
	s.carry = nil
	switch {
	case !s.invalid || s.multi || s.undef:
		return encoding{}
	case s.c1:
		return encoding{table: &windows1252}
	}
	return encoding{table: &latin1}
}

// The code pages, of ISO/IEC 8859-1 and of the WHATWG Encoding Standard's
// windows-1252 less what only exists there to fill gaps.
var latin1, windows1252 = codePages()

func codePages() (l, w [128]rune) {
	for i := range l {
		l[i], w[i] = rune(0x80+i), rune(0x80+i)
	}
	copy(w[:], []rune("€\uFFFD‚ƒ„…†‡ˆ‰Š‹Œ\uFFFDŽ\uFFFD\uFFFD‘’“”•–—˜™š›œ\uFFFDžŸ"))
	return l, w
}

// name is what the encoding is called; "" for UTF-8.
func (e encoding) name() string {
	switch {
	case e.order != nil:
		return "UTF-16"
	case e.table == &latin1:
		return "Latin-1"
	case e.table != nil:
		return "Windows-1252"
	}
	return ""
}

// decode is the file's text, without its mark. In a file of bytes that is in no
// code page, those that are no UTF-8 stay as they are.
func (e encoding) decode(b []byte) (string, error) {
	b = b[len(e.bom):]
	switch {
	case e.table != nil:
		return e.decodeBytes(b), nil
	case e.order == nil:
		return string(b), nil
	case len(b)%2 != 0:
		return "", errors.New("it begins as UTF-16 and has an odd number of bytes")
	}
	u := make([]uint16, len(b)/2)
	for i := range u {
		u[i] = e.order.Uint16(b[2*i:])
	}
	s := string(utf16.Decode(u))
	if back, err := e.encode(s); err != nil || !bytes.Equal(back[len(e.bom):], b) {
		return "", errors.New("it begins as UTF-16 and holds halves of characters")
	}
	return s, nil
}

func (e encoding) decodeBytes(b []byte) string {
	var s strings.Builder
	s.Grow(len(b) + len(b)/8)
	for _, c := range b {
		if c < 0x80 {
			s.WriteByte(c)
		} else {
			s.WriteRune(e.table[c-0x80])
		}
	}
	return s.String()
}

// encode is the reverse of decode. Text that the encoding cannot hold is an
// error.
func (e encoding) encode(s string) ([]byte, error) {
	out := append(make([]byte, 0, len(e.bom)+len(s)), e.bom...)
	switch {
	case e.order != nil:
		for _, u := range utf16.Encode([]rune(s)) {
			out = e.order.AppendUint16(out, u)
		}
		return out, nil
	case e.table == nil:
		return append(out, s...), nil
	}
	for i, r := range s {
		c, ok := byte(r), r < 0x80
		if !ok {
			c, ok = e.byteOf(r)
		}
		if !ok {
			return nil, fmt.Errorf("the file is in %s, which has no %q (line %d of the new text): leave such characters out, or convert the file with Bash first", e.name(), r, 1+strings.Count(s[:i], "\n"))
		}
		out = append(out, c)
	}
	return out, nil
}

func (e encoding) byteOf(r rune) (byte, bool) {
	if r == utf8.RuneError {
		return 0, false
	}
	for i, t := range e.table {
		if t == r {
			return byte(0x80 + i), true
		}
	}
	return 0, false
}

// utf16Reader makes UTF-8 of UTF-16 as it is read. Halves of characters come
// out as U+FFFD.
type utf16Reader struct {
	r     io.Reader
	order order
	in    []byte // not decoded yet
	out   []byte // not delivered yet
	err   error
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.out) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		var buf [4096]byte
		n, err := u.r.Read(buf[:])
		u.in = append(u.in, buf[:n]...)
		u.err = err
		u.decode()
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

func (u *utf16Reader) decode() {
	for len(u.in) >= 2 {
		r, n := rune(u.order.Uint16(u.in)), 2
		if utf16.IsSurrogate(r) {
			if len(u.in) < 4 && u.err == nil {
				return
			}
			if len(u.in) >= 4 {
				if full := utf16.DecodeRune(r, rune(u.order.Uint16(u.in[2:]))); full != utf8.RuneError {
					r, n = full, 4
				}
			}
		}
		u.out = utf8.AppendRune(u.out, r) // a lone half becomes U+FFFD
		u.in = u.in[n:]
	}
	if u.err != nil && len(u.in) > 0 {
		u.out = utf8.AppendRune(u.out, utf8.RuneError)
		u.in = nil
	}
}

// separator is the byte that ends the lines of a text that begins with head:
// '\n', also after a '\r', or '\r' where there is no '\n' at all.
func separator(head string) byte {
	head = head[:min(len(head), separatorHead)]
	if strings.IndexByte(head, '\n') < 0 && strings.IndexByte(head, '\r') >= 0 {
		return '\r'
	}
	return '\n'
}

// separatorHead is how much of a text is looked at for its separator.
const separatorHead = 64 << 10

// lineAt is the number of the line that position at of text is on.
func lineAt(text string, at int) int {
	return 1 + strings.Count(text[:at], string(separator(text)))
}

// countLines is how many lines text has.
func countLines(text string) int {
	sep := string(separator(text))
	n := strings.Count(text, sep)
	if text != "" && !strings.HasSuffix(text, sep) {
		n++
	}
	return n
}

// eol is the line ending that most lines of s have; "\n" if it has none.
func eol(s string) string {
	crlf := strings.Count(s, "\r\n")
	lf := strings.Count(s, "\n") - crlf
	cr := strings.Count(s, "\r") - crlf
	switch {
	case crlf > lf && crlf >= cr:
		return "\r\n"
	case cr > 0 && lf == 0 && crlf == 0:
		return "\r"
	}
	return "\n"
}

// withEOL gives every line of s the ending.
func withEOL(s, end string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if end == "\n" {
		return s
	}
	return strings.ReplaceAll(s, "\n", end)
}

// binaryLike reports whether the beginning of a file is not text.
func binaryLike(head []byte) bool {
	e, _ := marked(head)
	return e.order == nil && bytes.IndexByte(head, 0) >= 0
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
			return utf8.RuneError
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
