package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

// lists says that an archive is only looked at.
func lists(kind string, a args) bool {
	switch kind {
	case "tar":
		_, list := a.get("t", "list")
		_, extract := a.get("x", "extract", "get", "c", "create", "r", "append", "u", "update", "A", "delete", "d", "diff", "compare")
		archive, _ := a.get("f", "file")
		return list && !extract && !strings.Contains(archive.Text, ":") // of another host
	case "unzip", "pack":
		_, list := a.get("l", "list", "t", "test", "c", "stdout", "to-stdout", "p")
		if _, v := a.get("v"); v && kind == "unzip" {
			list = true
		}
		return list
	}
	return false
}

// jqVariables takes the flags with two values from jq's words.
func (w *walker) jqVariables(at int, rest []Word) []Word {
	var out []Word
	for i := 0; i < len(rest); i++ {
		switch {
		case rest[i].Known && listed(" --arg --argjson ", rest[i].Text) && i+2 < len(rest):
			i += 2
		case rest[i].Known && listed(" --slurpfile --rawfile ", rest[i].Text) && i+2 < len(rest):
			w.access(at, tool.Read, rest[i+2], false)
			i += 2
		default:
			out = append(out, rest[i])
		}
	}
	return out
}

// into notes what is written where sources are copied or moved to: in a target that
// is certain to be a folder, what has their names.
func (w *walker) into(at int, target Word, sources []Word, a args, folder bool) {
	_, whole := a.get("parents", "T", "no-target-directory")
	folder = folder || target.Text == "." || target.Text == ".." || strings.HasSuffix(target.Text, "/") || strings.HasSuffix(target.Text, "/.") || strings.HasSuffix(target.Text, "/..")
	names := make([]Word, 0, len(sources))
	for _, o := range sources {
		name := path.Base(o.Text)
		if !o.Known || o.Glob || o.Many || listed(" . .. / ", name) {
			whole = true
			break
		}
		o.Text = strings.TrimSuffix(target.Text, "/") + "/" + name
		o.Prefix, o.Known, o.Glob = o.Text, target.Known, target.Glob
		names = append(names, o)
	}
	if whole || !folder || a.unknown || !target.Known || target.Glob || target.Many || len(names) == 0 {
		w.access(at, tool.Write, target, true)
		return
	}
	for _, o := range names {
		w.access(at, tool.Write, o, true)
	}
}

// linked notes what symbolic links lead to, which is from where they lie: in the
// target, or beside it.
func (w *walker) linked(at int, target Word, sources []Word) {
	for _, o := range sources {
		if strings.HasPrefix(o.Prefix, "/") || target.Text == "" {
			continue
		}
		for _, from := range []string{target.Text + "/", target.Text + "/../"} {
			o := o
			o.Text, o.Prefix, o.Known, o.Glob = from+o.Text, from+o.Prefix, o.Known && target.Known, o.Glob || target.Glob
			w.access(at, tool.Read, o, true)
		}
	}
}

// packs are the ends of the names that programs give what they pack.
var packs = map[string]string{"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst", "lz4": ".lz4"}

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
	case "jq":
		program, given := a.get("f", "from-file")
		if !given && len(all) > 0 {
			program, all = all[0], all[1:]
		}
		each(tool.Read, all, false)
		if given || !program.Known || strings.Contains(program.Text, "import") || strings.Contains(program.Text, "include") {
			w.code(at) // it may name other files
			return false
		}
	case "yq":
		_, expression := a.get("expression", "f", "from-file")
		if len(all) > 0 && listed(" e eval ea eval-all ", all[0].Text) {
			all = all[1:]
		}
		if !expression && len(all) > 0 {
			program := all[0]
			all = all[1:]
			if !program.Known || strings.Contains(program.Text, "load") {
				w.code(at)
			}
		}
		op := tool.Read
		if _, write := a.get("i", "inplace", "in-place"); write {
			op = tool.Write
		}
		each(op, all, false)
	case "read1":
	case "fd":
		if len(all) > 1 {
			each(tool.Read, all[1:], true)
		} else {
			each(tool.Read, []Word{{Text: ".", Known: true}}, true)
		}
	case "list":
		_, list := a.get("l", "list")
		return len(all) == 0 || list
	case "get":
		_, get := a.get("get", "get-all", "get-regexp", "get-urlmatch", "list", "l")
		return get && len(all) < 3
	case "reflog":
		return len(all) == 0 || all[0].Known && !listed(" expire delete drop write exists ", all[0].Text)
	case "media":
		for i, o := range all {
			if name != "ffmpeg" && i < len(all)-1 {
				w.access(at, tool.Read, o, false)
				continue
			}
			w.access(at, tool.Write, o, false)
		}
	case "debug":
		each(tool.Read, all[:min(1, len(all))], false)
		each(tool.Exec, all[:min(1, len(all))], false)
		if _, ok := a.get("args"); ok {
			w.doubtful(at, all)
		}
	case "sql":
		if !slices.ContainsFunc(a.options, func(o option) bool { return o.does&(scripts|reads) != 0 && o.has }) {
			w.program1(at)
		}
		if name == "redis-cli" || name == "m4" {
			each(tool.Read, all, false)
		}
	case "socat":
		for _, o := range all {
			kind, _, ok := strings.Cut(o.Text, ":")
			if !ok {
				continue
			}
			value := cut(o, len(kind)+1)
			switch strings.ToLower(kind) {
			case "exec", "system", "shell", "exec-ptr":
				if i := strings.IndexByte(value.Text, ','); i >= 0 {
					value.Text = value.Text[:i]
				}
				w.run(at, value)
			case "open", "file", "create", "gopen", "pipe":
				if i := strings.IndexByte(value.Text, ','); i >= 0 {
					value.Text = value.Text[:i]
				}
				w.access(at, tool.Write, value, false)
			}
		}
	case "pack":
		if lists("pack", a) {
			each(tool.Read, all, true)
			return true
		}
		each(tool.Write, all, true)
		for _, o := range all {
			if !o.Known || o.Glob {
				continue
			}
			for _, end := range []string{".gz", ".bz2", ".xz", ".zst", ".lz4"} {
				if before, ok := strings.CutSuffix(o.Text, end); ok {
					o.Text, o.Prefix = before, before
					w.access(at, tool.Write, o, false)
					break
				} else if strings.HasPrefix(packs[name], end) {
					o.Text, o.Prefix = o.Text+end, o.Text+end
					w.access(at, tool.Write, o, false)
					break
				}
			}
		}
	case "grepgit":
		if !slices.ContainsFunc(a.options, func(o option) bool { return o.does&isPattern != 0 }) && len(all) > 0 {
			all = all[1:]
		}
		each(tool.Read, all, true)
		if len(all) == 0 {
			each(tool.Read, []Word{{Text: ".", Known: true}}, true)
		}
	case "show":
		for _, o := range all {
			if o.commit {
				continue
			}
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
			w.into(at, target, all, a, true)
		} else if last >= 0 {
			if _, dirs := a.get("d", "directory"); dirs && name == "install" {
				each(tool.Write, all, true)
				return true
			}
			if last == 0 && r.kind == "link" {
				each(tool.Write, []Word{{Text: ".", Known: true}}, true)
			} else {
				w.into(at, all[last], all[:last], a, false)
				all = all[:last]
			}
		}
		op := tool.Read
		if r.kind == "move" {
			op = tool.Write
			each(tool.Read, all, true)
		}
		each(op, all, true)
		if _, symbolic := a.get("s", "symbolic", "symbolic-link"); symbolic && r.kind == "link" {
			if !given && last > 0 {
				target = a.operands[last]
			}
			w.linked(at, target, all)
		}
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
		for _, o := range all {
			if path, ok := strings.CutPrefix(o.Text, "file://"); ok {
				o.Text, o.Prefix = path, path
				w.access(at, tool.Read, o, false)
				continue
			}
			w.access(at, tool.Connect, o, false)
		}
		if form, ok := a.get("w", "write-out"); ok && name == "curl" && strings.Contains(form.Text, "%output{") {
			w.access(at, tool.Write, Word{Text: form.Text, Start: form.Start, End: form.End}, false)
		}
		w.downloads(at, name, &a, all)
	case "remote":
		for _, o := range a.options {
			if o.name == "o" && o.has && (name == "scp" || name == "sftp") {
				w.sshOption(at, o.value)
			}
		}
		w.remote(at, all)
	case "compile":
		each(tool.Read, all, false)
	case "edit":
		w.editor(at, a)
	case "last":
		if len(all) > 0 {
			w.access(at, tool.Write, all[0], false)
			each(tool.Read, all[1:], true)
		}
	case "unzip":
		each(tool.Read, all[:min(1, len(all))], false)
		into, ok := a.get("d")
		if !ok {
			into = Word{Text: ".", Known: true}
		}
		if ok || !lists("unzip", a) {
			w.access(at, tool.Write, into, true)
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

// downloads are the files that a program fetches into a folder under the names
// that they have where they come from.
func (w *walker) downloads(at int, name string, a *args, urls []Word) {
	switch name {
	case "curl":
		if _, ok := a.get("O", "remote-name", "remote-name-all"); !ok {
			return
		}
	case "wget":
		if _, ok := a.get("O", "output-document"); ok {
			return // all of it into one file
		}
	default:
		return
	}
	dir, moved := a.get("P", "directory-prefix", "output-dir")
	_, many := a.get("r", "recursive", "m", "mirror", "p", "i", "input-file", "content-disposition", "trust-server-names", "J", "remote-header-name")
	for _, u := range urls {
		from, query, asked := strings.Cut(u.Text, "?")
		if _, rest, ok := strings.Cut(from, "://"); ok {
			from = rest
		}
		_, file, _ := strings.Cut(from, "/")
		if file == "" || strings.HasSuffix(file, "/") {
			file = "index.html"
		}
		if file = path.Base(file); asked && name == "wget" {
			file += "?" + strings.ReplaceAll(query, "/", "%2F")
		}
		if !u.Known || many || moved && !dir.Known || strings.ContainsAny(u.Text, "{[%#") {
			w.access(at, tool.Write, Word{Text: ".", Known: true}, true)
			continue
		}
		if moved {
			file = dir.Text + "/" + file
		}
		w.access(at, tool.Write, Word{Text: file, Prefix: file, Known: true, Start: u.Start, End: u.End}, false)
	}
}
