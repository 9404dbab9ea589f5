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
socat       opaque
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
fd          fd      x!* X!* exec!* exec-batch!* H I u s i g F a l L p 0 e: E: t: d: c: S: o: j: hidden no-ignore extension: exclude: type: max-depth: min-depth: exact-depth: case-sensitive ignore-case glob fixed-strings absolute-path follow full-path print0 size: changed-within: changed-before: owner: color: threads: base-directory: max-results: list-details* 
man         opaque  P!* pager!* H!* html!* C<* config-file<* M:* manpath:* B!* browser!* preprocessor:* p:* l<
less        opaque  k<* lesskey-file<* lesskey-src<* o> O> log-file> LOG-FILE> t: T< tag: p: P: b: x: y: z: j: +:*
more        read    d f l p c s u n:
tar         tar     f: file: C: directory: T<* files-from<* X< exclude-from< I!* use-compress-program!* F!* info-script!* new-volume-script!* to-command!* checkpoint-action:* rsh-command!* rmt-command!* g> listed-incremental> exclude: strip-components: transform: xform: owner: group: mode: mtime: b: H: format: K: L: N: V: index-file> volno-file> checkpoint= level: c x t r u A d z j J Z a v p P h k m o s w W S O O l i B create extract get list append update concatenate diff compare delete gzip bzip2 xz zstd lzma auto-compress verbose preserve-permissions absolute-names dereference keep-old-files overwrite to-stdout one-file-system wildcards no-same-owner remove-files numeric-owner
zip         last    TT:* unzip-command!* r q x: i: j y u m d: 0 1 9
unzip       unzip   d> o n q l t v p j x: Z a
7z          opaque
cpio        opaque  F: rsh-command!* to-stdout
git         git
make        opaque  f<* file<* C: directory: E!* eval!* I: include-dir: o: W: j= n k s B SHELL:*
gdb         opaque  x<* command<* ex:* eval-command:* iex:* init-command<*
vim         edit    c:* S<* u<* cmd:* s<* w> W> i<> T: t: servername: remote-send:* remote-expr:*
vi          edit    c:* S<* u<* cmd:* s<* w> W>
nvim        edit    c:* S<* u<* cmd:* l<* es s<* w> W> i<> remote-send:* remote-expr:*
ex          edit    c:* S<* u<* cmd:*
ed          edit
emacs       edit    eval:* f:* l<* load<* funcall:* script<* batch
nano        edit
openssl     opaque  out> in< keyout> key< inkey< cert< CAfile< config<* connect@ passout: passin: engine:* provider:* passin:* randomfile<
gpg         opaque  o> output> homedir: exec-path:* keyserver@
ssh-keygen  opaque  f> D:*
ssh-add     opaque  s:* e:*
screen      opaque
tmux        opaque  f<* c!* default-shell!*
at          opaque  f<*
batch       opaque
crontab     opaque
dc          opaque  e:* expression:* f<*
bc          opaque
yq          opaque  i* inplace* 
ffmpeg      opaque  i<
convert     opaque
pip         opaque  r< requirement< t> target> c< constraint< i@ index-url@ extra-index-url@
npm         opaque
cargo       opaque  config:*
go          opaque  exec!* toolexec!* vettool!* o> C: modfile< overlay<
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
psql        opaque  c:* command:* f<* file<* o> output> L> log-file> h@ host@ d: U: p: v:
mysql       opaque  e:* execute:* h@ host@ tee> pager!*
sqlite3     opaque  cmd:* init<*
kubectl     opaque  kubeconfig< f< filename<
terraform   opaque
ansible     opaque
`

// gitRunning are git's own flags, and the flags of its commands, that run
// programs or write files.
const gitRunning = `C: c:* exec-path=* git-dir:* work-tree:* namespace: config-env:* super-prefix: list-cmds: attr-source: p* paginate* P no-pager no-replace-objects bare* literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs no-optional-locks no-lazy-fetch no-advice v version h help html-path man-path info-path`

// gitExec are the flags that run a command, whichever command of git has them.
const gitExec = `ext-diff* textconv* upload-pack!* receive-pack!* exec!* x!* extcmd!* tool:* open-files-in-pager=!* output> output-directory> template<* config:* c:* separate-git-dir> reference< gpg-sign=* S=* edit* e* interactive* i* strategy:* tree-filter!* index-filter!* msg-filter!* env-filter!* commit-filter!* parent-filter!* tag-name-filter!* smtp-server:* sendmail-cmd!* to-cmd!* cc-cmd!* F< file< m: message: C: author: date: b: B: u: o: O:* remote: format: prefix: pathspec-from-file< t: depth: branch:`
