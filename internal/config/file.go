package config

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// A settings file comes with a repository, so that what it may cost to read is
// bounded: maxFile is its most bytes, and maxDepth its deepest nesting.
const (
	maxFile  = 1 << 20
	maxDepth = 64
)

// readFile reads a settings file; nil without an error if there is none. A file
// that is not a regular one is refused before it is opened: to open a pipe
// would wait for its writer.
func readFile(name string) ([]byte, error) {
	b, err := readBounded(name, maxFile)
	if err != nil || b == nil {
		return nil, err
	}
	return b, shallow(name, b)
}

// shallow refuses a text that is nested deeper than maxDepth.
func shallow(name string, b []byte) error {
	if line := tooDeep(b); line > 0 {
		return &Error{File: name, Line: line, Text: fmt.Sprintf("more than %d objects and lists are within each other", maxDepth)}
	}
	return nil
}

// readBounded reads a regular file of at most so many bytes.
func readBounded(name string, most int64) ([]byte, error) {
	info, err := os.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{File: name, Text: err.Error()}
	}
	if !info.Mode().IsRegular() {
		return nil, &Error{File: name, Text: "it is not a regular file: remove it, or put a file there"}
	}
	f, err := os.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, &Error{File: name, Text: err.Error()}
	}
	defer f.Close()
	return readOpen(name, f, most)
}

// readOpen reads a file that is open; a nil slice is never what it returns
// without an error.
func readOpen(name string, f io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, &Error{File: name, Text: err.Error()}
	case int64(len(b)) > most:
		return nil, tooLarge(name, most)
	}
	if b == nil {
		b = []byte{}
	}
	return b, nil
}

func tooLarge(name string, most int64) *Error {
	return &Error{File: name, Text: fmt.Sprintf("it is larger than %d KiB", most>>10)}
}

// tooDeep returns the line at which JSON with comments is nested deeper than
// maxDepth; 0 if it nowhere is. Text that is no JSON is judged by the parser,
// which goes no deeper than was counted here: what it takes for a string or a
// comment is taken for one here too.
func tooDeep(b []byte) int {
	depth, line := 0, 1
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '\n':
			line++
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return line
			}
		case c == ']' || c == '}':
			depth--
		case c == '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\n' {
					line++
				} else if b[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(b) && b[i+1] == '/':
			for i < len(b) && b[i] != '\n' {
				i++
			}
			line++
		case c == '/' && i+1 < len(b) && b[i+1] == '*':
			for i += 2; i < len(b) && (b[i] != '/' || b[i-1] != '*'); i++ {
				if b[i] == '\n' {
					line++
				}
			}
		}
	}
	return 0
}
