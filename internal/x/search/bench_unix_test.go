//go:build unix

package search_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/internal/x/search"
	"github.com/cantle-dev/cantle/internal/x/walk"
)

// patterns is what is measured against ripgrep. Those that hold a literal are
// to take at most one and a half times as long.
var patterns = []struct {
	name, expr string
	fold       bool
	literal    bool
}{
	{"rare literal", "errUnexpectedThing", false, true},
	{"literal", "ErrUnexpectedEOF", false, true},
	{"common literal", "return", false, true},
	{"folded literal", "errunexpectedeof", true, true},
	{"folded common word", "context", true, true},
	{"alternation", "ErrUnexpectedEOF|ErrShortBuffer|ErrNoProgress|io.ErrClosedPipe", false, true},
	{"inner literal", `func \w+Handler\(`, false, true},
	{"suffix literal", `\w+UnexpectedEOF`, false, true},
	{"word", `\bsyscall\b`, false, true},
	{"no literal", `[a-z]+_[0-9]{3}`, false, false},
	{"no literal, folded", `(a|e)[0-9]{5}`, true, false},
}

// BenchmarkTree searches 50,000 files. The tree is made in a temporary folder
// from copies of the Go sources, or is the one that CANTLE_SEARCH_TREE names.
// Where rg is on PATH each line says how much longer than it the search took.
func BenchmarkTree(b *testing.B) {
	root := os.Getenv("CANTLE_SEARCH_TREE")
	if root == "" {
		root = makeTree(b, 50_000)
	}
	rg, _ := exec.LookPath("rg")
	for _, p := range patterns {
		b.Run(strings.ReplaceAll(p.name, " ", "_"), func(b *testing.B) {
			re, err := search.Compile(p.expr, search.Flags{Fold: p.fold})
			if err != nil {
				b.Fatal(err)
			}
			args := []string{"-uu", "--no-heading", "-n", "--no-messages", "--color=never", "--encoding=none", "-e", p.expr, root}
			if p.fold {
				args = append([]string{"-i"}, args...)
			}
			lines, n := 0, 0
			var best, cpu, other, otherCPU time.Duration
			for b.Loop() {
				lines = 0
				start, used := time.Now(), cpuTime(syscall.RUSAGE_SELF)
				_, err := search.Search(context.Background(), root, re, search.Options{Walk: walk.Options{Ignored: true}}, func(f search.File) bool {
					lines += f.Hits
					return true
				})
				if err != nil {
					b.Fatal(err)
				}
				if d := time.Since(start); best == 0 || d < best {
					best, cpu = d, cpuTime(syscall.RUSAGE_SELF)-used
				}
				if rg == "" {
					continue
				}
				// In turn, so that other load on the machine falls on both.
				var out counter
				cmd := exec.Command(rg, args...)
				cmd.Stdout = &out
				start, used = time.Now(), cpuTime(syscall.RUSAGE_CHILDREN)
				_ = cmd.Run() // 1 says that there is no match
				if d := time.Since(start); other == 0 || d < other {
					other, otherCPU = d, cpuTime(syscall.RUSAGE_CHILDREN)-used
				}
				n = int(out)
			}
			b.ReportMetric(float64(lines), "lines")
			b.ReportMetric(float64(best.Milliseconds()), "ms")
			b.ReportMetric(float64(cpu.Milliseconds()), "cpu-ms")
			if rg == "" {
				return
			}
			b.ReportMetric(float64(n), "rg-lines")
			b.ReportMetric(float64(other.Milliseconds()), "rg-ms")
			b.ReportMetric(float64(otherCPU.Milliseconds()), "rg-cpu-ms")
			b.ReportMetric(float64(best)/float64(other), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// counter counts lines.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(bytes.Count(p, []byte{'\n'}))
	return len(p), nil
}

func cpuTime(who int) time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(who, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// makeTree copies the Go sources until there are n files.
func makeTree(b *testing.B, n int) string {
	b.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skipf("no go command to take sources from: %v", err)
	}
	src := filepath.Join(strings.TrimSpace(string(out)), "src")
	dir := b.TempDir()
	for made, round := 0, 0; made < n; round++ {
		before := made
		_, err := walk.Walk(context.Background(), src, walk.Options{Ignored: true, MaxFiles: n - made}, func(f walk.File) bool {
			to := filepath.Join(dir, fmt.Sprintf("copy%d", round), f.Path)
			text, err := os.ReadFile(filepath.Join(src, f.Path))
			if err == nil {
				err = os.MkdirAll(filepath.Dir(to), 0o755)
			}
			if err == nil {
				err = os.WriteFile(to, text, 0o644)
			}
			if err != nil {
				b.Fatal(err)
			}
			made++
			return true
		})
		if err != nil || made == before {
			b.Skipf("no sources in %s: %v", src, err)
		}
	}
	return dir
}
