package shell

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walker finds the commands of a tree.
type walker struct {
	o     Options
	out   *Analysis
	text  string // of the tree
	depth int    // of texts within texts
	fixed *span  // where all is placed, in a text within a text

	via         []string
	transparent bool
	place       Place
	doubt       bool
	ends        bool // within doubtful
	dirs        outcome
	lost        bool            // no cd makes the directory known again
	noHome      bool            // HOME may be set
	ifs         bool            // IFS may be set
	integers    map[string]bool // the variables that hold numbers
	posix       bool            // in a text that some other shell than bash runs
	err         error
	steps       *int // of looking through, over the whole analysis
}

func newWalker(text string, o Options) *walker {
	w := &walker{o: o, out: &Analysis{Text: text}, text: text, transparent: true, steps: new(int)}
	w.dirs = always(nil)
	if strings.HasPrefix(o.Dir, "/") {
		w.dirs = always([]string{o.Dir})
	}
	return w
}

func (w *walker) home() string {
	if w.noHome {
		return ""
	}
	return w.o.Home
}

func (w *walker) span(n syntax.Node) (start, end int) {
	if w.fixed != nil {
		return w.fixed.from, w.fixed.to
	}
	start, end = min(int(n.Pos().Offset()), len(w.text)), min(int(n.End().Offset()), len(w.text))
	return start, max(start, end)
}

func (w *walker) source(n syntax.Node) string { return slice(w.text, n) }

func (w *walker) reason(n syntax.Node, kind Kind, text string) {
	start, end := w.span(n)
	w.reasonAt(start, end, kind, text)
}

// maxReasons are as many as anyone reads.
const maxReasons = 64

func (w *walker) reasonAt(start, end int, kind Kind, text string) {
	if len(w.out.Unknown) < maxReasons {
		w.out.Unknown = append(w.out.Unknown, Reason{Kind: kind, Text: text, Start: start, End: end})
	}
}

func (w *walker) file(f *syntax.File) {
	// A home that the command itself may set is not known.
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp:
			return !n.Short && (n.Param == nil || n.Param.Value != "HOME" || n.Exp != nil)
		case *syntax.Lit:
			w.noHome = w.noHome || strings.Contains(n.Value, "HOME")
			w.lost = w.lost || strings.Contains(n.Value, "CDPATH")
			w.ifs = w.ifs || strings.Contains(n.Value, "IFS")
		case *syntax.SglQuoted:
			w.noHome = w.noHome || strings.Contains(n.Value, "HOME=")
		}
		return true
	})
	outer := w.integers
	w.integers = nil
	if w.depth == 0 { // the variables of another shell may come from anywhere
		w.integers = numbers(f)
	}
	w.stmts(f.Stmts)
	w.integers = outer
}

func (w *walker) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		w.dirs = always(w.dirs.any())
		w.stmt(s)
	}
}

// at runs f with more said of where it stands.
func (w *walker) at(p Place, f func()) {
	old := w.place
	w.place |= p
	f()
	w.place = old
}

// subshell runs f in a shell of its own, whose directory is its own.
func (w *walker) subshell(p Place, f func()) {
	dirs := w.dirs
	w.dirs = always(dirs.any())
	w.at(p, f)
	w.dirs = always(dirs.any())
}

func (w *walker) substitution(list []*syntax.Stmt) {
	w.subshell(InSubstitution, func() { w.stmts(list) })
}

func (w *walker) stmt(s *syntax.Stmt) {
	if w.err != nil || s == nil {
		return
	}
	if s.Coprocess || s.Disown {
		w.reason(s, Opaque, "a separator of another shell")
	}
	if s.Background {
		w.subshell(InBackground, func() { w.plain(s) })
		return
	}
	w.plain(s)
	if s.Negated {
		w.dirs.ok, w.dirs.fail = w.dirs.fail, w.dirs.ok
	}
}

func (w *walker) plain(s *syntax.Stmt) {
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		w.call(s, call)
		return
	}
	if decl, ok := s.Cmd.(*syntax.DeclClause); ok {
		w.declare(s, decl)
		return
	}
	// The redirects of what holds commands are a command of their own.
	if len(s.Redirs) > 0 {
		c := Command{}
		c.Start, c.End = w.span(s)
		w.redirects(&c, s.Redirs)
		w.emit(c)
	}
	switch c := s.Cmd.(type) {
	case nil:
	case *syntax.Subshell:
		w.subshell(InSubshell, func() { w.stmts(c.Stmts) })
	case *syntax.Block:
		w.stmts(c.Stmts)
	case *syntax.BinaryCmd:
		w.binary(c)
	case *syntax.IfClause:
		w.conditional(c)
	case *syntax.WhileClause:
		w.loop(func() { w.stmts(c.Cond); w.stmts(c.Do) })
	case *syntax.ForClause:
		w.forClause(c)
	case *syntax.CaseClause:
		w.caseClause(c)
	case *syntax.TimeClause:
		at := len(w.out.Commands)
		w.stmt(c.Stmt)
		if dashed(c.Stmt) && at < len(w.out.Commands) {
			w.reason(c, Misread, "a flag of time, which is not one to every shell")
			w.doubtful(at, w.out.Commands[at].Words[1:])
		}
	case *syntax.CoprocClause:
		if c.Name != nil {
			w.inner(c.Name)
			if !ownVariable(c.Name.Lit()) {
				w.reason(c.Name, Redefine, "a coprocess that sets a variable which programs may read")
			}
		}
		at := len(w.out.Commands)
		w.subshell(InBackground, func() { w.stmt(c.Stmt) })
		if at < len(w.out.Commands) && len(w.out.Commands[at].Words) > 0 && assignment(w.out.Commands[at].Words[0].Prefix) {
			w.reason(c, Misread, "a coprocess that begins with an assignment")
			w.doubtful(at, w.out.Commands[at].Words[1:])
		}
	case *syntax.FuncDecl:
		w.function(c)
	case *syntax.ArithmCmd:
		w.arithmetic(c.X)
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			w.arithmetic(x)
		}
		w.reason(c, Redefine, "let sets variables")
	case *syntax.TestClause:
		w.test(c.X)
	default:
		w.reason(s, Opaque, "a form of command that is not understood")
	}
}

// dashed says that a command begins with a dash.
func dashed(s *syntax.Stmt) bool {
	if s == nil {
		return false
	}
	call, ok := s.Cmd.(*syntax.CallExpr)
	return ok && len(call.Args) > 0 && strings.HasPrefix(call.Args[0].Lit(), "-")
}

func (w *walker) binary(b *syntax.BinaryCmd) {
	switch b.Op {
	case syntax.AndStmt, syntax.OrStmt:
		w.stmt(b.X)
		first := w.dirs
		if b.Op == syntax.AndStmt {
			w.dirs = always(first.ok)
		} else {
			w.dirs = always(first.fail)
		}
		w.at(InCondition, func() { w.stmt(b.Y) })
		if b.Op == syntax.AndStmt {
			w.dirs.fail = union(first.fail, w.dirs.fail)
		} else {
			w.dirs.ok = union(first.ok, w.dirs.ok)
		}
	case syntax.Pipe, syntax.PipeAll:
		w.subshell(InPipe, func() { w.stmt(b.X) })
		if b.Y != nil && leftmostTime(b.Y) {
			w.reason(b.Y, Misread, "time within a pipe, which is a program there")
		}
		w.subshell(InPipe, func() { w.stmt(b.Y) })
	default:
		w.reason(b, Opaque, "a separator that is not understood")
		w.stmt(b.X)
		w.stmt(b.Y)
	}
}

// leftmostTime says that a pipe, or a part of it, begins with the word time.
func leftmostTime(s *syntax.Stmt) bool {
	for {
		switch c := s.Cmd.(type) {
		case *syntax.TimeClause:
			return true
		case *syntax.BinaryCmd:
			s = c.X
		default:
			return false
		}
	}
}

func (w *walker) conditional(c *syntax.IfClause) {
	w.stmts(c.Cond)
	cond := w.dirs
	if len(c.Cond) > 0 {
		w.dirs = always(cond.ok)
	}
	w.at(InCondition, func() { w.stmts(c.Then) })
	then := w.dirs.any()
	w.dirs = always(cond.fail)
	if c.Else != nil {
		w.at(InCondition, func() { w.conditional(c.Else) })
	}
	if len(c.Cond) == 0 { // an else
		w.dirs = always(then)
		return
	}
	w.dirs = always(union(then, w.dirs.any()))
}

// loop walks what may run any number of times. If that moves, no directory
// within it is known.
func (w *walker) loop(body func()) {
	from, before := len(w.out.Commands), w.dirs.any()
	w.dirs = always(before)
	w.at(InCondition, body)
	if !same(before, w.dirs.any()) {
		for i := from; i < len(w.out.Commands); i++ {
			w.out.Commands[i].Dirs = nil
		}
		w.dirs = always(nil)
	}
}

func (w *walker) forClause(c *syntax.ForClause) {
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		if !ownVariable(l.Name.Value) {
			w.reason(l.Name, Redefine, "a loop over a variable that programs may read")
		}
		for _, item := range l.Items {
			w.expand(item)
		}
	case *syntax.CStyleLoop:
		w.arithmetic(l.Init)
		w.arithmetic(l.Cond)
		w.arithmetic(l.Post)
	default:
		w.reason(c, Opaque, "a loop that is not understood")
	}
	w.loop(func() { w.stmts(c.Do) })
}

func (w *walker) caseClause(c *syntax.CaseClause) {
	w.single(c.Word)
	before := w.dirs.any()
	after := before
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			w.inner(p)
		}
		w.dirs = always(union(before, after)) // ;& and ;;& go on to the next
		w.at(InCondition, func() { w.stmts(item.Stmts) })
		after = union(after, w.dirs.any())
	}
	w.dirs = always(after)
}

func (w *walker) function(f *syntax.FuncDecl) {
	w.reason(f, Redefine, "a function, which gives a name another meaning")
	before := w.dirs.any()
	w.dirs = always(nil)
	w.at(InFunction, func() { w.stmt(f.Body) })
	if hasMove(w.source(f)) || w.fixed != nil {
		w.lost = true
		before = nil
	}
	w.dirs = always(before)
}

// hasMove says that a text may change the directory, if only by its letters.
func hasMove(text string) bool {
	for _, s := range []string{"cd", "pushd", "popd", "eval", "source", ". ", `\`, `'`, `"`, "$", "`"} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

func (w *walker) test(x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.AndTest, syntax.OrTest:
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			for _, side := range []syntax.TestExpr{x.X, x.Y} {
				if word, ok := side.(*syntax.Word); ok {
					w.arithmetic(word)
				}
			}
			return
		}
		w.test(x.X)
		w.test(x.Y)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			if word, ok := x.X.(*syntax.Word); !ok || !isName(word.Lit()) {
				w.reason(x, Computed, "a test of a variable evaluates the subscript in its name")
			}
		}
		w.test(x.X)
	case *syntax.ParenTest:
		w.test(x.X)
	case *syntax.Word:
		w.inner(x)
	default:
		w.reason(x, Opaque, "a test that is not understood")
	}
}

func (w *walker) call(s *syntax.Stmt, call *syntax.CallExpr) {
	c := Command{}
	c.Start, c.End = w.span(s)
	for _, a := range call.Assigns {
		w.assign(&c, a)
		if len(call.Args) > 0 && a.Pos().After(call.Args[0].Pos()) {
			w.reason(a, Misread, "an assignment behind the command, which is a word of it")
		}
	}
	for _, arg := range call.Args {
		c.Words = append(c.Words, w.expand(arg)...)
	}
	if c.Name() == "read" {
		for i := range c.Assigns { // for read alone
			c.Assigns[i].Harmless = c.Assigns[i].Harmless || c.Assigns[i].Name == "IFS"
		}
	}
	w.redirects(&c, s.Redirs)
	w.emit(c)
}

func (w *walker) assign(c *Command, a *syntax.Assign) {
	if a.Index != nil {
		w.arithmetic(a.Index)
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				w.arithmetic(e.Index)
			}
			w.inner(e.Value)
		}
	}
	value := w.single(a.Value)
	if a.Array != nil {
		value = Word{Text: w.source(a.Array)}
	}
	start, end := w.span(a)
	c.Assigns = append(c.Assigns, Assign{
		Name: a.Name.Value, Value: value, Start: start, End: end,
		Harmless: harmlessVariable(a.Name.Value, value) && a.Array == nil && a.Index == nil,
	})
}

// declare is export, declare and their kind, which the parser knows by name.
func (w *walker) declare(s *syntax.Stmt, d *syntax.DeclClause) {
	c := Command{}
	c.Start, c.End = w.span(s)
	start, end := w.span(d.Variant)
	c.Words = []Word{{Text: d.Variant.Value, Known: true, Prefix: d.Variant.Value, Start: start, End: end}}
	integer := false
	for _, a := range d.Args {
		start, end := w.span(a)
		switch {
		case a.Name == nil:
			words := w.expand(a.Value)
			for _, word := range words {
				if !word.Known || strings.ContainsAny(word.Text, "[=") {
					w.reason(a, Computed, "a name of a variable that is computed, or has a subscript")
				}
				integer = integer || strings.HasPrefix(word.Text, "-") && strings.ContainsAny(word.Text, "inaA")
			}
			c.Words = append(c.Words, words...)
		case a.Naked:
			if a.Index != nil {
				w.arithmetic(a.Index)
				w.reason(a, Computed, "a name of a variable that has a subscript")
			}
			c.Words = append(c.Words, Word{Text: a.Name.Value, Known: true, Prefix: a.Name.Value, Start: start, End: end})
		default:
			w.assign(&c, a)
			v := c.Assigns[len(c.Assigns)-1].Value
			text := a.Name.Value + "=" + v.Text
			c.Words = append(c.Words, Word{Text: text, Known: v.Known, Prefix: a.Name.Value + "=" + v.Prefix, Start: start, End: end})
		}
	}
	if integer {
		w.reason(d, Computed, "a variable whose value or name is evaluated")
	}
	w.redirects(&c, s.Redirs)
	w.emit(c)
}

// emit adds a command, and what it would run.
func (w *walker) emit(c Command) {
	if w.err != nil {
		return
	}
	if w.o.MaxCommands >= 0 && len(w.out.Commands) >= w.o.MaxCommands {
		w.err = fmt.Errorf("shell: %w: more than %d commands", ErrLimit, w.o.MaxCommands)
		return
	}
	c.Via, c.Transparent, c.Place, c.Doubt = w.via, w.transparent, w.place, w.doubt
	c.Dirs = w.dirs.any()
	c.Network = !w.doubt && needsNetwork(&c)
	w.dirs = always(c.Dirs)
	at := len(w.out.Commands)
	w.out.Commands = append(w.out.Commands, c)
	if len(c.Words) > 0 {
		w.look(at)
	}
	w.variables(at)
}
