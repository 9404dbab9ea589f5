package pdf

import (
	"bytes"
	"errors"
	"fmt"
)

// object reads the object at an offset of the file, and its number.
func (d *Document) object(at int) (any, int, error) {
	if at < 0 || at >= len(d.data) {
		return nil, 0, errors.New("an object lies outside of it")
	}
	l := d.lexer(d.data, at)
	l.refs = false
	var head [3]any
	for i := range head {
		v, err := l.value()
		if err != nil {
			return nil, 0, err
		}
		head[i] = v
	}
	if head[2] != word("obj") {
		return nil, 0, fmt.Errorf("there is no object at byte %d", at)
	}
	l.refs = true
	v, err := l.value()
	if err != nil {
		return nil, 0, fmt.Errorf("the object at byte %d: %w", at, err)
	}
	m, ok := v.(dict)
	if !ok {
		if _, none := v.(word); none {
			v = nil // "endobj": there is nothing in it
		}
		return v, integer(head[0]), nil
	}
	l.skip()
	if !bytes.HasPrefix(l.b[l.at:], []byte("stream")) {
		return m, integer(head[0]), nil
	}
	from := l.at + len("stream")
	if bytes.HasPrefix(d.data[from:], []byte("\r\n")) {
		from += 2
	} else if from < len(d.data) && (d.data[from] == '\n' || d.data[from] == '\r') {
		from++
	}
	raw, err := d.extent(from, m["Length"])
	if err != nil {
		return nil, 0, fmt.Errorf("the stream at byte %d: %w", at, err)
	}
	return stream{m, raw}, integer(head[0]), nil
}

// extent is the stream that begins at from: as long as it says, if it ends
// there, or else up to where it ends.
func (d *Document) extent(from int, length any) ([]byte, error) {
	end := []byte("endstream")
	if v, err := d.resolve(length); err == nil && asNumber(v) != "" {
		n := integer(v)
		if n >= 0 && n <= len(d.data)-from {
			rest := d.data[from+n:]
			if bytes.HasPrefix(bytes.TrimLeft(rest[:min(len(rest), 16)], "\r\n \t\x00"), end[:7]) {
				return d.data[from : from+n], nil
			}
		}
	}
	n := bytes.Index(d.data[from:], end)
	if n < 0 {
		n = len(d.data) - from
	}
	if err := d.spend(n); err != nil {
		return nil, err
	}
	raw := d.data[from : from+n]
	raw = bytes.TrimSuffix(raw, []byte("\n"))
	return bytes.TrimSuffix(raw, []byte("\r")), nil
}

// resolve is what v is, or what it refers to. A reference to nothing is null.
func (d *Document) resolve(v any) (any, error) {
	for range maxDepth {
		r, ok := v.(ref)
		if !ok {
			return v, nil
		}
		var err error
		if v, err = d.load(r.num); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("its references go on without an end")
}

func (d *Document) load(num int) (any, error) {
	if v, ok := d.objects[num]; ok {
		return v, nil
	}
	e, ok := d.entries[num]
	if !ok || e.in == 0 && e.at < 0 {
		return nil, nil
	}
	if d.loading[num] {
		return nil, fmt.Errorf("object %d is needed to read itself", num)
	}
	d.loading[num] = true
	defer delete(d.loading, num)
	var v any
	var err error
	if e.in != 0 {
		v, err = d.packed(e.in, num, e.index)
	} else {
		var is int
		if v, is, err = d.object(e.at); err == nil && is != num {
			err = fmt.Errorf("object %d is not where it should be", num)
		}
	}
	if err != nil {
		return nil, err
	}
	d.objects[num] = v
	return v, d.take(valueSpace)
}

// dict is the dictionary that v is or refers to, also that of a stream; nil if
// it is anything else.
func (d *Document) dict(v any) (dict, error) {
	v, err := d.resolve(v)
	if s, ok := v.(stream); ok {
		return s.dict, err
	}
	m, _ := v.(dict)
	return m, err
}

// objectStream holds objects without their headings.
type objectStream struct {
	b    []byte
	nums []int
	at   []int
}

func (d *Document) objectStream(num int) (*objectStream, error) {
	if s := d.streams[num]; s != nil {
		return s, nil
	}
	if d.entries[num].in != 0 {
		return nil, errors.New("an object stream is in another")
	}
	v, err := d.load(num)
	if err != nil {
		return nil, err
	}
	s, ok := v.(stream)
	if !ok {
		return nil, fmt.Errorf("object %d is no object stream", num)
	}
	b, err := d.decode(s)
	if err != nil {
		return nil, err
	}
	first, err := d.resolve(s.dict["First"])
	if err != nil {
		return nil, err
	}
	count, err := d.resolve(s.dict["N"])
	if err != nil {
		return nil, err
	}
	out := &objectStream{b: b}
	l := d.lexer(b, 0)
	for range integer(count) {
		n, err := l.value()
		if err != nil {
			break
		}
		at, err := l.value()
		if err != nil {
			break
		}
		out.nums, out.at = append(out.nums, integer(n)), append(out.at, integer(first)+integer(at))
	}
	d.streams[num] = out
	return out, nil
}

// packed reads an object of an object stream.
func (d *Document) packed(in, num, index int) (any, error) {
	s, err := d.objectStream(in)
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= len(s.nums) || s.nums[index] != num {
		index = -1
		for i, n := range s.nums {
			if n == num {
				index = i
			}
		}
		if err := d.spend(len(s.nums)); err != nil {
			return nil, err
		}
	}
	if index < 0 || s.at[index] < 0 || s.at[index] > len(s.b) {
		return nil, fmt.Errorf("object %d is not where it should be", num)
	}
	v, err := d.lexer(s.b, s.at[index]).value()
	if _, ok := v.(word); ok {
		v = nil
	}
	return v, err
}

// enterStream notes the objects of an object stream that was found by search.
func (d *Document) enterStream(num int) error {
	s, err := d.objectStream(num)
	if err != nil {
		return d.over() // a damaged one has no objects
	}
	for i, n := range s.nums {
		if old, ok := d.entries[n]; ok && old.in == 0 && old.at > d.entries[num].at {
			continue // it was written anew
		}
		delete(d.entries, n)
		delete(d.objects, n)
		if err := d.enter(n, entry{in: num, index: i}); err != nil {
			return err
		}
	}
	return nil
}
