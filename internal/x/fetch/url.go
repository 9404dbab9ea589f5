package fetch

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// maxURL bounds the bytes of an address.
const maxURL = 8 << 10

// Parse reads an absolute http or https URL and brings it into one form: the
// host as [Host] has it, no default port, no fragment, a path, and ASCII alone.
// What two readers could take for two different hosts is a [*URLError]: user
// names, backslashes, blanks and control bytes, other schemes, numbers that are
// no address in the usual form.
func Parse(raw string) (*url.URL, error) {
	show := raw[:min(len(raw), 200)]
	bad := func(reason string) (*url.URL, error) { return nil, &URLError{URL: show, Reason: reason} }
	if len(raw) > maxURL {
		return bad("it is longer than 8192 bytes")
	}
	for i := range len(raw) {
		switch c := raw[i]; {
		case c <= ' ' || c == 0x7F:
			return bad("it holds a blank or a control byte: write %20 for a blank")
		case c == '\\':
			return bad("it holds a backslash: write / or %5C")
		}
	}
	u, err := url.Parse(raw)
	if err != nil {
		return bad("it is malformed")
	}
	switch {
	case u.Scheme == "":
		return bad("it has no scheme: begin with https://")
	case u.Scheme != "http" && u.Scheme != "https":
		return bad("only http and https can be fetched, not " + u.Scheme)
	case u.Opaque != "" || u.Host == "":
		return bad("it has no host")
	case u.User != nil:
		return bad("it holds a user name: leave out what stands before the @")
	}
	host, err := Host(u.Hostname())
	if err != nil {
		return bad(err.Error())
	}
	at := host
	if strings.Contains(host, ":") {
		at = "[" + host + "]"
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		switch {
		case err != nil || n == 0:
			return bad("its port is none")
		case slices.Contains(badPorts, uint16(n)):
			return bad("port " + p + " belongs to a protocol that is not http")
		case n != 80 || u.Scheme != "http":
			if n != 443 || u.Scheme != "https" {
				at += ":" + strconv.FormatUint(n, 10)
			}
		}
	}
	path := u.RawPath // as it was written, where that matters
	if path == "" {
		path = u.EscapedPath()
	}
	if path == "" {
		path = "/"
	}
	path = escape(path, "!$&'()*+,;=:@/%-._~")
	out := &url.URL{Scheme: u.Scheme, Host: at, RawQuery: escape(u.RawQuery, queryKeep), ForceQuery: u.ForceQuery}
	if out.Path, err = url.PathUnescape(path); err != nil {
		return bad("its path is malformed")
	}
	out.RawPath = path
	return out, nil
}

// queryKeep are the bytes of a query that are left as they are.
const queryKeep = "!$&'()*+,;=:@/?%-._~[]{}|^`"

// escape escapes all bytes but letters, digits and those in keep.
func escape(s, keep string) string {
	var b strings.Builder
	for i := range len(s) {
		const hex = "0123456789ABCDEF"
		c := s[i]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// badPorts are those of protocols that an HTTP request could be taken for, as
// the Fetch standard has them.
var badPorts = []uint16{
	1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111,
	113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548,
	554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566,
	6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
}

// hostError is a reason why a host is none.
type hostError string

func (e hostError) Error() string { return string(e) }

// Host is the one form of a host: a name in lower case, without a dot at its
// end, in ASCII (IDNA); or an IP address as [netip.Addr] writes it, without
// brackets, an IPv4-mapped one as the IPv4 address that it is. A number that is
// not an IPv4 address of four decimal parts without leading zeros is an error,
// for what it leads to differs from reader to reader.
func Host(raw string) (string, error) {
	s := raw
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		s = s[1 : len(s)-1]
	}
	if strings.Contains(s, ":") {
		a, err := netip.ParseAddr(s)
		switch {
		case err != nil:
			return "", hostError("its host is no IPv6 address")
		case a.Zone() != "":
			return "", hostError("its host is an address of one network interface")
		}
		return a.Unmap().String(), nil
	}
	if !isASCII(s) {
		var err error
		if s, err = lookup.ToASCII(s); err != nil {
			return "", hostError("its host is no domain name")
		}
	}
	s = strings.ToLower(strings.TrimSuffix(s, "."))
	if s == "" {
		return "", hostError("it has no host")
	}
	if len(s) > 253 {
		return "", hostError("its host is longer than 253 bytes")
	}
	last := ""
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 {
			return "", hostError("its host is no domain name")
		}
		for i := range len(label) {
			if c := label[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return "", hostError("its host holds a character that no domain name has")
			}
		}
		last = label
	}
	if numeric(last) {
		a, err := netip.ParseAddr(s)
		if err != nil || !a.Is4() {
			return "", hostError("its host is a number in no usual form: write an address as four decimal numbers")
		}
	}
	return s, nil
}

// lookup maps names as resolvers do: full-width digits and dots among others.
var lookup = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.StrictDomainName(false))

// numeric reports whether a host that ends with the label is an address, for
// readers that follow the URL standard or inet_aton.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// metadataHosts are names under which clouds answer with credentials.
var metadataHosts = []string{
	"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal",
	"metadata.azure.internal", "metadata.azure.com", "metadata.tencentyun.com", "metadata.packet.net", "metadata.platformequinix.com",
}

// vetHost says why a host in the form of [Host] must not be connected to,
// before any name is looked up.
func (c *Client) vetHost(host string) error {
	if a, err := netip.ParseAddr(host); err == nil {
		return c.vet(host, a)
	}
	if slices.Contains(metadataHosts, host) {
		return &BlockedError{Host: host, Reason: "the metadata service of a cloud"}
	}
	if c.o.AllowPrivate {
		return nil
	}
	switch {
	case host == "localhost" || strings.HasSuffix(host, ".localhost"):
		return &BlockedError{Host: host, Reason: "this machine", Private: true}
	case !strings.Contains(host, "."):
		return &BlockedError{Host: host, Reason: "a name of this network alone", Private: true}
	}
	return nil
}
