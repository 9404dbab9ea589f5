package auto_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/auto"
	"github.com/cantle-dev/cantle/sandbox/docker"
	"github.com/cantle-dev/cantle/sandbox/landlock"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

func TestLadder(t *testing.T) {
	run, r, err := auto.Open(t.Context(), auto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if !slices.Contains(auto.Names(), r.Name) || r.Name == auto.Auto || r.Why == "" || len(r.Lacks) == 0 {
		t.Errorf("%+v", r)
	}
	if i := run.Info(); i.Name != r.Name {
		t.Errorf("the runner is %s, the report says %s", i.Name, r.Name)
	}
}

// TestNext breaks the best, and the next is taken and said.
func TestNext(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the ladder of this system has one step")
	}
	_, probe := landlock.Probe()
	run, r, err := auto.Open(t.Context(), auto.Options{Bubblewrap: "/bin/false"})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if len(r.Tried) == 0 || r.Tried[0].Name != auto.Bubblewrap || !strings.Contains(r.String(), "not bubblewrap: bwrap: no working bubblewrap: /bin/false") {
		t.Errorf("%s", r)
	}
	if want := auto.Landlock; probe == nil && r.Name != want {
		t.Errorf("%s, not %s", r.Name, want)
	}
	// Of a policy it holds what it can: the protected file is not, the rest is.
	dir, out := t.TempDir(), t.TempDir()
	p, err := run.Start(t.Context(), &sandbox.Command{
		Args: []string{"/bin/sh", "-c", "echo x >a; echo x >" + out + "/b"}, Dir: dir, Env: []string{"PATH=/bin:/usr/bin"},
		Policy: sandbox.Policy{
			WriteRoots: []string{dir}, ReadOnly: []string{dir + "/c"}, Hide: []string{dir + "/d", out + "/e"}, NoNetwork: true,
			Domains: []string{"example.com"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if _, err := os.Stat(dir + "/a"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(out + "/b"); run.Info().Confines && err == nil {
		t.Error("it wrote outside")
	}
}

func TestStrict(t *testing.T) {
	if _, err := landlock.Probe(); err != nil {
		t.Skip(err)
	}
	run, _, err := auto.Open(t.Context(), auto.Options{Name: auto.Landlock, Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	dir := t.TempDir()
	for _, p := range []sandbox.Policy{
		{WriteRoots: []string{dir}, ReadOnly: []string{dir + "/x"}},
		{WriteRoots: []string{dir}, Hide: []string{dir}},
		{WriteRoots: []string{dir}, NoNetwork: true, Domains: []string{"example.com"}},
		{Hide: []string{"/etc"}},
	} {
		_, err := run.Start(t.Context(), &sandbox.Command{Args: []string{"/bin/sh", "-c", ":"}, Dir: dir, Policy: p})
		if !errors.Is(err, sandbox.ErrPolicy) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestByName(t *testing.T) {
	for _, c := range []struct {
		opts auto.Options
		want string
	}{
		{auto.Options{Name: "firejail"}, "there is no sandbox \"firejail\"; there are auto, bubblewrap"},
		{auto.Options{Name: "bwrap", Bubblewrap: "/bin/false"}, "; or name \"auto\", which takes the best that there is"},
		{auto.Options{Name: auto.Docker}, "no image was named"},
		{auto.Options{Name: auto.Docker, Docker: docker.Options{Image: "x", Program: "/no/such"}}, "docker: no containers: "},
	} {
		run, _, err := auto.Open(t.Context(), c.opts)
		if err == nil {
			run.Close()
			t.Errorf("%+v: no error", c.opts)
		} else if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "sandbox: ") {
			t.Errorf("%+v: %v", c.opts, err)
		}
	}
	run, r, err := auto.Open(t.Context(), auto.Options{Name: auto.None})
	if err != nil || r.Name != auto.None || run.Info().Confines || run.Info().Name != auto.None || len(r.Lacks) == 0 {
		t.Fatalf("%+v %v", r, err)
	}
	run.Close()
	run, r, err = auto.Open(t.Context(), auto.Options{Name: auto.Outer})
	switch {
	case r.Container == "" && (!errors.Is(err, auto.ErrUnavailable) || !strings.Contains(err.Error(), "none")):
		t.Errorf("%v", err)
	case r.Container != "" && (err != nil || !strings.Contains(r.String(), r.Container) || run.Info().Name != auto.Outer):
		t.Errorf("%s: %v", r, err)
	}
	if err == nil {
		run.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := auto.Open(ctx, auto.Options{}); runtime.GOOS == "linux" && err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
