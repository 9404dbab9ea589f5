package shell

import "strings"

// An effect is what a flag does, as a set of bits.
type effect uint16

const (
	takesValue effect = 1 << iota // :
	mayValue                      // =  only if attached
	reads                         // <  the file that its value names
	writes                        // >  the file that its value names
	executes                      // !  its value, a command
	connects                      // @  to its value
	changes                       // *  something else than can be said here
	isPattern                     // %  its value is what else the first operand would be
	isTarget                      // ^  its value is the directory that operands go into
	scripts                       // $  its value is a program in the language of this one
)

var effectSigns = map[byte]effect{
	':': takesValue, '=': mayValue, '<': takesValue | reads, '>': takesValue | writes, '!': takesValue | executes,
	'@': takesValue | connects, '*': changes, '%': takesValue | isPattern, '^': takesValue | isTarget, '$': takesValue | scripts | isPattern,
}

// flags are the flags of a program: "n o> output>" has -n, and -o and --output
// with a file to write. A name of one letter is a short flag.
type flags map[string]effect

func parseFlags(spec string) flags {
	f := flags{}
	for token := range strings.FieldsSeq(spec) {
		name := strings.TrimRight(token, ":=<>!@*%^$")
		var e effect
		for _, sign := range []byte(token[len(name):]) {
			e |= effectSigns[sign]
		}
		if e&mayValue != 0 {
			e &^= takesValue
		}
		f[name] = e
	}
	return f
}

// option is one flag of a command line.
type option struct {
	name  string
	does  effect
	value Word
	has   bool // has a value
}

// args are the words of a command line, sorted.
type args struct {
	options  []option
	operands []Word
	rest     int  // index of the first operand in the words that were sorted
	unknown  bool // a flag that the table does not have
	doubt    bool // a word that may be a flag, or several words
}

func (a *args) get(names ...string) (Word, bool) {
	for _, o := range a.options {
		for _, n := range names {
			if o.name == n {
				return o.value, true
			}
		}
	}
	return Word{}, false
}

// sortArgs sorts words as getopt_long does. With first, it stops at the first
// operand. With oneDash, -name is a long flag and flags are not clustered.
func sortArgs(f flags, words []Word, first, oneDash bool) args {
	a := args{rest: len(words)}
	for i := 0; i < len(words); i++ {
		w := words[i]
		sure := w.Known && !w.Glob && !w.Many
		if !sure && !w.commit && (w.Many || w.Prefix == "" || w.Prefix[0] == '-') {
			a.doubt = true
		}
		text := w.Text
		if len(text) < 2 || text[0] != '-' {
			if len(a.operands) == 0 {
				a.rest = i
			}
			if first {
				a.operands = words[i:]
				return a
			}
			a.operands = append(a.operands, w)
			continue
		}
		if text == "--" {
			if len(a.operands) == 0 {
				a.rest = i + 1
			}
			a.operands = append(a.operands, words[i+1:]...)
			return a
		}
		if text[1] == '-' || oneDash {
			name, value, attached := strings.Cut(strings.TrimPrefix(text[1:], "-"), "=")
			does, ok := f.long(name, oneDash)
			if !ok {
				a.unknown = true
			}
			o := option{name: f.full(name), does: does}
			switch {
			case attached:
				o.value, o.has = cut(w, len(text)-len(value)), true
			case does&takesValue != 0 && i+1 < len(words):
				i++
				o.value, o.has = words[i], true
				a.doubt = a.doubt || words[i].Many
			case does&takesValue != 0:
				a.unknown = true
			}
			a.options = append(a.options, o)
			continue
		}
		for j := 1; j < len(text); j++ {
			name := text[j : j+1]
			does, ok := f[name]
			if !ok {
				a.unknown = true
			}
			o := option{name: name, does: does}
			if does&(takesValue|mayValue) != 0 {
				if j+1 < len(text) {
					o.value, o.has = cut(w, j+1), true
				} else if does&takesValue != 0 && i+1 < len(words) {
					i++
					o.value, o.has = words[i], true
					a.doubt = a.doubt || words[i].Many
				} else if does&takesValue != 0 {
					a.unknown = true
				}
				j = len(text)
			}
			a.options = append(a.options, o)
		}
	}
	return a
}

// cut is the end of a word.
func cut(w Word, from int) Word {
	w.Text = w.Text[min(from, len(w.Text)):]
	w.Prefix = w.Prefix[min(from, len(w.Prefix)):]
	return w
}

// long finds a long flag, by any beginning of its name. Of several that match
// the one that does most counts.
func (f flags) long(name string, exact bool) (does effect, ok bool) {
	if e, found := f[name]; found && (len(name) > 1 || exact) {
		return e, true
	}
	if exact || name == "" {
		return 0, false
	}
	for n, e := range f {
		if len(n) > 1 && strings.HasPrefix(n, name) {
			does, ok = does|e, true
		}
	}
	return does, ok
}

// full is the whole name of a long flag, if there is but one.
func (f flags) full(name string) string {
	if _, ok := f[name]; ok {
		return name
	}
	found := ""
	for n := range f {
		if len(n) > 1 && name != "" && strings.HasPrefix(n, name) {
			if found != "" {
				return name
			}
			found = n
		}
	}
	if found == "" {
		return name
	}
	return found
}
