package permission_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/permission"
)

// Lines that try to have bash read a file that is denied. Whether they do is not
// said here: those that are allowed are run.
var leaks = []string{
	// Patterns, as options of the shell change them.
	"shopt -s dotglob; cat *", "shopt -s dotglob nullglob\ncat *", "shopt -s globstar; cat **/*.txt", "shopt -s globstar; cat ./**", "shopt -s extglob; cat safe/@(key).txt",
	"shopt -s extglob\ncat @(safe|x)/key.txt", "shopt -s extglob\ncat !(open)/key.txt", "shopt -s nocaseglob; cat SAFE/KEY.T*", "shopt -s nocaseglob; cat OPEN/HARD*", "GLOBIGNORE=x; cat *",
	"GLOBIGNORE=x cat .*", "set +f; cat .h*/*", "bash -O dotglob -c 'cat *'", "bash -O extglob -c 'cat @(safe)/key.txt'", "BASHOPTS=dotglob bash -c 'cat *'", "cat s[[:alpha:]]fe/key.txt",
	"cat [[:lower:]]*/k*", "cat saf[[=e=]]/key.txt", "cat saf[d-f]/key.txt", "cat saf[!a]/key.txt", "cat saf[^a]/key.txt", "cat .hidden", "cat .h[[:alnum:]]dden", "cat .h?dden", "cat .[!.]*",
	"cat .[^.]*", "cat */*.txt", "cat ?afe/?ey.txt", `cat s\afe/k[e]y.txt`, `cat "s"*/key.txt`, "cat [s]afe/key.txt", "cat safe/[]k]ey.txt", "cat safe/[[.k.]]ey.txt", "cat safe/[k/]ey.txt",
	"cat {safe,x}/key.txt", "cat s{a..a}fe/key.txt", "cat saf{e,}/ke{x,y}.txt", "cat safe/key.{md,txt}", "cat {open/a,safe/key}.txt", "cat sa{f,}{e,}/key.txt", "cat $(printf %s safe/key.txt)",
	// Tildes and variables.
	"cat ~+/safe/key.txt", "cd open; cat ~-/safe/key.txt", "cd open && cat $OLDPWD/safe/key.txt", "cat $PWD/safe/key.txt", "cat ${PWD}/safe/key.txt", "cat ${PWD%x}/safe/key.txt",
	"pushd open >/dev/null; cat ~1/safe/key.txt", "HOME=$PWD/safe; cat ~/key.txt", "HOME=safe; cd; cat key.txt", "CDPATH=. cd safe; cat key.txt", "CDPATH=sub/up:.. ; cd key 2>/dev/null; cat key.txt",
	"set -- safe/key.txt; cat $1", "set -- safe/key.txt; cat \"$@\"", "a=safe; cat $a/key.txt", "a=(safe/key.txt); cat ${a[0]}", "a=xafe; cat ${a/x/s}/key.txt", "cat ${x:-safe/key.txt}", "cat ${x-safe/key.txt}",
	"cat ${PWD:0:0}safe/key.txt", "for f in safe/key.txt; do cat $f; done", "for f in */; do cat $f/key.txt; done", "for d in s*; do (cd $d; cat *); done", "read f <<< safe/key.txt; cat $f",
	"printf -v f %s safe/key.txt; cat $f", "IFS=: read a b <<< x:safe/key.txt; cat $b", "mapfile -t f <<< safe/key.txt; cat $f", "declare f=safe/key.txt; cat $f", "f=s; f+=afe; cat $f/key.txt",
	"declare -n r=f; f=safe/key.txt; cat $r", "select f in safe/key.txt; do cat $f; break; done <<< 1", "while read f; do cat $f; done <<< safe/key.txt", "getopts a: o -a safe/key.txt; cat $OPTARG",
	// Redirections and descriptors.
	"exec 3<safe/key.txt; cat <&3", "exec {fd}<safe/key.txt; cat <&$fd", "cat 3<safe/key.txt <&3", "cat /dev/fd/3 3<safe/key.txt", "cat <(cat safe/key.txt)", "cat < <(cat safe/key.txt)", "{ cat; } < safe/key.txt",
	"(cat) <safe/key.txt", "while read l; do echo $l; done < safe/key.txt", "echo \"$(<safe/key.txt)\"", "echo `<safe/key.txt`", "mapfile -t a < safe/key.txt; echo ${a[@]}", "read a < safe/key.txt; echo $a",
	"f() { cat; }; f < safe/key.txt", "if true; then cat; fi < safe/key.txt", "case x in x) cat;; esac < safe/key.txt", "cat <>safe/key.txt", "cat 0<safe/key.txt", "coproc cat safe/key.txt; cat <&${COPROC[0]}",
	"< safe/key.txt tee", "cat <<EOF\n$(cat safe/key.txt)\nEOF", "cat <<<\"$(cat safe/key.txt)\"", "source safe/key.txt", ". safe/key.txt 2>&1", "bash safe/key.txt", "bash -x safe/key.txt", "bash < safe/key.txt",
	"bash -v < safe/key.txt", "history -r safe/key.txt; history", "bind -f safe/key.txt", "fc -l", "exec cat safe/key.txt", "trap 'cat safe/key.txt' EXIT", "eval 'cat safe/key.txt'", "command -p cat safe/key.txt",
	// Folders.
	"cd safe; cat key.txt", "cd safe && head *", "cd dir && cat key.txt", "cd -P dir && cat key.txt", "cd sub/up && cat key.txt", "cd sub/up/.. && cat safe/key.txt", "cd -P sub/up/.. && cat safe/key.txt",
	"cd sub/deep/here && cat safe/key.txt", "(cd safe); cat key.txt", "cd open; cd ..; cat safe/key.txt", "cd open; cd -; cat safe/key.txt", "cd open || cd safe; cat key.txt", "cd nowhere || cd safe; cat key.txt",
	"pushd safe; cat key.txt", "pushd open; pushd ../safe; popd; cat ../safe/key.txt", "cd safe/../safe; cat key.txt", "cd $(echo safe); cat key.txt", "cd s*; cat key.txt", "cd [s]afe; cat key.txt", "env -C safe cat key.txt",
	"find . -execdir cat {} +", "find . -name key.txt -exec cat {} \\;", "find . -name 'k*' | xargs cat", "find safe", "find -L . -type f -exec cat {} +", "find . -type f -print0 | xargs -0 cat", "ls safe", "ls -R .", "xargs cat <<< safe/key.txt",
	"echo safe/key.txt | xargs cat", "xargs -a safe/key.txt echo", "xargs -asafe/key.txt echo", "xargs --arg-file=safe/key.txt", "make -f safe/key.txt", "make -fsafe/key.txt 2>&1", "make -C safe -f key.txt 2>&1", "make --file=safe/key.txt 2>&1",
	// Readers, and what they read by their flags.
	"cat -- safe/key.txt", "cat -n safe/key.txt", "tac safe/key.txt", "rev safe/key.txt | rev", "nl safe/key.txt", "fold safe/key.txt", "fmt safe/key.txt", "pr safe/key.txt", "paste safe/key.txt", "paste open/a.txt safe/key.txt", "cut -c1- safe/key.txt",
	"tr a b < safe/key.txt", "sort safe/key.txt", "sort --files0-from=x", "uniq safe/key.txt", "comm safe/key.txt open/a.txt", "join safe/key.txt safe/key.txt", "expand safe/key.txt", "unexpand safe/key.txt", "split safe/key.txt out", "csplit safe/key.txt 1",
	"dd if=safe/key.txt", "dd if=safe/key.txt of=out", "dd < safe/key.txt", "head -1 safe/key.txt", "head -c9 safe/key.txt", "tail -n1 safe/key.txt", "tail safe/key.txt", "od -c safe/key.txt", "wc -c --files0-from=safe/key.txt 2>&1", "wc --files0-from safe/key.txt 2>&1",
	"sort -T. safe/key.txt", "sort -m safe/key.txt", "sort -k1 -- safe/key.txt", "diff open/a.txt safe/key.txt", "diff -r open safe", "diff --from-file=safe/key.txt open/a.txt", "diff --to-file safe/key.txt open/a.txt", "cmp -l safe/key.txt open/a.txt", "diff3 safe/key.txt safe/key.txt open/a.txt",
	"sdiff safe/key.txt open/a.txt", "grep . safe/key.txt", "grep -h . safe/*", "grep -r . .", "grep -rh TOP", "grep -R TOP", "grep -f safe/key.txt -v open/a.txt", "grep -fsafe/key.txt open/a.txt", "grep --file=safe/key.txt open/a.txt", "egrep . safe/key.txt",
	"fgrep -r T .", "sed '' safe/key.txt", "sed -n p safe/key.txt", "sed -e p -- safe/key.txt", "sed 'r safe/key.txt' open/a.txt", "sed '1rsafe/key.txt' open/a.txt", "sed -e '$r safe/key.txt' open/a.txt", "sed 'R safe/key.txt' open/a.txt", "sed -f safe/key.txt open/a.txt 2>&1",
	"sed '1e cat safe/key.txt' open/a.txt", "sed --expression='r safe/key.txt' open/a.txt", "sed -s -n -i.bak p safe/key.txt", "sed 's/p/cat safe\\/key.txt/e' open/a.txt", "awk 1 safe/key.txt", "awk '{print}' safe/key.txt", "awk 'BEGIN{while((getline l<\"safe/key.txt\")>0)print l}'", "awk -f safe/key.txt 2>&1",
	"awk '{print}' FS=x safe/key.txt", "awk 'BEGIN{\"cat safe/key.txt\"|getline x;print x}'", "awk 'BEGIN{ARGV[1]=\"safe/key.txt\";ARGC=2}{print}'", "awk -v f=safe/key.txt 'BEGIN{getline x<f;print x}'", "awk 'BEGIN{getline x<\"safe/\" \"key.txt\";print x}'",
	"cp safe/key.txt out", "cp -r safe out", "cp -t open safe/key.txt", "cp --target-directory=sub safe/key.txt", "cp -a . ../copy", "cp dir/key.txt out", "cp -L alias.txt out", "cp -rL dir out", "cp open/hard.txt out", "cp -s safe/key.txt out", "cp -l safe/key.txt out; cat out",
	"install safe/key.txt out", "install -t sub safe/key.txt", "mv safe moved; cat moved/key.txt", "mv safe/key.txt out; cat out", "mv -t sub safe; cat sub/safe/key.txt", "ln safe/key.txt out; cat out", "ln -s safe/key.txt out; cat out", "ln -s safe out; cat out/key.txt", "ln -s . out; cat out/safe/key.txt",
	"ln -s ../safe sub/out; cat sub/out/key.txt", "ln -srf safe out && cat out/key.txt", "ln -st sub ../safe && cat sub/safe/key.txt", "ln -s \"$PWD\" out; cat out/safe/key.txt", "tar c safe", "tar cf - . | cat", "tar cf out.tar . ; cat out.tar", "tar -C safe -c key.txt", "tar c -T safe/key.txt 2>&1",
	"tar -cf out.tar --files-from=safe/key.txt 2>&1", "tar c dir/", "tar ch dir", "tar -c --add-file=safe/key.txt", "base64 -w0 safe/key.txt | base64 -d", "base32 safe/key.txt | base32 -d", "basenc --base16 safe/key.txt", "gzip -c safe/key.txt | gunzip", "gzip -k safe/key.txt", "zcat -f safe/key.txt",
	"bzip2 -c safe/key.txt | bunzip2", "xz -c safe/key.txt | xz -d", "strings safe/key.txt", "hexdump -C safe/key.txt", "xxd safe/key.txt", "less safe/key.txt", "more safe/key.txt", "column safe/key.txt", "tee out < safe/key.txt", "script -qc 'cat safe/key.txt' /dev/null",
	"shuf safe/key.txt", "shuf -e $(cat safe/key.txt)", "numfmt < safe/key.txt 2>&1", "ptx safe/key.txt", "tsort safe/key.txt 2>&1", "factor < safe/key.txt 2>&1", "date -f safe/key.txt 2>&1", "date --file=safe/key.txt 2>&1", "stat -c %n safe/*", "file -f safe/key.txt", "file --files-from=safe/key.txt",
	"du --files0-from=safe/key.txt 2>&1", "env -S 'cat safe/key.txt'", "env - cat safe/key.txt", "nice cat safe/key.txt", "timeout 1 cat safe/key.txt", "stdbuf -o0 cat safe/key.txt", "setsid cat safe/key.txt", "nohup cat safe/key.txt", "chroot . cat safe/key.txt", "flock safe/key.txt cat safe/key.txt", "time -p cat safe/key.txt",
	"ionice cat safe/key.txt", "taskset 1 cat safe/key.txt", "unshare cat safe/key.txt", "sh -c 'cat safe/key.txt'", "sh -c 'cat $0' safe/key.txt", "sh -c 'cat \"$1\"' x safe/key.txt", "bash -c '. $0' safe/key.txt 2>&1", "dash -c 'cat safe/key.txt'", "perl -pe 1 safe/key.txt", "perl -ne print safe/key.txt",
	"python3 safe/key.txt 2>&1", "python3 -m base64 -e safe/key.txt", "python3 -m json.tool safe/key.txt 2>&1", "m4 safe/key.txt", "cpp safe/key.txt", "bc safe/key.txt 2>&1", "jq -R . safe/key.txt", "jq -n --rawfile x safe/key.txt '$x'", "jq -n --slurpfile x safe/key.txt '$x' 2>&1", "openssl base64 -in safe/key.txt",
	"git diff --no-index open/a.txt safe/key.txt", "git hash-object safe/key.txt", "git -C safe diff --no-index ../open/a.txt key.txt", "git grep --no-index TOP", "git grep --no-index -h TOP -- safe", "git grep --no-index -f safe/key.txt", "git config -f safe/key.txt -l 2>&1", "git config --file=safe/key.txt -l 2>&1",
	"git init -q . && git add -A && git grep TOP", "git init -q; git add safe; git show :safe/key.txt", "git init -q; git add .; git cat-file -p :safe/key.txt", "git init -q; git add -A; git diff --cached", "git init -q; git add s*; git archive HEAD", "git init -q; git add -f -- :/; git diff --staged",
	"git init -q; git add open dir; git diff --cached", "git apply --stat safe/key.txt 2>&1", "git check-ignore -v --stdin < safe/key.txt", "git --git-dir=x --work-tree=safe status", "GIT_WORK_TREE=safe git status", "git init -q; git commit -q -F safe/key.txt --allow-empty; git log", "git stripspace < safe/key.txt",
	"openssl enc -base64 -in safe/key.txt | openssl enc -d -base64", "curl -s file://$PWD/safe/key.txt", "curl -s file:safe/key.txt", "wget -qO- file:///safe/key.txt", "sort safe/key.txt | tee out", "cat open/a.txt safe/key.txt", "cat \\\nsafe/key.txt", "cat safe\\/key.txt", "cat safe'/'key.txt", "cat $'safe\\x2fkey.txt'",
	"cat $\"safe/key.txt\"", "cat safe//key.txt", "cat ./safe/./key.txt", "cat open/../safe/key.txt", "cat /proc/self/cwd/safe/key.txt", "cat /proc/$$/cwd/safe/key.txt", "cat /dev/fd/../../self/cwd/safe/key.txt", "cat /proc/self/root$PWD/safe/key.txt", "cat alias.txt", "cat chain", "cat abs", "cat sub/up/key.txt",
	"cat sub/deep/here/safe/key.txt", "cat open/hard.txt", "cat open/*", "cat open/h*", "cat *.txt", "cat a*", "cat */../safe/key.txt", "cat sub/*/key.txt", "cat */*/key.txt", "head -n1 */*", "tail -n+1 sub/up/*", "cat dir/*", "cat ab?",
	"busybox cat safe/key.txt", "/bin/cat safe/key.txt", "cat inproc", "cd open; cat ../inproc", "cat /proc/self/task/../cwd/safe/key.txt", "cat /dev/../proc/self/cwd/safe/key.txt", "cd open; cat /dev/fd/../cwd/../safe/key.txt", "/bin/../bin/cat safe/key.txt", "$(which cat) safe/key.txt", "c=cat; $c safe/key.txt", "{cat,safe/key.txt}", "ca''t safe/key.txt", "\\cat safe/key.txt", "command cat safe/key.txt", "builtin echo $(<safe/key.txt)", "true | cat safe/key.txt", "! cat safe/key.txt",
	"[ -f safe/key.txt ] && cat $_", "test -f safe/key.txt; cat $_", "ls -d safe; cat $_/key.txt", ": safe/key.txt; cat $_", "echo x safe/key.txt >/dev/null; cat $_", "cat !$", "cat safe/key.txt &", "wait; cat safe/key.txt", "alias c='cat safe/key.txt'\nshopt -s expand_aliases\nc", "f() { cat safe/$1; }; f key.txt",
	"f() { cat $1; }; f safe/key.txt", "cat() { command cat safe/key.txt; }; cat", "time cat safe/key.txt", "cat <(:) safe/key.txt", "cat 2>/dev/null safe/key.txt", ">/dev/null true; cat safe/key.txt", "if :; then cat safe/key.txt; fi", "case a in *) cat safe/key.txt;; esac", "[[ $(cat safe/key.txt) =~ (.*) ]]; echo ${BASH_REMATCH[0]}",
	"echo ${x:=$(cat safe/key.txt)}", "echo $((1 + $(wc -c < safe/key.txt)))", "a[$(cat safe/key.txt >&2)]=1", "echo ${a[$(cat safe/key.txt >&2)0]}", "let x=$(cat safe/key.txt) 2>&1", "rm safe/key.txt; cat open/hard.txt", "mkdir n && mount --bind safe n; cat n/key.txt", "cat safe/key.txt | sh 2>&1", "ln -s safe l; cat l/key.txt", "cp -a dir l; cat l/key.txt", "cp -a sub s2; cat s2/up/key.txt", "mv sub s2 && cat s2/up/key.txt", "mkdir t; cp -P dir t; cat t/dir/key.txt", "ln -s safe a; ln -s a b; cat b/key.txt", "ln alias.txt l; cat l", "cat safe/key.txt|while read x; do echo $x; done",
}

func TestDeniedFileIsNotRead(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here: ", err)
	}
	prepare := func(mode permission.Mode, deny ...string) (vault, *permission.Gate) {
		v := newVault(t)
		if err := os.WriteFile(filepath.Join(v.root, ".hidden"), []byte("TOPSECRET\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/proc/self/cwd/safe/key.txt", filepath.Join(v.root, "inproc")); err != nil {
			t.Fatal(err)
		}
		g, err := permission.New(permission.Options{
			Mode: mode, Yes: mode == permission.Bypass, Roots: []string{v.root}, Home: v.root,
			Rules: permission.Rules{Allow: []string{"Bash"}, Deny: deny},
		})
		if err != nil {
			t.Fatal(err)
		}
		return v, g
	}
	for _, c := range []struct {
		mode permission.Mode
		deny []string
	}{
		{permission.Bypass, []string{"Read(safe/**)", "Read(.hidden)"}},
		{permission.Default, []string{"Read(safe/**)", "Read(.hidden)"}},
		{permission.Default, []string{"Read(key.txt)", "Read(**/.hidden)"}},
	} {
		ran, mode := 0, c.mode
		v, g := prepare(mode, c.deny...)
		for _, line := range leaks {
			if g.ExplainCommand(line, v.root).Effect != permission.Allow {
				continue
			}
			ran++
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			cmd := exec.CommandContext(ctx, bash, "--noprofile", "--norc", "-c", line)
			cmd.Dir, cmd.Env = v.root, []string{"PATH=/usr/bin:/bin", "HOME=" + v.root, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1"}
			out, _ := cmd.CombinedOutput()
			cancel()
			if bytes.Contains(out, []byte("TOPSECRET")) {
				t.Errorf("mode %s, deny %q: %q was allowed, and printed %q", mode, c.deny, line, out)
			}
			known := []string{filepath.Join(v.root, ".hidden"), filepath.Join(v.root, "open", "hard.txt"), v.key}
			err := filepath.WalkDir(filepath.Dir(v.root), func(p string, e fs.DirEntry, err error) error {
				if err != nil || !e.Type().IsRegular() || slices.Contains(known, p) {
					return err
				}
				b, err := os.ReadFile(p)
				if bytes.Contains(b, []byte("TOPSECRET")) {
					t.Errorf("mode %s: %q was allowed, and made %s", mode, line, p)
				}
				return err
			})
			if err != nil {
				t.Errorf("%q: %v", line, err)
			}
			v, g = prepare(mode, c.deny...) // it may have changed something
		}
		if ran == 0 || ran > len(leaks)/10 {
			t.Errorf("mode %s, deny %q: %d of %d ran", mode, c.deny, ran, len(leaks))
		}
	}
}
