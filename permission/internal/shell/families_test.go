package shell_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/permission/internal/shell"
)

// summary is an analysis in one line: the commands with what they touch, what
// else deny rules see, and what is not known.
func summary(a *shell.Analysis) string {
	var parts, doubts []string
	for _, c := range a.Commands {
		if c.Doubt {
			if name := c.Name(); name != "" && !slices.Contains(doubts, name) && slices.Contains([]string{"rm", "curl", "git"}, name) {
				doubts = append(doubts, name)
			}
			continue
		}
		one := shell.Analysis{Commands: []shell.Command{c}}
		text := strings.TrimSuffix(describe(&one), "\n")
		if c.Code {
			text += " [code]"
		}
		if c.Network {
			text += " [network]"
		}
		parts = append(parts, strings.TrimSpace(text))
	}
	for _, d := range doubts {
		parts = append(parts, "perhaps "+d)
	}
	var kinds []string
	for _, u := range a.Unknown {
		if k := fmt.Sprintf("? %s", u.Kind); !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	return strings.Join(append(parts, kinds...), " / ")
}

// TestFamilies holds what is said, in full, of each family of programs and
// constructs by which a line runs, reads or writes something else than it seems
// to: see summary.
func TestFamilies(t *testing.T) {
	t.Parallel()
	for _, tt := range families {
		a, err := shell.Analyse(tt.line, shell.Options{Dir: "/w", Home: "/home/u"})
		if err != nil {
			t.Errorf("%q: %v", tt.line, err)
			continue
		}
		if got := summary(a); got != tt.want {
			t.Errorf("%q:\n got %s\nwant %s", tt.line, got, tt.want)
		}
		// What removes in one of these is seen by a deny rule.
		if strings.Contains(tt.line, "rm x") && !slices.ContainsFunc(a.Commands, func(c shell.Command) bool { return c.Name() == "rm" }) {
			t.Errorf("%q: rm is not seen", tt.line)
		}
	}
}

var families = []struct{ line, want string }{
	{`sed 's/[]/]/p;p #/e' f`, `sed "s/[]/]/p;p #/e" f read=/w/f [code] / sed > p / sed > p / ? computed / ? opaque`},
	{`sed 's/[[:space:]/]/p;p #/e' f`, `sed "s/[[:space:]/]/p;p #/e" f read=/w/f [code] / sed > p / sed > p / ? computed / ? opaque`},
	{`awk -v c='rm x' 'BEGIN{print | c}'`, `awk -v "c=rm x" "BEGIN{print | c}" [code] / perhaps rm / ? computed`},
	{`awk '/"/{print | c} /"/' c='rm x' f`, `awk "/\"/{print | c} /\"/" "c=rm x" f read=/w/f [code] / perhaps rm / ? computed`},
	{`awk 'BEGIN{ARGV[1]="/etc/passwd"} {print}' f`, `awk "BEGIN{ARGV[1]=\"/etc/passwd\"} {print}" f read=/w/f [code]`},
	{`awk 'BEGIN{while((getline l < "/etc/passwd")>0) print l}'`, `awk "BEGIN{while((getline l < \"/etc/passwd\")>0) print l}" [code]`},
	{`awk -f x.awk f`, `awk -f x.awk f read=/w/x.awk read=/w/f`},
	{`perl -ne 'system("rm")' f`, `perl -ne system("rm") f exec=system("rm") [code] / perhaps rm`},
	{`perl -pi -e 's/a/b/' ~/.bashrc`, `perl -pi -e s/a/b/ /home/u/.bashrc exec=s/a/b/ write=/home/u/.bashrc [code]`},
	{`ruby -i -pe '$_' f`, `ruby -i -pe $_ f exec=$_ write=/w/f [code]`},
	{`python3 -Ic 'x'`, `python3 -Ic x exec=x [code]`},
	{`flock -n l -c 'rm x'`, `flock -n l -c "rm x" / flock > rm x [complete] write=/w/x`},
	{`flock l -c 'rm x'`, `flock l -c "rm x" / flock > rm x [complete] write=/w/x`},
	{`ls | entr -s 'rm x'`, `ls [ro] read=/w/. / entr -s "rm x" / entr > rm x [complete] write=/w/x`},
	{`zip x.zip f -T -TT 'rm x'`, `zip x.zip f -T -TT "rm x" exec=rm x write=/w/x.zip read=/w/f / zip > rm x [complete] write=/w/x`},
	{`socat EXEC:'rm x' -`, `socat "EXEC:rm x" - [network] / socat > rm x [complete] write=/w/x`},
	{`socat TCP-LISTEN:1 SYSTEM:'rm x'`, `socat TCP-LISTEN:1 "SYSTEM:rm x" [network] / socat > rm x [complete] write=/w/x`},
	{`vim -c ':silent !rm x' f`, `vim -c ":silent !rm x" f exec=:silent !rm x write=/w/f [code] / vim > rm x [complete] write=/w/x`},
	{`vim -es -c 'call system("rm x")' f`, `vim -es -c "call system(\"rm x\")" f exec=call system("rm x") write=/w/f [code] / perhaps rm`},
	{`gdb -ex 'shell rm x' -batch`, `gdb -ex "shell rm x" -batch [code] / perhaps rm`},
	{`gdb -batch -ex '!rm x'`, `gdb -batch -ex "!rm x" [code] / perhaps rm`},
	{`curl file:///etc/passwd`, `curl file:///etc/passwd read=/etc/passwd [network]`},
	{`curl -o- http://h`, `curl -o- http://h connect=h [network]`},
	{`curl -w '%output{/etc/x}' h`, `curl -w %output{/etc/x} h connect=h write?=%output{/etc/x} [network]`},
	{`gzip -dc f.gz`, `gzip -dc f.gz [ro] read=/w/f.gz`},
	{`gunzip -c f.gz | head`, `gunzip -c f.gz [ro] read=/w/f.gz / head [ro]`},
	{`gzip f`, `gzip f [complete] write=/w/f write=/w/f.gz`},
	{`zcat f.gz`, `zcat f.gz [ro] read=/w/f.gz`},
	{`zstd -d f.zst -o out`, `zstd -d f.zst -o out [complete] write=/w/out write=/w/f.zst write=/w/f`},
	{`zstd f`, `zstd f [complete] write=/w/f write=/w/f.zst`},
	{`ffmpeg -i a.mp4 -y b.mp4`, `ffmpeg -i a.mp4 -y b.mp4 read=/w/a.mp4 write=/w/b.mp4`},
	{`pandoc --lua-filter=x.lua a.md -o b.html`, `pandoc --lua-filter=x.lua a.md -o b.html read=/w/x.lua write=/w/b.html read=/w/a.md`},
	{`pandoc -F x a.md`, `pandoc -F x a.md exec=x read=/w/a.md / pandoc > x`},
	{`yq -i '.a = 1' f.yml`, `yq -i ".a = 1" f.yml write=/w/f.yml`},
	{`yq '.a' f.yml`, `yq .a f.yml read=/w/f.yml`},
	{`docker run -v /:/h alpine rm -rf /h/x`, `docker run -v /:/h alpine rm -rf /h/x write=/ / perhaps rm`},
	{`docker run --rm -v "$PWD:/w" img cmd`, `docker run --rm -v ⟨$PWD:/w⟩ img cmd write?=$PWD`},
	{`docker exec c rm x`, `docker exec c rm x / perhaps rm`},
	{`kubectl exec p -- rm x`, `kubectl exec p -- rm x [network] / perhaps rm`},
	{`crontab -`, `crontab - / ? computed`},
	{`echo '* * * * * rm x' | crontab -`, `echo "* * * * * rm x" [ro] / crontab - / perhaps rm / ? computed`},
	{`crontab -l`, `crontab -l`},
	{`at now <<< 'rm x'`, `at now / perhaps rm / ? computed`},
	{`jq 'import "/etc/x" as $d; $d' f`, `jq "import \"/etc/x\" as $d; $d" f read=/w/f [code]`},
	{`jq -n 'env'`, `jq -n env [ro]`},
	{`jq --arg a b '.x == $a' f`, `jq --arg a b ".x == $a" f [ro] read=/w/f`},
	{`jq --slurpfile a f '.x' g`, `jq --slurpfile a f .x g [ro] read=/w/f read=/w/g`},
	{`echo 'rm x' | sh`, `echo "rm x" [ro] / sh / perhaps rm / ? computed`},
	{`curl h | bash`, `curl h connect=h [network] / bash / ? computed`},
	{`base64 -d x | bash`, `base64 -d x [ro] read=/w/x / bash / ? computed`},
	{`sh < f`, `sh exec=f read=/w/f`},
	{`bash <(rm x)`, `rm x [complete] write=/w/x / bash ⟨/dev/fd/<(rm x)⟩ / ? computed`},
	{`. <(rm x)`, `rm x [complete] write=/w/x / . ⟨/dev/fd/<(rm x)⟩ / ? computed`},
	{`bash /dev/stdin <<< 'rm x'`, `bash /dev/stdin / bash > rm x [complete] write=/w/x`},
	{`sh -c 'echo a &> f rm x'`, `sh -c "echo a &> f rm x" / perhaps rm / ? misread`},
	{`sh -c "echo \$'a\\' ; rm x #'"`, `sh -c "echo $'a\\' ; rm x #'" / perhaps rm / ? misread`},
	{`bash -kc 'git log PAGER=x'`, `bash -kc "git log PAGER=x" / bash > git log PAGER=x [ro] read=/w/PAGER=x / ? opaque`},
	{`PAGER='rm x' git log`, `PAGER= git log / perhaps rm`},
	{`GIT_SSH_COMMAND='rm x' git fetch`, `GIT_SSH_COMMAND= git fetch [network] / perhaps rm`},
	{`GIT_PAGER=cat git log`, `GIT_PAGER= git log [ro]`},
	{`if [ "$x" = "y" ]; then echo a; fi`, `[ ⟨$x⟩ = y ] [ro] / echo a [ro]`},
	{`[ "$#" -gt 0 ] && echo y`, `[ ⟨$#⟩ -gt 0 ] [ro] / echo y [ro]`},
	{`[ $? -eq 0 ] && echo ok`, `[ ⟨$?⟩ -eq 0 ] [ro] / echo ok [ro]`},
	{`[ -n "$x" ] && echo y`, `[ -n ⟨$x⟩ ] [ro] / echo y [ro]`},
	{`[ -z "$x" -o "$y" = z ] && echo y`, `[ -z ⟨$x⟩ -o ⟨$y⟩ = z ] [ro] / echo y [ro]`},
	{`[ ! -f "$x" ] && echo y`, `[ ! -f ⟨$x⟩ ] [ro] / echo y [ro]`},
	{`[ $x = y ]`, `[ ⟨$x⟩ = y ] / ? computed`},
	{`export PATH="$PATH:/x"`, `PATH= export ⟨PATH=$PATH:/x⟩`},
	{`export X=$(date)`, `date [ro] / X= export ⟨X=$(date)⟩`},
	{`read -p 'Go on? [y/N] ' ans`, `read -p "Go on? [y/N] " ans [ro]`},
	{`while IFS= read -r -d '' f; do echo "$f"; done < <(find . -print0)`, `find . -print0 [ro] read=/w/. / [ro] / IFS= read -r -d "" f [ro] / echo ⟨$f⟩ [ro]`},
	{`source venv/bin/activate && python -m pytest`, `source venv/bin/activate read=/w/venv/bin/activate exec=venv/bin/activate / python -m pytest exec=pytest`},
	{`npm exec -c 'rm x'`, `npm exec -c "rm x" / npm > rm x [complete] write=/w/x`},
	{`npx -c 'rm x'`, `npx -c "rm x" exec=rm x / npx > rm x [complete] write=/w/x`},
	{`pnpm dlx x`, `pnpm dlx x [network] / pnpm > x`},
	{`yarn exec rm x`, `yarn exec rm x / yarn > rm x [complete] write=/w/x`},
	{`bun x rm x`, `bun x rm x / bun > rm x [complete] write=/w/x`},
	{`deno run x.ts`, `deno run x.ts read=/w/x.ts exec=x.ts`},
	{`deno eval 'x'`, `deno eval x exec=x [code]`},
	{`uv run rm x`, `uv run rm x / uv > rm x [complete] write=/w/x`},
	{`uv tool run rm x`, `uv tool run rm x / uv > rm x [complete] write=/w/x`},
	{`hatch run rm x`, `hatch run rm x / hatch > rm x [complete] write=/w/x`},
	{`pdm run rm x`, `pdm run rm x / pdm > rm x [complete] write=/w/x`},
	{`nix develop -c rm x`, `nix develop -c rm x / perhaps rm`},
	{`nix-shell --run 'rm x'`, `nix-shell --run "rm x" exec=rm x / nix-shell > rm x [complete] write=/w/x / perhaps rm`},
	{`op run -- rm x`, `op run -- rm x / op > rm x [complete] write=/w/x`},
	{`doppler run -- rm x`, `doppler run -- rm x / doppler > rm x [complete] write=/w/x`},
	{`aws-vault exec p -- rm x`, `aws-vault exec p -- rm x / perhaps rm`},
	{`dumb-init rm x`, `dumb-init rm x / dumb-init > rm x [complete] write=/w/x`},
	{`tini -- rm x`, `tini -- rm x / tini > rm x [complete] write=/w/x`},
	{`faketime '1' rm x`, `faketime 1 rm x / faketime > rm x [complete] write=/w/x`},
	{`xvfb-run rm x`, `xvfb-run rm x / xvfb-run > rm x [complete] write=/w/x`},
	{`ccache rm x`, `ccache rm x / perhaps rm`},
	{`nodemon --exec 'rm x' f`, `nodemon --exec "rm x" f exec=rm x / nodemon > rm x [complete] write=/w/x / perhaps rm`},
	{`concurrently 'rm x' 'ls'`, `concurrently "rm x" ls / concurrently > rm x [complete] write=/w/x / concurrently > ls [ro] read=/w/.`},
	{`cross-env A=1 rm x`, `A= cross-env A=1 rm x / cross-env > A= rm x write=/w/x`},
	{`wsl rm x`, `wsl rm x / perhaps rm`},
	{`cmd /c rm x`, `cmd /c rm x / perhaps rm`},
	{`tmux new -d 'rm x'`, `tmux new -d "rm x" / perhaps rm`},
	{`tmux send-keys 'rm x' Enter`, `tmux send-keys "rm x" Enter / perhaps rm`},
	{`screen -dm rm x`, `screen -dm rm x / perhaps rm`},
	{`start-stop-daemon --exec /bin/rm -- x`, `start-stop-daemon --exec /bin/rm -- x exec=/bin/rm / start-stop-daemon > /bin/rm [complete] / perhaps rm`},
	{`sg g -c 'rm x'`, `sg g -c "rm x" / sg > rm x [complete] write=/w/x`},
	{`systemd-run rm x`, `systemd-run rm x / perhaps rm`},
	{`systemd-run --user rm x`, `systemd-run --user rm x / perhaps rm`},
	{`run-parts d`, `run-parts d`},
	{`watchexec rm x`, `watchexec rm x / perhaps rm`},
	{`gdb --args rm x`, `gdb --args rm x read=/w/rm exec=rm / perhaps rm`},
	{`lldb -- rm x`, `lldb -- rm x / perhaps rm`},
	{`rr record rm x`, `rr record rm x / rr > rm x [complete] write=/w/x`},
	{`git difftool -x 'rm x'`, `git difftool -x "rm x" exec=rm x / git > rm x [complete] write=/w/x`},
	{`git mergetool`, `git mergetool`},
	{`git filter-branch --tree-filter 'rm x'`, `git filter-branch --tree-filter "rm x" exec=rm x / git > rm x [complete] write=/w/x`},
	{`git rebase -x 'rm x' m`, `git rebase -x "rm x" m exec=rm x / git > rm x [complete] write=/w/x`},
	{`git -c core.pager='rm x' log`, `git -c "core.pager=rm x" log / git > rm x [complete] write=/w/x`},
	{`git -c core.fsmonitor='rm x' status`, `git -c "core.fsmonitor=rm x" status / git > rm x [complete] write=/w/x`},
	{`git --config-env=core.pager=X log`, `git --config-env=core.pager=X log / git > X`},
	{`git submodule foreach --recursive 'rm x'`, `git submodule foreach --recursive "rm x" / git > rm x [complete] write=/w/x`},
	{`git bisect run sh -c 'rm x'`, `git bisect run sh -c "rm x" / git > sh -c "rm x" / git > sh > rm x [complete] write=/w/x`},
	{`git config --global alias.x '!rm x'`, `git config --global alias.x "!rm x" / git > rm x [complete] write=/w/x`},
	{`git config --global core.editor 'rm x'`, `git config --global core.editor "rm x" exec=rm x / perhaps rm`},
	{`git commit -F /etc/passwd`, `git commit -F /etc/passwd read=/etc/passwd`},
	{`git log --output=/etc/x`, `git log --output=/etc/x write=/etc/x`},
	{`git diff --output /etc/x`, `git diff --output /etc/x write=/etc/x`},
	{`git archive -o /etc/x HEAD`, `git archive -o /etc/x HEAD write=/etc/x`},
	{`git format-patch -o /etc/x`, `git format-patch -o /etc/x write=/etc/x`},
	{`git format-patch -1 --stdout`, `git format-patch -1 --stdout write=/w/.`},
	{`git bundle create /etc/x HEAD`, `git bundle create /etc/x HEAD write=/etc/x`},
	{`git clone --template=x u`, `git clone --template=x u read=/w/x connect?=u write=/w/. [network]`},
	{`git clone -c core.sshCommand='rm x' u`, `git clone -c "core.sshCommand=rm x" u connect?=u write=/w/. [network] / git > rm x [complete] write=/w/x`},
	{`git clone --config core.fsmonitor='rm x' u`, `git clone --config "core.fsmonitor=rm x" u connect?=u write=/w/. [network] / git > rm x [complete] write=/w/x`},
	{`git apply /x.patch`, `git apply /x.patch read=/x.patch write=/w/.`},
	{`git checkout -- f`, `git checkout -- f write=/w/f`},
	{`git checkout main`, `git checkout main write=/w/main`},
	{`git worktree add ../x`, `git worktree add ../x write=/w/../x`},
	{`git grep -O'rm x' p`, `git grep "-Orm x" p exec=rm x / git > rm x [complete] write=/w/x`},
	{`git grep --open-files-in-pager='rm x' p`, `git grep "--open-files-in-pager=rm x" p exec=rm x / git > rm x [complete] write=/w/x`},
	{`git send-email --smtp-server=/bin/rm x`, `git send-email --smtp-server=/bin/rm x [network] / git > /bin/rm [complete]`},
	{`git init /x`, `git init /x write=/x`},
	{`git hash-object -w f`, `git hash-object -w f`},
	{`git fetch --upload-pack='rm x' o`, `git fetch "--upload-pack=rm x" o exec=rm x connect?=o [network] / git > rm x [complete] write=/w/x`},
	{`git push --receive-pack='rm x' o`, `git push "--receive-pack=rm x" o exec=rm x connect?=o [network] / git > rm x [complete] write=/w/x`},
	{`git remote add o 'ext::rm x'`, `git remote add o "ext::rm x" / git > rm x [complete] write=/w/x`},
	{`git submodule add 'ext::rm x' d`, `git submodule add "ext::rm x" d [network] / git > rm x [complete] write=/w/x`},
	{`git help -w x`, `git help -w x`},
	{`git var GIT_EDITOR`, `git var GIT_EDITOR [ro]`},
	{`git instaweb --httpd='rm x'`, `git instaweb "--httpd=rm x" exec=rm x / git > rm x [complete] write=/w/x`},
	{`git ls-remote --exec='rm x' o`, `git ls-remote "--exec=rm x" o exec=rm x connect?=o [network] / git > rm x [complete] write=/w/x`},
	{`find . -name x -execdir rm {} +`, `find . -name x -execdir rm {} + [ro] read=/w/. / find > rm ⟨{}⟩ write?={}`},
	{`find . -okdir rm {} \;`, `find . -okdir rm {} ; [ro] read=/w/. / find > rm ⟨{}⟩ write?={}`},
	{`find . -fls /etc/x`, `find . -fls /etc/x read=/w/. write=/etc/x`},
	{`find . -fprintf /etc/x %p`, `find . -fprintf /etc/x %p read=/w/. write=/etc/x`},
	{`find . -files0-from f`, `find . -files0-from f read=/w/. read=/w/f`},
	{`tar --checkpoint=1 --checkpoint-action=exec='rm x' -cf a .`, `tar --checkpoint=1 "--checkpoint-action=exec=rm x" -cf a . write=/w/a read=/w/. / tar > rm x [complete] write=/w/x`},
	{`tar xf a --to-command='rm x'`, `tar xf a "--to-command=rm x" exec=rm x write=/w/. read=/w/a / tar > rm x [complete] write=/w/x`},
	{`tar -cf a --rsh-command='rm x' .`, `tar -cf a "--rsh-command=rm x" . exec=rm x write=/w/a read=/w/. / tar > rm x [complete] write=/w/x`},
	{`tar cf a -F 'rm x' .`, `tar cf a -F "rm x" . exec=rm x write=/w/a read=/w/. / tar > rm x [complete] write=/w/x`},
	{`rsync -e 'rm x' a b:c`, `rsync -e "rm x" a b:c exec=rm x read=/w/a connect=b [network] / rsync > rm x [complete] write=/w/x`},
	{`rsync --rsync-path='rm x' a b:c`, `rsync "--rsync-path=rm x" a b:c exec=rm x read=/w/a connect=b [network] / rsync > rm x [complete] write=/w/x`},
	{`ssh -o ProxyCommand='rm x' h`, `ssh -o "ProxyCommand=rm x" h connect=h [network] / ssh > rm x [complete] write?=x`},
	{`ssh -o 'PermitLocalCommand yes' -o LocalCommand='rm x' h`, `ssh -o "PermitLocalCommand yes" -o "LocalCommand=rm x" h connect=h [network] / ssh > rm x [complete] write?=x`},
	{`scp -o ProxyCommand='rm x' a h:b`, `scp -o "ProxyCommand=rm x" a h:b read=/w/a connect=h [network] / scp > rm x [complete] write=/w/x`},
	{`sftp -S 'rm x' h`, `sftp -S "rm x" h exec=rm x read=/w/h [network] / sftp > rm x [complete] write=/w/x`},
	{`man -P 'rm x' ls`, `man -P "rm x" ls exec=rm x / man > rm x [complete] write=/w/x`},
	{`less +'!rm x' f`, `less "+!rm x" f exec=+!rm x / less > rm x [complete] write=/w/x`},
	{`sort --compress-program='rm x' f`, `sort "--compress-program=rm x" f exec=rm x read=/w/f / sort > rm x [complete] write=/w/x`},
	{`split --filter='rm x' f`, `split "--filter=rm x" f exec=rm x read=/w/f write=/w/xx* / split > rm x [complete] write=/w/x`},
	{`make -f - all`, `make -f - all [code]`},
	{`make --eval='$(shell rm x)'`, `make "--eval=$(shell rm x)" [code] / perhaps rm`},
	{`make SHELL=/bin/rm`, `make SHELL=/bin/rm`},
	{`make CC='rm x'`, `make "CC=rm x" / perhaps rm`},
	{`env -S 'rm x'`, `env -S "rm x" / env > env rm x [ro] [passes] / env > env > rm x [complete] write=/w/x`},
	{`env -iS 'rm x'`, `env -iS "rm x" / env > env rm x [ro] [passes] / env > env > rm x [complete] write=/w/x`},
	{`env --split-string='rm x'`, `env "--split-string=rm x" / env > env rm x [ro] [passes] / env > env > rm x [complete] write=/w/x`},
	{`parallel rm ::: x`, `parallel rm ::: x / parallel > rm [complete] / ? computed`},
	{`expect -c 'spawn rm x'`, `expect -c "spawn rm x" exec=spawn rm x [code] / perhaps rm`},
	{`osascript -e 'do shell script "rm x"'`, `osascript -e "do shell script \"rm x\"" exec=do shell script "rm x" [code] / perhaps rm`},
	{`watch -n1 'rm x'`, `watch -n1 "rm x" / watch > rm x [complete] write=/w/x`},
	{`script -qc 'rm x' /dev/null`, `script -qc "rm x" /dev/null exec=rm x / script > rm x [complete] write=/w/x`},
	{`setpriv --reuid 1 rm x`, `setpriv --reuid 1 rm x / setpriv > rm x [complete] write=/w/x`},
	{`unshare -r rm x`, `unshare -r rm x / unshare > rm x [complete] write?=x`},
	{`chroot /x rm x`, `chroot /x rm x / chroot > rm x [complete] write?=x`},
	{`busybox sh -c 'rm x'`, `busybox sh -c "rm x" / busybox > sh -c "rm x" / busybox > sh > rm x [complete] write=/w/x`},
	{`busybox ash -c 'rm x'`, `busybox ash -c "rm x" / busybox > ash -c "rm x" / busybox > ash > rm x [complete] write=/w/x`},
	{`php -r 'system("rm");'`, `php -r system("rm"); exec=system("rm"); [code] / perhaps rm`},
	{`go run x.go`, `go run x.go`},
	{`go test -exec 'rm x' ./...`, `go test -exec "rm x" ./... exec=rm x / go > rm x [complete] write=/w/x`},
	{`go build -toolexec 'rm x' ./...`, `go build -toolexec "rm x" ./... exec=rm x / go > rm x [complete] write=/w/x`},
	{`go vet -vettool=./x ./...`, `go vet -vettool=./x ./... exec=./x / go > ./x`},
	{`go generate ./...`, `go generate ./...`},
	{`go test -count=1 ./...`, `go test -count=1 ./...`},
	{`cargo --config 'x' build`, `cargo --config x build`},
	{`cargo run`, `cargo run`},
	{`cargo test -- --nocapture`, `cargo test -- --nocapture`},
	{`cargo build --manifest-path x`, `cargo build --manifest-path x`},
	{`gcc -wrapper rm,x a.c`, `gcc -wrapper rm,x a.c exec=rm,x read=/w/a.c / gcc > rm,x`},
	{`gcc -B/x a.c`, `gcc -B/x a.c read=/w/a.c`},
	{`openssl enc -in a -out b`, `openssl enc -in a -out b read=/w/a write=/w/b`},
	{`xxd -r a b`, `xxd -r a b read=/w/a write=/w/b`},
	{`dd if=/dev/zero of=/etc/x`, `dd if=/dev/zero of=/etc/x [complete] read=/dev/zero write=/etc/x`},
	{`tee /etc/x`, `tee /etc/x [complete] write=/etc/x`},
	{`install -m 755 a /usr/bin/x`, `install -m 755 a /usr/bin/x [complete] write=/usr/bin/x read=/w/a`},
	{`ln -sf a /etc/x`, `ln -sf a /etc/x [complete] write=/etc/x read=/w/a`},
	{`truncate -s 0 /etc/x`, `truncate -s 0 /etc/x [complete] write=/etc/x`},
	{`cp a /etc/x`, `cp a /etc/x [complete] write=/etc/x read=/w/a`},
	{`csplit f 1`, `csplit f 1 [complete] read=/w/f write=/w/xx*`},
	{`shuf -o /etc/x f`, `shuf -o /etc/x f write=/etc/x read=/w/f`},
	{`shuf f`, `shuf f [ro] read=/w/f`},
	{`nm a`, `nm a [ro] read=/w/a`},
	{`readelf -h a`, `readelf -h a [ro] read=/w/a`},
	{`objdump -d a`, `objdump -d a`},
	{`ed f`, `ed f write=/w/f`},
	{`ex -c '!rm x' f`, `ex -c "!rm x" f exec=!rm x write=/w/f [code] / ex > rm x [complete] write=/w/x`},
	{`emacs --batch --eval '(shell-command "rm x")'`, `emacs --batch --eval "(shell-command \"rm x\")" [code] / perhaps rm`},
	{`nvim --headless +'!rm x'`, `nvim --headless "+!rm x" exec=!rm x [code] / nvim > rm x [complete] write=/w/x`},
	{`psql -c '\! rm x'`, `psql -c "\\! rm x" [code] / perhaps rm`},
	{`sqlite3 a.db '.shell rm x'`, `sqlite3 a.db ".shell rm x" write=/w/a.db [code] / perhaps rm`},
	{`mysql -e '\! rm x'`, `mysql -e "\\! rm x" [code] / perhaps rm`},
	{`history -w /etc/x`, `history -w /etc/x write=/etc/x`},
	{`fc -e rm`, `fc -e rm exec=rm / fc > rm [complete]`},
	{`fc -s rm=ls`, `fc -s rm=ls`},
	{`exec 3<>/dev/tcp/h/80`, `exec connect=h:80 [network] / ? redefine`},
	{`cat <&3`, `cat [ro]`},
	{`mapfile -t a < f`, `mapfile -t a read=/w/f`},
	{`for ((i=0; i<3; i++)); do echo $i; done`, `echo ⟨$i⟩ [ro]`},
	{`i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done`, `i= / [ ⟨$i⟩ -lt 3 ] / echo ⟨$i⟩ [ro] / i= / ? computed`},
	{`git log $(git rev-parse HEAD)`, `git rev-parse HEAD [ro] / git log ⟨$(git rev-parse HEAD)⟩ [ro]`},
	{`git diff "$(git merge-base main HEAD)"..HEAD --stat`, `git merge-base main HEAD [ro] / git diff ⟨$(git merge-base main HEAD)..HEAD⟩ --stat [ro]`},
	{`git diff $(git rev-parse --output=x)`, `git rev-parse --output=x / git diff ⟨$(git rev-parse --output=x)⟩ read?=$(git rev-parse --output=x)`},
	{`git diff $(git rev-parse HEAD):.env`, `git rev-parse HEAD [ro] / git diff ⟨$(git rev-parse HEAD):.env⟩ read?=.env`},
	{`su a -c 'rm x'`, `su a -c "rm x" exec=rm x / su > rm x [complete] write?=x`},
	{`su -c 'rm x' a`, `su -c "rm x" a exec=rm x / su > rm x [complete] write?=x`},
	{`runuser a -c 'rm x'`, `runuser a -c "rm x" exec=rm x / runuser > rm x [complete] write?=x`},
	{`runuser -u a rm x`, `runuser -u a rm x / runuser > rm x [complete] write?=x`},
	{`runuser -u a -- rm -rf x`, `runuser -u a -- rm -rf x / runuser > rm -rf x [complete] write?=x`},
	{`script out.txt -c 'rm x'`, `script out.txt -c "rm x" exec=rm x write=/w/out.txt / script > rm x [complete] write=/w/x`},
	{`for i in 1 2 3; do echo $((i*2)); done`, `echo ⟨$((i * 2))⟩ [ro]`},
	{`for i in {1..5}; do sleep $i; [ $i -eq 3 ] && echo x; done`, `sleep ⟨$i⟩ [ro] / [ ⟨$i⟩ -eq 3 ] / echo x [ro] / ? computed`},
	{`for i in $(seq 1 5); do echo $((i+1)); done`, `seq 1 5 [ro] / echo ⟨$((i + 1))⟩ [ro]`},
	{`n=0; while read -r l; do n=$((n+1)); done < f; echo $n`, `n= / [ro] read=/w/f / read -r l [ro] / n= / echo ⟨$n⟩ [ro]`},
	{`n=$(wc -l < f); echo $((n+1))`, `wc -l [ro] read=/w/f / n= / echo ⟨$((n + 1))⟩ [ro] / ? computed`},
	{`i=0; i='a[$(id)]'; echo $((i))`, `i= / i= / echo ⟨$((i))⟩ [ro] / ? computed`},
	{`i=0; read i < f; echo $((i))`, `i= / read i [ro] read=/w/f / echo ⟨$((i))⟩ [ro] / ? computed`},
	{`i=0; eval "$x"; echo $((i))`, `i= / eval ⟨$x⟩ / echo ⟨$((i))⟩ [ro] / ? computed`},
	{`bash -c 'i=0; ((i++))'`, `bash -c "i=0; ((i++))" / bash > i= / ? computed`},
	{`env 'i=a[$(id)]' bash -c '((i++)); i=0'`, `i= env i=a[$(id)] bash -c "((i++)); i=0" / env > i= bash -c "((i++)); i=0" / env > bash > i= / ? computed`},
	{`x=5; ((x += y))`, `x= / ? computed`},
	{`((x = 1)) && echo y`, `echo y [ro]`},
	{`((PATH = 1))`, `? computed`},
	{`printf -v i 'a[$(id)]'; i=0; echo $((i))`, `printf -v i a[$(id)] / i= / echo ⟨$((i))⟩ [ro] / ? redefine / ? computed`},
	{`a=(1 2); for ((i=0; i<${#a[@]}; i++)); do echo "${a[$i]}"; done`, `a= / echo ⟨${a[$i]}⟩ [ro]`},
	{`i=0; declare -n i=z; ((i++))`, `i= / i= declare -n i=z / ? computed`},
	{`count=0; for f in *.go; do count=$((count + 1)); done; echo "total: $count"`, `count= / count= / echo ⟨total: $count⟩ [ro]`},
	{`i=1; for ((;i<3;)); do i+=1; done`, `i= / i=`},
	{`i=0; \read i < f; echo $((i))`, `i= / read i [ro] read=/w/f / echo ⟨$((i))⟩ [ro] / ? computed`},
	{`i=0; {read,i} < f; echo $((i))`, `i= / read i [ro] read=/w/f / echo ⟨$((i))⟩ [ro] / ? computed`},
	{`n=1; printf \-v n 'a[$(id)]'; echo $((n))`, `n= / printf -v n a[$(id)] / echo ⟨$((n))⟩ [ro] / ? redefine / ? computed`},
}
