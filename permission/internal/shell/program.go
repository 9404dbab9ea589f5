package shell

import (
	"net/url"
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
		if o.does&writes != 0 {
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
		if r.Write || r.Read && strings.HasPrefix(r.Target.Text, "/dev/") {
			return false
		}
	}
	return true
}

// program says what a program of the tables touches.
func (w *walker) program(at int, r row) {
	rest := w.out.Commands[at].Words[1:]
	switch r.kind {
	case "any":
		w.out.Commands[at].ReadOnly = w.quiet(at)
		return
	case "test":
		w.out.Commands[at].ReadOnly = w.quiet(at) && len(w.out.Unknown) == 0
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
		w.out.Commands[at].ReadOnly = ok && w.quiet(at)
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
	a := sortArgs(r.flags, rest, false, r.kind == "opaque" && w.out.Commands[at].Name() == "openssl")
	harmless := w.options(at, a)
	sure := w.operands(at, r, a)
	doubt := a.doubt && (r.risky || !map[string]bool{"read": true, "text": true, "tree": true, "grep": true, "show": true}[r.kind])
	c := &w.out.Commands[at]
	plain := harmless && sure && !a.unknown && !doubt
	_, inPlace := a.get("w")
	reading := r.reading || r.kind == "sed" || r.kind == "awk" || r.kind == "gofmt" && !inPlace
	c.ReadOnly = reading && plain && w.quiet(at)
	if r.complete {
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
	c.Complete = c.Complete || c.ReadOnly
}

// operands notes what operands touch. It reports false where they make the
// program do more than its kind says.
func (w *walker) operands(at int, r row, a args) bool {
	all := a.operands
	last := len(all) - 1
	each := func(op tool.Op, words []Word, tree bool) {
		for _, word := range words {
			w.access(at, op, word, tree)
		}
	}
	name := w.out.Commands[at].Name()
	switch r.kind {
	case "read":
		if len(all) == 0 && name == "ls" {
			all = []Word{{Text: ".", Known: true}}
		}
		each(tool.Read, all, false)
	case "tree":
		each(tool.Read, all, true)
		if len(all) == 0 && name != "diff" {
			each(tool.Read, []Word{{Text: ".", Known: true}}, true)
		}
	case "text":
		if name == "cd" && len(all) > 0 {
			each(tool.Read, all[:1], false)
		}
	case "none":
		return len(all) == 0
	case "date":
		for _, o := range all {
			if !strings.HasPrefix(o.Prefix, "+") {
				return false
			}
		}
	case "grep":
		given := false
		for _, o := range a.options {
			given = given || o.does&isPattern != 0 || o.name == "files" || o.name == "type-list"
		}
		if !given && len(all) > 0 {
			all = all[1:]
		}
		_, short := a.get("r", "R", "recursive", "dereference-recursive")
		tree := name == "rg" || short
		each(tool.Read, all, tree)
		if len(all) == 0 && tree {
			each(tool.Read, []Word{{Text: ".", Known: true}}, true)
		}
	case "show":
		for _, o := range all {
			if i := strings.IndexByte(o.Text, ':'); i >= 0 {
				w.access(at, tool.Read, cut(o, i+1), false)
				continue
			}
			w.access(at, tool.Read, o, false)
		}
	case "inout":
		if len(all) > 0 {
			each(tool.Read, all[:1], false)
		}
		if len(all) > 1 {
			each(tool.Write, all[1:], false)
			return false
		}
	case "copy", "move", "link":
		target, given := a.get("t", "target-directory")
		if given {
			w.access(at, tool.Write, target, true)
		} else if last >= 0 {
			if _, dirs := a.get("d", "directory"); dirs && name == "install" {
				each(tool.Write, all, true)
				return true
			}
			if last == 0 && r.kind == "link" {
				each(tool.Write, []Word{{Text: ".", Known: true}}, true)
			} else {
				w.access(at, tool.Write, all[last], true)
				all = all[:last]
			}
		}
		op := tool.Read
		if r.kind == "move" {
			op = tool.Write
			each(tool.Read, all, true)
		}
		each(op, all, true)
	case "write":
		each(tool.Write, all, false)
	case "remove":
		each(tool.Write, all, true)
	case "first":
		if len(all) > 0 {
			w.access(at, tool.Write, all[0], false)
		}
	case "mode":
		if _, ref := a.get("reference"); !ref && len(all) > 0 {
			all = all[1:]
		}
		each(tool.Write, all, true)
	case "temp":
		if _, inDir := a.get("p", "tmpdir", "t"); inDir || len(all) == 0 {
			return false // a folder by the environment
		}
		each(tool.Write, all, false)
	case "split":
		if len(all) > 0 {
			each(tool.Read, all[:1], false)
		}
		prefix := Word{Text: "xx", Known: true}
		if len(all) > 1 && name == "split" {
			prefix = all[1]
		}
		if p, ok := a.get("f", "prefix"); ok {
			prefix = p
		}
		prefix.Glob, prefix.Text = true, prefix.Text+"*"
		w.access(at, tool.Write, prefix, false)
	case "gofmt":
		_, write := a.get("w")
		op := tool.Read
		if write {
			op = tool.Write
		}
		each(op, all, true)
	case "connect":
		each(tool.Connect, all, false)
		if _, ok := a.get("O", "remote-name"); ok && name == "curl" || name == "wget" {
			if _, named := a.get("output-document"); !named {
				w.access(at, tool.Write, Word{Text: ".", Known: true}, true)
			}
		}
		if o, ok := a.get("O"); ok && name == "wget" {
			w.access(at, tool.Write, o, false)
		}
	case "remote":
		w.remote(at, all)
	case "compile":
		each(tool.Read, all, false)
	case "edit":
		for _, o := range a.options {
			if o.has && strings.HasPrefix(o.value.Text, "!") {
				w.run(at, cut(o.value, 1))
			}
		}
		for _, o := range all {
			if strings.HasPrefix(o.Text, "+!") {
				w.run(at, cut(o, 2))
			}
			if after, ok := strings.CutPrefix(o.Text, "+"); ok {
				w.access(at, tool.Exec, cut(o, len(o.Text)-len(after)), false)
				continue
			}
			w.access(at, tool.Write, o, false)
		}
	case "last":
		if len(all) > 0 {
			w.access(at, tool.Write, all[0], false)
			each(tool.Read, all[1:], true)
		}
	case "unzip":
		each(tool.Read, all[:min(1, len(all))], false)
		if _, ok := a.get("d"); !ok {
			w.access(at, tool.Write, Word{Text: ".", Known: true}, true)
		}
	case "tar":
		w.tar(at, a)
	case "sed":
		return w.sed(at, a)
	case "awk":
		return w.awk(at, a)
	case "opaque":
		for _, o := range all {
			if strings.HasPrefix(o.Text, "+") && name == "less" {
				w.access(at, tool.Exec, o, false)
				if strings.HasPrefix(o.Text, "+!") {
					w.run(at, cut(o, 2))
				}
			}
		}
	}
	return true
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
	w.out.Commands[at].Complete = complete && w.quietAssigns(at)
}

func (w *walker) quietAssigns(at int) bool {
	for _, a := range w.out.Commands[at].Assigns {
		if !a.Harmless {
			return false
		}
	}
	return true
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
