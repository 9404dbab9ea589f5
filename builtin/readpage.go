package builtin

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

// line is a line of a page: some bytes of it, without its end.
type line struct {
	number int
	text   []byte
	from   int // bytes before text
	rest   int // bytes after it
	cr     bool
}

// watched is what is learned of a file's content while it is read whole.
type watched struct {
	sum    hash.Hash
	survey survey
	kept   bytes.Buffer // the content, up to keptFile
	size   int64
}

func (w *watched) Write(b []byte) (int, error) {
	w.size += int64(len(b))
	w.sum.Write(b) // never fails
	w.survey.add(b)
	if w.size <= keptFile {
		w.kept.Write(b)
	}
	return len(b), nil
}

// readText shows a part of a text file. Memory is bounded whatever the file
// and whatever its lines. A file of at most hashMax bytes is read to its end,
// so that its content and its lines are known; a larger one is read no further
// than what is shown.
func (o Options) readText(ctx context.Context, path string, info fs.FileInfo, br *bufio.Reader, in readIn) (*tool.Result, error) {
	var raw io.Reader = br
	var w *watched
	if info.Size() <= hashMax {
		w = &watched{sum: sha256.New()}
		raw = io.TeeReader(br, w)
	}
	head, _ := br.Peek(4)
	enc, _ := marked(head)
	if _, err := io.CopyN(io.Discard, raw, int64(len(enc.bom))); err != nil {
		return nil, plainErr(path, err)
	}
	if enc.order != nil {
		raw = &utf16Reader{r: raw, order: enc.order}
	}
	pg := page{in: in, br: bufio.NewReaderSize(raw, bufferFor(info.Size()))}
	first, _ := pg.br.Peek(separatorHead)
	pg.sep = separator(string(first))
	if err := pg.read(w != nil); err != nil {
		return nil, plainErr(o.show(path), err)
	}
	now := stateOf(path, info, nil)
	if w != nil && w.size <= hashMax {
		now.Hash, now.Size = hex.EncodeToString(w.sum.Sum(nil)), w.size
		if w.size <= keptFile {
			o.Files.keep(now.Hash, w.kept.Bytes())
		}
		if enc.bom == "" {
			enc = w.survey.encoding()
		}
	}
	if len(pg.lines) == 0 && pg.total != 0 {
		return nil, fmt.Errorf("offset %d is beyond the end of %s, which has %d lines", in.Offset, o.show(path), pg.total)
	}
	text, g := pg.render(enc)
	if err := o.Files.saw(ctx, now, g); err != nil {
		return nil, tool.Fatal(err)
	}
	return tool.Text(text), nil
}

// page is the part of a text that a call asks for.
type page struct {
	in    readIn
	br    *bufio.Reader
	sep   byte
	lines []line
	total int // of the text; -1 if that is not known
	full  bool
}

// read collects the lines, and counts the rest if whole is set.
func (p *page) read(whole bool) error {
	first, limit := max(p.in.Offset, 1), readLines
	if p.in.Limit > 0 {
		limit = min(p.in.Limit, readLines)
	}
	n, size := 0, 0
	for {
		if n+1 >= first && (len(p.lines) >= limit || p.full) && !whole {
			p.total = -1
			if _, err := p.br.Peek(1); err == io.EOF {
				p.total = n
			}
			return nil
		}
		skip, most := 0, 0
		if n+1 >= first && len(p.lines) < limit && !p.full {
			most = readColumn
			if skip = p.in.Column; n+1 != first {
				skip = 0
			} else if skip > 0 {
				most = readBytes - 200
			}
		}
		l, end, err := readLine(p.br, p.sep, skip, most)
		if err == io.EOF && !end {
			p.total = n
			return nil
		}
		if err != nil && err != io.EOF {
			return err
		}
		n++
		if most > 0 {
			l.number = n
			cost := len(printable(string(l.text))) + 8
			if l.rest > 0 {
				cost += 64
			}
			if cost > readBytes { // what is replaced takes three bytes for one
				short := []byte(cutBytes(string(l.text), most/3))
				l.rest += len(l.text) - len(short)
				l.text = short
			}
			if size += cost; size > readBytes && len(p.lines) > 0 {
				p.full = true
			} else {
				p.lines = append(p.lines, l)
			}
		}
		if p.full && !whole {
			p.total = -1 // this line is one more
			return nil
		}
		if err == io.EOF {
			p.total = n
			return nil
		}
	}
}

// readLine reads a line: most bytes of it, after skip. found is false if the
// text had ended.
func readLine(br *bufio.Reader, sep byte, skip, most int) (l line, found bool, err error) {
	at := 0
	var last byte
	for {
		chunk, err := br.ReadSlice(sep)
		found = found || len(chunk) > 0
		ended := err == nil
		if ended {
			chunk = chunk[:len(chunk)-1]
		}
		if n := len(chunk); n > 0 {
			last = chunk[n-1]
		}
		// A few more bytes are kept, for the rune that the cut may go through.
		from := min(max(skip-at, 0), len(chunk))
		room := max(most+4-len(l.text), 0)
		if keep := chunk[from:]; most > 0 {
			l.text = append(l.text, keep[:min(len(keep), room)]...)
		}
		at += len(chunk)
		if err == bufio.ErrBufferFull {
			continue
		}
		if ended && sep == '\n' && last == '\r' {
			l.cr = true
			at--
		}
		l.from = min(skip, at)
		l.text = l.text[:min(len(l.text), max(at-l.from, 0))]
		l.text = []byte(cutBytes(string(l.text), most))
		l.rest = at - l.from - len(l.text)
		return l, found, err
	}
}

// cutBytes is cut for text that may not be UTF-8: a run of bytes that start no
// character is cut through.
func cutBytes(s string, n int) string {
	if t := cut(s, n); n-min(len(t), n) < 4 || len(s) <= n {
		return t
	}
	return s[:n]
}

// render is the page as the model sees it, and what that shows of the file.
func (p *page) render(enc encoding) (string, glimpse) {
	g := glimpse{total: p.total}
	if p.total == 0 {
		return "The file exists and is empty.", g
	}
	var b strings.Builder
	crlf, invalid := 0, false
	for _, l := range p.lines {
		text := string(l.text)
		if enc.table != nil {
			text = enc.decodeBytes(l.text)
		}
		text = printable(strings.ReplaceAll(text, "\r", "\x00"))
		invalid = invalid || strings.ContainsRune(text, '\uFFFD')
		fmt.Fprintf(&b, "%6d\t%s", l.number, text)
		to := l.from + len(l.text)
		if l.rest > 0 {
			fmt.Fprintf(&b, "… [%d more bytes in this line: column %d]", l.rest, to)
		}
		if l.from > 0 || l.rest > 0 {
			g.parts = append(g.parts, part{l.number, l.from, to, l.rest == 0})
		}
		b.WriteByte('\n')
		if l.cr {
			crlf++
		}
	}
	first, last := p.lines[0].number, p.lines[len(p.lines)-1].number
	g.lines = [][2]int{{first, last}}
	switch {
	case p.total < 0:
		fmt.Fprintf(&b, "[Showing lines %d-%d of more. Go on with offset %d.]\n", first, last, last+1)
	case last < p.total:
		fmt.Fprintf(&b, "[Showing lines %d-%d of %d. Go on with offset %d.]\n", first, last, p.total, last+1)
	case first > 1:
		fmt.Fprintf(&b, "[Showing lines %d-%d of %d: the end.]\n", first, last, p.total)
	}
	if enc.name() != "" {
		fmt.Fprintf(&b, "[The file is in %s.]\n", enc.name())
	}
	if invalid {
		b.WriteString("[Bytes that are not readable text are shown as \uFFFD.]\n")
	}
	switch {
	case crlf == len(p.lines) || crlf > 0 && crlf == len(p.lines)-1 && !p.lines[crlf].cr && last == p.total:
		b.WriteString("[Lines end in CRLF.]\n")
	case crlf > 0:
		b.WriteString("[Some lines end in CRLF.]\n")
	}
	if p.sep == '\r' {
		b.WriteString("[Lines end in CR.]\n")
	}
	return strings.TrimSuffix(b.String(), "\n"), g
}
