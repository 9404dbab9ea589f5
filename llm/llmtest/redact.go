package llmtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

const redacted = "REDACTED"

var (
	// keyNames are the names of query parameters and JSON fields whose value
	// is a secret.
	keyNames = regexp.MustCompile(`(?i)^(api[_-]?key|key|access[_-]?token|refresh[_-]?token|id[_-]?token|auth|authorization|token|secret|client[_-]?secret|password|sig|signature|x-amz-(signature|credential|security-token))$`)
	// keyFields are those in JSON bodies, where "key", "token" and "signature"
	// are words of other meanings too.
	keyFields = regexp.MustCompile(`(?i)^(api[_-]?key|access[_-]?token|refresh[_-]?token|id[_-]?token|authorization|authorization_token|client[_-]?secret|password)$`)
	// keyShapes are keys of known providers.
	keyShapes = regexp.MustCompile(`sk-[A-Za-z0-9_-]{16,}|xai-[A-Za-z0-9]{16,}|gsk_[A-Za-z0-9]{16,}|AIza[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{16,}|(AKIA|ASIA)[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|hf_[A-Za-z0-9]{16,}|r8_[A-Za-z0-9]{16,}|pplx-[A-Za-z0-9]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`)
)

// secretsOf returns the keys that a request carries in its headers and query.
func secretsOf(req *http.Request) []string {
	var out []string
	add := func(s string) {
		s = strings.TrimSpace(s)
		if len(s) >= 6 {
			out = append(out, s)
		}
	}
	for k, vs := range req.Header {
		k = strings.ToLower(k)
		if k != "authorization" && k != "proxy-authorization" && k != "cookie" && !strings.Contains(k, "key") && !strings.Contains(k, "token") && !strings.Contains(k, "secret") {
			continue
		}
		for _, v := range vs {
			if scheme, rest, ok := strings.Cut(v, " "); ok && !strings.Contains(scheme, "=") {
				v = rest
			}
			add(v)
		}
	}
	for k, vs := range req.URL.Query() {
		if keyNames.MatchString(k) {
			for _, v := range vs {
				add(v)
			}
		}
	}
	if req.URL.User != nil {
		if p, ok := req.URL.User.Password(); ok {
			add(p)
		}
	}
	return out
}

// cleanPath is the path and query of u without secrets.
func cleanPath(u *url.URL, secrets []string) string {
	q := u.Query()
	for k := range q {
		if keyNames.MatchString(k) {
			q[k] = []string{redacted}
		}
	}
	path := u.EscapedPath()
	if enc := q.Encode(); enc != "" {
		path += "?" + enc
	}
	return string(redactText([]byte(path), secrets))
}

func redactText(b []byte, secrets []string) []byte {
	for _, s := range secrets {
		b = bytes.ReplaceAll(b, []byte(s), []byte(redacted))
	}
	return keyShapes.ReplaceAll(b, []byte(redacted))
}

// redactBody takes secrets out of a request's body. Of JSON, the order of
// fields is kept.
func redactBody(b []byte, secrets []string) []byte {
	b = redactText(b, secrets)
	var v any
	if json.Unmarshal(b, &v) != nil {
		return b
	}
	for _, s := range fieldSecrets(v) {
		b = bytes.ReplaceAll(b, encode(s), encode(redacted))
	}
	return b
}

// fieldSecrets returns the values of fields that hold keys.
func fieldSecrets(v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for k, f := range v {
			if s, ok := f.(string); ok && keyFields.MatchString(k) && s != "" {
				out = append(out, s)
				continue
			}
			out = append(out, fieldSecrets(f)...)
		}
	case []any:
		for _, f := range v {
			out = append(out, fieldSecrets(f)...)
		}
	}
	return out
}

// fragment is the least piece of a sent key that is taken out of a response,
// since a stream may spell a key in several deltas.
const fragment = 6

// redactSameLength takes secrets out of a response, whose pieces keep their
// sizes.
func redactSameLength(b []byte, secrets []string) []byte {
	grams := map[string]bool{}
	for _, s := range secrets {
		for i := 0; i+fragment <= len(s); i++ {
			grams[s[i:i+fragment]] = true
		}
	}
	out := bytes.Clone(b)
	for i := 0; i+fragment <= len(b) && len(grams) > 0; i++ {
		if grams[string(b[i:i+fragment])] {
			for j := i; j < i+fragment; j++ {
				out[j] = 'x'
			}
		}
	}
	return keyShapes.ReplaceAllFunc(out, func(found []byte) []byte { return bytes.Repeat([]byte("x"), len(found)) })
}

// keptHeaders are those that clients act on.
func keptHeaders(h http.Header) http.Header {
	out := http.Header{}
	for k, vs := range h {
		switch l := strings.ToLower(k); {
		case l == "content-type", l == "request-id", l == "x-request-id", l == "x-should-retry",
			strings.HasPrefix(l, "retry-after"), strings.Contains(l, "ratelimit"):
			out[k] = vs
		}
	}
	return out
}
