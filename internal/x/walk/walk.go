// Package walk lists the files below a directory, in order, reading
// directories ahead in parallel.
//
//	stats, err := walk.Walk(ctx, "/home/me/project", walk.Options{}, func(f walk.File) bool {
//		fmt.Println(f.Path)
//		return true // go on
//	})
//
// What is listed:
//
//   - Regular files, hidden ones too. The folders of version control systems
//     (.git, .hg, .svn, …) are never entered, though one may be the root.
//   - Symbolic links are never followed; [Options.Links] lists them as they
//     are. Pipes, sockets and devices are never listed, nor are /proc, /sys and
//     /dev entered from above.
//   - Ignore files hold as in git (see the package gitignore): every .gitignore
//     from the top of the repository down, .git/info/exclude, and the user's own
//     ([Options.Excludes]). A .gitignore holds outside of a repository too. A
//     repository within the tree starts anew.
//   - Where neither the root nor a directory of its repository above it has a
//     .gitignore, the folders of [Skipped] are left out, as any sensible
//     .gitignore would; a .gitignore further down can include them again with a
//     negated pattern. Where there is one, it alone says what is ignored.
//   - A root that is itself ignored was asked for by name: what is above it does
//     not hold then.
package walk

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"
)

// The bounds of one walk.
const (
	// MaxFiles is the default of [Options.MaxFiles].
	MaxFiles = 1_000_000
	// MaxDepth is how many directories deep a walk goes.
	MaxDepth = 250
	// MaxEntries is how many entries of one directory are read.
	MaxEntries = 1_000_000
	// maxErrors is how many errors and warnings are kept; all are counted.
	maxErrors = 8
	// readAhead is how many entries may be read and not yet passed on.
	readAhead = 50_000
)

// FS is a file system other than the local one. Names are absolute.
type FS interface {
	Open(name string) (fs.File, error)
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
}

// Options say how to walk. The zero value obeys ignore files and lists regular
// files.
type Options struct {
	// FS is where the tree is; nil is the local file system.
	FS FS
	// Ignored lists what ignore files and [Skipped] leave out as well.
	Ignored bool
	// Excludes is the path of the user's own ignore file, or "".
	Excludes string
	// Links lists symbolic links, whatever they point to.
	Links bool
	// Depth is how many directories deep to go: 1 lists the root's own files
	// alone. 0 is no limit but [MaxDepth].
	Depth int
	// MaxFiles ends the walk after so many files; 0 is [MaxFiles].
	MaxFiles int
	// Enter says whether to go into a directory, named as in [File.Path]. Nil
	// enters all. It is called from several goroutines.
	Enter func(path string) bool
	// Workers is how many goroutines read directories beside the caller's; 0
	// is the number of processors.
	Workers int
}

// File is one file of a walk.
type File struct {
	Path string // relative to the root, with slashes
	Link bool   // a symbolic link
}

// Stats says what a walk met.
type Stats struct {
	Files      int            // passed on
	Dirs       int            // read
	Ignored    int            // files and folders left out by ignore files
	Skipped    map[string]int // folders left out by [Skipped], by name
	Special    int            // pipes, sockets, devices
	Unreadable int            // directories and ignore files that could not be read
	Errors     []error        // the first of those
	Warnings   []string       // the first patterns without effect
	Truncated  bool           // a bound was met, and there is more
}

// Walk calls fn for each file below root, an absolute path, from the calling
// goroutine alone. The order is that of [path/filepath.WalkDir]: by name within
// a directory, whatever the number of workers. It ends early when fn returns
// false, and with an error if ctx is cancelled or root cannot be listed; a
// directory below that cannot be is counted. All that it started has ended when
// it returns.
func Walk(ctx context.Context, root string, o Options, fn func(File) bool) (Stats, error) {
	if o.MaxFiles <= 0 {
		o.MaxFiles = MaxFiles
	}
	if o.Depth <= 0 || o.Depth > MaxDepth {
		o.Depth = MaxDepth
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	w := &walker{o: o, fs: o.FS}
	if w.fs == nil {
		w.fs = local{}
	}
	w.wake.L = &w.mu
	top := w.start(root)
	w.read(top)
	if top.err != nil {
		return w.stats, top.err
	}
	var wg sync.WaitGroup
	defer func() {
		w.mu.Lock()
		w.stop = true
		w.mu.Unlock()
		w.wake.Broadcast()
		wg.Wait()
	}()
	for range o.Workers {
		wg.Go(func() { w.work(ctx) })
	}
	err := w.visit(ctx, top, fn)
	if errors.Is(err, errStop) {
		err = nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats, err
}

var errStop = errors.New("walk: stopped")

type walker struct {
	o      Options
	fs     FS
	dir    string // the root's path, without a trailing slash
	prefix string // from the top of the rules to the root: "" or ends in a slash

	defaults bool // the root's own rules hold the skip list

	mu    sync.Mutex
	wake  sync.Cond
	todo  []*node // a stack: the top is wanted first
	ahead int     // entries read by workers and not yet passed on
	stop  bool
	stats Stats
}

// node is one directory.
type node struct {
	path    string // from the top of the rules: "" or ends in a slash
	depth   int
	rules   rules
	entries []entry
	err     error
	claimed atomic.Bool
	done    chan struct{}
}

type entry struct {
	path string // from the top of the rules
	name string
	link bool
	dir  *node
}

// work reads directories before they are asked for.
func (w *walker) work(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for !w.stop && (len(w.todo) == 0 || w.ahead > readAhead) {
			w.wake.Wait()
		}
		if w.stop || ctx.Err() != nil {
			return
		}
		n := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		if !n.claimed.CompareAndSwap(false, true) {
			continue
		}
		w.mu.Unlock()
		w.read(n)
		w.mu.Lock()
	}
}

// visit passes on what is in n and below, and drops it.
func (w *walker) visit(ctx context.Context, n *node, fn func(File) bool) error {
	for i := range n.entries {
		e := &n.entries[i]
		if e.dir == nil {
			if i&63 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if w.stats.Files >= w.o.MaxFiles {
				w.count(func(s *Stats) { s.Truncated = true })
				return errStop
			}
			w.stats.Files++ // only this goroutine touches it
			if !fn(File{Path: e.path[len(w.prefix):], Link: e.link}) {
				return errStop
			}
			continue
		}
		d := e.dir
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if d.claimed.CompareAndSwap(false, true) {
			w.read(d) // nobody has come to it: never wait for a worker that is busy
		} else {
			<-d.done
		}
		if err := w.visit(ctx, d, fn); err != nil {
			return err
		}
		e.dir = nil
	}
	w.mu.Lock()
	w.ahead -= len(n.entries)
	w.mu.Unlock()
	w.wake.Broadcast()
	n.entries = nil
	return nil
}

// count changes the figures that several goroutines keep.
func (w *walker) count(f func(*Stats)) {
	w.mu.Lock()
	f(&w.stats)
	w.mu.Unlock()
}
