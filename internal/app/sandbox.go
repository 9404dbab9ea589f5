package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/memory"
	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/auto"
	"github.com/cantle-dev/cantle/sandbox/docker"
	"github.com/cantle-dev/cantle/tool"
)

// packageCaches are the folders in the user's home in which package managers
// keep what they have fetched. A command that may use the network may write
// those that are there.
var packageCaches = []string{
	"go/pkg/mod", ".cargo/registry", ".cargo/git", ".npm", ".cache/pip", ".cache/uv", ".cache/yarn", ".local/share/pnpm/store",
	".bun/install/cache", ".m2/repository", ".gradle/caches", ".nuget/packages", ".bundle/cache",
}

// box is the sandbox that the commands of a session run in. It is opened when
// the first of them is decided on, since most runs that only read have none.
// It is safe for concurrent use.
type box struct {
	opts    auto.Options
	ctx     context.Context // of New, without its end: a session outlives the run that opens it
	dirs    []string        // that commands may write in, without links, besides the folders below
	write   []string        // those of dirs that are no roots of the rules
	home    string
	own     string                   // the program's own folder
	cache   string                   // for what programs keep from one session to the next
	value   func(name string) string // of a variable, as commands have it
	confine builtin.Confine
	// protect says what is hidden from commands at this moment, and what of dirs
	// they must not change.
	protect func() (hide, readOnly []string)

	mu     sync.Mutex // over what opening sets
	opened bool
	run    sandbox.Runner
	report auto.Report
	err    error
	temp   string
	// release gives up the temporary folder, which is then to be removed.
	release func()

	denials sync.Mutex
	refused []string
}

// SandboxReport says which sandbox commands run in.
type SandboxReport struct {
	Name      string   `json:"name"`
	Why       string   `json:"why"`
	Container string   `json:"container,omitempty"` // that the program itself is in
	Tried     []string `json:"tried,omitempty"`     // what could not be had, and why
	Lacks     []string `json:"lacks,omitempty"`     // what is not held
}

func (r SandboxReport) String() string {
	return strings.Join(append([]string{r.Name + ": " + r.Why}, r.Tried...), "; not ")
}

// confined reports whether commands are to be held in a sandbox at all.
func (o Options) confined() bool { return o.Config.Sandbox.Mode != auto.None }

// sandboxOptions are those of the settings. A container is on the engine's usual
// network where a command was let have one.
func (o Options) sandboxOptions() auto.Options {
	s := o.Config.Sandbox
	return auto.Options{Name: s.Mode, Strict: s.Strict, Docker: docker.Options{Image: s.Image, Network: "bridge"}}
}

// box makes the sandbox of the settings. One that is asked for by its name is
// opened at once, and it is an error if it cannot be had.
func (o Options) box(ctx context.Context, add []string) (*box, error) {
	s := o.Config.Sandbox
	b := &box{
		ctx: context.WithoutCancel(ctx), home: o.User, own: o.Home, dirs: append([]string{o.Dir}, add...),
		opts:  o.sandboxOptions(),
		value: func(name string) string { return cmp.Or(o.commandEnv()[name], o.Getenv(name)) },
	}
	b.opts.Denied = b.deny
	for _, dir := range s.Write {
		full := o.atHome(dir)
		if link := linkIn(b.dirs, full); link != "" {
			return nil, o.Config.Wrong("sandbox.write", dir, throughLink(link, full))
		}
		b.write = append(b.write, realPath(full))
	}
	b.dirs = append(b.dirs, b.write...)
	base := o.Getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(base) && o.User != "" {
		base = filepath.Join(o.User, ".cache")
	}
	if base != "" {
		b.cache = filepath.Join(base, "cantle", "commands", config.ProjectID(memory.ProjectRoot(o.Dir)))
	}
	b.confine = builtin.Confine{Policy: sandbox.Policy{WriteRoots: b.dirs, NoNetwork: true, Domains: s.AllowedDomains}, Refused: b.takeRefused}
	for _, path := range s.Hide {
		b.confine.Policy.Hide = append(b.confine.Policy.Hide, o.atHome(path))
	}
	if s.Network == networkOn {
		b.confine.Policy.NoNetwork, b.confine.Policy.Domains = false, nil
	}
	if s.Mode == "" || s.Mode == auto.Auto {
		return b, nil
	}
	if _, err := b.runner(); err != nil {
		key := "sandbox.mode"
		if s.Mode == auto.Docker && s.Image == "" {
			key = "sandbox.image"
		}
		return nil, o.Config.Wrong(key, "", strings.TrimPrefix(err.Error(), "sandbox: "))
	}
	return b, nil
}

const networkOn = "on"

// atHome is a path of the settings, in which "~/" is the user's home.
func (o Options) atHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(o.User, rest)
	}
	return path
}

// runner opens the sandbox, once.
func (b *box) runner() (sandbox.Runner, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened {
		return b.run, b.err
	}
	b.opened = true
	run, report, err := auto.Open(b.ctx, b.opts)
	if err != nil {
		b.err = err
		return nil, err
	}
	b.run, b.report = run, report
	if run.Info().Confines {
		if err := b.folders(); err != nil {
			b.run, b.err = nil, errors.Join(fmt.Errorf("sandbox: the folders of commands: %w", err), run.Close())
		}
	}
	return b.run, b.err
}

func (b *box) deny(host, why string) {
	b.denials.Lock()
	defer b.denials.Unlock()
	if text := host + ": " + why; len(b.refused) < 20 && !slices.Contains(b.refused, text) {
		b.refused = append(b.refused, text)
	}
}

// takeRefused gives the hosts that were refused since it was last called.
func (b *box) takeRefused() []string {
	b.denials.Lock()
	defer b.denials.Unlock()
	out := b.refused
	b.refused = nil
	return out
}

// holds reports whether commands are held in a sandbox, which it opens, with
// nothing in it that they must not have.
func (b *box) holds() bool {
	run, err := b.runner()
	return err == nil && run.Info().Confines && !b.exposed(run.Info())
}

// reaches are the hosts that commands in the sandbox reach.
func (b *box) reaches() []string {
	if p := b.confine.Policy; len(p.Domains) > 0 && b.holds() && b.Info().Domains {
		return p.Domains
	}
	return nil
}

// Start is [sandbox.Runner].Start.
func (b *box) Start(ctx context.Context, c *sandbox.Command) (sandbox.Process, error) {
	run, err := b.runner()
	if err != nil {
		return nil, err
	}
	if c.Policy.IsZero() || !run.Info().Confines {
		free := *c
		free.Policy = sandbox.Policy{}
		return run.Start(ctx, &free)
	}
	if err := b.keepOwn(); err != nil {
		return nil, err
	}
	held := *c
	p := &held.Policy
	hide, _, readOnly := b.kept()
	var absent []string
	for _, dir := range b.dirs {
		write, only := sandbox.Git(dir)
		absent = append(absent, sandbox.GitAbsent(only)...)
		p.WriteRoots, readOnly = append(slices.Clip(p.WriteRoots), write...), append(readOnly, only...)
	}
	p.Hide, p.ReadOnly = append(slices.Clip(p.Hide), hide...), append(slices.Clip(p.ReadOnly), readOnly...)
	if !p.NoNetwork {
		for _, dir := range packageCaches {
			dir = filepath.Join(b.home, filepath.FromSlash(dir))
			if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
				p.WriteRoots = append(p.WriteRoots, realPath(dir))
			}
		}
	}
	p.WriteRoots = outermost(p.WriteRoots)
	started, err := run.Start(ctx, &held)
	if err != nil || !run.Info().ReadOnly {
		return started, err
	}
	return watch(started, absent), nil
}

// Info is [sandbox.Runner].Info.
func (b *box) Info() sandbox.Info {
	run, err := b.runner()
	if err != nil {
		return sandbox.Info{Name: auto.None}
	}
	return run.Info()
}

// told has the user told, once, in which sandbox commands run.
func (b *box) told() agent.Middleware {
	if b == nil {
		return agent.Middleware{}
	}
	var once sync.Once
	return agent.Middleware{Name: "sandbox", Priority: 950, Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, t *agent.Turn, c *tool.Call) (*tool.Result, error) {
			if c.Name == "Bash" {
				once.Do(func() {
					if data, err := json.Marshal(b.said()); err == nil {
						t.Emit(agent.Custom{Kind: "sandbox", Data: data})
					}
				})
			}
			return next(ctx, t, c)
		}
	}}
}

// said is what is to be said of the sandbox, which it opens.
func (b *box) said() SandboxReport {
	if _, err := b.runner(); err != nil {
		return SandboxReport{Name: auto.None, Why: err.Error()}
	}
	return reported(b.report)
}

func reported(r auto.Report) SandboxReport {
	out := SandboxReport{Name: r.Name, Why: r.Why, Container: r.Container, Lacks: r.Lacks}
	for _, t := range r.Tried {
		out.Tried = append(out.Tried, t.Name+": "+t.Err.Error())
	}
	return out
}

// Sandbox says which sandbox commands would run in, by the settings. It opens it
// and closes it again.
func (o Options) Sandbox(ctx context.Context) (SandboxReport, error) {
	run, report, err := auto.Open(ctx, o.sandboxOptions())
	if err != nil {
		return reported(report), err
	}
	return reported(report), run.Close()
}

// RunSandboxed runs a command as one of the agent's would be, in the sandbox of
// the settings, and gives its exit code.
func (o Options) RunSandboxed(ctx context.Context, args []string, in *os.File, out, errs io.Writer) (int, error) {
	_, b, end, err := o.judging(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	c := &sandbox.Command{
		// The shell looks the program up where it runs: in an image, in that.
		Args: append([]string{"/bin/sh", "-c", `exec "$@"`, "sh"}, args...),
		Dir:  o.Dir, Env: builtin.Environ(b), Stdin: in, Stdout: out, Stderr: errs,
	}
	if b.Confine != nil {
		c.Policy = b.Confine.Policy
	}
	exit, err := sandbox.Run(ctx, b.Runner, c)
	if b.Confine != nil {
		for _, host := range b.Confine.Refused() {
			_, _ = fmt.Fprintf(errs, "cantle: the sandbox refused a connection to %s\n", host)
		}
	}
	return exit.Code, err
}

// Close is [sandbox.Runner].Close. It opens nothing.
func (b *box) Close() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	run, temp := b.run, b.temp
	if b.opened, b.run = true, nil; b.err == nil {
		b.err = sandbox.ErrClosed
	}
	b.mu.Unlock()
	if run == nil {
		return nil
	}
	err := run.Close()
	if temp != "" {
		err = errors.Join(err, sandbox.RemoveTemp(temp))
		b.release()
	}
	return err
}
