//go:build unix

package builtin_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/tool"
)

// recorder runs commands on this machine, whatever their policy, which it keeps.
type recorder struct {
	sandbox.Runner
	info sandbox.Info

	mu    sync.Mutex
	asked int // for its Info
	last  sandbox.Command
}

func (r *recorder) Info() sandbox.Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	return r.info
}

func (r *recorder) Start(ctx context.Context, c *sandbox.Command) (sandbox.Process, error) {
	r.mu.Lock()
	r.last = *c
	r.mu.Unlock()
	run := *c
	run.Policy = sandbox.Policy{}
	return r.Runner.Start(ctx, &run)
}

// box is a sandbox that says that it confines.
var box = sandbox.Info{Name: "box", Confines: true, Domains: true}

func confinedDesk(t *testing.T, info sandbox.Info, c *builtin.Confine) (*desk, *recorder) {
	r := &recorder{info: info}
	d := newDesk(t, func(o *builtin.Options) {
		r.Runner, o.Runner, o.Confine = o.Runner, r, c
		o.Environ = []string{"PATH=/usr/bin:/bin", "HOME=/home/ann", "GOPATH=/home/ann/go", "LANG=C", "TMPDIR=/tmp"}
		o.Env = map[string]string{"MINE": "1"}
	})
	return d, r
}

func TestBashAccess(t *testing.T) {
	access := func(d *desk, ask string) []tool.Access {
		t.Helper()
		in := map[string]any{"command": "true"}
		if ask != "" {
			in["sandbox"] = ask
		}
		a, err := d.bash.Spec().Access(t.Context(), &tool.Call{Input: input(in)})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	exec := tool.Access{Op: tool.Exec, Target: "true"}
	d, r := confinedDesk(t, box, &builtin.Confine{})
	for ask, want := range map[string][]tool.Access{
		"": {exec}, "network": {exec, {Op: tool.Connect, Target: tool.Anywhere}}, "off": {exec, {Op: tool.Write, Target: tool.Anywhere}},
	} {
		if got := access(d, ask); !slices.Equal(got, want) {
			t.Errorf("%q: %v", ask, got)
		}
	}
	if _, err := d.call(t.Context(), map[string]any{"command": "true", "sandbox": "none"}); err == nil {
		t.Error("a word that is none was taken")
	}
	if r.asked > 0 {
		t.Error("the runner was asked for before a command ran")
	}
	d, _ = confinedDesk(t, box, nil)
	for _, ask := range []string{"", "network", "off"} {
		if got := access(d, ask); !slices.Equal(got, []tool.Access{exec}) {
			t.Errorf("nothing is confined, and %q asks for %v", ask, got)
		}
	}
}

// TestBashPolicy: what was decided counts, not what the input says.
func TestBashPolicy(t *testing.T) {
	policy := sandbox.Policy{WriteRoots: []string{"/ws"}, Temp: "/private", NoNetwork: true, Domains: []string{"example.com"}}
	open := policy
	open.NoNetwork, open.Domains = false, nil
	for _, c := range []struct {
		name, ask   string
		beyond      []tool.Access
		info        sandbox.Info
		nothing     bool // Confine is nil
		want        sandbox.Policy
		sandbox     string
		network     bool
		tmp, gopath string
	}{
		{"confined", "off", nil, box, false, policy, "box", false, "/private", "/home/ann/go"},
		{"the network", "off", []tool.Access{{Op: tool.Connect, Target: "*"}}, box, false, open, "box", true, "/private", "/home/ann/go"},
		{"outside", "", []tool.Access{{Op: tool.Write, Target: "*"}}, box, false, sandbox.Policy{}, "", true, "/tmp", "/home/ann/go"},
		{"both", "", []tool.Access{{Op: tool.Connect, Target: "*"}, {Op: tool.Write, Target: "*"}}, box, false, sandbox.Policy{}, "", true, "/tmp", "/home/ann/go"},
		{"other accesses", "off", []tool.Access{{Op: tool.Write, Target: "/x"}, {Op: tool.Connect, Target: "https://example.com"}}, box, false, policy, "box", false, "/private", "/home/ann/go"},
		{"nothing is confined", "off", []tool.Access{{Op: tool.Connect, Target: "*"}}, box, true, sandbox.Policy{}, "", true, "/tmp", "/home/ann/go"},
		{"a runner that cannot", "", nil, sandbox.Info{Name: "none"}, false, policy, "", true, "/tmp", "/home/ann/go"},
		{"an image", "", nil, sandbox.Info{Name: "docker", Confines: true, Image: true}, false, policy, "docker", false, "/private", ""},
		{"outside of an image", "", []tool.Access{{Op: tool.Write, Target: "*"}}, sandbox.Info{Name: "docker", Confines: true, Image: true}, false, sandbox.Policy{}, "", true, "/tmp", "/home/ann/go"},
		{"an image alone", "", nil, sandbox.Info{Name: "docker", Confines: true, Image: true}, true, sandbox.Policy{}, "", true, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			confine := &builtin.Confine{Policy: policy, Env: map[string]string{"TMPDIR": "/private"}}
			if c.nothing {
				confine = nil
			}
			d, r := confinedDesk(t, c.info, confine)
			call := &tool.Call{
				Name: "Bash", Dir: d.dir, Input: input(map[string]any{"command": "true", "sandbox": "off"}),
				Access: append([]tool.Access{{Op: tool.Exec, Target: "true"}}, c.beyond...),
			}
			res, err := tool.Run(t.Context(), d.bash, call)
			if err != nil {
				t.Fatal(err)
			}
			var got builtin.CommandDetail
			if err := json.Unmarshal(res.Detail, &got); err != nil {
				t.Fatal(err)
			}
			if a, b := show(r.last.Policy), show(c.want); a != b {
				t.Errorf("the policy %s, want %s", a, b)
			}
			if got.Sandbox != c.sandbox || got.Network != c.network {
				t.Errorf("%+v", got)
			}
			env := map[string]string{}
			for _, kv := range r.last.Env {
				name, v, _ := strings.Cut(kv, "=")
				if _, twice := env[name]; twice {
					t.Errorf("%s is there twice", name)
				}
				env[name] = v
			}
			if env["TMPDIR"] != c.tmp || env["GOPATH"] != c.gopath || env["MINE"] != "1" || env["LANG"] != "C" || env["GIT_EDITOR"] != "false" {
				t.Errorf("the environment %v", env)
			}
			image := c.gopath == ""
			if _, path := env["PATH"]; path == image {
				t.Errorf("PATH %q", env["PATH"])
			}
			if image && r.last.Args[0] != "/bin/sh" {
				t.Errorf("the shell %v", r.last.Args)
			}
		})
	}
}

func show(p sandbox.Policy) string { b, _ := json.Marshal(p); return string(b) }

func TestBashSaysWhy(t *testing.T) {
	policy := sandbox.Policy{WriteRoots: []string{"/ws", "/b", "/c", "/d", "/e"}, Temp: "/t", Hide: []string{"/h"}, NoNetwork: true}
	listed, open := policy, policy
	listed.Domains = []string{"example.com"}
	open.NoNetwork = false
	const places = "It ran in the sandbox box, where it writes only in /ws, /b, /c, /d, 1 more, a temp folder, cannot read what is hidden"
	for _, c := range []struct {
		command string
		policy  sandbox.Policy
		info    sandbox.Info
		hosts   []string
		want    string
	}{
		{"echo 'touch: /x: Read-only file system' >&2; exit 1", policy, box, nil, "\n[exit code 1]\n[" + places + `, has no network. If it must have more, call Bash with "sandbox": "off": the user is asked.]`},
		{"echo 'curl: (6) Could not resolve host: x.org' >&2; exit 6", policy, box, nil, places + `, has no network. If it must have more, call Bash with "sandbox": "network": the user`},
		{"echo 'EACCES: permission denied'; exit 1", policy, box, nil, `"sandbox": "network" or "off": the user`},
		{"echo failed; exit 1", listed, box, []string{"evil.com"}, "reaches listed hosts only; refused were evil.com. If"},
		{"echo failed; exit 1", listed, box, strings.Split("a,b,c,d,e,f,g,h,i,j,k,l", ","), "i, j and 2 more. If"},
		{"echo 'Permission denied'; exit 1", open, box, nil, `cannot read what is hidden. If it must have more, call Bash with "sandbox": "off": the`},
		{"echo 'Network is unreachable'; exit 1", listed, sandbox.Info{Name: "box", Confines: true}, nil, "has no network"},
		{"echo fine", listed, box, []string{"evil.com"}, "fine\n[The sandbox refused it evil.com]"},
		// Nothing speaks for it.
		{"echo 'Permission denied'", policy, box, []string{"evil.com"}, ""},
		{"echo 'FAIL: TestX'; exit 1", policy, box, nil, ""},
		{"echo 'Network is unreachable'; exit 1", open, box, nil, ""},
		{"echo 'Permission denied'; exit 1", policy, sandbox.Info{Name: "none"}, nil, ""},
		{"echo 'Read-only file system'; exit 1", sandbox.Policy{NoNetwork: true}, box, nil, ""},
	} {
		var calls int
		d, _ := confinedDesk(t, c.info, &builtin.Confine{Policy: c.policy, Refused: func() []string {
			if calls++; calls == 1 {
				return []string{"of.an.earlier.command"}
			}
			return c.hosts
		}})
		o := d.run(c.command)
		if c.want == "" && strings.Contains(o.text, "It ran in") || !strings.Contains(o.text, c.want) || strings.Contains(o.text, "earlier") {
			t.Errorf("%s: %s\nwant %q", c.command, o.text, c.want)
		}
	}
	d, _ := confinedDesk(t, box, &builtin.Confine{Policy: policy})
	c := &tool.Call{Name: "Bash", Dir: d.dir, Input: input(map[string]any{"command": "x"}), Access: []tool.Access{
		{Op: tool.Exec, Target: "echo 'Permission denied'; exit 1"}, {Op: tool.Write, Target: tool.Anywhere},
	}}
	if res, err := tool.Run(t.Context(), d.bash, c); err != nil || strings.Contains(res.Parts.Text(), "sandbox") {
		t.Errorf("outside: %v %v", res, err)
	}
}

// TestBashWithoutAPolicy: what was to be confined is not run for want of saying
// to what.
func TestBashWithoutAPolicy(t *testing.T) {
	d := newDesk(t, func(o *builtin.Options) { o.Confine = &builtin.Confine{} })
	if _, err := d.call(t.Context(), map[string]any{"command": "touch made"}); err == nil || !strings.Contains(err.Error(), "holds them to nothing") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "made")); err == nil {
		t.Error("it ran")
	}
}
