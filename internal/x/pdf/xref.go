package pdf

import (
	"bytes"
	"errors"
	"fmt"
)

// entry says where an object is: at an offset of the file, or as the index-th
// in an object stream.
type entry struct {
	at    int
	in    int // number of the object stream; 0 if it is in none
	index int
}

// lexer reads values of the document's structure in b.
func (d *Document) lexer(b []byte, at int) *lexer {
	return &lexer{b: b, at: at, refs: true, charge: func(bytes, values int) error {
		if err := d.take(bytes + values*valueSpace); err != nil {
			return err
		}
		return d.spend(bytes)
	}}
}

// readEntries reads the cross-reference sections, the latest first.
func (d *Document) readEntries() error {
	tail := d.data[max(0, len(d.data)-2048):]
	i := bytes.LastIndex(tail, []byte("startxref"))
	if i < 0 {
		return errors.New("it has no cross-reference table")
	}
	v, err := d.lexer(tail, i+len("startxref")).value()
	if err != nil {
		return err
	}
	seen := map[int]bool{}
	todo := []int{integer(v)}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		t, err := d.section(at)
		if err != nil {
			return err
		}
		if d.trailer == nil {
			d.trailer = t
		}
		for _, k := range []name{"XRefStm", "Prev"} {
			if t[k] != nil {
				todo = append(todo, integer(t[k]))
			}
		}
	}
	return nil
}

// section reads a table or a stream and returns its trailer.
func (d *Document) section(at int) (dict, error) {
	if at < 0 || at >= len(d.data) {
		return nil, errors.New("its cross-reference table lies outside of it")
	}
	l := d.lexer(d.data, at)
	if v, err := l.value(); err != nil {
		return nil, err
	} else if v != word("xref") {
		return d.streamSection(at)
	}
	for {
		v, err := l.value()
		if err != nil {
			return nil, err
		}
		if v == word("trailer") {
			break
		}
		n, err := l.value()
		if err != nil {
			return nil, err
		}
		if asNumber(v) == "" || asNumber(n) == "" {
			return nil, errors.New("its cross-reference table is damaged")
		}
		for num := integer(v); num < integer(v)+integer(n); num++ {
			var row [3]any
			for i := range row {
				if row[i], err = l.value(); err != nil {
					return nil, err
				}
			}
			switch row[2] {
			case word("n"):
				err = d.enter(num, entry{at: integer(row[0])})
			case word("f"):
				err = d.enter(num, entry{at: -1})
			default:
				err = errors.New("its cross-reference table is damaged")
			}
			if err != nil {
				return nil, err
			}
		}
	}
	v, err := l.value()
	if err != nil {
		return nil, err
	}
	t, ok := v.(dict)
	if !ok {
		return nil, errors.New("it has no trailer")
	}
	return t, nil
}

// enter notes where an object is, if a later section did not say so already.
func (d *Document) enter(num int, e entry) error {
	if _, ok := d.entries[num]; ok || num < 0 {
		return nil
	}
	if len(d.entries) >= maxObjects {
		return fmt.Errorf("it has more than %d objects", maxObjects)
	}
	d.entries[num] = e
	return nil
}

// streamSection reads a cross-reference stream.
func (d *Document) streamSection(at int) (dict, error) {
	v, _, err := d.object(at)
	if err != nil {
		return nil, err
	}
	s, ok := v.(stream)
	if !ok || s.dict["Type"] != name("XRef") {
		return nil, errors.New("its cross-reference table is damaged")
	}
	b, err := d.decode(s)
	if err != nil {
		return nil, err
	}
	widths, _ := s.dict["W"].(array)
	if len(widths) < 3 {
		return nil, errors.New("its cross-reference table is damaged")
	}
	var w [3]int
	for i := range w {
		w[i] = integer(widths[i])
		if w[i] < 0 || w[i] > 8 {
			return nil, errors.New("its cross-reference table is damaged")
		}
	}
	row := w[0] + w[1] + w[2]
	if row == 0 {
		return nil, errors.New("its cross-reference table is damaged")
	}
	index, _ := s.dict["Index"].(array)
	if index == nil {
		index = array{number("0"), s.dict["Size"]}
	}
	for ; len(index) >= 2; index = index[2:] {
		first := integer(index[0])
		for i := 0; i < integer(index[1]) && len(b) >= row; i++ {
			kind := 1
			if w[0] > 0 {
				kind = bigEndian(b[:w[0]])
			}
			second, third := bigEndian(b[w[0]:w[0]+w[1]]), bigEndian(b[w[0]+w[1]:row])
			b = b[row:]
			switch kind {
			case 0:
				err = d.enter(first+i, entry{at: -1})
			case 1:
				err = d.enter(first+i, entry{at: second})
			case 2:
				err = d.enter(first+i, entry{in: second, index: third})
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return s.dict, nil
}

func bigEndian(b []byte) int {
	n := 0
	for _, c := range b {
		n = n<<8 | int(c)
	}
	return n
}

// search finds the objects of a document without its cross-reference table. Of
// several objects of one number, the last counts.
func (d *Document) search() error {
	if err := d.spend(len(d.data)); err != nil {
		return err
	}
	var streams []int
	for at := 0; ; {
		i := bytes.Index(d.data[at:], []byte("obj"))
		if i < 0 {
			break
		}
		i += at
		at = i + 3
		num, from, ok := heading(d.data[:i])
		if !ok {
			continue
		}
		delete(d.entries, num)
		if err := d.enter(num, entry{at: from}); err != nil {
			return err
		}
		head := d.data[i:min(len(d.data), i+512)]
		if bytes.Contains(head, []byte("/ObjStm")) || bytes.Contains(head, []byte("/XRef")) {
			streams = append(streams, num)
		}
	}
	for at := 0; ; {
		i := bytes.Index(d.data[at:], []byte("trailer"))
		if i < 0 {
			break
		}
		at += i + len("trailer")
		v, err := d.lexer(d.data, at).value()
		if t, ok := v.(dict); err == nil && ok && t["Root"] != nil {
			d.trailer = t
		}
		if err := d.over(); err != nil {
			return err
		}
	}
	for _, num := range streams {
		v, err := d.resolve(ref{num: num})
		if err != nil {
			if err := d.over(); err != nil {
				return err
			}
			continue // another damaged part
		}
		s, _ := v.(stream)
		switch s.dict["Type"] {
		case name("XRef"):
			if d.trailer == nil || s.dict["Encrypt"] != nil {
				d.trailer = s.dict
			}
		case name("ObjStm"):
			if err := d.enterStream(num); err != nil {
				return err
			}
		}
	}
	if d.trailer == nil {
		return d.searchCatalog()
	}
	return nil
}

// heading reads "12 0 " at the end of b, backwards: what stands before "obj".
func heading(b []byte) (num, from int, ok bool) {
	at := len(b)
	back := func(is func(byte) bool, most int) []byte {
		end := at
		for at > 0 && end-at < most && is(b[at-1]) {
			at--
		}
		return b[at:end]
	}
	digit := func(c byte) bool { return '0' <= c && c <= '9' }
	back(blank, 8)
	gen := back(digit, 6)
	gap := back(blank, 8)
	n := back(digit, 10)
	if len(gen) == 0 || len(gap) == 0 || len(n) == 0 {
		return 0, 0, false
	}
	return integer(number(n)), at, true
}

// searchCatalog finds the document's root by its type.
func (d *Document) searchCatalog() error {
	best := 0
	for num := range d.entries {
		v, err := d.resolve(ref{num: num})
		if err := d.over(); err != nil {
			return err
		}
		if m, ok := v.(dict); err == nil && ok && m["Type"] == name("Catalog") {
			if best = max(best, num); best == num {
				d.trailer = dict{"Root": ref{num: num}}
			}
		}
	}
	if d.trailer == nil {
		return errors.New("no pages were found in it")
	}
	return nil
}
