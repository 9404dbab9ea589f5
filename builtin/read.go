package builtin

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/tool"
)

//go:embed read.md
var readText string

// What Read gives at once.
const (
	readLines  = 2000
	readBytes  = 50 << 10
	readColumn = 2000    // bytes of one line
	listMax    = 200     // names of a directory
	imageMax   = 5 << 20 // bytes of an image
)

type readIn struct {
	Path   string `json:"file_path" doc:"path of the file or directory" alias:"path,file,filename"`
	Offset int    `json:"offset,omitempty" doc:"first line, from 1" min:"0" alias:"start_line"`
	Limit  int    `json:"limit,omitempty" doc:"most lines" min:"0" alias:"line_count"`
	Column int    `json:"column,omitempty" doc:"bytes of the first line to pass over, to go on within a long line" min:"0" alias:"start_column"`
	Pages  string `json:"pages,omitempty" doc:"PDF files: a page, as 3, or a range, as 1-5"`
}

// Read makes the tool that reads files and lists directories.
func Read(o Options) tool.Tool {
	o = o.filled()
	return tool.New(tool.Spec{
		Name: "Read", Description: strings.TrimSpace(readText), ReadOnly: true, Parallel: true,
		Aliases: []string{"read_file", "view", "list_dir", "view_image"},
		Access: tool.AccessFor(func(_ context.Context, c *tool.Call, in readIn) ([]tool.Access, error) {
			t, err := o.resolve(c, in.Path)
			if err != nil {
				return nil, err
			}
			return t.access(tool.Read), nil
		}),
	}, func(ctx context.Context, in readIn) (*tool.Result, error) { return o.read(ctx, in) })
}

func (o Options) read(ctx context.Context, in readIn) (*tool.Result, error) {
	c := tool.FromContext(ctx)
	t, err := o.decided(c, tool.Read, in.Path)
	if err != nil {
		return nil, err
	}
	f, err := o.fs().Open(t.real)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, o.missing(t.real)
	}
	if err != nil {
		return nil, o.unopened(t.real, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, plainErr(t.real, err)
	}
	if info.IsDir() {
		return o.list(c, t.real, f)
	}
	if err := regular(o.show(t.real), info); err != nil {
		return nil, err
	}
	br := bufio.NewReaderSize(ctxReader{ctx, f}, bufferFor(info.Size()))
	head, err := br.Peek(8 << 10)
	if err != nil && err != io.EOF {
		return nil, plainErr(t.real, err)
	}
	switch kind := blobKind(head); {
	case kind == "application/pdf":
		return o.pdf(ctx, t.real, info, br, in)
	case in.Pages != "":
		return nil, fmt.Errorf("%s is no PDF file: give offset and limit in place of pages", o.show(t.real))
	case kind != "":
		return o.image(ctx, t.real, kind, info, br)
	case binaryLike(head):
		return nil, fmt.Errorf("%s is a binary file (%s, %d bytes): use Bash with a program that understands it", o.show(t.real), http.DetectContentType(head), info.Size())
	case isNotebook(t.real) && info.Size() <= hashMax:
		return o.notebook(ctx, t.real, in)
	}
	return o.readText(ctx, t.real, info, br, in)
}

// bufferFor is how large a buffer is for a file of that size: most are small. No
// size tells nothing, as of the files in /proc.
func bufferFor(size int64) int {
	if size == 0 {
		return separatorHead
	}
	return int(min(max(2*size, 8<<10), separatorHead)) // twice: UTF-16 grows when it is read
}

// unopened says why a file could not be opened: what waits for a partner, such
// as a socket, fails before it can be asked what it is.
func (o Options) unopened(path string, err error) error {
	if info, serr := o.fs().Lstat(path); serr == nil && info.Mode()&(fs.ModeSocket|fs.ModeNamedPipe|fs.ModeDevice) != 0 {
		return regular(o.show(path), info)
	}
	return plainErr(o.show(path), err)
}

// ctxReader stops when its context ends.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (r ctxReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}

// blobKind is the type of an image or a PDF file, told by how it begins; "" for
// anything else. Only types that models take are among them.
func blobKind(head []byte) string {
	s := string(head[:min(len(head), 16)])
	switch {
	case strings.HasPrefix(s, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case strings.HasPrefix(s, "\xFF\xD8\xFF"):
		return "image/jpeg"
	case strings.HasPrefix(s, "GIF87a"), strings.HasPrefix(s, "GIF89a"):
		return "image/gif"
	case len(s) >= 12 && s[:4] == "RIFF" && s[8:12] == "WEBP":
		return "image/webp"
	case strings.HasPrefix(s, "%PDF-"):
		return "application/pdf"
	}
	return ""
}

func (o Options) image(ctx context.Context, path, kind string, info fs.FileInfo, r io.Reader) (*tool.Result, error) {
	switch {
	case !o.traits(ctx).Images:
		return nil, fmt.Errorf("%s is an image (%s, %d bytes), which this model cannot be shown", o.show(path), kind, info.Size())
	case info.Size() > imageMax:
		return nil, fmt.Errorf("%s has %d bytes, more than the %d MiB that an image may have: make a smaller one with Bash", o.show(path), info.Size(), imageMax>>20)
	}
	b, err := readRest(o.show(path), info, r, imageMax)
	if err != nil {
		return nil, err
	}
	return &tool.Result{Parts: llm.Parts{llm.Blob{MIME: kind, Data: b, Name: filepath.Base(path)}}}, nil
}

// traits are those of the model that runs the call.
func (o Options) traits(ctx context.Context) llm.Traits {
	if o.Traits != nil {
		return o.Traits(ctx)
	}
	if t := agent.FromContext(ctx); t != nil {
		return t.Model().Info().Traits
	}
	return llm.Traits{}
}

// scanMax bounds how many names of a directory are looked at.
const scanMax = 100_000

// list lists a directory, folders first.
func (o Options) list(c *tool.Call, path string, f fs.File) (*tool.Result, error) {
	var es []fs.DirEntry
	var err error
	if d, ok := f.(fs.ReadDirFile); ok { // the directory that was opened, whatever the path is now
		if es, err = d.ReadDir(scanMax); err == io.EOF {
			err = nil
		}
	} else {
		es, err = o.fs().ReadDir(path)
	}
	if err != nil {
		return nil, plainErr(path, err)
	}
	slices.SortFunc(es, func(a, b fs.DirEntry) int {
		if a.IsDir() != b.IsDir() {
			if a.IsDir() {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name(), b.Name())
	})
	var b strings.Builder
	n, hidden := 0, 0
	for _, e := range es {
		if c.Check != nil && c.Check(tool.Access{Op: tool.Read, Target: filepath.Join(path, e.Name())}) != nil {
			hidden++
			continue
		}
		if n++; n > listMax {
			continue
		}
		b.WriteString(o.entry(path, e))
	}
	if n == 0 {
		b.WriteString("The directory is empty.\n")
	}
	if n > listMax {
		more := fmt.Sprint(n - listMax)
		if len(es) >= scanMax {
			more = "at least " + more
		}
		fmt.Fprintf(&b, "[%s more names. Use Glob to find what you need.]\n", more)
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "[%d names hidden by permission rules]\n", hidden)
	}
	return tool.Text(strings.TrimRight(b.String(), "\n")), nil
}

// entry is a line of a directory's list.
func (o Options) entry(dir string, e fs.DirEntry) string {
	name := e.Name()
	if printable(name) != name || strings.ContainsAny(name, "\n\t") {
		name = fmt.Sprintf("%q", name)
	}
	info, err := e.Info()
	switch {
	case e.IsDir():
		return name + "/\n"
	case err != nil:
		return name + "\n"
	case info.Mode()&fs.ModeSymlink != 0:
		to := "broken link"
		if real, err := o.fs().EvalSymlinks(filepath.Join(dir, e.Name())); err == nil {
			to = "link to " + printable(o.show(real))
		}
		return name + " (" + to + ")\n"
	case info.Mode().IsRegular():
		return fmt.Sprintf("%s (%d bytes)\n", name, info.Size())
	}
	return name + " (" + strings.TrimPrefix(regular(name, info).Error(), name+" is ") + ")\n"
}

// missing is the error for a file that is not there, with names like it.
func (o Options) missing(path string) error {
	notExist := func(format string, args ...any) error {
		return &missingError{fmt.Sprintf(format, args...)}
	}
	dir := filepath.Dir(path)
	es, err := o.fs().ReadDir(dir)
	if err != nil {
		return notExist("%s does not exist, nor does its directory", o.show(path))
	}
	names := make([]string, 0, len(es))
	for _, e := range es[:min(len(es), scanMax)] {
		names = append(names, e.Name())
	}
	if near := tool.Nearest(filepath.Base(path), names, 3); len(near) > 0 {
		return notExist("%s does not exist; its directory has %s", o.show(path), strings.Join(near, ", "))
	}
	return notExist("%s does not exist", o.show(path))
}

// missingError is an [fs.ErrNotExist] in words for a model.
type missingError struct{ text string }

func (e *missingError) Error() string        { return e.text }
func (e *missingError) Is(target error) bool { return target == fs.ErrNotExist }
