// Package landlock runs commands under Landlock and a seccomp filter of the
// Linux kernel: no other program and no rights are needed.
//
//	func main() {
//		sandbox.Main()
//		run, err := landlock.Open()
//		if err != nil {
//			log.Fatal(err) // it says what is missing
//		}
//		defer run.Close()
//		p, err := run.Start(ctx, &sandbox.Command{
//			Args: []string{"/bin/sh", "-c", "make"}, Dir: dir, Env: env,
//			Policy: sandbox.Policy{WriteRoots: []string{dir}, NoNetwork: true},
//		})
//		…
//	}
//
// What it cannot hold is in the Lacks of its Info: Landlock knows no exceptions
// below a directory in which all may be written, and no addresses.
package landlock

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/internal/confine"
)

// ErrUnavailable means that this system has no Landlock, or too old a one.
var ErrUnavailable = errors.New("no Landlock")

// Probe says which version of Landlock the kernel has, or why it will not do.
func Probe() (abi int, err error) {
	abi = confine.ABI()
	switch {
	case !confine.CanFilter():
		return 0, fmt.Errorf("landlock: %w: it is for Linux on amd64 and arm64", ErrUnavailable)
	case abi == 0:
		return 0, fmt.Errorf("landlock: %w: the kernel has none, or it is not among those that are switched on at boot (lsm=…,landlock)", ErrUnavailable)
	case abi < confine.MinABI:
		return abi, fmt.Errorf("landlock: %w: the kernel has version %d, which lets every file be emptied; version %d came with Linux 6.2", ErrUnavailable, abi, confine.MinABI)
	}
	return abi, nil
}

// Open returns a runner that holds policies by Landlock. The zero Policy is
// held to nothing but the rules for the system calls. It needs a program that
// calls [sandbox.Main].
func Open() (sandbox.Runner, error) {
	abi, err := Probe()
	if err != nil {
		return nil, err
	}
	return sandbox.Confined(&confiner{abi})
}

type confiner struct{ abi int }

func (c *confiner) Info() sandbox.Info {
	lacks := []string{
		"files in the workspace cannot be kept from writing, also not .git/hooks and settings",
		"names in hidden directories can be listed, not read", "files within the workspace cannot be hidden",
		"modes, times and attributes of files outside can be changed where the user may",
		"/tmp is this machine's: temporary files can be made in the folder that TMPDIR names alone",
		"there is no list of domains: the network is on or off, and where it is off, so is this machine's own",
		"other processes can be seen", "there is no shared memory, in /dev/shm or of System V, which some programs need, such as Python's multiprocessing",
		"a command cannot signal what an earlier one left running",
	}
	if c.abi < confine.ABIUnix {
		lacks = append(lacks, "Unix sockets cannot be used at all, not even among the command's own processes, but for connected pairs")
	}
	if c.abi < confine.ABIScope {
		lacks = append(lacks, "the user's other processes can be signalled")
	}
	return sandbox.Info{Name: "landlock", Confines: true, Lacks: lacks}
}

func (c *confiner) Close() error { return nil }

func (c *confiner) Launch(cmd *sandbox.Command) (*sandbox.Launch, error) {
	p := cmd.Policy
	refuse := func(why string) (*sandbox.Launch, error) {
		return nil, fmt.Errorf("sandbox: landlock: %w: %s; bubblewrap can", sandbox.ErrPolicy, why)
	}
	switch {
	case p.IsZero():
		return &sandbox.Launch{}, nil
	case len(p.ReadOnly) > 0:
		return refuse("it cannot keep files within a writable directory from writing")
	case len(p.Domains) > 0:
		return refuse("it knows no domains")
	case len(p.Hide) > 0 && p.WriteRoots == nil:
		return refuse("it cannot hide files where all may be written")
	}
	for _, h := range p.Hide {
		for _, w := range p.Writable() {
			if within(real(h), real(w)) {
				return refuse(fmt.Sprintf("it cannot hide %s, which is in the writable %s", h, w))
			}
		}
	}
	return &sandbox.Launch{Confine: &confine.Spec{
		Landlock: p.WriteRoots != nil, Write: p.Writable(), Hide: p.Hide,
		// A daemon that listens at a path acts with rights of its own.
		NoNetwork: p.NoNetwork, NoUnix: c.abi < confine.ABIUnix || p.WriteRoots == nil && p.NoNetwork,
	}}, nil
}

func real(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return filepath.Clean(path)
}

func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
