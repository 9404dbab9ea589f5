package shell

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cantle-dev/cantle/tool"
)

// maxThrough is how many programs that run another may stand before one.
const maxThrough = 32

// maxSteps bounds the work of looking through a whole text.
const maxSteps = 20000

// elsewhere are the programs behind which the home is another, and for most the
// directory too.
const elsewhere = " sudo doas pkexec gosu su-exec setpriv su runuser chroot nsenter unshare ssh mosh "

// through runs f for what a command runs.
func (w *walker) through(at int, transparent bool, f func()) {
	c := &w.out.Commands[at]
	*w.steps++
	if w.depth >= maxThrough || *w.steps > maxSteps {
		if w.o.MaxCommands >= 0 && w.err == nil {
			w.err = fmt.Errorf("shell: %w: programs that run programs, more than %d deep or %d in all", ErrLimit, maxThrough, maxSteps)
			return
		}
		// Every word may be a command.
		for i := range c.Words {
			w.out.Commands = append(w.out.Commands, Command{Words: c.Words[i:], Doubt: true, Start: c.Start, End: c.End})
		}
		return
	}
	via, wasTransparent, fixed, dirs := w.via, w.transparent, w.fixed, w.dirs
	name := c.Name()
	w.via = append(slices.Clip(slices.Clone(via)), name)
	w.transparent = wasTransparent && transparent
	if w.fixed == nil {
		w.fixed = &span{from: c.Start, to: c.End}
	}
	home := w.noHome
	if listed(elsewhere, name) {
		w.noHome = true
		if !listed(" sudo doas pkexec gosu su-exec setpriv ", name) {
			w.dirs = always(nil)
		}
	}
	w.depth++
	f()
	w.depth--
	if listed(elsewhere, name) {
		w.noHome = home
	}
	w.via, w.transparent, w.fixed = via, wasTransparent, fixed
	if name != "command" && name != "builtin" && name != "eval" {
		w.dirs = dirs // what it runs is another process
	}
}

// words runs a command of words within one.
func (w *walker) words(at int, transparent bool, words []Word, assigns []Assign) {
	if len(words) == 0 {
		return
	}
	w.through(at, transparent, func() {
		c := Command{Words: words, Assigns: assigns}
		c.Start, c.End = w.fixed.from, w.fixed.to
		w.emit(c)
	})
}

// doubtful adds each end of the words as a command, for deny rules.
func (w *walker) doubtful(at int, words []Word) {
	if w.ends {
		return // they are ends of what is being added
	}
	was := w.doubt
	w.doubt, w.ends = true, true
	for i := range words {
		if i >= maxThrough {
			c := w.out.Commands[at]
			w.out.Commands = append(w.out.Commands, Command{Words: words[i:], Doubt: true, Start: c.Start, End: c.End, Via: c.Via})
			continue
		}
		w.words(at, false, words[i:], nil)
	}
	w.doubt, w.ends = was, false
}

// joined is the text that words with a blank between them make.
func joined(words []Word) Word {
	out := Word{Known: true}
	var text strings.Builder
	for _, word := range words {
		out.Known = out.Known && word.Known && !word.Glob && !word.Many
		text.WriteString(word.Text)
		text.WriteByte(' ')
	}
	out.Text = text.String()
	return out
}

// run analyses a text that a command runs.
func (w *walker) run(at int, text Word) {
	c := w.out.Commands[at]
	if !text.Known || text.Glob {
		if !w.doubt {
			w.reasonAt(c.Start, c.End, Computed, fmt.Sprintf("the text that %s runs is computed", c.Name()))
		}
		w.roughly(at, text.Text)
		return
	}
	if w.doubt {
		w.roughly(at, text.Text)
		return
	}
	posix := w.posix
	if !listed(inBash, c.Name()) {
		posix = c.Name() != "bash"
	}
	w.through(at, false, func() {
		file, why := inner(text.Text, w.o.MaxDepth, posix, c.Name())
		if why != "" {
			w.reasonAt(c.Start, c.End, Misread, why)
			for _, view := range views(text.Text) {
				w.rough(view)
			}
			return
		}
		outer, place, home, lost, was := w.text, w.place, w.noHome, w.lost, w.posix
		w.text, w.posix = text.Text, posix
		w.place |= InText
		w.file(file)
		w.text, w.place, w.posix = outer, place, was
		if c.Name() != "eval" && c.Name() != "trap" {
			w.noHome, w.lost = home, lost
		}
	})
}

// inBash are the builtins that run a text in the shell itself.
const inBash = ` eval trap mapfile readarray complete compgen `

// inner parses a text that is run by another shell, or again by this one. Where
// that is not known to be bash, a text that only bash reads in this way is none
// of which anything can be said.
func inner(text string, depth int, posix bool, name string) (file *syntax.File, why string) {
	if depthOf(text) > depth {
		return nil, "nested too deep"
	}
	file, err := parse(text)
	if err != nil {
		return nil, "the text that " + name + " runs is not parsable"
	}
	if large(file, defaultCommands) {
		return nil, "the text that " + name + " runs is too large to look at"
	}
	if reasons := append(suspectBytes(text), suspectSyntax(text, file)...); len(reasons) > 0 {
		return nil, "in the text that " + name + " runs: " + reasons[0].Text
	}
	if posix {
		other, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
		if err != nil || !sameTree(file, other) {
			return nil, "the text that " + name + " runs is one that only bash reads in this way"
		}
	}
	return file, ""
}

// roughly adds the commands of a text in doubt.
func (w *walker) roughly(at int, text string) {
	w.through(at, false, func() {
		for _, view := range views(text) {
			w.rough(view)
		}
	})
}

// trusted says that a program's name stands for the system's program.
func trusted(c *Command) bool {
	name := c.Name()
	switch c.Words[0].Text {
	case name, "/bin/" + name, "/usr/bin/" + name, "/usr/local/bin/" + name:
		return name != ""
	}
	return false
}

// look says what a command touches and finds what it runs.
func (w *walker) look(at int) {
	c := &w.out.Commands[at]
	first := c.Words[0]
	if !first.Known || first.Glob || first.Many {
		if !w.doubt {
			w.reasonAt(c.Start, c.End, Computed, "the name of the program is computed")
		}
		words := c.Words
		if first.Prefix != "" {
			// rm$IFS-rf: it begins with a program's name.
			name := Word{Text: first.Prefix, Prefix: first.Prefix, Known: true, Start: first.Start, End: first.End}
			w.out.Commands = append(w.out.Commands, Command{Words: append([]Word{name}, words[1:]...), Via: c.Via, Doubt: true, Start: c.Start, End: c.End})
		}
		if len(words) > 1 {
			w.doubtful(at, words[1:])
		}
		return
	}
	if !w.doubt && strings.ContainsFunc(first.Text, func(r rune) bool { return r >= 0x80 }) {
		w.reasonAt(c.Start, c.End, Misread, "the name of the program has letters that may look like others")
	}
	if listed(" in then else elif fi do done esac ", first.Text) {
		w.say(at, Misread, "a command with the name of a word of the shell's own")
	}
	name := c.Name()
	t := known()
	if wr, ok := t.wraps[name]; ok && w.wrapper(at, wr) {
		return
	}
	if listed(shells, name) {
		w.shell(at)
		return
	}
	if evals, ok := t.interpreter(name); ok {
		w.interpreter(at, evals)
		return
	}
	if name == "jobs" && len(c.Words) > 2 && c.Words[1].Text == "-x" {
		w.words(at, false, c.Words[2:], nil)
		return
	}
	w.builtin(at)
	if r, ok := t.programs[name]; ok {
		w.program(at, r)
	}
	if len(w.out.Commands) > at {
		c = &w.out.Commands[at]
		if len(w.via) == 0 || inShell(w.via) {
			w.move(c)
		}
	}
}

// inShell says that all of these run what they run in the shell itself.
func inShell(via []string) bool {
	for _, v := range via {
		if v != "command" && v != "builtin" && v != "eval" {
			return false
		}
	}
	return true
}

// shell looks into sh -c and its kind.
func (w *walker) shell(at int) {
	c := w.out.Commands[at]
	say := func(kind Kind, text string) { w.say(at, kind, text) }
	rest := c.Words[1:]
	text, stdin := false, false
	i := 0
	for ; i < len(rest); i++ {
		word := rest[i]
		if !word.Known || word.Glob {
			if word.Many || word.Prefix == "" || word.Prefix[0] == '-' {
				say(Computed, "what "+c.Name()+" runs is computed")
			}
			break
		}
		s := word.Text
		if s == "--" || s == "-" {
			i++
			break
		}
		if len(s) < 2 || s[0] != '-' && s[0] != '+' {
			break
		}
		switch s {
		case "--login", "--norc", "--noprofile", "--posix", "--restricted", "--verbose", "--version", "--help", "--noediting", "--no-rcs":
			continue
		case "--rcfile", "--init-file":
			say(Redefine, c.Name()+" reads a file of commands first")
			i++
			continue
		}
		// -k, -B, -O and others change how the text is read.
		if strings.Trim(s[1:], "cefhilnprstuvxCETo") != "" || s[0] == '+' {
			say(Opaque, "a flag of "+c.Name()+" that is not known, or changes how it reads")
			if s[1] == '-' {
				continue
			}
		}
		text = text || strings.Contains(s, "c")
		stdin = stdin || strings.Contains(s, "s")
		for range strings.Count(s, "o") + strings.Count(s, "O") {
			if i++; i < len(rest) && !(rest[i].Known && listed(" pipefail errexit nounset xtrace noglob noclobber noexec verbose ", rest[i].Text)) {
				say(Opaque, "a setting of "+c.Name()+" that changes how it reads")
			}
		}
	}
	operands := rest[min(i, len(rest)):]
	if !listed(" bash sh dash ash ", c.Name()) && (text || len(operands) == 0) {
		say(Opaque, "the language of "+c.Name()+" is not known")
	}
	switch {
	case text && len(operands) > 0:
		w.run(at, operands[0])
		if len(operands) > 1 {
			say(Computed, "words that the text of "+c.Name()+" may run")
			w.doubtful(at, operands[1:])
		}
	case text:
	case len(operands) > 0 && !stdin && !w.standardInput(operands[0]):
		w.access(at, tool.Read, operands[0], false)
		w.access(at, tool.Exec, operands[0], false)
	case len(rest) == 1 && (rest[0].Text == "--version" || rest[0].Text == "--help"):
	default:
		w.stdin(at)
	}
	if !text && len(operands) > 1 {
		w.doubtful(at, operands[1:])
	}
}
