package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/cantle-dev/cantle/internal/x/diff"
	"github.com/cantle-dev/cantle/tool"
)

//go:embed edit.md
var editText string

type editIn struct {
	Path  string    `json:"file_path" doc:"path of the file" alias:"path,file,filename,notebook_path"`
	Old   string    `json:"old_string,omitempty" doc:"text to replace" alias:"old_text,old"`
	New   string    `json:"new_string,omitempty" doc:"text to put in its place" alias:"new_text,new,new_source"`
	All   bool      `json:"replace_all,omitempty" doc:"replace every occurrence"`
	Edits []oneEdit `json:"edits,omitempty" doc:"several replacements, made in order"`
	Cell  string    `json:"cell,omitempty" doc:"notebooks: the cell's number, from 1, or its id" alias:"cell_id"`
	Mode  string    `json:"mode,omitempty" doc:"notebooks: what to do with the cell" enum:"replace,insert,delete" alias:"edit_mode"`
	Kind  string    `json:"cell_type,omitempty" doc:"notebooks: kind of an inserted cell" enum:"code,markdown,raw"`
}

type oneEdit struct {
	Old string `json:"old_string" alias:"old_text,old"`
	New string `json:"new_string" alias:"new_text,new"`
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
		return o.change(ctx, in.Path, func(t target) (plan, error) { return o.planEdit(ctx, t, in) })
	}), func(ctx context.Context, c *tool.Call) (plan, error) {
		in, err := tool.Decode[editIn](c.Input)
		if err != nil {
			return plan{}, err
		}
		t, err := o.decided(c, tool.Write, in.Path)
		if err != nil {
			return plan{}, err
		}
		return o.planEdit(ctx, t, in)
	}}
}

func (o Options) planEdit(ctx context.Context, t target, in editIn) (plan, error) {
	b, info, err := readAll(o.fs(), t.real, hashMax)
	if isNotExist(err) {
		return plan{}, fmt.Errorf("%w; to make it, use Write", o.missing(t.real))
	}
	if err != nil {
		return plan{}, err
	}
	if binaryLike(b) {
		return plan{}, fmt.Errorf("%s is a binary file: change it with Bash and a program that understands it", o.show(t.real))
	}
	was, err := o.unchanged(ctx, t.real, info, b)
	if err != nil {
		return plan{}, err
	}
	enc := detect(b)
	text, err := enc.decode(b)
	if err != nil {
		return plan{}, fmt.Errorf("%s: %w: change it with Bash", o.show(t.real), err)
	}
	p := plan{path: t.real, seen: was}
	p.replaces(info)
	now := ""
	switch {
	case isNotebook(t.real):
		now, err = o.editNotebook(&p, text, in)
	case in.Cell != "" || in.Mode != "" || in.Kind != "":
		err = errors.New("cell, mode and cell_type are for notebooks: give old_string and new_string")
	default:
		now, err = o.replaceAll(&p, text, in)
	}
	if err != nil {
		return plan{}, err
	}
	if p.content, err = enc.encode(now); err != nil {
		return plan{}, fmt.Errorf("%s: %w", o.show(t.real), err)
	}
	if len(p.content) > hashMax {
		return plan{}, fmt.Errorf("%s would have %d bytes, more than the %d MiB that this tool can write", o.show(t.real), len(p.content), hashMax>>20)
	}
	p.lines = countLines(now)
	p.diff = diff.Unified(o.show(t.real), o.show(t.real), text, now, 3)
	add, del := diff.Stat(p.diff)
	p.title = fmt.Sprintf("Updated %s (+%d -%d lines).", o.show(t.real), add, del)
	return p, nil
}

// list is the edits that a call asks for.
func (in editIn) list() ([]oneEdit, error) {
	one := in.Old != "" || in.New != "" || in.All
	switch {
	case one && len(in.Edits) > 0:
		return nil, errors.New("give either edits, or old_string and new_string, and not both")
	case one || len(in.Edits) == 0:
		return []oneEdit{{in.Old, in.New, in.All}}, nil
	}
	return in.Edits, nil
}

// replaceAll makes all edits of a call in text, or none.
func (o Options) replaceAll(p *plan, text string, in editIn) (string, error) {
	edits, err := in.list()
	if err != nil {
		return "", err
	}
	for i, e := range edits {
		r, err := replaceText(text, e)
		if err == nil {
			p.seen, err = o.through(p.seen, text, r.splices)
		}
		if err != nil {
			if len(edits) > 1 {
				err = fmt.Errorf("edit %d of %d, so that none was made: %w", i+1, len(edits), err)
			}
			return "", err
		}
		text = r.text
		if r.note != "" {
			p.notes = append(p.notes, r.note)
		}
	}
	return text, nil
}

// through holds that the lines which are replaced in text were shown, and
// returns what the agent has seen of the text that results.
func (o Options) through(s seen, text string, splices []splice) (seen, error) {
	if s.Whole {
		return s, nil
	}
	sep := string(separator(text))
	old, at, line, moved := s, 0, 1, 0
	s.Lines, s.Cut = nil, nil
	next := 1 // the first line of text that was not dealt with
	for _, sp := range splices {
		line += strings.Count(text[at:sp.from], sep)
		at = sp.from
		last := line + strings.Count(strings.TrimSuffix(text[sp.from:sp.to], sep), sep)
		if !old.shown(line, last) {
			return s, fmt.Errorf("lines %d-%d of %s were not read yet: read them first (offset %d, limit %d)", line, last, o.show(s.Path), line, last-line+1)
		}
		s = s.moved(old, next, line-1, moved)
		removed, added := strings.Count(text[sp.from:sp.to], sep), strings.Count(sp.put, sep)
		s.Lines = merge(s.Lines, [2]int{line + moved, line + added + moved})
		for n := range old.Cut {
			if line <= n && n <= last { // which part of it is new is no longer known
				s = s.cutAt(line+moved, 0)
			}
		}
		moved += added - removed
		next = max(next, line+removed+1)
	}
	const end = 1 << 40
	return s.moved(old, next, end, moved), nil
}

// moved adds to s what old has of the lines from from to to, by lines further
// down.
func (s seen) moved(old seen, from, to, by int) seen {
	for _, r := range old.Lines {
		if a, b := max(r[0], from), min(r[1], to); a <= b {
			s.Lines = merge(s.Lines, [2]int{a + by, b + by})
		}
	}
	for n, col := range old.Cut {
		if from <= n && n <= to {
			s = s.cutAt(n+by, col)
		}
	}
	return s
}

func (s seen) cutAt(line, col int) seen {
	if s.Cut == nil {
		s.Cut = map[int]int{}
	}
	s.Cut[line] = col
	return s
}
