package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// operandWork is what it takes to deal with a value of a content stream, beyond
// reading its bytes.
const operandWork = 80

// maxText bounds the text of one page, in bytes.
const maxText = 4 << 20

// Text is the text of page n, the first of which is 1, in the order in which
// the page draws it. Where the document does not say what a glyph means, there
// is U+FFFD. A page that is a picture has none.
func (d *Document) Text(ctx context.Context, n int) (string, error) {
	if err := d.begin(ctx, n, n); err != nil {
		return "", err
	}
	s, err := d.pageText(d.pages[n-1])
	if err != nil {
		return "", fmt.Errorf("pdf: page %d: %w", n, err)
	}
	return s, nil
}

func (d *Document) pageText(p page) (string, error) {
	own, err := d.attributes(p)
	if err != nil {
		return "", err
	}
	contents, err := d.resolve(own["Contents"])
	if err != nil {
		return "", err
	}
	list, ok := contents.(array)
	if !ok {
		list = array{contents}
	}
	var b []byte
	for _, c := range list {
		v, err := d.resolve(c)
		if err != nil {
			return "", err
		}
		s, ok := v.(stream)
		if !ok {
			continue
		}
		part, err := d.decode(s)
		if err != nil {
			return "", err
		}
		if err := d.take(len(part)); err != nil {
			return "", err
		}
		b = append(append(b, part...), '\n')
	}
	res, err := d.dict(own["Resources"])
	if err != nil {
		return "", err
	}
	t := &drawing{d: d, fonts: map[ref]*font{}, forms: map[ref][]byte{}}
	if err := t.run(b, res, unit, 0); err != nil && !errors.Is(err, errFull) {
		return "", err
	}
	return strings.TrimSpace(t.out.String()), nil
}

var errFull = errors.New("the page has more text than is taken")

// matrix is the first two columns of a transformation, as they are written.
type matrix [6]float64

var unit = matrix{1, 0, 0, 1, 0, 0}

// mul is m, then n.
func (m matrix) mul(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// graphics is the part of the graphics state that text depends on.
type graphics struct {
	ctm                                  matrix
	font                                 *font
	size, chars, words, leading, stretch float64
}

// drawing follows what a page draws and keeps the text.
type drawing struct {
	d          *Document
	fonts      map[ref]*font
	forms      map[ref][]byte
	out        strings.Builder
	x, y       float64 // where the last text ended
	some       bool    // there is a last text
	g          graphics
	saved      []graphics
	text, line matrix // of the text, and of the start of its line
}

// run follows a content stream.
func (t *drawing) run(b []byte, res dict, ctm matrix, depth int) error {
	t.g = graphics{ctm: ctm, stretch: 1}
	base := len(t.saved)
	l := &lexer{b: b, charge: func(bytes, values int) error { return t.d.spend(bytes + operandWork*values) }}
	var args []any
	for {
		v, err := l.value()
		if errors.Is(err, errEnd) {
			break
		}
		if err != nil {
			if over := t.d.over(); over != nil {
				return over
			}
			args = args[:0] // something damaged is passed over
			continue
		}
		op, ok := v.(word)
		if !ok {
			if args = append(args, v); len(args) > 64 {
				args = args[1:]
			}
			continue
		}
		switch op {
		case "q":
			if len(t.saved) < 1000 {
				t.saved = append(t.saved, t.g)
			}
		case "Q":
			if n := len(t.saved); n > base {
				t.g, t.saved = t.saved[n-1], t.saved[:n-1]
			}
		case "BI":
			passImage(l)
		case "Do":
			if err := t.form(args, res, depth); err != nil {
				return err
			}
		default:
			if err := t.operate(op, args, res); err != nil {
				return err
			}
		}
		args = args[:0]
	}
	t.saved = t.saved[:min(base, len(t.saved))]
	return nil
}

// passImage passes over an image in a content stream.
func passImage(l *lexer) {
	for at := l.at; ; {
		i := bytes.Index(l.b[at:], []byte("EI"))
		if i < 0 {
			l.at = len(l.b)
			return
		}
		at += i + 2
		if blank(l.b[at-3]) && (at == len(l.b) || !regular(l.b[at])) {
			l.at = at
			return
		}
	}
}

// form draws a form, which is a content stream of its own.
func (t *drawing) form(args []any, res dict, depth int) error {
	if len(args) == 0 || depth > 12 {
		return nil
	}
	if err := t.d.spend(5 * operandWork); err != nil {
		return err
	}
	key, _ := args[0].(name)
	all, err := t.d.dict(res["XObject"])
	if err != nil {
		return err
	}
	v, err := t.d.resolve(all[key])
	if err != nil {
		return err
	}
	s, ok := v.(stream)
	if !ok || s.dict["Subtype"] != name("Form") {
		return nil
	}
	r, _ := all[key].(ref)
	b, ok := t.forms[r]
	if !ok {
		if b, err = t.d.decode(s); err != nil {
			return err
		}
		t.forms[r] = b
	}
	inner, err := t.d.dict(s.dict["Resources"])
	if err != nil {
		return err
	}
	if inner == nil {
		inner = res
	}
	m := unit
	if a, err := t.d.resolve(s.dict["Matrix"]); err != nil {
		return err
	} else if a, ok := a.(array); ok && len(a) == 6 {
		for i := range m {
			m[i] = float(a[i])
		}
	}
	g, text, line := t.g, t.text, t.line
	err = t.run(b, inner, m.mul(t.g.ctm), depth+1)
	t.g, t.text, t.line = g, text, line
	return err
}

// operate carries out an operator that has to do with text.
func (t *drawing) operate(op word, args []any, res dict) error {
	num := func(i int) float64 {
		if i < len(args) {
			return float(args[i])
		}
		return 0
	}
	six := func() matrix { return matrix{num(0), num(1), num(2), num(3), num(4), num(5)} }
	next := func(x, y float64) {
		t.line = matrix{1, 0, 0, 1, x, y}.mul(t.line)
		t.text = t.line
	}
	last := func() any {
		if len(args) == 0 {
			return nil
		}
		return args[len(args)-1]
	}
	switch op {
	case "cm":
		t.g.ctm = six().mul(t.g.ctm)
	case "BT":
		t.text, t.line = unit, unit
	case "Tf":
		if len(args) < 2 {
			return nil
		}
		key, _ := args[0].(name)
		f, err := t.findFont(res, key)
		if err != nil {
			return err
		}
		t.g.font, t.g.size = f, num(1)
	case "Tc":
		t.g.chars = num(0)
	case "Tw":
		t.g.words = num(0)
	case "Tz":
		t.g.stretch = num(0) / 100
	case "TL":
		t.g.leading = num(0)
	case "Td":
		next(num(0), num(1))
	case "TD":
		t.g.leading = -num(1)
		next(num(0), num(1))
	case "Tm":
		t.line = six()
		t.text = t.line
	case "T*":
		next(0, -t.g.leading)
	case "Tj":
		return t.show(last())
	case "'", "\"":
		if op == "\"" {
			t.g.words, t.g.chars = num(0), num(1)
		}
		next(0, -t.g.leading)
		return t.show(last())
	case "TJ":
		list, _ := last().(array)
		for _, e := range list {
			if n := asNumber(e); n != "" {
				t.advance(-float(e) / 1000 * t.g.size * t.g.stretch)
			} else if err := t.show(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *drawing) advance(by float64) { t.text = matrix{1, 0, 0, 1, by, 0}.mul(t.text) }

// show takes a string of glyphs to the text.
func (t *drawing) show(v any) error {
	codes, ok := v.(text)
	if !ok || t.g.font == nil || len(codes) == 0 {
		return nil
	}
	t.place()
	for len(codes) > 0 {
		s, width, n := t.g.font.next(string(codes))
		by := width*t.g.size + t.g.chars
		if n == 1 && codes[0] == ' ' {
			by += t.g.words
		}
		codes = codes[n:]
		t.out.WriteString(s)
		t.advance(by * t.g.stretch)
	}
	if t.out.Len() > maxText {
		return errFull
	}
	m := t.text.mul(t.g.ctm)
	t.x, t.y, t.some = m[4], m[5], true
	return nil
}

// place puts the blank or the line end that lies between the last text and one
// that begins here.
func (t *drawing) place() {
	m := t.text.mul(t.g.ctm)
	long := math.Hypot(m[0], m[1])
	high := math.Abs(t.g.size) * math.Hypot(m[2], m[3])
	if !t.some || long == 0 || high == 0 {
		return
	}
	// How far along the line, and how far across it.
	ux, uy := m[0]/long, m[1]/long
	dx, dy := m[4]-t.x, m[5]-t.y
	along, across := dx*ux+dy*uy, math.Abs(dy*ux-dx*uy)
	gap := ""
	switch {
	case across > 1.9*high:
		gap = "\n\n"
	case across > 0.5*high:
		gap = "\n"
	case along > 0.15*high || along < -high:
		gap = " "
	}
	last, _ := utf8.DecodeLastRuneInString(t.out.String())
	if gap != "" && !(last == ' ' && gap == " ") {
		t.out.WriteString(gap)
	}
}
