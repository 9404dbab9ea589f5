package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

// target is a file that a call names.
type target struct {
	asked string // as the model wrote it: absolute and cleaned, links and all
	real  string // where that leads: absolute, without symbolic links
}

// access says that a call would touch t: where it leads, and, where that is
// something else, what was asked for. Both must be allowed, and a rule against
// either holds.
func (t target) access(op tool.Op) []tool.Access {
	list := []tool.Access{{Op: op, Target: t.real}}
	if t.asked != t.real {
		list = append(list, tool.Access{Op: op, Target: t.asked})
	}
	return list
}

// resolve finds what name means to call c. A relative name is one in c.Dir.
func (o Options) resolve(c *tool.Call, name string) (target, error) {
	asked, err := o.abs(c, name)
	if err != nil {
		return target{}, err
	}
	real, err := realPath(o.fs(), asked)
	if err != nil {
		return target{}, err
	}
	if err := checkAbs(real); err != nil {
		return target{}, err
	}
	return target{asked: asked, real: real}, nil
}

// decided is resolve for a running call: it also holds that name still leads
// to what was decided on.
func (o Options) decided(c *tool.Call, op tool.Op, name string) (target, error) {
	t, err := o.resolve(c, name)
	if err != nil {
		return t, err
	}
	if c.Access != nil && !slices.Contains(c.Access, tool.Access{Op: op, Target: t.real}) {
		return t, fmt.Errorf("%s leads to %s now, which is not what was decided on: make the call again", name, t.real)
	}
	return t, nil
}

// abs makes name absolute and clean, and refuses what cannot be right.
func (o Options) abs(c *tool.Call, name string) (string, error) {
	if err := checkName(name, runtime.GOOS == "windows"); err != nil {
		return "", err
	}
	if name == "~" || strings.HasPrefix(name, "~/") {
		if o.Home == "" {
			return "", fmt.Errorf("%q: the home directory is not known here: give an absolute path", name)
		}
		name = filepath.Join(o.Home, name[1:])
	}
	if !filepath.IsAbs(name) {
		dir := c.Dir
		if dir == "" {
			dir = o.Root
		}
		if dir == "" {
			return "", fmt.Errorf("%q is relative, and there is no working directory: give an absolute path", name)
		}
		name = filepath.Join(dir, name)
	}
	name = filepath.Clean(name)
	return name, checkAbs(name)
}

// checkName refuses paths that must not even be looked at: asking for the
// state of some of them would already do harm.
func checkName(name string, windows bool) error {
	switch {
	case strings.TrimSpace(name) == "":
		return errors.New("the path is empty")
	case strings.IndexByte(name, 0) >= 0:
		return fmt.Errorf("path %q holds a NUL byte", name)
	case len(name) > 1<<15:
		return fmt.Errorf("the path is %d bytes long", len(name))
	case len(name) >= 7 && strings.EqualFold(name[:7], "file://"):
		return fmt.Errorf("%q is a URL: give the path alone", name)
	case strings.HasPrefix(name, `\\`), strings.HasPrefix(name, `\??\`), windows && strings.HasPrefix(name, `//`):
		return fmt.Errorf("%q is a network or device path, which is not opened here", name)
	}
	if windows {
		return checkWindows(name)
	}
	return nil
}

// checkWindows refuses the names by which Windows reaches a file past a rule
// that is written over its plain name.
func checkWindows(name string) error {
	rest := name
	if len(rest) >= 2 && rest[1] == ':' {
		rest = rest[2:]
	}
	if strings.ContainsRune(rest, ':') {
		return fmt.Errorf("%q names a stream within a file, which is not opened here", name)
	}
	for _, part := range strings.FieldsFunc(rest, func(r rune) bool { return r == '/' || r == '\\' }) {
		if part != "." && part != ".." && strings.TrimRight(part, ". ") != part {
			return fmt.Errorf("%q: %q ends in a dot or a blank, which Windows leaves out", name, part)
		}
	}
	return nil
}

// checkAbs refuses the paths that mean something else in each process: open
// descriptors, and what /proc says of a process, its environment among it.
func checkAbs(name string) error {
	p := filepath.ToSlash(name)
	switch p {
	case "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty":
		return fmt.Errorf("%s is not a file", name)
	}
	if p == "/dev/fd" || strings.HasPrefix(p, "/dev/fd/") {
		return fmt.Errorf("%s is an open descriptor, not a file", name)
	}
	rest, ok := strings.CutPrefix(p, "/proc/")
	if !ok {
		return nil
	}
	first, _, _ := strings.Cut(rest, "/")
	if first == "self" || first == "thread-self" || strings.Trim(first, "0123456789") == "" {
		return fmt.Errorf("%s belongs to a process and is not opened by file tools", name)
	}
	return nil
}

// realPath resolves the symbolic links of name, of which the last parts need
// not exist. A link that leads nowhere is refused.
func realPath(fsys FS, name string) (string, error) {
	const maxLinks = 40
	rest := ""
	for range maxLinks {
		real, err := fsys.EvalSymlinks(name)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", plainErr(name, err)
		}
		// A link to nothing: a write through it would make what it names.
		if fi, lerr := fsys.Lstat(name); lerr == nil && fi.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("%s is a symbolic link to a file that does not exist", name)
		}
		parent := filepath.Dir(name)
		if parent == name {
			return "", plainErr(name, err)
		}
		rest = filepath.Join(filepath.Base(name), rest)
		name = parent
	}
	return "", fmt.Errorf("%s: none of its last %d directories exist", filepath.Join(name, rest), maxLinks)
}

// plainErr drops what a PathError says of system calls. An error that says
// more, such as where the old content of a file is, stays as it is.
func plainErr(name string, err error) error {
	if pe, ok := err.(*fs.PathError); ok {
		err = pe.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// samePath reports whether two cleaned paths are the same, as the system sees it.
func samePath(a, b string) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// show is how a path is shown to the model: relative to the root where it is
// in it.
func (o Options) show(name string) string {
	if o.Root != "" {
		if rel, err := filepath.Rel(o.Root, name); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return name
}
