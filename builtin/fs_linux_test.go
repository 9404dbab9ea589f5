package builtin_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/cantle-dev/cantle/builtin"
)

// apart runs the test in a process of its own, with its own mounts: as one
// that may mount, or as a user without rights whoever runs the tests. It
// reports whether this is that process.
func apart(t *testing.T, user int) bool {
	t.Helper()
	if os.Getenv("CANTLE_TEST_APART") == t.Name() {
		return true
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "CANTLE_TEST_APART="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getegid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Skip("no namespaces here: ", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		if strings.Contains(string(out), "--- SKIP") {
			t.Skip(string(out))
		}
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

func mount(t *testing.T, source, target, kind string, flags uintptr, data string) {
	t.Helper()
	if err := syscall.Mount(source, target, kind, flags, data); err != nil {
		t.Skip("nothing can be mounted here: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(target, syscall.MNT_DETACH) })
}

// names is what is in the directory of the bench.
func (b *bench) names() string {
	b.t.Helper()
	es, err := os.ReadDir(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, e := range es {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

// Where there is no room, the old content stays, also of a file that can only
// be written in place.
func TestFullDisk(t *testing.T) {
	if !apart(t, 0) {
		return
	}
	b := newBench(t)
	mount(t, "tmpfs", b.dir, "tmpfs", 0, "size=256k")
	old := strings.Repeat("old\n", 20<<10)
	b.write("f", old)
	b.write("alone", old)
	mount(t, b.path("alone"), b.path("alone"), "", syscall.MS_BIND, "")
	for _, name := range []string{"f", "alone"} {
		for at := 1; at < 20<<10; at += 2000 {
			b.ok("Read", m{"file_path": name, "offset": at})
		}
		b.fails("no space left", "Write", m{"file_path": name, "content": strings.Repeat("new content\n", 40<<10)})
		if got := b.content(name); got != old {
			t.Errorf("%s has %d bytes", name, len(got))
		}
		b.ok("Write", m{"file_path": name, "content": "new\n"})
		if got := b.content(name); got != "new\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
	b.fails("no space left", "Write", m{"file_path": "dir/g", "content": strings.Repeat("new content\n", 40<<10)})
	if got := b.names(); got != "alone dir f" {
		t.Errorf("there is %s", got)
	}
}

// Where the file system may not be written to, the error says so.
func TestReadOnlyFileSystem(t *testing.T) {
	if !apart(t, 0) {
		return
	}
	b := newBench(t)
	mount(t, "tmpfs", b.dir, "tmpfs", 0, "")
	b.write("f", "old\n")
	mount(t, "", b.dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	b.ok("Read", m{"file_path": "f"})
	b.fails("read-only file system", "Edit", m{"file_path": "f", "old_string": "old", "new_string": "new"})
	b.fails("read-only file system", "Write", m{"file_path": "a/b", "content": "x"})
	if b.content("f") != "old\n" {
		t.Error("it was written")
	}
}

// Where nothing may be made beside a file, it is written in place; what may
// not be written to is refused, though it could be replaced.
func TestReadOnlyDirectory(t *testing.T) {
	if !apart(t, 1000) {
		return
	}
	b := newBench(t)
	b.write("f", "old content\n")
	b.write("guarded", "old\n")
	if err := os.Chmod(b.path("guarded"), 0o444); err != nil {
		t.Fatal(err)
	}
	b.ok("Read", m{"file_path": "guarded"})
	b.fails("permission denied", "Edit", m{"file_path": "guarded", "old_string": "old", "new_string": "new"})
	b.ok("Read", m{"file_path": "f"})
	if err := os.Chmod(b.dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(b.dir, 0o755) })
	b.ok("Edit", m{"file_path": "f", "old_string": "old content", "new_string": "new"})
	b.fails("permission denied", "Write", m{"file_path": "g", "content": "x"})
	if got := b.content("f") + b.content("guarded") + b.names(); got != "new\nold\nf guarded" {
		t.Errorf("%q", got)
	}
	if err := builtin.LocalFS().WriteFile(b.path("g"), nil, 0o644); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v", err)
	}
	if err := os.Chmod(b.path("f"), 0); err != nil {
		t.Fatal(err)
	}
	b.fails("permission denied", "Read", m{"file_path": "f"})
}
