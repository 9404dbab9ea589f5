package builtin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/tool"
)

// Confine says how the commands of Bash are confined, by a runner that can.
//
// The runner's Info is called before it is looked at, for each command, so that
// a runner that is opened only then can complete it.
//
//	root := "/home/u/project"
//	run, report, err := auto.Open(ctx, auto.Options{})
//	…
//	gate, err := permission.New(permission.Options{
//		Roots:   []string{root},
//		Sandbox: &permission.Sandbox{Auto: true, Holds: func() bool { return run.Info().Confines }},
//	})
//	…
//	tools := builtin.Tools(builtin.Options{Root: root, Runner: run, Confine: &builtin.Confine{Policy: sandbox.Policy{
//		WriteRoots: []string{root}, NoNetwork: true, Hide: gate.Hidden(), ReadOnly: gate.Protected(),
//	}}})
//
// A command that was decided to run outside of the sandbox is given the zero
// [sandbox.Policy], and none of Env: what commands in the sandbox may write is
// not what others should take for theirs.
type Confine struct {
	// Policy is that of every command; one that holds to nothing is an error of
	// each. A command that was decided to have the network is run without its
	// NoNetwork and Domains.
	Policy sandbox.Policy
	// Env is put into the environment of confined commands, over all else:
	// TMPDIR, and where programs keep their caches.
	Env map[string]string
	// Refused gives the hosts that were refused since it was last called; nil is
	// none. It may be called from several goroutines.
	Refused func() []string
}

// What the input of Bash may ask for.
const (
	askNetwork = "network"
	askOutside = "off"
)

// ask is what a command is to have beyond its sandbox.
func (o Options) ask(sandbox string) []tool.Access {
	if o.Confine != nil {
		switch sandbox {
		case askNetwork:
			return []tool.Access{{Op: tool.Connect, Target: tool.Anywhere}}
		case askOutside:
			return []tool.Access{{Op: tool.Write, Target: tool.Anywhere}}
		}
	}
	return nil
}

// confined is how a command runs.
type confined struct {
	policy  sandbox.Policy
	info    sandbox.Info
	inside  bool // a runner holds it to the policy
	unheld  bool // it is to be confined, and no policy says to what
	image   bool // programs are those of an image
	refused func() []string
}

// confine says how a command runs, by what was decided on.
func (o Options) confine(access []tool.Access) confined {
	r := confined{info: o.Runner.Info()}
	if o.Confine == nil {
		r.image = r.info.Image
		return r
	}
	if slices.Contains(access, tool.Access{Op: tool.Write, Target: tool.Anywhere}) {
		return r
	}
	r.policy, r.refused = o.Confine.Policy, o.Confine.Refused
	r.unheld = r.policy.IsZero()
	if slices.Contains(access, tool.Access{Op: tool.Connect, Target: tool.Anywhere}) {
		r.policy.NoNetwork, r.policy.Domains = false, nil
	}
	r.inside, r.image = r.info.Confines && !r.policy.IsZero(), r.info.Image
	if r.inside && r.refused != nil {
		r.refused() // of commands before it
	}
	return r
}

// Environ is the environment that a command of Bash has, in the sandbox where
// there is one.
func Environ(o Options) []string {
	o = o.filled()
	return o.confine(nil).env(o)
}

// env is the environment of the command.
func (r confined) env(o Options) []string {
	all := o.Environ
	if r.image {
		// The rest is about this machine's programs and folders.
		all = slices.DeleteFunc(slices.Clone(all), func(kv string) bool {
			name, _, _ := strings.Cut(strings.ToUpper(kv), "=")
			return !slices.Contains(envAnywhere, name) && !strings.HasPrefix(name, "LC_")
		})
	}
	env := environment(all, o.Env, o.Hidden)
	if !r.inside {
		return env
	}
	env = slices.DeleteFunc(env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, over := o.Confine.Env[name]
		return over
	})
	for _, name := range slices.Sorted(maps.Keys(o.Confine.Env)) {
		env = append(env, name+"="+o.Confine.Env[name])
	}
	return env
}

// Words by which programs say that something was denied them.
var (
	fileMarks = []string{"read-only file system", "erofs", "device or resource busy"} // the last where a mount is replaced
	netMarks  = []string{
		"network is unreachable", "network unreachable", "no route to host", "enetunreach", "ehostunreach",
		"could not resolve", "couldn't resolve", "unable to resolve", "failed to resolve", "name resolution", "name or service not known",
		"no such host", "bad address", "getaddrinfo", "enotfound", "eai_again", "unknown host",
		"connection refused", "econnrefused", "couldn't connect", "could not connect", "failed to connect", "from proxy", "proxyconnect",
		"cantle: no connection to",
	}
	anyMarks = []string{"permission denied", "operation not permitted", "access denied", "access is denied", "eacces", "eperm"}
)

// why is a line that says what the sandbox may have had to do with a command
// that failed; "" if nothing speaks for it.
func (r confined) why(output string) string {
	if !r.inside {
		return ""
	}
	var hosts []string
	if r.refused != nil {
		hosts = r.refused()
	}
	output = strings.ToLower(output)
	marked := func(marks []string) bool {
		return slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(output, m) })
	}
	perhaps := marked(anyMarks)
	files := r.policy.WriteRoots != nil && (perhaps || marked(fileMarks))
	network := r.policy.NoNetwork && (perhaps || marked(netMarks) || len(hosts) > 0)
	if !files && !network {
		return ""
	}
	var says []string
	if r.policy.WriteRoots != nil {
		roots := slices.Clone(r.policy.WriteRoots)
		if more := len(roots) - 4; more > 0 {
			roots = append(roots[:4], fmt.Sprintf("%d more", more))
		}
		if r.policy.Temp != "" {
			roots = append(roots, "a temp folder")
		}
		says = append(says, "writes only in "+strings.Join(roots, ", "))
	}
	if len(r.policy.Hide) > 0 {
		says = append(says, "cannot read what is hidden")
	}
	switch {
	case !r.policy.NoNetwork:
	case len(r.policy.Domains) > 0 && r.info.Domains:
		says = append(says, "reaches listed hosts only")
	default:
		says = append(says, "has no network")
	}
	text := fmt.Sprintf("It ran in the sandbox %s, where it %s", r.info.Name, strings.Join(says, ", "))
	if len(hosts) > 0 {
		text += "; refused were " + hostList(hosts)
	}
	var out []string
	if network {
		out = append(out, `"`+askNetwork+`"`)
	}
	if files {
		out = append(out, `"`+askOutside+`"`)
	}
	return text + `. If it must have more, call Bash with "sandbox": ` + strings.Join(out, " or ") + ": the user is asked."
}

// told is a line about the hosts that a command was refused which ended well all
// the same; "" if there are none.
func (r confined) told() string {
	if !r.inside || r.refused == nil {
		return ""
	}
	if hosts := r.refused(); len(hosts) > 0 {
		return "The sandbox refused it " + hostList(hosts)
	}
	return ""
}

func hostList(hosts []string) string {
	more := ""
	if n := len(hosts) - 10; n > 0 {
		hosts, more = hosts[:10], fmt.Sprintf(" and %d more", n)
	}
	return printable(strings.Join(hosts, ", ")) + more
}
