package gitindex_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/x/gitindex"
)

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTracked holds it to what git itself says, in each form of an index.
func TestTracked(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	for _, form := range []struct {
		name string
		init []string
		set  []string
	}{
		{"version 2", nil, []string{"index.version=2"}},
		{"version 3", nil, []string{"index.version=3"}},
		{"version 4", nil, []string{"index.version=4"}},
		{"SHA-256", []string{"--object-format=sha256"}, nil},
	} {
		t.Run(form.name, func(t *testing.T) {
			dir := t.TempDir()
			run := func(args ...string) string {
				t.Helper()
				cmd := exec.Command(git, append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
				cmd.Env = []string{"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "PATH=" + os.Getenv("PATH")}
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("git %v: %v: %s", args, err, out)
				}
				return string(out)
			}
			run(append([]string{"init", "-q"}, form.init...)...)
			for _, s := range form.set {
				k, v, _ := strings.Cut(s, "=")
				run("config", k, v)
			}
			var paths []string
			for i := range 40 {
				for _, name := range []string{fmt.Sprintf("a%d", i), fmt.Sprintf("dir%d/b", i%7), fmt.Sprintf("dir%d/deep/%s", i%5, strings.Repeat("n", i*6))} {
					if strings.HasSuffix(name, "/") {
						continue
					}
					write(t, filepath.Join(dir, name), "x")
					if (i+len(name))%3 == 0 {
						run("add", "-f", name)
					}
					paths = append(paths, filepath.Join(dir, name))
				}
			}
			write(t, filepath.Join(dir, "intent"), "x")
			run("add", "-N", "intent") // has extended flags
			paths = append(paths, filepath.Join(dir, "intent"), filepath.Join(dir, "dir1"), filepath.Join(dir, "dir1/deep"), filepath.Join(dir, "nothing"), filepath.Join(dir, "dir"))
			got, err := gitindex.Tracked(paths...)
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range paths {
				rel, err := filepath.Rel(dir, p)
				if err != nil {
					t.Fatal(err)
				}
				if want := run("ls-files", "--", ":(literal)"+rel) != ""; got[i] != want {
					t.Errorf("%s: %v, and git says %v", rel, got[i], want)
				}
			}
		})
	}
}

// TestNoIndex: where there is none, nothing is tracked; where one cannot be read,
// that is said.
func TestNoIndex(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x"), "")
	if got, err := gitindex.Tracked(filepath.Join(dir, "x")); err != nil || got[0] {
		t.Errorf("no repository: %v, %v", got, err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := gitindex.Tracked(filepath.Join(dir, "x")); err != nil || got[0] {
		t.Errorf("no index: %v, %v", got, err)
	}
	for _, text := range []string{"", "DIRC", "DIRC\x00\x00\x00\x02\xff\xff\xff\xff" + strings.Repeat("x", 500), "DIRC\x00\x00\x00\x04\x00\x00\x00\x01" + strings.Repeat("\xff", 200), strings.Repeat("\x00", 100)} {
		write(t, filepath.Join(dir, ".git", "index"), text)
		if _, err := gitindex.Tracked(filepath.Join(dir, "x")); err == nil {
			t.Errorf("%.20q: no error", text)
		}
	}
	if err := os.Remove(filepath.Join(dir, ".git", "index")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git", "index"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := gitindex.Tracked(filepath.Join(dir, "x")); err == nil {
		t.Error("a directory: no error")
	}
}
