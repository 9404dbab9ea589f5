package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestJSON counts one case that passes, one over two providers that fails, and
// one that cannot be loaded.
func TestJSON(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "001"), one(expect))
	write(t, filepath.Join(dir, "002"), two("telepathy"))
	write(t, filepath.Join(dir, "003"), map[string]string{"case.json": "{"})
	var out, errs bytes.Buffer
	if code := run([]string{"-json", dir}, &out, &errs); code != 1 {
		t.Errorf("exit %d", code)
	}
	var got tally
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	if got.Passed != 1 || got.Failed != 2 || got.Skipped != 0 {
		t.Errorf("%+v", got.count)
	}
	if len(got.Providers) != 2 || *got.Providers["anthropic"] != (count{1, 1}) || *got.Providers["other"] != (count{0, 1}) {
		t.Errorf("by provider: %s", &out)
	}
	if !strings.Contains(errs.String(), "no adapter for wire telepathy") {
		t.Errorf("the faults are not told: %s", &errs)
	}
}
