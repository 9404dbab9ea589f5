package builtin

import (
	"container/heap"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/cantle-dev/cantle/internal/x/walk"
	"github.com/cantle-dev/cantle/tool"
)

//go:embed glob.md
var globText string

// What Glob gives at once.
const (
	globLimit = 200
	globMax   = 5000
	globBytes = 50 << 10 // of paths
)

// findTime is how long a search of a tree may take.
const findTime = 2 * time.Minute

type globIn struct {
	Pattern string `json:"pattern" doc:"such as **/*.{ts,tsx}" alias:"glob,glob_pattern,file_pattern"`
	Path    string `json:"path,omitempty" doc:"directory" alias:"dir,directory,dir_path,root"`
	Limit   int    `json:"limit,omitempty" min:"0" alias:"max_results,head_limit"`
	Ignored bool   `json:"ignored,omitempty" doc:"ignored files too" alias:"include_ignored,no_ignore"`
}

// Glob makes the tool that finds files by their names.
func Glob(o Options) tool.Tool {
	return tool.New(tool.Spec{
		Name: "Glob", Description: strings.TrimSpace(globText), ReadOnly: true, Parallel: true,
		Aliases: []string{"glob", "find_files", "search_files_by_name", "list_files"},
		Access: tool.AccessFor(func(_ context.Context, c *tool.Call, in globIn) ([]tool.Access, error) {
			dir, _, err := in.split()
			if err != nil {
				return nil, err
			}
			t, err := o.resolve(c, dir)
			if err != nil {
				return nil, err
			}
			return t.access(tool.Read), nil
		}),
	}, func(ctx context.Context, in globIn) (*tool.Result, error) { return o.glob(ctx, in) })
}

// split gives the directory that the search begins in, as a path of the call,
// and the pattern that holds from there.
func (in globIn) split() (dir, pattern string, err error) {
	pattern = filepath.ToSlash(in.Pattern)
	if strings.TrimSpace(pattern) == "" {
		return "", "", errors.New("the pattern is empty: **/* finds every file")
	}
	if strings.IndexByte(pattern, 0) >= 0 {
		return "", "", fmt.Errorf("pattern %q holds a NUL byte", in.Pattern)
	}
	if len(pattern) > 4096 {
		return "", "", fmt.Errorf("the pattern is %d bytes long; 4096 are allowed", len(pattern))
	}
	if !doublestar.ValidatePattern(pattern) {
		return "", "", fmt.Errorf("pattern %q is malformed: a [, a { or a backslash in it has no end; a backslash before such a character takes it as it is", in.Pattern)
	}
	pattern = strings.TrimPrefix(pattern, "./")
	if strings.HasSuffix(pattern, "/") {
		pattern += "**" // a directory: what is in it
	}
	dir = in.Path
	if dir == "" {
		dir = "."
	}
	base, rest := doublestar.SplitPattern(pattern)
	switch {
	case filepath.IsAbs(base), strings.HasPrefix(base, "~/"), base == "~":
		dir = base
	case base != ".":
		dir = filepath.Join(dir, base)
	}
	return dir, rest, nil
}

func (o Options) glob(ctx context.Context, in globIn) (*tool.Result, error) {
	c := tool.FromContext(ctx)
	dir, pattern, err := in.split()
	if err != nil {
		return nil, err
	}
	root, err := o.decided(c, tool.Read, dir)
	if err != nil {
		return nil, err
	}
	info, err := o.fs().Stat(root.real)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, o.missing(root.real)
	}
	if err != nil {
		return nil, plainErr(root.real, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is a file, not a directory", o.show(root.real))
	}
	limit := in.Limit
	if limit == 0 {
		limit = globLimit
	}
	limit = min(limit, globMax)

	ctx, cancel := context.WithTimeoutCause(ctx, findTime, errSearchTime)
	defer cancel()
	var found newest
	matched, hidden := 0, 0
	p := place{o: o, c: c, root: root}
	stats, err := walk.Walk(ctx, root.real, o.walk(in.Ignored, pattern), func(f walk.File) bool {
		if ok, err := doublestar.Match(pattern, f.Path); err != nil || !ok {
			return true
		}
		info, err := o.fs().Lstat(p.real(f.Path))
		if err != nil {
			return true // removed meanwhile
		}
		if f.Link {
			if to, err := o.fs().Stat(p.real(f.Path)); err != nil || !to.Mode().IsRegular() {
				return true
			}
		}
		if !p.allowed(f.Path) {
			hidden++
			return true
		}
		matched++
		found.add(dated{f.Path, info.ModTime()}, limit)
		return true
	})
	if err != nil {
		return nil, p.failed(err, stats.Files)
	}

	slices.SortFunc(found, dated.compare)
	var b strings.Builder
	shown := 0
	for _, f := range found {
		line := p.show(f.path) + "\n"
		if b.Len()+len(line) > globBytes {
			break
		}
		b.WriteString(line)
		shown++
	}
	var notes []string
	switch {
	case matched == 0:
		notes = append(notes, fmt.Sprintf("No file matches %s in %s; %s looked at", in.Pattern, p.dir(), count(stats.Files, "file")))
		if !strings.Contains(in.Pattern, "/") {
			notes = append(notes, "a pattern without ** stays in one folder: **/"+in.Pattern+" looks in all")
		}
	case shown < matched:
		how := "narrow the pattern or the path"
		if limit < globMax && shown == limit {
			how += fmt.Sprintf(", or raise limit (at most %d)", globMax)
		}
		notes = append(notes, fmt.Sprintf("The newest %d of %s: %s", shown, count(matched, "file"), how))
	default:
		notes = append(notes, count(matched, "file"))
	}
	notes = append(notes, p.notes(stats, hidden, matched == 0)...)
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("[" + strings.Join(notes, ". ") + "]")
	return tool.Text(b.String()), nil
}

// walk is how a tree is walked for files that match pattern.
func (o Options) walk(ignored bool, pattern string) walk.Options {
	w := walk.Options{FS: o.walkFS(), Ignored: ignored, Links: true, Excludes: o.excludes()}
	if strings.Contains(pattern, "{") {
		return w // an alternative may hold a slash
	}
	segs := strings.Split(pattern, "/")
	if deep := slices.Index(segs, "**"); deep >= 0 {
		segs = segs[:deep]
	} else {
		w.Depth = len(segs)
	}
	// A folder need not be entered where nothing in it can match.
	w.Enter = func(dir string) bool {
		parts := strings.Split(dir, "/")
		for i := range min(len(parts), len(segs)) {
			if ok, err := path.Match(segs[i], parts[i]); err == nil && !ok && !strings.ContainsAny(segs[i], `\[`) {
				return false
			}
		}
		return true
	}
	return w
}

// dated is a file and when it was changed.
type dated struct {
	path string
	time time.Time
}

// compare puts the newer first, and by path what is of the same time.
func (a dated) compare(b dated) int {
	if c := b.time.Compare(a.time); c != 0 {
		return c
	}
	return strings.Compare(a.path, b.path)
}

// newest is a heap of the newest files, the oldest of them on top.
type newest []dated

func (h newest) Len() int           { return len(h) }
func (h newest) Less(i, j int) bool { return h[i].compare(h[j]) > 0 }
func (h newest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *newest) Push(x any)        { *h = append(*h, x.(dated)) }
func (h *newest) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// add keeps f if it is among the newest n.
func (h *newest) add(f dated, n int) {
	if len(*h) < n {
		heap.Push(h, f)
	} else if n > 0 && f.compare((*h)[0]) < 0 {
		(*h)[0] = f
		heap.Fix(h, 0)
	}
}
