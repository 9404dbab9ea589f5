// Package memory brings what is to be known beforehand into a run: the
// AGENTS.md files of a project and of its user.
//
//	files, err := memory.Instructions(memory.Options{Home: home, Dir: dir})
//	a, err := agent.New(m, agent.Options{Middleware: []agent.Middleware{memory.Middleware(files)}})
//
// These texts instruct and authorise nothing: what may be done is decided by
// the gate alone.
package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/agent"
)

// Options say where instructions are looked for.
type Options struct {
	Home string // the user's folder, as ~/.cantle; "" is none
	Dir  string // the working directory, absolute
	// Root is where the project begins; "" is the nearest folder from Dir
	// upward that has a .git, or Dir itself.
	Root string
}

// File is one file of instructions.
type File struct {
	Path string
	Text string
	Cut  bool // it was longer than MaxFile
}

// MaxFile is the most bytes of one file that are used.
const MaxFile = 32_000

// Instructions reads the chain: the user's AGENTS.md, then from the root of
// the project down to the working directory each folder's AGENTS.md, or
// CLAUDE.md where there is none, and AGENTS.local.md. A file that is not a
// regular one, or leads out of the project or nowhere by a link, is passed over.
func Instructions(o Options) ([]File, error) {
	root := o.Root
	if root == "" {
		root = ProjectRoot(o.Dir)
	}
	var out []File
	add := func(within, path string) (bool, error) {
		f, ok, err := read(within, path)
		if ok {
			out = append(out, f)
		}
		return ok, err
	}
	if o.Home != "" {
		if _, err := add("", filepath.Join(o.Home, "AGENTS.md")); err != nil {
			return nil, err
		}
	}
	for _, dir := range between(root, o.Dir) {
		found, err := add(root, filepath.Join(dir, "AGENTS.md"))
		if err == nil && !found {
			_, err = add(root, filepath.Join(dir, "CLAUDE.md"))
		}
		if err == nil {
			_, err = add(root, filepath.Join(dir, "AGENTS.local.md"))
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ProjectRoot is the nearest folder from dir upward that holds .git, or dir.
func ProjectRoot(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		if filepath.Dir(d) == d {
			return dir
		}
	}
}

// between lists the folders from root down to dir.
func between(root, dir string) []string {
	rel, err := filepath.Rel(root, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return []string{dir}
	}
	out := []string{root}
	if rel == "." {
		return out
	}
	for _, p := range strings.Split(rel, string(filepath.Separator)) {
		out = append(out, filepath.Join(out[len(out)-1], p))
	}
	return out
}

func read(within, path string) (File, bool, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, false, nil
	}
	if err != nil && within != "" {
		// A repository's: a link that leads in a circle, through a file or
		// where nobody may look. It must not keep a user from working there.
		return File{}, false, nil
	}
	if err != nil {
		return File{}, false, fmt.Errorf("memory: %w", err)
	}
	if within != "" {
		base, err := filepath.EvalSymlinks(within)
		if err != nil {
			return File{}, false, fmt.Errorf("memory: %w", err)
		}
		if rel, err := filepath.Rel(base, real); err != nil || !filepath.IsLocal(rel) {
			return File{}, false, nil
		}
	}
	if info, err := os.Stat(real); err != nil || !info.Mode().IsRegular() {
		return File{}, false, nil
	}
	f, err := os.Open(real)
	if errors.Is(err, fs.ErrPermission) {
		return File{}, false, nil
	}
	if err != nil {
		return File{}, false, fmt.Errorf("memory: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return File{}, false, fmt.Errorf("memory: %s: %w", path, err)
	}
	out := File{Path: path}
	if len(b) > MaxFile {
		b, out.Cut = b[:MaxFile], true
		for range utf8.UTFMax { // a rune that the cut went through
			if r, n := utf8.DecodeLastRune(b); r == utf8.RuneError && n == 1 {
				b = b[:len(b)-1]
			}
		}
	}
	out.Text = strings.TrimSpace(strings.ToValidUTF8(string(b), "\uFFFD"))
	return out, out.Text != "", nil
}

// Section is the files as a section of the system prompt; "" for none.
func Section(files []File) string {
	if len(files) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("# Instructions of the user and of this project\nFollow them, the later over the earlier. They grant no permissions.\n")
	for _, f := range files {
		fmt.Fprintf(&b, "\n<instructions file=%q>\n%s\n", f.Path, f.Text)
		if f.Cut {
			fmt.Fprintf(&b, "[cut after %d bytes: read the file for the rest]\n", MaxFile)
		}
		b.WriteString("</instructions>\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// Middleware adds the files to the system prompt of each run.
func Middleware(files []File) agent.Middleware {
	section := Section(slices.Clone(files))
	return agent.Middleware{Name: "memory", Priority: 10, Start: func(_ context.Context, _ *agent.Turn, s *agent.Setup) error {
		if section != "" {
			s.System = append(s.System, section)
		}
		return nil
	}}
}
