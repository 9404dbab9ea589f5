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
	if out, errs, code := d.run("sandbox", "probe", "--set", "sandbox.mode=docker"); code != 2 || out != "" || !strings.Contains(errs, "sandbox.image: no image is named") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if out, errs, code := d.run("sandbox", "probe", "--set", "sandbox.mode=docker", "--set", "sandbox.image=no/such:image"); code != 1 || out != "" || !strings.Contains(errs, "docker: no containers") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if out, _, code := d.run("sandbox", "probe", "--json", "--set", "sandbox.mode=docker"); code != 2 || !strings.Contains(out, `"error":`) {
		t.Errorf("exit %d, %s", code, out)
	}
	if out, _, code := d.run("sandbox", "probe", "--set", "sandbox.mode=none"); code != 0 || !strings.HasPrefix(out, "none: ") || !strings.Contains(out, "  Its limits: ") || !strings.Contains(out, "\n  - commands can read and write") {
		t.Errorf("exit %d, %s", code, out)
	}
}

// TestDoctorSaysOnceWhatIsWrong, of the sandbox, the settings and the reviewer.
func TestDoctorSaysOnceWhatIsWrong(t *testing.T) {
	for args, want := range map[string]string{
		"--set sandbox.mode=docker": "!!  sandbox: sandbox.image: no image is named",
		"--set nope=1":              "!!  settings: --set: nope: there is no such setting",
		"--set permissions.reviewer.model=anthropic:claude-opus-4-8": "!!  reviewer: permissions.reviewer.model: anthropic:claude-opus-4-8: provider: no key for anthropic",
		"--set permissions.reviewer.model=nope:x":                    "!!  reviewer: permissions.reviewer.model: nope:x: provider: unknown provider",
	} {
		d := newDesk(t)
		out, _, code := d.run(append([]string{"doctor", "-m", "demo:offline"}, strings.Fields(args)...)...)
		if code == 0 || strings.Count(out, want) != 1 || strings.Count(out, "is named") > 1 || strings.Contains(out, "settings: settings") {
			t.Errorf("%s: exit %d, %s", args, code, out)
		}
	}
	d := newDesk(t)
	if out, _, _ := d.run("doctor", "-m", "demo:offline", "--set", "permissions.reviewer.model=demo:offline"); !strings.Contains(out, "ok  reviewer: demo:offline") {
		t.Errorf("%s", out)
	}
}
