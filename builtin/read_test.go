package builtin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/tool"
)

// with makes the tools anew with other options.
func (b *bench) with(change func(*builtin.Options)) *bench {
	change(&b.o)
	for _, tl := range builtin.Tools(b.o) {
		b.by[tl.Spec().Name] = tl
	}
	return b
}

// result runs a tool and returns all of its result.
func (b *bench) result(name string, in any) *tool.Result {
	b.t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		b.t.Fatal(err)
	}
	c := &tool.Call{Name: name, Input: raw, Dir: b.dir}
	if c.Access, err = b.by[name].Spec().Access(b.t.Context(), c); err != nil {
		b.t.Fatal(err)
	}
	res, err := tool.Run(b.t.Context(), b.by[name], c)
	if err != nil {
		b.t.Fatal(err)
	}
	return res
}

func TestReadShowsText(t *testing.T) {
	utf16be := "\xFE\xFF\x00a\x00\n\xD8\x3D\xDE\x00\x00\n"
	for name, c := range map[string]struct{ text, want string }{
		"plain":              {"a\nb\n", "     1\ta\n     2\tb"},
		"no final newline":   {"a\nb", "     1\ta\n     2\tb"},
		"blank lines":        {"\n\na\n\n", "     1\t\n     2\t\n     3\ta\n     4\t"},
		"BOM":                {"\xEF\xBB\xBFa\n", "     1\ta"},
		"BOM alone":          {"\xEF\xBB\xBF", "The file exists and is empty."},
		"empty":              {"", "The file exists and is empty."},
		"UTF-16":             {utf16be, "     1\ta\n     2\t😀\n[The file is in UTF-16.]"},
		"UTF-16, half a one": {"\xFF\xFEa\x00\x3D\xD8b", "     1\ta\uFFFD\uFFFD\n[The file is in UTF-16.]\n[Bytes that are not readable text are shown as \uFFFD.]"},
		"Latin-1":            {"caf\xE9\n", "     1\tcafé\n[The file is in Latin-1.]"},
		"Windows-1252":       {"\x93caf\xE9\x94\n", "     1\t“café”\n[The file is in Windows-1252.]"},
		"invalid UTF-8":      {"é caf\xE9\n", "     1\té caf\uFFFD\n[Bytes that are not readable text are shown as \uFFFD.]"},
		"control characters": {"a\x1b[31mb\x07\n", "     1\ta\uFFFD[31mb\uFFFD\n[Bytes that are not readable text are shown as \uFFFD.]"},
		"CRLF":               {"a\r\nb", "     1\ta\n     2\tb\n[Lines end in CRLF.]"},
		"mixed":              {"a\r\nb\nc\n", "     1\ta\n     2\tb\n     3\tc\n[Some lines end in CRLF.]"},
		"CR":                 {"a\rb\r", "     1\ta\n     2\tb\n[Lines end in CR.]"},
		"looks like BMP":     {"BM is a prefix\n", "     1\tBM is a prefix"},
		"SVG":                {"<svg/>\n", "     1\t<svg/>"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("f", c.text)
			if got := b.ok("Read", m{"file_path": "f"}); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestReadGoesOn(t *testing.T) {
	b := newBench(t)
	b.write("f", "1\n2\n3\n4\n5\n")
	for _, c := range []struct {
		in   m
		want string
	}{
		{m{"limit": 2}, "     1\t1\n     2\t2\n[Showing lines 1-2 of 5. Go on with offset 3.]"},
		{m{"offset": 3, "limit": 2}, "     3\t3\n     4\t4\n[Showing lines 3-4 of 5. Go on with offset 5.]"},
		{m{"offset": 5}, "     5\t5\n[Showing lines 5-5 of 5: the end.]"},
		{m{"start_line": 4, "line_count": 1}, "     4\t4\n[Showing lines 4-4 of 5. Go on with offset 5.]"},
	} {
		c.in["file_path"] = "f"
		if got := b.ok("Read", c.in); got != c.want {
			t.Errorf("%v: %q", c.in, got)
		}
	}
	b.fails("beyond the end of f, which has 5 lines", "Read", m{"file_path": "f", "offset": 6})

	b.write("many", strings.Repeat("x\n", 2500))
	if got := b.ok("Read", m{"file_path": "many"}); !strings.HasSuffix(got, "  2000\tx\n[Showing lines 1-2000 of 2500. Go on with offset 2001.]") {
		t.Errorf("%.100q", got[len(got)-100:])
	}
	if got := b.ok("Read", m{"file_path": "many", "limit": 99999}); !strings.Contains(got, "lines 1-2000 of") {
		t.Error("more lines than are allowed")
	}
}

var goesOn = regexp.MustCompile(`Go on with offset (\d+)`)

// Whatever is in a file, what comes at once is bounded, and going on as the
// notes say shows every line once.
func TestReadIsBoundedAndComplete(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"x", "é", "😀", "\xE9", "\x80", "\x01", "\r", "word "}
	for range 30 {
		var text strings.Builder
		lines := 1 + rnd.IntN(300)
		for range lines {
			text.WriteByte('L')
			text.WriteString(strings.Repeat(pieces[rnd.IntN(len(pieces))], rnd.IntN(1200)))
			text.WriteByte('\n')
		}
		b := newBench(t)
		b.write("f", text.String())
		next := 1
		for shown := 0; shown < lines; {
			got := b.ok("Read", m{"file_path": "f", "offset": next})
			if len(got) > 50<<10+400 || !utf8.ValidString(got) {
				t.Fatalf("%d bytes, valid %v", len(got), utf8.ValidString(got))
			}
			for l := range strings.Lines(got) {
				if num, rest, ok := strings.Cut(l, "\t"); ok && strings.HasPrefix(rest, "L") {
					if n, err := strconv.Atoi(strings.TrimSpace(num)); err != nil || n != shown+1 {
						t.Fatalf("line %q after %d", num, shown)
					}
					shown++
				}
			}
			mt := goesOn.FindStringSubmatch(got)
			if mt == nil {
				if shown != lines {
					t.Fatalf("it ends after %d of %d lines", shown, lines)
				}
				break
			}
			next, _ = strconv.Atoi(mt[1])
		}
		// All was shown but for lines that were cut.
		if s, failed := b.call(t.Context(), "Write", m{"file_path": "f", "content": "x"}); failed && !strings.Contains(s, "read the rest of line") {
			t.Fatalf("%s", s)
		}
	}
}

var column = regexp.MustCompile(`column (\d+)\]`)

// A line of any length can be read to its end, and then its file replaced.
func TestReadOfAGiantLine(t *testing.T) {
	b := newBench(t)
	line := strings.Repeat("0123456789é", 20_000)
	b.write("f", "first\n"+line+"\nlast\n")
	got := b.ok("Read", m{"file_path": "f"})
	if len(got) > 2500 || !strings.Contains(got, "     3\tlast") {
		t.Fatalf("%d bytes", len(got))
	}
	b.fails("read the rest of line 2 (offset 2, column 2", "Write", m{"file_path": "f", "content": "x"})
	// The other lines were seen, and a part of this one.
	b.ok("Edit", m{"file_path": "f", "old_string": "first", "new_string": "FIRST"})
	b.ok("Edit", m{"file_path": "f", "old_string": "é\nlast", "new_string": "é\nLAST"})
	b.write("g", "first\n"+line+"\nlast\n")
	all := ""
	for at, n := 0, 0; n < 20; n++ {
		got := b.ok("Read", m{"file_path": "g", "offset": 2, "limit": 1, "column": at})
		_, text, _ := strings.Cut(got, "\t")
		text, _, more := strings.Cut(text, "… [")
		if !more {
			text, _, _ = strings.Cut(text, "\n")
		}
		all += text
		mt := column.FindStringSubmatch(got)
		if mt == nil {
			break
		}
		at, _ = strconv.Atoi(mt[1])
	}
	if all != line {
		t.Fatalf("%d of %d bytes came together", len(all), len(line))
	}
	b.fails("read on from offset 1", "Write", m{"file_path": "g", "content": "x"})
	b.ok("Read", m{"file_path": "g", "limit": 1})
	b.ok("Read", m{"file_path": "g", "offset": 3})
	b.ok("Write", m{"file_path": "g", "content": "x"})
}

// The end of a huge file is read in little memory: of 256 MiB, or with
// CANTLE_SOAK=1 of 5 GiB.
func TestReadOfTheEndOfAHugeFile(t *testing.T) {
	b := newBench(t)
	f, err := os.Create(b.path("huge"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	head := strings.Repeat("text\n", 4000)
	if _, err := f.WriteString(head); err != nil {
		t.Fatal(err)
	}
	size := int64(256 << 20)
	if os.Getenv("CANTLE_SOAK") == "1" {
		size = 5 << 30
	}
	if _, err := f.WriteAt([]byte("\nthe tail\n"), size); err != nil {
		t.Skip("no sparse files here: ", err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := b.ok("Read", m{"file_path": "huge", "offset": 4002})
	runtime.ReadMemStats(&after)
	if got != "  4002\tthe tail\n[Showing lines 4002-4002 of 4002: the end.]" {
		t.Errorf("%q", got)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
	if got := b.ok("Read", m{"file_path": "huge", "limit": 1}); got != "     1\ttext\n[Showing lines 1-1 of more. Go on with offset 2.]" {
		t.Errorf("%q", got)
	}
	b.fails("more than the 64 MiB", "Edit", m{"file_path": "huge", "old_string": "a", "new_string": "b"})
	b.fails("more than the 64 MiB", "Write", m{"file_path": "huge", "content": "a"})

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, failed := b.call(ctx, "Read", m{"file_path": "huge", "offset": 4002}); !failed || !strings.Contains(s, "canceled") {
		t.Errorf("a cancelled read gave %q", s)
	}
}

func TestReadRefusesWhatIsNoFile(t *testing.T) {
	b := newBench(t)
	mkfifo(t, b.path("pipe"))
	b.fails("a named pipe", "Read", m{"file_path": "pipe"})
	b.fails("a named pipe", "Edit", m{"file_path": "pipe", "old_string": "a", "new_string": "b"})
	b.fails("a named pipe", "Write", m{"file_path": "pipe", "content": "a"})
	short, err := os.MkdirTemp("", "s") // the paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	l, err := net.Listen("unix", filepath.Join(short, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b.fails("a socket", "Read", m{"file_path": filepath.Join(short, "s")})
	b.fails("a device", "Read", m{"file_path": "/dev/zero"})
	b.fails("is a directory", "Write", m{"file_path": ".", "content": "a"})
	for path, want := range map[string]string{
		"a\x00b":                 "NUL",
		"  ":                     "is empty",
		"file:///etc/passwd":     "is a URL",
		`\\host\share`:           "network or device path",
		`\??\UNC\host`:           "network or device path",
		"/dev/fd/0":              "descriptor",
		"/proc/self/environ":     "belongs to a process",
		"/proc/1/root/etc":       "belongs to a process",
		"/proc/self/../1/fd":     "belongs to a process",
		"~/x":                    "home directory is not known",
		"no/such/dir/f":          "nor does its directory",
		strings.Repeat("a/", 99): "none of its last",
	} {
		b.fails(want, "Read", m{"file_path": path})
	}
	if runtime.GOOS == "linux" {
		if err := os.Symlink("/proc/self/environ", b.path("env")); err != nil {
			t.Fatal(err)
		}
		b.fails("belongs to a process", "Read", m{"file_path": "env"})
		b.ok("Read", m{"file_path": "/proc/cpuinfo"}) // of size 0, as it says
	}
	b.with(func(o *builtin.Options) { o.Home = b.dir })
	b.write("at-home", "x\n")
	b.ok("Read", m{"file_path": "~/at-home"})
}

func TestReadImages(t *testing.T) {
	b := newBench(t)
	png := "\x89PNG\r\n\x1a\n" + strings.Repeat("x", 100)
	b.write("a.png", png)
	b.write("b.dat", "RIFF\x00\x00\x00\x00WEBPVP8 ")
	b.write("c.bmp", "BM\x00\x00\x00\x00")
	b.write("big.jpg", "\xFF\xD8\xFF"+strings.Repeat("x", 5<<20))
	b.fails("cannot be shown", "Read", m{"file_path": "a.png"})
	b.with(func(o *builtin.Options) {
		o.Traits = func(context.Context) llm.Traits { return llm.Traits{Images: true} }
	})
	res := b.result("Read", m{"file_path": "a.png"})
	if blob, ok := res.Parts[0].(llm.Blob); !ok || blob.MIME != "image/png" || !bytes.Equal(blob.Data, []byte(png)) || blob.Name != "a.png" {
		t.Errorf("%v", res.Parts)
	}
	if blob, ok := b.result("Read", m{"file_path": "b.dat"}).Parts[0].(llm.Blob); !ok || blob.MIME != "image/webp" {
		t.Error("a WEBP file is told by how it begins")
	}
	b.fails("binary file", "Read", m{"file_path": "c.bmp"})
	b.fails("more than the 5 MiB", "Read", m{"file_path": "big.jpg"})
}

func TestReadListsDirectories(t *testing.T) {
	b := newBench(t)
	for _, d := range []string{"zdir", "many"} {
		if err := os.Mkdir(b.path(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.write("a", "123")
	b.write("new\nline", "")
	mkfifo(t, b.path("pipe"))
	for link, to := range map[string]string{"good": "a", "bad": "nowhere"} {
		if err := os.Symlink(to, b.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	want := "many/\nzdir/\na (3 bytes)\nbad (broken link)\ngood (link to a)\n\"new\\nline\" (0 bytes)\npipe (a named pipe, not a file)"
	if got := b.ok("Read", m{"file_path": "."}); got != want {
		t.Errorf("%s", got)
	}
	if got := b.ok("Read", m{"file_path": "zdir"}); got != "The directory is empty." {
		t.Errorf("%q", got)
	}
	for i := range 205 {
		b.write(fmt.Sprintf("many/%03d", i), "")
	}
	got := b.ok("Read", m{"file_path": "many"})
	if !strings.HasSuffix(got, "199 (0 bytes)\n[5 more names. Use Glob to find what you need.]") {
		t.Errorf("%s", got)
	}
	c := &tool.Call{Name: "Read", Input: json.RawMessage(`{"file_path":"."}`), Dir: b.dir, Check: func(a tool.Access) error {
		if filepath.Base(a.Target) == "a" {
			return os.ErrPermission
		}
		return nil
	}}
	res, err := tool.Run(t.Context(), b.by["Read"], c)
	if err != nil || strings.Contains(res.Parts.Text(), "3 bytes") || !strings.Contains(res.Parts.Text(), "[1 names hidden") {
		t.Errorf("%v, %v", res, err)
	}
}

// Two entries of access are given for a path through a link, so that a rule
// may be over either.
func TestAccessNamesBothPaths(t *testing.T) {
	b := newBench(t)
	outside := t.TempDir()
	outside, err := filepath.EvalSymlinks(outside)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, b.path("out")); err != nil {
		t.Fatal(err)
	}
	for name, op := range map[string]tool.Op{"Read": tool.Read, "Write": tool.Write, "Edit": tool.Write} {
		in, _ := json.Marshal(m{"file_path": "out/new/f"})
		if name == "Write" {
			in, _ = json.Marshal(m{"file_path": "out/new/f", "content": ""})
		}
		got, err := b.by[name].Spec().Access(t.Context(), &tool.Call{Name: name, Input: in, Dir: b.dir})
		want := []tool.Access{{Op: op, Target: filepath.Join(outside, "new/f")}, {Op: op, Target: b.path("out/new/f")}}
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// A path that has come to lead elsewhere since the decision is refused.
func TestPathThatMovedIsRefused(t *testing.T) {
	b := newBench(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "f"), []byte("secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]m{
		"Read":  {"file_path": "d/f"},
		"Write": {"file_path": "d/f", "content": "x"},
		"Edit":  {"file_path": "d/f", "old_string": "a", "new_string": "b"},
	} {
		if err := os.MkdirAll(b.path("d"), 0o755); err != nil {
			t.Fatal(err)
		}
		b.write("d/f", "a\n")
		b.ok("Read", m{"file_path": "d/f"})
		raw, _ := json.Marshal(in)
		c := &tool.Call{Name: name, Input: raw, Dir: b.dir}
		var err error
		if c.Access, err = b.by[name].Spec().Access(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(b.path("d")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, b.path("d")); err != nil {
			t.Fatal(err)
		}
		if res, err := tool.Run(t.Context(), b.by[name], c); err == nil || !strings.Contains(err.Error(), "not what was decided on") {
			t.Errorf("%s: %v, %v", name, res, err)
		}
		if err := os.Remove(b.path("d")); err != nil {
			t.Fatal(err)
		}
	}
	// And the file system itself follows no link.
	if err := os.Symlink(outside, b.path("l")); err != nil {
		t.Fatal(err)
	}
	fsys := builtin.LocalFS()
	if f, err := fsys.Open(b.path("l/f")); err == nil {
		f.Close()
		t.Error("Open followed a link")
	}
	if err := fsys.WriteFile(b.path("l/f"), []byte("x"), 0o644); err == nil {
		t.Error("WriteFile followed a link")
	}
	if err := fsys.MkdirAll(b.path("l/new/dir"), 0o755); err == nil {
		t.Error("MkdirAll followed a link")
	}
	if got, err := os.ReadFile(filepath.Join(outside, "f")); err != nil || string(got) != "secret\n" {
		t.Errorf("%q, %v", got, err)
	}
}
