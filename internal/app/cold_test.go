package app_test

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

// The address of a server may be written in any way that its user thinks of.
func TestAddresses(t *testing.T) {
	for _, tt := range []struct{ wire, tail string }{
		{llmtest.WireChat, ""},
		{llmtest.WireChat, "/"},
		{llmtest.WireChat, "/chat/completions"},
		{llmtest.WireChat, "?api-version=1"},
		{llmtest.WireChat, "/?api-version=1"},
		{llmtest.WireResponses, "/"},
		{llmtest.WireResponses, "?api-version=1"},
		{llmtest.WireAnthropic, ""},
		{llmtest.WireAnthropic, "/"},
		{llmtest.WireAnthropic, "/v1"},
		{llmtest.WireAnthropic, "/v1/"},
		{llmtest.WireGemini, "/"},
	} {
		w := newWorld(t)
		w.change = func(o *app.Options) {
			srv := second(t, o.Config, "x", tt.wire, llmtest.Play(t, llmtest.Say("ok")))
			p := o.Config.Providers["x"]
			p.BaseURL = srv.BaseURL(tt.wire) + tt.tail
			o.Config.Providers["x"] = p
			o.Config.Model = "x:m"
		}
		a, _ := w.open()
		res, err := a.Agent.Run(t.Context(), a.Session, llm.Text{Text: "hi"})
		if err != nil || res.Text != "ok" {
			t.Errorf("%s%s: %v", tt.wire, tt.tail, err)
		}
	}
}

// A server that cannot be spoken to is an error that says which, why, and what
// to do about it.
func TestColdPaths(t *testing.T) {
	gone := http.NotFoundHandler()
	plain := httptest.NewServer(gone)
	defer plain.Close()
	secure := httptest.NewUnstartedServer(gone)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	six := ""
	if l, err := net.Listen("tcp", "[::1]:0"); err == nil {
		six = l.Addr().String()
		_ = l.Close() // nobody listens there
	}
	host := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	none := 0
	for _, tt := range []struct {
		base string
		want []string
	}{
		{"https://" + host(secure) + "/v1", []string{"x:m: network: cannot reach " + host(secure), "certificate", "SSL_CERT_FILE"}},
		{"https://" + host(plain) + "/v1", []string{"cannot reach " + host(plain), "write http://"}},
		{"http://" + host(secure) + "/v1", []string{"Client sent an HTTP request to an HTTPS server"}},
		{"http://" + host(plain) + "/wrong?a=secret", []string{"not found (404)", "asked at http://" + host(plain) + "/wrong/chat/completions"}},
		{"http://" + six + "/v1", []string{"x:m: network: cannot reach " + six}},
	} {
		if tt.base == "http:///v1" {
			continue // there is no IPv6 here
		}
		w := newWorld(t)
		w.change = func(o *app.Options) {
			o.Config.Providers["x"] = config.Provider{BaseURL: tt.base, MaxRetries: &none}
			o.Config.Model = "x:m"
		}
		a, _ := w.open()
		_, err := a.Agent.Run(t.Context(), a.Session, llm.Text{Text: "hi"})
		for _, want := range tt.want {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v, want %q", tt.base, err, want)
			}
		}
	}
}
