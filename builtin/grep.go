package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/cantle-dev/cantle/internal/x/search"
	"github.com/cantle-dev/cantle/tool"
)

//go:embed grep.md
var grepText string

// What Grep gives at once.
const (
	grepLimit   = 200
	grepMax     = 2000
	grepBytes   = 50 << 10
	grepContext = 100 // lines on either side
)

var errRoom = fmt.Errorf("the first match and its context are longer than the %d KiB that are given at once: ask for fewer lines of context", grepBytes>>10)

type grepIn struct {
	Pattern   string `json:"pattern" alias:"query,regex,regexp,search"`
	Path      string `json:"path,omitempty" doc:"file or directory" alias:"dir,directory,file_path,dir_path"`
	Glob      string `json:"glob,omitempty" doc:"files, such as *.{ts,tsx} or !*_test.go" alias:"file_pattern,include,include_pattern"`
	Type      string `json:"type,omitempty" doc:"such as go or py" alias:"file_type"`
	Mode      string `json:"output_mode,omitempty" enum:"files_with_matches,content,count" default:"files_with_matches" alias:"mode,output"`
	Fold      bool   `json:"case_insensitive,omitempty" alias:"-i,i,ignore_case"`
	Context   int    `json:"context_lines,omitempty" min:"0" alias:"-C,C,context"`
	Before    int    `json:"before,omitempty" min:"0" alias:"-B,B,before_context"`
	After     int    `json:"after,omitempty" min:"0" alias:"-A,A,after_context"`
	Multiline bool   `json:"multiline,omitempty" doc:"match across lines"`
	Limit     int    `json:"limit,omitempty" min:"0" alias:"head_limit,max_results"`
	Offset    int    `json:"offset,omitempty" min:"0"`
	Ignored   bool   `json:"ignored,omitempty" doc:"ignored files too" alias:"include_ignored,no_ignore"`
}

// Grep makes the tool that searches the contents of files.
func Grep(o Options) tool.Tool {
	o = o.filled()
	return tool.New(tool.Spec{
		Name: "Grep", Description: strings.TrimSpace(grepText), ReadOnly: true, Parallel: true,
		Aliases: []string{"grep", "search_files", "search_file_content", "search", "ripgrep"},
		Access: tool.AccessFor(func(_ context.Context, c *tool.Call, in grepIn) ([]tool.Access, error) {
			t, err := o.resolve(c, in.dir())
			if err != nil {
				return nil, err
			}
			return t.access(tool.Read), nil
		}),
	}, func(ctx context.Context, in grepIn) (*tool.Result, error) { return o.grep(ctx, in) })
}

func (in grepIn) dir() string {
	if in.Path == "" {
		return "."
	}
	return in.Path
}

// grepping is one call of Grep.
type grepping struct {
	place
	in     grepIn
	limit  int
	hidden int

	out   strings.Builder
	full  bool // the result has no more room
	hits  int  // results shown
	files []grepFile
}

// grepFile is what of a file was shown.
type grepFile struct {
	Path  string   `json:"path"`
	Lines [][2]int `json:"lines,omitempty"`
	lines []search.Line
	real  string
}

func (o Options) grep(ctx context.Context, in grepIn) (*tool.Result, error) {
	c := tool.FromContext(ctx)
	if in.Pattern == "" {
		return nil, errors.New("the pattern is empty")
	}
	p, err := search.Compile(in.Pattern, search.Flags{Fold: in.Fold, Multiline: in.Multiline})
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "search: "))
	}
	root, err := o.decided(c, tool.Read, in.dir())
	if err != nil {
		return nil, err
	}
	g := &grepping{place: place{o: o, c: c, root: root}, in: in, limit: in.Limit}
	if g.limit == 0 {
		g.limit = grepLimit
	}
	g.limit = min(g.limit, grepMax)
	if err := g.exists(); err != nil {
		return nil, err
	}
	wanted, err := g.filter()
	if err != nil {
		return nil, err
	}
	s := search.Options{Keep: func(rel string) bool {
		if !wanted(rel) {
			return false
		}
		// Before it is read: a count of files that were left out for what they
		// hold would tell what they hold.
		if !g.allowed(rel) {
			g.hidden++
			return false
		}
		return true
	}}
	s.Walk.Ignored = in.Ignored
	s.Walk.FS = o.walkFS()
	s.Walk.Excludes = o.excludes()
	if in.Context > 0 || in.Before > 0 || in.After > 0 {
		in.Mode = "content" // nothing else has context
	}
	g.in = in
	ctx, cancel := context.WithTimeoutCause(ctx, findTime, errSearchTime)
	defer cancel()
	var stats search.Stats
	var note string
	switch in.Mode {
	case "content":
		s.Before, s.After = min(max(in.Before, in.Context), grepContext), min(max(in.After, in.Context), grepContext)
		stats, note, err = g.content(ctx, p, s)
	case "count":
		s.Mode = search.Count
		stats, note, err = g.counts(ctx, p, s)
	default:
		s.Mode = search.Names
		stats, note, err = g.names(ctx, p, s)
	}
	if errors.Is(err, errRoom) {
		return nil, err
	}
	if err != nil {
		return nil, g.failed(err, stats.Searched)
	}
	return g.result(ctx, stats, note)
}

func (g *grepping) exists() error {
	info, err := g.o.fs().Stat(g.root.real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return g.o.missing(g.root.real)
	case err != nil:
		return plainErr(g.root.real, err)
	case info.IsDir():
		return nil
	}
	return regular(g.dir(), info)
}

// filter makes a function of what the call says about names of files.
func (g *grepping) filter() (func(rel string) bool, error) {
	all := func(string) bool { return true }
	wanted := all
	if g.in.Type != "" {
		if wanted = search.Type(g.in.Type); wanted == nil {
			return nil, fmt.Errorf("there is no type %q; glob takes any file, and the types are %s", g.in.Type, strings.Join(search.Types(), ", "))
		}
	}
	glob, not := strings.CutPrefix(filepath.ToSlash(g.in.Glob), "!")
	if glob == "" {
		return wanted, nil
	}
	if !doublestar.ValidatePattern(glob) {
		return nil, fmt.Errorf("glob %q is malformed: a [, a { or a backslash in it has no end", g.in.Glob)
	}
	glob = strings.TrimPrefix(glob, "./")
	if strings.HasSuffix(glob, "/") {
		glob += "**"
	}
	typed := wanted
	named := !strings.Contains(glob, "/")
	return func(rel string) bool {
		if !typed(rel) {
			return false
		}
		if named {
			return doublestar.MatchUnvalidated(glob, path.Base(rel)) != not
		}
		// With a slash it is a path from where the search is, or from where the
		// call is, or absolute.
		ok := doublestar.MatchUnvalidated(glob, rel)
		if !ok {
			full := filepath.ToSlash(filepath.Join(g.root.asked, filepath.FromSlash(rel)))
			ok = doublestar.MatchUnvalidated(glob, full)
			if from, err := filepath.Rel(g.base(), full); !ok && err == nil {
				ok = doublestar.MatchUnvalidated(glob, filepath.ToSlash(from))
			}
		}
		return ok != not
	}, nil
}

// add puts text into the result, if there is room.
func (g *grepping) add(text string) bool {
	if g.out.Len()+len(text) > grepBytes {
		g.full = true
		return false
	}
	g.out.WriteString(text)
	return true
}

// names gives the files that match, the newest first.
func (g *grepping) names(ctx context.Context, p *search.Pattern, s search.Options) (search.Stats, string, error) {
	var found []dated
	stats, err := search.Search(ctx, g.root.real, p, s, func(f search.File) bool {
		var changed time.Time
		if info, err := g.o.fs().Lstat(g.real(f.Path)); err == nil {
			changed = info.ModTime()
		}
		found = append(found, dated{f.Path, changed})
		return true
	})
	if err != nil {
		return stats, "", err
	}
	slices.SortFunc(found, dated.compare)
	total := count(len(found), "file")
	for _, f := range found[min(g.in.Offset, len(found)):] {
		if g.hits >= g.limit || !g.add(g.show(f.path)+"\n") {
			break
		}
		g.hits++
		g.files = append(g.files, grepFile{Path: g.show(f.path)})
	}
	return stats, g.more(total, g.in.Offset+g.hits < len(found), len(found)), nil
}

// counts gives the number of matching lines of each file.
func (g *grepping) counts(ctx context.Context, p *search.Pattern, s search.Options) (search.Stats, string, error) {
	files, lines := 0, 0
	stats, err := search.Search(ctx, g.root.real, p, s, func(f search.File) bool {
		files++
		lines += f.Hits
		if files > g.in.Offset && g.hits < g.limit && !g.full && g.add(fmt.Sprintf("%s:%d\n", g.show(f.Path), f.Hits)) {
			g.hits++
			g.files = append(g.files, grepFile{Path: g.show(f.Path)})
		}
		return true
	})
	total := count(lines, "matching line") + " in " + count(files, "file")
	return stats, g.more(total, g.in.Offset+g.hits < files, files), err
}

// more is the note on what was found, of which the last is shown or not.
func (g *grepping) more(total string, more bool, found int) string {
	switch {
	case found == 0:
		return ""
	case g.hits == 0:
		return fmt.Sprintf("%s, none after offset %d", total, g.in.Offset)
	case more:
		return fmt.Sprintf("%s; go on with offset %d", total, g.in.Offset+g.hits)
	}
	return total
}

// content gives the lines that match. It stops when there is enough.
func (g *grepping) content(ctx context.Context, p *search.Pattern, s search.Options) (search.Stats, string, error) {
	s.Max = g.in.Offset + g.limit + 1
	seen := 0 // matching lines so far
	more := false
	var again error
	stats, err := search.Search(ctx, g.root.real, p, s, func(f search.File) bool {
		skip := max(g.in.Offset-seen, 0)
		seen += f.Hits
		if skip >= f.Hits {
			return true
		}
		room := g.limit - g.hits
		if room == 0 {
			more = true
			return false
		}
		// What was kept of the file may not reach, or may have too much.
		if skip > 0 || f.Cut || f.Hits > room {
			s := s
			s.Skip, s.Max = skip, room
			full, err := search.FileLines(ctx, g.real(f.Path), p, s, grepBytes+search.MaxLine)
			if err != nil {
				again = err
				return false
			}
			full.Path = f.Path
			more = more || skip+room < f.Hits || full.More
			f = full
		}
		g.lines(f)
		more = more || g.full || f.Cut
		return !more
	})
	if err == nil {
		err = again
	}
	if err != nil {
		return stats, "", err
	}
	switch {
	case seen == 0:
		return stats, "", nil
	case g.hits == 0 && g.full:
		return stats, "", errRoom
	case g.hits == 0:
		return stats, fmt.Sprintf("%s, none after offset %d", count(seen, "matching line"), g.in.Offset), nil
	case more:
		return stats, fmt.Sprintf("%s shown, and there are more: go on with offset %d, or narrow the search", count(g.hits, "matching line"), g.in.Offset+g.hits), nil
	}
	return stats, count(g.hits, "matching line") + " in " + count(len(g.files), "file"), nil
}

// lines puts the lines of one file into the result.
func (g *grepping) lines(f search.File) {
	head := g.show(f.Path) + "\n"
	if g.out.Len() > 0 {
		head = "\n" + head
	}
	file := grepFile{Path: g.show(f.Path), real: g.real(f.Path)}
	last := 0
	for i, l := range f.Lines {
		mark := "-"
		if l.Match {
			mark = ":"
		}
		text := printable(l.Text)
		if l.Before > 0 {
			text = fmt.Sprintf("[%d bytes] …%s", l.Before, text)
		}
		if l.After > 0 {
			text = fmt.Sprintf("%s… [%d bytes]", text, l.After)
		}
		text = fmt.Sprintf("%d%s %s\n", l.Number, mark, text)
		if i == 0 {
			text = head + text
		} else if (g.in.Context > 0 || g.in.Before > 0 || g.in.After > 0) && l.Number > last+1 {
			text = "--\n" + text
		}
		if !g.add(text) {
			break
		}
		last = l.Number
		if l.Match {
			g.hits++
		}
		file.Lines = merge(file.Lines, [2]int{l.Number, l.Number})
		file.lines = append(file.lines, l)
	}
	if len(file.lines) > 0 {
		g.files = append(g.files, file)
	}
}

// result closes a call.
func (g *grepping) result(ctx context.Context, stats search.Stats, note string) (*tool.Result, error) {
	var notes []string
	none := note == ""
	if none {
		note = fmt.Sprintf("No match for %s in %s", g.in.Pattern, g.dir())
	}
	notes = append(notes, note, count(stats.Searched, "file")+" searched")
	if stats.Binary > 0 {
		notes = append(notes, count(stats.Binary, "binary file")+" skipped")
	}
	if stats.Large > 0 {
		notes = append(notes, fmt.Sprintf("%s over %d MiB skipped, which multiline mode does not search", count(stats.Large, "file"), search.MaxMultiline>>20))
	}
	if stats.Failed > 0 {
		notes = append(notes, count(stats.Failed, "file")+" could not be read, such as "+firstLine(stats.Errors[0].Error()))
	}
	notes = append(notes, g.notes(stats.Walk, g.hidden, none)...)
	if g.out.Len() > 0 {
		g.out.WriteByte('\n')
	}
	g.out.WriteString("[" + strings.Join(notes, ". ") + "]")
	if err := g.remember(ctx); err != nil {
		return nil, err
	}
	detail, err := json.Marshal(struct {
		Files []grepFile `json:"files"`
	}{append([]grepFile{}, g.files...)})
	if err != nil {
		return nil, err
	}
	r := tool.Text(g.out.String())
	r.Detail = detail
	return r, nil
}

// How much of a result is remembered as seen, so that Edit may change it: a
// model that looks through half a tree is not about to edit all of it.
const (
	rememberFiles = 20
	rememberBytes = 1 << 20 // of one file
)

// remember says which lines the model has been shown whole.
func (g *grepping) remember(ctx context.Context) error {
	if g.in.Mode != "content" || len(g.files) > rememberFiles {
		return nil
	}
	for _, f := range g.files {
		content, info, err := readAll(g.o.fs(), f.real, rememberBytes)
		if err != nil || binaryLike(content) {
			continue // too large, or gone: it has to be read first
		}
		lines := strings.Split(strings.TrimPrefix(string(content), "\ufeff"), "\n")
		var ranges [][2]int
		for _, l := range f.lines {
			// The file may have changed since it was searched.
			if l.Before == 0 && l.After == 0 && l.Number <= len(lines) && strings.TrimSuffix(lines[l.Number-1], "\r") == l.Text {
				ranges = merge(ranges, [2]int{l.Number, l.Number})
			}
		}
		if err := g.o.Files.sawLines(ctx, stateOf(f.real, info, content), ranges); err != nil {
			return err
		}
	}
	return nil
}
