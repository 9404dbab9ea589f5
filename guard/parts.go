package guard

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

func (p pass) parts(ps llm.Parts) llm.Parts {
	if p.idle() {
		return ps
	}
	out := ps
	for i, part := range ps {
		clean, changed := p.part(part)
		if !changed {
			continue
		}
		if &out[0] == &ps[0] {
			out = slices.Clone(ps)
		}
		out[i] = clean
	}
	return out
}

// part is a part without keys, and whether it had any.
func (p pass) part(part llm.Part) (_ llm.Part, changed bool) {
	text := func(s *string) {
		if t := p.text(*s); t != *s {
			*s, changed = t, true
		}
	}
	raw := func(b *json.RawMessage) {
		if c := p.json(*b); !bytes.Equal(c, *b) {
			*b, changed = c, true
		}
	}
	switch v := part.(type) {
	case llm.Text:
		text(&v.Text)
		raw(&v.Raw)
		return v, changed
	case llm.Thinking:
		text(&v.Text)
		raw(&v.Raw)
		return v, changed
	case llm.Blob:
		if d := p.data(v.MIME, v.Data); !bytes.Equal(d, v.Data) {
			v.Data, changed = d, true
		}
		text(&v.URL)
		text(&v.Name)
		return v, changed
	case llm.ToolCall:
		raw(&v.Input)
		text(&v.Malformed)
		raw(&v.Raw)
		return v, changed
	case llm.ToolResult:
		inner := p.parts(v.Parts)
		changed = len(inner) > 0 && &inner[0] != &v.Parts[0]
		v.Parts = inner
		return v, changed
	case llm.Native:
		raw(&v.Raw)
		return v, changed
	case llm.Unknown:
		raw(&v.Raw)
		return v, changed
	}
	return part, false
}

// data is a file's content without keys. What is no text keeps its size, so that
// what is in it stays where it is.
func (p pass) data(mime string, b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	if strings.HasPrefix(mime, "text/") || strings.Contains(mime, "json") || strings.Contains(mime, "xml") || strings.Contains(mime, "yaml") {
		return []byte(p.text(string(b)))
	}
	out := b
	for _, f := range p.finders {
		spans, _ := f.scan(string(out), true)
		for _, s := range spans {
			if &out[0] == &b[0] {
				out = bytes.Clone(b)
			}
			for i := s.start; i < s.end; i++ {
				out[i] = '*'
			}
		}
	}
	return out
}
