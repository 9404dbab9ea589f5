package procguard_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cantle-dev/cantle/internal/x/procguard"
)

const secret = "sk-canary-0123456789"

func TestMain(m *testing.M) {
	switch os.Getenv("PROCGUARD_TEST") {
	case "hide":
		if err := procguard.Hide(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		report()
	case "plain":
		report()
	}
	os.Exit(m.Run())
}

// report says how this process stands, starts itself as the sandbox does, and
// waits for its input to end.
func report() {
	dumpable, _, _ := syscall.RawSyscall6(syscall.SYS_PRCTL, syscall.PR_GET_DUMPABLE, 0, 0, 0, 0, 0)
	sub := exec.Command("/proc/self/exe")
	sub.Env = []string{"PROCGUARD_TEST=plain", "SECRET=given"}
	below := "it was the child"
	if os.Getenv("SECRET") != "given" {
		b, err := sub.Output()
		below = strings.TrimSpace(string(b))
		if err != nil {
			below = err.Error()
		}
	}
	fmt.Printf("%s dumpable=%d below=[%s]\n", os.Getenv("SECRET"), dumpable, below)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // the end
	os.Exit(0)
}

// start runs this program and returns its report and what the system shows of
// its environment.
func start(t *testing.T, how string) (report, shown string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{"PATH=/usr/bin", "PROCGUARD_TEST=" + how, "SECRET=" + secret}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("no /proc here: ", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "environ"))
	if err != nil && (how != "hide" || os.Getuid() == 0) {
		t.Fatal(err) // other users are denied what is hidden
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return line, string(b)
}

func TestHide(t *testing.T) {
	if _, shown := start(t, "plain"); !strings.Contains(shown, secret) {
		t.Fatalf("nothing is shown here anyway: %q", shown)
	}
	report, shown := start(t, "hide")
	if strings.Contains(shown, secret) || strings.Trim(shown, "\x00") != "" {
		t.Errorf("shown: %q", shown)
	}
	if want := secret + " dumpable=0 below=[given dumpable=1 below=[it was the child]]\n"; report != want {
		t.Errorf("got %q, want %q", report, want)
	}
}
