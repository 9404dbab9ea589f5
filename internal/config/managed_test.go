package config_test

import (
	"path/filepath"
	"testing"

	"github.com/cantle-dev/cantle/internal/config"
)

func TestManagedFileIsAboveAll(t *testing.T) {
	if f := config.ManagedFile(); !filepath.IsAbs(f) {
		t.Errorf("%q is not absolute", f)
	}
	c, err := load(t, map[string]string{"managed.json": `{"maxTurns": 3, "permissions": {"defaultMode": "dontAsk", "deny": ["Bash"]}}`},
		map[string]string{"CANTLE_PERMISSION_MODE": "auto"},
		config.Flag{Key: "maxTurns", Value: "9", Name: "--max-turns"}, config.Flag{Key: "permissions.defaultMode", Value: "auto", Name: "--mode"})
	if err != nil || c.MaxTurns != 3 || c.Permissions.DefaultMode != "dontAsk" || len(c.Permissions.Deny) != 1 || filepath.Base(c.From["maxTurns"]) != "managed.json" {
		t.Errorf("%+v, %v", c, err)
	}
}
