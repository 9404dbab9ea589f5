package provider_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/provider"
)

// echoes are servers that say back all that they were sent, in every kind of
// failure.
func echoes(elsewhere string) map[string]http.HandlerFunc {
	said := func(r *http.Request) string {
		_, _ = io.Copy(io.Discard, r.Body)
		return fmt.Sprint(r.URL.RequestURI(), " ", r.URL.Query(), " ", r.Header)
	}
	quoted := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	answer := func(status int, typ string, body func(s string) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			s := said(r)
			w.Header().Set("Content-Type", typ)
			for _, h := range []string{"Request-Id", "X-Request-Id", "X-Amzn-Requestid", "X-Amzn-Errortype"} {
				w.Header().Set(h, strings.ReplaceAll(s, "\n", " "))
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body(s))
		}
	}
	redirect := func(to string, status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			s := said(r)
			w.Header().Set("Location", to+"/"+url.PathEscape(s)+"?key="+url.QueryEscape(s))
			w.WriteHeader(status)
		}
	}
	const js, sse = "application/json", "text/event-stream"
	out := map[string]http.HandlerFunc{
		"slashes": answer(401, js, func(s string) string {
			return `{"error":{"message":` + strings.ReplaceAll(quoted(s), "/", `\/`) + `}}`
		}),
		"list": answer(400, js, func(s string) string {
			return `[{"error":{"code":400,"status":` + quoted(s) + `,"details":[{"reason":` + quoted(s) + `}]}}]`
		}),
		"plain": answer(500, "text/plain", func(s string) string { return s }),
		"page":  answer(502, "text/html", func(s string) string { return "<html><title>" + html.EscapeString(s) + "</title></html>" }),
		"whole": answer(200, js, func(s string) string { return `{"error":{"message":` + quoted(s) + `}}` }),
		"odd":   answer(200, js, func(s string) string { return `{"what":` + quoted(s) + `}` }),
		"cut":   answer(200, js, func(s string) string { return `{"what":` + quoted(s)[:len(quoted(s))-1] }),
		"event": answer(200, sse, func(s string) string {
			return "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":" + quoted(s) + ",\"message\":" + quoted(s) + "}}\n\n"
		}),
		"bad event":   answer(200, sse, func(s string) string { return "data: {" + quoted(s) + "}\n\n" }),
		"line":        answer(200, "application/x-ndjson", func(s string) string { return `{"error":` + quoted(s) + "}\n" }),
		"frames":      answer(200, "application/vnd.amazon.eventstream", func(s string) string { return s }),
		"redirect":    redirect(elsewhere, 307),
		"redirect on": redirect(elsewhere, 308),
		"to GET":      redirect("", 303),
		"to nowhere":  redirect("http://127.0.0.1:1", 307),
	}
	for _, status := range []int{400, 401, 403, 404, 408, 413, 422, 429, 500, 503, 529} {
		out[fmt.Sprint(status)] = answer(status, js, func(s string) string {
			q := quoted(s)
			return `{"type":"error","message":` + q + `,"Message":` + q + `,"error":{"type":` + q + `,"message":` + q + `,"code":` + q + `,"param":` + q + `}}`
		})
	}
	return out
}

// TestErrorsTellNoKey: whatever a server says back of the key, of headers or of
// the query that it was sent, no error of any wire tells it.
func TestErrorsTellNoKey(t *testing.T) {
	t.Parallel()
	const key, token, parameter, password = "Zq8/Rw2+LmX7cVb1=", "tOkEn/of+the=header", "q&uery<key>4711", "pass/word+42="
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the request went on to another host: %v", r.Header)
	}))
	defer elsewhere.Close()
	servers := echoes(elsewhere.URL)
	sent := 0
	for _, wire := range provider.Wires() {
		if wire == "vertex" {
			continue // its tokens are its own: see the tests of llm/vertex
		}
		for name, h := range servers {
			got := ""
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = fmt.Sprint(r.URL, r.Header)
				h(w, r)
			}))
			cu := provider.Custom{
				Provider: catalog.Provider{Name: "box", Wire: wire, BaseURL: strings.Replace(srv.URL, "http://", "http://me:"+url.QueryEscape(password)+"@", 1)},
				Header:   http.Header{"X-My-Token": {token}, "X-My-Auth": {"Bearer " + token + "2"}},
			}
			if strings.HasPrefix(wire, "openai") {
				cu.Query = url.Values{"api-key": {parameter}}
			}
			m, err := provider.Open("box:m", provider.Options{APIKey: key, Providers: []provider.Custom{cu}})
			if err != nil {
				t.Fatalf("%s: %v", wire, err)
			}
			_, err = llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.UserText("hi")}})
			srv.Close()
			if err == nil {
				t.Errorf("%s, %s: no error", wire, name)
				continue
			}
			if strings.Contains(got, key) {
				sent++
			}
			all := ""
			for e := err; e != nil; e = errors.Unwrap(e) {
				b, _ := json.Marshal(e)
				all += fmt.Sprintf("%v %+v %#v %s ", e, e, e, b)
			}
			var le *llm.Error
			if errors.As(err, &le) {
				b, _ := json.Marshal(le)
				all += fmt.Sprintf("%+v %s", *le, b)
			}
			for _, secret := range []string{key, token, parameter, password} {
				for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), strings.ReplaceAll(secret, "/", `\/`), html.EscapeString(secret)} {
					if strings.Contains(all, form) {
						t.Errorf("%s, %s: %q is in %s", wire, name, form, all)
						break
					}
				}
			}
		}
	}
	if sent < 100 {
		t.Errorf("the key was sent %d times only", sent)
	}
}
