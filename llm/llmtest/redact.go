package llmtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	wires "github.com/cantle-dev/cantle/llm/internal/wire"
)

const redacted = "REDACTED"

// keyFields are the names of fields of JSON bodies whose value is a secret. In
// bodies "key", "token" and "signature" are words of other meanings too.
var keyFields = regexp.MustCompile(`(?i)^(api[_-]?key|access[_-]?token|refresh[_-]?token|id[_-]?token|authorization|authorization_token|client[_-]?secret|password)$`)

// cleanPath is the path and query of u without secrets.
func cleanPath(u *url.URL, secrets []string) string {
	q := u.Query()
	for k := range q {
		if wires.SecretName(k) {
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
	return wires.KeyLike().ReplaceAll(b, []byte(redacted))
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
	return wires.KeyLike().ReplaceAllFunc(out, func(found []byte) []byte { return bytes.Repeat([]byte("x"), len(found)) })
}

// keptHeaders are those that clients act on.
func keptHeaders(h http.Header) http.Header {
	out := http.Header{}
	for k, vs := range h {
		switch l := strings.ToLower(k); {
		case l == "content-type", l == "request-id", l == "x-request-id", l == "x-amzn-errortype", l == "x-should-retry",
			strings.HasPrefix(l, "retry-after"), strings.Contains(l, "ratelimit"):
			out[k] = vs
		}
	}
	return out
}
