package provider

import (
	"net/netip"
	"net/url"
	"slices"
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
	_, own, _ := strings.Cut(c.BaseURL, "://")
	own, _, _ = strings.Cut(own, "/")
	return slices.ContainsFunc(append([]string{own}, c.KeyHosts...), func(pattern string) bool {
		return hostIs(pattern, strings.ToLower(u.Host))
	})
}

// hostIs reports whether the host, with its port, is the one of the pattern,
// in which {braces} stand for letters, digits and hyphens: never for a dot,
// behind which another's name could stand.
func hostIs(pattern, host string) bool {
	before, rest, open := strings.Cut(pattern, "{")
	if !open {
		return pattern != "" && pattern == host
	}
	_, after, _ := strings.Cut(rest, "}")
	middle, ok := strings.CutPrefix(host, before)
	if ok {
		middle, ok = strings.CutSuffix(middle, after)
	}
	return ok && middle != "" && strings.Trim(middle, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// compatible is the base URL of the provider's imitation of OpenAI: Ollama's is
// beside its own interface, of which the address has no path.
func (c Custom) compatible() string {
	if u, err := url.Parse(c.BaseURL); err == nil && c.List == "ollama" {
		if p := strings.TrimRight(u.Path, "/"); p == "" || p == "/api" {
			u.Path = "/v1"
			return u.String()
		}
	}
	return c.BaseURL
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
