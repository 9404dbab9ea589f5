// Package txtar reads and writes the text form of a set of small files: a
// comment, and then files that each begin with a line "-- name --". It is the
// format of golang.org/x/tools/txtar.
//
//	a := txtar.Parse(b)
//	for _, f := range a.Files {
//		fmt.Println(f.Name, len(f.Data))
//	}
package txtar

import (
	"slices"
	"strings"
)

// Archive is a comment and files, in order.
type Archive struct {
	Comment string
	Files   []File
}

// File is a named text. Names need not be unique.
type File struct{ Name, Data string }

// Parse reads an archive; every text is one. A last line without its newline
// gets one, and "\r\n" is read as "\n".
func Parse(text []byte) *Archive {
	a := &Archive{}
	data := &a.Comment
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if name, ok := marker(line); ok {
			a.Files = append(a.Files, File{Name: name})
			data = &a.Files[len(a.Files)-1].Data
			continue
		}
		*data += line + "\n"
	}
	return a
}

func marker(line string) (string, bool) {
	rest, ok := strings.CutPrefix(line, "-- ")
	if !ok {
		return "", false
	}
	name, ok := strings.CutSuffix(rest, " --")
	name = strings.TrimSpace(name)
	return name, ok && name != ""
}

// Get returns the data of the first file of that name.
func (a *Archive) Get(name string) (string, bool) {
	i := slices.IndexFunc(a.Files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return "", false
	}
	return a.Files[i].Data, true
}

// Set replaces the data of the first file of that name, or appends a file.
func (a *Archive) Set(name, data string) {
	i := slices.IndexFunc(a.Files, func(f File) bool { return f.Name == name })
	if i < 0 {
		a.Files = append(a.Files, File{Name: name})
		i = len(a.Files) - 1
	}
	a.Files[i].Data = data
}

// Bytes writes the archive. Parse reads it back as it is, unless a text of it
// has a line that looks like a file's beginning.
func (a *Archive) Bytes() []byte {
	var b strings.Builder
	text := func(s string) {
		b.WriteString(s)
		if s != "" && !strings.HasSuffix(s, "\n") {
			b.WriteByte('\n')
		}
	}
	text(a.Comment)
	for _, f := range a.Files {
		b.WriteString("-- " + f.Name + " --\n")
		text(f.Data)
	}
	return []byte(b.String())
}
