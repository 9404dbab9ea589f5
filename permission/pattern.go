package permission

import (
	"errors"
	"strings"

	"github.com/cantle-dev/cantle/permission/internal/shell"
)

// pattern is what a rule of Bash says of a command: words, in which there may
// be stars, and whether more words may follow.
//
// It is matched against the words of one command, joined by wordEnd, which no
// argument can hold. A star in the open stands for anything, words included;
// one within quotes for anything within its word.
type pattern struct {
	steps []step
	open  bool // more words may follow
	any   bool // every command
}

type step struct {
	c    byte
	star star
}

type star byte

const (
	noStar star = iota
	anyStar
	wordStar
)

const (
	wordEnd = 0 // joins words
	hidden  = 1 // in a subject: what is computed only when it runs
)

// parsePattern reads the matcher of a rule of Bash.
func parsePattern(text string) (*pattern, error) {
	p := &pattern{}
	if strings.HasSuffix(text, ":*") && !strings.HasSuffix(text, `\:*`) {
		text, p.open = strings.TrimSpace(strings.TrimSuffix(text, ":*")), true
		if text == "" {
			return nil, errors.New("no command stands before :*")
		}
	}
	var quote byte
	blank, word := false, false // a blank is due; a word has begun
	add := func(s step) {
		if blank {
			p.steps = append(p.steps, step{c: wordEnd})
		}
		blank, word = false, true
		p.steps = append(p.steps, s)
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(text) && (quote == 0 || strings.IndexByte("\\\"$`*", text[i+1]) >= 0):
			i++
			add(step{c: text[i]})
		case quote == 0 && (c == '\'' || c == '"') && strings.IndexByte(text[i+1:], c) >= 0:
			quote = c
			if blank {
				p.steps, blank = append(p.steps, step{c: wordEnd}), false
			}
			word = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && strings.IndexByte(" \t\n", c) >= 0:
			blank = blank || word
			word = false
		case c == '*' && quote != 0:
			add(step{star: wordStar})
		case c == '*':
			add(step{star: anyStar})
		default:
			add(step{c: c})
		}
	}
	if n := len(p.steps); n >= 2 && p.steps[n-1].star == anyStar && p.steps[n-2] == (step{}) {
		p.steps, p.open = p.steps[:n-2], true // "git *" is "git" and then anything
	}
	if len(p.steps) == 0 {
		return nil, errors.New("no command stands in it")
	}
	if len(p.steps) > 4096 {
		return nil, errors.New("it is longer than 4096 characters")
	}
	p.any = len(p.steps) == 1 && p.steps[0].star == anyStar
	return p, nil
}

// matches says whether the pattern is for the subject: for sure, or perhaps,
// for what is hidden in it.
func (p *pattern) matches(subject []byte) (sure, perhaps bool) {
	if p.any {
		return true, true
	}
	if p.simulate(subject, false) {
		return true, true
	}
	for _, c := range subject {
		if c == hidden {
			return false, p.simulate(subject, true)
		}
	}
	return false, false
}

// names is how many words the pattern begins with that are without stars.
func (p *pattern) names() int {
	n := 0
	for _, s := range p.steps {
		switch {
		case s.star != noStar:
			return n
		case s.c == wordEnd:
			n++
		}
	}
	return n + 1
}

// simulate runs the pattern over the subject, all ways at once. With loose,
// what is hidden may be anything; without, only a star stands for it.
func (p *pattern) simulate(subject []byte, loose bool) bool {
	n := len(p.steps)
	now, next := make([]bool, n+1), make([]bool, n+1)
	closure := func(set []bool) (live bool) {
		for i := range n {
			if set[i] {
				live = true
				if p.steps[i].star != noStar {
					set[i+1] = true
				}
			}
		}
		return live || set[n]
	}
	now[0] = true
	closure(now)
	for _, c := range subject {
		if p.open && now[n] && c == wordEnd {
			return true
		}
		clear(next)
		if c == hidden && loose {
			on := false
			for i := range now {
				on = on || now[i]
				next[i] = on
			}
			if p.open && on {
				return true
			}
		} else {
			for i, s := range p.steps {
				if !now[i] {
					continue
				}
				switch {
				case s.star == anyStar, s.star == wordStar && c != wordEnd:
					next[i] = true
				case s.star == noStar && s.c == c && c != hidden:
					next[i+1] = true
				}
			}
		}
		if !closure(next) {
			return false
		}
		now, next = next, now
	}
	return now[n]
}

// subject is the words of a command as patterns are matched against them.
func subject(words []shell.Word) []byte {
	var b []byte
	for i, w := range words {
		if i > 0 {
			b = append(b, wordEnd)
		}
		if w.Known && !w.Glob && !w.Many {
			b = appendWord(b, w.Text)
			continue
		}
		b = append(appendWord(b, w.Prefix), hidden)
	}
	return b
}

// appendWord adds a word; the two bytes with a meaning of their own cannot be
// in an argument that is known, or count as hidden.
func appendWord(b []byte, text string) []byte {
	for i := range len(text) {
		c := text[i]
		if c == wordEnd {
			c = hidden
		}
		b = append(b, c)
	}
	return b
}

// subjects are all ways in which a deny or ask rule looks at a command: with
// its program's base name, and without the options before a subcommand, each of
// which may have taken a word.
func subjects(words []shell.Word, fold bool) [][]byte {
	out := [][]byte{subject(words)}
	if len(words) == 0 {
		return out
	}
	head := words[0]
	if head.Known && !head.Glob {
		base := head.Text[strings.LastIndexByte(head.Text, '/')+1:]
		if fold {
			base = strings.ToLower(strings.TrimSuffix(strings.ToLower(base), ".exe"))
		}
		if base != head.Text {
			head.Text, head.Prefix = base, base
			out = append(out, subject(append([]shell.Word{head}, words[1:]...)))
		}
	}
	option := func(w shell.Word) bool { return strings.HasPrefix(w.Text, "-") || strings.HasPrefix(w.Text, "+") }
	for i := 1; i < len(words) && i <= 16 && (option(words[i]) || i > 1 && option(words[i-1])); i++ {
		out = append(out, subject(append([]shell.Word{head}, words[i+1:]...)))
	}
	return out
}
