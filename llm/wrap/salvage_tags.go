package wrap

import (
	"encoding/json"
	"strings"
)

// tags reads <function=name>…</function>, <function name="name">…, and
// <invoke name="name">…, with an object or with parameters in tags.
func (p *parser) tags(i int) ([]leak, int, bool) {
	head := p.s[i:min(len(p.s), i+window)]
	n := strings.IndexByte(head, '>')
	if n < 0 {
		return nil, i + 1, false
	}
	_, name, _ := strings.Cut(head[:n], "=")
	if at := strings.IndexByte(head[:n], '('); name == "" && at >= 0 {
		name = strings.TrimSuffix(head[at+1:n], ")")
	}
	name = strings.Trim(name, ` "'`)
	if ident(strings.ReplaceAll(name, ".", "_")) != strings.ReplaceAll(name, ".", "_") || name == "" {
		return nil, i + n, false
	}
	j := p.space(i + n + 1)
	if j < len(p.s) && p.s[j] == '{' {
		v, end, ok := literal(p.s, j)
		if !ok {
			if p.known(name) {
				return p.rest(j, end, name)
			}
			return nil, end, false
		}
		return []leak{{name: name, args: v}}, end, true
	}
	r := reader{}
	r.out.WriteByte('{')
	for strings.HasPrefix(p.s[j:], "<parameter") {
		at := j
		head := p.s[j:min(len(p.s), j+window)]
		n := strings.IndexByte(head, '>')
		if n < 0 {
			return nil, j, false
		}
		_, key, _ := strings.Cut(head[:n], "=")
		key = strings.Trim(key, ` "'`)
		from := j + n + 1
		to, after := p.parameter(from)
		if to < 0 {
			if p.known(name) {
				return p.rest(at, len(p.s), name)
			}
			return nil, len(p.s), false
		}
		if r.out.Len() > 1 {
			r.out.WriteByte(',')
		}
		r.quote(key)
		r.out.WriteByte(':')
		text := strings.TrimPrefix(p.s[from:to], "\n")
		r.out.Write(p.value(name, key, strings.TrimSuffix(text, "\n")))
		j = p.space(after)
	}
	r.out.WriteByte('}')
	// Without its end it may be cut, if only by a parameter.
	if _, is := p.skip(j, closers); !is {
		if p.known(name) && r.out.Len() > 2 {
			return p.rest(i, j, name)
		}
		return nil, j, false
	}
	return []leak{{name: name, args: r.out.Bytes()}}, j, true
}

// parameter is where the text of a parameter ends, and what follows it begins:
// at the first end tag that another tag follows.
func (p *parser) parameter(i int) (to, after int) {
	const tag = "</parameter>"
	for {
		if to = p.index(tag, i); to < 0 {
			return -1, len(p.s)
		}
		after = to + len(tag)
		next := p.space(after)
		for _, w := range []string{"<parameter", "</function", "</invoke"} {
			if strings.HasPrefix(p.s[next:], w) {
				return to, after
			}
		}
		i = after
	}
}

// pairs reads <arg_key>k</arg_key><arg_value>v</arg_value> … of a call.
func (p *parser) pairs(i int, name string) ([]leak, int, bool) {
	const keyEnd, valueTag, valueEnd = "</arg_key>", "<arg_value>", "</arg_value>"
	start := i
	r := reader{}
	r.out.WriteByte('{')
	for strings.HasPrefix(p.s[i:], "<arg_key>") {
		from := i + len("<arg_key>")
		k := p.index(keyEnd, from)
		if k < 0 {
			break
		}
		v := p.space(k + len(keyEnd))
		end := -1
		if strings.HasPrefix(p.s[v:], valueTag) {
			end = p.index(valueEnd, v)
		}
		if end < 0 {
			break
		}
		if r.out.Len() > 1 {
			r.out.WriteByte(',')
		}
		key := strings.TrimSpace(p.s[from:k])
		r.quote(key)
		r.out.WriteByte(':')
		r.out.Write(p.value(name, key, p.s[v+len(valueTag):end]))
		i = p.space(end + len(valueEnd))
	}
	if _, is := p.skip(i, closers); !is {
		if p.known(name) {
			return p.rest(start, i, name)
		}
		return nil, i, false
	}
	r.out.WriteByte('}')
	return []leak{{name: name, args: json.RawMessage(r.out.Bytes())}}, i, true
}
