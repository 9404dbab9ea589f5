package shell_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/permission/internal/shell"
)

// sees reports whether a command of a name was found, in doubt or not.
func sees(a *shell.Analysis, name string) bool {
	for _, c := range a.Commands {
		if c.Name() == name {
			return true
		}
	}
	return false
}

// Whatever is too large or not parsable is an error, and still shows each
// command to a deny rule.
func TestLimits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		line string
		err  error
	}{
		"bytes":        {strings.Repeat("true;", 20000) + "rm x", shell.ErrLimit},
		"commands":     {strings.Repeat("true;", 5000) + "rm x", shell.ErrLimit},
		"subshells":    {strings.Repeat("(", 3000) + "rm x" + strings.Repeat(")", 3000), shell.ErrLimit},
		"substitution": {strings.Repeat("echo $(", 3000) + "rm x" + strings.Repeat(")", 3000), shell.ErrLimit},
		"wrappers":     {strings.Repeat("sudo ", 3000) + "rm x", shell.ErrLimit},
		"texts":        {strings.Repeat("eval ", 3000) + "rm x", shell.ErrLimit},
		"ifs":          {strings.Repeat("if ", 3000) + "rm x", shell.ErrLimit},
		"not parsable": {"git log &&& rm x", shell.ErrParse},
		"a quote":      {"echo \"; rm x", shell.ErrParse},
		"ansi":         {"echo ) $'\\x72m' x; $'rm' x", shell.ErrParse},
		"braces":       {strings.Repeat("{a,", 20000) + "; rm x", shell.ErrLimit},
		"many braces":  {"echo " + strings.Repeat("{a,b}", 10000) + "; rm x", nil},
		"quotes":       {"echo " + strings.Repeat("'a'\"b\"", 6000) + "; rm x", nil},
		"words":        {"echo " + strings.Repeat("a ", 30000) + "; rm x", nil},
		"pipes":        {strings.Repeat("a|", 900) + "rm x", nil},
		"suffixes":     {"firejail " + strings.Repeat("sudo ", 5000) + "rm x", shell.ErrLimit},
		"variables":    {"echo " + strings.Repeat("$a", 20000) + "; rm x", nil},
		"documents":    {strings.Repeat("cat <<E\nE\n", 900) + "rm x", nil},
		"blanks":       {"echo " + strings.Repeat("\u00a0", 9000) + "'" + strings.Repeat("\u00a0", 9000) + "'; rm x", nil},
		"huge":         {"rm x; " + strings.Repeat("a;", 4<<20), shell.ErrLimit},
		"sums":         {"echo $((" + strings.Repeat("1+", 20000) + "1)); rm x", shell.ErrLimit},
		"a text":       {"bash -c '" + strings.Repeat("a|", 20000) + "rm x'", shell.ErrLimit},
		"signs":        {"echo $((" + strings.Repeat("-", 30000) + "1)); rm x", shell.ErrLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			a, err := shell.Analyse(tt.line, shell.Options{})
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("took %v", d)
			}
			if !errors.Is(err, tt.err) {
				t.Errorf("%v, want %v", err, tt.err)
			}
			if !sees(a, "rm") {
				t.Error("rm is not seen")
			}
			if err != nil && (len(a.Unknown) == 0 || a.Text != tt.line) {
				t.Errorf("with an error, %d reasons", len(a.Unknown))
			}
		})
	}
}

// Deny rules find a program however it is dressed.
func TestSeesThrough(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`\rm x`, `r\m x`, `"rm" x`, `r''m x`, `$'rm' x`, `$'\x72\155' x`, `/bin/rm x`, `./rm x`, `{rm,-rf,x}`, `X=1 rm x`, `rm$IFS-rf$IFS/`, "r\\\nm x",
		`sudo -Z nice rm x`, `env -i bash -lc 'nohup rm x'`, `sh -c '"$@"' _ rm x`, `xargs --odd rm x`, `find . -exec sh -c 'rm x' \;`, `echo $(echo $(rm x))`,
		"echo `rm x`", "cat <<E\n$(rm x)\nE", "echo ${x:-$(rm x)}", "echo $(($(rm x)))", "[[ $(rm x) ]]", "f() { rm x; }", "trap 'rm x' EXIT", "a=$(rm x)", "a=(1 $(rm x))", "a[$(rm x)]=1",
		"for i in $(rm x); do :; done", "case $(rm x) in a) ;; esac", "case a in $(rm x)) ;; esac", "coproc rm x", "ls <(rm x)", "ls >$(rm x)", "select i in a; do rm x; done", "until rm x; do :; done", "export a=$(rm x)",
		"let a=$(rm x)", "for ((i=$(rm x);;)); do :; done", "echo \"${a[$(rm x)]}\"", "ls <<<$(rm x)", "docker exec c rm x", "kubectl exec p -- rm x", "firejail rm x", "parallel rm ::: x", "timeout $n rm x", "$x rm x",
		"git status # \\\nrm x", "git status \\\r\nrm x", "git\rstatus;rm\rx", "echo \"$\\\n(rm x)\"", "cat <\\\n<E\n$(rm x)\nE", "ls &\\\n& rm x", "! ! rm x", "bash <<E\nrm x\nE", "bash -c \"$(rm x)\"", "bash -c \"$y; rm x\"",
	} {
		a, _ := shell.Analyse(line, shell.Options{Dir: "/w", Home: "/home/u"})
		if !sees(a, "rm") {
			t.Errorf("%q: rm is not seen:\n%s", line, describe(a))
		}
	}
}

func ExampleAnalyse() {
	a, err := shell.Analyse("cd sub && git log | tee out.txt", shell.Options{Dir: "/w", Home: "/home/u"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range a.Commands {
		fmt.Printf("%s, read-only: %v\n", c.String(), c.ReadOnly)
		for _, ac := range c.Accesses {
			fmt.Println(" ", ac.Op, ac.Target)
		}
	}
	// Output:
	// cd sub, read-only: true
	//   read /w/sub
	// git log, read-only: true
	// tee out.txt, read-only: false
	//   write /w/sub/out.txt
}

func BenchmarkAnalyse(b *testing.B) {
	for b.Loop() {
		if _, err := shell.Analyse("cd sub && git log --oneline -5 | head -3 && grep -rn 'x y' src > out.txt", shell.Options{Dir: "/w", Home: "/home/u"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAnalyse64KiB(b *testing.B) {
	line := "echo " + strings.Repeat("\"a $b\" 'c' ", 5500)
	for b.Loop() {
		if _, err := shell.Analyse(line, shell.Options{Dir: "/w", Home: "/home/u"}); err != nil {
			b.Fatal(err)
		}
	}
}
