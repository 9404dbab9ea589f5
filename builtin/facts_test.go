package builtin

import (
	"fmt"
	"strings"
	"testing"
)

// The descriptions that a model is given state the limits that hold.
func TestDescriptionsStateTheLimits(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"Read", readText, fmt.Sprintf("at most %d of them and %d KiB at once", readLines, readBytes>>10)},
		{"Read", readText, fmt.Sprintf("more than %d bytes", readColumn)},
		{"Read", readText, fmt.Sprintf("Images (%d MiB)", imageMax>>20)},
		{"Read", readText, fmt.Sprintf("PDF files (%d MiB), %d pages at once", pdfMax>>20, pdfPages)},
		{"Read", readText, fmt.Sprintf("%d names at most", listMax)},
	} {
		if !strings.Contains(c.text, c.want) {
			t.Errorf("%s does not say %q: %s", c.name, c.want, c.text)
		}
	}
}

// All tools together are told of in few bytes, and name no tool that is not
// there.
func TestDescriptionsAreShort(t *testing.T) {
	total, names := 0, map[string]bool{}
	all := Tools(Options{})
	for _, tl := range all {
		s := tl.Spec()
		names[s.Name] = true
		total += len(s.Name) + len(s.Description) + len(s.Input)
	}
	if total > 10<<10 {
		t.Errorf("%d bytes", total)
	}
	t.Logf("%d bytes", total)
	for _, tl := range all {
		for _, ghost := range []string{"WebSearch", "MultiEdit", "NotebookEdit", "NotebookRead", "LS", "Task", "KillShell", "BashOutput"} {
			if strings.Contains(tl.Spec().Description, ghost) && !names[ghost] {
				t.Errorf("%s names %s, which is no tool", tl.Spec().Name, ghost)
			}
		}
	}
}

func TestWindowsNames(t *testing.T) {
	for name, want := range map[string]string{
		`C:\Users\unicorn\new.txt`: "", // nothing in it is an escape
		`..\x`:                     "",
		`a.b\c`:                    "",
		`//host/share`:             "network or device path",
		`\\?\C:\x`:                 "network or device path",
		`\\.\pipe\x`:               "network or device path",
		`x::$DATA`:                 "stream",
		`C:\x:y`:                   "stream",
		`.env.`:                    "dot or a blank",
		`.git \hooks`:              "dot or a blank",
	} {
		err := checkName(name, true)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is seen of a file, line by line, against a plain list of lines.
func TestSeenAgainstAModel(t *testing.T) {
	var s seen
	model := map[int]bool{}
	look := func(from, to int) {
		s = s.with(glimpse{lines: [][2]int{{from, to}}, total: -1})
		for i := from; i <= to; i++ {
			model[i] = true
		}
	}
	for _, r := range [][2]int{{5, 7}, {9, 9}, {8, 8}, {1, 2}, {20, 30}, {25, 40}, {3, 3}, {19, 19}, {2, 6}} {
		look(r[0], r[1])
		for i := 1; i < 50; i++ {
			if s.shown(i, i) != model[i] {
				t.Fatalf("after %v line %d: %v", r, i, s.Lines)
			}
		}
		for i := 1; i < len(s.Lines); i++ {
			if s.Lines[i][0] <= s.Lines[i-1][1]+1 {
				t.Fatalf("ranges touch: %v", s.Lines)
			}
		}
	}
	if s.shown(9, 19) {
		t.Error("a gap counts as shown")
	}
	s = s.with(glimpse{lines: [][2]int{{1, 60}}, parts: []part{{line: 50, to: 10}}, total: 60})
	if s.Whole {
		t.Error("a file with a cut line counts as whole")
	}
	for _, p := range []part{{50, 20, 30, true}, {50, 10, 25, false}} {
		if s = s.with(glimpse{lines: [][2]int{{50, 50}}, parts: []part{p}, total: 60}); s.Whole {
			t.Errorf("there is a gap before %v", p)
		}
	}
	if s = s.with(glimpse{lines: [][2]int{{50, 50}}, parts: []part{{50, 20, 30, true}}, total: 60}); !s.Whole {
		t.Errorf("all was shown: %+v", s)
	}
}

// The memory of contents is bounded.
func TestKeptContentsAreBounded(t *testing.T) {
	f := NewFiles()
	for i := range 100 {
		f.keep(fmt.Sprint(i), make([]byte, 500<<10))
	}
	f.keep("large", make([]byte, keptFile+1))
	if f.size > keptTotal || f.order.Len() != len(f.kept) || f.size != f.order.Len()*500<<10 {
		t.Errorf("%d bytes in %d contents", f.size, len(f.kept))
	}
	if _, ok := f.was("99"); !ok {
		t.Error("the latest is gone")
	}
	if _, ok := f.was("0"); ok {
		t.Error("the first is still there")
	}
}
