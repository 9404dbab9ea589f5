package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cantle-dev/cantle/internal/x/diff"
	"github.com/cantle-dev/cantle/tool"
)

//go:embed edit.md
var editText string

type editIn struct {
	Path  string    `json:"file_path" doc:"path of the file" alias:"path,file,filename"`
	Old   string    `json:"old_string,omitempty" doc:"text to replace" alias:"old_text,old"`
	New   string    `json:"new_string,omitempty" doc:"text to put in its place" alias:"new_text,new"`
	All   bool      `json:"replace_all,omitempty" doc:"replace every occurrence"`
	Edits []oneEdit `json:"edits,omitempty" doc:"several replacements, made in order"`
	Cell  int       `json:"cell,omitempty" doc:"notebooks: the cell, from 1" min:"0"`
	Mode  string    `json:"mode,omitempty" doc:"notebooks: what to do with the cell" enum:"replace,insert,delete"`
	Kind  string    `json:"cell_type,omitempty" doc:"notebooks: kind of an inserted cell" enum:"code,markdown"`
}

type oneEdit struct {
	Old string `json:"old_string" alias:"old_text,old"`
	New string `json:"new_string"`
	All bool   `json:"replace_all,omitempty"`
}

// Edit makes the tool that replaces text in files.
func Edit(o Options) tool.Tool {
	o = o.filled()
	return previewed{tool.New(tool.Spec{
		Name: "Edit", Description: strings.TrimSpace(editText), Aliases: []string{"edit_file", "replace_in_file", "str_replace", "NotebookEdit", "MultiEdit"},
		Access: tool.AccessFor(func(_ context.Context, c *tool.Call, in editIn) ([]tool.Access, error) {
			t, err := o.resolve(c, in.Path)
			if err != nil {
				return nil, err
			}
			return t.access(tool.Write), nil
		}),
	}, func(ctx context.Context, in editIn) (*tool.Result, error) {
		p, err := o.planEdit(ctx, tool.FromContext(ctx), in)
		if err != nil {
			return nil, err
		}
		return o.carryOut(ctx, p)
	}), func(ctx context.Context, c *tool.Call) (plan, error) {
		in, err := tool.Decode[editIn](c.Input)
		if err != nil {
			return plan{}, err
		}
		return o.planEdit(ctx, c, in)
	}}
}

func (o Options) planEdit(ctx context.Context, c *tool.Call, in editIn) (plan, error) {
	t, err := o.decided(c, tool.Write, in.Path)
	if err != nil {
		return plan{}, err
	}
	b, info, err := readAll(o.fs(), t.real, hashMax)
	if isNotExist(err) {
		return plan{}, fmt.Errorf("%w; to make it, use Write", o.missing(t.real))
	}
	if err != nil {
		return plan{}, err
	}
	was, err := o.unchanged(ctx, t.real, info, b)
	if err != nil {
		return plan{}, err
	}
	if binaryLike(b[:min(len(b), 8<<10)]) {
		return plan{}, fmt.Errorf("%s is a binary file", o.show(t.real))
	}
	enc := detect(b)
	text, err := enc.decode(b)
	if err != nil {
		return plan{}, fmt.Errorf("%s: %w", o.show(t.real), err)
	}
	p := plan{path: t.real}
	now := text
	if in.Cell > 0 || in.Mode != "" {
		if !strings.EqualFold(filepath.Ext(t.real), ".ipynb") {
			return plan{}, errors.New("cell and mode are for notebooks: give old_string and new_string")
		}
		if now, err = editCell(text, in); err != nil {
			return plan{}, err
		}
	} else {
		edits := in.Edits
		if in.Old != "" || len(edits) == 0 {
			edits = append([]oneEdit{{in.Old, in.New, in.All}}, edits...)
		}
		for i, e := range edits {
			out, spans, note, err := replaceText(now, e)
			if err == nil && i == 0 {
				err = o.wasShown(was, text, spans)
			}
			if err != nil {
				if len(edits) > 1 {
					err = fmt.Errorf("edit %d of %d: %w: none was made", i+1, len(edits), err)
				}
				return plan{}, err
			}
			now = out
			if note != "" {
				p.notes = append(p.notes, note)
			}
		}
	}
	p.content = enc.encode(now)
	p.lines = strings.Count(now, "\n")
	if now != "" && !strings.HasSuffix(now, "\n") {
		p.lines++
	}
	p.diff = diff.Unified(o.show(t.real), o.show(t.real), text, now, 3)
	add, del := diff.Stat(p.diff)
	p.title = fmt.Sprintf("Updated %s (+%d -%d lines).", o.show(t.real), add, del)
	return p, nil
}

// wasShown holds that the lines which are replaced were shown.
func (o Options) wasShown(was seen, text string, spans [][2]int) error {
	for _, s := range spans {
		from := 1 + strings.Count(text[:s[0]], "\n")
		to := from + strings.Count(strings.TrimSuffix(text[s[0]:s[1]], "\n"), "\n")
		if !was.shown(from, to) {
			return fmt.Errorf("lines %d-%d of %s were not read yet: read them first", from, to, o.show(was.Path))
		}
	}
	return nil
}
