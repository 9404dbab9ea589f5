package shell_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/permission/internal/shell"
)

// stubs are the only programs in the world that lines are run in; no succeeds
// at nothing.
var stubs = []string{"aa", "bb", "cc", "no"}

var descriptor = regexp.MustCompile("/dev/fd/[0-9]+")

// A world is a folder with stub programs that write down what they were called
// with, and nothing else on the path.
type world struct {
	bash, dir string
	runs      int
}

func newWorld(t testing.TB) *world {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash on this machine")
	}
	dir := t.TempDir()
	w := &world{bash: bash, dir: dir}
	for _, name := range append([]string{"echo1"}, stubs...) {
		code := "exit 0"
		if name == "no" {
			code = "exit 1"
		}
		text := "#!/bin/sh\nprintf '%s\\000' \"${0##*/}\" \"$@\" >>\"$CANTLE_STUB_LOG.$$\"\nprintf '\\001\\000' >>\"$CANTLE_STUB_LOG.$$\"\n" + code + "\n"
		if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "bin", name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// run gives the calls that bash made of a line, sorted, and whether bash took it
// for a program at all.
func (w *world) run(t testing.TB, line string) (calls [][]string, ok bool) {
	t.Helper()
	// What an earlier line left running must not be taken for this one's.
	w.runs++
	work, log := filepath.Join(w.dir, fmt.Sprint("work", w.runs)), filepath.Join(w.dir, fmt.Sprint("log", w.runs))
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	// The end of all that the line started, process substitutions too, is the end
	// of this pipe.
	ended, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ended.Close() }()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, w.bash, "--norc", "--noprofile", "-p", "-c", line+"\nwait")
	cmd.Env = []string{"PATH=" + filepath.Join(w.dir, "bin"), "HOME=/nowhere", "CANTLE_STUB_LOG=" + log}
	cmd.Dir = work
	cmd.Stderr = &said
	for range 8 { // descriptor 10: the lines use those below
		cmd.ExtraFiles = append(cmd.ExtraFiles, held)
	}
	err = cmd.Start()
	_ = held.Close()
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the status of the last command
	if ctx.Err() != nil {
		t.Fatalf("bash did not end: %q", line)
	}
	_ = ended.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, ended); err != nil {
		t.Fatalf("something that %q started does not end", line)
	}
	out := said.String()
	data := logged(log)
	for call := range strings.SplitSeq(data, "\x01\x00") {
		if call != "" {
			call = descriptor.ReplaceAllString(call, "/dev/fd/N") // which is free varies
			calls = append(calls, strings.Split(strings.TrimSuffix(call, "\x00"), "\x00"))
		}
	}
	slices.SortFunc(calls, slices.Compare)
	return calls, !strings.Contains(out, "syntax error")
}

// logged is what the stubs wrote, each to a file of its own.
func logged(log string) string {
	var b strings.Builder
	files, _ := filepath.Glob(log + ".*")
	for _, f := range files {
		data, _ := os.ReadFile(f)
		_ = os.Remove(f)
		b.Write(data)
	}
	return b.String()
}

// TestAgainstBash runs lines that a grammar makes, with stubs for programs, and
// compares what bash ran with what the analysis says.
func TestAgainstBash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := 200
	if os.Getenv("CANTLE_SOAK") != "" {
		n = 4000
	}
	g := &generator{Rand: rand.New(rand.NewPCG(uint64(n), seed()))}
	sure := 0
	for range n {
		line := g.line()
		// What fails, or ends the shell, leaves things not run.
		all := !slices.ContainsFunc([]string{"${v:?}", "&$v", ">$v", ".none", "exec ", "break", "x=1 ", "readonly", "trap ", ">&-", "coproc "}, func(s string) bool { return strings.Contains(line, s) })
		if checkLine(t, w, line, all) {
			sure++
		}
	}
	if sure < n/3 {
		t.Errorf("only %d of %d lines were understood", sure, n)
	}
	t.Logf("%d lines, %d without doubt", n, sure)
}

// seed makes another corpus of each soak that is told so.
func seed() uint64 {
	n, _ := strconv.ParseUint(os.Getenv("CANTLE_SOAK"), 10, 64)
	return n
}

// TestDifficultLines are the lines on which parsers and shells have parted.
func TestDifficultLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, line := range difficult {
		checkLine(t, w, line, true)
	}
	for _, line := range odd {
		checkLine(t, w, line, false) // some end before all is run
	}
}

// checkLine reports whether the analysis is without doubt. With all, what it
// says is also what bash ran, and not only the other way around.
func checkLine(t *testing.T, w *world, line string, all bool) bool {
	t.Helper()
	a, err := shell.Analyse(line, shell.Options{Dir: "/", Home: "/nowhere"})
	ran, ok := w.run(t, a.Text)
	if err != nil || len(a.Unknown) > 0 {
		// Whatever bash ran is at least known by its name, or is said to be computed.
		computed := slices.ContainsFunc(a.Unknown, func(r shell.Reason) bool { return r.Kind == shell.Computed })
		for _, call := range ran {
			if !computed && !slices.ContainsFunc(a.Commands, func(c shell.Command) bool { return c.Name() == call[0] }) {
				t.Errorf("%q: bash ran %q, which the analysis did not see\n%s", line, call, describe(a))
			}
		}
		return false
	}
	original := ran
	for i := 0; a.Text != line && i < 3; i++ { // a broken pipe may end some of it, by chance
		if original, _ = w.run(t, line); slices.EqualFunc(ran, original, slices.Equal) {
			break
		}
		ran, _ = w.run(t, a.Text)
	}
	if !slices.EqualFunc(ran, original, slices.Equal) {
		t.Errorf("%q\n ran  %q\n but %q\n ran  %q", line, original, a.Text, ran)
	}
	for _, call := range ran {
		if !slices.ContainsFunc(a.Commands, func(c shell.Command) bool { return !c.Doubt && fits(c.Words, call) }) {
			t.Errorf("%q: bash ran %q, which is none of\n%s", line, call, describe(a))
		}
	}
	if !ok {
		t.Errorf("%q: bash refused what the parser took: %q", line, a.Text)
	}
	for _, c := range a.Commands {
		if !all || c.Doubt || c.Place&(shell.InCondition|shell.InFunction) != 0 || !slices.Contains(stubs, c.Name()) || strings.Contains(line, "exit") {
			continue
		}
		if !slices.ContainsFunc(ran, func(call []string) bool { return fits(c.Words, call) }) {
			t.Errorf("%q: bash did not run %s, but %q", line, c.String(), ran)
		}
	}
	return true
}

// fits reports whether a call can be what the words say.
func fits(words []shell.Word, call []string) bool {
	if len(words) == 0 {
		return len(call) == 0
	}
	w := words[0]
	if w.Many {
		for n := 0; n <= len(call); n++ {
			if fits(words[1:], call[n:]) {
				return true
			}
		}
		return false
	}
	if len(call) == 0 {
		return false
	}
	text := w.Text
	if w.Glob { // names of no file, so that it stays as it is
		text = unescape(text)
	}
	if w.Known && text != call[0] || !w.Known && !strings.HasPrefix(call[0], w.Prefix) {
		return false
	}
	return fits(words[1:], call[1:])
}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// generator makes command lines in which only stubs run.
type generator struct {
	*rand.Rand
	depth int
	docs  []string // here-documents that are due at the end of the line
}

func (g *generator) line() string {
	g.depth, g.docs = 0, nil
	s := g.list()
	if g.IntN(6) == 0 {
		s += " # c; aa 'x"
	}
	return s + g.due()
}

// due are the bodies of the here-documents so far.
func (g *generator) due() string {
	s := ""
	for _, d := range g.docs {
		s += "\n" + d
	}
	g.docs = nil
	return s
}

func (g *generator) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g *generator) list() string {
	var b strings.Builder
	for i := range 1 + g.IntN(3) {
		if i > 0 {
			sep := g.pick(" && ", " || ", "; ", " | ", " |& ", "&", "\n", "&&", " &&\n", ";\n")
			if strings.Contains(sep, "\n") {
				sep = sep[:strings.IndexByte(sep, '\n')] + g.due() + "\n"
			}
			b.WriteString(sep)
		}
		b.WriteString(g.command())
	}
	return b.String()
}

func (g *generator) command() string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 3 || g.IntN(3) > 0 {
		return g.simple()
	}
	in := func() string { s := g.list(); return s + g.due() }
	switch g.IntN(22) {
	case 12:
		return "case " + g.word() + " in (a|x*) " + in() + "\n;& [b-d]?) " + in() + "\n;;& *) " + in() + "\nesac"
	case 13:
		return "coproc " + g.pick("", "n ") + "{ " + in() + "\n}"
	case 14:
		return "trap " + g.pick("", "-- ") + "'" + g.pick("aa x", "bb; cc y", "no || aa") + "' EXIT"
	case 15:
		i := fmt.Sprintf("i%d", g.depth)
		return "for ((" + i + "=0; " + i + "<" + g.pick("0", "1", "2") + "; " + i + "++)); do " + in() + "\ndone"
	case 16:
		return "{ " + in() + "\n} " + g.pick("2>&1", ">.o 2>&1", "&>>.o", "3>.o", "< /dev/null", ">| .o") + g.due()
	case 17:
		return g.pick("command -- ", "builtin command ", "eval -- ", "command eval ", "time -p ", "! time ", "exec ", "builtin eval ") + g.pick("aa x", "bb 'y z'", "cc \"$v\" k")
	case 18:
		return g.pick("[ ", "test ") + g.pick("-n x", "a = b", "! -f .o", "$? -eq 0", "\"$v\" = x", "-z \"$v\" -o a = b", "$v = x", "-v v", "-v 'v[$(aa)]'", "x -a \"$(bb)\"")
	case 19:
		return g.pick("read v", "read -r v w", "IFS= read -r v", "mapfile -t v", "printf -v v x", "declare v="+g.word(), "export v="+g.word(), "local v=1", "readonly q="+g.word(), "v+=("+g.word()+")", "unset v", "let v=1", "((v=1))", "getopts a v", "read 'v[$(aa)]'", "typeset -i v=3") + " <<<" + g.word()
	case 20:
		return "select v in " + g.word() + "; do " + in() + "\nbreak; done <<<1"
	case 21:
		return "f" + g.pick("() ", " () ") + g.pick("{ ", "( ") + g.simple() + g.due() + "\n" + "} )"[:1] + "; f"
	case 0:
		return "(" + in() + "\n)"
	case 1:
		return "{ " + in() + "\n}"
	case 2:
		return "if " + in() + "\nthen " + in() + "\nelse " + in() + "\nfi"
	case 3:
		return "for i in " + g.word() + g.due() + "\ndo " + in() + "\ndone"
	case 4:
		return "while no; do " + in() + "\ndone"
	case 5:
		return "case " + g.word() + " in x" + g.pick("", "|y") + ") " + in() + "\n;; *) " + in() + "\n;; esac"
	case 6:
		return "! " + g.simple()
	case 7:
		return "time " + g.simple()
	case 8:
		return "{ " + in() + "\n} " + g.redirect()
	case 9:
		return "command " + g.simple()
	case 10:
		return "eval '" + strings.ReplaceAll(g.pick("aa x", "aa; bb \"y z\"", "aa $(bb)", "no || cc"), "'", `'\''`) + "'"
	case 11:
		return "[[ " + g.pick("a == b", "-n $(cc x)", "$(bb) != x && y > x", "! -e .o") + " ]]"
	default:
		return "until aa; do " + in() + "\ndone"
	}
}

func (g *generator) simple() string {
	var b strings.Builder
	if g.IntN(8) == 0 {
		b.WriteString("v=" + g.word() + " ")
	}
	if g.IntN(10) == 0 {
		b.WriteString(g.redirect() + " ")
	}
	b.WriteString(g.pick("aa", "bb", "cc", "no", `a\a`, `'bb'`, `"c"c`, `$'\x61a'`))
	for range g.IntN(4) {
		b.WriteString(g.pick(" ", " ", "\t", "  ", " \\\n"))
		b.WriteString(g.word())
	}
	if g.IntN(5) == 0 {
		b.WriteString(" " + g.redirect())
	}
	return b.String()
}

func (g *generator) redirect() string {
	switch g.IntN(14) {
	case 8:
		return g.pick("2>&1", ">&2", "3>&1", "<&0", "2>&-", ">&-", "1>&2-")
	case 9:
		return g.pick("&>>.o", ">& .o", ">|.o", "<>.o", "3<>.o", "2>.o", "2>>.o", "{fd}>.o")
	case 10:
		return g.pick("< <(", "> >(", "2> >(") + g.simple() + g.due() + ")"
	case 11:
		return g.pick("</dev/null", ">/dev/stderr", "2>/dev/null", "<&$v", ">&$v", ">$v", "<.none")
	case 12:
		g.docs = append(g.docs, g.pick("${v:-$(aa)}\n", "${v:-'$(aa)'}\n", "$((1+$(aa)1))\n", "\\`aa\\`\n", "\"$(aa 'x')\"\n", "a\\\nE\n", "$v\\$(aa)\n")+"E")
		return "<< E"
	case 0:
		return ">.o"
	case 1:
		return "2>&1"
	case 2:
		return ">> .o"
	case 3:
		return "&>.o"
	case 4:
		return "<<<" + g.word()
	case 5:
		return ">/dev/null"
	case 6:
		g.docs = append(g.docs, g.pick("", "x\n", "a $(aa d)\n", "a 'b \"c\n", "`cc`\n", "\\$(aa)\n")+"E")
		return "<<E"
	case 7:
		g.docs = append(g.docs, g.pick("", "x\n", "a $(aa d)\n", "a 'b \"c\n", "`cc`\n", "a \\\n", "Ex\n", "E x ) ; cc #\n", " E\n")+"E")
		return g.pick("<<'E'", "<<\\E", `<<"E"`)
	default:
		g.docs = append(g.docs, g.pick("", "\tx\n", "\t$(aa)\n")+"\tE")
		return "<<-E"
	}
}

func (g *generator) word() string {
	s := ""
	for range 1 + g.IntN(3) {
		s += g.part()
	}
	return s
}

func (g *generator) part() string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 4 {
		return g.pick("x", "y z"[:1], "1", "-k")
	}
	switch g.IntN(34) {
	case 15:
		return g.pick("\"${v:-'x'}\"", "\"${v:-'$(aa)'}\"", "\"${v:-\"$(aa)\"}\"", "\"${v:-\\$(aa)}\"", "${v:-'$(aa)'}", "${v:-\"$(aa x)\"}", "\"${v#'$(aa)'}\"", "${v:+x y}", "${v-$'a\\tb'}")
	case 16:
		return g.pick("${v/a/$(aa)}", "${v//$(bb)/x}", "${v^^}", "${v,}", "${v@Q}", "${v@P}", "${!v}", "${!v*}", "${v:1}", "${v:$(aa)0:1}", "${v[0]}", "${v[$(aa)0]}", "${#v[@]}", "${v:=$(aa)}", "${v:?}", "${v+$(bb)}")
	case 17:
		return g.pick("$[1+1]", "$((a[$(aa)0]))", "$((v))", "$(( $(aa) + 1 ))", "$((1?2:3))", "$((0x1f))", "$(((1)+2))", "$( (aa) )", "$( { aa; } )", "$(aa;bb)", "$(aa|bb)", "$(<.o)")
	case 18:
		return g.pick("$\"a\"", "$\"a $(aa)\"", "$'\\u41'", "$'\\x4'", "$'a\\0b'", "$'\\''", "$''", "''\"\"", "\"'\"", "'\"'")
	case 19:
		return g.pick("{a,b}{c,d}", "{,x}", "{a,$(aa)}", "{a,'{b,c}'}", "a{1..3}b", "{a..e..2}", "{-1..1}", "{a,b", "a,b}", "{a\\,b}", "{\"a,b\",c}", "{}{}", "{a}{b,c}", "${v}{a,b}", "{~,x}")
	case 20:
		return g.pick("`bb \"x y\"`", "`bb \\`cc\\``", "\"`aa 'q'`\"", "`aa # c`", "`aa\n`", "`bb \\$v`")
	case 21:
		return g.pick("\\\n", "a\\\nb", "\"a\\\nb\"", "'a\\\nb'", "\\\\", "x\\")
	case 0:
		return "'" + g.pick("a b", "$(aa)", "x;y", "#", "\\", "\n", "`bb`", "") + "'"
	case 1:
		return `"` + g.pick("a b", "x;y", "#", `\"`, `\\`, `\$x`, "\n", "'", "") + `"`
	case 2:
		return "$'" + g.pick(`a\tb`, `\'`, `\x41`, `\101`, `\\`, `\n`, `\q`) + "'"
	case 3:
		return `\` + g.pick(" ", ";", "&", "$", "'", `"`, `\`, "*", "a", "#")
	case 4:
		return "{" + g.pick("a,b", "1..3", "a,b,c", "x,", ",", "a", "", "a,'b c'", "1..3..2", "c..a", "a,{b,c}") + "}"
	case 5:
		return "$(" + g.simple() + g.due() + g.pick("", "\n") + ")"
	case 6:
		return `"$(` + g.simple() + g.due() + `)"`
	case 7:
		return "`" + g.pick("aa", "bb x", "cc 'a b'", "no; aa") + "`"
	case 8:
		return "<(" + g.simple() + g.due() + ")"
	case 9:
		return g.pick("$v", `"$v"`, "${v}", "${v:-x}", `"${v:-a b}"`, "$?", "$#", "${#v}", "${v#x}", "${v%%y*}")
	case 10:
		return g.pick("$((1+2))", "$(( 3 ))", "$((1+$(aa)0))")
	case 11:
		return g.pick("*", "?x", "[ab]", "*.q")
	case 12:
		return g.pick("~", "~/x", "a=~", "a=~:~/b")
	case 13:
		return g.pick("=", "a=b", "--k=v", "@", "%", "^", "+", ":", "!", "x#y", "{", "}")
	case 14:
		return "${v:-$(" + g.simple() + g.due() + ")}"
	default:
		return g.pick("x", "yy", "1", "-k", "a.b", "a/b", fmt.Sprint(g.IntN(100)))
	}
}
