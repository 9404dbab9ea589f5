package shell_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/permission/internal/shell"
)

// hard are texts that are costly to parsers, by their size in bytes.
var hard = map[string]func(n int) string{
	"substitutions": func(n int) string { return strings.Repeat("$(", n/4) + "a" + strings.Repeat(")", n/4) },
	"parentheses":   func(n int) string { return strings.Repeat("(", n/2) + "a" + strings.Repeat(")", n/2) },
	"open":          func(n int) string { return strings.Repeat("(", n) },
	"arithmetic": func(n int) string {
		return "echo $((" + strings.Repeat("(", n/2) + "1" + strings.Repeat(")", n/2) + "))"
	},
	"sum":    func(n int) string { return "echo $((" + strings.Repeat("1+", n/2) + "1))" },
	"braces": func(n int) string { return "echo " + strings.Repeat("{a,b}", n/5) },
	"braces 30": func(n int) string {
		return "echo " + strings.Repeat("{a,b}", 30) + strings.Repeat(" {a,b}{c,d}{e,f}{g,h}", n/21)
	},
	"nested braces":  func(n int) string { return "echo " + strings.Repeat("{a,", n/4) + strings.Repeat("}", n/4) },
	"commands":       func(n int) string { return strings.Repeat("a;", n/2) },
	"pipes":          func(n int) string { return strings.Repeat("a|", n/2) + "a" },
	"conditions":     func(n int) string { return strings.Repeat("a&&", n/3) + "a" },
	"words":          func(n int) string { return "echo" + strings.Repeat(" a", n/2) },
	"variables":      func(n int) string { return "echo " + strings.Repeat("$a", n/2) },
	"quotes":         func(n int) string { return "echo " + strings.Repeat(`'a'"$b"`, n/7) },
	"word":           func(n int) string { return "echo " + strings.Repeat("a", n) },
	"documents":      func(n int) string { return strings.Repeat("a <<E\nE\n", n/8) },
	"one document":   func(n int) string { return "a <<E\n" + strings.Repeat("b $c\n", n/5) + "E" },
	"documents in a": func(n int) string { return "a" + strings.Repeat(" <<E", n/8) + "\n" + strings.Repeat("E\n", n/8) },
	"lines":          func(n int) string { return "a <<'E'\n" + strings.Repeat("b\\\n", n/3) + "E" },
	"continuations":  func(n int) string { return "a" + strings.Repeat(" \\\n", n/3) },
	"backquotes":     func(n int) string { return "echo " + strings.Repeat("`a`", n/3) },
	"globs":          func(n int) string { return "ls " + strings.Repeat("*", n) },
	"tildes":         func(n int) string { return "ls a=" + strings.Repeat("~:", n/2) },
	"assignments":    func(n int) string { return strings.Repeat("a=b ", n/4) + "c" },
	"redirects":      func(n int) string { return "a" + strings.Repeat(" >b", n/3) },
	"wrappers":       func(n int) string { return strings.Repeat("sudo ", n/5) + "rm x" },
	"opaque":         func(n int) string { return "firejail" + strings.Repeat(" a", n/2) },
	"shells":         func(n int) string { return strings.Repeat("echo a | sh; ", n/13) },
	"hints":          func(n int) string { return "python3 -c '" + strings.Repeat("system(a);", n/10) + "'" },
	"awk":            func(n int) string { return "awk '" + strings.Repeat("/a/{print|b}", n/12) + "'" },
	"sed":            func(n int) string { return "sed '" + strings.Repeat("s/[a/b]/c/;", n/11) + "'" },
	"cd":             func(n int) string { return strings.Repeat("cd a;", n/5) },
	"cd or not":      func(n int) string { return strings.Repeat("cd a&&", n/6) + "b" },
	"computed":       func(n int) string { return strings.Repeat("$a b;", n/5) },
	"functions":      func(n int) string { return strings.Repeat("a(){ b;};", n/9) },
	"cases":          func(n int) string { return "case a in " + strings.Repeat("a) b;;", n/6) + "esac" },
	"ifs":            func(n int) string { return strings.Repeat("if a;then ", n/14) + "b" + strings.Repeat(";fi", n/14) },
	"comments":       func(n int) string { return strings.Repeat("a #b\n", n/5) },
	"blanks":         func(n int) string { return "a" + strings.Repeat(" ", n) + "b" },
	"alike":          func(n int) string { return "a " + strings.Repeat("\u00a0", n/2) },
	"tests":          func(n int) string { return "[ " + strings.Repeat(`"$a" = b -a `, n/12) + "c ]" },
	"alternatives":   func(n int) string { return "[[ " + strings.Repeat("a ||", n/4) + " b ]]" },
	"expansions":     func(n int) string { return "echo " + strings.Repeat("${a:-", n/7) + strings.Repeat("}", n/7) },
	"quoted":         func(n int) string { return "echo " + strings.Repeat(`"${a:-`, n/9) + strings.Repeat(`}"`, n/9) },
	"arrays":         func(n int) string { return "a=(" + strings.Repeat("b ", n/2) + ")" },
	"texts":          func(n int) string { return strings.Repeat("bash -c 'a b';", n/14) },
}

// TestWork holds that the work of an analysis grows with its text and is bounded,
// by what it allocates: twice the text is not much more than twice the work, and
// what is over the limits costs no more than what is within.
func TestWork(t *testing.T) {
	for name, make := range hard {
		t.Run(name, func(t *testing.T) {
			size := 8 << 10
			one, two, over := work(make(size)), work(make(2*size)), work(make(120<<10))
			if two > 3*one+1<<20 {
				t.Errorf("%d bytes take %d KiB, and %d take %d KiB", size, one>>10, 2*size, two>>10)
			}
			if most := uint64(160 << 20); over > most {
				t.Errorf("120 KiB take %d MiB", over>>20)
			}
		})
	}
}

// work is how many bytes an analysis allocates, in all.
func work(line string) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _ = shell.Analyse(line, shell.Options{Dir: "/w", Home: "/home/u"})
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// BenchmarkHard is the time that the hardest texts take, at the largest size
// that is parsed and over it.
func BenchmarkHard(b *testing.B) {
	for name, make := range hard {
		for _, size := range []int{60 << 10, 120 << 10} {
			line := make(size)
			b.Run(name, func(b *testing.B) {
				b.SetBytes(int64(len(line)))
				for b.Loop() {
					_, _ = shell.Analyse(line, shell.Options{Dir: "/w", Home: "/home/u"})
				}
			})
		}
	}
}
