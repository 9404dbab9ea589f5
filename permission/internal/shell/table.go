package shell

import (
	"strings"
	"sync"
)

// A row is what is known of a program.
type row struct {
	kind     string // what its operands are: see walker.operands
	flags    flags
	reading  bool // changes nothing, as far as its flags do not
	complete bool // what it touches is in its words
	risky    bool // has flags that change something
}

// A wrap is what is known of a program that runs another.
type wrap struct {
	kind    string
	skip    int
	assigns bool
	verbs   []string
	flags   flags
}

type tables struct {
	programs map[string]row
	git      map[string]row
	wraps    map[string]wrap
	gitFlags flags
	gitExec  flags
	interp   map[string][]string
}

// known holds the tables, taken apart once.
var known = sync.OnceValue(func() *tables {
	t := &tables{
		programs: map[string]row{}, git: map[string]row{}, wraps: map[string]wrap{},
		gitFlags: parseFlags(gitRunning), gitExec: parseFlags(gitExec), interp: map[string][]string{},
	}
	for line := range lines(readOnly) {
		name, kind, spec := fields2(line)
		t.programs[name] = newRow(kind, spec, true, false)
	}
	for _, name := range []string{"egrep", "fgrep", "zgrep"} {
		if name != "zgrep" {
			t.programs[name] = t.programs["grep"]
		}
	}
	for line := range lines(writing) {
		name, kind, spec := fields2(line)
		t.programs[name] = newRow(kind, spec, false, true)
	}
	for line := range lines(running) {
		name, kind, spec := fields2(line)
		t.programs[name] = newRow(kind, spec, false, false)
	}
	for line := range lines(gitReadOnly) {
		name, kind, spec := fields2(line)
		t.git[name] = newRow(kind, spec, true, false)
	}
	for line := range lines(gitReadOnlyOf) {
		first, second, rest := fields2(line)
		kind, spec, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
		t.git[first+" "+second] = newRow(kind, spec, true, false)
	}
	for line := range lines(wrapping) {
		name, kind, rest := fields2(line)
		count, spec, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
		w := wrap{kind: kind, skip: int(count[0] - '0'), assigns: strings.HasSuffix(count, "=")}
		if kind == "second" {
			w.verbs = strings.Fields(spec)
			spec = ""
		}
		w.flags = parseFlags(spec)
		t.wraps[name] = w
	}
	var name string
	for token := range strings.FieldsSeq(interpreters) {
		if strings.HasPrefix(token, "-") || token == "eval" {
			t.interp[name] = append(t.interp[name], token)
			continue
		}
		name = token
		t.interp[name] = nil
	}
	return t
})

func newRow(kind, spec string, reading, complete bool) row {
	r := row{kind: kind, flags: parseFlags(spec), reading: reading, complete: complete}
	for _, e := range r.flags {
		if e&(writes|executes|connects|changes) != 0 {
			r.risky = true
		}
	}
	return r
}

func lines(s string) func(func(string) bool) {
	return strings.SplitSeq(strings.TrimSpace(s), "\n")
}

func fields2(line string) (first, second, rest string) {
	first, rest, _ = strings.Cut(strings.TrimLeft(line, " "), " ")
	second, rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
	return first, second, rest
}

func listed(list, name string) bool {
	return name != "" && strings.Contains(list, " "+name+" ")
}

func harmlessVariable(name string, value Word) bool {
	if strings.HasSuffix(name, "PAGER") && value.Known && (value.Text == "" || value.Text == "cat") {
		return true
	}
	return listed(harmless, name) || strings.HasPrefix(name, "LC_")
}

// interpreter finds an interpreter by its name, as python3.12 or lua5.4.
func (t *tables) interpreter(name string) (evals []string, ok bool) {
	if evals, ok = t.interp[name]; ok {
		return evals, true
	}
	evals, ok = t.interp[strings.TrimRight(name, "0123456789.")]
	return evals, ok
}
