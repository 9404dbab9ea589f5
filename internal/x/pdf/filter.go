package pdf

import (
	"bytes"
	"compress/flate"
	"encoding/ascii85"
	"errors"
	"fmt"
	"io"
)

// decode undoes the filters of a stream. What it makes counts as memory.
func (d *Document) decode(s stream) ([]byte, error) {
	filters, err := d.list(s.dict, "Filter", "F")
	if err != nil {
		return nil, err
	}
	parms, err := d.list(s.dict, "DecodeParms", "DP")
	if err != nil {
		return nil, err
	}
	if len(filters) > 8 {
		return nil, fmt.Errorf("a stream has %d filters", len(filters))
	}
	b := s.raw
	for i, f := range filters {
		f, err := d.resolve(f)
		if err != nil {
			return nil, err
		}
		var p dict
		if i < len(parms) {
			if p, err = d.dict(parms[i]); err != nil {
				return nil, err
			}
		}
		if b, err = d.filter(f, p, b); err != nil {
			return nil, err
		}
		if err := d.take(len(b)); err != nil {
			return nil, err
		}
		if err := d.spend(len(b)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// list is an entry that may be one value or an array of them. An image in a
// content stream has it under a shorter name.
func (d *Document) list(m dict, key, short name) (array, error) {
	v := m[key]
	if v == nil && short == "DP" {
		v = m[short]
	}
	v, err := d.resolve(v)
	if v == nil || err != nil {
		return nil, err
	}
	if a, ok := v.(array); ok {
		return a, nil
	}
	return array{v}, nil
}

func (d *Document) filter(f any, p dict, b []byte) ([]byte, error) {
	limit := maxSpace - d.space
	switch f {
	case name("FlateDecode"), name("Fl"):
		out, err := inflate(b, limit)
		if err != nil {
			return nil, err
		}
		return unpredict(out, p)
	case name("LZWDecode"), name("LZW"):
		out, err := unlzw(b, p["EarlyChange"] == nil || integer(p["EarlyChange"]) != 0, limit)
		if err != nil {
			return nil, err
		}
		return unpredict(out, p)
	case name("ASCIIHexDecode"), name("AHx"):
		b, _, _ = bytes.Cut(b, []byte(">"))
		return unhex(b), nil
	case name("ASCII85Decode"), name("A85"):
		b, _, _ = bytes.Cut(b, []byte("~"))
		out, err := io.ReadAll(io.LimitReader(ascii85.NewDecoder(bytes.NewReader(b)), int64(limit)+1))
		if err != nil && len(out) == 0 {
			return nil, err
		}
		return out, nil
	case name("RunLengthDecode"), name("RL"):
		return unrun(b, limit)
	}
	return nil, fmt.Errorf("a stream is encoded as %v, which is not read here", f)
}

// inflate decompresses. Of a stream that is cut off or damaged, it returns
// what comes before that.
func inflate(b []byte, limit int) ([]byte, error) {
	if len(b) < 2 {
		return nil, nil
	}
	out, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b[2:])), int64(limit)+1))
	if len(out) > limit {
		return nil, fmt.Errorf("a stream takes more than the %d MiB of memory that it may", maxSpace>>20)
	}
	if err != nil && len(out) == 0 {
		return nil, fmt.Errorf("a stream is damaged: %w", err)
	}
	return out, nil
}

// unpredict undoes the predictor of PNG or TIFF.
func unpredict(b []byte, p dict) ([]byte, error) {
	kind := integer(p["Predictor"])
	if kind < 2 {
		return b, nil
	}
	or := func(k name, otherwise int) int {
		if p[k] == nil {
			return otherwise
		}
		return integer(p[k])
	}
	colors, bits, columns := or("Colors", 1), or("BitsPerComponent", 8), or("Columns", 1)
	if colors < 1 || colors > 32 || bits < 1 || bits > 16 || columns < 1 || columns > 1<<20 {
		return nil, errors.New("a stream has a predictor that cannot be")
	}
	unit := max(1, colors*bits/8)
	row := (colors*bits*columns + 7) / 8
	if kind == 2 {
		if bits != 8 {
			return nil, errors.New("a stream has a predictor that is not read here")
		}
		out := bytes.Clone(b)
		for i := range out {
			if i%row >= unit {
				out[i] += out[i-unit]
			}
		}
		return out, nil
	}
	out := make([]byte, 0, len(b))
	above := make([]byte, row)
	for len(b) > 1 {
		how := b[0]
		line := bytes.Clone(b[1:min(len(b), 1+row)])
		b = b[1+len(line):]
		for i := range line {
			var left, corner byte
			if i >= unit {
				left, corner = line[i-unit], above[i-unit]
			}
			switch how {
			case 1:
				line[i] += left
			case 2:
				line[i] += above[i]
			case 3:
				line[i] += byte((int(left) + int(above[i])) / 2)
			case 4:
				line[i] += paeth(left, above[i], corner)
			}
		}
		out = append(out, line...)
		copy(above, line)
	}
	return out, nil
}

// paeth is the predictor of that name, of the PNG specification.
func paeth(a, b, c byte) byte {
	p := int(a) + int(b) - int(c)
	pa, pb, pc := abs(p-int(a)), abs(p-int(b)), abs(p-int(c))
	switch {
	case pa <= pb && pa <= pc:
		return a
	case pb <= pc:
		return b
	}
	return c
}

func abs(n int) int { return max(n, -n) }

// unlzw decodes LZW with codes of 9 to 12 bits, the highest bit first. With
// early, codes become longer one code early.
func unlzw(b []byte, early bool, limit int) ([]byte, error) {
	const wipe, end = 256, 257
	var out []byte
	type span struct{ from, to int } // what a code stands for, in out
	var table []span
	soon := 0
	if early {
		soon = 1
	}
	width, bits, have := 9, 0, 0
	last := span{}
	for _, c := range b {
		bits, have = bits<<8|int(c), have+8
		if have < width {
			continue
		}
		have -= width
		code := bits >> have
		bits &= 1<<have - 1
		if code == end {
			break
		}
		if code == wipe {
			table, width, last = table[:0], 9, span{}
			continue
		}
		from := len(out)
		switch i := code - 258; {
		case code < wipe:
			out = append(out, byte(code))
		case i < len(table):
			out = append(out, out[table[i].from:table[i].to]...)
		case i == len(table) && last.to > last.from:
			out = append(append(out, out[last.from:last.to]...), out[last.from])
		default:
			return out, nil // damaged from here on
		}
		if len(out) > limit {
			return nil, fmt.Errorf("a stream takes more than the %d MiB of memory that it may", maxSpace>>20)
		}
		if last.to > last.from && len(table) < 4096-258 {
			table = append(table, span{last.from, last.to + 1}) // the next byte follows it in out
		}
		last = span{from, len(out)}
		for n := len(table) + 258 + 1 + soon; width < 12 && n > 1<<width; {
			width++
		}
	}
	return out, nil
}

// unrun decodes runs of bytes.
func unrun(b []byte, limit int) ([]byte, error) {
	var out []byte
	for len(b) > 0 && b[0] != 128 {
		n := int(b[0])
		switch {
		case n < 128 && len(b) > n+1:
			out = append(out, b[1:n+2]...)
			b = b[n+2:]
		case n > 128 && len(b) > 1:
			out = append(out, bytes.Repeat(b[1:2], 257-n)...)
			b = b[2:]
		default:
			return out, nil
		}
		if len(out) > limit {
			return nil, fmt.Errorf("a stream takes more than the %d MiB of memory that it may", maxSpace>>20)
		}
	}
	return out, nil
}
