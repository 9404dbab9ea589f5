package shell

import (
	"net/url"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

// access notes that a command touches what a word names.
func (w *walker) access(at int, op tool.Op, word Word, tree bool) {
	if word.stream {
		return // of a command that is looked at for itself
	}
	c := &w.out.Commands[at]
	a := Access{Op: op, Target: word.Text, Known: word.Known && !word.Many, Glob: word.Glob && word.Known, Tree: tree, Start: word.Start, End: word.End}
	if a.Start == a.End {
		a.Start, a.End = c.Start, c.End
	}
	if op == tool.Connect {
		a.Target, a.Known = host(word)
		a.Glob = false
	}
	if op == tool.Exec {
		a.Glob = false
	}
	if (op == tool.Read || op == tool.Write) && a.Known && !a.Glob && (standardStream(a.Target) || a.Target == "-" && op == tool.Read) {
		return
	}
	c.Accesses = append(c.Accesses, a)
}

// host is what a URL, user@host:path or a bare name connects to.
func host(word Word) (string, bool) {
	if !word.Known || word.Glob || word.Many {
		return word.Text, false
	}
	s := word.Text
	if strings.Contains(s, "://") {
		u, err := url.Parse(s)
		if err != nil || u.Host == "" || strings.ContainsAny(s, "{}[]\\") {
			return s, false
		}
		return u.Host, true
	}
	s, _, _ = strings.Cut(s, "/")
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = s[i+1:]
	}
	return s, s != "" && !strings.ContainsAny(s, "{}[]\\?#= ")
}

// options notes what flags touch and run. It reports whether none does more
// than to read.
func (w *walker) options(at int, a args) (harmless bool) {
	harmless = true
	for _, o := range a.options {
		if o.does&(writes|executes|connects|changes) != 0 {
			harmless = false
		}
		if !o.has {
			continue
		}
		if o.does&reads != 0 {
			w.access(at, tool.Read, o.value, false)
		}
		if o.does&writes != 0 && !(o.value.Text == "-" && listed(" curl wget tar pandoc ", w.out.Commands[at].Name())) {
			w.access(at, tool.Write, o.value, false)
		}
		if o.does&connects != 0 && strings.Contains(o.value.Text, "://") {
			w.access(at, tool.Connect, o.value, false)
		}
		if o.does&connects != 0 && strings.Contains(o.value.Text, "@") && !strings.Contains(o.value.Text, "://") {
			// curl -d @file, -F name=@file
			file := cut(o.value, strings.IndexByte(o.value.Text, '@')+1)
			w.access(at, tool.Read, file, false)
		}
		if o.does&executes != 0 {
			w.access(at, tool.Exec, o.value, false)
			w.run(at, o.value)
		}
	}
	return harmless
}

// quiet says that a command, as far as it is not its words, changes nothing.
func (w *walker) quiet(at int) bool {
	writes := func(r Redirect) bool { return r.Write }
	return w.sober(at) && !slices.ContainsFunc(w.out.Commands[at].Redirects, writes)
}

// sober says that a command, as far as it is not its words, touches nothing but
// the files of its redirects.
func (w *walker) sober(at int) bool {
	c := &w.out.Commands[at]
	if w.doubt || !trusted(c) {
		return false
	}
	for _, a := range c.Assigns {
		if !a.Harmless {
			return false
		}
	}
	for _, r := range c.Redirects {
		if (r.Write || r.Read) && strings.HasPrefix(r.Target.Text, "/dev/") {
			return false
		}
	}
	return true
}

// reading notes that a command, as far as it is its words, only reads, if ok.
func (w *walker) reading(at int, ok bool) {
	c := &w.out.Commands[at]
	c.ReadOnly = ok && w.quiet(at)
	c.Complete = ok && w.sober(at)
}

// program says what a program of the tables touches.
func (w *walker) program(at int, r row) {
	rest := w.out.Commands[at].Words[1:]
	switch r.kind {
	case "any":
		w.reading(at, true)
		return
	case "test":
		w.reading(at, len(w.out.Unknown) == 0)
		return
	case "set":
		ok := len(rest) > 0
		for _, word := range rest {
			switch word.Text {
			case "pipefail", "errexit", "nounset", "xtrace", "noglob", "noclobber":
			default:
				ok = ok && word.Known && len(word.Text) > 1 && strings.IndexByte("-+", word.Text[0]) >= 0 && strings.Trim(word.Text[1:], "euxfCo") == ""
			}
		}
		if !ok && !w.doubt {
			c := w.out.Commands[at]
			w.reasonAt(c.Start, c.End, Redefine, "set changes what later commands mean")
		}
		w.reading(at, ok)
		return
	case "git":
		w.git(at)
		return
	case "find":
		w.find(at)
		return
	case "dd":
		w.dd(at)
		return
	case "tar":
		if len(rest) > 0 && rest[0].Known && rest[0].Text != "" && rest[0].Text[0] != '-' {
			rest = append([]Word{{Text: "-" + rest[0].Text, Known: true, Prefix: "-" + rest[0].Prefix, Start: rest[0].Start, End: rest[0].End}}, rest[1:]...)
		}
	}
	name := w.out.Commands[at].Name()
	switch name {
	case "zip", "gcc", "cc", "clang":
		rest = slices.Clone(rest)
		for i := range rest {
			if listed(" -TT -wrapper -specs -fplugin ", rest[i].Text) {
				rest[i].Text, rest[i].Prefix = "-"+rest[i].Text, "-"+rest[i].Prefix
			}
		}
	case "jq":
		rest = w.jqVariables(at, rest)
	}
	a := sortArgs(r.flags, rest, false, listed(" openssl go ffmpeg ffprobe convert magick gdb ", name))
	harmless := w.options(at, a)
	if r.kind != "sed" && r.kind != "awk" {
		for _, o := range a.options {
			if o.does&scripts != 0 {
				harmless = false
				w.code(at)
				w.hints(at, o.value)
			}
		}
	}
	if name == "make" {
		for _, o := range a.operands {
			if _, value, ok := strings.Cut(o.Text, "="); ok && strings.Contains(value, " ") {
				w.roughly(at, value)
			}
		}
		if f, ok := a.get("f", "file"); ok && w.standardInput(f) {
			w.program1(at)
		}
	}
	sure := w.operands(at, r, a)
	doubt := a.doubt && (r.risky || !map[string]bool{"read": true, "text": true, "tree": true, "grep": true, "show": true, "read1": true}[r.kind])
	c := &w.out.Commands[at]
	plain := harmless && sure && !a.unknown && !doubt
	_, inPlace := a.get("w")
	reading := r.reading || r.kind == "sed" || r.kind == "awk" || r.kind == "gofmt" && !inPlace || r.kind == "fd" || lists(r.kind, a)
	w.reading(at, reading && plain)
	if r.complete && !c.Complete {
		c.Complete = sure && !a.unknown && !a.doubt && trusted(c) && !w.doubt
		for _, o := range a.options {
			if o.does&(executes|connects|changes) != 0 {
				c.Complete = false
			}
		}
		for _, as := range c.Assigns {
			c.Complete = c.Complete && as.Harmless
		}
	}
}

// remote is of programs that copy between hosts: host:path is there, a path here.
func (w *walker) remote(at int, all []Word) {
	for i, o := range all {
		before, _, far := strings.Cut(o.Text, ":")
		switch {
		case !o.Known:
			w.access(at, tool.Connect, o, false)
		case far && !strings.Contains(before, "/"):
			if !strings.Contains(o.Text, "://") {
				o.Text = before
			}
			w.access(at, tool.Connect, o, false)
		case i == len(all)-1 && i > 0:
			w.access(at, tool.Write, o, true)
		default:
			w.access(at, tool.Read, o, true)
		}
	}
}

func (w *walker) dd(at int) {
	c := &w.out.Commands[at]
	complete := trusted(c) && !w.doubt
	for _, word := range c.Words[1:] {
		key, _, ok := strings.Cut(word.Text, "=")
		if !ok || !word.Known && !strings.HasPrefix(word.Prefix, key+"=") {
			complete = false
			continue
		}
		switch key {
		case "if":
			w.access(at, tool.Read, cut(word, 3), false)
		case "of":
			w.access(at, tool.Write, cut(word, 3), false)
		}
		complete = complete && !word.Many
	}
	w.out.Commands[at].Complete = complete && w.sober(at)
}

func (w *walker) tar(at int, a args) {
	dir := Word{Text: ".", Known: true}
	if d, ok := a.get("C", "directory"); ok {
		dir = d
	}
	archive, has := a.get("f", "file")
	has = has && archive.Text != "-"
	_, extract := a.get("x", "extract", "get")
	_, list := a.get("t", "list", "d", "diff", "compare")
	switch {
	case extract:
		w.access(at, tool.Write, dir, true)
		if has {
			w.access(at, tool.Read, archive, false)
		}
	case list:
		if has {
			w.access(at, tool.Read, archive, false)
		}
	default:
		if has {
			w.access(at, tool.Write, archive, false)
		}
		for _, o := range a.operands {
			w.access(at, tool.Read, o, true)
		}
	}
	for _, o := range a.options {
		if o.name == "checkpoint-action" {
			if cmd, ok := strings.CutPrefix(o.value.Text, "exec="); ok {
				w.run(at, Word{Text: cmd, Known: o.value.Known, Start: o.value.Start, End: o.value.End})
			}
		}
	}
}
