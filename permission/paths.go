package permission

import (
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/cantle-dev/cantle/internal/x/gitignore"
)

// places are what paths in rules are relative to.
type places struct {
	root string // of the project, and the working directory
	home string // "" is unknown
}

// paths is the matcher of a rule over paths: a pattern as in .gitignore, from
// a directory.
type paths struct {
	base    string // absolute, with slashes, without one at its end; "" is /
	list    *gitignore.Stack
	folded  *gitignore.Stack
	literal string // the path that the pattern begins with: what it matches lies there or below
	exact   bool   // it is for literal, and all that is in it
	name    string // it is for this name, at any depth
	all     bool   // it is for the base and all that is in it
	within  bool   // counts in the workspace alone, at any depth of each of its roots
	bars    bool   // a restriction: it holds in whatever form a name is composed
}

// parsePaths reads the matcher of a rule over paths.
func parsePaths(text string, effect Effect, at places) (*paths, error) {
	if strings.ContainsAny(text, "\n\t") {
		return nil, errors.New("a path has no line breaks and no tabs here: write ? in their place")
	}
	if strings.HasPrefix(text, "!") {
		return nil, errors.New(`exceptions are not possible: begin with \! for a name that begins with it`)
	}
	if strings.HasPrefix(text, "$") || strings.HasPrefix(text, "file:") {
		return nil, errors.New("it stands for a path as it is written: begin with ~/ for home, and with // for an absolute path")
	}
	p := &paths{bars: effect != Allow}
	root := slash(at.root)
	pattern, bare := text, strings.TrimRight(text, "/")
	switch {
	case strings.HasPrefix(text, "//"):
		pattern = text[1:]
	case text == "~" || strings.HasPrefix(text, "~/"):
		if at.home == "" {
			return nil, errors.New("the home directory is not known: write an absolute path, that is one with two slashes at its beginning")
		}
		p.base, pattern = slash(at.home), strings.TrimPrefix(text, "~")
		if pattern == "" || pattern == "/" {
			pattern = "/**"
		}
	case strings.HasPrefix(text, "/"):
		p.base = root
	case !strings.Contains(bare, "/") && bare != "." && bare != "..":
		// At any depth: a restriction everywhere, a permission in the workspace.
		p.within = effect == Allow
	case strings.HasPrefix(text, "**/") && effect != Allow:
	default:
		p.base, pattern = root, "/"+text
	}
	if strings.HasPrefix(pattern, "/") {
		// Steps up come before any pattern, or they would have no sense.
		names := strings.Split(pattern[1:], "/")
		var kept []string
		for _, n := range names {
			switch {
			case n == "." || n == "":
			case n == ".." && len(kept) > 0:
				if strings.ContainsAny(kept[len(kept)-1], `*?[\`) {
					return nil, errors.New(".. after a pattern has no meaning: write where it leads")
				}
				kept = kept[:len(kept)-1]
			case n == "..":
				p.base = strings.TrimSuffix(path.Dir("/"+strings.TrimPrefix(p.base, "/")), "/")
			default:
				kept = append(kept, n)
			}
		}
		if len(kept) == 0 {
			kept = []string{"**"}
		}
		pattern = "/" + strings.Join(kept, "/")
		p.all = pattern == "/**"
		p.literal = p.base
		for len(kept) > 0 {
			name, ok := unescaped(kept[0])
			if !ok {
				break
			}
			p.literal, kept = p.literal+"/"+name, kept[1:]
		}
		p.exact = !slices.ContainsFunc(kept, func(n string) bool { return n != "**" })
	} else {
		pattern = strings.TrimRight(pattern, "/")
	}
	if effect != Allow {
		// A folder all of whose files are denied is denied itself, for its names
		// count; and what is in a folder that matches, matches.
		for len(pattern) > 3 && strings.HasSuffix(pattern, "/**") {
			pattern = strings.TrimSuffix(pattern, "/**")
		}
		if name := strings.TrimPrefix(pattern, "**/"); name != "" && !strings.Contains(name, "/") {
			pattern = name
			if n, ok := unescaped(name); ok && p.literal == "" {
				p.name = n
			}
		}
	}
	if strings.HasPrefix(pattern, "#") {
		pattern = `\` + pattern
	}
	if n := len(pattern) - len(strings.TrimRight(pattern, " ")); n > 0 {
		pattern = strings.TrimRight(pattern, " ") + strings.Repeat(`\ `, n)
	}
	list, warnings := gitignore.Parse([]byte(pattern))
	if len(warnings) > 0 {
		return nil, errors.New("the pattern is malformed: " + warnings[0].Reason)
	}
	if list.Len() == 0 {
		return nil, errors.New("the pattern matches nothing")
	}
	folded, _ := gitignore.Parse([]byte(strings.ToLower(norm.NFC.String(pattern))))
	if p.bars && !ascii(pattern) {
		list, _ = gitignore.Parse([]byte(norm.NFC.String(pattern)))
		p.base = norm.NFC.String(p.base)
	}
	var s *gitignore.Stack
	p.list, p.folded = s.Push("", list), s.Push("", folded)
	return p, nil
}

// unescaped is what one name of a pattern is for, if that is one name alone.
func unescaped(name string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '\\' && i+1 < len(name):
			i++
			b.WriteByte(name[i])
		case strings.IndexByte(`*?[\`, c) >= 0:
			return "", false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), name != ""
}

// slash is a path in the form of patterns: with slashes, the volume as the first
// name, and no slash at its end.
func slash(p string) string {
	p = filepath.ToSlash(p)
	if filepath.VolumeName(p) != "" && !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	return strings.TrimSuffix(p, "/")
}

// native is a path in the form of patterns as the system has it.
func native(p string) string {
	if vol := strings.TrimPrefix(p, "/"); filepath.VolumeName(filepath.FromSlash(vol)) != "" {
		p = vol
	}
	return filepath.FromSlash(p)
}

// has reports whether the pattern is for a cleaned absolute path, or for a
// folder that it lies in.
func (p *paths) has(name string, roots []string, fold bool) bool {
	if !p.within {
		return p.from(p.base, name, fold)
	}
	for _, r := range roots {
		if p.from(slash(r), name, fold) {
			return true
		}
	}
	return false
}

func (p *paths) from(base, name string, fold bool) bool {
	name = slash(name)
	list := p.list
	if (p.bars || fold) && !ascii(name) {
		base, name = norm.NFC.String(base), norm.NFC.String(name)
	}
	if fold {
		base, name, list = strings.ToLower(base), strings.ToLower(name), p.folded
	}
	rel, ok := strings.CutPrefix(name, base)
	if !ok || rel != "" && rel[0] != '/' {
		return false
	}
	rel = strings.TrimPrefix(rel, "/")
	if rel == "" {
		return p.all
	}
	return list.Ignored(rel, false)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// below reports whether the pattern can only match what lies in the folder.
func (p *paths) below(folder string) bool {
	return p.literal != "" && p.literal != p.base && strings.HasPrefix(p.literal, slash(folder)+"/")
}

// within reports whether a cleaned path is root, or lies in it.
func within(root, path string) bool {
	if root == path {
		return true
	}
	rel, ok := strings.CutPrefix(path, root)
	return ok && (rel[0] == filepath.Separator || endsInSeparator(root))
}

// endsInSeparator reports whether a root ends in a separator, as / does.
func endsInSeparator(root string) bool {
	return root != "" && root[len(root)-1] == filepath.Separator
}
