package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSandboxRun: a command reads and writes where this one does, and its exit code
// is the command's.
func TestSandboxRun(t *testing.T) {
	d := newDesk(t)
	d.in = "given\n"
	if out, errs, code := d.run("sandbox", "run", "--", "sh", "-c", "cat; echo told >&2; echo made > made; exit 3"); code != 3 || out != "given\n" || !strings.Contains(errs, "told") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	if b, err := os.ReadFile(filepath.Join(d.dir, "made")); err != nil || string(b) != "made\n" {
		t.Errorf("%q, %v", b, err)
	}
	if out, _, code := d.run("sandbox", "run", "echo", "-n", "--json"); code != 0 || out != "--json" {
		t.Errorf("exit %d, %q", code, out)
	}
	if _, errs, code := d.run("sandbox", "run"); code != 2 || errs == "" {
		t.Errorf("exit %d, %s", code, errs)
	}
	if _, errs, code := d.run("sandbox", "run", "--", "no-such-program"); code == 0 || !strings.Contains(errs, "no-such-program") {
		t.Errorf("exit %d, %s", code, errs)
	}
	// What is outside of the folder is left alone, where commands are held.
	var report struct{ Name string }
	if out, _, _ := d.run("sandbox", "probe", "--json"); json.Unmarshal([]byte(out), &report) != nil || report.Name == "none" || report.Name == "outer" {
		t.Skip("there is no sandbox here")
	}
	outside := filepath.Join(d.home, "outside")
	if _, _, code := d.run("sandbox", "run", "--", "touch", outside); code == 0 {
		t.Error("it wrote outside")
	}
	if _, err := os.Lstat(outside); err == nil {
		t.Error("it is there")
	}
}
