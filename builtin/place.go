package builtin

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cantle-dev/cantle/internal/x/walk"
	"github.com/cantle-dev/cantle/tool"
)

// errSearchTime is why a search of a tree was ended.
var errSearchTime = fmt.Errorf("it took longer than %v", findTime)

// place is where a call of Glob or Grep looks for files.
type place struct {
	o    Options
	c    *tool.Call
	root target
}

// walkFS is the file system to walk, nil for the local one, which is faster by
// itself.
func (o Options) walkFS() walk.FS {
	if _, local := o.fs().(localFS); local {
		return nil
	}
	return o.fs()
}

// real is where a file of the walk is.
func (p place) real(rel string) string {
	return filepath.Join(p.root.real, filepath.FromSlash(rel))
}

// allowed says whether the policy lets a file be read, under its own name and
// under the one that was asked for.
func (p place) allowed(rel string) bool {
	if p.c == nil || p.c.Check == nil {
		return true
	}
	if p.c.Check(tool.Access{Op: tool.Read, Target: p.real(rel)}) != nil {
		return false
	}
	return p.root.asked == p.root.real ||
		p.c.Check(tool.Access{Op: tool.Read, Target: filepath.Join(p.root.asked, filepath.FromSlash(rel))}) == nil
}

// show is how a file is shown: from the working directory where it is in it.
// A name that would break the line is quoted.
func (p place) show(rel string) string {
	return p.plain(filepath.Join(p.root.asked, filepath.FromSlash(rel)))
}

// dir is how the place itself is shown.
func (p place) dir() string {
	if name := p.plain(p.root.asked); name != "." {
		return name
	}
	return "the working directory"
}

// base is the directory that relative paths are from.
func (p place) base() string {
	if p.c != nil && p.c.Dir != "" {
		return p.c.Dir
	}
	return p.o.Root
}

func (p place) plain(name string) string {
	if base := p.base(); base != "" {
		if rel, err := filepath.Rel(base, name); err == nil && filepath.IsLocal(rel) {
			name = rel
		}
	}
	if printable(name) != name || strings.ContainsAny(name, "\n\t") {
		return strconv.Quote(name)
	}
	return name
}

// failed says why there is no result: a search that was not carried through
// must never look like one that found nothing.
func (p place) failed(err error, files int) error {
	if errors.Is(err, errSearchTime) {
		return fmt.Errorf("the search of %s was given up after %s: %w. Name a folder in it, or narrow the pattern", p.dir(), count(files, "file"), err)
	}
	return fmt.Errorf("the search of %s was not finished, so that it says nothing: %w", p.dir(), err)
}

// notes says what was left out. Ignored files matter where nothing was found.
func (p place) notes(s walk.Stats, hidden int, none bool) []string {
	var out []string
	if hidden > 0 {
		out = append(out, count(hidden, "file")+" hidden by permission rules")
	}
	if s.Truncated {
		out = append(out, fmt.Sprintf("The tree is too large to be looked through whole: only %s were; name a folder in it", count(s.Files, "file")))
	}
	if s.Unreadable > 0 {
		out = append(out, count(s.Unreadable, "folder")+" could not be read, such as "+firstLine(s.Errors[0].Error()))
	}
	if len(s.Skipped) > 0 {
		names := slices.Sorted(maps.Keys(s.Skipped))
		out = append(out, "Left out by default: "+strings.Join(names, ", ")+"; name one as path to look in it")
	}
	if none && s.Ignored > 0 {
		out = append(out, count(s.Ignored, "ignored entry")+" left out; ignored: true looks at them too")
	}
	return out
}

// count is a number with its noun.
func count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ry"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	case strings.HasSuffix(noun, "ch"):
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
