package guard

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
)

// anchorLen is how much of a form is looked for at once: what begins so is then
// compared as a whole. No value is shorter.
const anchorLen = MinLength

// A form is one way to write a value.
type form struct {
	name string // of the key
	text string // without line breaks
	fold fold
	// least is how many characters of its beginning or its end are taken out
	// where the rest is cut off; len(text) is none.
	least int
}

// fold says how the characters of a form are compared.
type fold byte

const (
	exact fold = iota
	inHex      // in either case
	in64       // in either alphabet
)

func (f fold) equal(have, want byte) bool {
	if have == want {
		return true
	}
	switch f {
	case inHex:
		return 'A' <= have && have <= 'F' && have+'a'-'A' == want
	case in64:
		return want == '+' && have == '-' || want == '/' && have == '_'
	}
	return false
}

// An anchor is a place in a form: its text from there on.
type anchor struct {
	form *form
	from int
}

// finder finds many forms at once, in one pass: an automaton (Aho and Corasick,
// 1975) over the anchors, which are all of one length, so that none lies within
// another. It never changes.
type finder struct {
	class [256]uint16 // of a byte; 0: it is in no anchor
	width int         // how many classes there are
	next  []int32     // by state*width + class
	path  []string    // of a state: the characters that lead to it
	leaf  int32       // the first state that is the end of an anchor
	ends  [][]anchor  // by state, from leaf on
	// literal has what is escaped looked for as it stands.
	literal bool
}

// special are the bytes that a line break or an escaped character begins with.
var special = func() (t [256]bool) {
	for _, b := range []byte("\n\r\\%") {
		t[b] = true
	}
	return t
}()

// newFinders makes what finds keys; nil if there is nothing to be found. There is
// a second finder only for values with the first character of an escape in them:
// those can be read in two ways, of which a finder takes one.
func newFinders(keys []Key) []*finder {
	var all, literal []anchor
	seen := map[string]bool{}
	for _, k := range keys {
		for _, v := range values(k.Value) {
			if seen[v] {
				continue
			}
			seen[v] = true
			name := clean(k.Name)
			all = append(all, anchors(forms(name, v))...)
			if strings.ContainsAny(v, `%\`) {
				literal = append(literal, anchors(escapedForms(name, v))...)
			}
		}
	}
	var out []*finder
	for _, as := range [][]anchor{all, literal} {
		if len(as) > 0 {
			f := &finder{literal: len(out) > 0}
			f.build(as)
			out = append(out, f)
		}
	}
	return out
}

func anchors(forms []*form) []anchor {
	var out []anchor
	for _, f := range forms {
		out = append(out, anchor{f, 0})
		if f.least < len(f.text) {
			out = append(out, anchor{f, len(f.text) - f.least})
		}
	}
	return out
}

// values are what is to be found of a value: itself; without the scheme that a
// header's value begins with; and each line of a text of several, since those
// are also shown one by one.
func values(v string) []string {
	v = strings.TrimSpace(v)
	if len(v) < MinLength {
		return nil
	}
	out := []string{v}
	if scheme, rest, ok := strings.Cut(v, " "); ok && len(strings.TrimSpace(rest)) >= MinLength {
		switch strings.ToLower(scheme) {
		case "bearer", "basic", "token", "apikey":
			out = append(out, strings.TrimSpace(rest))
		}
	}
	if strings.ContainsAny(v, "\r\n") {
		for line := range strings.Lines(v) {
			if line = strings.TrimSpace(line); len(line) >= 2*MinLength && !strings.HasPrefix(line, "-----") {
				out = append(out, line)
			}
		}
	}
	return out
}

// forms are the ways in which a value may be written, apart from escapes and
// line breaks, which any of them may have.
func forms(name, v string) []*form {
	out := appendForm(nil, name, unbroken(v), exact)
	// In base64 a value looks different by where it begins within three bytes.
	// What is made of other bytes too, at its ends, is left out.
	for before := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", before) + v))
		out = appendForm(out, name, text[(8*before+5)/6:8*(before+len(v))/6], in64)
	}
	return appendForm(out, name, hex.EncodeToString([]byte(v)), inHex)
}

// escapedForms are the ways in which a value stands in a text: as it is, in
// a URL, in JSON, and in JSON in JSON.
func escapedForms(name, v string) []*form {
	in := func(s string) string {
		b, _ := json.Marshal(s) // a string always has a JSON form
		return string(b[1 : len(b)-1])
	}
	out := appendForm(nil, name, unbroken(v), exact)
	for _, text := range []string{url.QueryEscape(v), url.PathEscape(v), in(v), in(in(v))} {
		if text != v {
			out = appendForm(out, name, text, exact)
		}
	}
	return out
}

func unbroken(v string) string { return strings.NewReplacer("\r", "", "\n", "").Replace(v) }

func appendForm(out []*form, name, text string, f fold) []*form {
	if len(text) < anchorLen {
		return out
	}
	least := len(text)
	if least >= 20 {
		least = max(2*MinLength, (least+1)/2)
	}
	return append(out, &form{name, text, f, least})
}

// spellings are the strings that an anchor's first characters may be.
func (a anchor) spellings() []string {
	s := a.form.text[a.from:][:anchorLen]
	switch a.form.fold {
	case inHex:
		return []string{s, strings.ToUpper(s)}
	case in64:
		return []string{s, strings.NewReplacer("+", "-", "/", "_").Replace(s)}
	}
	return []string{s}
}

func (f *finder) build(anchors []anchor) {
	f.width = 1
	for _, a := range anchors {
		for _, s := range a.spellings() {
			for i := range len(s) {
				if f.class[s[i]] == 0 {
					f.class[s[i]] = uint16(f.width)
					f.width++
				}
			}
		}
	}
	// A trie, whose states are in the order of their depth, so that all ends are
	// the last.
	prefixes := make([]map[string]int32, anchorLen+1)
	for d := range prefixes {
		prefixes[d] = map[string]int32{}
	}
	var whole []string
	at := map[string][]anchor{}
	for _, a := range anchors {
		for _, s := range a.spellings() {
			if at[s] == nil {
				whole = append(whole, s)
			}
			if l := at[s]; len(l) == 0 || l[len(l)-1] != a { // two spellings may be one
				at[s] = append(l, a)
			}
		}
	}
	for d := range prefixes {
		f.leaf = int32(len(f.path))
		for _, s := range whole {
			if _, ok := prefixes[d][s[:d]]; !ok {
				prefixes[d][s[:d]] = int32(len(f.path))
				f.path = append(f.path, s[:d])
			}
		}
	}
	f.next = make([]int32, len(f.path)*f.width)
	for i, p := range f.path[1:] {
		last := len(p) - 1
		f.next[int(prefixes[last][p[:last]])*f.width+int(f.class[p[last]])] = int32(i + 1)
	}
	// With a character that none of its children has, a state goes where the
	// longest proper end of its path does, which is a state before it.
	fail := make([]int32, len(f.path))
	for i := range f.path {
		for c := 1; c < f.width; c++ {
			over := int32(0)
			if i != 0 {
				over = f.next[int(fail[i])*f.width+c]
			}
			if cell := &f.next[i*f.width+c]; *cell != 0 {
				fail[*cell] = over
			} else {
				*cell = over
			}
		}
	}
	f.ends = make([][]anchor, len(f.path)-int(f.leaf))
	for i := range f.ends {
		f.ends[i] = at[f.path[int(f.leaf)+i]]
	}
}
