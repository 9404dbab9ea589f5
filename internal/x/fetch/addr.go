package fetch

import (
	"fmt"
	"net/netip"
)

// class is what kind of an address one is.
type class int

const (
	public   class = iota
	metadata       // where clouds hand out credentials, and all link-local addresses: never
	never          // no host has it, or not one alone: never
	private        // of this machine or this network
	special        // reserved for a use that is not the public Internet
)

// kinds are the ranges that are not public, of the registries for special
// addresses of IANA (IPv4 and IPv6), and the addresses at which clouds answer
// with credentials. The first that holds an address says what it is.
var kinds = []struct {
	in   netip.Prefix
	is   class
	what string
}{
	{netip.MustParsePrefix("169.254.0.0/16"), metadata, "link-local, where clouds keep credentials"},
	{netip.MustParsePrefix("100.100.100.200/32"), metadata, "the metadata service of a cloud"},
	{netip.MustParsePrefix("168.63.129.16/32"), metadata, "the metadata service of a cloud"},
	{netip.MustParsePrefix("192.0.0.192/32"), metadata, "the metadata service of a cloud"},
	{netip.MustParsePrefix("fe80::/10"), metadata, "link-local"},
	{netip.MustParsePrefix("fd00:ec2::/32"), metadata, "the metadata service of a cloud"},
	{netip.MustParsePrefix("fd20:ce::/32"), metadata, "the metadata service of a cloud"},
	{netip.MustParsePrefix("fd00:42::/32"), metadata, "the metadata service of a cloud"},
	{netip.MustParsePrefix("fd00:c1::/32"), metadata, "the metadata service of a cloud"},

	{netip.MustParsePrefix("0.0.0.0/8"), never, "unspecified"},
	{netip.MustParsePrefix("224.0.0.0/4"), never, "multicast"},
	{netip.MustParsePrefix("255.255.255.255/32"), never, "broadcast"},
	{netip.MustParsePrefix("::/128"), never, "unspecified"},
	{netip.MustParsePrefix("ff00::/8"), never, "multicast"},

	{netip.MustParsePrefix("127.0.0.0/8"), private, "loopback"},
	{netip.MustParsePrefix("::1/128"), private, "loopback"},
	{netip.MustParsePrefix("10.0.0.0/8"), private, "private"},
	{netip.MustParsePrefix("172.16.0.0/12"), private, "private"},
	{netip.MustParsePrefix("192.168.0.0/16"), private, "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), private, "shared by a provider's customers"},
	{netip.MustParsePrefix("fc00::/7"), private, "private"},
	{netip.MustParsePrefix("fec0::/10"), private, "site-local"},

	{netip.MustParsePrefix("192.0.0.0/24"), special, "reserved"},
	{netip.MustParsePrefix("192.0.2.0/24"), special, "for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), special, "reserved"},
	{netip.MustParsePrefix("198.18.0.0/15"), special, "for benchmarks, which local proxies use for addresses that they make up"},
	{netip.MustParsePrefix("198.51.100.0/24"), special, "for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), special, "for documentation"},
	{netip.MustParsePrefix("240.0.0.0/4"), special, "reserved"},
	{netip.MustParsePrefix("2001::/23"), special, "reserved"},
	{netip.MustParsePrefix("2001:db8::/32"), special, "for documentation"},
	{netip.MustParsePrefix("3fff::/20"), special, "for documentation"},
}

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour     = netip.MustParsePrefix("2002::/16")
	teredo        = netip.MustParsePrefix("2001::/32")
	compatible    = netip.MustParsePrefix("::/96")
	translated    = netip.MustParsePrefix("::ffff:0:0:0/96")
)

// inner are the IPv4 addresses that an IPv6 address leads to or through:
// NAT64 (RFC 6052), IPv4-compatible (RFC 4291), IPv4-translated (RFC 7915),
// 6to4 (RFC 3056), Teredo (RFC 4380: the server and the client), ISATAP (RFC
// 5214).
func inner(a netip.Addr) []netip.Addr {
	b := a.As16()
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte(b[i : i+4])) }
	switch {
	case compatible.Contains(a) && b[12]|b[13]|b[14] != 0, translated.Contains(a), nat64.Contains(a):
		return []netip.Addr{at(12)}
	case sixToFour.Contains(a):
		return []netip.Addr{at(2)}
	case teredo.Contains(a):
		return []netip.Addr{at(4), netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})}
	case b[8]&^0x03 == 0 && b[9] == 0 && b[10] == 0x5E && b[11] == 0xFE:
		return []netip.Addr{at(12)}
	}
	return nil
}

// classify says what a is, and in words. An address that wraps another is the
// worse of the two.
func classify(a netip.Addr) (class, string) {
	if !a.IsValid() || a.Zone() != "" {
		return never, "no address of the Internet"
	}
	a = a.Unmap()
	if a.Is6() {
		for _, in := range inner(a) {
			if is, what := classify(in); is != public {
				return is, fmt.Sprintf("%s: it wraps %s", what, in)
			}
		}
	}
	for _, k := range kinds {
		if k.in.Contains(a) {
			return k.is, k.what
		}
	}
	if a.Is6() && !globalUnicast.Contains(a) && !nat64.Contains(a) {
		return special, "reserved"
	}
	return public, ""
}

// vet says why a must not be connected to.
func (c *Client) vet(host string, a netip.Addr) error {
	is, what := classify(a)
	switch {
	case is == public:
		return nil
	case is == private && c.o.AllowPrivate:
		return nil
	case (is == private || is == special) && c.allowed(a):
		return nil
	}
	return &BlockedError{Host: host, Addr: a, Reason: what, Private: is == private, Reserved: is == special}
}

// allowed reports whether a is in one of the ranges that were opened. A wrapped
// address is not what a range is about.
func (c *Client) allowed(a netip.Addr) bool {
	for _, p := range c.o.Allow {
		if p.Contains(a.Unmap()) {
			return true
		}
	}
	return false
}
