package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestSandboxProbe: what there is, and that what is asked for and cannot be had is
// an error.
func TestSandboxProbe(t *testing.T) {
	d := newDesk(t)
	out, errs, code := d.run("sandbox", "probe", "--json")
	var report struct{ Name, Why string }
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 || report.Name == "" || report.Why == "" {
		t.Errorf("exit %d, %v, %s%s", code, err, out, errs)
	}
	if out, _, code := d.run("sandbox", "probe"); code != 0 || !strings.HasPrefix(out, report.Name+": ") {
		t.Errorf("exit %d, %s", code, out)
	}
	if out, errs, code := d.run("sandbox", "probe", "--set", "sandbox.mode=docker"); code == 0 || !strings.Contains(errs, "image") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if out, _, code := d.run("sandbox", "probe", "--json", "--set", "sandbox.mode=docker"); code != 1 || !strings.Contains(out, `"error":`) {
		t.Errorf("exit %d, %s", code, out)
	}
	if out, _, code := d.run("sandbox", "probe", "--set", "sandbox.mode=none"); code != 0 || !strings.HasPrefix(out, "none: ") {
		t.Errorf("exit %d, %s", code, out)
	}
}
