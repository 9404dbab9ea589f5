//go:build unix

package config_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/cantle-dev/cantle/internal/config"
)

// A pipe is not opened, which would wait for its writer, and what is neither a
// file nor a folder is never in effect.
func TestSurveyOpensNoPipe(t *testing.T) {
	for _, at := range []string{".mcp.json", ".cantle/hooks/p", ".cantle/skills", ".claude"} {
		f := newFolder(t, map[string]string{".cantle/x": "", ".cantle/hooks/x": "x"})
		if err := syscall.Mkfifo(f.path(at), 0o600); err != nil {
			t.Skip("this system makes no pipes: ", err)
		}
		found := false
		for _, file := range f.survey().Files {
			if file.Path == at {
				found = file.Refused == "it is no regular file"
			}
		}
		if !found {
			t.Errorf("%s: %+v", at, f.survey())
		}
		f.trust()
		if s := f.state(); s.Level != config.Trusted || len(s.Files("hooks")) != 1 || len(s.Files("mcp")) != 0 {
			t.Errorf("%s: %+v", at, s)
		}
	}
	f := newFolder(t, map[string]string{".cantle/x": ""})
	if err := syscall.Mkfifo(f.path(".cantle/settings.json"), 0o600); err != nil {
		t.Skip("this system makes no pipes: ", err)
	}
	if err := f.settings().Set("model", "a:b"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v", err)
	}
}
