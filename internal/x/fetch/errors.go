package fetch

import (
	"fmt"
	"net/netip"
	"net/url"
	"time"
)

// URLError is a URL that is not fetched for what it is.
type URLError struct {
	URL    string // its first 200 bytes
	Reason string
}

func (e *URLError) Error() string { return fmt.Sprintf("fetch: %q: %s", e.URL, e.Reason) }

// BlockedError is a host or address that must not be connected to.
type BlockedError struct {
	Host   string
	Addr   netip.Addr // what the host stands for; the zero Addr if it was not looked up
	Reason string     // what kind of an address it is
	// Private means that [Options.AllowPrivate] would let it through.
	Private bool
	// Reserved means that a range in [Options.Allow] would let it through.
	Reserved bool
}

func (e *BlockedError) Error() string {
	if e.Addr.IsValid() && e.Addr.String() != e.Host {
		return fmt.Sprintf("fetch: %s is blocked: its address %s is %s", e.Host, e.Addr, e.Reason)
	}
	return fmt.Sprintf("fetch: %s is blocked: it is %s", e.Host, e.Reason)
}

// RedirectError is a redirect that is left to the caller to follow: to another
// host, or away from https. To has passed the same checks as any URL, but for
// the look-up of its name.
type RedirectError struct {
	From, To *url.URL
	Status   int
}

func (e *RedirectError) Error() string { return fmt.Sprintf("fetch: %s redirects to %s", e.From, e.To) }

// StatusError is an answer that is no page.
type StatusError struct {
	URL        *url.URL
	Status     int
	RetryAfter string // the header, at most 64 bytes
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("fetch: %s answered with status %d", e.URL, e.Status)
}

// TypeError is a body that is neither text nor a PDF document, or one that is
// compressed in a way that was not asked for.
type TypeError struct {
	URL  *url.URL
	Type string
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("fetch: %s is %s, which is not text", e.URL, e.Type)
}

// TimeoutError means that the whole did not end in time.
type TimeoutError struct {
	URL   *url.URL
	After time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("fetch: %s took longer than %s", e.URL, e.After)
}

// HostError is a host that could not be found or reached.
type HostError struct {
	Host string
	Err  error
}

func (e *HostError) Error() string { return fmt.Sprintf("fetch: %s: %v", e.Host, e.Err) }
func (e *HostError) Unwrap() error { return e.Err }

// LoopError means that there were more redirects than are followed.
type LoopError struct {
	URL *url.URL
	Max int
}

func (e *LoopError) Error() string {
	return fmt.Sprintf("fetch: %s redirects more than %d times", e.URL, e.Max)
}
