package sandboxtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cantle-dev/cantle/sandbox"
)

// victimDir is the variable that makes a test's program the one that is killed.
const victimDir = "SANDBOXTEST_VICTIM"

// Killed shows that nothing that a runner started outlives the program, even if
// it is killed. It starts the test that calls it once more.
func Killed(t *testing.T, open func(t *testing.T) sandbox.Runner, policy func(*sandbox.Command) sandbox.Policy) {
	if dir := os.Getenv(victimDir); dir != "" {
		run := Under(open(t), policy)
		for _, script := range []string{
			"trap '' TERM HUP; echo $$ >a; while :; do sleep 300; done",
			"(setsid setsid sh -c 'trap \"\" TERM HUP; echo $$ >b; while :; do sleep 300; done' &); sleep 300",
			"setsid sh -c 'echo $$ >c; exec sleep 300' & until [ -s c ]; do :; done",
		} {
			if _, err := run.Start(context.Background(), shell(dir, script, nil)); err != nil {
				t.Fatal(err)
			}
		}
		select {}
	}
	open(t).Close() // or else it is skipped
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), victimDir+"="+dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	var pids []int
	for _, name := range []string{"a", "b", "c"} {
		pids = append(pids, outside(t, dir, ReadPID(t, filepath.Join(dir, name))))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		Until(t, "a command ends with its program", func() bool { return !Alive(pid) })
	}
}

// AsNobody runs tests of this program, by a pattern, once more as a user
// without rights. It needs root.
func AsNobody(t *testing.T, pattern string) {
	if os.Getenv("CANTLE_SOAK") == "" {
		t.Skip("it takes a while: set CANTLE_SOAK=1")
	}
	if os.Getuid() != 0 {
		t.Skip("only root can become another user; the other tests ran as one without rights")
	}
	// Where that user can come.
	dir, err := os.MkdirTemp("/var/tmp", "nobody")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(dir+"/test", self, 0o755)
	}
	for _, err := range []error{err, os.Mkdir(dir+"/tmp", 0o755), os.Chmod(dir, 0o755), os.Chown(dir+"/tmp", 65534, 65534)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), dir+"/test", "-test.run="+pattern, "-test.v")
	cmd.Dir = dir + "/tmp"
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "TMPDIR=" + dir + "/tmp", "HOME=" + dir + "/tmp"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}
