package permission

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/cantle-dev/cantle/internal/x/fetch"
)

// parseHost reads the matcher of a rule of WebFetch.
func parseHost(text string) (string, error) {
	const prefix = "domain:"
	if text == "*" {
		return "*", nil
	}
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return "", errors.New("write WebFetch(domain:HOST)")
	}
	host := strings.TrimSpace(text[len(prefix):])
	if host == "*" {
		return host, nil
	}
	below, sub := strings.CutPrefix(host, "*.")
	if strings.Contains(below, "*") {
		return "", errors.New("a star stands only at the beginning, as in domain:*.go.dev")
	}
	form, err := fetch.Host(below)
	if err != nil {
		return "", fmt.Errorf("%q is not a host, without scheme, port and path: %w", host, err)
	}
	if sub {
		form = "*." + form
	}
	return form, nil
}

// hostOf is the host of what is connected to, which is a URL, a host or a host
// with its port, in one form.
func hostOf(target string) (string, error) {
	if strings.Contains(target, "://") {
		u, err := fetch.Parse(target)
		if err != nil {
			return "", err
		}
		return fetch.Host(u.Hostname())
	}
	if host, _, err := net.SplitHostPort(target); err == nil {
		target = host
	}
	return fetch.Host(target)
}

func hostLike(rule, host string) bool {
	if rule == "*" {
		return true
	}
	if below, ok := strings.CutPrefix(rule, "*."); ok {
		return strings.HasSuffix(host, "."+below)
	}
	return rule == host
}

// notPublic says why a host must not be reached unasked, in any mode, or "". The
// tool that connects has a guard of its own, which also sees where a name leads.
// A rule that names a host is for one of a private network too, but not for what
// hands out credentials.
func notPublic(host string, named bool) string {
	at := host
	if strings.Contains(at, ":") {
		at = "[" + at + "]"
	}
	u, err := fetch.Parse("http://" + at + "/")
	if err != nil {
		return err.Error()
	}
	if err := fetch.New(fetch.Options{AllowPrivate: named}).Check(u); err != nil {
		return strings.TrimPrefix(err.Error(), "fetch: ")
	}
	return ""
}
