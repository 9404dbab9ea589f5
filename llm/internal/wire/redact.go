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

var secretName = words(`(?i)auth|key|token|secret|cookie|passw|signature|credential`)

var keyLike = words(`(?i)\b(?:sk-|sk_|gsk_|xai-|aiza|hf_|pplx-|csk-|r8_|gh[opsu]_|github_pat_|nvapi-|akia|ya29\.|bearer\s+)[A-Za-z0-9_\-.~+/=]{12,}`)

func newRedactor(req *http.Request, secrets []string) redactor {
	var pairs []string
	add := func(v string) {
		if v = strings.TrimSpace(v); len(v) < minSecret {
			return
		}
		for _, form := range []string{v, url.QueryEscape(v), url.PathEscape(v), strings.ReplaceAll(v, "/", `\/`)} {
			pairs = append(pairs, form, redacted)
		}
	}
	for _, v := range secrets {
		add(v)
	}
	for name, values := range req.Header {
		if !secretName().MatchString(name) {
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
		if secretName().MatchString(name) {
			for _, v := range values {
				add(v)
			}
		}
	}
	if pass, ok := req.URL.User.Password(); ok {
		add(pass)
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
	return keyLike().ReplaceAllString(s, redacted)
}
