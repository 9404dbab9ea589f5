// Package seatbelt runs commands under the sandbox of macOS, by sandbox-exec
// and a profile that is made for each policy:
//
//	text, err := seatbelt.Profile(sandbox.Policy{WriteRoots: []string{dir}, NoNetwork: true}, "")
//
// On other systems Open says that there is none.
package seatbelt

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/internal/place"
)

// ErrUnavailable means that this system has no Seatbelt.
var ErrUnavailable = errors.New("no Seatbelt")

// Profile is the text of a profile that holds a policy. Proxy is the address on
// this machine that may be connected to all the same; "" is none. Paths are
// taken as they are, since the profile is matched with paths without links.
func Profile(p sandbox.Policy, proxy string) (string, error) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("(version 1)")
	line("(allow default)")
	// What would act for the command outside of its sandbox.
	line("(deny lsopen)")
	line("(deny appleevent-send)")
	line("(deny job-creation)")
	line("(deny signal)")
	line("(allow signal (target same-sandbox))")
	line("(deny process-info*)")
	line("(allow process-info* (target same-sandbox))")
	// The last rule that matches counts.
	if p.WriteRoots != nil {
		line("(deny file-write*)")
		line(`(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/dtracehelper"))`)
		for _, r := range p.Writable() {
			q, err := quote(r)
			if err != nil {
				return "", err
			}
			line("(allow file-write* (subpath %s))", q)
		}
	}
	protected := append(slices.Clone(p.ReadOnly), p.Hide...)
	for _, path := range protected {
		q, err := quote(path)
		if err != nil {
			return "", err
		}
		line("(deny file-write* (subpath %s))", q)
		// Nor can what it is in be moved away.
		for dir := filepath.Dir(path); dir != "/" && dir != "."; dir = filepath.Dir(dir) {
			if !place.InAny(dir, p.Writable()) && p.WriteRoots != nil {
				break
			}
			q, err := quote(dir)
			if err != nil {
				return "", err
			}
			line("(deny file-write-unlink (literal %s))", q)
		}
	}
	for _, path := range p.Hide {
		q, err := quote(path)
		if err != nil {
			return "", err
		}
		line("(deny file-read* (subpath %s))", q)
	}
	switch {
	case p.NoNetwork:
		line("(deny network*)")
		if proxy != "" {
			_, port, ok := strings.Cut(proxy, ":")
			if !ok || strings.Trim(port, "0123456789") != "" {
				return "", fmt.Errorf("sandbox: seatbelt: the proxy's address %q is none", proxy)
			}
			line(`(allow network-outbound (remote ip "localhost:%s"))`, port)
		}
	case p.WriteRoots != nil:
		// Daemons that listen at a path act with rights of their own; names are
		// looked up by one of them.
		line("(deny network-outbound (remote unix-socket))")
		line(`(allow network-outbound (literal "/private/var/run/mDNSResponder"))`)
	}
	return b.String(), nil
}

// quote writes a string of the profile's language.
func quote(s string) (string, error) {
	for _, c := range s {
		if c < ' ' || c == 0x7F {
			return "", fmt.Errorf("sandbox: seatbelt: the path %q holds a control character", s)
		}
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`, nil
}
