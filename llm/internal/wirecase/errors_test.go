package wirecase_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm/internal/wirecase"
)

// eachError runs f for every recorded answer that is an error by its status.
func eachError(t *testing.T, f func(t *testing.T, r *rand.Rand, x *wirecase.Exchange, want outcome)) {
	eachAnswer(t, func(t *testing.T, r *rand.Rand, x *wirecase.Exchange) {
		if x.Status() < 300 {
			return
		}
		want := ask(t, x, as(x, x.Body()))
		if want.err == nil {
			t.Fatal("no error")
		}
		f(t, r, x, want)
	})
}

// TestErrorForms: what is said of an error does not depend on how it is sent.
func TestErrorForms(t *testing.T) {
	eachError(t, func(t *testing.T, r *rand.Rand, x *wirecase.Exchange, want outcome) {
		for _, typ := range []string{"", "text/html", "text/plain", "application/octet-stream", "text/event-stream", "application/problem+json"} {
			s := as(x, x.Body())
			s.header.Del("Content-Type")
			if typ != "" {
				s.header.Set("Content-Type", typ)
			}
			same(t, "as "+typ, x, want, ask(t, x, s), false)
		}
		s := as(x, append([]byte("\r\n  \n"), append(bytes.Clone(x.Body()), " \n"...)...))
		same(t, "blanks", x, want, ask(t, x, s), false)
		s = as(x, append([]byte("\xef\xbb\xbf"), x.Body()...))
		same(t, "byte order mark", x, want, ask(t, x, s), false)
		s = as(x, x.Body())
		s.broken = true
		same(t, "broken connection", x, want, ask(t, x, s), false)

		// Compressed, as servers do where the client says that it takes it.
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for k, v := range x.Header() {
				w.Header()[k] = v
			}
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(x.Status())
			z := gzip.NewWriter(w)
			_, _ = z.Write(x.Body()) // the client shows what came
			_ = z.Close()
		}))
		defer srv.Close()
		to := &redirected{srv.Listener.Addr().String(), srv.Client().Transport}
		same(t, "compressed", x, want, ask(t, x, to), false)

		// What does not come says nothing, but the status does.
		for _, body := range []string{"", "<html><head><title>502 Bad Gateway</title></head></html>", "upstream connect error", `{}`, `null`, `[]`, `""`, `{"error":{}}`, `{"error":null}`} {
			got := ask(t, x, &served{status: x.Status(), header: x.Header(), body: []byte(body)})
			plain := ask(t, x, &served{status: x.Status(), header: x.Header(), body: nil})
			if s := got.sane(); s != "" || got.kind() != plain.kind() {
				t.Errorf("%q: %s: kind %s, want %s", body, s, got.kind(), plain.kind())
			}
		}
		body := x.Body()
		for range few(6, 200) {
			if len(body) < 2 {
				break
			}
			cut := 1 + r.IntN(len(body)-1)
			got := ask(t, x, as(x, body[:cut]))
			if s := got.sane(); s != "" || got.err == nil {
				t.Errorf("cut at %d: %s", cut, s)
			}
		}
	})
}

type redirected struct {
	host string
	next http.RoundTripper
}

func (d *redirected) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = d.host
	return d.next.RoundTrip(r)
}

// TestErrorsAsSuccess: the body of an error with the status of a success is an
// error, alone, as an event, and in the middle of an answer.
func TestErrorsAsSuccess(t *testing.T) {
	eachError(t, func(t *testing.T, _ *rand.Rand, x *wirecase.Exchange, _ outcome) {
		body := bytes.TrimSpace(x.Body())
		if len(body) == 0 {
			return
		}
		h := x.Header()
		got := ask(t, x, &served{status: 200, header: h, body: body})
		if s := got.sane(); s != "" || got.err == nil {
			t.Errorf("alone: %s %v", s, got.err)
		}
		if body[0] != '{' || !jsonObject(body) {
			return
		}
		if x.Wire == "bedrock" {
			return
		}
		for _, form := range []string{"data: %s\n\n", "event: error\ndata: %s\n\n", "data: %s"} {
			if x.Wire == "ollama" {
				form = "%s\n"
			}
			one := bytes.ReplaceAll(body, []byte("\n"), nil)
			got := ask(t, x, &served{status: 200, header: h, body: fmt.Appendf(nil, form, one)})
			if s := got.sane(); s != "" || got.err == nil {
				t.Errorf("%q: %s %v", form, s, got.err)
			}
		}
	})
}

func jsonObject(b []byte) bool {
	v, err := parse(b)
	return err == nil && v.kind == '{'
}

var (
	digits  = regexp.MustCompile(`\d+`)
	modelID = regexp.MustCompile(`\b(gpt|claude|gemini|mistral|llama|grok|command|deepseek|qwen|glm|nova|o\d|sonar)[-\w.]*-[-\w.:]*`)
	opaque  = regexp.MustCompile(`\b(req|org|proj|user|acct|chatcmpl|resp|msg)[-_][A-Za-z0-9]+`)
)

// TestErrorNames: the kind of an error does not hang on the numbers, the ids
// and the names of models in it.
func TestErrorNames(t *testing.T) {
	eachError(t, func(t *testing.T, r *rand.Rand, x *wirecase.Exchange, want outcome) {
		if _, err := parse(x.Body()); err != nil {
			return
		}
		for range few(4, 40) {
			v, _ := parse(x.Body())
			other(r, v)
			body := v.write(nil, false)
			if got := ask(t, x, as(x, body)); got.kind() != want.kind() || want.e.Retryable() != got.e.Retryable() {
				t.Errorf("kind %s, want %s: %s", got.kind(), want.kind(), body)
				return
			}
		}
	})
}

// other changes the values of what is said in v.
func other(r *rand.Rand, v *tree) {
	for i, x := range v.values {
		name := ""
		if v.kind == '{' {
			name = v.names[i]
		}
		switch {
		case x.kind != '"':
			if x.kind == 0 && (strings.Contains(name, "n_") || strings.Contains(name, "created")) {
				x.text = fmt.Sprint(1 + r.IntN(1_000_000))
			}
			other(r, x)
		case strings.Contains(name, "id") && !strings.Contains(name, "quotaId"):
			x.text = fmt.Sprintf("%x", r.Uint64())
		case strings.HasPrefix(strings.ToLower(name), "message"), name == "detail", name == "error", name == "raw":
			s := modelID.ReplaceAllString(x.text, "acme-7b-next")
			s = opaque.ReplaceAllString(s, "${1}_abc")
			if name != "raw" {
				s = digits.ReplaceAllStringFunc(s, func(d string) string {
					if d == "0" || len(d) < 3 && !strings.Contains(s, "token") {
						return d
					}
					return fmt.Sprint(1 + r.IntN(9_999_999))
				})
			}
			x.text = s
		}
	}
}

// TestRetryForms: however a wait is told, it is found.
func TestRetryForms(t *testing.T) {
	eachError(t, func(t *testing.T, _ *rand.Rand, x *wirecase.Exchange, want outcome) {
		if want.e == nil || !want.e.Retryable() {
			return
		}
		for _, f := range [][2]string{
			{"Retry-After", "7"},
			{"retry-after", "7.0"},
			{"Retry-After", " 7 "},
			{"Retry-After", "7s"},
			{"Retry-After-Ms", "7000"},
			{"Retry-After", "Wed, 21 Oct 2015 07:28:07 GMT"},
		} {
			s := as(x, x.Body())
			for _, k := range []string{"Retry-After", "Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
				s.header.Del(k)
			}
			s.header.Set("Date", "Wed, 21 Oct 2015 07:28:00 GMT")
			s.header.Set(f[0], f[1])
			if got := ask(t, x, s); got.e == nil || got.e.RetryAfter.Seconds() != 7 {
				t.Errorf("%v: %v", f, got.e)
			}
		}
	})
}
