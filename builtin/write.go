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
	"unicode/utf8"

	"github.com/cantle-dev/cantle/internal/x/diff"
	"github.com/cantle-dev/cantle/tool"
)

//go:embed write.md
var writeText string

const (
	writeMax  = 10 << 20 // bytes of a file that is written
	diffMax   = 8 << 10  // bytes of a diff in a result
	detailMax = 64 << 10 // bytes of a diff that is recorded, or shown to the user
	staleMax  = 4 << 10  // bytes of a diff in a refusal
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
		return o.change(ctx, in.Path, func(t target) (plan, error) { return o.planWrite(ctx, t, in) })
	}), func(ctx context.Context, c *tool.Call) (plan, error) {
		in, err := tool.Decode[writeIn](c.Input)
		if err != nil {
			return plan{}, err
		}
		t, err := o.decided(c, tool.Write, in.Path)
		if err != nil {
			return plan{}, err
		}
		return o.planWrite(ctx, t, in)
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
	return &tool.Preview{Title: pl.title, Diff: clipDiff(pl.diff, detailMax), Text: strings.Join(pl.notes, "\n")}, nil
}

// plan is a change of one file that was worked out and not made yet.
type plan struct {
	path    string
	content []byte
	title   string
	diff    string
	was     fs.FileInfo // the file that is replaced; nil if it is new
	lines   int
	notes   []string
	seen    seen // what the agent will have seen of the new content
}

// change plans a change of the file at path and makes it. Two changes of one
// file are made one after the other, each planned on what the other left.
func (o Options) change(ctx context.Context, path string, planned func(target) (plan, error)) (*tool.Result, error) {
	t, err := o.decided(tool.FromContext(ctx), tool.Write, path)
	if err != nil {
		return nil, err
	}
	defer o.Files.lock(t.real)()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p, err := planned(t)
	if err != nil {
		return nil, err
	}
	return o.carryOut(ctx, p)
}

func (o Options) planWrite(ctx context.Context, t target, in writeIn) (plan, error) {
	if len(in.Text) > writeMax {
		return plan{}, fmt.Errorf("the content has %d bytes, more than the %d MiB that can be written at once", len(in.Text), writeMax>>20)
	}
	p := plan{path: t.real, seen: seen{Whole: true}}
	old, info, err := readAll(o.fs(), t.real, hashMax)
	switch {
	case err == nil:
		was, err := o.unchanged(ctx, t.real, info, old)
		if err != nil {
			return plan{}, err
		}
		if !was.Whole {
			return plan{}, fmt.Errorf("%s was read only in part: %s, or change a part of it with Edit", o.show(t.real), unread(was))
		}
		p.replaces(info)
	case isNotExist(err):
	default:
		return plan{}, err
	}
	enc := detect(old)
	text, err := enc.decode(old)
	if err != nil {
		return plan{}, fmt.Errorf("%s: %w: change it with Bash", o.show(t.real), err)
	}
	now := in.Text
	if enc.bom != "" {
		now = strings.TrimPrefix(now, bom8) // it has its mark
	}
	if end := eol(text); p.was != nil && end != "\n" && !strings.Contains(now, "\r") {
		now = withEOL(now, end)
	}
	if p.content, err = enc.encode(now); err != nil {
		return plan{}, fmt.Errorf("%s: %w", o.show(t.real), err)
	}
	p.lines = countLines(now)
	verb := "Updated"
	if p.was == nil {
		verb = "Created"
	}
	p.title = fmt.Sprintf("%s %s (%d lines).", verb, o.show(t.real), p.lines)
	if p.was != nil && string(old) == string(p.content) {
		p.notes = append(p.notes, "[The file had this content already.]")
	}
	p.diff = diff.Unified(o.show(t.real), o.show(t.real), text, now, 3)
	return p, nil
}

// replaces notes which file is replaced, and that it has other names, which a
// new file in its place does not share.
func (p *plan) replaces(info fs.FileInfo) {
	p.was = info
	if n := links(info); n > 1 {
		p.notes = append(p.notes, fmt.Sprintf("[The file has %d hard links. The change is made under this name alone: the others keep the old content.]", n))
	}
}

// unread says what has to be read of a file that was seen in part.
func unread(s seen) string {
	next := 1
	for _, r := range s.Lines {
		if r[0] > next {
			break
		}
		next = r[1] + 1
	}
	for n, col := range s.Cut {
		if n < next {
			return fmt.Sprintf("read the rest of line %d (offset %d, column %d)", n, n, col)
		}
	}
	return fmt.Sprintf("read on from offset %d", next)
}

// unchanged returns what was seen of a file, or says why it may not be
// replaced.
func (o Options) unchanged(ctx context.Context, path string, info fs.FileInfo, content []byte) (seen, error) {
	was, ok, err := o.Files.get(ctx, path)
	if err != nil {
		return seen{}, tool.Fatal(err)
	}
	if !ok && (binaryLike(content) || blobKind(content) != "") {
		return seen{}, fmt.Errorf("%s is a binary file: change it with Bash and a program that understands it", o.show(path))
	}
	if !ok {
		return seen{}, fmt.Errorf("%s exists and was not read yet: read it first", o.show(path))
	}
	now := stateOf(path, info, content)
	if was.same(now) {
		return was, nil
	}
	return seen{}, o.stale(ctx, was, now, content)
}

// stale is the refusal to change a file that was changed meanwhile. Where it
// can show all of that change, the model knows the file again.
func (o Options) stale(ctx context.Context, was, now seen, content []byte) error {
	const why = "%s was changed since it was read, by the user or by a program"
	name := o.show(was.Path)
	again := fmt.Errorf(why+": read it again", name)
	old, ok := o.Files.was(was.Hash)
	if !ok || binaryLike(content) {
		return again
	}
	oldText, err := detect(old).decode(old)
	if err != nil {
		return again
	}
	newText, err := detect(content).decode(content)
	if err != nil || oldText == newText {
		return again
	}
	d := printable(strings.ReplaceAll(diff.Unified(name, name, oldText, newText, 3), "\r\n", "\n"))
	if !was.Whole || len(d) > staleMax {
		return fmt.Errorf(why+": read it again. It was changed so:\n%s", name, clipDiff(d, staleMax))
	}
	o.Files.keep(now.Hash, content)
	now.Whole = true
	if err := o.Files.set(ctx, now); err != nil {
		return tool.Fatal(err)
	}
	return fmt.Errorf(why+", and nothing was written. It was changed so:\n%s\nMake the call again if it is still right, with this change in mind", name, strings.TrimRight(d, "\n"))
}

// clipDiff is the first bytes of a diff, at the end of a line.
func clipDiff(d string, most int) string {
	if len(d) <= most {
		return d
	}
	d = cut(d, most)
	if i := strings.LastIndexByte(d, '\n'); i > 0 {
		d = d[:i]
	}
	return d + "\n[the diff is longer]\n"
}

// carryOut writes what was planned, and takes note that it was seen.
func (o Options) carryOut(ctx context.Context, p plan) (*tool.Result, error) {
	if p.was == nil {
		if err := o.fs().MkdirAll(filepath.Dir(p.path), 0o777); err != nil {
			return nil, plainErr(o.show(p.path), err)
		}
	}
	if err := o.asPlanned(p); err != nil {
		return nil, err
	}
	if err := o.fs().WriteFile(p.path, p.content, 0o666); err != nil {
		return nil, plainErr(o.show(p.path), err)
	}
	info, err := o.fs().Stat(p.path)
	if err != nil {
		return nil, plainErr(o.show(p.path), err)
	}
	now := stateOf(p.path, info, p.content)
	now.Lines, now.Whole, now.Cut = p.seen.Lines, p.seen.Whole, p.seen.Cut
	o.Files.keep(now.Hash, p.content)
	if err := o.Files.set(ctx, now); err != nil {
		return nil, tool.Fatal(err)
	}
	text := p.title
	for _, n := range p.notes {
		text += "\n" + n
	}
	if p.diff != "" && p.was != nil { // of a new file, the model has just written all there is to see
		text += "\n" + clipDiff(printable(strings.ReplaceAll(p.diff, "\r\n", "\n")), diffMax)
	}
	d := clipDiff(p.diff, detailMax)
	if !utf8.ValidString(d) {
		d = strings.ToValidUTF8(d, "\uFFFD")
	}
	detail, err := json.Marshal(map[string]any{"path": p.path, "created": p.was == nil, "lines": p.lines, "diff": d})
	if err != nil {
		return nil, err
	}
	res := tool.Text(strings.TrimRight(text, "\n"))
	res.Detail = detail
	return res, nil
}

// asPlanned holds that the file is still the one that the change was planned
// for: another program may have changed it while that was worked out.
func (o Options) asPlanned(p plan) error {
	now, err := o.fs().Lstat(p.path)
	switch {
	case p.was == nil && isNotExist(err):
		return nil
	case err != nil:
		return plainErr(o.show(p.path), err)
	case p.was == nil:
		return fmt.Errorf("%s was made by another program at the same time: read it first", o.show(p.path))
	case now.Size() != p.was.Size() || !now.ModTime().Equal(p.was.ModTime()):
		return fmt.Errorf("%s was changed by another program at the same time, and nothing was written: read it again", o.show(p.path))
	}
	return nil
}

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
