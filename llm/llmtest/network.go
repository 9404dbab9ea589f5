package llmtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
)

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Loopback returns a transport that refuses to connect to anything but
// loopback, before it resolves a name, and uses no proxy.
func Loopback() *http.Transport {
	var d net.Dialer
	return &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, fmt.Errorf("llmtest: address %q: %w", addr, err)
			}
			if !isLoopback(host) {
				return nil, fmt.Errorf("llmtest: a test tried to connect to %s; only loopback is allowed", addr)
			}
			return d.DialContext(ctx, network, addr)
		},
	}
}

// ForbidNetwork makes [http.DefaultTransport] refuse all but loopback until
// the test ends. The transport is shared by the whole process: call it from
// tests that are not parallel, and before a client is made from the default.
func ForbidNetwork(t testing.TB) {
	t.Helper()
	old, mine := http.DefaultTransport, Loopback()
	http.DefaultTransport = mine
	t.Cleanup(func() {
		mine.CloseIdleConnections()
		http.DefaultTransport = old
	})
}
