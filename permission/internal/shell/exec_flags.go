package shell

// running are programs that do more than can be told from their words, with the
// flags of them that run a command (!), write (>) or read (<) a file, or connect
// (@) – so that rules on those can look at them – and the flags that take a
// value, without which the rest would be misread.
const running = `
curl        connect o> output> O* remote-name* D> dump-header> c> cookie-jar> T< upload-file< K<* config<* d:@ data:@ data-binary:@ data-ascii:@ data-urlencode:@ data-raw: json:@ F:@ form:@ form-string: b: cookie: E< cert< key< cacert< capath< x@ proxy@ preproxy@ socks5@ socks5-hostname@ socks4@ H:@ header:@ X: request: u: user: A: user-agent: e: referer: m: max-time: connect-timeout: retry: retry-delay: w: write-out: r: range: y: Y: z: C: Q: quote: trace> trace-ascii> stderr> libcurl> hsts> alt-svc> etag-save> etag-compare< netrc-file< output-dir> resolve: connect-to: url@ L s S f k i I v N g G j J* n p q R l a B 0 1 2 3 4 6 location silent show-error fail insecure include head verbose compressed get fail-with-body no-progress-meter progress-bar ssl-reqd limit-rate: max-redirs: max-filesize: unix-socket> abstract-unix-socket: interface: dns-servers: doh-url@ ciphers: tlsv1.2 tlsv1.3 http1.1 http2 engine:* pubkey< proxy-header: proxy-user: oauth2-bearer: mail-from: mail-rcpt: aws-sigv4:
wget        connect O> output-document> o> output-file> a> append-output> P> directory-prefix> i< input-file< e:* execute:* config< use-askpass! post-file< body-file< load-cookies< save-cookies> ca-certificate< certificate< private-key< warc-file> U: user-agent: t: tries: T: timeout: w: l: level: A: R: D: header: post-data: body-data: method: user: password: referer: q v c N r k p m np nc nv nd S quiet verbose continue recursive mirror spider no-check-certificate
nc          connect e!* c!* l p: s: w: x@ exec!* sh-exec!*
ncat        connect e!* c!* l p: s: w: exec!* sh-exec!* lua-exec<* proxy@
netcat      connect e!* c!* l p: s: w:
socat       socat
telnet      connect
ftp         connect
sftp        remote  o:* P: i< b< F< S!* J@ s:*
scp         remote  o:* P: i< F< S!* J@ c: l: D!* r p q C v 3 4 6
rsync       remote  e!* rsh!* rsync-path!* o g p t r l a v z n u q H A X S x P b c R d W y m h D password-file< files-from< exclude-from< include-from< exclude: include: log-file> backup-dir> temp-dir> partial-dir> compare-dest< link-dest< write-batch> read-batch< filter: f: port: delete delete-after delete-before delete-excluded archive verbose compress dry-run update progress partial stats info: bwlimit: timeout: chmod: out-format: remote-option: M: T> config<
ping        connect c: i: I: s: t: W: w: q n 4 6
dig         connect f< b: c: k< p: q: t: x:
nslookup    connect
host        connect t: c: W: R:
whois       connect h@ p:
traceroute  connect
sed         sed     n e$ expression$ f<%* file<%* i=* in-place=* E r s u z l: line-length: quiet silent regexp-extended separate unbuffered null-data posix follow-symlinks sandbox debug help version
awk         awk     F: v: f<%* file<%* field-separator: assign: e$ source$ i<* include<* l<* load<* E<%* exec<%* o=* p=* d=* D=* profile=* pretty-print=* dump-variables=* debug=* S sandbox b c C O P r s t V csv
gawk        awk     F: v: f<%* file<%* field-separator: assign: e$ source$ i<* include<* l<* load<* E<%* exec<%* o=* p=* d=* D=* profile=* pretty-print=* dump-variables=* debug=* S sandbox b c C O P r s t V csv
mawk        awk     F: v: f<%* W:*
nawk        awk     F: v: f<%*
find        find
fd          fd      x!* X!* exec!* exec-batch!* H I u s i g F a l* L p 0 1 q e: E: t: d: c: S: o: j: hidden no-ignore extension: exclude: type: max-depth: min-depth: exact-depth: case-sensitive ignore-case glob fixed-strings absolute-path follow full-path print0 size: changed-within: changed-before: owner: color: threads: base-directory< max-results: list-details* help version
fdfind      fd      x!* X!* exec!* exec-batch!* H I u s i g F a l* L p 0 1 q e: E: t: d: c: S: o: j: hidden no-ignore extension: exclude: type: max-depth: glob absolute-path
man         opaque  P!* pager!* H!* html!* C<* config-file<* M:* manpath:* B!* browser!* preprocessor:* p:* l<
less        opaque  k<* lesskey-file<* lesskey-src<* o> O> log-file> LOG-FILE> t: T< tag: p: P: b: x: y: z: j: +:*
more        read    d f l p c s u n:
tar         tar     f: file: C: directory: T<* files-from<* X< exclude-from< I!* use-compress-program!* F!* info-script!* new-volume-script!* to-command!* checkpoint-action:* rsh-command!* rmt-command!* g> listed-incremental> exclude: strip-components: transform: xform: owner: group: mode: mtime: b: H: format: K: L: N: V: index-file> volno-file> checkpoint= level: c x t r u A d z j J Z a v p P h k m o s w W S O O l i B create extract get list append update concatenate diff compare delete gzip bzip2 xz zstd lzma auto-compress verbose preserve-permissions absolute-names dereference keep-old-files overwrite to-stdout one-file-system wildcards no-same-owner remove-files numeric-owner
zip         last    TT!* unzip-command!* r q x: i: j y u m d: T 0 1 9 e P: b:
unzip       unzip   d: o n q l t v p c j x: Z a
7z          opaque
cpio        opaque  F: rsh-command!* to-stdout
git         git
make        opaque  f<* file<* C: directory: E$* eval$* I: include-dir: o: W: j= n k s B SHELL:*
gdb         debug   x<* command<* ex$* eval-command$* iex$* init-eval-command$* init-command<* p: pid: c: core: cd: d: args batch q n nx quiet
vim         edit    c:* S<* u<* cmd:* s<* w> W> i<> T: t: servername: remote-send:* remote-expr:* e s R n N b d y Z es headless clean
vi          edit    c:* S<* u<* cmd:* s<* w> W> e s R n N b d y Z es headless clean
nvim        edit    c:* S<* u<* cmd:* l<* es s<* w> W> i<> remote-send:* remote-expr:* e s R n N b d y Z es headless clean
ex          edit    c:* S<* u<* cmd:* e s R n N b d y Z es headless clean
ed          edit
emacs       edit    eval$* f:* l<* load<* funcall$* script<* execute$* batch q Q nw
nano        edit
openssl     opaque  out> in< keyout> key< inkey< cert< CAfile< config<* connect@ passout: passin: engine:* provider:* passin:* randomfile<
pandoc      read    o> output> f: from: r: read: t: to: w: write: F!* filter!* lua-filter<* L<* pdf-engine!* template<* defaults<* d<* H< B< A< include-in-header< include-before-body< include-after-body< css: c: metadata-file< M: metadata: V: variable: bibliography< csl< data-dir<* extract-media> resource-path: log> syntax-definition<* reference-doc< s standalone toc N
gpg         opaque  o> output> homedir: exec-path:* keyserver@
ssh-keygen  opaque  f> D:*
ssh-add     opaque  s:* e:*
screen      opaque
tmux        opaque  f<* c!* default-shell!*
at          opaque  f<* q: t: m M l r d v
batch       opaque
crontab     opaque
dc          sql     e$* expression$* f<*
bc          opaque
yq          yq      i* inplace* in-place* r P o: p: e n N C M s> y Y j f<% from-file<%  indent: output-format: input-format: expression%: prettyPrint null-input no-colors colors raw-output exit-status
ffmpeg      media   i< f: c: vf: af: ss: t: to: r: b: s: map: filter_complex: y n pass: passlogfile> progress>
ffprobe     opaque  i<
convert     media
magick      media
pip         opaque  r< requirement< t> target> c< constraint< i@ index-url@ extra-index-url@
npm         opaque
cargo       opaque  config:*
go          opaque  exec!* toolexec!* vettool!* o> C: modfile< overlay< run: tags: count: timeout: ldflags: gcflags: p: mod: pkgdir: cpuprofile> memprofile> coverprofile> blockprofile> trace> outputdir> bench: benchtime: covermode: coverpkg: parallel: cpu: fuzz: fuzztime: skip: list: f: html< func< v x n race a u m i d s json short
gcc         compile o> B:* wrapper!* specs<* fplugin:* x: I: L: l: D: U: include< imacros<
cc          compile o> B:* wrapper!* specs<* fplugin:* x: I: L: l: D: U: include< imacros<
clang       compile o> B:* fplugin:* x: I: L: l: D: U: include<
patch       opaque  i< input< o> output> d: p: r> reject-file>
history     opaque  a>* w>* r<* n<* s* p* c* d:*
fc          opaque  e!* s:*
mapfile     opaque  C!* c: d: n: O: s: u: t
readarray   opaque  C!* c: d: n: O: s: u: t
complete    opaque  C!* F:* W:*
compgen     opaque  C!* F:* W:*
bind        opaque  x:* f<*
systemctl   opaque
service     opaque
launchctl   opaque
psql        sql     c$* command$* f<* file<* o> output> L> log-file> h@ host@ d: U: p: v: t A q x X w W
mysql       sql     e$* execute$* h@ host@ tee> pager!* u: D: P:
sqlite3     opaque  cmd:* init<*
kubectl     opaque  kubeconfig< f< filename<
terraform   opaque
ansible     opaque
m4          sql
gnuplot     sql     e$*
mongosh     sql     eval$*
redis-cli   sql     eval<*
`

// gitRunning are git's own flags, and the flags of its commands, that run
// programs or write files.
const gitRunning = `C: c:* exec-path=* git-dir:* work-tree:* namespace: config-env:* super-prefix: list-cmds: attr-source: p* paginate* P no-pager no-replace-objects bare* literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs no-optional-locks no-lazy-fetch no-advice v version h help html-path man-path info-path`

// gitExec are the flags that run a command, whichever command of git has them.
const gitExec = `ext-diff* textconv* upload-pack!* receive-pack!* exec!* x!* extcmd!* tool:* open-files-in-pager=!* output> output-directory> template<* config:* c:* separate-git-dir> reference< gpg-sign=* S=* edit* e* interactive* i* strategy:* tree-filter!* index-filter!* msg-filter!* env-filter!* commit-filter!* parent-filter!* tag-name-filter!* smtp-server:* httpd!* sendmail-cmd!* to-cmd!* cc-cmd!* F< file< m: message: C: author: date: b: B: u: o: O:* remote: format: prefix: pathspec-from-file< t: depth: branch:`
