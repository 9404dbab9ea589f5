package shell_test

// difficult are the lines on which parsers and shells have parted.
var difficult = []string{
	"aa 000<()",
	"aa x<( )y",
	"aa <(#c\n)",
	"aa # n \\\nbb x", "# h \\\naa", "aa \\\r\nbb x", "aa a\\\r\nbb x", "aa \"$\\\n(bb x)\"", "aa <<E\n$\\\n(bb x)\nE", "aa '$\\\n(bb x)'",
	"aa <<E\nx\\\nE\nbb x\nE", "aa <\\\n<E\n$(bb)\nE", "a\\\na x", "aa {a,b}{1..3}", "aa {a,b", "aa {a}", "aa {}", "aa a{,b}c", "aa {a,b}}", "aa {{a,b},c}",
	"aa {01..3}", "aa {a..c}", "aa {3..1}", "aa '{a,b}'", "aa {'a,b',c}", "aa {a\\,b,c}", "aa $'\\x41\\n\\'' $'a\\0b'", "aa \"a\\\"b\\$c\\d\"",
	"aa a\\ b \\a", "aa ''", "aa $x", "aa \"$x\"", "aa ${x:-d}", "aa ~ ~/x a=~ a:~ x~", "aa --f=~/x", "aa of=~/x:~/y", "aa `bb`", "aa `bb \\`cc\\``", "aa \"`bb \\\"q\\\"`\"",
	"aa $(bb)$(cc)", "aa <(bb) >(cc)", "aa <<<\"$(bb)\"", "aa <<'E'\n$(bb)\nE", "aa <<E\n`bb`\nE", "aa <<\\E\n$(bb)\nE", "aa <<-E\n\t$(bb)\n\tE\ncc",
	"aa $((1+$(bb)1))", "aa $[1+1]", "((1)) && aa", "[[ x == $(bb) ]] || aa", "case $(aa) in b) bb;; *) cc;; esac", "f() { aa; }; f; bb", "! aa && bb || cc",
	"aa | bb |& cc", "aa & bb & cc", "{ aa; bb; } > o; cc", "(aa; bb) 2>&1", "for i in x y; do aa $i; done", "while no; do aa; done; bb", "until aa; do bb; done",
	"if no; then aa; elif bb; then cc; else aa; fi", "time aa", "command aa x", "eval 'aa x; bb'", "eval aa '$(bb)'", "trap 'aa x' EXIT; bb", "x=1 aa $x", "x=$(aa) bb",
	"aa !(bb)", "aa @(x|y)", "aa [x] *.no ?", "aa \\*", "aa '*'*", "aa \"$(bb \"$(cc \"x y\")\")\"", "aa $(bb <<E\nx\nE\n)", "aa;bb;;cc", "aa &&\n# c\nbb", "aa \\\n  x \\\n  y",
	"aa $'a' $\"b\"", "aa x#y #z", "aa \"#x\"", "aa {a,$(bb)}", "aa ${x-$(bb)}", "aa ${x#$(bb)}", "aa ${x/a/$(bb)}", "aa \"${x:-\"$(bb 'q')\"}\"", "coproc aa; wait", "coproc N { aa; }; wait",
	"aa\t\tx\ty", "aa\u00a0x", "aa\u2028bb", "aa 'é' \"ü\"", "aa $((`bb`1))", "no || { aa; exit; }; bb", "select i in x; do aa; done <<<1", "a=(1 $(aa)); bb", "x[$(aa)]=1; bb",
	"aa >o 2>p <<<x", "aa {fd}>o x", "aa 3>&1 4>&- x", "&>o aa", ">o aa x", "aa>o", "aa 2>o", "aa2>o", "aa \\2>o", "aa '2'>o", "aa x\\\ny", "aa \"x\\\ny\"", "aa 'x\\\ny'",
	"aa <<E;bb\n$(cc)\nE", "aa <<E&[[ a ]]\nbb $(cc)\nE\ncc", "aa <<E && ((1))\nbb\nE\ncc", "aa <<E; x=(1\n2)\nbb\nE\nE", "aa <<E 'x\ny'\nbb\nE\ncc", "aa <<E; [[ a &&\nb ]]\nbb\nE\nE",
	"aa <<E; case x in\nx) bb ;;\nE\nx) cc;; esac", "aa <<''\nbb\n\ncc", "aa <<-'E'\n\t\tx\n\tE\ncc", "if aa <<E; then\nbb\nE\ncc; fi", "f() { aa; } <<E; bb\n$(cc)\nE", "aa <<E\nE", "aa <<E\n\\E\nE", "aa <<A <<B\n$(bb)\nA\n$(cc)\nB", "aa $(cat <<'E'\n)\nE\n)", "{ aa; }&{ bb; }", "aa $(# c )\nbb\n)", "aa $(case x in x) bb;; esac)", "[[ a =~ (b|c) ]] || aa", "aa {a,b}'c'{d,e}",
	"aa $'\\u0041' $'\\e'", "aa {~,b} {a=~,b}", "aa a$'\\n'b", "aa \"$'x'\"", "aa {x,y}=~", "aa ${#x} ${x:0:1}", "aa \"${x[@]}\" $@ $*", "let 'x=1'; aa", "declare x=1; aa", "export X=$(aa); bb", "readonly r=1 $(aa)",
}
