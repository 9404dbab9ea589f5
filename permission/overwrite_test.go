package permission_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/permission"
)

// Lines that try to have bash change a file in a folder that is denied. Those that
// are allowed are run.
var overwrites = []string{
	"echo x > safe/key.txt", "echo x >> safe/key.txt", "echo x >| safe/new", ": > safe/key.txt", "> safe/key.txt", "echo x 2> safe/new", "echo x &> safe/new", "echo x &>> safe/new", "echo x >& safe/new", "cat <> safe/new", "exec 3> safe/new",
	"exec {fd}>safe/new; echo x >&$fd", "{ echo x; } > safe/new", "(echo x) > safe/new", "if :; then echo x; fi > safe/new", "for i in 1; do echo x; done > safe/new", "f() { echo x; } > safe/new; f", "while false; do :; done > safe/new", "echo x > dir/new", "echo x > sub/up/new",
	"echo x > alias.txt", "echo x > chain", "echo x > abs", "echo x > open/hard.txt", "echo x > open/h*", "echo x > $PWD/safe/new", "echo x > ~/safe/new", "echo x > ~+/safe/new", "cd safe; echo x > new", "cd safe && touch new", "cd dir && echo x > new", "cd sub/up && echo x > key.txt", "cd open; echo x > ../safe/new", "pushd safe; echo x > new",
	"echo x > /proc/self/cwd/safe/new", "echo x > /dev/fd/../../self/cwd/safe/new", "echo x > s*/key.txt", "echo x > [s]afe/key.txt", "echo x > {safe,}/key.txt", "echo x > $(echo safe/new)", "F=safe/new; echo x > $F", "echo x > ${x:-safe/new}", "echo x | tee safe/new", "echo x | tee -a safe/key.txt", "echo x | tee open/y safe/new", "tee safe/new <<< x",
	"cp open/a.txt safe/key.txt", "cp open/a.txt safe", "cp open/a.txt safe/", "cp -t safe open/a.txt", "cp --target-directory=safe open/a.txt", "cp --target-dir safe open/a.txt", "cp -r open safe", "cp -a open/. safe", "cp open/a.txt dir", "cp open/a.txt alias.txt", "cp --parents open/a.txt safe", "cp -l open/a.txt safe/new", "cp -s $PWD/open/a.txt safe/new", "cp -b open/a.txt safe/key.txt", "cp -T open/a.txt safe/key.txt",
	"mv open/a.txt safe/", "mv open/a.txt safe/key.txt", "mv -t safe open/a.txt", "mv safe moved", "mv safe/key.txt out", "mv safe/* open", "mv s* open", "mv dir/key.txt x", "mv -f open safe/", "rm safe/key.txt", "rm -f safe/*", "rm -r safe", "rm -rf s*", "rm dir/key.txt", "rm -r ./safe/", "rm -r sub/../safe", "unlink safe/key.txt", "rmdir safe", "shred safe/key.txt", "shred -u safe/key.txt", "truncate -s0 safe/key.txt",
	"truncate --size 0 safe/key.txt", "truncate -s 5 dir/key.txt", "touch safe/new", "touch -d 2001-01-01 safe/key.txt", "touch -r open/a.txt safe/key.txt", "mkdir safe/d", "mkdir -p safe/d/e", "mkdir -p safe/{a,b}", "mkfifo safe/p", "mknod safe/p p", "ln open/a.txt safe/new", "ln -s x safe/new", "ln -sf x safe/key.txt", "ln -t safe open/a.txt", "ln -st safe x", "link open/a.txt safe/new", "install open/a.txt safe/new",
	"install -d safe/d", "install -D open/a.txt safe/d/e", "install -t safe open/a.txt", "dd if=open/a.txt of=safe/new", "dd of=safe/key.txt < open/a.txt", "dd if=/dev/zero of=dir/key.txt count=1", "sed -i s/T/x/ safe/key.txt", "sed -i.bak s/T/x/ safe/key.txt", "sed -i s/T/x/ s*/key.txt", "sed -n 'w safe/new' open/a.txt", "sed 's/p/x/w safe/new' open/a.txt", "sed -e 'w safe/new' open/a.txt", "sed --in-place s/T/x/ dir/key.txt",
	"sed -n -e '1w safe/new' open/a.txt", "sed '$w safe/new' open/a.txt", "sed '/p/{w safe/new\n}' open/a.txt", "awk '{print > \"safe/new\"}' open/a.txt", "awk '{print >> \"safe/key.txt\"}' open/a.txt", "awk '{print | \"cat > safe/new\"}' open/a.txt", "awk 'BEGIN{printf \"x\" > \"safe/new\"}'", "awk 'BEGIN{f=\"safe/new\"; print 1 > f}'", "awk -v f=safe/new 'BEGIN{print 1 > f}'", "awk 'BEGIN{system(\"touch safe/new\")}'",
	"sort -o safe/new open/a.txt", "sort open/a.txt --output=safe/new", "sort --out safe/new open/a.txt", "sort -osafe/new open/a.txt", "sort -uo safe/new open/a.txt", "uniq open/a.txt safe/new", "split open/a.txt safe/x", "split -l1 open/a.txt safe/", "csplit -f safe/x open/a.txt 1", "csplit --prefix=safe/x open/a.txt 1", "tar cf safe/x.tar open", "tar -cf dir/x.tar open", "tar c --file=safe/x.tar open", "tar cf a.tar open && tar xf a.tar -C safe",
	"tar cf a.tar open && tar -C safe -xf a.tar", "tar cf a.tar safe && tar xf a.tar", "tar c open --index-file=safe/new -v -f x.tar", "gzip safe/key.txt", "gzip -r safe", "gzip -c open/a.txt > safe/x.gz", "gunzip safe/x.gz", "gzip -k dir/key.txt", "bzip2 safe/key.txt", "xz safe/key.txt", "zip safe/x.zip open/a.txt", "chmod 777 safe/key.txt", "chmod -R 777 safe", "chmod 777 s*", "chmod u+x dir/key.txt", "chown 1 safe/key.txt", "chgrp 1 safe",
	"find safe -delete", "find . -name key.txt -delete", "find . -name 'k*' -exec rm {} +", "find . -fprint safe/new", "find . -fls safe/new", "find . -fprintf safe/new %p", "find safe -type f | xargs rm", "ls safe | xargs -I{} rm safe/{}", "xargs rm <<< safe/key.txt", "xargs touch safe/new < /dev/null", "git init -q safe", "git init -q; git mv safe moved", "git init -q; git add -A; git rm -rf safe", "git init -q; git add -A; git -c user.name=a -c user.email=b commit -qm x; git checkout -q --orphan y; git rm -rfq .",
	"git init -q; git add -A; git -c user.name=a -c user.email=b commit -qm x; rm safe/key.txt; git checkout -- .", "git init -q --separate-git-dir=safe/g", "git init -q; git worktree add safe/w", "git init -q; git clean -fdxq", "git init -q; git clean -fdq safe", "git -C safe init -q", "git --git-dir=safe/g init -q", "git init -q; git bundle create safe/b HEAD", "git init -q; git archive -o safe/x.tar HEAD", "git diff --no-index --output=safe/new open/a.txt plain", "git init -q; git format-patch -o safe HEAD",
	"git config -f safe/new a.b c", "git config --file safe/new a.b c", "GIT_TRACE=$PWD/safe/new git status", "GIT_TRACE2=$PWD/safe/new git --version", "git init -q; git stash -u", "patch safe/key.txt x.patch", "patch -o safe/new open/a.txt < /dev/null", "patch -d safe < /dev/null", "diff -u open/a.txt x > safe/new", "curl -s -o safe/new file:///etc/hostname", "curl -so safe/new file:///etc/hostname", "curl --output-dir safe -O file:///etc/hostname", "curl -s file:///etc/hostname --output safe/new", "curl -s -D safe/new file:///etc/hostname",
	"curl -s --trace safe/new file:///etc/hostname", "curl -s -c safe/new file:///etc/hostname", "wget -q -O safe/new http://127.0.0.1:1/", "wget -q -P safe http://127.0.0.1:1/", "wget -q -o safe/new http://127.0.0.1:1/", "script -qc true safe/new", "nohup echo x > safe/new", "timeout 1 touch safe/new", "env touch safe/new", "nice touch safe/new", "sh -c 'touch safe/new'", "bash -c 'echo x > safe/new'", "eval 'echo x > safe/new'", "command touch safe/new", "/usr/bin/touch safe/new", "\\touch safe/new", "t=touch; $t safe/new",
	"{touch,safe/new}", "touch safe/{n,m}", "touch safe/new open/new", "touch ./safe/../safe/new", "touch $'safe/\\x6eew'", "touch s''afe/new", "touch \"safe\"/new", "touch saf[e]/new", "HISTFILE=safe/new; history -w", "history -w safe/new", "history -a safe/new", "set -o history; HISTFILE=safe/new history -w", "printf x > safe/new", "mapfile < /dev/null > safe/new", "coproc echo x > safe/new; wait", "echo x > >(cat > safe/new)", "echo x >(touch safe/new)", "cat > safe/new <<EOF\nx\nEOF", "cat << EOF > safe/new\nx\nEOF",
	"ln -s ../safe sub/l; touch sub/l/new", "ln -s safe l; touch l/new", "ln -s . l; touch l/safe/new", "cp -r dir l; touch l/new", "cp -P dir l; touch l/new", "cp -a dir l && echo x > l/key.txt", "cp -d sub/up l; touch l/new", "mv dir l; touch l/new", "mv sub/up sub/l; echo x > sub/l/new", "mv alias.txt l; echo x > l", "cp -P alias.txt l; echo x > l", "cp -a alias.txt sub/l; echo x > sub/l", "ln alias.txt l; echo x > l", "mv sub/deep/here l; touch l/safe/new", "cp -a sub s2; touch s2/up/new", "cp -r sub s2; echo x > s2/up/key.txt", "mv sub s2 && touch s2/up/new",
	"mv sub/up . && touch up/new", "tar cf a.tar dir; mkdir t; tar xf a.tar -C t; touch t/dir/new", "rsync -a dir l; touch l/new", "mkdir t; cp -P dir t/; touch t/dir/new", "ln -sfn safe sub; touch sub/new", "rm dir; ln -s safe dir; touch dir/new", "ln -s ../../safe open/a/b; touch open/a/b", "mkdir a a/b; ln -s ../safe a/l; mv a/l l2; touch l2/new",
}

func TestDeniedFolderIsNotChanged(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here: ", err)
	}
	prepare := func() (vault, *permission.Gate, string) {
		v := newVault(t)
		g, err := permission.New(permission.Options{
			Mode: permission.AcceptEdits, Roots: []string{v.root}, Home: v.root, Rules: permission.Rules{Allow: []string{"Bash"}, Deny: []string{"Edit(safe/**)"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return v, g, stateOf(t, filepath.Join(v.root, "safe"))
	}
	ran := 0
	v, g, was := prepare()
	for _, line := range overwrites {
		if g.ExplainCommand(line, v.root).Effect != permission.Allow {
			continue
		}
		ran++
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		cmd := exec.CommandContext(ctx, bash, "--noprofile", "--norc", "-c", line)
		cmd.Dir, cmd.Env = v.root, []string{"PATH=/usr/bin:/bin", "HOME=" + v.root, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1"}
		out, _ := cmd.CombinedOutput()
		cancel()
		if is := stateOf(t, filepath.Join(v.root, "safe")); is != was {
			t.Errorf("%q was allowed, and changed %s\ninto %s\n%s", line, was, is, out)
		}
		v, g, was = prepare()
	}
	if ran == 0 || ran > len(overwrites)/8 {
		t.Errorf("%d of %d ran", ran, len(overwrites))
	}
}

// stateOf is all of a folder.
func stateOf(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err.Error()
	}
	out := ""
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		out += info.Mode().String() + " " + info.ModTime().Format(time.RFC3339Nano) + " " + e.Name() + " " + string(text)
	}
	return out
}
