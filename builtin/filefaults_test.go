package builtin_test

import (
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// Every tool that takes a path refuses the same ones, before it looks at them.
func TestEveryToolRefusesTheSamePaths(t *testing.T) {
	b := newBench(t)
	seen := 0
	for name, tl := range b.by {
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
		}
		if err := json.Unmarshal(tl.Spec().Input, &schema); err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{"path", "file_path"} {
			if schema.Properties[field] == nil {
				continue
			}
			seen++
			for _, path := range []string{"file:///etc/passwd", "FILE://x", "a\x00b", `\\host\share\x`, `\??\UNC\host\x`, "/dev/fd/3", "/proc/self/environ", "/proc/1/../self/root/etc", "/proc/thread-self/fd", "~/x"} {
				in := m{field: path}
				for _, r := range schema.Required {
					if r != field {
						in[r] = "x"
					}
				}
				raw, err := json.Marshal(in)
				if err != nil {
					t.Fatal(err)
				}
				acc, err := tl.Spec().Access(t.Context(), &tool.Call{Name: name, Input: raw, Dir: b.dir})
				if err == nil {
					t.Errorf("%s of %q would touch %v", name, path, acc)
				}
			}
		}
	}
	if seen < 5 {
		t.Errorf("only %d tools take a path", seen)
	}
}

// The names that other agents give to tools' arguments are taken.
func TestArgumentsOfOtherNames(t *testing.T) {
	b := newBench(t)
	b.ok("Write", m{"path": "f", "text": "one\ntwo\n"})
	b.ok("Edit", m{"path": "f", "old_text": "one", "new_text": "1"})
	b.ok("Edit", m{"filename": "f", "old": "two", "new": "2"})
	if got := b.ok("Read", m{"path": "f", "start_line": 2, "line_count": 1, "start_column": 0}); !strings.HasPrefix(got, "     2\t2") {
		t.Errorf("%q", got)
	}
	if got := b.ok("Read", m{"path": "."}); got != "f (4 bytes)" {
		t.Errorf("%q", got)
	}
}

// Nothing in a path is an escape, and a path with a prefix of another is not
// in it.
func TestPathsAreTakenAsTheyAre(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a backslash is a separator there")
	}
	b := newBench(t)
	for _, name := range []string{`C:\Users\unicorn`, `a\tb`, "a b", "%41", "$HOME", "*.go", "[a]", "é\u0301", "-rf"} {
		b.ok("Write", m{"file_path": name, "content": name})
		if got := b.content(name); got != name {
			t.Errorf("%q", got)
		}
		if got := b.ok("Read", m{"file_path": name}); got != "     1\t"+name {
			t.Errorf("%q", got)
		}
	}
}

// What a formatter leaves as it was is no change, and what it changes is shown
// once; both after a resume, and for a file that was read in part.
func TestFormatterBetweenReadAndEdit(t *testing.T) {
	b := newBench(t)
	st := &session.Memory{}
	s := open(t, st, "s")
	b.write("f", strings.Repeat("line\n", 20)+"target\r\n"+strings.Repeat("line\n", 20))
	b.run(s, "Read", m{"file_path": "f", "offset": 15, "limit": 10})
	later := time.Now().Add(time.Hour)
	b.write("f", b.content("f"))
	if err := os.Chtimes(b.path("f"), later, later); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, st, "s")
	if got := b.run(s, "Edit", m{"file_path": "f", "old_string": "target", "new_string": "t"}); !strings.HasPrefix(got, "Updated f") {
		t.Error(got)
	}
	if got := b.run(s, "Edit", m{"file_path": "f", "old_string": "t\n", "new_string": "u\n"}); !strings.HasPrefix(got, "Updated f") {
		t.Error(got)
	}
	if got := b.content("f"); !strings.Contains(got, "line\nu\r\nline\n") {
		t.Errorf("%q", got)
	}
}

// Trailing blanks, blank lines and the end of the file are written as given.
func TestNothingIsTidiedUp(t *testing.T) {
	b := newBench(t)
	for _, text := range []string{"line  \n\n\n", "\n\n", " ", "a\t \n b", "\ttab\n    blanks  "} {
		b.ok("Write", m{"file_path": "f", "content": text})
		if got := b.content("f"); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// A large file is shown a page at a time, and never refused for its size; its
// change is bounded in time, whatever the difference.
func TestLargeFiles(t *testing.T) {
	b := newBench(t)
	var one, two strings.Builder
	for i := range 250_000 {
		one.WriteString("some line " + strings.Repeat("x", i%40) + "\n")
		two.WriteString(strings.Repeat("y", (i*7919)%40) + " another\n")
	}
	b.write("f", one.String())
	if got := b.ok("Read", m{"file_path": "f"}); !strings.Contains(got, "of 250000. Go on with offset") {
		t.Errorf("%q", got[len(got)-100:])
	}
	b.ok("Write", m{"file_path": "g", "content": one.String()})
	start := time.Now()
	got := b.ok("Write", m{"file_path": "g", "content": two.String()})
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if len(got) > 9<<10 || !strings.HasPrefix(got, "Updated g (250000 lines).") {
		t.Errorf("%d bytes: %.100s", len(got), got)
	}
}
