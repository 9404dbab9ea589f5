package provider

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/cantle-dev/cantle/llm/catalog"
)

// mayHaveKey reports whether the provider's key may go to the base URL: it is
// encrypted, and at the provider's own host or one that the catalog names.
func (c Custom) mayHaveKey(baseURL string) bool {
	u, err := url.Parse(baseURL)
	if err != nil || u.Scheme != "https" || u.User != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	if known, err := url.Parse(c.BaseURL); err == nil && host == strings.ToLower(known.Hostname()) && host != "" {
		return true
	}
	for _, h := range c.KeyHosts {
		if host == h || strings.HasSuffix(host, "."+h) {
			return true
		}
	}
	return false
}

// atHome reports whether the base URL is on this machine or its own network.
func atHome(baseURL string) bool {
	u, err := url.Parse(baseURL)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	// A name without a dot is one of the local network, or of a container's.
	return host != "" && (!strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".internal"))
}

// choices says what a name that is not known may have been meant for.
func choices(name string, names []string) string {
	if near := catalog.Nearest(name, names, 2); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	if len(names) == 0 {
		return "there are none"
	}
	return "there are " + strings.Join(names, ", ")
}
