// Package gitignore reads ignore files with the semantics of git, as its
// manual page gitignore(5) states them and as `git check-ignore` decides where
// the page is silent.
//
//	list, warnings := gitignore.Parse([]byte("*.log\n!keep.log\n/out/\n"))
//	var rules *gitignore.Stack
//	rules = rules.Push("", list)
//	rules.Match("a/x.log", false) // Ignore
//	rules.Match("keep.log", false) // Include
//	rules.Ignored("out/bin/x", false) // true: its directory is ignored
//
// Names are compared byte by byte and with case. What the index of a
// repository tracks is not looked at: a tracked file that a pattern names is
// reported as ignored.
package gitignore

import (
	"bytes"
	"fmt"
	"strings"
)

// MaxSize is the most that [Parse] reads of one file, in bytes. A longer file
// is read up to its last whole line within it, with a warning.
const MaxSize = 4 << 20

// Decision is what a set of patterns says of a path.
type Decision int8

// The decisions.
const (
	None    Decision = iota // no pattern matches
	Ignore                  // the last pattern that matches ignores it
	Include                 // the last pattern that matches is negated
)

// Warning says why a line has no effect.
type Warning struct {
	Line    int // from 1
	Pattern string
	Reason  string
}

// String gives the warning as one line.
func (w Warning) String() string {
	return fmt.Sprintf("gitignore: line %d: pattern %q has no effect: %s", w.Line, w.Pattern, w.Reason)
}

// List is the patterns of one file. It does not change: any number of
// goroutines may use it.
type List struct {
	rules []rule
	names map[string][]int32 // places of the rules that are a plain name, ascending
	other []int32            // places of all the rest, ascending
}

// Len is the number of patterns that have an effect.
func (l *List) Len() int {
	if l == nil {
		return 0
	}
	return len(l.rules)
}

// Parse reads the text of an ignore file: a byte order mark and CRLF line ends
// are allowed. A pattern that is malformed is left out, with a warning, and
// never makes the others fail.
func Parse(data []byte) (*List, []Warning) {
	l := &List{}
	var warnings []Warning
	if len(data) > MaxSize {
		data = data[:MaxSize]
		data = data[:bytes.LastIndexByte(data, '\n')+1]
		warnings = append(warnings, Warning{
			Line:   bytes.Count(data, []byte{'\n'}) + 1,
			Reason: fmt.Sprintf("the file is longer than %d bytes; the rest of it is not read", MaxSize),
		})
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	for n := 1; len(data) > 0; n++ {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte{'\n'})
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		text := trimSpaces(string(line))
		r, err := compile(text)
		switch {
		case err != "":
			warnings = append(warnings, Warning{Line: n, Pattern: text, Reason: err})
		case r.kind != never:
			l.add(r)
		}
	}
	return l, warnings
}

func (l *List) add(r rule) {
	at := int32(len(l.rules))
	l.rules = append(l.rules, r)
	if r.kind != name {
		l.other = append(l.other, at)
		return
	}
	if l.names == nil {
		l.names = map[string][]int32{}
	}
	l.names[r.text] = append(l.names[r.text], at)
}

// Match says what the list decides on path, which is relative to the list's
// own directory, with slashes and no leading one. A symbolic link is not a
// directory, whatever it points to. Only path itself is matched; what an
// ignored parent directory implies is for [Stack.Ignored].
func (l *List) Match(path string, dir bool) Decision {
	if l == nil || len(l.rules) == 0 {
		return None
	}
	base := path[strings.LastIndexByte(path, '/')+1:]
	best := int32(-1)
	if l.names != nil {
		at := l.names[base]
		for i := len(at) - 1; i >= 0; i-- {
			if dir || !l.rules[at[i]].dirOnly {
				best = at[i]
				break
			}
		}
	}
	for i := len(l.other) - 1; i >= 0; i-- {
		at := l.other[i]
		if at < best {
			break
		}
		if r := &l.rules[at]; (dir || !r.dirOnly) && r.match(path, base) {
			best = at
			break
		}
	}
	switch {
	case best < 0:
		return None
	case l.rules[best].negated:
		return Include
	default:
		return Ignore
	}
}

// trimSpaces takes off trailing spaces but those quoted by a backslash.
func trimSpaces(s string) string {
	end := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = i + 1
	}
	return s[:min(end, len(s))]
}

// Stack is the lists that hold in a directory, the nearest on top: a decision
// of a higher one beats those below. The nil Stack is empty. A Stack does not
// change; Push makes a new one, so that each directory of a walk can have its
// own while the walk goes on in parallel.
type Stack struct {
	below *Stack
	base  string // "" or ends in a slash
	list  *List
}

// Push returns the stack with l on top. Dir is the directory that l's patterns
// are relative to: relative itself, with slashes, "" for the root. Patterns of
// the user or of a whole repository (`core.excludesFile`, `.git/info/exclude`)
// are pushed first, with the root as their directory.
func (s *Stack) Push(dir string, l *List) *Stack {
	if l.Len() == 0 {
		return s
	}
	if dir != "" && !strings.HasSuffix(dir, "/") {
		dir += "/"
	}
	return &Stack{below: s, base: dir, list: l}
}

// Match says what the stack decides on path itself, which is relative to the
// root, with slashes.
func (s *Stack) Match(path string, dir bool) Decision {
	for ; s != nil; s = s.below {
		if !strings.HasPrefix(path, s.base) || len(path) == len(s.base) {
			continue
		}
		if d := s.list.Match(path[len(s.base):], dir); d != None {
			return d
		}
	}
	return None
}

// Ignored says whether path, relative to the root, is ignored: by a pattern of
// its own, or since a directory above it is. As in git, nothing below an
// ignored directory can be included again.
func (s *Stack) Ignored(path string, dir bool) bool {
	if s == nil || path == "" {
		return false
	}
	for i := 0; i < len(path); i++ {
		if path[i] == '/' && i > 0 && s.Match(path[:i], true) == Ignore {
			return true
		}
	}
	return s.Match(path, dir) == Ignore
}
