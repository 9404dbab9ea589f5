package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

const hex = "0123456789abcdef"

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD. Nothing is escaped that JSON (RFC 8259) does not ask for.
func AppendString[T string | []byte](b []byte, s T) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			if r != utf8.RuneError || n != 1 {
				i += n
				continue
			}
			b = append(append(b, s[start:i]...), "\ufffd"...)
			i++
			start = i
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

// Input makes the arguments of a tool call of what a model sent: nothing and
// null are {}; an object is itself; anything else is {} and the text, which
// says that the call must not be run.
func Input(sent string) (input json.RawMessage, malformed string) {
	b := bytes.TrimSpace([]byte(sent))
	switch {
	case len(b) == 0, string(b) == "null", string(b) == `""`:
		return json.RawMessage("{}"), ""
	case b[0] == '{' && json.Valid(b):
		return b, ""
	}
	return json.RawMessage("{}"), sent
}

// Count is a number of tokens. Some servers write 12.0, and some a string; what
// is no number, or a negative one, is 0.
type Count int64

// UnmarshalJSON never fails: a counter that cannot be read costs no answer.
func (c *Count) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err != nil || !(f > 0) || f >= math.MaxInt32*1024 {
		f = 0
	}
	*c = Count(f)
	return nil
}

// Int is an index. Some servers write 1.0; what is no whole number leaves it as
// it is.
type Int int

// UnmarshalJSON never fails: an index that cannot be read is as one that is
// not there.
func (i *Int) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err == nil && f == math.Trunc(f) && math.Abs(f) <= math.MaxInt32 {
		*i = Int(f)
	}
	return nil
}
