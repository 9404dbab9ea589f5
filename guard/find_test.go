package guard_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/guard"
)

// Values of every kind that a key may be.
var values = map[string]string{
	"plain":   "sk-ant-api03-Zq8Rw2LmX7cVb1NpT5yHgK4sD9fJ0aUe",
	"base64":  "wJalrXUt+FEMI/K7MDE+NG/bPxRfiCYzzzKEY12=",
	"short":   "hunter2x",
	"mean":    `p"a\s's/w<o>r&d%4`,
	"percent": "100%25sure%20thing",
	"url":     "https://hooks.example.com/services/T0AB/B0CD/xyzzy42plugh",
	"digits":  "8371629405512",
	"jwt":     "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
}

func keys() []guard.Key {
	var out []guard.Key
	for name, v := range values {
		out = append(out, guard.Key{Name: name, Value: v})
	}
	slices.SortFunc(out, func(a, b guard.Key) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func redactor(ks ...guard.Key) *guard.Redactor {
	return guard.New(guard.Options{Keys: func() []guard.Key { return ks }})
}

// fold breaks a text into lines of n characters, each with something before it.
func fold(s string, n int, nl string) string {
	var b strings.Builder
	for i := 0; i < len(s); i += n {
		if i > 0 {
			b.WriteString(nl)
		}
		b.WriteString(s[i:min(len(s), i+n)])
	}
	return b.String()
}

func quoted(s string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	_ = e.Encode(s)
	t := strings.TrimSpace(b.String())
	return t[1 : len(t)-1]
}

// everything as \u escapes, or as %XX.
func each(s, format string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

// spellings are the ways in which a command may print a key.
func spellings(v string) map[string]string {
	out := map[string]string{
		"as it is": v, "JSON": quoted(v, false), "JSON for HTML": quoted(v, true), "JSON in JSON": quoted(quoted(v, true), false),
		"JSON with slashes": strings.ReplaceAll(quoted(v, false), "/", `\/`), "all escaped": each(v, `\u%04x`), "in a shell": each(v, `\x%02X`),
		"query": url.QueryEscape(v), "path": url.PathEscape(v), "query, small": strings.ToLower(url.QueryEscape("/")) + lowerEscapes(url.QueryEscape(v)),
		"query of a query": url.QueryEscape(url.QueryEscape(v)), "all percent": each(v, "%%%02x"),
		"hex": hex.EncodeToString([]byte(v)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(v))),
	}
	for _, n := range []int{1, 3, 7, 10} {
		for name, nl := range map[string]string{
			"lines": "\n", "CRLF": "\r\n", "CR": "\r", "indented": "\n      ", "tabs": "\n\t\t", "in JSON": `\n`, "in JSON, CRLF": `\r\n`, "in JSON in JSON": `\\n`,
			"continued": "\\\n", "in a URL": "%0A", "by Read": "\n   123\t", "by Grep": "\n12: ", "by diff": "\n+",
		} {
			out[fmt.Sprintf("%s of %d", name, n)] = fold(v, n, nl)
		}
	}
	for before := range 4 {
		for after := range 3 {
			b := []byte(strings.Repeat("a", before) + v + strings.Repeat("z", after))
			for name, e := range map[string]*base64.Encoding{"std": base64.StdEncoding, "url": base64.RawURLEncoding} {
				s := e.EncodeToString(b)
				out[fmt.Sprintf("base64 %s %d %d", name, before, after)] = s
				out[fmt.Sprintf("base64 %s %d %d in lines", name, before, after)] = fold(s, 19, "\n")
				out[fmt.Sprintf("base64 %s %d %d in lines, in JSON", name, before, after)] = strings.ReplaceAll(fold(s, 19, `\n`), "/", `\/`)
			}
		}
	}
	return out
}

// ambiguous is what can be read in two ways: an escape within an escape, or
// a line that begins with a mark which the key has too.
func ambiguous(v, how string) bool {
	if strings.Contains(v, "+") && strings.Contains(how, "diff") {
		return true
	}
	return strings.ContainsAny(v, `%\`) && slices.ContainsFunc([]string{"continued", "in JSON", "in a URL", "query"}, func(s string) bool { return strings.Contains(how, s) })
}

func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// around are what may stand next to a key.
var around = [][2]string{
	{"", ""},
	{"TOKEN=", ";"},
	{"TOKEN='", "'"},
	{`{"key":"`, `"}`},
	{"Authorization: Bearer ", "\r\n"},
	{"export KEY=", " && x"},
	{"(", ")"},
	{"++ curl -H 'x-api-key: ", "' https://api.example.com"},
	{"?key=", "&x=1"},
	{"`", "`"},
	{"word", "word"},
	{"=", "|tee"},
	{"$(echo ", ")"},
	{"<k>", "</k>"},
	{"\\n", "\\n"},
}

func TestFound(t *testing.T) {
	t.Parallel()
	for name, v := range values {
		r := redactor(guard.Key{Name: name, Value: v})
		for how, s := range spellings(v) {
			if ambiguous(v, how) {
				continue
			}
			for _, a := range around {
				in := a[0] + s + a[1]
				got := r.Text(in)
				ok := got == a[0]+"[key of "+name+"]"+a[1]
				if strings.HasPrefix(how, "base64") || strings.HasPrefix(how, "query, small") {
					// The characters at the ends are made of other bytes too.
					ok = strings.HasPrefix(got, a[0]) && strings.HasSuffix(got, a[1]) && strings.Contains(got, "[key of "+name+"]") &&
						len(got) <= len(a[0])+len(a[1])+len("[key of "+name+"]")+20
				}
				if !ok {
					t.Errorf("%s, %s: %q became %q", name, how, in, got)
					break
				}
			}
		}
	}
}

// Where a part of a key is cut off, the rest of it does not show either.
func TestCutOff(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain", "base64", "jwt", "url"} {
		v := values[name]
		r := redactor(guard.Key{Name: name, Value: v})
		for n := 1; n < len(v); n++ {
			for _, in := range []string{"out: " + v[:n] + "\n[… 7 bytes left out …]\n", "[… 7 bytes left out …]\n" + v[n:] + " more"} {
				got := r.Text(in)
				// No more of it than half, or 15 characters, is left.
				for i := 0; i+max(16, (len(v)+1)/2) <= len(v); i++ {
					if strings.Contains(got, v[i:i+max(16, (len(v)+1)/2)]) {
						t.Fatalf("%q became %q", in, got)
					}
				}
				if got != in && !strings.Contains(got, "[part of the key of "+name+"]") {
					t.Errorf("%q became %q", in, got)
				}
			}
		}
	}
	// A beginning that many keys have is none.
	r := redactor(guard.Key{Name: "k", Value: values["plain"]})
	for _, s := range []string{"sk-ant-api03-", "sk-ant-api03-Zq8X", "keys begin with sk-ant-api03-…", "sk-ant-api03-Zq8-other-key-of-someone-else"} {
		if got := r.Text(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestNothingElse(t *testing.T) {
	t.Parallel()
	r := redactor(append(keys(), guard.Key{Name: "none", Value: "ollama"}, guard.Key{Name: "blank", Value: "  \n"}, guard.Key{Name: "seven", Value: "1234567"})...)
	for _, s := range []string{
		"", "ollama pull", "12345678", "plain text", "hunter2", "hunter2 x", "hunter2\n\nx", `100%`, "a\\", "%", "%2", `\u00`, `\`, "\n", "\xff\xfe", strings.Repeat("s", 10_000), strings.Repeat("\n", 1000),
		"sk-ant-api03-Zq8Rw2Lm", strings.Repeat("sk-ant-a", 1000), strings.Repeat(`\`, 1000), strings.Repeat("%", 1000), strings.Repeat("%25", 1000),
	} {
		if got := r.Text(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
	if got := guard.New(guard.Options{}).Text(values["plain"]); got != values["plain"] {
		t.Error(got)
	}
}

// Keys that are within one another, begin alike, or are one after the other.
func TestSeveral(t *testing.T) {
	t.Parallel()
	r := redactor(
		guard.Key{Name: "a", Value: "sk-same-beginning-1111"}, guard.Key{Name: "b", Value: "sk-same-beginning-1111-and-more"},
		guard.Key{Name: "c", Value: "sk-same-beginning-2222"}, guard.Key{Name: "d", Value: "beginning-3"}, guard.Key{Name: "e", Value: "Bearer tok-tok-tok"},
		guard.Key{Name: "again", Value: "sk-same-beginning-2222"}, guard.Key{Name: `f"\` + "\n]", Value: "xxxxxxxx"},
		guard.Key{Name: "pem", Value: "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END PRIVATE KEY-----\n"},
	)
	for in, want := range map[string]string{
		"sk-same-beginning-1111":                                  "[key of a]",
		"sk-same-beginning-1111-and-more":                         "[key of b]",
		"sk-same-beginning-1111-and-mor":                          "[part of the key of b]",
		"sk-same-beginning-2222":                                  "[key of c]",
		"sk-same-beginning-3333":                                  "[part of the key of a]3333",
		"no-same-beginning-3333":                                  "no-same-[key of d]333",
		"Bearer tok-tok-tok; tok-tok-tok":                         "[key of e]; [key of e]",
		"sk-same-beginning-1111sk-same-beginning-2222beginning-3": "[key of a][key of c][key of d]",
		"xxxxxxxxx": "[key of f]x",
		"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END PRIVATE KEY-----\n":   "[key of pem]\n",
		`"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END PRIVATE KEY-----\n"`: `"[key of pem]\n"`,
		"2: BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj": "2: [key of pem]",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// A key that is got late is found from then on.
func TestLate(t *testing.T) {
	t.Parallel()
	var ks []guard.Key
	r := guard.New(guard.Options{Keys: func() []guard.Key { return ks }})
	if got := r.Text("x hunter2x"); got != "x hunter2x" {
		t.Error(got)
	}
	ks = append(ks, guard.Key{Name: "late", Value: "hunter2x"})
	if got := r.Text("x hunter2x"); got != "x [key of late]" {
		t.Error(got)
	}
}

// However a text is split, nothing of a key gets through, and no other byte is
// lost or moved.
func TestWriter(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	ks := keys()
	r := redactor(ks...)
	for range 400 {
		var in strings.Builder
		for range 1 + rnd.IntN(3) {
			k := ks[rnd.IntN(len(ks))]
			sp := spellings(k.Value)
			how := slices.Sorted(maps.Keys(sp))
			how = slices.DeleteFunc(how, func(s string) bool { return strings.HasSuffix(s, " of 1") || ambiguous(k.Value, s) }) // each line is shown when it ends
			in.WriteString(around[rnd.IntN(len(around))][0] + sp[how[rnd.IntN(len(how))]] + around[rnd.IntN(len(around))][1])
			in.WriteString("some line of text\n")
		}
		text := in.String()
		var out strings.Builder
		w := r.Writer(&out)
		for rest := text; rest != ""; {
			n := 1 + rnd.IntN(min(len(rest), 1+rnd.IntN(40)))
			if m, err := w.Write([]byte(rest[:n])); m != n || err != nil {
				t.Fatal(m, err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if want := r.Text(text); out.String() != want {
			t.Fatalf("%q\nin pieces %q\nat once   %q", text, out.String(), want)
		}
	}
}

// What cannot be a key's beginning comes at once.
func TestWriterHoldsLittle(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := redactor(keys()...).Writer(&out)
	for _, s := range []string{"listening on port 8080\n", "ready.\n", "Password: ", "done in 7 s\n", "progress 10%\n"} {
		before := out.Len()
		if _, err := w.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
		if out.String()[before:] != s {
			t.Errorf("%q is held back", s)
		}
	}
	before := out.Len()
	for range 1000 {
		_, _ = w.Write([]byte("sk-ant-a"))
	}
	if out.Len()-before < 7900 {
		t.Errorf("%d bytes of 8000", out.Len()-before)
	}
}

func FuzzWriter(f *testing.F) {
	f.Add("x hunter2x %68unter2x", uint16(3))
	f.Add("hun\n  12\tter\\u0032x", uint16(5))
	f.Add(values["base64"]+"\\", uint16(9))
	r := redactor(keys()...)
	f.Fuzz(func(t *testing.T, s string, n uint16) {
		whole := r.Text(s)
		for _, v := range values {
			if strings.Contains(whole, v) {
				t.Errorf("%q became %q", s, whole)
			}
		}
		var out strings.Builder
		w := r.Writer(&out)
		for i := 0; i < len(s); i += 1 + int(n)%17 {
			_, _ = w.Write([]byte(s[i:min(len(s), i+1+int(n)%17)]))
		}
		_ = w.Close()
		for _, v := range values {
			if strings.Contains(out.String(), v) {
				t.Errorf("%q in pieces became %q", s, out.String())
			}
		}
	})
}

func BenchmarkText(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var ks []guard.Key
	for i := range 20 {
		v := []string{"sk-ant-api03-", "sk-proj-", "gsk_", "AIza", ""}[i%5]
		for range 48 {
			v += string(letters[rnd.IntN(64)])
		}
		ks = append(ks, guard.Key{Name: fmt.Sprint("k", i), Value: v})
	}
	var code, blob strings.Builder
	for code.Len() < 1<<20 {
		fmt.Fprintf(&code, "\tif err := s.store(ctx, %d, \"name\\n\", &value); err != nil {\n\t\treturn fmt.Errorf(\"ask-%d: 50%%: %%w\", err)\n\t}\n", rnd.Int(), rnd.IntN(100))
	}
	for blob.Len() < 1<<20 {
		blob.WriteByte(letters[rnd.IntN(64)])
		if blob.Len()%77 == 0 {
			blob.WriteByte('\n')
		}
	}
	r := redactor(ks...)
	for name, text := range map[string]string{"code": code.String()[:1<<20], "base64": blob.String()[:1<<20], "keys": strings.Repeat("x "+ks[3].Value+" y\n", 1<<20/67)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				r.Text(text)
			}
		})
	}
	b.Run("build", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			redactor(ks...).Text("x")
		}
	})
}
