package wrap

import (
	"strings"
)

// region is a piece of a text that is calls and nothing else.
type region struct {
	start, end int
	calls      []leak
	marked     bool // it begins with a marker
	fenced     bool // it is a block of code
}

// parser reads calls in s.
type parser struct {
	*toolbox
	s     string
	found map[string]sight
}

// sight is where something was seen first from a place on; -1 is nowhere.
type sight struct{ from, at int }

// index is where sub comes in s from i; -1 if it does not. It looks at no part
// of the text twice as long as i does not go back, so that no text takes longer
// than its length.
func (p *parser) index(sub string, i int) int {
	if f, ok := p.found[sub]; ok && i >= f.from && (f.at < 0 || f.at >= i) {
		return f.at
	}
	at := strings.Index(p.s[i:], sub)
	if at >= 0 {
		at += i
	}
	if p.found == nil {
		p.found = map[string]sight{}
	}
	p.found[sub] = sight{i, at}
	return at
}

func (p *parser) space(i int) int {
	for i < len(p.s) && strings.IndexByte(" \t\r\n", p.s[i]) >= 0 {
		i++
	}
	return i
}

// skip skips any of ws at i.
func (p *parser) skip(i int, ws []string) (int, bool) {
	for _, w := range ws {
		if strings.HasPrefix(p.s[i:], w) {
			return i + len(w), true
		}
	}
	return i, false
}

// read reads what may be calls at i. It is not ok where there are none; end is
// then how far the reading came.
func (p *parser) read(i int) (r region, ok bool) {
	r.start = i
	switch {
	case p.s[i] == '`' || p.s[i] == '~':
		r.fenced = true
		r.calls, r.end, r.marked, ok = p.block(i)
	case strings.HasPrefix(p.s[i:], "Action:"):
		r.calls, r.end, ok = p.action(i)
	default:
		if marked(p.s[i:min(len(p.s), i+window)], true) == maybe {
			r.marked = true
		}
		r.calls, r.end, ok = p.sequence(i)
	}
	return r, ok
}

// block reads a block of code that holds calls and nothing else.
func (p *parser) block(i int) (calls []leak, end int, isMarked, ok bool) {
	n := 0
	for i+n < len(p.s) && p.s[i+n] == p.s[i] {
		n++
	}
	fence := p.s[i : i+n]
	line := p.index("\n", i)
	if line < 0 {
		return nil, len(p.s), false, false
	}
	in := p.space(line)
	body := parser{toolbox: p.toolbox, s: p.s}
	end = len(p.s)
	if at := p.index("\n"+fence, line); at >= 0 {
		body.s, end = p.s[:at+1], at+1+n // with its line break, so that its last number is whole
	}
	if in >= len(body.s) {
		return nil, end, false, false
	}
	isMarked = marked(body.s[in:min(len(body.s), in+window)], true) == maybe
	var last int
	if strings.HasPrefix(body.s[in:], "Action:") {
		calls, last, ok = body.action(in)
	} else {
		calls, last, ok = body.sequence(in)
	}
	ok = ok && strings.TrimSpace(body.s[last:]) == ""
	return calls, end, isMarked, ok
}

// action reads "Action: name" and "Action Input: {…}".
func (p *parser) action(i int) ([]leak, int, bool) {
	name, rest, _ := strings.Cut(p.s[i+len("Action:"):], "\n")
	j := p.space(len(p.s) - len(rest))
	const input = "Action Input:"
	if !strings.HasPrefix(p.s[j:], input) {
		return nil, j, false
	}
	v, end, ok := literal(p.s, j+len(input))
	if !ok || object(v) == nil {
		return nil, end, false
	}
	return []leak{{name: strings.TrimSpace(name), args: object(v)}}, end, true
}

// sequence reads calls one after another, in any form, from i.
func (p *parser) sequence(i int) (calls []leak, end int, ok bool) {
	opened, end := false, i
	for i < len(p.s) {
		j := p.space(i)
		for j < len(p.s) && (p.s[j] == ',' || p.s[j] == ';') && len(calls) > 0 {
			j = p.space(j + 1)
		}
		if j == len(p.s) {
			break
		}
		i = j
		if n, is := p.skip(i, openers); is {
			i, opened = n, true
			continue
		}
		if n, is := p.skip(i, closers); is {
			i, end, opened = n, n, false
			continue
		}
		cs, n, is := p.one(i, opened)
		if !is && len(cs) == 0 {
			if len(calls) > 0 && !opened {
				return calls, end, true
			}
			return nil, max(i, n), false
		}
		calls = append(calls, cs...)
		i, end, opened = n, n, false
		if i < len(p.s) && (p.s[i] == '}' || p.s[i] == ']') { // one bracket too many
			if k, is := p.skip(p.space(i+1), closers); is {
				i, end = k, k
			}
		}
	}
	if len(calls) == 0 {
		return nil, i, false
	}
	return calls, end, true
}

// one reads what is one call or one list of them at i. Opened says that a marker
// stands before it. Calls that are not ok are broken.
func (p *parser) one(i int, opened bool) (calls []leak, end int, ok bool) {
	s := p.s[i:]
	switch {
	case strings.HasPrefix(s, "<function") || strings.HasPrefix(s, "<invoke "):
		return p.tags(i)
	case strings.HasPrefix(s, "<|channel|>commentary to="):
		return p.channel(i + len("<|channel|>commentary to="))
	case s[0] == '[':
		if j := p.space(i + 1); j < len(p.s) && ident(p.s[j:]) != "" {
			return p.functions(j)
		}
		fallthrough
	case s[0] == '{':
		v, end, ok := literal(p.s, i)
		if !ok {
			return p.broken(i, end, opened)
		}
		calls, ok = p.calls(v)
		return calls, end, ok
	case opened || strings.HasPrefix(s, "print("):
		return p.named(i)
	}
	if c, end, ok := p.function(i); ok && p.known(c.name) {
		return []leak{c}, end, true
	}
	return nil, i, false
}

// broken is the call that begins at i and could not be read: where it is marked
// and names a tool, it is one that is answered with an error, and else none.
func (p *parser) broken(i, end int, opened bool) ([]leak, int, bool) {
	if !opened {
		return nil, end, false
	}
	head := strings.TrimLeft(p.s[i:min(len(p.s), i+window)], "[ \t\r\n")
	if head == "" || head[0] != '{' {
		return nil, end, false
	}
	key, rest := member(head[1:])
	name, _, ok := quoted(rest)
	if !ok || !nameKeys[key] || !p.known(name) {
		return nil, end, false
	}
	return p.rest(i, end, name)
}

// rest is the broken call of a tool that goes from i to the next closer, or to
// the end.
func (p *parser) rest(i, end int, name string) ([]leak, int, bool) {
	stop := len(p.s)
	for _, c := range closers {
		if n := p.index(c, end); n >= 0 && n < stop {
			stop = n
		}
	}
	return []leak{{name: name, broken: p.s[i:stop]}}, stop, false
}

// named reads a call that begins with its name: name{…}, name[ARGS]{…},
// name(a=1), name.call(a=1), name and tags, name and a block of code.
func (p *parser) named(i int) ([]leak, int, bool) {
	if rest, is := strings.CutPrefix(p.s[i:], "function<｜tool▁sep｜>"); is {
		i = len(p.s) - len(rest)
	}
	n := i
	for n < len(p.s) && (isIdent(p.s[n]) || p.s[n] == '.' || p.s[n] == '-') {
		n++
	}
	name := p.s[i:n]
	if name == "" {
		return nil, i, false
	}
	if c, end, ok := p.function(i); ok {
		return []leak{c}, end, true
	}
	j := n
	if strings.HasPrefix(p.s[j:], ":") { // functions.name:0
		for j++; j < len(p.s) && p.s[j] >= '0' && p.s[j] <= '9'; {
			j++
		}
	}
	for _, sep := range []string{"<|tool_call_argument_begin|>", "[ARGS]"} {
		if strings.HasPrefix(p.s[j:], sep) {
			j += len(sep)
		}
	}
	if rest, is := strings.CutPrefix(p.s[j:], "[CALL_ID]"); is {
		if k := strings.Index(rest[:min(len(rest), 64)], "[ARGS]"); k >= 0 {
			j += len("[CALL_ID]") + k + len("[ARGS]")
		}
	}
	j = p.space(j)
	if strings.HasPrefix(p.s[j:], "<arg_key>") {
		return p.pairs(j, name)
	}
	for _, f := range []string{"```json\n", "```\n"} {
		if strings.HasPrefix(p.s[j:], f) {
			v, end, ok := literal(p.s, j+len(f))
			if k := p.space(end); ok && object(v) != nil && strings.HasPrefix(p.s[k:], "```") {
				return []leak{{name: name, args: object(v)}}, k + 3, true
			}
			return nil, max(end, j), false
		}
	}
	if j == len(p.s) || p.s[j] != '{' {
		return nil, j, false
	}
	v, end, ok := literal(p.s, j)
	if !ok {
		if p.known(name) {
			return p.rest(j, end, name)
		}
		return nil, end, false
	}
	return []leak{{name: name, args: v}}, end, true
}

// channel reads functions.name … <|message|>{…}.
func (p *parser) channel(i int) ([]leak, int, bool) {
	const message = "<|message|>"
	n := i
	for n < len(p.s) && (isIdent(p.s[n]) || p.s[n] == '.' || p.s[n] == '-') {
		n++
	}
	k := strings.Index(p.s[n:min(len(p.s), n+window)], message)
	if n == i || k < 0 {
		return nil, n, false
	}
	v, end, ok := literal(p.s, n+k+len(message))
	if !ok || object(v) == nil {
		if p.known(p.s[i:n]) {
			return p.rest(n+k+len(message), end, p.s[i:n])
		}
		return nil, end, false
	}
	return []leak{{name: p.s[i:n], args: object(v)}}, end, true
}

// functions reads name(a=1), name(b=2)] from i.
func (p *parser) functions(i int) (calls []leak, end int, ok bool) {
	for {
		c, n, ok := p.function(i)
		if !ok {
			return nil, n, false
		}
		calls = append(calls, c)
		i = p.space(n)
		switch {
		case i == len(p.s):
			return nil, i, false
		case p.s[i] == ',':
			i = p.space(i + 1)
		case p.s[i] == ']':
			return calls, i + 1, true
		default:
			return nil, i, false
		}
	}
}

// function reads name(a=1, b="x"), also within print(), or of the form
// name.call(…).
func (p *parser) function(i int) (c leak, end int, ok bool) {
	if strings.HasPrefix(p.s[i:], "print(") {
		if c, end, ok = p.function(i + len("print(")); !ok {
			return c, end, false
		}
		end = p.space(end)
		return c, end + 1, end < len(p.s) && p.s[end] == ')'
	}
	n := i
	for n < len(p.s) && (isIdent(p.s[n]) || p.s[n] == '.' || p.s[n] == '-') {
		n++
	}
	c.name = strings.TrimSuffix(p.s[i:n], ".call")
	if c.name == "" || n == len(p.s) || p.s[n] != '(' {
		return c, n, false
	}
	args := []byte{'{'}
	for i = p.space(n + 1); ; {
		if i == len(p.s) {
			return c, i, false
		}
		if p.s[i] == ')' {
			break
		}
		if len(args) > 1 {
			if p.s[i] != ',' {
				return c, i, false
			}
			if i = p.space(i + 1); i == len(p.s) || p.s[i] == ')' {
				continue
			}
		}
		key := ident(p.s[i:])
		i = p.space(i + len(key))
		if key == "" || i == len(p.s) || p.s[i] != '=' {
			return c, i, false
		}
		v, n, ok := literal(p.s, i+1)
		if !ok {
			return c, n, false
		}
		if len(args) > 1 {
			args = append(args, ',')
		}
		args = append(append(append(append(args, '"'), key...), '"', ':'), v...)
		i = p.space(n)
	}
	c.args = append(args, '}')
	return c, i + 1, true
}
