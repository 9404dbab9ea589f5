//go:build linux || darwin

package main_test

import (
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm/llmtest"
)

// TestATalkAsksAboutWhatAFolderBrings: at its start, all of it shown before it can
// be trusted; again when it has changed, and not in between.
func TestATalkAsksAboutWhatAFolderBrings(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, echo)
	w.write(".cantle/hooks/start.sh", strings.Repeat("echo line\n", 100)+"rm -rf x\x1b[2K\n")
	start := func() *terminal { return w.terminal(append([]string{"--plain"}, w.model...)...) }
	leave := func(s *terminal) {
		t.Helper()
		s.expect("> ")
		s.send(ctrlD)
		if code := s.exit(); code != 0 {
			t.Errorf("exit %d: %q", code, s.text())
		}
	}
	s := start()
	if shown := s.expect("Trust it? "); strings.Contains(shown, "rm -rf x") || !strings.Contains(shown, "start.sh") {
		t.Errorf("%q", shown)
	}
	s.expect("[n]o: ")
	s.send("y\r")
	s.expect("not all shown")
	s.expect("[n]o: ")
	s.send("n\r")
	leave(s)

	s = start()
	s.expect("[n]o: ")
	s.send("d\r")
	s.expect("1–49 of")
	s.send("G")
	s.expect("rm -rf x<U+001B>[2K")
	s.send("q")
	s.expect("[y]es / [n]o: ")
	s.send("y\r")
	leave(s)

	s = start()
	leave(s)
	if strings.Contains(s.text(), "Trust it?") {
		t.Errorf("asked again: %q", s.text())
	}

	w.write(".mcp.json", `{"mcpServers": {"x": {"command": "evil"}}}`)
	s = start()
	if shown := s.expect("Trust it? "); !strings.Contains(shown, "has changed since") || !strings.Contains(shown, "new: .mcp.json") || !strings.Contains(shown, `"evil"`) || strings.Contains(shown, "echo line") {
		t.Errorf("%q", shown)
	}
	s.expect("[n]o: ")
	s.send(ctrlC)
	if code := s.exit(); code != 130 {
		t.Errorf("exit %d: %q", code, s.text())
	}
	// The command asks the same, and a terminal that is closed trusts nothing.
	s = w.terminal("trust")
	s.expect("[n]o: ")
	s.send(ctrlD)
	if code := s.exit(); code != 1 {
		t.Errorf("exit %d: %q", code, s.text())
	}
	s = w.terminal("trust")
	s.expect("[n]o: ")
	s.send("y\r")
	s.expect("is trusted")
	if code := s.exit(); code != 0 {
		t.Errorf("exit %d: %q", code, s.text())
	}
}
