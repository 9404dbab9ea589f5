package search

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// dfa says which lines match, one table lookup a byte. Its states are sets of
// places in the program of the expression, and are made as the text asks for
// them (Thompson's construction, built lazily). Assertions such as \b depend on
// the characters on both sides, so a state is what holds before the next
// character is known: a match shows one character late.
//
// A dfa is of one goroutine.
type dfa struct {
	prog     *syntax.Prog
	anchored bool   // a match begins where a line does
	wordy    bool   // \b or \B is in it
	bounds   []rune // where a class of non-ASCII runes begins, the first at 0x80
	width    int    // of a row

	tab    []int32 // rows; an entry is where the next state's row begins, or one of the marks
	states []dstate
	index  map[string]int32
	begin  int32 // the state at the start of a line
	bytes  int   // memory in use, about

	seen    int // bytes since the table was last thrown away
	strikes int // how often that was too soon
	broken  bool

	set   []bool // scratch
	order []uint32
	stack []uint32
}

type dstate struct {
	kernel []uint32 // sorted; no pure jumps among them
	prev   before
}

// before is what kind of character came last.
type before byte

const (
	nothing before = iota
	word
	other
)

// Marks in the table.
const (
	unknown int32 = -1 - iota
	matched
	dead // no match can come of this line
	cret // a carriage return: what is next decides
	wide // the first byte of a rune that is not ASCII
)

// Columns of a row beyond those of the bytes.
const (
	colCR    = 256 // a carriage return within a line
	colClass = 257
)

// dfaMemory is how much one table may take before it is thrown away.
const dfaMemory = 8 << 20

// newDFA makes a table for prog, or nil if it would be too large.
func newDFA(prog *syntax.Prog) *dfa {
	d := &dfa{prog: prog, bounds: []rune{utf8.RuneSelf}}
	cond := prog.StartCond()
	d.anchored = cond != ^syntax.EmptyOp(0) && cond&(syntax.EmptyBeginText|syntax.EmptyBeginLine) != 0
	for i := range prog.Inst {
		in := &prog.Inst[i]
		switch in.Op {
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0 {
				d.wordy = true
			}
		case syntax.InstRune, syntax.InstRune1:
			if len(in.Rune) == 1 {
				d.bound(in.Rune[0], in.Rune[0])
				if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
					for r := unicode.SimpleFold(in.Rune[0]); r != in.Rune[0]; r = unicode.SimpleFold(r) {
						d.bound(r, r)
					}
				}
				continue
			}
			for k := 0; k+1 < len(in.Rune); k += 2 {
				d.bound(in.Rune[k], in.Rune[k+1])
			}
		}
	}
	d.bound(utf8.RuneError, utf8.RuneError)
	slices.Sort(d.bounds)
	d.bounds = slices.Compact(d.bounds)
	d.width = colClass + len(d.bounds)
	if d.width*4*16+len(prog.Inst)*64 > dfaMemory {
		return nil
	}
	d.set = make([]bool, len(prog.Inst))
	if d.clear(); d.begin < 0 {
		return nil // nothing matches, ever
	}
	return d
}

func (d *dfa) bound(lo, hi rune) {
	for _, r := range []rune{lo, hi + 1} {
		if r > utf8.RuneSelf && r <= unicode.MaxRune {
			d.bounds = append(d.bounds, r)
		}
	}
}

func (d *dfa) clear() {
	d.tab, d.states, d.index, d.bytes = d.tab[:0], d.states[:0], map[string]int32{}, 0
	d.open(uint32(d.prog.Start))
	d.begin = d.state(nothing)
}

// open adds pc to the set that is being made, through pure jumps.
func (d *dfa) open(pc uint32) {
	d.stack = append(d.stack[:0], pc)
	for len(d.stack) > 0 {
		pc := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		in := &d.prog.Inst[pc]
		switch in.Op {
		case syntax.InstFail:
			continue
		case syntax.InstNop, syntax.InstCapture:
			if !d.set[pc] {
				d.set[pc] = true
				d.order = append(d.order, pc)
				d.stack = append(d.stack, in.Out)
			}
			continue
		case syntax.InstAlt, syntax.InstAltMatch:
			if !d.set[pc] {
				d.set[pc] = true
				d.order = append(d.order, pc)
				d.stack = append(d.stack, in.Out, in.Arg)
			}
			continue
		}
		if !d.set[pc] {
			d.set[pc] = true
			d.order = append(d.order, pc)
		}
	}
}

// take empties the set that was made and gives what of it waits for input.
func (d *dfa) take() []uint32 {
	kernel := d.order[:0]
	for _, pc := range d.order {
		d.set[pc] = false
		switch d.prog.Inst[pc].Op {
		case syntax.InstNop, syntax.InstCapture, syntax.InstAlt, syntax.InstAltMatch:
		default:
			kernel = append(kernel, pc)
		}
	}
	d.order = d.order[:0]
	slices.Sort(kernel)
	return kernel
}

// state gives the row of the state of the set that was made.
func (d *dfa) state(prev before) int32 {
	kernel := d.take()
	if prev == word && !d.wordy {
		prev = other
	}
	if len(kernel) == 0 {
		return dead
	}
	key := make([]byte, 1, 1+4*len(kernel))
	key[0] = byte(prev)
	for _, pc := range kernel {
		key = append(key, byte(pc), byte(pc>>8), byte(pc>>16), byte(pc>>24))
	}
	if at, ok := d.index[string(key)]; ok {
		return at
	}
	at := int32(len(d.tab))
	for i := range d.width {
		mark := unknown
		switch {
		case i == '\r':
			mark = cret
		case i >= utf8.RuneSelf && i < 256:
			mark = wide
		}
		d.tab = append(d.tab, mark)
	}
	d.states = append(d.states, dstate{slices.Clone(kernel), prev})
	d.index[string(key)] = at
	d.bytes += d.width*4 + len(key)*2 + 100
	return at
}

// step works out an entry: from the state whose row is at, with r, or -1 at the
// end of the line.
func (d *dfa) step(at int32, r rune) int32 {
	st := d.states[int(at)/d.width]
	last := [...]rune{nothing: -1, word: 'a', other: ' '}[st.prev]
	flags := syntax.EmptyOpContext(last, r)
	// What the assertions let through.
	for _, pc := range st.kernel {
		d.open(pc)
	}
	for i := 0; i < len(d.order); i++ {
		in := &d.prog.Inst[d.order[i]]
		switch in.Op {
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^flags == 0 {
				d.open(in.Out)
			}
		case syntax.InstMatch:
			d.take()
			return matched
		}
	}
	through := slices.Clone(d.take())
	if r < 0 {
		return d.begin
	}
	for _, pc := range through {
		in := &d.prog.Inst[pc]
		var ok bool
		switch in.Op {
		case syntax.InstRune:
			ok = in.MatchRune(r)
		case syntax.InstRune1:
			ok = r == in.Rune[0]
		case syntax.InstRuneAny:
			ok = true
		case syntax.InstRuneAnyNotNL:
			ok = r != '\n'
		}
		if ok {
			d.open(in.Out)
		}
	}
	if !d.anchored {
		d.open(uint32(d.prog.Start))
	}
	prev := other
	if syntax.IsWordChar(r) {
		prev = word
	}
	return d.state(prev)
}

// next finds the next line of buf[from:] that matches, where from is the start
// of one, and gives a place in it or its end; -1 if there is none. The end of
// buf ends a line that is not empty.
func (d *dfa) next(buf []byte, from int) int {
	s, i := d.begin, from
	mark := from // up to where d.seen counts
	for {
		tab := d.tab
		for i < len(buf) {
			t := tab[int(s)+int(buf[i])]
			if t < 0 {
				break
			}
			s = t
			i++
		}
		col, size, r := 0, 1, rune(-1)
		if i >= len(buf) {
			if i == from || buf[i-1] == '\n' {
				d.seen += i - mark
				return -1
			}
			col = '\n'
		} else {
			col = int(buf[i])
			if col != '\n' {
				r = rune(col)
			}
		}
		t := d.tab[int(s)+col]
		switch t {
		case cret:
			if i+1 == len(buf) || buf[i+1] == '\n' {
				i++ // it belongs to the end of the line
				continue
			}
			col, r = colCR, '\r'
			t = d.tab[int(s)+col]
		case wide:
			r, size = utf8.DecodeRune(buf[i:])
			class, found := slices.BinarySearch(d.bounds, r)
			if !found {
				class--
			}
			col = colClass + class
			t = d.tab[int(s)+col]
		}
		if t == unknown {
			if d.bytes > dfaMemory {
				d.seen += i - mark
				mark = i
				if s = d.renew(s); d.broken {
					return i
				}
			}
			t = d.entry(s, col, r)
		}
		switch {
		case t == matched:
			d.seen += i - mark
			return i
		case i >= len(buf):
			d.seen += i - mark
			return -1
		case t == dead:
			i = seek(buf, i, '\n') + 1
			s = d.begin
			if i >= len(buf) {
				d.seen += len(buf) - mark
				return -1
			}
		default:
			s = t
			i += size
		}
	}
}

// entry gives one entry of the table and fills it in.
func (d *dfa) entry(s int32, col int, r rune) int32 {
	t := d.step(s, r)
	d.tab[int(s)+col] = t
	return t
}

// renew throws the table away but for the present state. An expression that
// fills it again and again, with little text between, is better off without.
func (d *dfa) renew(s int32) int32 {
	if d.seen < 16*len(d.states) {
		if d.strikes++; d.strikes >= 3 {
			d.broken = true
		}
	}
	d.seen = 0
	st := d.states[int(s)/d.width]
	d.clear()
	for _, pc := range st.kernel {
		d.open(pc)
	}
	return d.state(st.prev)
}

// matches says whether one line, which is not empty, matches.
func (d *dfa) matches(line []byte) bool { return d.next(line, 0) >= 0 }

// lineOf gives the ends of the line of buf that place i is in, or ends.
func lineOf(buf []byte, from, i int) (ls, le int) {
	return bytes.LastIndexByte(buf[from:i], '\n') + 1 + from, seek(buf, i, '\n')
}
