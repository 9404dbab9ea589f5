package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/cantle-dev/cantle/internal/x/diff"
	"github.com/cantle-dev/cantle/tool"
)

//go:embed write.md
var writeText string

const (
	writeMax = 10 << 20 // bytes of a file that is written
	diffMax  = 8 << 10  // bytes of a diff in a result
)

type writeIn struct {
	Path string `json:"file_path" doc:"path of the file" alias:"path,file,filename"`
	Text string `json:"content" doc:"the whole new content" alias:"text,contents"`
}

// Write makes the tool that writes whole files.
func Write(o Options) tool.Tool {
	o = o.filled()
	return previewed{tool.New(tool.Spec{
		Name: "Write", Description: strings.TrimSpace(writeText), Aliases: []string{"write_file", "create_file"},
		Access: tool.AccessFor(func(_ context.Context, c *tool.Call, in writeIn) ([]tool.Access, error) {
			t, err := o.resolve(c, in.Path)
			if err != nil {
				return nil, err
			}
			return t.access(tool.Write), nil
		}),
	}, func(ctx context.Context, in writeIn) (*tool.Result, error) {
		p, err := o.planWrite(ctx, tool.FromContext(ctx), in)
		if err != nil {
			return nil, err
		}
		return o.carryOut(ctx, p)
	}), func(ctx context.Context, c *tool.Call) (plan, error) {
		in, err := tool.Decode[writeIn](c.Input)
		if err != nil {
			return plan{}, err
		}
		return o.planWrite(ctx, c, in)
	}}
}

// previewed is a tool that can show the change it would make.
type previewed struct {
	tool.Tool
	plan func(context.Context, *tool.Call) (plan, error)
}

// Normalize is [tool.Normalizer].Normalize.
func (p previewed) Normalize(raw json.RawMessage) (json.RawMessage, error) {
	return p.Tool.(tool.Normalizer).Normalize(raw)
}

// Preview is [tool.Previewer].Preview.
func (p previewed) Preview(ctx context.Context, c *tool.Call) (*tool.Preview, error) {
	pl, err := p.plan(ctx, c)
	if err != nil {
		return nil, err
	}
	return &tool.Preview{Title: pl.title, Diff: pl.diff}, nil
}

// plan is a change of one file that was worked out and not made yet.
type plan struct {
	path    string
	content []byte
	title   string
	diff    string
	made    bool // the file is new
	lines   int
	notes   []string
}

func (o Options) planWrite(ctx context.Context, c *tool.Call, in writeIn) (plan, error) {
	t, err := o.decided(c, tool.Write, in.Path)
	if err != nil {
		return plan{}, err
	}
	if len(in.Text) > writeMax {
		return plan{}, fmt.Errorf("the content has %d bytes, more than the %d MiB that can be written at once", len(in.Text), writeMax>>20)
	}
	p := plan{path: t.real}
	old, info, err := readAll(o.fs(), t.real, hashMax)
	switch {
	case err == nil:
		was, err := o.unchanged(ctx, t.real, info, old)
		if err != nil {
			return plan{}, err
		}
		if !was.Whole {
			return plan{}, fmt.Errorf("%s was read only in part: read the rest of it, or change the part with Edit", o.show(t.real))
		}
	case isNotExist(err):
		p.made = true
	default:
		return plan{}, err
	}
	enc := detect(old)
	text, err := enc.decode(old)
	if err != nil {
		return plan{}, fmt.Errorf("%s: %w", o.show(t.real), err)
	}
	now := in.Text
	if enc.bom != "" {
		now = strings.TrimPrefix(now, bom8)
	}
	if end := eol(text); !p.made && end != "\n" && !strings.Contains(now, "\r") {
		now = withEOL(now, end)
	}
	p.content = enc.encode(now)
	p.lines = strings.Count(now, "\n")
	if now != "" && !strings.HasSuffix(now, "\n") {
		p.lines++
	}
	verb := "Updated"
	if p.made {
		verb = "Created"
	}
	p.title = fmt.Sprintf("%s %s (%d lines).", verb, o.show(t.real), p.lines)
	p.diff = diff.Unified(o.show(t.real), o.show(t.real), text, now, 3)
	return p, nil
}

// unchanged returns what was seen of a file, or says why it may not be
// replaced.
func (o Options) unchanged(ctx context.Context, path string, info fs.FileInfo, content []byte) (seen, error) {
	was, ok, err := o.Files.get(ctx, path)
	if err != nil {
		return seen{}, tool.Fatal(err)
	}
	if !ok {
		return seen{}, fmt.Errorf("%s exists and was not read yet: read it first", o.show(path))
	}
	if !was.same(stateOf(path, info, content)) {
		return seen{}, fmt.Errorf("%s was changed since it was read, by the user or by a program: read it again", o.show(path))
	}
	return was, nil
}

// carryOut writes what was planned, and takes note that it was seen.
func (o Options) carryOut(ctx context.Context, p plan) (*tool.Result, error) {
	if p.made {
		if err := o.fs().MkdirAll(filepath.Dir(p.path), 0o777); err != nil {
			return nil, plainErr(p.path, err)
		}
	}
	if err := o.fs().WriteFile(p.path, p.content, 0o666); err != nil {
		return nil, plainErr(p.path, err)
	}
	info, err := o.fs().Stat(p.path)
	if err != nil {
		return nil, plainErr(p.path, err)
	}
	now := stateOf(p.path, info, p.content)
	now.Whole = true
	if err := o.Files.saw(ctx, now, 1, max(p.lines, 1), p.lines); err != nil {
		return nil, tool.Fatal(err)
	}
	text := p.title
	for _, n := range p.notes {
		text += "\n" + n
	}
	if d := p.diff; d != "" {
		if len(d) > diffMax {
			d = cut(d, diffMax) + "\n[the diff is longer]"
		}
		text += "\n" + d
	}
	detail, err := json.Marshal(map[string]any{"path": p.path, "created": p.made, "lines": p.lines, "diff": p.diff})
	if err != nil {
		return nil, err
	}
	res := tool.Text(strings.TrimRight(text, "\n"))
	res.Detail = detail
	return res, nil
}

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
