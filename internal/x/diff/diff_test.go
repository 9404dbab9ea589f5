package diff_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/internal/x/diff"
)

func ExampleUnified() {
	fmt.Print(diff.Unified("a/x", "b/x", "one\ntwo\n", "one\n2", 3))
	// Output:
	// --- a/x
	// +++ b/x
	// @@ -1,2 +1,2 @@
	//  one
	// -two
	// +2
	// \ No newline at end of file
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestUnified(t *testing.T) {
	long := numbered(30)
	for name, c := range map[string]struct {
		old, new string
		context  int
		want     string
	}{
		"equal":           {"a\n", "a\n", 3, ""},
		"both empty":      {"", "", 3, ""},
		"made":            {"", "a\nb\n", 3, "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"emptied":         {"a\nb\n", "", 3, "@@ -1,2 +0,0 @@\n-a\n-b\n"},
		"newline lost":    {"a\n", "a", 3, "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"},
		"newline gained":  {"a", "a\n", 3, "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		"neither ends":    {"a\nb", "a\nc", 3, "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"},
		"end of line":     {"a\r\nb\r\n", "a\nb\r\n", 3, "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n"},
		"in the middle":   {long, strings.Replace(long, "line 15\n", "x\n", 1), 1, "@@ -14,3 +14,3 @@\n line 14\n-line 15\n+x\n line 16\n"},
		"no context":      {long, strings.Replace(long, "line 15\n", "line 15\nx\n", 1), 0, "@@ -15,0 +16 @@\n+x\n"},
		"deleted bare":    {long, strings.Replace(long, "line 15\n", "", 1), 0, "@@ -15 +14,0 @@\n-line 15\n"},
		"at the end":      {long, long + "x\n", 2, "@@ -29,2 +29,3 @@\n line 29\n line 30\n+x\n"},
		"like a header":   {"-- a\n", "++ a\n", 3, "@@ -1 +1 @@\n--- a\n+++ a\n"},
		"repeated lines":  {"a\na\na\n", "a\na\n", 0, "@@ -3 +2,0 @@\n-a\n"},
		"default context": {long, strings.Replace(long, "line 15\n", "", 1), -1, "@@ -12,7 +12,6 @@\n line 12\n line 13\n line 14\n-line 15\n line 16\n line 17\n line 18\n"},
	} {
		want := c.want
		if want != "" {
			want = "--- old\n+++ new\n" + want
		}
		if got := diff.Unified("old", "new", c.old, c.new, c.context); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestNamesStayOnOneLine(t *testing.T) {
	got := diff.Unified("a\n@@ -1 +1 @@\n-x", "b", "1\n", "2\n", 3)
	if want := "--- \"a\\n@@ -1 +1 @@\\n-x\"\n+++ b\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got %s", got)
	}
}

// TestPatchTakesIt applies what Unified gives with the system's patch program.
func TestPatchTakesIt(t *testing.T) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("no patch program")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range rng.IntN(12) {
			fmt.Fprintf(&b, "%c\n", 'a'+rng.IntN(4))
		}
		s := b.String()
		if rng.IntN(3) == 0 {
			s = strings.TrimSuffix(s, "\n")
		}
		return s
	}
	file := filepath.Join(t.TempDir(), "f")
	for range 150 {
		old, new, context := text(), text(), rng.IntN(5)
		if rng.IntN(2) == 0 {
			pre, post := numbered(rng.IntN(9)), numbered(rng.IntN(9))
			old, new = pre+old+post, pre+new+post
		}
		d := diff.Unified("f", "f", old, new, context)
		if d == "" {
			if old != new {
				t.Fatalf("no difference between %q and %q", old, new)
			}
			continue
		}
		if err := os.WriteFile(file, []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), patch, "--force", "--silent", "--fuzz=0", file)
		cmd.Stdin = strings.NewReader(d)
		out, err := cmd.CombinedOutput()
		got, rerr := os.ReadFile(file)
		if os.IsNotExist(rerr) { // patch removes a file that has become empty
			rerr = nil
		}
		if err != nil || rerr != nil || string(got) != new {
			t.Fatalf("%q to %q with context %d:\n%s\npatch: %v %s\ngot %q", old, new, context, d, err, out, got)
		}
		adds, dels := diff.Stat(d)
		if lines(new)-lines(old) != adds-dels {
			t.Fatalf("Stat says +%d -%d for %q to %q", adds, dels, old, new)
		}
	}
}

func lines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

func TestLargeTexts(t *testing.T) {
	start := time.Now()
	big := strings.Repeat("the same line again and again\n", 1_000_000)
	got := diff.Unified("a", "b", big+"x\n"+big, big+"y\n"+big, 1)
	if want := "@@ -1000000,3 +1000000,3 @@\n the same line again and again\n-x\n+y\n the same line again and again\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got %s", got)
	}
	other := strings.Repeat("another line\n", 1_000_000)
	if got := diff.Unified("a", "b", big, other, 3); !strings.Contains(got, "too large to show: from line 1 on, 1000000 lines") || strings.Count(got, "\n") != 3 {
		t.Errorf("got %.300s", got)
	}
	one := strings.Repeat("x", diff.MaxBytes)
	if got := diff.Unified("a", "b", one, one+"y", 3); len(got) > 300 {
		t.Errorf("a line of %d bytes gave a diff of %d", len(one), len(got))
	}
	if d := time.Since(start); d > 15*time.Second {
		t.Errorf("it took %v", d)
	}
}

// TestUnlikeTexts is the worst case for the search: nothing is in common, and
// everything is below the bounds.
func TestUnlikeTexts(t *testing.T) {
	var a, b strings.Builder
	for i := range diff.MaxLines / 2 {
		fmt.Fprintf(&a, "a%d\n", i%977)
		fmt.Fprintf(&b, "b%d\n", i%983)
		if i%3 == 0 {
			a.WriteString("}\n")
		}
	}
	start := time.Now()
	diff.Unified("a", "b", a.String()[:200_000], b.String()[:200_000], 3)
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
}

func FuzzUnified(f *testing.F) {
	f.Add("a\nb\n", "a\nc", 1)
	f.Add("", "x", 0)
	f.Fuzz(func(t *testing.T, old, new string, context int) {
		d := diff.Unified("o", "n", old, new, context%10)
		if (d == "") != (old == new) {
			t.Errorf("%q and %q give %q", old, new, d)
		}
	})
}

func BenchmarkUnified(b *testing.B) {
	old := numbered(4000)
	new := strings.ReplaceAll(old, "7\n", "seven\n")
	b.SetBytes(int64(len(old)))
	for b.Loop() {
		diff.Unified("a", "b", old, new, 3)
	}
}
