package config

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// A change puts a text in the place of the bytes from start to end.
type change struct {
	start, end int
	text       string
}

// apply makes changes that do not overlap. All other bytes stay as they are.
func apply(text []byte, changes ...change) []byte {
	slices.SortStableFunc(changes, func(a, b change) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, c := range changes {
		out = append(append(out, text[at:c.start]...), c.text...)
		at = c.end
	}
	return append(out, text[at:]...)
}

// A group is an object or a list in a text, and where what is in it begins and
// ends. It begins at its bracket, and end is after the other.
type group struct {
	start, end int
	items      []change // without texts
}

func groupOf(v *hujson.Value) (g group, ok bool) {
	g = group{start: v.StartOffset, end: v.EndOffset}
	switch v := v.Value.(type) {
	case *hujson.Object:
		for i := range v.Members {
			g.items = append(g.items, change{start: v.Members[i].Name.StartOffset, end: v.Members[i].Value.EndOffset})
		}
		return g, true
	case *hujson.Array:
		for i := range v.Elements {
			g.items = append(g.items, change{start: v.Elements[i].StartOffset, end: v.Elements[i].EndOffset})
		}
		return g, true
	}
	return g, false
}

// insert puts an item at the end of a group, laid out as those before it. item
// makes its text for lines that begin with indent; "" as newline means that all
// is to be on one line.
func insert(text []byte, g group, item func(newline, indent string) string) []byte {
	closing := g.end - 1
	newline := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		newline = "\r\n"
	}
	outer := indentOf(text, g.start)
	if len(g.items) == 0 {
		at := g.start + len(bytes.TrimRight(text[g.start:closing], " \t\r\n")) // after a comment
		indent := outer + unit(text)
		new := newline + indent + item(newline, indent)
		if !bytes.ContainsRune(text[at:closing], '\n') {
			new += newline + outer
		}
		return apply(text, change{at, at, new})
	}
	first, last := g.items[0], g.items[len(g.items)-1]
	at := last.end + len(bytes.TrimRight(text[last.end:closing], " \t\r\n"))
	comma := skipExtra(text, last.end)
	trailing := text[comma] == ','
	var changes []change
	if !trailing {
		changes = append(changes, change{last.end, last.end, ","})
	}
	var new string
	if lines := bytes.ContainsRune(text[g.start:first.start], '\n') || bytes.ContainsRune(text[last.end:closing], '\n'); lines {
		indent := outer + unit(text)
		if before := text[lineStart(text, last.start):last.start]; len(bytes.TrimSpace(before)) == 0 {
			indent = string(before)
		}
		new = newline + indent + item(newline, indent)
	} else {
		new = " " + item("", "")
	}
	if trailing {
		new += ","
	}
	return apply(text, append(changes, change{at, at, new})...)
}

// remove takes an item out of a group with its comma, and its line if nothing
// else is on it. Comments stay.
func remove(text []byte, g group, i int) []byte {
	start, end := g.items[i].start, g.items[i].end
	comma := skipExtra(text, end)
	own := text[comma] == ','
	var cuts []change
	floor := 0 // nothing before it is to go
	switch {
	case own && len(bytes.TrimLeft(text[end:comma], " \t")) == 0:
		end = comma + 1
	case own: // there is a comment between
		cuts = append(cuts, change{start: comma, end: comma + 1})
	case i > 0: // it was the last: the one before has no comma any more
		before := skipExtra(text, g.items[i-1].end)
		cuts = append(cuts, change{start: before, end: before + 1})
		floor = before + 1
	}
	from, to := lineStart(text, start), len(text)
	if n := bytes.IndexByte(text[end:], '\n'); n >= 0 {
		to = end + n + 1
	}
	switch {
	case len(bytes.TrimSpace(text[from:start])) == 0 && len(bytes.TrimSpace(text[end:to])) == 0 && to <= g.end && from > g.start:
		start, end = from, to
	case own && end == comma+1: // the next moves up to where it was
		end += len(text[end:]) - len(bytes.TrimLeft(text[end:], " \t"))
	case !own && i > 0:
		start = max(floor, len(bytes.TrimRight(text[:start], " \t")))
	}
	return apply(text, append(cuts, change{start: start, end: end})...)
}

// skipExtra is the first offset from i on that is in neither white space nor
// a comment. The text has been parsed: each comment ends.
func skipExtra(text []byte, i int) int {
	for i < len(text) {
		switch rest := text[i:]; {
		case strings.IndexByte(" \t\r\n", text[i]) >= 0:
			i++
		case bytes.HasPrefix(rest, []byte("//")):
			n := bytes.IndexByte(rest, '\n')
			if n < 0 {
				return len(text) - 1
			}
			i += n + 1
		case bytes.HasPrefix(rest, []byte("/*")):
			i += 2 + bytes.Index(rest[2:], []byte("*/")) + 2
		default:
			return i
		}
	}
	return len(text) - 1
}

func lineStart(text []byte, at int) int { return 1 + bytes.LastIndexByte(text[:at], '\n') }

// indentOf is the white space that the line begins with.
func indentOf(text []byte, at int) string {
	line := text[lineStart(text, at):at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unit is what a text is indented by: the white space of its first line that
// has any.
func unit(text []byte) string {
	for line := range bytes.Lines(text) {
		rest := bytes.TrimLeft(line, " \t")
		if len(rest) < len(line) && len(rest) > 0 && (rest[0] == '"' || rest[0] == '/') {
			return string(line[:len(line)-len(rest)])
		}
	}
	return "  "
}

// layOut is JSON in lines that begin with indent; without a newline it is on
// one line.
func layOut(raw json.RawMessage, newline, indent, unit string) string {
	var b bytes.Buffer
	if newline == "" || json.Indent(&b, raw, indent, unit) != nil {
		b.Reset()
		if json.Compact(&b, raw) != nil {
			return string(raw)
		}
	}
	return strings.ReplaceAll(b.String(), "\n", newline) // in JSON it stands between values alone
}

// textJSON is a text as JSON in which <, > and & stay readable, as rules have
// them.
func textJSON(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string marshals
	return bytes.TrimSpace(b.Bytes())
}
