// Package auto finds the best sandbox that a machine has, and says what it
// found and what that does not hold.
//
//	run, report, err := auto.Open(ctx, auto.Options{})
//	if err != nil {
//		log.Fatal(err) // only where a sandbox was asked for by its name, or none will do
//	}
//	defer run.Close()
//	fmt.Println(report) // bubblewrap: /usr/bin/bwrap works
//
// The ladder is bubblewrap, Landlock, Seatbelt (on macOS), none. Docker is
// taken by its name alone.
package auto

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/bwrap"
	"github.com/cantle-dev/cantle/sandbox/docker"
	"github.com/cantle-dev/cantle/sandbox/internal/place"
	"github.com/cantle-dev/cantle/sandbox/landlock"
	"github.com/cantle-dev/cantle/sandbox/seatbelt"
)

// The names that [Options.Name] takes, besides "" for "auto".
const (
	Auto       = "auto"
	Bubblewrap = "bubblewrap"
	Landlock   = "landlock"
	Seatbelt   = "seatbelt"
	Docker     = "docker"
	Outer      = "outer" // the container that the program is in already
	None       = "none"
)

// Names are all names, as a setting lists them.
func Names() []string {
	return []string{Auto, Bubblewrap, Landlock, Seatbelt, Docker, Outer, None}
}

// Options configure [Open].
type Options struct {
	Name string
	// Strict refuses commands whose policy is not held whole. Without it, the
	// runner holds of a policy what it can, as the report says; what it does not
	// hold of the network is off.
	Strict bool
	// Docker is for the name "docker"; its Image is required then.
	Docker docker.Options
	// Denied hears of each request to a host that is on no list of domains, and
	// why. It may be called from several goroutines.
	Denied func(host, why string)
	// Bubblewrap is its program; "" looks where it is usually installed.
	Bubblewrap string
}

// Report says what was found.
type Report struct {
	Name string // one of the names above, never "auto"
	Why  string
	// Container names the kind of container that this program is in; "" if no
	// sign of one was found.
	Container string
	Tried     []Try    // what was tried before, best first
	Lacks     []string // what is not held, each a clause
}

// Try is a sandbox that could not be had.
type Try struct {
	Name string
	Err  error
}

// String is the report in one line.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", r.Name, r.Why)
	for _, t := range r.Tried {
		fmt.Fprintf(&b, "; not %s: %v", t.Name, t.Err)
	}
	return b.String()
}

// ErrUnavailable means that a sandbox that was asked for cannot be had.
var ErrUnavailable = errors.New("the sandbox cannot be had")

// Open opens the sandbox that was named, or the best one. What was named and
// cannot be had is an error that says what to do; "auto" takes the next one.
// The runner's policies are held as [Options.Strict] says. A command of the zero
// Policy is outside of the sandbox: it runs on this machine with the rights of
// this program, whatever the sandbox is.
func Open(ctx context.Context, o Options) (sandbox.Runner, Report, error) {
	r := Report{Container: container()}
	name := o.Name
	switch name {
	case "":
		name = Auto
	case "bwrap":
		name = Bubblewrap
	}
	openers := map[string]func() (sandbox.Runner, string, error){
		Bubblewrap: func() (sandbox.Runner, string, error) {
			run, err := bwrap.Open(ctx, bwrap.Options{Path: o.Bubblewrap, Denied: o.Denied})
			return run, "it is installed and works", err
		},
		Landlock: func() (sandbox.Runner, string, error) {
			abi, err := landlock.Probe()
			if err != nil {
				return nil, "", err
			}
			run, err := landlock.Open()
			return run, fmt.Sprintf("the kernel has version %d of it", abi), err
		},
		Seatbelt: func() (sandbox.Runner, string, error) {
			run, err := seatbelt.Open(ctx, o.Denied)
			return run, "it is a part of this system and works", err
		},
		Docker: func() (sandbox.Runner, string, error) {
			d := o.Docker
			if d.Denied == nil {
				d.Denied = o.Denied
			}
			run, err := docker.Open(ctx, d)
			return run, "the image " + d.Image, err
		},
	}
	done := func(run sandbox.Runner, why string) (sandbox.Runner, Report, error) {
		r.Why, r.Lacks = why, run.Info().Lacks
		if run.Info().Image {
			run = beside{run, sandbox.Local(sandbox.LocalOptions{})}
		}
		if !o.Strict {
			run = holding{run}
		}
		return run, r, nil
	}
	if open := openers[name]; open != nil {
		r.Name = name
		run, why, err := open()
		if err != nil {
			return nil, r, fmt.Errorf("sandbox: %w: %w; or name \"auto\", which takes the best that there is", ErrUnavailable, err)
		}
		return done(run, why)
	}
	switch name {
	case Auto:
	case None:
		r.Name = None
		return done(none(None), "it was asked for")
	case Outer:
		r.Name = Outer
		if r.Container == "" {
			return nil, r, fmt.Errorf("sandbox: %w: no sign of a container was found around this program; if it is in one all the same, name \"none\"", ErrUnavailable)
		}
		return done(none(Outer), "this program is in a container: "+r.Container)
	default:
		return nil, r, fmt.Errorf("sandbox: there is no sandbox %q; there are %s", name, strings.Join(Names(), ", "))
	}
	for _, r.Name = range ladder() {
		run, why, err := openers[r.Name]()
		if err == nil {
			return done(run, why)
		}
		if ctx.Err() != nil {
			return nil, r, fmt.Errorf("sandbox: %w", context.Cause(ctx))
		}
		r.Tried = append(r.Tried, Try{r.Name, err})
	}
	if o.Strict {
		return nil, r, fmt.Errorf("sandbox: %w: %s; install bubblewrap, name \"docker\" with an image, or name \"none\"", ErrUnavailable, r.String())
	}
	if r.Name = None; r.Container != "" {
		r.Name = Outer
		return done(none(Outer), "this program is in a container: "+r.Container)
	}
	return done(none(None), "this machine has no sandbox that could be used")
}

// signs are files that containers have.
var signs = []struct{ file, kind string }{
	{"/.dockerenv", "Docker"},
	{"/run/.containerenv", "Podman"},
	{"/run/systemd/container", "systemd-nspawn"},
	{"/var/run/secrets/kubernetes.io", "Kubernetes"},
	{"/dev/.lxc-boot-id", "LXC"},
}

func container() string {
	for _, s := range signs {
		if _, err := os.Lstat(s.file); err == nil {
			return s.kind + " (" + s.file + ")"
		}
	}
	b, err := os.ReadFile("/proc/1/cgroup")
	if err != nil {
		return ""
	}
	for _, s := range []string{"docker", "kubepods", "containerd", "libpod", "lxc"} {
		if strings.Contains(string(b), "/"+s) {
			return s + " (/proc/1/cgroup)"
		}
	}
	return ""
}

// plain runs without a sandbox.
type plain struct {
	sandbox.Runner
	name string
}

func none(name string) sandbox.Runner {
	return plain{sandbox.Local(sandbox.LocalOptions{}), name}
}

func (p plain) Info() sandbox.Info {
	i := p.Runner.Info()
	i.Name = p.name
	i.Lacks = []string{"commands can read and write all that this user can, and reach every network"}
	if p.name == Outer {
		i.Lacks = []string{"commands can do all that this program can in its container"}
	}
	return i
}

// beside is a runner of containers with a way to run commands outside of them.
type beside struct {
	sandbox.Runner
	local sandbox.Runner
}

func (b beside) Start(ctx context.Context, c *sandbox.Command) (sandbox.Process, error) {
	if c.Policy.IsZero() {
		return b.local.Start(ctx, c)
	}
	return b.Runner.Start(ctx, c)
}

func (b beside) Close() error { return errors.Join(b.local.Close(), b.Runner.Close()) }

// holding holds of each policy what its runner can.
type holding struct{ sandbox.Runner }

func (h holding) Start(ctx context.Context, c *sandbox.Command) (sandbox.Process, error) {
	held := *c
	held.Policy = reduce(c.Policy, h.Info())
	return h.Runner.Start(ctx, &held)
}

// reduce is what of a policy a runner can hold.
func reduce(p sandbox.Policy, i sandbox.Info) sandbox.Policy {
	if !i.Confines {
		return sandbox.Policy{}
	}
	if !i.ReadOnly {
		p.ReadOnly = nil
		roots := place.Resolve(p.Writable())
		p.Hide = slices.DeleteFunc(slices.Clone(p.Hide), func(h string) bool {
			real := place.Resolve([]string{h})
			return p.WriteRoots == nil || len(real) == 0 || place.InAny(real[0], roots)
		})
	}
	if !i.Domains {
		p.Domains = nil // and so nothing is reached
	}
	return p
}
