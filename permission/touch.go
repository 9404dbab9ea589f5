package permission

import (
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/permission/internal/shell"
	"github.com/cantle-dev/cantle/tool"
)

// touched is one thing that a call would touch, with all that it stands for.
type touched struct {
	op      tool.Op
	shown   string
	ways    []string // of a path, see ways; none if unknown
	why     string   // it is unknown
	host    string
	tree    bool // and what is below
	span    Span
	command *shell.Command // nil: the tool itself says so
}

// path adds what a path leads to.
func (st *state) path(t touched, target, dir string) touched {
	switch {
	case strings.IndexByte(target, 0) >= 0:
		t.why = "its path holds a NUL byte"
	case !filepath.IsAbs(target):
		// Restrictions count as if it lay in the working directory.
		t.why = "where it lies is not known"
		if dir != "" && target != "" {
			t.ways, _ = ways(st.g.fs, join(dir, target), dir)
			t.ways = st.aliased(t.ways)
		}
	case network(target):
		t.why = "it is a network or device path"
	default:
		t.ways, t.why = ways(st.g.fs, target, dir)
		if t.why == "" {
			t.ways = st.aliased(t.ways)
		}
	}
	return t
}

// network reports whether even to look at a path could connect elsewhere.
func network(p string) bool {
	return strings.HasPrefix(p, `\\`) || strings.HasPrefix(p, `\??\`) || runtime.GOOS == "windows" && strings.HasPrefix(p, "//")
}

// ofTool is what a tool says that a call touches.
func (st *state) ofTool(acc []tool.Access, dir string) []touched {
	var out []touched
	for _, a := range acc {
		t := touched{op: a.Op, shown: a.Target}
		switch a.Op {
		case tool.Read, tool.Write:
			t = st.path(t, a.Target, dir)
		case tool.Connect:
			t = connect(t, a.Target)
		case tool.Exec:
		default:
			t.why = "it is not known what that is"
		}
		out = append(out, t)
	}
	return out
}

func connect(t touched, target string) touched {
	host, err := hostOf(target)
	if err != nil {
		t.why = strings.TrimPrefix(err.Error(), "fetch: ")
	}
	t.host = host
	return t
}

// ofCommand is what one command of a command line touches.
func (st *state) ofCommand(c *shell.Command, dir string) []touched {
	var out []touched
	if len(c.Dirs) == 1 {
		dir = c.Dirs[0]
	}
	for _, a := range c.Accesses {
		t := touched{op: a.Op, shown: a.Target, tree: a.Tree, span: Span{a.Start, a.End}, command: c}
		switch a.Op {
		case tool.Read, tool.Write:
			switch {
			case !a.Known && (strings.HasPrefix(a.Target, "/dev/fd/<(") || strings.HasPrefix(a.Target, "/dev/fd/>(")):
				continue // a pipe to a command that is looked at by itself
			case !a.Known:
				// Restrictions count for what is written, which it may be.
				t = st.path(t, a.Target, dir)
				t.why = "what it names is computed when it runs"
			case a.Glob:
				out = append(out, st.globbed(t, a.Target, dir)...)
				continue
			default:
				t = st.path(t, a.Target, dir)
				for _, d := range c.Dirs { // what leads through a process's own
					if other := st.path(t, a.Target, d); d != dir && filepath.IsAbs(a.Target) {
						t.ways = append(slices.Clip(t.ways), other.ways...)
					}
				}
			}
		case tool.Connect:
			t = connect(t, a.Target)
		}
		out = append(out, t)
	}
	for _, a := range c.Assigns {
		if v := a.Value; (a.Name == "HISTFILE" || strings.HasPrefix(a.Name, "GIT_TRACE")) && (!v.Known || strings.Contains(v.Text, "/")) {
			t := st.path(touched{op: tool.Write, shown: v.Text, span: Span{v.Start, v.End}, command: c}, join(dir, v.Text), dir)
			if !v.Known {
				t.why = "what it names is computed when it runs"
			}
			out = append(out, t)
		}
	}
	if c.ReadOnly || c.Complete {
		return out
	}
	// What a program does with its words is not known here: each that names a
	// file counts as read where a rule or a sensitive path is concerned.
	for _, w := range c.Words[min(1, len(c.Words)):] {
		text := w.Text
		if i := strings.IndexByte(text, '='); i >= 0 && strings.HasPrefix(text, "-") {
			text = text[i+1:]
		}
		text = strings.TrimPrefix(text, "@") // as curl has it
		if !w.Known || w.Glob || text == "" || strings.HasPrefix(text, "-") || strings.ContainsAny(text, " \t\n\x00") || strings.Contains(text, "://") {
			continue
		}
		for _, d := range dirsOf(c, dir) {
			t := touched{op: guess, shown: text, span: Span{w.Start, w.End}, command: c}
			if t = st.path(t, join(d, text), d); t.why == "" {
				out = append(out, t)
			}
			if filepath.IsAbs(text) && !strings.HasPrefix(text, "/proc/") {
				break
			}
		}
	}
	return out
}

// guess is the operation on what may be a file that is read.
const guess tool.Op = "guess"

// dirsOf are the directories that a command may run in; that of the call where
// they are not known.
func dirsOf(c *shell.Command, dir string) []string {
	if len(c.Dirs) == 0 {
		return []string{dir}
	}
	return c.Dirs
}

// join is filepath.Join without cleaning, which would take away links.
func join(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return dir + string(filepath.Separator) + name
}

// maxGlob bounds the files that a pattern stands for.
const maxGlob = 512

// globbed is what a pattern of a command line stands for now. One for hidden files
// stands for all names of secrets too, whether they are there or not.
func (st *state) globbed(t touched, pattern, dir string) []touched {
	if !filepath.IsAbs(pattern) {
		t.why = "where it lies is not known"
		return []touched{t}
	}
	names, ok := expand(st.g.fs, pattern)
	if !ok {
		t.why = "it stands for too many files"
		return []touched{t}
	}
	last, parent := path.Base(pattern), path.Dir(pattern)
	if !strings.ContainsAny(parent, `*?[\`) {
		if strings.HasPrefix(strings.TrimPrefix(last, `\`), ".") {
			for _, list := range guards() {
				for _, g := range list {
					if name := path.Base(g.path); !strings.Contains(name, "*") && globName(last, name) {
						names = append(names, parent+"/"+name)
					}
				}
			}
		}
		// Where nothing matches, the pattern stands for itself.
		names = append(names, parent+"/"+strings.ReplaceAll(last, `\`, ""))
	}
	slices.Sort(names)
	var out []touched
	for _, n := range slices.Compact(names) {
		out = append(out, st.path(t, n, dir))
	}
	if len(out) == 0 {
		t.why = "what it names is computed when it runs"
		out = append(out, t)
	}
	return out
}

func expand(fsys FS, pattern string) ([]string, bool) {
	at := []string{""}
	for name := range strings.SplitSeq(strings.TrimPrefix(pattern, "/"), "/") {
		if !strings.ContainsAny(name, `*?[\`) {
			for i := range at {
				at[i] += "/" + name
			}
			continue
		}
		var next []string
		for _, d := range at {
			entries, err := fsys.ReadDir(d + "/")
			if err != nil {
				continue
			}
			for _, e := range entries {
				if globName(name, e.Name()) {
					next = append(next, d+"/"+e.Name())
				}
			}
			if len(next) > maxGlob {
				return nil, false
			}
		}
		at = next
	}
	return at, true
}

// globName matches as bash does: a leading dot only by a dot.
func globName(pattern, name string) bool {
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(strings.TrimPrefix(pattern, `\`), ".") {
		return false
	}
	for _, class := range []string{"[:", "[=", "[."} { // within brackets, where path.Match has them as characters
		if strings.Contains(pattern, class) {
			pattern = pattern[:strings.IndexByte(pattern, '[')] + "*"
		}
	}
	ok, err := path.Match(strings.ReplaceAll(pattern, "[!", "[^"), name)
	return ok || err != nil // what is not understood may match
}
