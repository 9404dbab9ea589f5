package seatbelt

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/internal/place"
	"github.com/cantle-dev/cantle/sandbox/proxy"
)

const program = "/usr/bin/sandbox-exec"

// Open tries Seatbelt. Denied hears of each request to a host that no policy's
// Domains hold; it may be nil.
func Open(ctx context.Context, denied func(host, why string)) (sandbox.Runner, error) {
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("seatbelt: %w: %w", ErrUnavailable, err)
	}
	run, err := sandbox.Confined(&confiner{proxies: proxy.NewPool(proxy.Options{}, denied), at: map[string]string{}})
	if err != nil {
		return nil, err
	}
	p, err := run.Start(ctx, &sandbox.Command{Args: []string{"/usr/bin/true"}, Dir: "/", Policy: sandbox.Policy{WriteRoots: []string{}, NoNetwork: true}})
	if err == nil {
		var exit sandbox.Exit
		if exit, err = p.Wait(); err == nil && exit.Code != 0 {
			err = fmt.Errorf("sandbox-exec ended with %s", exit)
		}
	}
	if err != nil {
		run.Close()
		return nil, fmt.Errorf("seatbelt: %w: %w", ErrUnavailable, err)
	}
	return run, nil
}

type confiner struct {
	proxies *proxy.Pool
	mu      sync.Mutex
	at      map[string]string // where the proxy of a list of domains listens
}

func (c *confiner) Info() sandbox.Info {
	return sandbox.Info{
		Name: "seatbelt", Confines: true, ReadOnly: true, Domains: true,
		Lacks: []string{"/tmp is this machine's: temporary files can be made in the folder that TMPDIR names alone", "services of the system can be asked for what they do for everybody", "a process that makes a session of its own is not ended with the command"},
	}
}

func (c *confiner) Close() error { c.proxies.Close(); return nil }

func (c *confiner) Launch(cmd *sandbox.Command) (*sandbox.Launch, error) {
	p := cmd.Policy
	if p.IsZero() {
		return &sandbox.Launch{}, nil
	}
	if _, err := os.Stat(cmd.Args[0]); err != nil {
		return nil, fmt.Errorf("sandbox: %s did not start: %w", cmd.Args[0], err)
	}
	l := &sandbox.Launch{}
	addr := ""
	if len(p.Domains) > 0 {
		var err error
		if addr, err = c.listen(p.Domains); err != nil {
			return nil, fmt.Errorf("sandbox: seatbelt: %w", err)
		}
		l.Env = proxy.Environ(addr)
	}
	if p.WriteRoots != nil {
		p.WriteRoots = place.Resolve(p.Writable())
	}
	p.ReadOnly, p.Hide = place.Resolve(p.ReadOnly), place.Resolve(p.Hide)
	text, err := Profile(p, addr)
	if err != nil {
		return nil, err
	}
	l.Prefix = []string{program, "-p", text}
	return l, nil
}

func (c *confiner) listen(domains []string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := strings.Join(domains, " ")
	if at := c.at[key]; at != "" {
		return at, nil
	}
	s, err := c.proxies.Server(domains)
	if err != nil {
		return "", err
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go s.Serve(l)
	c.at[key] = l.Addr().String()
	return c.at[key], nil
}
