package shell

// wrapping are programs that run the command in their operands. The second word
// of a row says whether one does nothing else to it (transparent); the third
// how many operands stand in front of the command; then flags. A flag with !
// holds a command of its own. "=" in the third word: operands NAME=VALUE come
// first.
const wrapping = `
time        transparent 0  p f: o> a v format: output> append portability verbose quiet q
nohup       transparent 0  help version
nice        transparent 0  n: adjustment: 0 1 2 3 4 5 6 7 8 9 help version
timeout     transparent 1  k: s: v f p kill-after: signal: foreground preserve-status verbose help version
stdbuf      transparent 0  i: o: e: input: output: error: help version
command     transparent 0  p v V
xargs       transparent 0  0 a< d: E: e= I: i= L: l= n: o p P: r s: t x null arg-file< delimiter: eof= replace= max-lines= max-args: open-tty interactive max-procs: no-run-if-empty max-chars: verbose exit show-limits process-slot-var: help version
env         transparent 0= i 0 u: C: S: v ignore-environment null unset: chdir: split-string: debug block-signal= default-signal= ignore-signal= list-signal-handling argv0: a: help version
builtin     runs        0
exec        runs        0  a: c l
sudo        runs        0= A b B E e H i K k l n P S s V v C: D: g: h: p: R: r: T: t: U: u: askpass background bell close-from: chdir: preserve-env= edit group: set-home host: login remove-timestamp reset-timestamp list non-interactive preserve-groups prompt: chroot: role: stdin shell type: command-timeout: other-user: user: validate version
doas        runs        0  a: C: L n s u:
pkexec      runs        0  u: user: disable-internal-agent keep-cwd
runuser     su          0  u: g: G: l m p P user: group: supp-group: login preserve-environment c! command! s: shell: session-command!
su          su          0  c! command! l m p P s: g: G: w: f login preserve-environment shell: group: supp-group: session-command! whitelist-environment: pty fast
gosu        runs        1
su-exec     runs        1
setpriv     runs        0  d dump reuid: regid: euid: ruid: egid: rgid: groups: clear-groups keep-groups init-groups no-new-privs inh-caps: ambient-caps: bounding-set: securebits: pdeathsig: reset-env selinux-label: apparmor-profile: list-caps
setsid      runs        0  c f w ctty fork wait
ionice      runs        0  c: n: p: P: u: t class: classdata: pid: ignore
chrt        runs        1  a b d f i o r m p R v T: P: D: all-tasks batch deadline fifo idle other rr max pid reset-on-fork sched-runtime: sched-period: sched-deadline: verbose
taskset     runs        1  a c p all-tasks cpu-list pid
numactl     runs        0  a i: interleave: p: preferred: m: membind: N: cpunodebind: C: physcpubind: l localalloc all
prlimit     runs        0  p: o: noheadings raw verbose c= d= e= f= i= l= m= n= q= r= s= t= u= v= x= y= core= data= nice= fsize= nofile= nproc= as= cpu= stack= rss=
flock       flock       1  c! command! e x s n o u w: E: F v exclusive shared nonblock nb close unlock wait: timeout: conflict-exit-code: no-fork verbose
watch       text        0  b c d= e g n: p q: r t x w beep color differences= errexit chgexit interval: precise equexit: no-title exec no-wrap no-rerun
unshare     runs        0  i= m= n= p= u= U= C= T= f r c R: w: S: G: ipc= mount= net= pid= uts= user= cgroup= time= fork root: wd: setuid: setgid: map-root-user map-user: map-group: map-current-user map-auto mount-proc= propagation: setgroups: kill-child= keep-caps
nsenter     runs        0  a t: m= u= i= n= p= C= U= T= S: G: r= w= F Z all target: mount= uts= ipc= net= pid= cgroup= user= time= setuid: setgid: preserve-credentials root= wd= no-fork
chroot      runs        1  groups: userspec: skip-chdir
fakeroot    runs        0  l: s> i< u b: lib: faked: unknown-is-real
firejail    opaque      0
bwrap       opaque      0
proot       opaque      0
systemd-run opaque      0
systemd-inhibit runs    0  what: who: why: mode: list
dbus-run-session runs   0  config-file<
dbus-launch runs        0
strace      runs        0  c C f F i k q r t T v w x y z Z D d a: b: e: E: I: o> O: p: P: s: S: u: U: X: output> trace: attach: user: follow-forks
ltrace      runs        0  a: A: b c C d e: f F: i L l: n: o> p: r s: S t T u: w: x:
valgrind    opaque      0
perf        opaque      0
script      script      0  a c! command! e f q t= T> B> I> O> E: m: o: append return flush force quiet timing= log-timing> log-io> log-in> log-out> echo: logging-format: output-limit:
unbuffer    runs        0  p
rlwrap      opaque      0
proxychains runs        0  q f<
proxychains4 runs       0  q f<
torsocks    runs        0  i p: P: a: u:
torify      runs        0
chronic     runs        0  e v
ifne        runs        0  n
caffeinate  runs        0  d i m s u t: w:
setarch     opaque      0
linux64     runs        0  R 3
cgexec      runs        0  g: sticky
choom       runs        0  n: p: adjust: pid:
busybox     runs        0
toybox      runs        0
parallel    text        0  j: jobs: k keep-order a< arg-file< I: N: n: L: X m 0 null v verbose t progress bar eta joblog> results> sshlogin:* S:* tmux pipe colsep: C: d: dry-run halt: will-cite r q
entr        entr        0  a c d n p r s x z
direnv      opaque      0
mise        opaque      0
nix-shell   opaque      0  run! command!
devbox      opaque      0
npx         runs        0  y yes no p: package: c! call! q quiet w: workspace:
bunx        runs        0  bun
pipx        opaque      0
uvx         runs        0  from: with: p: python: q v
poetry      second      0  run
pipenv      second      0  run
uv          second      0  run tool/run x
bundle      second      0  exec
rbenv       second      0  exec
pyenv       second      0  exec
conda       opaque      0
pnpm        second      0  exec dlx
yarn        second      0  exec dlx
npm         second      0  exec x
opam        second      0  exec
stack       second      0  exec
dotenv      opaque      0
hyperfine   text        0  w: warmup: m: M: r: runs: min-runs: max-runs: p! prepare! s! setup! c! cleanup! conclude! n: command-name: N i ignore-failure export-json> export-csv> export-markdown> show-output style: shell!* S!* parameter-list: L: P: parameter-scan: input< output>
bun         second      0  x
yarnpkg     second      0  exec dlx
hatch       second      0  run
pdm         second      0  run
rye         second      0  run
op          second      0  run
doppler     second      0  run
infisical   second      0  run
dotenvx     second      0  run
flatpak     second      0  run
snap        second      0  run
asdf        second      0  exec
nvm         second      0  exec
fnm         second      0  exec
volta       second      0  run
rr          second      0  record
coverage    opaque      0
aws-vault   opaque      0
chamber     opaque      0
sops        opaque      0
envchain    runs        1
envdir      runs        1
envconsul   opaque      0
dumb-init   runs        0  c v rewrite: single-child
tini        runs        0  s g v w p: e:
catatonit   runs        0
faketime    runs        1  f m p: exclude-monotonic
eatmydata   runs        0
xvfb-run    runs        0  a n: e> f: s: w: auto-servernum server-num: error-file> server-args:
ccache      opaque      0
sccache     opaque      0
distcc      opaque      0
cross-env   runs        0=
cross-env-shell text    0=
env-cmd     opaque      0
nodemon     opaque      0  x! exec!
watchexec   opaque      0  c n w: e: i:
watchman-make opaque    0  run!
reflex      opaque      0
concurrently each       0  k n: names: c: r raw kill-others s:
wsl         opaque      0
cmd         opaque      0
cmd.exe     opaque      0
tmux        opaque      0
screen      opaque      0
dtach       opaque      0
abduco      opaque      0
tsp         opaque      0
start-stop-daemon opaque 0 exec! x! startas! a!
daemonize   opaque      0
sg          sg          0
newgrp      opaque      0
runcon      opaque      0
aa-exec     opaque      0
capsh       opaque      0
machinectl  opaque      0
toolbox     opaque      0
distrobox   opaque      0
nix         opaque      0
lldb        opaque      0  o! O! one-line! one-line-before-file!
memusage    opaque      0
heaptrack   opaque      0
py-spy      opaque      0
cpulimit    opaque      0
systemd-cat runs        0  t: p: identifier: priority: level-prefix: stderr-priority:
ssh-agent   opaque      0
gpg-agent   opaque      0
chpst       opaque      0
setuidgid   runs        1
softlimit   opaque      0
s6-setuidgid runs       1
linux32     runs        0  R 3
i386        runs        0  R 3
x86_64      runs        0  R 3
nsjail      opaque      0
fakechroot  opaque      0
arch-chroot opaque      0
sem         text        0  j: id: fg
docker      docker      0
podman      docker      0
nerdctl     docker      0
docker-compose docker   0
kubectl     docker      0
oc          docker      0
lxc         docker      0
vagrant     opaque      0
ssh         ssh         1  4 6 A a C f G g K k M N n q s T t V v X x Y y B: b: c: D: E> e: F<* I:* i< J@ L: l: m: O: o:* P: p: Q: R: S: W: w:
mosh        ssh         1  ssh!* p: port: 4 6
sshpass     runs        0  p: d: f< e P: v
assh        opaque      0
trap        trap        0
eval        eval        0
`

// shells run the text of -c, or a file, or what they read.
const shells = ` sh bash dash zsh ksh mksh ash yash fish rbash csh tcsh pwsh powershell `

// interpreters run the text of a flag in a language of their own.
const interpreters = `
python -c    perl -e -E  ruby -e  node -e -p --eval --print  nodejs -e -p --eval --print  php -r -B -R -E  lua -e  luajit -e  deno eval  bun -e  Rscript -e  osascript -e  tclsh  expect -c  ghci -e  guile -c  elixir -e  erl -eval  julia -e -E  swift -e  scala -e  groovy -e  jshell  octave --eval  sqlite3  irb  raku -e  xonsh -c  nu -c  elvish -c  iex -e  gjs -c  janet -e  racket -e  sbcl --eval  R -e  wish  pypy -c  ipython -c  py -c  micropython -c
`

// harmless are the variables for which no known program runs other code, reads
// other files or connects elsewhere. LC_* are too.
const harmless = ` LANG LANGUAGE TZ NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES CI GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS GIT_PAGER_IN_USE DEBIAN_FRONTEND PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE RUST_BACKTRACE CGO_ENABLED GOOS GOARCH GOMAXPROCS `
