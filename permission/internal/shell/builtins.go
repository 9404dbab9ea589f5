package shell

import (
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

// The flags of builtins that set variables by the names in their words.
var (
	readFlags   = parseFlags("a: d: e i: n: N: p: r s t: u: E")
	mapFlags    = parseFlags("d: n: O: s: t u: C: c:")
	noFlags     = flags{}
	setsByNames = map[string]flags{
		"read": readFlags, "mapfile": mapFlags, "readarray": mapFlags, "getopts": noFlags, "local": noFlags, "let": noFlags,
		"export": noFlags, "declare": noFlags, "typeset": noFlags, "readonly": noFlags,
	}
)

// say adds a reason about a command, unless that is in doubt anyway.
func (w *walker) say(at int, kind Kind, text string) {
	if !w.doubt {
		c := &w.out.Commands[at]
		w.reasonAt(c.Start, c.End, kind, text)
	}
}

// evaluates says that the shell takes a word for more than a text when it runs.
// What looks like a command in it counts for deny rules.
func (w *walker) evaluates(at int, word Word, why string) {
	w.say(at, Computed, why)
	w.roughly(at, word.Text)
}

// builtin finds what builtins evaluate, and those that change what later
// commands mean.
func (w *walker) builtin(at int) {
	c := w.out.Commands[at]
	name, rest := c.Name(), c.Words[1:]
	if f, ok := setsByNames[name]; ok {
		w.names(at, f, rest)
	}
	switch name {
	case "export", "declare", "typeset", "readonly", "local":
		w.declared(at)
	case "alias", "unalias", "shopt", "enable", "hash", "unset":
		if len(rest) == 0 && name != "enable" {
			return
		}
		w.say(at, Redefine, name+" changes what later commands mean")
		for _, word := range rest {
			if _, value, ok := strings.Cut(word.Text, "="); ok && name == "alias" {
				w.roughly(at, value)
			}
			if name == "unset" && strings.Contains(word.Text, "[") {
				w.evaluates(at, word, "a name of a variable that has a subscript")
			}
		}
	case "printf":
		if len(rest) > 0 && (!rest[0].Known || strings.HasPrefix(rest[0].Text, "-v")) {
			w.say(at, Redefine, "printf may set a variable")
			if len(rest) > 1 && strings.Contains(rest[0].Text+rest[1].Text, "[") {
				w.evaluates(at, joined(rest[:2]), "a name of a variable that has a subscript")
			}
		}
	case "wait":
		if i := slices.IndexFunc(rest, func(w Word) bool { return !w.Known || strings.HasPrefix(w.Text, "-p") }); i >= 0 {
			w.say(at, Redefine, "wait may set a variable")
			w.roughly(at, joined(rest[i:]).Text)
		}
	case "compgen":
		if i := slices.IndexFunc(rest, func(w Word) bool { return strings.HasPrefix(w.Text, "-W") || w.Many }); i >= 0 {
			w.evaluates(at, joined(rest[i:]), "a list of words that compgen expands")
		}
	case "test", "[":
		w.testWords(at, rest)
	case ".", "source":
		w.source1(at, rest)
	case "crontab", "at", "batch":
		w.later(at, rest)
	}
}

// names looks at the names of variables that a builtin sets: a subscript is
// evaluated, and a name that programs read changes what they do.
func (w *walker) names(at int, f flags, rest []Word) {
	name := w.out.Commands[at].Name()
	a := sortArgs(f, rest, false, false)
	for _, o := range a.options {
		switch {
		case o.name == "a" && o.has:
			a.operands = append(a.operands, o.value)
		case o.name == "C" && o.has:
			w.evaluates(at, o.value, "what "+name+" runs gets words of what it reads")
		}
	}
	for i, word := range a.operands {
		if name == "getopts" && i != 1 {
			continue
		}
		variable, _, given := strings.Cut(word.Prefix, "=")
		switch {
		case !word.Known && !given, strings.ContainsAny(variable, "[]"), name == "let":
			w.evaluates(at, word, "a name of a variable that is computed, or has a subscript")
			return
		case len(f) > 0 || name == "getopts":
			if isName(word.Text) && !ownVariable(word.Text) {
				w.say(at, Redefine, name+" sets a variable that programs may read")
				return
			}
		}
	}
}

// declared takes what a builtin of the kind of export sets for assignments, where
// the parser did not know it for one: \export, command declare. A value in
// brackets, and one of an integer or a reference, is evaluated.
func (w *walker) declared(at int) {
	c := &w.out.Commands[at]
	flagged := slices.ContainsFunc(c.Words[1:], func(w Word) bool {
		return strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "inaA")
	})
	var evaluated []Word
	for _, word := range c.Words[1:] {
		name, _, ok := strings.Cut(word.Prefix, "=")
		name = strings.TrimSuffix(name, "+")
		if !ok || !isName(name) || slices.ContainsFunc(c.Assigns, func(a Assign) bool { return a.Name == name }) {
			continue
		}
		value := cut(word, strings.IndexByte(word.Text, '=')+1)
		c.Assigns = append(slices.Clip(c.Assigns), Assign{Name: name, Value: value, Harmless: harmlessVariable(name, value), Start: word.Start, End: word.End})
		if flagged || !value.Known || strings.ContainsAny(value.Text, "([") {
			evaluated = append(evaluated, value)
		}
	}
	for _, value := range evaluated {
		w.evaluates(at, value, "a value that the shell may evaluate")
	}
}

// The operators of test with an operand on each side, what may stand before an
// expression, and what may stand behind one.
const (
	testBinary = ` = == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef `
	testUnary  = ` -b -c -d -e -f -g -h -k -L -n -N -O -p -r -s -S -t -u -w -x -z -G `
	testBefore = ` -a -o ! ( `
	testBehind = ` -a -o ) ] `
)

// testWords finds in the words of test what is decided when it runs: -v and -R
// evaluate the subscript in the name of a variable, so that each word that is
// computed must be an operand, wherever the shell draws the lines.
func (w *walker) testWords(at int, rest []Word) {
	is := func(i int, list string) bool {
		return i >= 0 && i < len(rest) && rest[i].Known && listed(list, rest[i].Text)
	}
	for i, word := range rest {
		begins, ends := i == 0 || is(i-1, testBefore), i+1 >= len(rest) || is(i+1, testBehind)
		switch {
		case word.Known && (word.Text == "-v" || word.Text == "-R"):
			if i+1 < len(rest) && (!rest[i+1].Known || !isName(rest[i+1].Text) && !is(i+1, testBehind)) {
				w.evaluates(at, rest[i+1], "a test of a variable evaluates the subscript in its name")
				return
			}
		case word.Known:
		case (!word.Many || word.integer) && (begins && (ends || is(i+1, testBinary)) || ends && (is(i-1, testBinary) || is(i-1, testUnary))):
		default:
			w.say(at, Computed, "a test that is computed: a value that is not in quotes may be an operator")
			for _, other := range rest {
				if strings.Contains(other.Text, "[") {
					w.roughly(at, other.Text)
				}
			}
			return
		}
	}
}

// source1 is of the builtin that runs a file in the shell itself.
func (w *walker) source1(at int, rest []Word) {
	if len(rest) == 0 {
		return
	}
	if w.standardInput(rest[0]) {
		w.stdin(at)
		return
	}
	if !rest[0].Known || rest[0].Glob {
		w.say(at, Computed, "the name of the file that the shell runs is computed")
	}
	w.access(at, tool.Read, rest[0], false)
	w.access(at, tool.Exec, rest[0], false)
}

// standardInput says that a path is what a program reads anyway, or a pipe.
func (w *walker) standardInput(word Word) bool {
	return word.stream || word.Text == "-" || strings.HasPrefix(word.Prefix, "/dev/fd/") || strings.HasPrefix(word.Prefix, "/proc/self/fd/") ||
		word.Text == "/dev/stdin" || word.Text == "/dev/tty"
}

// stdin runs what is read from a here-document or the like. What comes by a
// pipe is unknown.
func (w *walker) stdin(at int) {
	c := w.out.Commands[at]
	found := false
	for _, r := range c.Redirects {
		switch {
		case strings.HasPrefix(r.Op, "<<"):
			found = true
			w.run(at, r.Target)
		case r.Read && r.Op == "<" && !w.standardInput(r.Target):
			found = true
			w.access(at, tool.Exec, r.Target, false)
		}
	}
	if !found {
		w.say(at, Computed, "what "+c.Name()+" runs is what it reads")
		w.piped(at, w.rough1)
	}
}

// piped finds in the words of the commands in front of a pipe what the program
// behind it may take for commands, for deny rules.
func (w *walker) piped(at int, see func(int, Word)) {
	c := w.out.Commands[at]
	if c.Place&InPipe == 0 {
		return
	}
	for i := max(at-8, 0); i < at; i++ {
		before := w.out.Commands[i]
		if before.Place&InPipe == 0 || before.Doubt || len(before.Words) == 0 {
			continue
		}
		for _, word := range before.Words[1:] {
			see(at, word)
		}
		for _, r := range before.Redirects {
			if strings.HasPrefix(r.Op, "<<") {
				see(at, r.Target)
			}
		}
	}
}

func (w *walker) rough1(at int, word Word) { w.roughly(at, word.Text) }

// later is of programs that keep commands to be run later.
func (w *walker) later(at int, rest []Word) {
	for _, word := range rest {
		switch {
		case word.Known && listed(" -l -r -h -V ", word.Text):
			return
		case word.Known && word.Text == "-f", w.out.Commands[at].Name() == "crontab" && word.Known && !strings.HasPrefix(word.Text, "-"):
			return // from a file
		}
	}
	c := w.out.Commands[at]
	for _, r := range c.Redirects {
		if strings.HasPrefix(r.Op, "<<") {
			w.roughly(at, r.Target.Text)
		}
	}
	w.say(at, Computed, "what "+c.Name()+" keeps to run is what it reads")
	w.piped(at, w.rough1)
}

// commandVariable says that the value of a variable is a command, to some program.
func commandVariable(name string) bool {
	if listed(" VISUAL BROWSER LESSOPEN LESSCLOSE GIT_EXTERNAL_DIFF GIT_SSH GIT_EDITOR FCEDIT SHELL MAKESHELL RUSTC RUSTC_WRAPPER RSYNC_RSH CVS_RSH SVN_SSH ", name) {
		return true
	}
	for _, end := range []string{"PAGER", "EDITOR", "_COMMAND", "ASKPASS"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return shellEvaluates(name)
}

// shellEvaluates says that a shell expands, or runs, the value of a variable.
func shellEvaluates(name string) bool {
	return listed(" PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND BASH_ENV ENV ", name) || strings.HasPrefix(name, functions)
}

// functions is what the names of the variables begin with that bash makes a
// function of.
const functions = "BASH_FUNC_"

// variables looks into the values of variables that are commands.
func (w *walker) variables(at int) {
	for _, a := range w.out.Commands[at].Assigns {
		if a.Harmless || !commandVariable(a.Name) {
			continue
		}
		if shellEvaluates(a.Name) && (!a.Value.Known || strings.ContainsAny(a.Value.Text, "$`") || strings.HasPrefix(a.Name, functions)) {
			w.say(at, Computed, "a variable that the shell evaluates")
		}
		w.roughly(at, a.Value.Text)
	}
}
