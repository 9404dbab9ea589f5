package wire

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
)

const redacted = "[redacted]"

// redactor takes out of a text what was sent to authenticate, and what looks
// like a key.
type redactor struct{ r *strings.Replacer }

// Shorter values are place-holders, such as the "ollama" that a server without
// keys is given, and would be found in ordinary words.
const minSecret = 7

// SecretName reports whether a header or a parameter of that name may hold
// what authenticates a request.
func SecretName(name string) bool {
	name = strings.ToLower(name)
	for _, w := range [...]string{"auth", "key", "token", "secret", "cookie", "passw", "signature", "credential"} {
		if strings.Contains(name, w) {
			return true
		}
	}
	return strings.HasSuffix(name, "sig")
}

// KeyLike matches what looks like a key of a provider.
var KeyLike = words(`(?i)\b(?:sk-|sk_|gsk_|xai-|aiza|hf_|pplx-|csk-|r8_|gh[oprsu]_|github_pat_|nvapi-|akia|asia|ya29\.|xox[abprs]-|bearer\s+)[A-Za-z0-9_\-.~+/=]{12,}|\beyj[a-z0-9_-]{10,}\.[a-z0-9_-]{10,}\.[a-z0-9_-]{10,}`)

// Secrets are the values that a request carries in its headers, its query and
// its user to authenticate itself. Short ones are left out.
func Secrets(req *http.Request) []string {
	var out []string
	add := func(v string) {
		if v = strings.TrimSpace(v); len(v) >= minSecret {
			out = append(out, v)
		}
	}
	for name, values := range req.Header {
		if !SecretName(name) {
			continue
		}
		for _, v := range values {
			add(v)
			if scheme, rest, ok := strings.Cut(v, " "); ok {
				add(rest)
				if strings.EqualFold(scheme, "basic") {
					if plain, err := base64.StdEncoding.DecodeString(rest); err == nil {
						_, pass, _ := strings.Cut(string(plain), ":")
						add(pass)
					}
				}
			}
		}
	}
	for name, values := range req.URL.Query() {
		if SecretName(name) {
			for _, v := range values {
				add(v)
			}
		}
	}
	if pass, ok := req.URL.User.Password(); ok {
		add(pass)
	}
	return out
}

// carriesSecret reports whether a request has something by which its sender may
// be known, be it as short as it may.
func carriesSecret(req *http.Request) bool {
	for name := range req.Header {
		if SecretName(name) {
			return true
		}
	}
	for name := range req.URL.Query() {
		if SecretName(name) {
			return true
		}
	}
	return req.URL.User != nil
}

func newRedactor(req *http.Request, secrets []string) redactor {
	var pairs []string
	for _, v := range append(Secrets(req), secrets...) {
		if v = strings.TrimSpace(v); len(v) < minSecret {
			continue
		}
		for _, form := range []string{v, url.QueryEscape(v), url.PathEscape(v), strings.ReplaceAll(v, "/", `\/`)} {
			pairs = append(pairs, form, redacted)
		}
	}
	if len(pairs) == 0 {
		return redactor{}
	}
	return redactor{strings.NewReplacer(pairs...)}
}

func (r redactor) clean(s string) string {
	if s == "" {
		return s
	}
	if r.r != nil {
		s = r.r.Replace(s)
	}
	return KeyLike().ReplaceAllString(s, redacted)
}
