package tool

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of what an InputError says, of how deep a value may nest, and of the
// work that goes into one check: a schema whose alternatives refer to
// themselves could take for ever.
const (
	maxProblems = 5
	maxDepth    = 64
	maxWork     = 8 << 20 // bytes looked at, beyond 100 times the value
)

// checker walks a value along a schema.
type checker struct {
	strict   bool // no coercions, aliases or defaults
	work     *int // what is left
	problems []string
}

func newChecker(strict bool, v json.RawMessage) *checker {
	work := maxWork + 100*len(v)
	return &checker{strict: strict, work: &work}
}

func (c *checker) err() error {
	if len(c.problems) == 0 {
		return nil
	}
	return &InputError{c.problems}
}

func (c *checker) add(path, text string) {
	if !c.full() {
		if path != "" {
			text = clip(path) + ": " + text
		}
		c.problems = append(c.problems, text)
	}
}

// full reports whether no more problems would be told.
func (c *checker) full() bool { return len(c.problems) >= maxProblems }

// check adds what is wrong with v, which is valid JSON without blanks around
// it, and returns it with lossless coercions made.
func (c *checker) check(n *node, v json.RawMessage, path string, depth int) json.RawMessage {
	if *c.work -= len(v) + 64; *c.work < 0 || depth > maxDepth {
		if depth > maxDepth {
			c.add(path, "it nests too deep")
		} else if len(c.problems) == 0 {
			c.add(path, "it is too complex to be checked")
		}
		return v
	}
	if n.never {
		c.add(path, "nothing may be here")
		return v
	}
	if n.ref != nil {
		v = c.check(n.ref, v, path, depth+1)
	}
	if n.nullable && kindOf(v) == "null" {
		return v
	}
	if len(n.types) > 0 {
		fit, ok := c.fit(n.types, v)
		if !ok {
			c.add(path, fmt.Sprintf("%s is wanted, %s came", clip(strings.Join(n.types, " or ")), describe(v)))
			return v
		}
		v = fit
	}
	c.values(n, v, path)
	switch kindOf(v) {
	case "object":
		v = c.object(n, v, path, depth)
	case "array":
		v = c.array(n, v, path, depth)
	case "string":
		c.text(n, v, path)
	case "integer", "number":
		c.number(n, v, path)
	}
	return c.combined(n, v, path, depth)
}

// fit returns v as one of the types, coerced where nothing is lost.
func (c *checker) fit(types []string, v json.RawMessage) (json.RawMessage, bool) {
	kind := kindOf(v)
	for _, t := range types {
		if t == kind || t == "number" && kind == "integer" {
			if t == "integer" && !c.strict {
				n, _ := integer(string(v)) // 5.0 as 5
				return json.RawMessage(n), true
			}
			return v, true
		}
	}
	if c.strict {
		return v, false
	}
	text := ""
	if kind == "string" {
		text = strings.TrimSpace(str(v))
	}
	for _, t := range types {
		switch t {
		case "integer", "number":
			s := text
			if len(s) > 1 && s[0] == '+' && s[1] >= '0' && s[1] <= '9' {
				s = s[1:]
			}
			if n := json.RawMessage(s); json.Valid(n) {
				switch k := kindOf(n); {
				case k == "integer":
					w, _ := integer(s)
					return json.RawMessage(w), true
				case k == "number" && t == "number":
					return n, true
				}
			}
		case "boolean":
			if s := strings.ToLower(text); s == "true" || s == "false" {
				return json.RawMessage(s), true
			}
		case "array", "object":
			if n := json.RawMessage(text); json.Valid(n) && kindOf(n) == t {
				return n, true
			}
			if t == "array" && kind != "null" {
				return array([]json.RawMessage{v}), true
			}
		case "string":
			if kind == "integer" || kind == "number" || kind == "boolean" {
				return json.RawMessage(quote(string(v))), true
			}
		}
	}
	return v, false
}

func (c *checker) values(n *node, v json.RawMessage, path string) {
	if n.enum != nil && !slices.ContainsFunc(n.enum, func(a json.RawMessage) bool { return equalJSON(a, v) }) {
		c.add(path, fmt.Sprintf("one of %s is wanted, %s came", clipTo(string(array(n.enum)), 3*maxEcho), clip(string(v))))
	}
	if n.constant != nil && !equalJSON(n.constant, v) {
		c.add(path, fmt.Sprintf("%s is wanted, %s came", clip(string(n.constant)), clip(string(v))))
	}
}

func (c *checker) object(n *node, v json.RawMessage, path string, depth int) json.RawMessage {
	ms := members(v)
	changed := false
	if !c.strict {
		ms, changed = c.lenient(n, ms, path)
	}
	have := make(map[string]bool, len(ms))
	for _, m := range ms {
		have[m.name] = true
	}
	c.sizes(n, "fields", len(have), path)
	for i, m := range ms {
		if c.full() {
			break
		}
		at := m.name
		if path != "" {
			at = path + "." + m.name
		}
		known := false
		to := func(sub *node) {
			known = true
			value := c.check(sub, ms[i].value, at, depth+1)
			changed = changed || string(value) != string(ms[i].value)
			ms[i].value = value
		}
		if sub, ok := n.props[m.name]; ok {
			to(sub)
		}
		for _, p := range n.patterns {
			if p.re.MatchString(m.name) {
				to(p.n)
			}
		}
		switch {
		case known || n.extra == nil:
		case n.extra.never:
			c.add(path, unknownField(m.name, n.names))
		default:
			to(n.extra)
		}
	}
	for _, r := range n.required {
		if !have[r] {
			c.add(path, fmt.Sprintf("the field %q is missing", clip(r)))
		}
	}
	if changed {
		return object(ms)
	}
	return v
}

// lenient puts the names that a field has in place of its aliases, leaves out
// a null where a field may be left out, and fills in defaults.
func (c *checker) lenient(n *node, ms []member, path string) (_ []member, changed bool) {
	out := make([]member, 0, len(ms)+1)
	at := make(map[string]int, len(ms)+1) // of a name, in out
	for _, m := range ms {
		if name, ok := n.alias[m.name]; ok && n.props[m.name] == nil {
			m.name, changed = name, true
		}
		if sub, ok := n.props[m.name]; ok && string(m.value) == "null" && sub.fillable() && !slices.Contains(n.required, m.name) {
			changed = true
			continue
		}
		i, there := at[m.name]
		if !there {
			at[m.name] = len(out)
			out = append(out, m)
			continue
		}
		changed = true
		if !equalJSON(out[i].value, m.value) {
			c.add(path, fmt.Sprintf("%q is given twice, with two values", clip(m.name)))
		}
	}
	for _, name := range n.names {
		f := n.props[name].fallback
		if _, there := at[name]; f != nil && !there {
			out, changed = append(out, member{name, f}), true
		}
	}
	return out, changed
}

// fillable reports whether null says no more than that there is no value.
func (n *node) fillable() bool {
	return len(n.types) > 0 && !slices.Contains(n.types, "null") && !n.nullable
}

func unknownField(name string, names []string) string {
	text := fmt.Sprintf("there is no field %q", clip(name))
	switch near := Nearest(name, names, 1); {
	case len(near) > 0:
		return text + fmt.Sprintf("; did you mean %q?", near[0])
	case len(names) == 0:
		return text + "; there are no fields"
	}
	return text + "; the fields are " + clipTo(strings.Join(names, ", "), 3*maxEcho)
}

func (c *checker) array(n *node, v json.RawMessage, path string, depth int) json.RawMessage {
	items := elements(v)
	c.sizes(n, "items", len(items), path)
	changed := false
	for i, item := range items {
		sub := n.items
		if i < len(n.prefix) {
			sub = n.prefix[i]
		}
		if sub == nil {
			continue
		}
		items[i] = c.check(sub, item, path+"["+strconv.Itoa(i)+"]", depth+1)
		changed = changed || string(items[i]) != string(item)
		if c.full() {
			break
		}
	}
	if changed {
		return array(items)
	}
	return v
}

func (c *checker) sizes(n *node, of string, have int, path string) {
	for _, s := range n.sizes {
		switch {
		case s.of != of:
		case s.least && have < s.n:
			c.add(path, fmt.Sprintf("at least %d %s are wanted, %d came", s.n, of, have))
		case !s.least && have > s.n:
			c.add(path, fmt.Sprintf("at most %d %s are wanted, %d came", s.n, of, have))
		}
	}
}

func (c *checker) text(n *node, v json.RawMessage, path string) {
	if len(n.sizes) == 0 && n.pattern == nil {
		return
	}
	s := str(v)
	c.sizes(n, "characters", utf8.RuneCountInString(s), path)
	if n.pattern != nil && !n.pattern.MatchString(s) {
		c.add(path, fmt.Sprintf("text that matches %s is wanted, %s came", clip(n.pattern.String()), clip(string(v))))
	}
}

func (c *checker) number(n *node, v json.RawMessage, path string) {
	for _, b := range n.bounds {
		if b.bad(compare(string(v), b.limit)) {
			c.add(path, fmt.Sprintf("%s %s is wanted, %s came", b.text, clip(b.limit), clip(string(v))))
			return
		}
	}
	if n.bits != 0 {
		s := string(v)
		var err error
		from, to := "0", strconv.FormatUint(math.MaxUint64>>(64-n.bits), 10)
		if n.signed {
			_, err = strconv.ParseInt(s, 10, n.bits)
			from, to = strconv.FormatInt(math.MinInt64>>(64-n.bits), 10), strconv.FormatInt(math.MaxInt64>>(64-n.bits), 10)
		} else {
			_, err = strconv.ParseUint(s, 10, n.bits)
		}
		if err != nil {
			c.add(path, fmt.Sprintf("an integer from %s to %s is wanted, %s came", from, to, clip(s)))
		}
	}
	if n.float != 0 {
		if _, err := strconv.ParseFloat(string(v), n.float); err != nil {
			c.add(path, fmt.Sprintf("a number of at most %d bits is wanted, %s came", n.float, clip(string(v))))
		}
	}
}

// combined checks anyOf, oneOf, allOf and not.
func (c *checker) combined(n *node, v json.RawMessage, path string, depth int) json.RawMessage {
	v = c.alternatives(n.anyOf, false, v, path, depth)
	v = c.alternatives(n.oneOf, true, v, path, depth)
	for _, s := range n.allOf {
		v = c.check(s, v, path, depth+1)
	}
	if n.not != nil {
		t := &checker{strict: true, work: c.work}
		if t.check(n.not, v, path, depth+1); len(t.problems) == 0 {
			c.add(path, "it has the form that is ruled out")
		}
	}
	return v
}

// alternatives takes the first of the forms that v fits; one that it fits as
// it is goes before one that it is coerced to.
func (c *checker) alternatives(subs []*node, one bool, v json.RawMessage, path string, depth int) json.RawMessage {
	if len(subs) == 0 {
		return v
	}
	var why []string
	rounds := []bool{true, false}
	if c.strict {
		rounds = rounds[:1]
	}
	for _, strict := range rounds {
		fits, first := 0, v
		for _, s := range subs {
			t := &checker{strict: strict, work: c.work}
			out := t.check(s, v, path, depth+1)
			if len(t.problems) > 0 {
				why = append(why, t.problems[0])
			} else if fits++; fits == 1 {
				first = out
			}
		}
		switch {
		case fits > 1 && one && strict:
			c.add(path, "it fits more than one of the forms of which one is wanted")
			return v
		case fits > 0:
			return first
		}
	}
	c.add(path, "it fits none of the forms that are allowed: "+strings.Join(slices.Compact(why[:min(2, len(why))]), "; or "))
	return v
}
