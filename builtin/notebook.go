package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

// outputMax bounds what of a cell's output is shown.
const outputMax = 2000

// cell is a notebook's cell, and where its JSON lies in the file.
type cell struct {
	kind, source string
	outputs      []json.RawMessage
	raw          json.RawMessage
	start, end   int
}

// cells finds the cells of a notebook without changing anything around them.
func cells(text string) ([]cell, error) {
	var nb struct {
		Cells []json.RawMessage `json:"cells"`
	}
	if err := json.Unmarshal([]byte(text), &nb); err != nil {
		return nil, fmt.Errorf("it is not a notebook: %w", err)
	}
	var out []cell
	at := 0
	for i, raw := range nb.Cells {
		n := strings.Index(text[at:], string(raw))
		if n < 0 {
			return nil, errors.New("its cells cannot be found in its text")
		}
		var c struct {
			Kind    string            `json:"cell_type"`
			Source  json.RawMessage   `json:"source"`
			Outputs []json.RawMessage `json:"outputs"`
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			return nil, fmt.Errorf("cell %d: %w", i+1, err)
		}
		start := at + n
		out = append(out, cell{c.Kind, joined(c.Source), c.Outputs, raw, start, start + len(raw)})
		at = start + len(raw)
	}
	return out, nil
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
func (o Options) notebook(ctx context.Context, path string) (*tool.Result, error) {
	b, info, err := readAll(o.fs(), path, hashMax)
	if err != nil {
		return nil, err
	}
	cs, err := cells(string(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w: use Bash to see its text", o.show(path), err)
	}
	var out strings.Builder
	for i, c := range cs {
		fmt.Fprintf(&out, "[cell %d, %s]\n%s\n", i+1, c.kind, printable(c.source))
		for _, raw := range c.outputs {
			if t := outputText(raw); t != "" {
				fmt.Fprintf(&out, "[output]\n%s\n", t)
			}
		}
		if out.Len() > readBytes {
			fmt.Fprintf(&out, "[%d more cells: use Bash to see them]\n", len(cs)-i-1)
			break
		}
	}
	if len(cs) == 0 {
		out.WriteString("The notebook has no cells.")
	}
	now := stateOf(path, info, b)
	now.Whole = true
	if err := o.Files.saw(ctx, now, 1, 0, -1); err != nil {
		return nil, tool.Fatal(err)
	}
	return tool.Text(strings.TrimRight(out.String(), "\n")), nil
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
	t = printable(t)
	if len(t) > outputMax {
		t = cut(t, outputMax) + "… [cut]"
	}
	return strings.TrimRight(t, "\n")
}

// editCell changes one cell; all around it stays byte for byte.
func editCell(text string, in editIn) (string, error) {
	cs, err := cells(text)
	if err != nil {
		return "", err
	}
	if in.Cell < 1 || in.Cell > len(cs) {
		return "", fmt.Errorf("there is no cell %d: the notebook has %d", in.Cell, len(cs))
	}
	c := cs[in.Cell-1]
	switch in.Mode {
	case "delete":
		start, end := c.start, c.end
		switch { // the comma goes too
		case in.Cell < len(cs):
			end = cs[in.Cell].start
		case in.Cell > 1:
			start = cs[in.Cell-2].end
		}
		return text[:start] + text[end:], nil
	case "insert":
		kind := in.Kind
		if kind == "" {
			kind = "code"
		}
		fresh := `{"cell_type":` + string(mustJSON(kind)) + `,"metadata":{},"source":` + string(sourceJSON(in.New))
		if kind == "code" {
			fresh += `,"execution_count":null,"outputs":[]`
		}
		return text[:c.end] + ",\n" + indentLike(text, c.start, fresh+"}") + text[c.end:], nil
	}
	if in.Old != "" {
		now, _, _, err := replaceText(c.source, oneEdit{in.Old, in.New, in.All})
		if err != nil {
			return "", fmt.Errorf("cell %d: %w", in.Cell, err)
		}
		in.New = now
	}
	var src struct {
		Source json.RawMessage `json:"source"`
	}
	if err := json.Unmarshal(c.raw, &src); err != nil || src.Source == nil {
		return "", fmt.Errorf("cell %d has no source", in.Cell)
	}
	i := strings.LastIndex(string(c.raw), string(src.Source))
	fresh := sourceJSON(in.New)
	if src.Source[0] == '"' {
		fresh = mustJSON(in.New)
	} else {
		fresh = []byte(strings.TrimLeft(indentLike(text, c.start+i, string(fresh)), " \t"))
	}
	return text[:c.start+i] + string(fresh) + text[c.start+i+len(src.Source):], nil
}

func mustJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // strings and lists of them encode
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// sourceJSON is text as the list of lines that notebooks keep.
func sourceJSON(s string) []byte {
	ls := strings.SplitAfter(s, "\n")
	if ls[len(ls)-1] == "" {
		ls = ls[:len(ls)-1]
	}
	if ls == nil {
		ls = []string{}
	}
	return mustJSON(ls)
}

// indentLike indents JSON as the line that position at is on.
func indentLike(text string, at int, js string) string {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	prefix := indentOf(line)
	var b bytes.Buffer
	if json.Indent(&b, []byte(js), prefix, " ") != nil {
		return js
	}
	return prefix + b.String()
}
