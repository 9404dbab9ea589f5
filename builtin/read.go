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
	pdfMax     = 32 << 20
)

type readIn struct {
	Path   string `json:"file_path" doc:"path of the file or directory" alias:"path,file,filename"`
	Offset int    `json:"offset,omitempty" doc:"first line, from 1" min:"0" alias:"start_line"`
	Limit  int    `json:"limit,omitempty" doc:"most lines" min:"0" alias:"line_count"`
	Column int    `json:"column,omitempty" doc:"first byte of the line at offset, to go on within a long line" min:"0" alias:"start_column"`
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
		return nil, plainErr(t.real, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, plainErr(t.real, err)
	}
	if info.IsDir() {
		return o.list(c, t.real)
	}
	if err := regular(o.show(t.real), info); err != nil {
		return nil, err
	}
	br := bufio.NewReaderSize(f, 64<<10)
	head, err := br.Peek(8 << 10)
	if err != nil && err != io.EOF {
		return nil, plainErr(t.real, err)
	}
	switch kind := http.DetectContentType(head); {
	case len(head) == 0:
		if err := o.Files.saw(ctx, stateOf(t.real, info, []byte{}), 1, 0, 0); err != nil {
			return nil, tool.Fatal(err)
		}
		return tool.Text("The file exists and is empty."), nil
	case strings.HasPrefix(kind, "image/") && kind != "image/svg+xml" || kind == "application/pdf":
		return o.blob(ctx, t.real, kind, info, br)
	case binaryLike(head):
		return nil, fmt.Errorf("%s is a binary file (%s, %d bytes): use Bash with a program that understands it", o.show(t.real), kind, info.Size())
	case strings.EqualFold(filepath.Ext(t.real), ".ipynb") && info.Size() <= hashMax:
		return o.notebook(ctx, t.real)
	case detect(head).order != nil || info.Size() <= 1<<20:
		return o.readSmall(ctx, t.real, in)
	}
	return o.readText(ctx, t.real, info, br, in)
}

// readSmall reads a file whole, and shows a part of it.
func (o Options) readSmall(ctx context.Context, path string, in readIn) (*tool.Result, error) {
	b, info, err := readAll(o.fs(), path, hashMax)
	if err != nil {
		return nil, err
	}
	text, err := detect(b).decode(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.show(path), err)
	}
	return o.page(ctx, path, stateOf(path, info, b), bufio.NewReader(strings.NewReader(text)), in)
}

// readText reads a long file line by line. Its content is hashed only up to
// hashMax.
func (o Options) readText(ctx context.Context, path string, info fs.FileInfo, br *bufio.Reader, in readIn) (*tool.Result, error) {
	if info.Size() <= hashMax {
		return o.readSmall(ctx, path, in)
	}
	return o.page(ctx, path, stateOf(path, info, nil), br, in)
}

// page shows the lines that were asked for.
func (o Options) page(ctx context.Context, path string, now seen, br *bufio.Reader, in readIn) (*tool.Result, error) {
	first := max(in.Offset, 1)
	limit := readLines
	if in.Limit > 0 {
		limit = min(in.Limit, readLines)
	}
	var b strings.Builder
	line, last, column := 0, 0, 0
	crlf, invalid, whole := false, false, false
	for {
		if line%4096 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if line+1 >= first && (line+1-first >= limit || b.Len() >= readBytes) {
			break // more may follow: the footer says so
		}
		if line+1 < first { // passed over, however long
			more, err := skipLine(br)
			if err != nil && err != io.EOF {
				return nil, plainErr(path, err)
			}
			if err == io.EOF && !more {
				whole = true
				break
			}
			line++
			continue
		}
		skip := 0
		if line+1 == first {
			skip = in.Column
		}
		text, rest, err := readLine(br, skip, readColumn)
		if err == io.EOF && text == "" && rest == 0 {
			whole = true
			break
		}
		if err != nil && err != io.EOF {
			return nil, plainErr(path, err)
		}
		line++
		last = line
		if t, ok := strings.CutSuffix(text, "\r"); ok {
			text, crlf = t, true
		}
		shown := printable(strings.ReplaceAll(text, "\r", "\n"))
		invalid = invalid || strings.ContainsRune(shown, '\uFFFD')
		fmt.Fprintf(&b, "%6d\t%s", line, shown)
		if rest > 0 {
			column = skip + len(text)
			fmt.Fprintf(&b, "… [%d more bytes in this line: column %d]", rest, column)
		}
		b.WriteByte('\n')
		if err == io.EOF {
			whole = true
			break
		}
	}
	if last == 0 {
		return nil, fmt.Errorf("offset %d is beyond the end of %s, which has %d lines", first, o.show(path), line)
	}
	total := -1
	more := ""
	if !whole {
		if _, err := br.Peek(1); err == io.EOF {
			whole = true
		}
	}
	if whole {
		total = line
	}
	if !whole {
		more = fmt.Sprintf("[Showing lines %d-%d; there are more. Go on with offset %d.]\n", first, last, last+1)
	}
	if invalid {
		more += "[Bytes that are not readable text are shown as \uFFFD.]\n"
	}
	if crlf {
		more += "[Lines end in CRLF.]\n"
	}
	if column == 0 && in.Column == 0 { // a cut line was not wholly shown
		if err := o.Files.saw(ctx, now, first, last, total); err != nil {
			return nil, tool.Fatal(err)
		}
	} else if err := o.Files.saw(ctx, now, 1, 0, -1); err != nil {
		return nil, tool.Fatal(err)
	}
	return tool.Text(strings.TrimRight(b.String()+more, "\n")), nil
}

// skipLine passes over a line and reports whether there was one.
func skipLine(br *bufio.Reader) (bool, error) {
	any := false
	for {
		b, err := br.ReadSlice('\n')
		any = any || len(b) > 0
		if err != bufio.ErrBufferFull {
			return any, err
		}
	}
}

// readLine reads a line without its end: most bytes of it from skip on, and
// how many more there are. Memory is bounded whatever the line.
func readLine(br *bufio.Reader, skip, most int) (text string, rest int, err error) {
	var b []byte
	at := 0
	for {
		chunk, err := br.ReadSlice('\n')
		end := err == nil
		if end {
			chunk = chunk[:len(chunk)-1]
		}
		for _, c := range [][]byte{chunk} {
			from := min(max(skip-at, 0), len(c))
			at += len(c)
			c = c[from:]
			room := max(most+4-len(b), 0)
			b = append(b, c[:min(len(c), room)]...)
			rest += max(len(c)-room, 0)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		text = string(b)
		if len(text) > most {
			t := cut(text, most)
			rest += len(text) - len(t)
			text = t
		}
		if end {
			err = nil
		}
		return text, rest, err
	}
}

func (o Options) blob(ctx context.Context, path, kind string, info fs.FileInfo, r io.Reader) (*tool.Result, error) {
	traits := o.traits(ctx)
	limit, takes, what := int64(imageMax), traits.Images, "images"
	if kind == "application/pdf" {
		limit, takes, what = pdfMax, traits.PDF, "PDF files"
	}
	switch {
	case !takes && kind == "application/pdf":
		return nil, fmt.Errorf("%s is a PDF file, and this model takes none: try `pdftotext` with Bash", o.show(path))
	case !takes:
		return nil, fmt.Errorf("%s is %s, and this model takes no images", o.show(path), kind)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s has %d bytes, more than the %d MiB that %s may have", o.show(path), info.Size(), limit>>20, what)
	}
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, plainErr(path, err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s grew while it was read", o.show(path))
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

// list lists a directory, folders first.
func (o Options) list(c *tool.Call, path string) (*tool.Result, error) {
	es, err := o.fs().ReadDir(path)
	if err != nil {
		return nil, plainErr(path, err)
	}
	slices.SortStableFunc(es, func(a, b fs.DirEntry) int {
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
		name := printable(strings.ReplaceAll(e.Name(), "\n", "?"))
		switch info, err := e.Info(); {
		case e.IsDir():
			fmt.Fprintf(&b, "%s/\n", name)
		case err != nil || !info.Mode().IsRegular():
			fmt.Fprintf(&b, "%s (%s)\n", name, e.Type())
		default:
			fmt.Fprintf(&b, "%s (%d bytes)\n", name, info.Size())
		}
	}
	if n == 0 {
		b.WriteString("The directory is empty.\n")
	}
	if n > listMax {
		fmt.Fprintf(&b, "[%d more names. Use Glob to find what you need.]\n", n-listMax)
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "[%d names hidden by permission rules]\n", hidden)
	}
	return tool.Text(strings.TrimRight(b.String(), "\n")), nil
}

// missing is the error for a file that is not there, with names like it.
func (o Options) missing(path string) error {
	es, err := o.fs().ReadDir(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("%s does not exist, nor does its directory", o.show(path))
	}
	var names []string
	for _, e := range es {
		names = append(names, e.Name())
	}
	if near := tool.Nearest(filepath.Base(path), names, 3); len(near) > 0 {
		return fmt.Errorf("%s does not exist; its directory has %s", o.show(path), strings.Join(near, ", "))
	}
	return fmt.Errorf("%s does not exist", o.show(path))
}
