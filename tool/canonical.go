package tool

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Canonical is raw with its objects' names sorted and no blanks, numbers as they
// were written: equal values have equal canonical forms. What is not JSON is
// returned as it is.
func Canonical(raw json.RawMessage) []byte {
	if !json.Valid(raw) {
		return raw
	}
	c := canonical{in: raw, out: make([]byte, 0, len(raw))}
	c.value(skip(raw, 0), 0)
	if c.deep {
		return decoded(raw)
	}
	return c.out
}

// decoded is the canonical form of valid JSON of any depth.
func decoded(raw json.RawMessage) []byte {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw
	}
	b, err := marshal(v)
	if err != nil {
		return raw
	}
	return b
}

// canonical writes the canonical form of a valid text in one pass. An object
// whose names are not in order is put in order afterwards, and so may be all
// around it; maxNested bounds how often one byte is moved.
type canonical struct {
	in, out []byte
	deep    bool // deeper than that
}

const maxNested = 64

// value writes the value that starts at i and returns where it ends.
func (c *canonical) value(i, depth int) int {
	if c.deep = c.deep || depth > maxNested; c.deep {
		return i
	}
	switch c.in[i] {
	case '{':
		return c.object(i, depth)
	case '[':
		c.out = append(c.out, '[')
		i = skip(c.in, i+1)
		for c.in[i] != ']' {
			if i = c.value(i, depth+1); c.deep {
				return i
			}
			if i = skip(c.in, i); c.in[i] == ',' {
				c.out = append(c.out, ',')
				i = skip(c.in, i+1)
			}
		}
		c.out = append(c.out, ']')
		return i + 1
	case '"':
		end := valueEnd(c.in, i)
		c.string(c.in[i:end])
		return end
	}
	end := valueEnd(c.in, i)
	c.out = append(c.out, c.in[i:end]...)
	return end
}

// string writes a string in the one form that encoding/json gives it.
func (c *canonical) string(v []byte) {
	if literal(v[1:len(v)-1]) && !bytes.Contains(v, []byte("\u2028")) && !bytes.Contains(v, []byte("\u2029")) {
		c.out = append(c.out, v...)
		return
	}
	c.out = append(c.out, quote(str(v))...)
}

// field is where a field of an object was written.
type field struct {
	name       string
	start, end int
}

func (c *canonical) object(i, depth int) int {
	var buf [8]field
	fields, sorted := buf[:0], true
	start := len(c.out)
	c.out = append(c.out, '{')
	i = skip(c.in, i+1)
	for c.in[i] != '}' {
		end := valueEnd(c.in, i)
		f := field{name: str(c.in[i:end]), start: len(c.out)}
		c.string(c.in[i:end])
		c.out = append(c.out, ':')
		i = skip(c.in, skip(c.in, end)+1) // past the colon
		if i = c.value(i, depth+1); c.deep {
			return i
		}
		f.end = len(c.out)
		sorted = sorted && (len(fields) == 0 || fields[len(fields)-1].name < f.name)
		fields = append(fields, f)
		if i = skip(c.in, i); c.in[i] == ',' {
			c.out = append(c.out, ',')
			i = skip(c.in, i+1)
		}
	}
	c.out = append(c.out, '}')
	if sorted {
		return i + 1
	}
	was := slices.Clone(c.out[start:])
	slices.SortStableFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	c.out = append(c.out[:start], '{')
	for k, f := range fields {
		if k+1 < len(fields) && fields[k+1].name == f.name {
			continue // the last of a name counts
		}
		c.out = append(append(c.out, was[f.start-start:f.end-start]...), ',')
	}
	c.out[len(c.out)-1] = '}'
	return i + 1
}
