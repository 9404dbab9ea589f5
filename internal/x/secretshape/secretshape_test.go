package secretshape_test

import (
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/x/secretshape"
)

// keys are made up, one for each shape.
var keys = map[string]string{
	"key of Anthropic":         "sk-ant-api03-Zq8Rw2LmX7cVb1NpT5yHgK4sD9fJ0aUe",
	"key of OpenRouter":        "sk-or-v1-0123456789abcdef0123456789abcdef",
	"key of Stripe":            "sk_live_0123456789abcdefABCDEF",
	"key of OpenAI or another": "sk-proj-Zq8Rw2LmX7cVb1NpT5yHgK4sD9fJ0aUe",
	"token of GitHub":          "ghp_0123456789abcdefghijABCDEFGHIJ012345",
	"token of GitLab":          "glpat-0123456789abcdefABCD",
	"key of AWS":               "AKIAIOSFODNN7EXAMPLE",
	"key of Google":            "AIzaSyA0123456789abcdefghijklmnopqrstuv",
	"token of Google":          "ya29.a0Af0123456789abcdefghij",
	"token of Slack":           "xoxb-123456789012-abcdefghijkl",
	"key of a model provider":  "gsk_0123456789abcdefghijABCD",
	"signed token":             "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
	"private key":              "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcw\n-----END RSA PRIVATE KEY-----",
}

func TestShapes(t *testing.T) {
	t.Parallel()
	for kind, k := range keys {
		if !secretshape.Is(k) {
			t.Errorf("%s is no key", k)
		}
		for _, a := range [][2]string{
			{"", ""}, {"TOKEN=", ";"}, {"'", "'"}, {`{"k":"`, `"}`}, {"x\\n", "\\n"}, {"Bearer ", "\n"}, {"?key=", "&b=1"}, {"(", ")"}, {"`", "`"}, {"<a>", "</a>"}, {"key:", ","}, {"/", "/x"}, {"é", " é"},
		} {
			if kind == "private key" && strings.Contains(a[1], "\\n") {
				continue
			}
			in := a[0] + k + a[1]
			if got := secretshape.Replace(in, func(kind string) string { return "[" + kind + "]" }); got != a[0]+"["+kind+"]"+a[1] {
				t.Errorf("%s: %q became %q", kind, in, got)
			}
		}
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":       "",
		"plain ": "plain ",
		"task-force-and-other-words-of-some-length":  "task-force-and-other-words-of-some-length",
		"sk-short and sk_test":                       "sk-short and sk_test",
		"path/to/risk-assessment-of-the-whole-thing": "path/to/risk-assessment-of-the-whole-thing",
		"xghp_0123456789abcdefghijABCDEFGHIJ012345":  "xghp_0123456789abcdefghijABCDEFGHIJ012345",
		"-----BEGIN CERTIFICATE-----\nMIIC":          "-----BEGIN CERTIFICATE-----\nMIIC",
		"-----BEGIN PUBLIC KEY-----\nMIIC":           "-----BEGIN PUBLIC KEY-----\nMIIC",
		`"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nBKcw==\n-----END PRIVATE KEY-----\n", "x": 1`: `"<private key>\n", "x": 1`,
		"-----BEGIN EC PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B":                                             "<private key>",
		"https://u:p@h/ https://u@h http://h:80/@x ssh://a:b$1c@h":                                             "https://u:<password>@h/ https://u@h http://h:80/@x ssh://a:<password>@h",
	} {
		if got := secretshape.Replace(in, func(kind string) string { return "<" + kind + ">" }); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// Only whole values are compared: a part of a path may look like anything.
func TestIs(t *testing.T) {
	t.Parallel()
	for _, v := range []string{"", "x", "/home/me/sk-ant-api03-Zq8Rw2LmX7cVb1NpT5yH", "plain", "a ghp_0123456789abcdefghij"} {
		if secretshape.Is(v) {
			t.Errorf("%q is a key", v)
		}
	}
}
