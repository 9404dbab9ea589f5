package pdf

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// font says what the codes of a string stand for.
type font struct {
	simple  [256]string
	wide    bool   // codes are not of one byte each
	utf16   bool   // codes are UTF-16
	spaces  []span // which codes there are; none means two bytes
	meaning []span // what the document says that codes mean, sorted
	widths  []span // sorted
	width   float64
	scale   float64
}

// span is a range of codes.
type span struct {
	from, to uint32
	long     int     // bytes of a code
	text     string  // what the first one means
	width    float64 // of each
}

// find returns the last span that begins at or before code, if it holds it.
func find(list []span, code uint32) (span, bool) {
	i, ok := slices.BinarySearchFunc(list, code, func(s span, c uint32) int { return cmp.Compare(s.from, c) })
	if !ok {
		i--
	}
	if i < 0 || code > list[i].to {
		return span{}, false
	}
	return list[i], true
}

// next is what the first code of s means, how wide it is where text is of size
// 1, and how many bytes it has.
func (f *font) next(s string) (meaning string, width float64, n int) {
	n = 1
	if f.wide {
		n = f.long(s)
	}
	code := uint32(0)
	for i := range n {
		code = code<<8 | uint32(s[i])
	}
	width = f.width
	if w, ok := find(f.widths, code); ok {
		width = w.width
	}
	width *= f.scale
	if m, ok := find(f.meaning, code); ok {
		return m.at(code), width, n
	}
	switch {
	case f.utf16:
		return string(utf16.Decode([]uint16{uint16(code)})), width, n
	case f.wide:
		return "\uFFFD", width, n
	}
	return f.simple[code], width, n
}

// long is how many bytes the first code of s has.
func (f *font) long(s string) int {
	code := uint32(0)
	for n := 1; n <= min(len(s), 4); n++ {
		code = code<<8 | uint32(s[n-1])
		for _, sp := range f.spaces {
			if sp.long == n && sp.from <= code && code <= sp.to {
				return n
			}
		}
	}
	return min(len(s), 2)
}

// at is what code means: the last character counts up.
func (s span) at(code uint32) string {
	if code == s.from {
		return s.text
	}
	r, n := utf8.DecodeLastRuneInString(s.text)
	return s.text[:len(s.text)-n] + string(r+rune(code-s.from))
}

// findFont is the font of that name.
func (t *drawing) findFont(res dict, key name) (*font, error) {
	all, err := t.d.dict(res["Font"])
	if err != nil {
		return nil, err
	}
	r, _ := all[key].(ref)
	if f := t.fonts[r]; f != nil && r != (ref{}) {
		return f, nil
	}
	m, err := t.d.dict(all[key])
	if err != nil {
		return nil, err
	}
	f, err := t.d.font(m)
	if err != nil {
		return nil, err
	}
	t.fonts[r] = f
	return f, nil
}

func (d *Document) font(m dict) (*font, error) {
	f := &font{width: 0.5, scale: 1}
	if err := d.spend(4096); err != nil {
		return nil, err
	}
	v, err := d.resolve(m["ToUnicode"])
	if err != nil {
		return nil, err
	}
	if s, ok := v.(stream); ok {
		if f.spaces, f.meaning, err = d.cmap(s); err != nil {
			return nil, err
		}
	}
	enc, err := d.resolve(m["Encoding"])
	if err != nil {
		return nil, err
	}
	if m["Subtype"] == name("Type0") {
		return f, d.wideFont(f, m, enc)
	}
	if err := d.encoding(f, m, enc); err != nil {
		return nil, err
	}
	list, err := d.numbers(m["Widths"])
	if err != nil {
		return nil, err
	}
	first := integer(m["FirstChar"])
	for i, w := range list {
		f.widths = append(f.widths, span{from: uint32(first + i), to: uint32(first + i), width: w / 1000})
	}
	if m["Subtype"] == name("Type3") {
		list, err := d.numbers(m["FontMatrix"])
		if err != nil {
			return nil, err
		}
		if len(list) == 6 {
			f.scale = list[0] * 1000
		}
	}
	return f, nil
}

// numbers is an array of numbers.
func (d *Document) numbers(v any) ([]float64, error) {
	v, err := d.resolve(v)
	list, _ := v.(array)
	out := make([]float64, 0, len(list))
	for _, e := range list {
		if e, err = d.resolve(e); err != nil {
			return nil, err
		}
		out = append(out, float(e))
	}
	return out, err
}

// wideFont is a font of many glyphs.
func (d *Document) wideFont(f *font, m dict, enc any) error {
	f.wide, f.width = true, 1
	switch enc := enc.(type) {
	case stream:
		spaces, _, err := d.cmap(enc)
		if err != nil {
			return err
		}
		f.spaces = spaces
	case name:
		f.utf16 = strings.Contains(string(enc), "UCS2") || strings.Contains(string(enc), "UTF16")
		if f.utf16 || strings.HasPrefix(string(enc), "Identity") {
			f.spaces = nil
		}
	}
	v, err := d.resolve(m["DescendantFonts"])
	list, _ := v.(array)
	if err != nil || len(list) == 0 {
		return err
	}
	below, err := d.dict(list[0])
	if err != nil {
		return err
	}
	if below["DW"] != nil {
		f.width = float(below["DW"]) / 1000
	}
	v, err = d.resolve(below["W"])
	if err != nil {
		return err
	}
	ws, _ := v.(array)
	for len(ws) >= 2 {
		from := uint32(max(0, integer(ws[0])))
		next, err := d.resolve(ws[1])
		if err != nil {
			return err
		}
		if each, ok := next.(array); ok {
			for i, w := range each {
				f.widths = append(f.widths, span{from: from + uint32(i), to: from + uint32(i), width: float(w) / 1000})
			}
			ws = ws[2:]
			continue
		}
		if len(ws) < 3 {
			break
		}
		f.widths = append(f.widths, span{from: from, to: uint32(max(0, integer(next))), width: float(ws[2]) / 1000})
		ws = ws[3:]
	}
	sortSpans(f.widths)
	return nil
}

func sortSpans(list []span) {
	slices.SortStableFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
}

// cmap reads which codes there are, and what they mean.
func (d *Document) cmap(s stream) (spaces, meaning []span, err error) {
	b, err := d.decode(s)
	if err != nil {
		return nil, nil, err
	}
	l := d.lexer(b, 0)
	l.refs = false
	var args []any
	for {
		v, err := l.value()
		if err != nil {
			break // the end, or what is damaged from here on
		}
		op, ok := v.(word)
		if !ok {
			args = append(args, v)
			continue
		}
		switch op {
		case "endcodespacerange":
			for i := 0; i+1 < len(args) && len(spaces) < 256; i += 2 {
				from, long := code(args[i])
				to, _ := code(args[i+1])
				spaces = append(spaces, span{from: from, to: to, long: long})
			}
		case "endbfchar":
			for i := 0; i+1 < len(args); i += 2 {
				from, _ := code(args[i])
				meaning = append(meaning, span{from: from, to: from, text: utf16Text(args[i+1])})
			}
		case "endbfrange":
			for i := 0; i+2 < len(args); i += 3 {
				from, _ := code(args[i])
				to, _ := code(args[i+1])
				each, ok := args[i+2].(array)
				if !ok {
					meaning = append(meaning, span{from: from, to: to, text: utf16Text(args[i+2])})
					continue
				}
				for k, e := range each {
					meaning = append(meaning, span{from: from + uint32(k), to: from + uint32(k), text: utf16Text(e)})
				}
			}
		}
		args = args[:0]
	}
	sortSpans(meaning)
	return spaces, meaning, d.over()
}

func code(v any) (uint32, int) {
	s, _ := v.(text)
	n := uint32(0)
	for i := range min(len(s), 4) {
		n = n<<8 | uint32(s[i])
	}
	return n, len(s)
}

func utf16Text(v any) string {
	s, _ := v.(text)
	u := make([]uint16, 0, len(s)/2)
	for ; len(s) >= 2; s = s[2:] {
		u = append(u, uint16(s[0])<<8|uint16(s[1]))
	}
	if len(s) == 1 && len(u) == 0 {
		u = append(u, uint16(s[0]))
	}
	return string(utf16.Decode(u))
}

// encoding fills in what the codes of one byte mean.
func (d *Document) encoding(f *font, m dict, enc any) error {
	base, _ := enc.(name)
	e, _ := enc.(dict)
	if e != nil {
		base, _ = e["BaseEncoding"].(name)
	}
	for i := range f.simple {
		f.simple[i] = codePage(base, m["Subtype"] == name("TrueType"), byte(i))
	}
	diff, err := d.resolve(e["Differences"])
	if err != nil {
		return err
	}
	list, _ := diff.(array)
	at := 0
	for _, v := range list {
		switch v := v.(type) {
		case number:
			at = integer(v)
		case name:
			if 0 <= at && at < 256 {
				f.simple[at] = glyph(string(v))
			}
			at++
		}
	}
	return nil
}

// codePage is what a byte means in an encoding; that of a font that names none
// is taken for the standard one, or for that of Windows.
func codePage(base name, trueType bool, c byte) string {
	switch {
	case c < ' ' || c == 0x7F:
		return ""
	case base == "MacRomanEncoding":
		if c >= 0x80 {
			return string(macRoman[c-0x80])
		}
	case base == "WinAnsiEncoding" || trueType:
		if 0x80 <= c && c < 0xA0 {
			return string(winAnsi[c-0x80])
		}
		return string(rune(c))
	case c == '\'':
		return "’"
	case c == '`':
		return "‘"
	case c >= 0x80:
		if c < 0xA1 {
			return "\uFFFD"
		}
		return string(standard[c-0xA1])
	}
	return string(rune(c))
}

// The upper halves of the encodings of ISO 32000-1, annex D.
var (
	macRoman = []rune("ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»…\u00a0ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\uFFFDÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ")
	winAnsi  = []rune("€•‚ƒ„…†‡ˆ‰Š‹Œ•Ž••‘’“”•–—˜™š›œ•žŸ")
	standard = []rune("¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ\uFFFD–†‡·\uFFFD¶•‚„”»…‰\uFFFD¿\uFFFD`´ˆ˜¯˘˙¨\uFFFD˚¸\uFFFD˝˛ˇ—" +
		strings.Repeat("\uFFFD", 16) + "Æ\uFFFDª\uFFFD\uFFFD\uFFFD\uFFFDŁØŒº\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDæ\uFFFD\uFFFD\uFFFDı\uFFFD\uFFFDłøœß\uFFFD\uFFFD\uFFFD\uFFFD")
)

// glyph is what the name of a glyph means.
func glyph(s string) string {
	s, _, _ = strings.Cut(s, ".") // "a.swash" is an a
	if s == "notdef" || s == "" {
		return ""
	}
	if len(s) == 1 {
		return s
	}
	if r, ok := glyphNames()[s]; ok {
		return r
	}
	for _, lead := range []string{"uni", "u"} {
		if hex, ok := strings.CutPrefix(s, lead); ok && len(hex) >= 4 {
			if n, err := strconv.ParseUint(hex[:min(len(hex), 6)], 16, 32); err == nil && len(hex) <= 6 && n <= utf8.MaxRune {
				return string(rune(n))
			}
		}
	}
	return "\uFFFD"
}
