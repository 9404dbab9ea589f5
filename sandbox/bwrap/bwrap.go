// Package bwrap runs commands in namespaces that bubblewrap makes: its own
// view of files, its own processes, and a network of its own that has nothing
// in it, or nothing but a proxy that knows a list of domains.
//
//	func main() {
//		sandbox.Main()
//		run, err := bwrap.Open(ctx, bwrap.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer run.Close()
//		p, err := run.Start(ctx, &sandbox.Command{
//			Args: []string{"/bin/sh", "-c", "npm test"}, Dir: dir, Env: env,
//			Policy: sandbox.Policy{
//				WriteRoots: []string{dir}, ReadOnly: []string{dir + "/.git/hooks"},
//				Hide: []string{home + "/.ssh"}, NoNetwork: true, Domains: []string{"registry.npmjs.org"},
//			},
//		})
//		…
//	}
//
// A box is made for each policy and kept for the next command of the same one.
package bwrap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/internal/confine"
	"github.com/cantle-dev/cantle/sandbox/internal/place"
	"github.com/cantle-dev/cantle/sandbox/proxy"
)

// Options configure [Open].
type Options struct {
	// Path is the program; "" looks in /usr/bin, /usr/local/bin and /bin, never
	// in the PATH, which a project may have changed.
	Path string
	// Denied hears of each request to a host that no policy's Domains hold, and
	// why. It may be called from several goroutines.
	Denied func(host, why string)
	// Proxy configures the proxy further; its Domains and Denied are not used.
	Proxy proxy.Options
}

// ErrUnavailable means that there is no bubblewrap, or none that works here.
var ErrUnavailable = errors.New("no working bubblewrap")

// proxyAddr is where the proxy answers in a box, whose network is its own.
const proxyAddr = "127.0.0.1:3128"

// Open finds bubblewrap and tries it. It needs a program that calls
// [sandbox.Main].
func Open(ctx context.Context, opts Options) (sandbox.Runner, error) {
	path := opts.Path
	if path == "" {
		for _, p := range []string{"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"} {
			if fi, err := os.Stat(p); err == nil && fi.Mode().IsRegular() {
				path = p
				break
			}
		}
	}
	if path == "" {
		return nil, fmt.Errorf("bwrap: %w: it is not installed; it is the package bubblewrap of most distributions", ErrUnavailable)
	}
	run, err := sandbox.Confined(&confiner{path: path, opts: opts, proxies: proxy.NewPool(opts.Proxy, opts.Denied)})
	if err != nil {
		return nil, err
	}
	p, err := run.Start(ctx, &sandbox.Command{
		Args: []string{"/bin/sh", "-c", ":"}, Dir: "/", Policy: sandbox.Policy{WriteRoots: []string{}, NoNetwork: true},
	})
	if err == nil {
		err = p.Stop(0)
	}
	if err != nil {
		run.Close()
		if box, ok := errors.AsType[*sandbox.BoxError](err); ok {
			hint := ""
			if strings.Contains(box.Said, "ermission denied") || strings.Contains(box.Said, "not permitted") {
				hint = "; the system may not let users make namespaces: see the sysctl kernel.apparmor_restrict_unprivileged_userns and user.max_user_namespaces, or the rules of the container that this runs in"
			}
			return nil, fmt.Errorf("bwrap: %w: %s: %s%s", ErrUnavailable, path, box.Said, hint)
		}
		return nil, fmt.Errorf("bwrap: %w: %w", ErrUnavailable, err)
	}
	return run, nil
}

type confiner struct {
	path    string
	opts    Options
	proxies *proxy.Pool
}

func (c *confiner) Info() sandbox.Info {
	lacks := []string{
		"where the network is off, a server that one command leaves running cannot be reached by the next",
		"Unix sockets outside /run that daemons make while a command runs, or by a relative path, can be connected to",
		"there is no limit of memory or processes",
		"a command cannot signal what an earlier one left running",
	}
	if confine.ABI() < confine.ABIScope {
		lacks = append(lacks, "where the network is open, so are abstract Unix sockets")
	}
	return sandbox.Info{Name: "bubblewrap", Confines: true, ReadOnly: true, Domains: true, Temp: true, Lacks: lacks}
}

func (c *confiner) Close() error { c.proxies.Close(); return nil }

func (c *confiner) Launch(cmd *sandbox.Command) (*sandbox.Launch, error) {
	p := cmd.Policy
	if p.IsZero() {
		return &sandbox.Launch{}, nil
	}
	view, marks, err := mounts(p, cmd.Dir)
	if err != nil {
		return nil, fmt.Errorf("sandbox: bwrap: %w", err)
	}
	args := append([]string{c.path, "--unshare-all"}, view...)
	if !p.NoNetwork {
		args = append(args, "--share-net")
	}
	args = append(args, "--cap-drop", "ALL", "--as-pid-1", "--chdir", "/", "--")
	l := &sandbox.Launch{Box: args, Marks: marks, Confine: &confine.Spec{Scope: true}}
	if len(p.Domains) > 0 {
		serve, err := c.proxies.Server(p.Domains)
		if err != nil {
			return nil, fmt.Errorf("sandbox: bwrap: %w", err)
		}
		l.Serve, l.Listen = serve.Serve, proxyAddr
		l.Env = proxy.Environ(proxyAddr)
	}
	l.Key = place.Key(args, p)
	return l, nil
}

// mounts are the arguments that make a box's view of files for a command in dir,
// and what must be seen then.
func mounts(p sandbox.Policy, dir string) ([]string, []sandbox.Mark, error) {
	roots, first := place.Resolve(p.Writable()), "--ro-bind"
	if p.WriteRoots == nil || slices.Contains(roots, "/") {
		roots, first = []string{"/"}, "--bind"
	}
	tmp, err := place.NewTemp(p, dir, roots)
	if err != nil {
		return nil, nil, err
	}
	args := []string{first, "/", "/", "--dev", "/dev", "--proc", "/proc"}
	// Where root runs this, it is the owner of the kernel's settings in any
	// namespace, and one of them names a program that the kernel runs.
	for _, name := range []string{"sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "driver"} {
		args = append(args, "--ro-bind-try", "/proc/"+name, "/proc/"+name)
	}
	var covered []string
	if first == "--ro-bind" || p.NoNetwork {
		args = append(args, daemons()...)
		if covered, err = listening(p, roots, tmp); err != nil {
			return nil, nil, err
		}
	}
	cover := func(ofRoots bool) {
		for _, s := range covered {
			if (first == "--ro-bind" && place.InAny(s, roots)) == ofRoots {
				args = append(args, "--ro-bind-try", "/dev/null", s)
			}
		}
	}
	cover(false)
	tmp.Mounts(func(source, target string, readOnly bool) {
		how := "--bind"
		if readOnly {
			how = "--ro-bind"
		}
		args = append(args, how, source, target)
	})
	// A root may be in a hidden directory, and the other way round.
	var within, around []string
	for _, h := range place.Resolve(p.Hide) {
		if !tmp.Shows(h) {
			continue
		}
		if place.InAny(h, roots) {
			within = append(within, h)
		} else {
			around = append(around, h)
		}
	}
	args = append(args, hide(around)...)
	var marks []sandbox.Mark
	mark := func(path string, readOnly, hidden bool) {
		// What is in a hidden directory of a root is hidden with it.
		if m, ok := sandbox.MarkOf(path); ok && (hidden || !place.InAny(path, within)) {
			m.ReadOnly, m.Hidden = readOnly, hidden
			marks = append(marks, m)
		}
	}
	for _, r := range roots {
		if r != "/" {
			args = append(args, "--bind", r, r)
			mark(r, false, false)
		}
	}
	args = append(args, seal(around)...)
	for _, dir := range place.Anchors(roots, append(slices.Clone(p.ReadOnly), p.Hide...)) {
		args = append(args, "--bind", dir, dir)
	}
	cover(true)
	for _, path := range p.ReadOnly {
		for _, target := range place.Targets(path, roots) {
			if tmp.Shows(target) {
				args = append(args, "--ro-bind", target, target)
				mark(target, true, false)
			}
		}
	}
	for _, h := range append(around, within...) {
		mark(h, false, true)
	}
	return append(append(args, hide(within)...), seal(within)...), marks, nil
}

// daemons covers where the services of a machine listen, some with the rights of
// root.
func daemons() []string {
	var args []string
	for _, dir := range serviceDirs {
		if fi, err := os.Lstat(dir); err == nil && fi.IsDir() {
			args = append(args, "--tmpfs", dir)
		}
	}
	for _, keep := range []string{"/run/current-system", "/run/opengl-driver", "/run/wrappers"} {
		args = append(args, "--ro-bind-try", keep, keep)
	}
	if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && place.Under(real, "/run") {
		args = append(args, "--ro-bind-try", real, real)
	}
	return args
}

var serviceDirs = []string{"/run", "/var/run"}

// listening are the other paths at which somebody listens. What a command itself
// listens at is in the directories that are its own; where it has a network of
// its own, it is not seen here, and all there are others.
func listening(p sandbox.Policy, roots []string, tmp place.Temp) ([]string, error) {
	skip := append([]string{"/dev", "/proc"}, serviceDirs...)
	if !p.NoNetwork {
		skip = append(skip, slices.DeleteFunc(slices.Clone(roots), func(r string) bool { return r == "/" })...)
	}
	out := slices.DeleteFunc(place.Sockets(), func(s string) bool { return !tmp.Shows(s) || place.InAny(s, skip) })
	if len(out) > maxSockets {
		return nil, fmt.Errorf("%w: more than %d Unix sockets outside /run, too many to cover", sandbox.ErrPolicy, maxSockets)
	}
	return out, nil
}

// hide puts an empty directory, or a device that may not be opened, in the
// place of what is hidden.
func hide(paths []string) []string {
	var args []string
	for _, path := range paths {
		if isDir(path) {
			args = append(args, "--perms", "0711", "--tmpfs", path)
		} else {
			args = append(args, "--ro-bind", "/dev/null", path)
		}
	}
	return args
}

// seal lets nothing be written in hidden directories, once what is to be seen
// of them is there.
func seal(paths []string) []string {
	var args []string
	for _, path := range paths {
		if isDir(path) {
			args = append(args, "--remount-ro", path)
		}
	}
	return args
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// maxSockets bounds how many sockets are covered one by one.
const maxSockets = 1000
