package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

// outputMax bounds what of a cell's output is shown.
const outputMax = 2000

// isNotebook reports whether the file is a Jupyter notebook, of which Read
// shows cells. Where the memory of files counts lines, it counts their cells.
func isNotebook(path string) bool { return strings.EqualFold(filepath.Ext(path), ".ipynb") }

// extent is where a value lies in a JSON text.
type extent struct{ from, to int }

// cell is a notebook's cell.
type cell struct {
	kind, id string
	source   string
	outputs  []json.RawMessage
	at, src  extent // of the cell, and of its source, in the notebook
}

// book is a notebook with where its cells lie.
type book struct {
	text  string
	cells []cell
	list  extent // of the list of cells
}

// members calls each with every member of the JSON object at e.
func members(text string, e extent, each func(key string, at extent) error) error {
	dec := json.NewDecoder(strings.NewReader(text[e.from:e.to]))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return errors.New("an object is expected")
	}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		key, _ := tok.(string)
		at, err := value(dec, e.from)
		if err != nil {
			return err
		}
		if err := each(key, at); err != nil {
			return err
		}
	}
	return nil
}

// value passes over the next value and returns where it is.
func value(dec *json.Decoder, base int) (extent, error) {
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return extent{}, err
	}
	to := base + int(dec.InputOffset())
	return extent{to - len(raw), to}, nil
}

// parseBook finds the cells of a notebook.
func parseBook(text string) (book, error) {
	b := book{text: text}
	if !json.Valid([]byte(text)) {
		return b, errors.New("it is not a notebook: its text is not JSON")
	}
	err := members(text, extent{0, len(text)}, func(key string, at extent) error {
		if key == "cells" {
			b.list = at
		}
		return nil
	})
	if err != nil || b.list.to == 0 || text[b.list.from] != '[' {
		return b, errors.New("it is not a notebook of version 4: it has no list of cells")
	}
	dec := json.NewDecoder(strings.NewReader(text[b.list.from:b.list.to]))
	_, _ = dec.Token() // the bracket
	for dec.More() {
		at, err := value(dec, b.list.from)
		if err != nil {
			return b, err
		}
		c := cell{at: at}
		err = members(text, at, func(key string, v extent) error {
			raw := json.RawMessage(text[v.from:v.to])
			switch key {
			case "cell_type":
				return json.Unmarshal(raw, &c.kind)
			case "id":
				return json.Unmarshal(raw, &c.id)
			case "outputs":
				return json.Unmarshal(raw, &c.outputs)
			case "source":
				c.source, c.src = joined(raw), v
			}
			return nil
		})
		if err != nil {
			return b, fmt.Errorf("cell %d: %w", len(b.cells)+1, err)
		}
		b.cells = append(b.cells, c)
	}
	return b, nil
}

// joined is text that a notebook keeps as a string or as a list of lines.
func joined(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var list []string
	_ = json.Unmarshal(raw, &list) // neither: nothing
	return strings.Join(list, "")
}

// notebook shows a notebook as numbered cells.
func (o Options) notebook(ctx context.Context, path string, in readIn) (*tool.Result, error) {
	raw, info, err := readAll(o.fs(), path, hashMax)
	if err != nil {
		return nil, err
	}
	enc := detect(raw)
	text, err := enc.decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.show(path), err)
	}
	nb, err := parseBook(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: see its text with Bash", o.show(path), err)
	}
	first, limit := max(in.Offset, 1), len(nb.cells)
	if in.Limit > 0 {
		limit = in.Limit
	}
	if first > max(len(nb.cells), 1) {
		return nil, fmt.Errorf("offset %d is beyond the end of %s, which has %d cells", first, o.show(path), len(nb.cells))
	}
	g := glimpse{total: len(nb.cells)}
	var out strings.Builder
	last := first - 1
	for i := first - 1; i < len(nb.cells) && i-first+1 < limit; i++ {
		one, whole := nb.cells[i].render(i + 1)
		if out.Len() > 0 && out.Len()+len(one) > readBytes {
			break
		}
		if !whole {
			g.parts = append(g.parts, part{line: i + 1})
		}
		out.WriteString(one)
		last = i + 1
	}
	g.lines = [][2]int{{first, last}}
	switch {
	case len(nb.cells) == 0:
		out.WriteString("The notebook has no cells.")
	case last < len(nb.cells):
		fmt.Fprintf(&out, "[Showing cells %d-%d of %d. Go on with offset %d.]", first, last, len(nb.cells), last+1)
	}
	o.Files.keep(hashOf(raw), raw)
	if err := o.Files.saw(ctx, stateOf(path, info, raw), g); err != nil {
		return nil, tool.Fatal(err)
	}
	return tool.Text(strings.TrimRight(out.String(), "\n")), nil
}

// render is a cell as the model sees it, and whether that is all of its source.
func (c cell) render(n int) (string, bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "[cell %d, %s", n, printable(c.kind))
	if c.id != "" {
		fmt.Fprintf(&b, ", id %s", printable(cut(c.id, 64)))
	}
	src := printable(c.source)
	short := cut(src, readBytes-outputMax)
	b.WriteString("]\n" + short)
	if short != src {
		fmt.Fprintf(&b, "… [%d more bytes in this cell]", len(src)-len(short))
	}
	if !strings.HasSuffix(short, "\n") {
		b.WriteByte('\n')
	}
	var outs strings.Builder
	for _, raw := range c.outputs {
		if t := outputText(raw); t != "" {
			outs.WriteString(t + "\n")
		}
	}
	if t := outs.String(); t != "" {
		if len(t) > outputMax {
			t = cut(t, outputMax) + "… [cut]\n"
		}
		b.WriteString("[output]\n" + t)
	}
	return b.String(), short == src
}

func outputText(raw json.RawMessage) string {
	var out struct {
		Text  json.RawMessage            `json:"text"`
		Data  map[string]json.RawMessage `json:"data"`
		Name  string                     `json:"ename"`
		Value string                     `json:"evalue"`
	}
	if json.Unmarshal(raw, &out) != nil {
		return ""
	}
	t := joined(out.Text)
	if t == "" {
		t = joined(out.Data["text/plain"])
	}
	if out.Name != "" {
		t = out.Name + ": " + out.Value
	}
	for _, kind := range []string{"image/png", "image/jpeg", "image/svg+xml"} {
		if _, ok := out.Data[kind]; ok {
			t = strings.TrimRight(t, "\n") + "\n[" + kind + "]"
		}
	}
	return strings.Trim(printable(cut(t, outputMax+utf8Max)), "\n")
}

// utf8Max is how many bytes a character may have.
const utf8Max = 4

// editNotebook changes one cell; all around it stays byte for byte.
func (o Options) editNotebook(p *plan, text string, in editIn) (string, error) {
	nb, err := parseBook(text)
	if err != nil {
		return "", err
	}
	i, err := nb.find(in)
	if err != nil {
		return "", err
	}
	if i >= 0 && !p.seen.shown(i+1, i+1) {
		return "", fmt.Errorf("cell %d of %s was not read yet: read it first (offset %d)", i+1, o.show(p.path), i+1)
	}
	const end = 1 << 40
	was := p.seen
	switch in.Mode {
	case "delete":
		if in.Old != "" || in.New != "" || len(in.Edits) > 0 {
			return "", errors.New("delete takes the whole cell: leave out old_string, new_string and edits")
		}
		if !was.Whole {
			p.seen.Lines, p.seen.Cut = nil, nil
			p.seen = p.seen.moved(was, 1, i, 0).moved(was, i+2, end, -1)
		}
		return nb.without(i), nil
	case "insert":
		if in.Old != "" || len(in.Edits) > 0 {
			return "", errors.New("insert makes a new cell: give its text as new_string alone")
		}
		if !was.Whole {
			p.seen.Lines, p.seen.Cut = nil, nil
			p.seen = p.seen.moved(was, 1, i+1, 0).moved(was, i+2, end, 1)
			p.seen.Lines = merge(p.seen.Lines, [2]int{i + 2, i + 2})
		}
		return nb.with(i, in), nil
	}
	c := nb.cells[i]
	if in.Kind != "" && in.Kind != c.kind {
		return "", fmt.Errorf("cell %d is a %s cell: to make it a %s cell, delete it and insert another", i+1, c.kind, in.Kind)
	}
	if c.src.to == 0 {
		return "", fmt.Errorf("cell %d has no source", i+1)
	}
	source := in.New
	if in.Old != "" || len(in.Edits) > 0 {
		edits, err := in.list()
		if err != nil {
			return "", err
		}
		source = c.source
		for k, e := range edits {
			r, err := replaceText(source, e)
			if err != nil {
				return "", fmt.Errorf("cell %d, edit %d of %d: %w", i+1, k+1, len(edits), err)
			}
			if source = r.text; r.note != "" {
				p.notes = append(p.notes, r.note)
			}
		}
	}
	now := text[:c.src.from] + nb.source(c, source) + text[c.src.to:]
	if now == text {
		return "", fmt.Errorf("the edit changes nothing: cell %d has this source already", i+1)
	}
	return now, nil
}

// find returns the index of the cell that a call names; of an insert, that of
// the one before the new, which is -1 at the very start.
func (b book) find(in editIn) (int, error) {
	insert := in.Mode == "insert"
	if in.Cell == "" {
		if insert {
			return len(b.cells) - 1, nil
		}
		if in.Mode == "" && in.Old != "" && len(in.Edits) == 0 {
			var at []int
			for i, c := range b.cells {
				if strings.Contains(c.source, in.Old) {
					at = append(at, i)
				}
			}
			if len(at) == 1 {
				return at[0], nil
			}
			return 0, fmt.Errorf("old_string is in %d of the notebook's %d cells: name the cell, by its number or its id", len(at), len(b.cells))
		}
		return 0, fmt.Errorf("name the cell, by its number from 1 to %d or its id", len(b.cells))
	}
	if i := slices.IndexFunc(b.cells, func(c cell) bool { return c.id != "" && c.id == in.Cell }); i >= 0 {
		return i, nil
	}
	n, err := strconv.Atoi(in.Cell)
	if err != nil {
		return 0, fmt.Errorf("no cell has the id %q: read the notebook to see them", cut(in.Cell, 64))
	}
	if n > len(b.cells) || n < 0 || n == 0 && !insert {
		return 0, fmt.Errorf("there is no cell %d: the notebook has %d", n, len(b.cells))
	}
	return n - 1, nil
}

// without is the text less a cell and the comma that went with it.
func (b book) without(i int) string {
	switch last := len(b.cells) - 1; {
	case last == 0:
		return b.text[:b.list.from] + "[]" + b.text[b.list.to:]
	case i == last:
		return b.text[:b.cells[i-1].at.to] + b.text[b.cells[i].at.to:]
	}
	return b.text[:b.cells[i].at.from] + b.text[b.cells[i+1].at.from:]
}

// with is the text and a new cell after cell i.
func (b book) with(i int, in editIn) string {
	lead, unit := b.layout()
	fresh := b.fresh(in, lead, unit)
	gap := lead
	if lead == "" && len(b.cells) > 1 { // on one line, as the others are apart
		gap = strings.TrimPrefix(b.text[b.cells[0].at.to:b.cells[1].at.from], ",")
	}
	switch {
	case len(b.cells) == 0:
		return b.text[:b.list.from] + "[" + lead + fresh + strings.TrimSuffix(lead, unit) + "]" + b.text[b.list.to:]
	case i < 0:
		at := b.cells[0].at.from
		return b.text[:at] + fresh + "," + gap + b.text[at:]
	}
	at := b.cells[i].at.to
	return b.text[:at] + "," + gap + fresh + b.text[at:]
}

// layout is what comes before a cell, a line end with its indentation or
// nothing, and by what one level is indented.
func (b book) layout() (lead, unit string) {
	if !strings.Contains(b.text[:b.list.from], "\n") {
		return "", ""
	}
	unit = lineIndent(b.text, b.list.from)
	if unit == "" {
		unit = " "
	}
	lead = eol(b.text) + unit + unit
	if len(b.cells) > 0 {
		from := b.cells[0].at.from
		if strings.TrimSpace(b.text[b.list.from+1:from]) != "" || !strings.Contains(b.text[b.list.from:from], "\n") {
			return "", ""
		}
		lead = eol(b.text) + lineIndent(b.text, from)
	}
	return lead, unit
}

// lineIndent is the indentation of the line that position at is on.
func lineIndent(text string, at int) string {
	return indentOf(text[strings.LastIndexByte(text[:at], '\n')+1 : at])
}

// fresh is the JSON of a new cell. Its members come in the order in which
// Jupyter writes them.
func (b book) fresh(in editIn, lead, unit string) string {
	kind := in.Kind
	if kind == "" {
		kind = "code"
	}
	var ms []string
	add := func(key, js string) { ms = append(ms, string(mustJSON(key))+": "+js) }
	add("cell_type", string(mustJSON(kind)))
	if kind == "code" {
		add("execution_count", "null")
	}
	if slices.ContainsFunc(b.cells, func(c cell) bool { return c.id != "" }) {
		add("id", string(mustJSON(b.newID(in.New))))
	}
	add("metadata", "{}")
	if kind == "code" {
		add("outputs", "[]")
	}
	inner := lead
	if lead != "" {
		inner += unit
	}
	add("source", sourceList(in.New, inner, unit))
	sep := ", "
	if lead != "" {
		sep = "," + inner
	}
	return "{" + inner + strings.Join(ms, sep) + lead + "}"
}

// newID is an id that no cell has.
func (b book) newID(seed string) string {
	for n := 0; ; n++ {
		id := hashOf([]byte(strconv.Itoa(n+len(b.cells)) + "\x00" + seed))[:8]
		if !slices.ContainsFunc(b.cells, func(c cell) bool { return c.id == id }) {
			return id
		}
	}
}

// source is the JSON of a cell's new source, in the form that the old one has.
func (b book) source(c cell, source string) string {
	old := b.text[c.src.from:c.src.to]
	if old[0] == '"' {
		return string(mustJSON(source))
	}
	if i := strings.IndexByte(old, '\n'); i >= 0 {
		close := lineIndent(b.text, c.src.to-1)
		unit := strings.TrimPrefix(indentOf(strings.TrimLeft(old[i+1:], "\r\n")), close)
		return sourceList(source, eol(b.text)+close, unit)
	}
	lead, unit := b.layout()
	if lead == "" || len(old) > 2 { // on one line
		return sourceList(source, "", "")
	}
	return sourceList(source, lead+unit, unit)
}

// sourceList is text as the list of lines that notebooks keep. lead comes before its
// closing bracket; "" is a list on one line.
func sourceList(s, lead, unit string) string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if len(lines) == 0 {
		return "[]"
	}
	sep := ", "
	if lead != "" {
		sep = "," + lead + unit
	}
	js := make([]string, len(lines))
	for i, l := range lines {
		js[i] = string(mustJSON(l))
	}
	if lead == "" {
		return "[" + strings.Join(js, sep) + "]"
	}
	return "[" + lead + unit + strings.Join(js, sep) + lead + "]"
}

// mustJSON is the JSON of a string or a list of them, with no more escapes than
// it needs.
func mustJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // strings encode
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
