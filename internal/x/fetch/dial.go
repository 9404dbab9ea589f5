package fetch

import (
	"context"
	"net"
)

// Dial connects to a host and port, "example.com:443", as [Client.Get] does:
// every address that the host stands for is judged, and one that was judged is
// dialled. Errors are one of those of this package, or the context's.
func (c *Client) Dial(ctx context.Context, hostport string) (net.Conn, error) {
	return c.dial(ctx, "tcp", hostport)
}
