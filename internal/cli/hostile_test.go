package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm/llmtest"
)

// TestNothingDrivesTheTerminal: what models, tools, files and sessions say comes to
// a terminal without what it would act on, in every form of output.
func TestNothingDrivesTheTerminal(t *testing.T) {
	const evil = "a\x1b]0;x\x07\x1b[2J\x1b]52;c;YQ==\a\u009b31m\u009d8;;x\x08\x7f\u202eb\r"
	spinner := regexp.MustCompile(`\r([\x{2800}-\x{28FF}] |  \r)`)
	drives := func(s string) int {
		return strings.IndexFunc(spinner.ReplaceAllString(s, ""), func(r rune) bool {
			return r < ' ' && r != '\n' && r != '\t' || r >= 0x7F && r < 0xA0 || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
		})
	}
	for name, c := range map[string]struct{ flags, in string }{
		"text": {"run -v", ""}, "plain": {"--plain", "go" + evil + "\n/model " + evil + "\n/" + evil + "\n/session\n"},
		"json": {"run --json", ""}, "stream-json": {"run -o stream-json", ""}, "error": {"run --schema " + evil, ""},
	} {
		d := newDesk(t)
		d.tty = true
		d.in = c.in
		if err := os.WriteFile(filepath.Join(d.dir, "f"), []byte(evil+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		player := fine
		if name != "error" {
			player = llmtest.Play(t,
				llmtest.Call("Bad"+evil, map[string]any{"x": evil}).Say(evil),
				llmtest.Call("Bash", map[string]any{"command": "cat f; exit 3", "description": evil}),
				llmtest.Call("Read", map[string]any{"file_path": "f" + evil}),
				llmtest.Think(evil).Say(evil),
			)
		}
		args, s := d.model(player)
		s.Tolerate()
		all := append(strings.Split(c.flags, " "), append(args[1:], "--allow", "Bash")...)
		if c.in == "" {
			all = append(all, "go"+evil)
		}
		out, errs, _ := d.run(all...)
		if i := drives(out); i >= 0 || out == "" && name != "error" {
			t.Errorf("%s: %q", name, out[max(0, i-40):min(len(out), i+40)])
		}
		if i := drives(errs); i >= 0 {
			t.Errorf("%s: %q", name, errs[max(0, i-40):min(len(errs), i+40)])
		}
		if strings.Contains(name, "json") { // and says the same
			last := out[strings.LastIndexByte(strings.TrimSuffix(out, "\n"), '\n')+1:]
			var doc struct{ Result string }
			if err := json.Unmarshal([]byte(last), &doc); err != nil || doc.Result != evil {
				t.Errorf("%s: %v, %q", name, err, doc.Result)
			}
		}
		for _, args := range []string{"sessions list", "sessions list --json", "sessions search a", "sessions cost --continue", "doctor --set aliases." + evil + "=x"} {
			out, errs, _ := d.run(strings.Split(args, " ")...)
			if i := drives(out + errs); i >= 0 {
				t.Errorf("%s: %s: %q", name, args, out+errs)
			}
		}
	}
}
