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
	kind  string
	whole string // of a value: a part of a path may look like anything
	part  string // of a text, where a key must look more like one; "" is whole
}

// In a text a key begins where no word goes on, and all that can be of it is.
var shapes = []shape{
	{"key of Anthropic", `sk-ant-[\w-]{16,}`, `sk-ant-[\w-]{20,}`},
	{"key of OpenRouter", `sk-or-[\w-]{16,}`, `sk-or-[\w-]{20,}`},
	{"key of Stripe", `(?:sk|rk|pk)_(?:live|test)_\w{16,}`, ""},
	{"key of OpenAI or another", `(?:sk|rk|pk)[-_][\w-]{16,}`, `sk-(?:proj-|svcacct-|admin-)?[\w-]{20,}`},
	{"token of GitHub", `gh[a-z]_\w{20,}|github_pat_\w{20,}`, `gh[oprsu]_[A-Za-z0-9]{30,}|github_pat_\w{20,}`},
	{"token of GitLab", `glpat-[\w-]{16,}`, ""},
	{"key of AWS", `(?:AKIA|ASIA)[0-9A-Z]{12,}`, `(?:AKIA|ASIA)[0-9A-Z]{16}`},
	{"key of Google", `AIza[\w-]{30,}`, ""},
	{"token of Google", `ya29\.[\w-]+`, `ya29\.[\w-]{20,}`},
	{"token of Slack", `xox[a-z]-[\w-]+`, `xox[a-z]-[\w-]{10,}`},
	{"key of a model provider", `(?:hf|gsk|xai|r8|nvapi|pplx|csk|fw|tgp_v1)[-_][\w-]{20,}`, ""},
	{"signed token", `eyJ[\w-]{10,}\.[\w-]+\.[\w-]*`, `eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}`},
	{"private key", `(?s)-----BEGIN .*`, privateKey},
}

// privateKey is a block with a key, or what is there of one that is cut off.
const privateKey = `-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:\s|\\+[nr])*(?:[A-Za-z0-9+/=]{20,}|(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]*))*` +
	`(?:(?:\s|\\+[nr])*[A-Za-z0-9+/=]{1,76})?(?:(?:\s|\\+[nr])*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?`

// login is a password in a URL: "https://name:password@host".
var login = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(\\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\\s/:@\"'`<>]*:)([^\\s/@\"'`<>]+)(@)")
})

var whole = sync.OnceValue(func() *regexp.Regexp {
	var all []string
	for _, s := range shapes {
		all = append(all, s.whole)
	}
	return regexp.MustCompile(`^(?:` + strings.Join(all, "|") + `)$`)
})

// inText has a group for each shape.
var inText = sync.OnceValue(func() *regexp.Regexp {
	var all []string
	for _, s := range shapes {
		part := s.part
		if part == "" {
			part = s.whole
		}
		all = append(all, "("+part+")")
	}
	return regexp.MustCompile(strings.Join(all, "|"))
})

// Is reports whether a whole value looks like a key.
func Is(value string) bool { return whole().MatchString(value) }

// Replace puts what with returns in the place of each key in text, given what
// kind it looks to be, as "token of GitHub". A password in a URL is one too.
func Replace(text string, with func(kind string) string) string {
	var b strings.Builder
	at, from := 0, 0
	for from < len(text) {
		loc := inText().FindStringSubmatchIndex(text[from:])
		if loc == nil {
			break
		}
		start, end := from+loc[0], from+loc[1]
		if start > 0 && text[start] != '-' && word(text, start-1) {
			from = start + 1 // it is within a word
			continue
		}
		for i, s := range shapes {
			if loc[2*i+2] >= 0 {
				b.WriteString(text[at:start] + with(s.kind))
			}
		}
		at, from = end, end
	}
	if at > 0 {
		text = b.String() + text[at:]
	}
	if strings.Contains(text, "://") {
		text = login().ReplaceAllString(text, "${1}"+strings.ReplaceAll(with("password"), "$", "$$")+"${3}")
	}
	return text
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
