package openai

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// source is one of the things that a server says an answer is from, such as a
// page of the web (annotations) or a tool that it ran (executed_tools). They are
// kept for those who show them; no server wants them back.
type source struct {
	kind string
	raw  json.RawMessage
}

// maxSources bounds the sources that are kept of an answer.
const maxSources = 1000

// source takes a list of a message, or a piece of it. What comes again is not
// kept twice.
func (d *decoder) source(kind string, raw json.RawMessage) {
	var items []json.RawMessage
	if !set(raw) || json.Unmarshal(raw, &items) != nil {
		return
	}
	for _, it := range items {
		had := func(s source) bool { return s.kind == kind && bytes.Equal(s.raw, it) }
		if len(d.sources) < maxSources && set(it) && !slices.ContainsFunc(d.sources, had) {
			d.sources = append(d.sources, source{kind, bytes.Clone(it)})
		}
	}
}

// cited are the sources as parts, one for each kind.
func (d *decoder) cited() llm.Parts {
	var out llm.Parts
	for _, kind := range [...]string{"executed_tools", "annotations"} {
		var items [][]byte
		for _, s := range d.sources {
			if s.kind == kind {
				items = append(items, s.raw)
			}
		}
		if items != nil {
			var o wire.Body
			o.Raw(kind, list(items))
			out = append(out, llm.Native{Wire: WireChat, Kind: kind, Raw: o.Bytes()})
		}
	}
	return out
}
