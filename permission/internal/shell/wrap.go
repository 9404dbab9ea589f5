package shell

import (
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

// wrapper looks through a program that runs another. It reports false where the
// program was not used as one.
func (w *walker) wrapper(at int, wr wrap) bool {
	c := w.out.Commands[at]
	rest := c.Words[1:]
	switch wr.kind {
	case "eval":
		if len(rest) > 0 && rest[0].Text == "--" {
			rest = rest[1:]
		}
		text := joined(rest)
		w.out.Commands[at].Passes = text.Known
		w.run(at, text)
		return true
	case "trap":
		if len(rest) > 0 && rest[0].Known && rest[0].Text == "--" {
			rest = rest[1:]
		}
		if (len(rest) > 1 || len(rest) > 0 && w.doubt) && !(rest[0].Known && listed(" - -l -p -P ", rest[0].Text)) {
			dirs := w.dirs
			w.dirs = always(nil)
			w.run(at, rest[0])
			w.dirs = dirs
		}
		return true
	case "opaque":
		w.options(at, sortArgs(wr.flags, rest, false, false))
		w.doubtful(at, rest)
		for _, word := range rest[:min(len(rest), maxThrough)] {
			if strings.ContainsAny(word.Text, " \t\n;") && !w.ends {
				w.roughly(at, word.Text)
			}
		}
		return true
	case "docker":
		w.container(at, rest)
		return true
	case "second":
		a := sortArgs(networks().flags[c.Name()], rest, true, false)
		skip := 1
		for skip < 3 && skip <= len(a.operands) && !slices.Contains(wr.verbs, joinedBy("/", a.operands[:skip])) {
			skip++
		}
		if skip == 3 || skip > len(a.operands) {
			if i := slices.IndexFunc(rest, func(w Word) bool { return slices.Contains(wr.verbs, w.Text) }); i >= 0 && a.unknown {
				w.doubtful(at, rest[i+1:])
			}
			return false
		}
		rest = a.operands[skip:]
		if text := slices.IndexFunc(rest, func(w Word) bool { return w.Text == "-c" || w.Text == "--call" }); text >= 0 && text+1 < len(rest) && c.Name() == "npm" {
			w.run(at, rest[text+1])
			return true
		}
		wr.flags = known().wraps["npx"].flags
	}
	a := sortArgs(wr.flags, rest, true, false)
	if wr.kind == "su" && slices.ContainsFunc(a.options, func(o option) bool { return o.name == "u" || o.name == "user" }) {
		wr.kind = "runs"
	}
	if wr.kind == "su" || wr.kind == "script" {
		a = sortArgs(wr.flags, rest, false, false) // flags may stand behind the name
	}
	if a.unknown || a.doubt && firstDoubt(rest, a.rest+wr.skip+1) {
		if !w.doubt {
			w.reasonAt(c.Start, c.End, Opaque, "words of "+c.Name()+" that are not understood, so that what it runs is unsure")
		}
		w.doubtful(at, rest)
		return true
	}
	w.options(at, a)
	operands := a.operands
	if c.Name() == "env" {
		if text, split := a.get("S", "split-string"); split {
			w.splitEnv(at, text, operands)
			return true
		}
		if len(operands) > 0 && operands[0].Text == "-" {
			operands = operands[1:] // as -i
		}
	}
	var assigns []Assign
	for wr.assigns && len(operands) > 0 {
		name, _, ok := strings.Cut(operands[0].Prefix, "=")
		if !ok {
			break
		}
		assigns = append(assigns, Assign{
			Name: name, Value: cut(operands[0], len(name)+1), Harmless: false,
			Start: operands[0].Start, End: operands[0].End,
		})
		operands = operands[1:]
	}
	if len(assigns) > 0 {
		w.out.Commands[at].Assigns = append(slices.Clip(c.Assigns), assigns...)
	}
	switch wr.kind {
	case "text", "script", "su", "each", "sg":
		w.textWrapper(at, wr, operands)
		return true
	case "entr":
		if _, text := a.get("s"); text {
			w.run(at, joined(operands))
			return true
		}
	case "flock":
		if len(operands) > 2 && (operands[1].Text == "-c" || operands[1].Text == "--command") {
			w.run(at, operands[2])
			return true
		}
	case "ssh":
		w.ssh(at, a, operands)
		return true
	}
	if len(operands) < wr.skip {
		operands = nil
	} else {
		operands = operands[wr.skip:]
	}
	name := c.Name()
	if _, list := a.get("v", "V"); name == "command" && list {
		w.out.Commands[at].ReadOnly = w.quiet(at)
		return true
	}
	if len(operands) == 0 {
		w.shellWithout(at, a)
		w.out.Commands[at].ReadOnly = wr.kind == "transparent" && len(a.options) == 0 && len(assigns) == 0 && w.quiet(at)
		if name == "exec" && !w.doubt {
			w.reasonAt(c.Start, c.End, Redefine, "exec changes the shell's own files")
		}
		return true
	}
	plain := wr.kind == "transparent" && len(assigns) == 0 && trusted(&c)
	for _, o := range a.options {
		plain = plain && o.does&(writes|reads|executes) == 0 && o.name != "chdir" && !(name == "env" && (o.name == "C" || o.name == "a" || o.name == "argv0"))
	}
	if name == "xargs" {
		operands = filled(operands, a)
	}
	if _, moved := a.get("C", "chdir", "D", "wd", "R", "chroot", "root"); moved && name != "xargs" {
		dirs := w.dirs
		w.dirs = always(nil)
		defer func() { w.dirs = dirs }()
	}
	w.out.Commands[at].Passes = plain
	w.words(at, plain, operands, assigns)
	return true
}

// shellWithout is of programs that run a shell where they are given no command.
func (w *walker) shellWithout(at int, a args) {
	c := w.out.Commands[at]
	_, asked := a.get("s", "shell", "i", "login")
	if !listed(" su runuser ssh chroot unshare nsenter script nix-shell ", c.Name()) && !(asked && listed(" sudo doas ", c.Name())) {
		return
	}
	if c.Place&InPipe != 0 || slices.ContainsFunc(c.Redirects, func(r Redirect) bool { return r.Read || strings.HasPrefix(r.Op, "<<") }) {
		w.stdin(at)
	}
}

func joinedBy(sign string, words []Word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteString(sign)
		}
		b.WriteString(w.Text)
	}
	return b.String()
}

// container looks at what docker and its kind run in a container, which may be
// any of the words, and at what they give it of the host's files.
func (w *walker) container(at int, rest []Word) {
	from := slices.IndexFunc(rest, func(w Word) bool { return w.Text == "exec" || w.Text == "run" || w.Text == "create" })
	for i, word := range rest {
		var value Word
		switch name, _, attached := strings.Cut(word.Text, "="); {
		case listed(" -v --volume --mount --device --env-file -f --file ", name) && attached:
			value = cut(word, len(name)+1)
		case listed(" -v --volume --mount --device --env-file -f --file ", name) && i+1 < len(rest):
			value = rest[i+1]
		case strings.HasPrefix(word.Text, "-v") && len(word.Text) > 2 && word.Text[2] == '/':
			value = cut(word, 2)
		default:
			continue
		}
		if _, after, ok := strings.Cut(value.Text, "source="); ok {
			value = cut(value, len(value.Text)-len(after))
		} else if _, after, ok := strings.Cut(value.Text, "src="); ok {
			value = cut(value, len(value.Text)-len(after))
		}
		host, _, _ := strings.Cut(value.Text, ":")
		host, _, _ = strings.Cut(host, ",")
		value.Text, value.Prefix = host, value.Prefix[:min(len(host), len(value.Prefix))]
		switch {
		case word.Text == "-f" && from >= 0, value.Known && !strings.ContainsAny(host, "/.~"):
			// a flag of what is run; a volume by its name
		case strings.Contains(word.Text, "file") || word.Text == "-f":
			w.access(at, tool.Read, value, false)
		default:
			w.access(at, tool.Write, value, true)
		}
	}
	if from >= 0 {
		w.doubtful(at, rest[from+1:])
	}
}

// splitEnv is env -S: the words of a text come in front of the other operands,
// and flags and assignments may be among them.
func (w *walker) splitEnv(at int, text Word, operands []Word) {
	c := w.out.Commands[at]
	if !text.Known || text.Glob || strings.ContainsAny(text.Text, "\\\"'$#`*?[]{}~;&|<>()\n\r\v\f") {
		if !w.doubt {
			w.reasonAt(c.Start, c.End, Opaque, "a text for env to split that is not plain words")
		}
		w.roughly(at, text.Text+" "+joined(operands).Text)
		return
	}
	words := []Word{c.Words[0]}
	for s := range strings.FieldsSeq(text.Text) {
		words = append(words, Word{Text: s, Known: true, Prefix: s, Start: text.Start, End: text.End})
	}
	w.words(at, false, append(words, operands...), nil)
}

// firstDoubt says that one of the words before a place is not sure.
func firstDoubt(words []Word, until int) bool {
	for _, w := range words[:min(until, len(words))] {
		if !w.Known || w.Glob || w.Many {
			return true
		}
	}
	return false
}

// filled are the words that xargs makes of what it reads.
func filled(words []Word, a args) []Word {
	words = slices.Clone(words)
	mark := ""
	for _, o := range a.options {
		switch o.name {
		case "I", "i", "replace":
			mark = "{}"
			if o.has && o.value.Text != "" {
				mark = o.value.Text
			}
		}
	}
	if mark == "" {
		return append(words, Word{Text: "…", Many: true})
	}
	for i := range words {
		words[i] = fillIn(words[i], mark)
	}
	return words
}

// fillIn makes a word one that holds something unknown where the mark stands.
func fillIn(word Word, mark string) Word {
	if strings.Contains(word.Text, mark) {
		word.Known = false
		if i := strings.Index(word.Prefix, mark); i >= 0 {
			word.Prefix = word.Prefix[:i]
		}
	}
	return word
}

func (w *walker) textWrapper(at int, wr wrap, operands []Word) {
	c := w.out.Commands[at]
	switch c.Name() {
	case "script":
		w.shellWithout(at, args{})
		for _, o := range operands {
			w.access(at, tool.Write, o, false)
		}
		return
	case "su", "runuser":
		w.shellWithout(at, args{})
		if len(operands) > 1 {
			w.doubtful(at, operands[1:])
		}
		return
	case "hyperfine", "concurrently":
		for _, o := range operands {
			w.run(at, o)
		}
		return
	case "sg":
		for _, o := range operands[min(1, len(operands)):] {
			if o.Text != "-c" {
				w.run(at, o)
			}
		}
		return
	}
	for i, o := range operands {
		if strings.HasPrefix(o.Text, ":::") {
			operands = operands[:i]
			break
		}
	}
	if len(operands) == 0 {
		return
	}
	if c.Name() == "parallel" && !w.doubt {
		w.reasonAt(c.Start, c.End, Computed, "what parallel runs is made from what it reads")
	}
	w.run(at, joined(operands))
}

func (w *walker) ssh(at int, a args, operands []Word) {
	c := w.out.Commands[at]
	for _, o := range a.options {
		if o.name != "o" {
			continue
		}
		w.sshOption(at, o.value)
	}
	if len(operands) == 0 {
		return
	}
	w.access(at, tool.Connect, operands[0], false)
	if len(operands) == 1 {
		w.shellWithout(at, a)
		return
	}
	// What comes after the host may be flags still.
	rest := sortArgs(known().wraps["ssh"].flags, operands[1:], true, false)
	for _, o := range rest.options {
		if o.name == "o" {
			w.sshOption(at, o.value)
		}
	}
	if len(rest.operands) > 0 {
		w.run(at, joined(rest.operands))
	}
	if rest.unknown && !w.doubt {
		w.reasonAt(c.Start, c.End, Opaque, "a flag of ssh that is not known")
	}
}

// sshOption finds the options of ssh's configuration that run a command.
func (w *walker) sshOption(at int, value Word) {
	i := strings.IndexAny(value.Text, "= ")
	if i < 0 {
		return
	}
	switch strings.ToLower(strings.TrimSpace(value.Text[:i])) {
	case "proxycommand", "localcommand", "knownhostscommand", "remotecommand", "pkcs11provider", "securitykeyprovider", "xauthlocation", "match", "include", "proxyusefdpass":
		text := value
		text.Text = strings.TrimLeft(value.Text[i:], "= ")
		w.run(at, text)
	}
}
