//go:build unix

package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/sandbox"
)

// A program that lies in the folder that a command runs in is not run by the name
// of another, whatever PATH the user has.
func TestProgramsOfTheFolderAreNotRunByName(t *testing.T) {
	for _, path := range []string{".:/usr/bin:/bin", "/usr/bin:/bin:", ":/usr/bin:/bin", "bin:./bin:/usr/bin:/bin", "/usr/bin::/bin", "../x/bin:/bin:/usr/bin", ".", ""} {
		d := newDesk(t, func(o *builtin.Options) { o.Environ = []string{"PATH=" + path} })
		for _, name := range []string{"ls", "bin/ls", "unheard-of", "bin/unheard-of"} {
			if err := os.MkdirAll(filepath.Join(d.dir, "bin"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(d.dir, name), []byte("#!/bin/sh\necho canary\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if out := d.run("ls -d .; unheard-of; command -v ls"); strings.Contains(out.text, "canary") || !strings.Contains(out.text, "/bin/ls") {
			t.Errorf("PATH=%s: %q", path, out.text)
		}
		if out := d.run("./ls"); !strings.Contains(out.text, "canary") {
			t.Errorf("PATH=%s: by its path: %q", path, out.text)
		}
	}
}

// In an image, bash runs what was analysed as bash reads it.
func TestBashRunsInAnImage(t *testing.T) {
	if _, err := os.Stat("/bin/bash"); err != nil {
		t.Skip("no bash here: ", err)
	}
	d, r := confinedDesk(t, sandbox.Info{Name: "docker", Confines: true, Image: true}, &builtin.Confine{Policy: sandbox.Policy{NoNetwork: true}})
	if out := d.run(`echo $'a\'; echo canary #' {1,2}; [[ x == x ]] && exit 3`); out.text != "a'; echo canary # 1 2\n[exit code 3]" {
		t.Errorf("%q", out.text)
	}
	if r.last.Args[0] != "/bin/sh" {
		t.Errorf("%q: there may be no other shell in it", r.last.Args)
	}
}
