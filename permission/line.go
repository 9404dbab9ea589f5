package permission

import (
	"slices"

	"github.com/cantle-dev/cantle/permission/internal/shell"
)

// line is a command line, taken apart.
type line struct {
	analysis *shell.Analysis
	of       [][]touched // by command
	touched  []touched
	git      []string // by command: what its repository would have it run, or ""
}

func (st *state) analyse(text, dir string) *line {
	// An error is in the analysis too: as what is unknown.
	a, _ := shell.Analyse(text, shell.Options{Dir: dir, Home: st.g.o.Home})
	l := &line{analysis: a, of: make([][]touched, len(a.Commands)), git: make([]string, len(a.Commands))}
	var moved []move
	for i := range a.Commands {
		l.git[i] = st.gitRuns(&a.Commands[i], l.touched)
		l.of[i] = st.ofCommand(&a.Commands[i], dir)
		st.through(l.of[i], moved)
		moved = append(moved, moves(&a.Commands[i], l.of[i])...)
		l.touched = append(l.touched, l.of[i]...)
	}
	return l
}

// runs reports whether there is a command that needs a rule. What is written in
// the workspace goes with such a rule; a redirect alone has none to go with.
func (l *line) runs() bool {
	return slices.ContainsFunc(l.analysis.Commands, func(c shell.Command) bool { return len(c.Words) > 0 && !c.Passes && !c.Doubt })
}

// unknown are the parts of the text of which nothing can be known.
func (l *line) unknown() []Span {
	var out []Span
	for _, u := range l.analysis.Unknown {
		out = append(out, spans(Span{u.Start, u.End})...)
	}
	return out
}

// hit reports whether a deny or ask rule is for one of the commands.
func (l *line) hit(p *pattern, fold bool) (hit, bool) {
	var maybe *hit
	for i := range l.analysis.Commands {
		c := &l.analysis.Commands[i]
		for _, s := range l.subjects(c, fold) {
			sure, perhaps := p.matches(s)
			if !perhaps {
				continue
			}
			h := hit{what: "it would run " + show(c), words: spans(Span{c.Start, c.End}), perhaps: !sure}
			if sure {
				return h, true
			}
			if maybe == nil {
				maybe = &h
			}
		}
	}
	if maybe != nil {
		return *maybe, true
	}
	return hit{}, false
}

// subjects are the ways in which rules look at a command: also with the
// variables in front of it.
func (l *line) subjects(c *shell.Command, fold bool) [][]byte {
	out := subjects(c.Words, fold)
	if len(c.Assigns) > 0 {
		words := make([]shell.Word, 0, len(c.Assigns)+len(c.Words))
		for _, a := range c.Assigns {
			w := a.Value
			w.Text, w.Prefix = a.Name+"="+w.Text, a.Name+"="+w.Prefix
			words = append(words, w)
		}
		out = append(out, subject(slices.Concat(words, c.Words)))
	}
	return out
}
