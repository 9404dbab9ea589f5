package gitconfig

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadsAsGit holds the parser to git's own: what git reads, it reads as
// well, or it says that it cannot. Reading a file has git run nothing.
func TestReadsAsGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	pieces := []string{
		"[core]", "[core \"x\"]", "[CORE.x]", "[filter \"a b\"]", "[filter \"a\\\"b\"]", "\n", "\n", "\n", "\r\n", " ", "\t", "=", "= ", "x", "fsmonitor", "clean", "./x",
		"\"", "\"a b\"", "\\\n", "\\\"", "\\n", "\\t", "\\\\", "#c", ";c", "true", "a-b", "\v", "fsmonitor = ./x\n", "clean = \"a # b\" c\n", "[a]b=c\n", "\n[core]\n",
	}
	n := 150
	if os.Getenv("CANTLE_SOAK") != "" {
		n = 5000
	}
	rng := rand.New(rand.NewPCG(7, 7))
	file := filepath.Join(t.TempDir(), "config")
	same := 0
	for range n {
		var b strings.Builder
		b.WriteString("[core]\n")
		for range rng.IntN(14) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		text := b.String()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(git, "config", "--file", file, "--list", "-z")
		cmd.Env = []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "PATH=" + os.Getenv("PATH")}
		out, err := cmd.Output()
		if err != nil {
			continue // git refuses the file, and so runs nothing
		}
		got := parse(text)
		if len(got) > 0 && got[len(got)-1].name == broken {
			t.Errorf("git reads what the parser does not: %q: %q", text, out)
			continue
		}
		var mine bytes.Buffer
		for _, s := range got {
			mine.WriteString(s.name + "=" + blanks(s.value) + "\x00")
		}
		// A name without "=" is true, which git lists without a value.
		var its bytes.Buffer
		for rec := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if rec == "" {
				continue
			}
			name, value, ok := strings.Cut(rec, "\n")
			if !ok {
				value = "true"
			}
			its.WriteString(name + "=" + blanks(value) + "\x00")
		}
		if mine.String() != its.String() {
			t.Errorf("%q\nparser %q\ngit    %q", text, mine.String(), its.String())
		}
		same++
	}
	if same < n/10 {
		t.Errorf("git took %d of %d files", same, n)
	}
}

// blanks is a value without regard to blanks, which versions of git keep in
// ways of their own.
func blanks(s string) string { return strings.Join(strings.Fields(s), " ") }
