// Package secretshape knows the keys of common services by how they look.
//
//	secretshape.Is("ghp_0123456789abcdefghijABCDEFGHIJ012345") // true
//	secretshape.Replace(text, func(kind string) string { return "[" + kind + "]" })
package secretshape

import (
	"regexp"
	"strings"
	"sync"
)

// A shape is what the keys of a service look like.
type shape struct {
	kind   string
	begins string // how they begin, between blanks
	whole  string // of a value: a part of a path may look like anything
	part   string // of a text, where a key must look more like one; "" is whole
}

// The first one counts.
var shapes = []shape{
	{"key of Anthropic", "sk-ant-", `sk-ant-[\w-]{16,}`, `sk-ant-[\w-]{20,}`},
	{"key of OpenRouter", "sk-or-", `sk-or-[\w-]{16,}`, `sk-or-[\w-]{20,}`},
	{"key of Stripe", "sk_ rk_ pk_", `(?:sk|rk|pk)_(?:live|test)_\w{16,}`, ""},
	{"key of OpenAI or another", "sk- rk- pk- sk_ rk_ pk_", `(?:sk|rk|pk)[-_][\w-]{16,}`, `sk-(?:proj-|svcacct-|admin-)?[\w-]{20,}`},
	{"token of GitHub", "gh", `gh[a-z]_\w{20,}`, `gh[oprsu]_[A-Za-z0-9]{30,}`},
	{"token of GitHub", "github_pat_", `github_pat_\w{20,}`, ""},
	{"token of GitLab", "glpat-", `glpat-[\w-]{16,}`, ""},
	{"key of AWS", "AKIA ASIA", `(?:AKIA|ASIA)[0-9A-Z]{12,}`, `(?:AKIA|ASIA)[0-9A-Z]{16}`},
	{"key of Google", "AIza", `AIza[\w-]{30,}`, ""},
	{"token of Google", "ya29.", `ya29\.[\w-]+`, `ya29\.[\w-]{20,}`},
	{"token of Slack", "xox", `xox[a-z]-[\w-]+`, `xox[a-z]-[\w-]{10,}`},
	{"key of a model provider", "hf gsk xai r8 nvapi pplx csk fw tgp_v1", `(?:hf|gsk|xai|r8|nvapi|pplx|csk|fw|tgp_v1)[-_][\w-]{20,}`, ""},
	{"signed token", "eyJ", `eyJ[\w-]{10,}\.[\w-]+\.[\w-]*`, `eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}`},
	{"private key", "-----BEGIN", `(?s)-----BEGIN .*`, privateKey},
}

// privateKey is a block with a key, or what is there of one that is cut off.
const privateKey = `-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:\s|\\+[nr])*(?:[A-Za-z0-9+/=]{20,}|(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]*))*` +
	`(?:(?:\s|\\+[nr])*[A-Za-z0-9+/=]{1,76})?(?:(?:\s|\\+[nr])*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?`

var whole = sync.OnceValue(func() *regexp.Regexp {
	var all []string
	for _, s := range shapes {
		all = append(all, s.whole)
	}
	return regexp.MustCompile(`^(?:` + strings.Join(all, "|") + `)$`)
})

// candidate is a shape for a text in which a key begins so.
type candidate struct {
	shape  *shape
	begins string
	at     func() *regexp.Regexp
}

// candidates are by the first byte.
var candidates = sync.OnceValue(func() (t [256][]candidate) {
	for i := range shapes {
		s := &shapes[i]
		part := s.part
		if part == "" {
			part = s.whole
		}
		at := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:` + part + `)`) })
		for b := range strings.FieldsSeq(s.begins) {
			t[b[0]] = append(t[b[0]], candidate{s, b, at})
		}
	}
	return t
})

// Is reports whether a whole value looks like a key.
func Is(value string) bool { return whole().MatchString(value) }

// Replace puts what with returns in the place of each key in text, given what
// kind it looks to be, as "token of GitHub". A password in a URL is one too.
func Replace(text string, with func(kind string) string) string {
	var b strings.Builder
	at, by := 0, candidates()
	for i := 0; i < len(text); {
		kind, n := begins(by[text[i]], text, i)
		if n == 0 {
			i++
			continue
		}
		b.WriteString(text[at:i] + with(kind))
		i += n
		at = i
	}
	if at > 0 {
		text = b.String() + text[at:]
	}
	return logins(text, with("password"))
}

// logins puts by in the place of each password in a URL, as in
// "https://name:password@host".
func logins(text, by string) string {
	const ends = " \t\r\n/@\"'`<>\\"
	var b strings.Builder
	at := 0
	for i := 0; ; {
		j := strings.Index(text[i:], "://")
		if j < 0 {
			break
		}
		i += j + len("://")
		if j = i - len("://"); j == 0 || !word(text, j-1) {
			continue
		}
		name := strings.IndexAny(text[i:], ends+":")
		if name < 0 || text[i+name] != ':' {
			continue
		}
		start := i + name + 1
		n := strings.IndexAny(text[start:], ends)
		if n <= 0 || text[start+n] != '@' {
			continue
		}
		b.WriteString(text[at:start] + by)
		at = start + n
		i = at
	}
	if at == 0 {
		return text
	}
	return b.String() + text[at:]
}

// begins is what begins at i, if no word goes on there, and how long it is.
func begins(cs []candidate, text string, i int) (kind string, n int) {
	for _, c := range cs {
		if !strings.HasPrefix(text[i:], c.begins) || i > 0 && text[i] != '-' && word(text, i-1) {
			continue
		}
		if loc := c.at().FindStringIndex(text[i:]); loc != nil {
			return c.shape.kind, loc[1]
		}
	}
	return "", 0
}

// word reports whether the byte at i is of a word that goes on. The letter of an
// escaped line break is not.
func word(text string, i int) bool {
	c := text[i]
	if i > 0 && text[i-1] == '\\' && (c == 'n' || c == 'r' || c == 't') {
		return false
	}
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
