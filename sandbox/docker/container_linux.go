package docker

import (
	"cmp"
	"context"
	"crypto/rand"
	"debug/elf"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/internal/confine"
	"github.com/cantle-dev/cantle/sandbox/internal/place"
	"github.com/cantle-dev/cantle/sandbox/proxy"
)

// Where a container finds the supervisor and the way back from it.
const (
	helperPath = "/.cantle-supervisor"
	socketPath = "/.cantle-control"
	proxyAddr  = "127.0.0.1:3128"
)

// Open finds an engine and its image.
func Open(ctx context.Context, opts Options) (sandbox.Runner, error) {
	program, err := find(opts)
	if err != nil {
		return nil, err
	}
	if opts.Helper == "" {
		if opts.Helper, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("docker: %w: %w", ErrUnavailable, err)
		}
	}
	if err := static(opts.Helper); err != nil {
		return nil, fmt.Errorf("docker: %w: %w", ErrUnavailable, err)
	}
	env, err := check(ctx, program, opts)
	if err != nil {
		return nil, err
	}
	return sandbox.Confined(&confiner{program: program, opts: opts, env: env, proxies: proxy.NewPool(proxy.Options{}, opts.Denied)})
}

// static refuses a program that needs libraries, which an image need not have.
func static(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("the supervisor %s: %w", path, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s needs the libraries of this machine, which a container has not: build it with CGO_ENABLED=0", path)
		}
	}
	return nil
}

type confiner struct {
	program string
	opts    Options
	env     []string // the image's
	proxies *proxy.Pool
}

func (c *confiner) Info() sandbox.Info { return info() }
func (c *confiner) Close() error       { c.proxies.Close(); return nil }

func (c *confiner) Launch(cmd *sandbox.Command) (*sandbox.Launch, error) {
	args, err := c.args(cmd)
	if err != nil {
		return nil, fmt.Errorf("sandbox: docker: %w", err)
	}
	l := &sandbox.Launch{
		Key:     place.Key(args, cmd.Policy),
		Confine: &confine.Spec{},
		Connect: func(ctx context.Context) (*sandbox.Remote, error) { return c.connect(ctx, args) },
	}
	// The last that is added counts.
	for _, e := range slices.Concat([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp"}, c.env) {
		name, _, _ := strings.Cut(e, "=")
		own := func(e string) bool { return strings.HasPrefix(e, name+"=") }
		if !slices.ContainsFunc(cmd.Env, own) {
			l.Env = append(slices.DeleteFunc(l.Env, own), e)
		}
	}
	if len(cmd.Policy.Domains) > 0 {
		serve, err := c.proxies.Server(cmd.Policy.Domains)
		if err != nil {
			return nil, fmt.Errorf("sandbox: docker: %w", err)
		}
		l.Serve, l.Listen, l.Env = serve.Serve, proxyAddr, append(l.Env, proxy.Environ(proxyAddr)...)
	}
	return l, nil
}

// connect starts a container.
func (c *confiner) connect(ctx context.Context, args []string) (*sandbox.Remote, error) {
	id := name()
	kill := sync.OnceValue(func() error {
		_, err := engine(context.Background(), c.program, "kill", id)
		if err != nil && (strings.Contains(err.Error(), "o such container") || strings.Contains(err.Error(), "not running")) {
			return nil
		}
		return err
	})
	return sandbox.Connect(ctx, func(socket string) error {
		run := append([]string{"run", "--detach", "--rm", "--name", id, "--mount", bind(socket, socketPath, "")}, args...)
		run = append(append(run, "--entrypoint", helperPath, c.opts.Image), sandbox.HelperArgs(socketPath)...)
		if _, err := engine(ctx, c.program, run...); err != nil {
			return fmt.Errorf("sandbox: docker: the container did not start: %w", err)
		}
		return nil
	}, kill)
}

// args are those of the engine's run that depend on the policy alone.
func (c *confiner) args(cmd *sandbox.Command) ([]string, error) {
	p := cmd.Policy
	network := "none"
	if !p.NoNetwork {
		network = cmp.Or(c.opts.Network, "none")
	}
	args := []string{
		"--network", network, "--pids-limit", strconv.Itoa(cmp.Or(c.opts.PIDs, 256)),
		"--memory", cmp.Or(c.opts.Memory, "512m"), "--cpus", cmp.Or(c.opts.CPUs, "1"),
		"--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
		"--user", strconv.Itoa(os.Getuid()) + ":" + strconv.Itoa(os.Getgid()), "--workdir", "/",
		"--mount", bind(c.opts.Helper, helperPath, "readonly"),
	}
	if strings.HasSuffix(c.program, "podman") && os.Getuid() != 0 {
		args = append(args, "--userns", "keep-id")
	}
	roots := place.Resolve(p.Writable())
	dir, err := filepath.EvalSymlinks(cmd.Dir)
	if err != nil {
		return nil, err
	}
	tmp, err := place.NewTemp(p, dir, roots)
	if err != nil {
		return nil, err
	}
	if tmp.IsZero() {
		args = append(args, "--tmpfs", "/tmp:rw,exec,mode=1777")
	}
	var mounts mounts
	mount := func(path, how string) { mounts.put(path, bind(path, path, how)) }
	// Without a policy the directory of the command is what it may write.
	if p.WriteRoots == nil && dir != "/" {
		roots = []string{dir}
	}
	if dir != "/" && !place.InAny(dir, roots) && (tmp.IsZero() || !place.Under(dir, "/tmp")) {
		mount(dir, "readonly")
	}
	tmp.Mounts(func(source, target string, readOnly bool) {
		how := ""
		if readOnly {
			how = "readonly"
		}
		mounts.put(target, bind(source, target, how))
	})
	for _, r := range roots {
		if r == "/" {
			return nil, fmt.Errorf("%w: all of this machine cannot be shared with a container", sandbox.ErrPolicy)
		}
		mount(r, "")
	}
	seen := append(slices.Clone(roots), dir)
	protected := append(slices.Clone(p.ReadOnly), p.Hide...)
	for _, a := range place.Anchors(roots, protected) {
		mount(a, "")
	}
	for _, path := range p.ReadOnly {
		for _, t := range place.Targets(path, roots) {
			if place.InAny(t, roots) && !slices.Contains(roots, t) {
				mount(t, "readonly")
			}
		}
	}
	if p.NoNetwork {
		// A container has a network of its own: who listens here is another.
		for _, s := range place.Sockets() {
			if place.InAny(s, seen) {
				mounts.put(s, bind("/dev/null", s, "readonly"))
			}
		}
	}
	for _, h := range place.Resolve(p.Hide) {
		if !place.InAny(h, seen) {
			continue
		}
		if fi, err := os.Stat(h); err == nil && fi.IsDir() {
			mounts.put(h, strings.Replace(bind("", h, "tmpfs-mode=0100"), "type=bind,source=,", "type=tmpfs,", 1))
		} else {
			mounts.put(h, bind("/dev/null", h, "readonly"))
		}
	}
	for _, m := range mounts.list {
		args = append(args, "--mount", m.text)
	}
	return args, nil
}

// mounts are those of a container, of which an engine takes no two at one place:
// the later one of two counts.
type mounts struct {
	list []struct{ target, text string }
}

func (m *mounts) put(target, text string) {
	for i := range m.list {
		if m.list[i].target == target {
			m.list[i].text = text
			return
		}
	}
	m.list = append(m.list, struct{ target, text string }{target, text})
}

// bind is a mount as the engine reads it: a line of comma-separated values.
func bind(source, target, how string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	fields := []string{"type=bind", "source=" + source, "target=" + target}
	if how != "" {
		fields = append(fields, how)
	}
	_ = w.Write(fields) // a string takes all
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

func info() sandbox.Info {
	return sandbox.Info{
		Name: "docker", Confines: true, ReadOnly: true, Domains: true, Temp: true, Image: true,
		Lacks: []string{
			"the kernel is this machine's, and the engine runs with the rights of root",
			"of this machine's files only those of the workspace can be seen",
			"a command cannot signal what an earlier one left running",
		},
	}
}

func name() string { return "cantle-" + strings.ToLower(rand.Text()[:16]) }
