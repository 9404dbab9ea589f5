package shell

import (
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

// code says that a command is given a program in a language of its own.
func (w *walker) code(at int) { w.out.Commands[at].Code = true }

// verbs are the first operands of interpreters that are no file.
const verbs = ` run test task eval add install remove update upgrade publish build package compile check fmt lint repl serve bench init create x pm dev cache info doc types `

// interpreter notes the program that an interpreter is given: in its words, in a
// file, or by what it reads.
func (w *walker) interpreter(at int, evals []string) {
	c := w.out.Commands[at]
	name, rest := c.Name(), c.Words[1:]
	// A text to run: -c, -ec, --eval=, eval.
	text := func(word Word) (after int, ok bool) {
		for _, flag := range evals {
			switch rest, found := strings.CutPrefix(word.Text, flag); {
			case found && (rest == "" || rest[0] == '=' || len(flag) == 2):
				return len(flag), true
			case len(flag) == 2 && len(word.Text) > 2 && word.Text[0] == '-' && word.Text[1] != '-':
				// In a cluster the rest of which is for other flags.
				if i := strings.IndexByte(word.Text, flag[1]); i > 0 {
					return i + 1, true
				}
			}
		}
		return 0, false
	}
	inPlace, asked := false, len(rest) > 0
	for i, word := range rest {
		if word.Known && strings.HasPrefix(word.Text, "-") && word.Text[1:] != "" && word.Text[1] != '-' && (strings.HasPrefix(name, "perl") || strings.HasPrefix(name, "ruby")) {
			inPlace = inPlace || strings.Contains(word.Text, "i")
		}
		if n, ok := text(word); ok {
			w.code(at)
			files := rest[min(i+1, len(rest)):]
			if n == len(word.Text) && len(files) > 0 {
				w.access(at, tool.Exec, files[0], false)
				w.hints(at, files[0])
				files = files[1:]
			} else {
				w.access(at, tool.Exec, cut(word, n), false)
				w.hints(at, cut(word, n))
			}
			for _, f := range files {
				if inPlace && !strings.HasPrefix(f.Prefix, "-") {
					w.access(at, tool.Write, f, false)
				}
			}
			return
		}
		switch {
		case !word.Known:
			asked = false
		case word.Text == "-m" && strings.HasPrefix(name, "python") && i+1 < len(rest):
			w.access(at, tool.Exec, rest[i+1], false)
			return
		case word.Text == "-":
			w.program1(at)
			return
		case strings.HasPrefix(word.Text, "-"):
			asked = asked && listed(" -V -v --version -h --help -version ", word.Text)
			continue
		case listed(verbs, word.Text) && listed(" bun deno swift scala ", name):
			if i+1 < len(rest) && listed(" run test bench serve ", word.Text) && strings.Contains(rest[i+1].Text, ".") {
				continue
			}
			return
		}
		if name == "sqlite3" {
			w.access(at, tool.Write, word, false)
			if i+1 < len(rest) {
				w.code(at)
				w.hints(at, joined(rest[i+1:]))
			} else {
				w.program1(at)
			}
			return
		}
		if w.standardInput(word) {
			w.program1(at)
			return
		}
		w.access(at, tool.Read, word, false)
		w.access(at, tool.Exec, word, false)
		return
	}
	if !asked {
		w.program1(at)
	}
}

// program1 is of a program that is given by what is read.
func (w *walker) program1(at int) {
	w.code(at)
	for _, r := range w.out.Commands[at].Redirects {
		if strings.HasPrefix(r.Op, "<<") {
			w.hints(at, r.Target)
		}
	}
	w.piped(at, w.hints)
}

// hints finds in a text of some language what follows the ways in which many
// start a command, for deny rules.
func (w *walker) hints(at int, text Word) {
	for _, mark := range []string{"system", "exec", "shell", "shell-command", "script", "spawn", "popen", "!", "`", "subprocess"} {
		s := text.Text
		for n := 0; n < maxThrough; n++ {
			i := strings.Index(s, mark)
			if i < 0 {
				break
			}
			s = s[i+len(mark):]
			line, _, _ := strings.Cut(s, "\n")
			// As 'rm x', ["rm", "x"], (rm, x) are all to be seen.
			w.roughly(at, joint.Replace(strings.TrimLeft(line, " \t")))
		}
	}
}

var joint = strings.NewReplacer(`"`, " ", "'", " ", "(", ";", "[", " ", "]", " ", ",", " ", ")", ";", "`", ";")

// editor is of the flags of vim and its kind, which are in a language with !.
func (w *walker) editor(at int, a args) {
	script := func(word Word) {
		w.code(at)
		w.access(at, tool.Exec, word, false)
		text := strings.TrimLeft(word.Text, ": ")
		if after, ok := strings.CutPrefix(text, "sil"); ok {
			text = strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(after, "ent"), "!"), ": ")
		}
		if after, ok := strings.CutPrefix(text, "!"); ok && word.Known {
			w.run(at, Word{Text: after, Known: true})
			return
		}
		w.hints(at, word)
	}
	for _, o := range a.options {
		if o.has && (o.name == "c" || o.name == "cmd" || o.name == "S") {
			script(o.value)
		}
	}
	for _, o := range a.operands {
		if strings.HasPrefix(o.Text, "+") {
			script(cut(o, 1))
			continue
		}
		w.access(at, tool.Write, o, false)
	}
}
