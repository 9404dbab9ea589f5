package builtin_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEditLadder(t *testing.T) {
	for name, c := range map[string]struct{ text, old, repl, want, note string }{
		"exact wins over alike":           {"a \na\nb\n", "a\nb", "A\nb", "a \nA\nb\n", ""},
		"in a line":                       {"x = 1; y = 1\n", "x = 1", "x = 2", "x = 2; y = 1\n", ""},
		"CRLF, one line to two":           {"a\r\nb\r\nc", "b", "B\nB", "a\r\nB\r\nB\r\nc", ""},
		"CRLF, beginning with a line end": {"a\r\nb\r\n", "\nb", "\nB\nC", "a\r\nB\r\nC\r\n", ""},
		"CRLF, line taken out":            {"a\r\nb\r\nc\r\n", "b\n", "", "a\r\nc\r\n", ""},
		"mixed: each line keeps its own":  {"a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nb\nX\nd", "a\r\nb\nX\r\nd\n", ""},
		"mixed: the end of the line":      {"a\r\nb\nc\r\n", "b", "b\nB", "a\r\nb\nB\nc\r\n", ""},
		"CR that is meant":                {"a\r\nb\n", "a\r\nb\n", "a\nb\n", "a\nb\n", ""},
		"CRLF asked for in an LF file":    {"a\nb\n", "a\r\nb", "a\r\nB", "a\nB\n", "line ends"},
		"trailing blanks":                 {"  one  \n  two\t\n  three\n", "  one\n  two\n", "  one\n  TWO\n", "  one  \n  TWO\n  three\n", "blanks at the ends"},
		"trailing blanks given":           {"one\ntwo\n", "one  \ntwo ", "1\n2", "1\n2\n", "blanks at the ends"},
		"curly quotes":                    {"a ‘b’ “c” – d\u00a0e\nx", "a 'b' \"c\" - d e\nx", "a 'b' \"c\" - d e\ny", "a ‘b’ “c” – d\u00a0e\ny", "typographic"},
		"ellipsis is not cut":             {"wait…\n", "wait...", "go...", "go...\n", "typographic"},
		"indented more":                   {"{\n\t\tif x {\n\t\t\ty\n\t\t}\n}\n", "if x {\n\ty\n}", "if x {\n\tz\n\tw\n}", "{\n\t\tif x {\n\t\t\tz\n\t\t\tw\n\t\t}\n}\n", "indentation"},
		"indented less":                   {"if x:\n    y\n", "    if x:\n        y\n", "    if x:\n        z\n", "if x:\n    z\n", "indentation"},
		"blanks for tabs":                 {"\tif x {\n\t\ty\n\t}\n", "    if x {\n        y\n    }\n", "    if x {\n        if z {\n            y\n        }\n    }\n", "\tif x {\n\t\tif z {\n\t\t\ty\n\t\t}\n\t}\n", "indentation"},
		"blank line between":              {"\ta\n\n\tb\n", "a\n\nb", "a\n\nc", "\ta\n\n\tc\n", "indentation"},
		"final newline put":               {"a", "a", "a\n", "a\n", ""},
		"bytes that are no text":          {"é \xff\xfe\nb\n", "b", "c", "é \xff\xfe\nc\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("f", c.text)
			b.ok("Read", m{"file_path": "f"})
			got := b.ok("Edit", m{"file_path": "f", "old_string": c.old, "new_string": c.repl})
			if text := b.content("f"); text != c.want {
				t.Errorf("got  %q\nwant %q", text, c.want)
			}
			if c.note == "" && strings.Contains(got, "[Found") || !strings.Contains(got, c.note) {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestEditRefusesWhatIsNotSure(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		in   m
		want string
	}{
		"overlapping":              {"aaa\n", m{"old_string": "aa", "new_string": "b"}, "occurs 2 times, on lines 1, 1"},
		"twice, in endings apart":  {"a\r\nb\r\na\nb\n", m{"old_string": "a\nb", "new_string": "c"}, "occurs 2 times, on lines 1, 3"},
		"twice but for blanks":     {"a \nb\na\t\nb\n", m{"old_string": "a\nb\n", "new_string": "c"}, "but for blanks at the ends of lines it occurs 2 times"},
		"blanks within a line":     {"foobar\n", m{"old_string": "foo ", "new_string": "c"}, "not found"},
		"in no order":              {"a\n\t\tb\n\tc\n", m{"old_string": "\ta\n\tb\n\tc", "new_string": "x"}, "not found"},
		"all, but not exactly":     {"a \nb\na \nb\n", m{"old_string": "a\nb", "new_string": "c", "replace_all": true}, "occurs 2 times"},
		"line numbers":             {"one\ntwo\n", m{"old_string": "     1\tone\n     2\ttwo", "new_string": "c"}, "line numbers"},
		"replacement characters":   {"é\xff\n", m{"old_string": "é\uFFFD", "new_string": "c"}, "bytes that cannot be shown"},
		"nothing alike":            {"one\ntwo\n", m{"old_string": "quite another thing", "new_string": "c"}, "nor anything like it"},
		"both forms":               {"one\n", m{"old_string": "one", "new_string": "1", "edits": []m{{"old_string": "one", "new_string": "1"}}}, "not both"},
		"cell of a text":           {"one\n", m{"cell": 1, "new_string": "1"}, "for notebooks"},
		"nothing to be changed":    {"one\r\n", m{"old_string": "one\n", "new_string": "one\r\n"}, "changes nothing"},
		"the second, after others": {"one\ntwo\n", m{"edits": []m{{"old_string": "one", "new_string": "1"}, {"old_string": "one", "new_string": "2"}}}, "edit 2 of 2, so that none was made"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("f", c.text)
			b.ok("Read", m{"file_path": "f"})
			c.in["file_path"] = "f"
			b.fails(c.want, "Edit", c.in)
			if got := b.content("f"); got != c.text {
				t.Errorf("the file became %q", got)
			}
		})
	}
}

// However often a text occurs, memory is bounded.
func TestEditOfWhatOccursVeryOften(t *testing.T) {
	b := newBench(t)
	b.write("f", strings.Repeat("a", 3<<20)+"\n")
	b.ok("Read", m{"file_path": "f"})
	b.fails("more than 1000 times", "Edit", m{"file_path": "f", "old_string": "aa", "new_string": "b"})
	b.fails("more than 1000000 times", "Edit", m{"file_path": "f", "old_string": "aa", "new_string": "b", "replace_all": true})
	b.fails("more than the 64 MiB", "Edit", m{"file_path": "f", "old_string": "aaaa", "new_string": strings.Repeat("b", 1000), "replace_all": true})
	b.ok("Edit", m{"file_path": "f", "old_string": "aaaa", "new_string": "b", "replace_all": true})
	if got := b.content("f"); got != strings.Repeat("b", 3<<18)+"\n" {
		t.Errorf("%d bytes", len(got))
	}
}

func TestEditSaysWhatIsNearest(t *testing.T) {
	b := newBench(t)
	b.write("f", "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 2\n\tx\n}\n")
	b.ok("Read", m{"file_path": "f"})
	b.fails("The nearest is on line 5; line 7 differs from character 2 on: the file has \"x\", old_string has \"y\"\n     5\tfunc b() {", "Edit",
		m{"file_path": "f", "old_string": "func b() {\n\treturn 2\n\ty\n}\n", "new_string": "z"})
	long := strings.Repeat("\x01é", 400)
	b.write("g", strings.Repeat(long+"\n", 5)+"ab"+long+"\n")
	b.ok("Read", m{"file_path": "g"})
	s, failed := b.call(t.Context(), "Edit", m{"file_path": "g", "old_string": "abc" + long, "new_string": "z"})
	if !failed || len(s) >= 600 {
		t.Errorf("%d bytes: %s", len(s), s)
	}
}

// Of a file that was read in part, the parts that were shown can be edited,
// also after other edits have moved them.
func TestEditOfPartsMovesWhatWasSeen(t *testing.T) {
	b := newBench(t)
	var text strings.Builder
	for i := 1; i <= 30; i++ {
		fmt.Fprintf(&text, "line %d.\n", i)
	}
	b.write("f", text.String())
	b.ok("Read", m{"file_path": "f", "offset": 5, "limit": 3})  // 5 to 7
	b.ok("Read", m{"file_path": "f", "offset": 20, "limit": 3}) // 20 to 22
	b.ok("Edit", m{"file_path": "f", "old_string": "line 6.", "new_string": "a\nb\nc\nd"})
	b.fails("lines 4-4 of f were not read yet", "Edit", m{"file_path": "f", "old_string": "line 4.", "new_string": "x"})
	b.ok("Edit", m{"file_path": "f", "old_string": "line 5.\na\n", "new_string": ""})
	b.ok("Edit", m{"file_path": "f", "old_string": "line 7.", "new_string": "7"})
	b.fails("were not read yet", "Edit", m{"file_path": "f", "old_string": "line 8.", "new_string": "x"})
	b.fails("were not read yet", "Edit", m{"file_path": "f", "old_string": "line 22.\nline 23.", "new_string": "x"})
	b.ok("Edit", m{"file_path": "f", "old_string": "line 21.\nline 22.", "new_string": "x"})
	b.fails("edit 2 of 2, so that none was made: lines 18-18", "Edit", m{"file_path": "f", "edits": []m{
		{"old_string": "line 20.", "new_string": "y"}, {"old_string": "line 17.", "new_string": "z"},
	}})
	b.fails("read only in part", "Write", m{"file_path": "f", "content": "x"})
	want := text.String()
	for _, r := range [][2]string{{"line 5.\nline 6.\n", "b\nc\nd\n"}, {"line 7.", "7"}, {"line 21.\nline 22.", "x"}} {
		want = strings.Replace(want, r[0], r[1], 1)
	}
	if got := b.content("f"); got != want {
		t.Errorf("got %q", got)
	}
	// Grep shows lines too.
	b.ok("Grep", m{"pattern": "line 30", "path": ".", "output_mode": "content"})
	b.ok("Edit", m{"file_path": "f", "old_string": "line 30.", "new_string": "x"})
}

// FuzzEdit compares Edit with what it stands for: outside of the one place
// where the text is, no byte changes, whatever the file is made of.
func FuzzEdit(f *testing.F) {
	f.Add("a\r\nb\nc\rd", "b", "x\ny", false)
	f.Add("\xef\xbb\xbfa\r\n\xff b", " b", "", true)
	f.Add("aXbXc", "X", "\n", true)
	f.Add("  a\n\n  b \n", "a\nb", "c", false)
	f.Add("say “hi”\r\n", "say \"hi\"\n", "no", false)
	b := newBench(f)
	f.Fuzz(func(t *testing.T, text, old, repl string, all bool) {
		if strings.ContainsAny(text, "\x00") || len(text) > 2000 || strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
			t.Skip("not an edit that can be made")
		}
		checkEdit(t, b, text, old, repl, all)
	})
}

// checkEdit makes an edit of one place and holds it against the text before.
func checkEdit(t *testing.T, b *bench, text, old, repl string, all bool) {
	t.Helper()
	b.t = t
	b.write("f", text)
	if s, failed := b.call(t.Context(), "Read", m{"file_path": "f"}); failed {
		t.Skip(s) // such as an image
	}
	s, failed := b.call(t.Context(), "Edit", m{"file_path": "f", "old_string": old, "new_string": repl, "replace_all": all})
	got := b.content("f")
	if failed {
		if got != text {
			t.Fatalf("refused with %q, and the file became %q", s, got)
		}
		return
	}
	if strings.Contains(s, "in Latin-1") || strings.Contains(s, "in Windows") {
		return
	}
	plain := func(s string) bool {
		return utf8.ValidString(s) && !strings.ContainsAny(s, "\r\uFEFF\uFFFD")
	}
	n := strings.Count(text, old)
	switch {
	case plain(text) && plain(old) && plain(repl) && n == 1:
		if want := strings.Replace(text, old, repl, 1); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	case plain(text) && plain(old) && plain(repl) && n > 1:
		if want := strings.ReplaceAll(text, old, repl); !all || got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	case !all || n <= 1:
		// The text before and after the one place is the same, and what is
		// between them in the old text is alike to old.
		i := 0
		for i < len(text) && i < len(got) && text[i] == got[i] {
			i++
		}
		k := 0
		for k < len(text)-i && k < len(got)-i && text[len(text)-1-k] == got[len(got)-1-k] {
			k++
		}
		if changed := len(text) - i - k; changed > 4*len(old)+strings.Count(text, " ")+strings.Count(text, "\t")+4 {
			t.Fatalf("%d bytes of %q changed to make %q, for %q", changed, text, got, old)
		}
	}
}

// The same over many random texts of few letters, in which there is much to go
// wrong.
func TestEditAgainstAModel(t *testing.T) {
	b := newBench(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	word := func(n int, of string) string {
		rs := []rune(of)
		out := make([]rune, rnd.IntN(n))
		for i := range out {
			out[i] = rs[rnd.IntN(len(rs))]
		}
		return string(out)
	}
	rounds := 300
	if os.Getenv("CANTLE_SOAK") == "1" {
		rounds = 20_000
	}
	for range rounds {
		of := []string{"ab\n", "ab \t\n", "ab\r\n", "a“\" \n"}[rnd.IntN(4)]
		text := word(24, of)
		old := word(5, of)
		if rnd.IntN(2) == 0 && len(text) > 3 {
			i := rnd.IntN(len(text) - 2)
			old = strings.ToValidUTF8(text[i:i+1+rnd.IntN(len(text)-i-1)], "a")
		}
		checkEdit(t, b, text, old, word(5, of), rnd.IntN(4) == 0)
	}
}
