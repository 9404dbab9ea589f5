// Package search finds the lines of a tree of files that match a regular
// expression. It is one engine, of plain Go, with time linear in what it reads.
//
//	p, err := search.Compile(`func \w+Handler\(`, search.Flags{})
//	if err != nil {
//		return err
//	}
//	stats, err := search.Search(ctx, "/home/me/project", p, search.Options{}, func(f search.File) bool {
//		for _, l := range f.Lines {
//			fmt.Printf("%s:%d:%s\n", f.Path, l.Number, l.Text)
//		}
//		return true // go on
//	})
//
// Strings that each match must hold are taken out of the expression and looked
// for first, so that few lines are ever matched; for the rest lines are run
// through a table of states that is built as it is needed.
//
// Which files are searched is as in the package walk; symbolic links are not
// followed. A file with a NUL byte is binary and skipped: one in its first 8
// KiB, or in the 256 KiB around a match. UTF-16 with a byte order mark is
// decoded, bytes that are not UTF-8 match only what any character matches, and
// a carriage return before a line's end is no part of the line. Memory does not
// grow with the size of a file nor with the number of matches.
package search

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/cantle-dev/cantle/internal/x/walk"
)

// keepBytes is how much of one file's lines is kept.
const keepBytes = 64 << 10

// batch is how many files a goroutine takes at a time.
const batch = 16

// Mode says what is wanted of each file.
type Mode int

// The modes.
const (
	Lines Mode = iota // the lines that match
	Count             // how many there are
	Names             // whether there is one
)

// Options say where and how to search. The zero value gives every matching
// line.
type Options struct {
	Walk walk.Options
	Mode Mode
	// Before and After are lines of context.
	Before, After int
	// Skip passes over the first matching lines of each file, and Max looks for
	// no more than so many after them; 0 is no limit. In the mode Names it is 1.
	Skip, Max int
	// Keep says which files to search, by their path as in [File.Path]; nil
	// searches all. It is called from one goroutine at a time.
	Keep func(path string) bool
	// Workers is how many files are searched at once; 0 is the number of
	// processors.
	Workers int
}

// File is a file that matches.
type File struct {
	Path string // relative to the root, with slashes; "" if the root is the file
	Hits int    // matching lines, up to Skip+Max
	More bool   // there are more than that
	// Lines is the matching lines after Skip with their context, in order.
	Lines []Line
	// Cut says that Lines leaves some off, to bound memory: [FileLines] gives
	// them.
	Cut bool
}

// Stats says what a search met, up to where it was stopped.
type Stats struct {
	Walk     walk.Stats
	Searched int // files
	Binary   int // files skipped
	Large    int // files too large for multiline mode
	Failed   int // files that could not be read
	Errors   []error
}

const maxErrors = 8

// Search calls fn for each file below root that matches, from the calling
// goroutine, in the order of the walk. Root is an absolute path; it may be a
// file. It ends early when fn returns false, and with an error when ctx is
// cancelled or root cannot be read; a file that cannot be is counted. All that
// it started has ended when it returns.
func Search(ctx context.Context, root string, p *Pattern, o Options, fn func(File) bool) (Stats, error) {
	var stats Stats
	info, err := stat(o.Walk.FS, root)
	if err != nil {
		return stats, err
	}
	if !info.IsDir() {
		if !info.Mode().IsRegular() {
			return stats, &fs.PathError{Op: "search", Path: root, Err: errors.New("not a regular file")}
		}
		f, err := newScanner(p).file(ctx, o.Walk.FS, root, o.want(), true)
		if err != nil {
			return stats, err
		}
		stats.add(f, nil)
		stats.Walk.Files = 1
		if f.hits > 0 {
			fn(f.file(""))
		}
		return stats, nil
	}

	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	jobs := make(chan *job, 4*o.Workers)
	order := make(chan *job, 8*o.Workers)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range o.Workers {
		wg.Go(func() {
			s := newScanner(p)
			for j := range jobs {
				j.run(ctx, s, root, &o)
				close(j.done)
			}
		})
	}
	var walkErr error
	wg.Go(func() {
		defer close(order)
		defer close(jobs)
		stats.Walk, walkErr = list(ctx, root, &o, jobs, order)
	})

	stopped := false
	for j := range order {
		if stopped {
			continue
		}
		select {
		case <-j.done:
		case <-ctx.Done():
			stopped = true
			continue
		}
		for i := range j.paths {
			if j.err[i] != nil && ctx.Err() != nil {
				stopped = true
				break
			}
			stats.add(j.found[i], j.err[i])
			if f := &j.found[i]; f.hits > 0 && !fn(f.file(j.paths[i])) {
				stopped = true
				cancel()
				break
			}
		}
	}
	// order is closed: the walk has ended.
	if err := outer.Err(); err != nil {
		return stats, context.Cause(outer)
	}
	if stopped {
		return stats, nil
	}
	return stats, walkErr
}

// FileLines gives the lines of one file, an absolute path, that a search has
// found: o.Max matching lines after o.Skip, whatever they hold, up to a bound
// of bytes that the caller sets.
func FileLines(ctx context.Context, name string, p *Pattern, o Options, bytes int) (File, error) {
	w := o.want()
	w.keep = bytes
	f, err := newScanner(p).file(ctx, o.Walk.FS, name, w, false)
	if err != nil {
		return File{}, err
	}
	return f.file(""), nil
}

func (o *Options) want() want {
	w := want{skip: o.Skip, most: o.Max, before: o.Before, after: o.After, keep: keepBytes}
	if w.most <= 0 {
		w.most = 1 << 40
	}
	switch o.Mode {
	case Count:
		w.keep = 0
	case Names:
		w.keep, w.skip, w.first = 0, 0, true
	}
	return w
}

func (f *found) file(path string) File {
	return File{Path: path, Hits: f.hits, More: f.more, Lines: f.lines, Cut: f.cut}
}

func (s *Stats) add(f found, err error) {
	switch {
	case err != nil:
		if errors.Is(err, fs.ErrNotExist) {
			return // removed since it was listed
		}
		s.Failed++
		if len(s.Errors) < maxErrors {
			s.Errors = append(s.Errors, err)
		}
	case f.large:
		s.Large++
	case f.binary && f.hits == 0:
		s.Binary++
	default:
		s.Searched++
	}
}

// job is some files that one goroutine searches.
type job struct {
	paths []string
	found []found
	err   []error
	done  chan struct{}
}

func (j *job) run(ctx context.Context, s *scanner, root string, o *Options) {
	j.found = make([]found, len(j.paths))
	j.err = make([]error, len(j.paths))
	w := o.want()
	for i, path := range j.paths {
		if err := ctx.Err(); err != nil {
			j.err[i] = err
			continue
		}
		j.found[i], j.err[i] = s.file(ctx, o.Walk.FS, join(root, path), w, false)
	}
}

// list walks the tree and hands out its files.
func list(ctx context.Context, root string, o *Options, jobs, order chan<- *job) (walk.Stats, error) {
	var paths []string
	flush := func() bool {
		if len(paths) == 0 {
			return true
		}
		j := &job{paths: paths, done: make(chan struct{})}
		paths = nil
		select {
		case order <- j: // first: what is being searched is always awaited
		case <-ctx.Done():
			return false
		}
		select {
		case jobs <- j:
			return true
		case <-ctx.Done():
			return false
		}
	}
	stats, err := walk.Walk(ctx, root, o.Walk, func(f walk.File) bool {
		if f.Link || o.Keep != nil && !o.Keep(f.Path) {
			return true
		}
		if paths == nil {
			paths = make([]string, 0, batch)
		}
		paths = append(paths, f.Path)
		return len(paths) < batch || flush()
	})
	flush()
	return stats, err
}

func join(root, path string) string {
	if root[len(root)-1] == '/' || root[len(root)-1] == filepath.Separator {
		return root + path
	}
	return root + "/" + path
}

func stat(fsys walk.FS, name string) (fs.FileInfo, error) {
	if fsys != nil {
		return fsys.Stat(name)
	}
	return os.Stat(name)
}

// file searches one file, which must be a regular one.
func (s *scanner) file(ctx context.Context, fsys walk.FS, name string, w want, follow bool) (found, error) {
	if fsys == nil {
		return s.local(ctx, name, w, follow)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return found{}, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return found{}, &fs.PathError{Op: "search", Path: name, Err: errors.New("not a regular file")}
	}
	return s.scan(ctx, io.Reader(f), w)
}
