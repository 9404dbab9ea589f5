//go:build linux || darwin

package main_test

import (
	"strings"
	"testing"

	"github.com/creack/pty"
)

// TestKeyAtANarrowTerminal: where a key is typed that is longer than the line,
// neither its beginning nor its length shows.
func TestKeyAtANarrowTerminal(t *testing.T) {
	w := newWorld(t)
	w.env = append(w.env, "CANTLE_KEYRING=off")
	const long = "sk-narrow-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	said := ""
	for _, key := range []string{"x", long} {
		s := w.terminal("login", "anthropic")
		if err := pty.Setsize(s.f, &pty.Winsize{Rows: 4, Cols: 12}); err != nil {
			t.Fatal(err)
		}
		s.expect("Key of anthropic")
		s.hidden()
		s.send(key[:len(key)/2])
		s.send(key[len(key)/2:] + "\r")
		s.expect("stored in the file")
		if code := s.exit(); code != 0 {
			t.Errorf("exit %d: %q", code, s.text())
		}
		if said != "" && s.text() != said {
			t.Errorf("a long key shows %q, a short one %q", s.text(), said)
		}
		said = s.text()
		for i := 0; i+4 <= len(key); i++ {
			if strings.Contains(said, key[i:i+4]) {
				t.Fatalf("%q shows in %q", key[i:i+4], said)
			}
		}
	}
}
