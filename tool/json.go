package tool

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// member is one name and value of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// members takes an object apart, in order. The text must be valid JSON.
func members(v json.RawMessage) []member {
	var out []member
	i := skip(v, 1) // past the brace
	for v[i] != '}' {
		end := valueEnd(v, i)
		name := str(v[i:end])
		i = skip(v, skip(v, end)+1) // past the colon
		end = valueEnd(v, i)
		out = append(out, member{name, v[i:end:end]})
		if i = skip(v, end); v[i] == ',' {
			i = skip(v, i+1)
		}
	}
	return out
}

// elements takes an array apart. The text must be valid JSON.
func elements(v json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	i := skip(v, 1)
	for v[i] != ']' {
		end := valueEnd(v, i)
		out = append(out, v[i:end:end])
		if i = skip(v, end); v[i] == ',' {
			i = skip(v, i+1)
		}
	}
	return out
}

// skip is the place of the first byte from i on that is no blank.
func skip(v []byte, i int) int {
	for v[i] == ' ' || v[i] == '\t' || v[i] == '\n' || v[i] == '\r' {
		i++
	}
	return i
}

// valueEnd is the end of the value that starts at i.
func valueEnd(v []byte, i int) int {
	depth := 0
	for ; i < len(v); i++ {
		switch v[i] {
		case '"':
			for i++; v[i] != '"'; i++ {
				if v[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
			if depth < 0 {
				return i
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

func object(ms []member) json.RawMessage {
	b := []byte{'{'}
	for i, m := range ms {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, quote(m.name)...), ':'), m.value...)
	}
	return append(b, '}')
}

func array(vs []json.RawMessage) json.RawMessage {
	return slices.Concat([]byte{'['}, bytes.Join(toBytes(vs), []byte{','}), []byte{']'})
}

func toBytes(vs []json.RawMessage) [][]byte {
	out := make([][]byte, len(vs))
	for i, v := range vs {
		out[i] = v
	}
	return out
}

// kindOf is the type of a value as JSON Schema names it: a number without
// a fraction is an integer, however it is written.
func kindOf(v json.RawMessage) string {
	if len(v) == 0 {
		return ""
	}
	switch v[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if _, ok := integer(string(v)); ok {
		return "integer"
	}
	return "number"
}

// maxDigits bounds the numbers that are written out.
const maxDigits = 400

// integer writes out a number that has no fraction, such as 5.0 or 5e3.
func integer(n string) (string, bool) {
	mantissa, exp, hasExp := cutExponent(n)
	if !hasExp && !strings.Contains(mantissa, ".") {
		return n, true
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	frac = strings.TrimRight(frac, "0")
	if len(whole)+len(frac) > maxDigits || exp > maxDigits || exp < -maxDigits {
		return "", false
	}
	digits := whole + frac
	switch zeros := exp - len(frac); {
	case zeros >= 0:
		digits += strings.Repeat("0", zeros)
	case strings.Trim(digits, "0") == "":
		digits = "0"
	case strings.HasSuffix(digits, strings.Repeat("0", -zeros)):
		digits = digits[:len(digits)+zeros]
	default:
		return "", false
	}
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		return "0", true
	}
	return sign + digits, true
}

// cutExponent takes a number apart; an exponent without end is a large one.
func cutExponent(n string) (mantissa string, exp int, found bool) {
	i := strings.IndexAny(n, "eE")
	if i < 0 {
		return n, 0, false
	}
	exp, err := strconv.Atoi(strings.TrimPrefix(n[i+1:], "+"))
	if err != nil {
		exp = 1 << 30
		if strings.HasPrefix(n[i+1:], "-") {
			exp = -exp
		}
	}
	return n[:i], exp, true
}

// compare compares two numbers exactly, but for those that have more digits
// than anything can need.
func compare(a, b string) int {
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	if errX == nil && errY == nil {
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	p, okP := rational(a)
	q, okQ := rational(b)
	if okP && okQ {
		return p.Cmp(q)
	}
	f, _ := strconv.ParseFloat(a, 64) // out of range, it is infinite
	g, _ := strconv.ParseFloat(b, 64)
	switch {
	case f < g:
		return -1
	case f > g:
		return 1
	}
	return strings.Compare(a, b)
}

func rational(n string) (*big.Rat, bool) {
	if _, exp, _ := cutExponent(n); len(n) > maxDigits || exp > maxDigits || exp < -maxDigits {
		return nil, false
	}
	return new(big.Rat).SetString(n)
}

// equalJSON reports whether two values are the same: numbers by what they are,
// objects in any order.
func equalJSON(a, b json.RawMessage) bool {
	ka, kb := kindOf(a), kindOf(b)
	number := func(k string) bool { return k == "integer" || k == "number" }
	if number(ka) && number(kb) {
		return compare(string(a), string(b)) == 0
	}
	if ka != kb {
		return false
	}
	switch ka {
	case "string":
		return str(a) == str(b)
	case "array":
		return slices.EqualFunc(elements(a), elements(b), equalJSON)
	case "object":
		x, y := members(a), members(b)
		byName := func(p, q member) int { return strings.Compare(p.name, q.name) }
		slices.SortStableFunc(x, byName)
		slices.SortStableFunc(y, byName)
		return slices.EqualFunc(x, y, func(p, q member) bool { return p.name == q.name && equalJSON(p.value, q.value) })
	}
	return bytes.Equal(a, b)
}

// marshal is json.Marshal without the escapes that only web pages need.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func quote(s string) string {
	b, _ := marshal(s) // a string always marshals
	return string(b)
}

// str is a value as text; "" if it is no string.
func str(v json.RawMessage) string {
	if n := len(v) - 1; n > 0 && v[0] == '"' && v[n] == '"' && literal(v[1:n]) {
		return string(v[1:n])
	}
	var s string
	_ = json.Unmarshal(v, &s) // "" then
	return s
}

// literal reports whether what is between the quotes of a valid string stands
// for itself.
func literal(b []byte) bool {
	ascii := true
	for _, c := range b {
		if c == '\\' || c == '"' || c < ' ' {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return ascii || utf8.Valid(b)
}

// describe says what came.
func describe(v json.RawMessage) string {
	switch k := kindOf(v); k {
	case "null":
		return "null"
	case "object", "array":
		return "an " + k
	default:
		return "the " + k + " " + clip(string(v))
	}
}

// maxEcho bounds what of a model's own text is said back to it.
const maxEcho = 200

func clip(s string) string { return clipTo(s, maxEcho) }

func clipTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
