package sandbox

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/sandbox/internal/confine"
)

// Confiner says how commands are confined. The runners of the packages below
// this one are confiners under [Confined], so that all of them end commands in
// the same way. It is safe for concurrent use.
type Confiner interface {
	// Info is the runner's, but for what [Confined] knows: Sweeps and Supervise.
	Info() Info
	// Launch says how to run c, whose policy it holds or refuses with an error
	// that matches [ErrPolicy]. It is asked again for each command, since links
	// and files may have come since.
	Launch(c *Command) (*Launch, error)
	// Close is called when all commands have ended.
	Close() error
}

// Launch is how a command is run.
type Launch struct {
	// Prefix is put before the command's own arguments.
	Prefix []string
	// Env is added to the command's environment.
	Env []string

	// Box is a program with its arguments that starts the supervisor, whose own
	// follow, in a namespace of processes of its own and as its first process.
	// It hands on its open files. Nil starts the supervisor as it is.
	Box []string
	// Connect, if not nil, starts a supervisor in a way of its own, instead of Box.
	Connect func(context.Context) (*Remote, error)
	// Key tells supervisors apart that were started by Box or Connect: an idle
	// one serves every command of the same key.
	Key string
	// Marks must hold in the box before it is used: what it was made of may have
	// been moved meanwhile by a command in another one.
	Marks []Mark
	// Serve, if not nil, gets a listener for the address Listen within the box,
	// before the first command is started. It closes it when it is done.
	Serve  func(net.Listener)
	Listen string

	// Confine is put on the command itself.
	Confine *confine.Spec
}

// Mark says of a path what a box must show there.
type Mark struct {
	Path     string `json:"path"`
	Dev      uint64 `json:"dev"` // of the file as it was
	Ino      uint64 `json:"ino"`
	ReadOnly bool   `json:"readOnly,omitempty"` // it is that file, and on a mount that cannot be written
	Hidden   bool   `json:"hidden,omitempty"`   // it is another, or none
}

// Confined returns a runner that confines commands as c says. On Linux it
// needs a program that calls [Main].
func Confined(c Confiner) (Runner, error) {
	l := &local{sup: newPool(LocalOptions{}), confiner: c, live: map[Process]struct{}{}}
	if l.sup == nil && supervises {
		return nil, fmt.Errorf("sandbox: %s: there is no supervisor: the program's main must begin with sandbox.Main(), and /proc must be mounted", c.Info().Name)
	}
	return l, nil
}

// prefixed is c with what a launch adds to it.
func prefixed(c *Command, l *Launch) *Command {
	if l == nil || len(l.Prefix) == 0 && len(l.Env) == 0 {
		return c
	}
	p := *c
	p.Args = append(append([]string{}, l.Prefix...), c.Args...)
	// Programs differ in which of two entries of one name they take.
	p.Env = slices.DeleteFunc(slices.Clone(c.Env), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.ContainsFunc(l.Env, func(a string) bool { return strings.HasPrefix(a, name+"=") })
	})
	p.Env = append(p.Env, l.Env...)
	return &p
}

// BoxError means that a box could not be made, as where the system does not
// let its users make namespaces.
type BoxError struct {
	Program string
	Said    string // its own words
}

func (e *BoxError) Error() string {
	said := e.Said
	if said == "" {
		said = "it said nothing"
	}
	return fmt.Sprintf("sandbox: %s made no sandbox: %s", e.Program, said)
}
