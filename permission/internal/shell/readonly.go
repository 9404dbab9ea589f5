package shell

// readOnly are the programs that change nothing, with every flag that is known
// of them. A flag that is not here, or one that is marked, takes that away.
//
// git reads the repository's own configuration, which may name programs: to
// trust a folder is to trust that.
const readOnly = `
echo        any
true        any
false       any
:           any
test        test
[           test
cd          text  L P e
exit        text
return      text
break       text
continue    text
shift       text
wait        none
times       none
jobs        none  l p r s
umask       none  S p
set         set
printf      text  v:*
pwd         none  L P logical physical
ls          read  a A b B c C d D f F g G h H i I: k l L m n N o p q Q r R s S t T: u U v w: x X Z 1 all almost-all author escape block-size: ignore-backups color= directory dired file-type format: classify= full-time group-directories-first no-group human-readable si dereference-command-line dereference-command-line-symlink-to-dir hide: hyperlink= indicator-style: inode ignore: kibibytes dereference numeric-uid-gid literal hide-control-chars show-control-chars quote-name quoting-style: reverse recursive size sort: time: time-style: tabsize: width: context zero help version
cat         read  A b e E n s t T u v show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting help version
tac         read  b r s: before regex separator: help version
head        read  c: n: q v z 0 1 2 3 4 5 6 7 8 9 bytes: lines: quiet silent verbose zero-terminated help version
tail        read  c: n: q v z f F s: 0 1 2 3 4 5 6 7 8 9 bytes: lines: quiet silent verbose zero-terminated follow= retry pid: sleep-interval: max-unchanged-stats: help version
wc          read  c m l L w bytes chars lines max-line-length words files0-from< total: help version
nl          read  b: d: f: h: i: l: n: p s: v: w: body-numbering: section-delimiter: footer-numbering: header-numbering: line-increment: join-blank-lines: number-format: no-renumber number-separator: starting-line-number: number-width: help version
od          read  A: j: N: S= t: v w= a b c d f i l o s x address-radix: skip-bytes: read-bytes: strings= format: output-duplicates width= endian: help version
hexdump     read  b c C d n: o s: v x e: f< canonical length: skip: no-squeezing help version
xxd         inout a b c: C d e g: i l: n: o: p u s: E
strings     read  a d f n: t: o e: w s: T: all data print-file-name bytes: radix: encoding: include-all-whitespace help version
file        read  b i h L k N n p r s 0 e: F: m< f< brief mime mime-type mime-encoding dereference no-dereference keep-going no-pad raw special-files exclude: separator: magic-file< files-from< extension help version
stat        read  L f c: t dereference file-system format: printf: terse cached: help version
du          tree  a 0 b B: c d: D h H k l L m P s S t: x X< all null apparent-size bytes block-size: total max-depth: dereference-args human-readable si dereference no-dereference separate-dirs summarize threshold: time= time-style: one-file-system exclude-from< exclude: inodes help version
df          read  a B: h H i k l P t: T x: all block-size: human-readable si inodes local no-sync output= portability sync total type: print-type exclude-type: help version
grep        grep  E F G P e% f<% i y v w x c L l m: o q s b H h n T Z z A: B: C: a I d: D: r R U u 0 1 2 3 4 5 6 7 8 9 extended-regexp fixed-strings basic-regexp perl-regexp regexp% file<% ignore-case no-ignore-case invert-match word-regexp line-regexp count color= colour= files-without-match files-with-matches max-count: only-matching quiet silent no-messages byte-offset with-filename no-filename label: line-number initial-tab null null-data after-context: before-context: context: text binary-files: exclude: exclude-from< exclude-dir: include: line-buffered directories: devices: recursive dereference-recursive binary help version
rg          grep  A: B: C: c E: e% f<% F g: H h i I j: l L m: M: n N o p P q r: S s t: T: u U v V w x . 0 d: a z* pre!* pre-glob: hostname-bin!* search-zip* after-context: before-context: context: count count-matches color: colors: column context-separator: crlf debug dfa-size-limit: encoding: engine: regexp% file<% files files-with-matches files-without-match fixed-strings follow glob: glob-case-insensitive heading no-heading hidden iglob: ignore-case ignore-file< ignore-file-case-insensitive include-zero invert-match json line-buffered line-number line-regexp max-columns: max-columns-preview max-count: max-depth: max-filesize: mmap multiline multiline-dotall no-column no-config no-filename no-hidden no-ignore no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global no-ignore-messages no-ignore-parent no-ignore-vcs no-line-number no-messages no-mmap null null-data one-file-system only-matching passthru path-separator: pcre2 pcre2-version pretty quiet replace: search-binary smart-case sort: sortr: stats text threads: trim type: type-add: type-list type-not: unrestricted vimgrep with-filename word-regexp help version
sort        read  b d f g h i M n r R s u V c C m z k: t: S: o> T:> ignore-leading-blanks dictionary-order ignore-case general-numeric-sort human-numeric-sort ignore-nonprinting month-sort numeric-sort random-sort random-source< reverse sort: version-sort batch-size: check= compress-program!* debug files0-from< key: merge output> stable buffer-size: field-separator: temporary-directory> parallel: unique zero-terminated help version
uniq        inout c d D f: i s: u w: z count repeated all-repeated= skip-fields: group= ignore-case skip-chars: unique zero-terminated check-chars: help version
cut         read  b: c: d: f: n s z bytes: characters: delimiter: fields: complement only-delimited output-delimiter: zero-terminated help version
tr          text  c C d s t complement delete squeeze-repeats truncate-set1 help version
comm        read  1 2 3 z check-order nocheck-order output-delimiter: total zero-terminated help version
join        read  a: e: i j: o: t: v: 1: 2: z ignore-case check-order nocheck-order header zero-terminated help version
paste       read  d: s z delimiters: serial zero-terminated help version
column      read  t s: o: n: N: c: d e l: L m r: R: T: W: x table separator: output-separator: json help version
fold        read  b s w: bytes spaces width: help version
fmt         read  c p: s t u w: g: help version
expand      read  i t: initial tabs: help version
unexpand    read  a t: all first-only tabs: help version
rev         read  0 help version
seq         text  f: s: w format: separator: equal-width help version
diff        tree  a b B c C: d e E i I: n N p q r s S: t T u U: w W: x: X< y Z 0 1 2 3 4 5 6 7 8 9 text ignore-space-change ignore-blank-lines brief context= unified= ed rcs side-by-side report-identical-files show-c-function show-function-line: label: expand-tabs initial-tab tabsize: suppress-blank-empty recursive no-dereference new-file unidirectional-new-file ignore-file-name-case exclude: exclude-from< starting-file: from-file< to-file< ignore-case ignore-tab-expansion ignore-trailing-space ignore-all-space ignore-matching-lines: strip-trailing-cr minimal horizon-lines: speed-large-files color= palette: width: left-column suppress-common-lines normal help version
cmp         read  b i: l n: s print-bytes ignore-initial: verbose bytes: quiet silent help version
md5sum      read  b c t z w binary check tag text zero ignore-missing quiet status strict warn help version
sha1sum     read  b c t z w binary check tag text zero ignore-missing quiet status strict warn help version
sha256sum   read  b c t z w binary check tag text zero ignore-missing quiet status strict warn help version
sha512sum   read  b c t z w binary check tag text zero ignore-missing quiet status strict warn help version
b2sum       read  b c t z w l: length: binary check tag text zero ignore-missing quiet status strict warn help version
cksum       read  a: algorithm: help version
base64      read  d i w: o> output> decode ignore-garbage wrap: help version
base32      read  d i w: o> output> decode ignore-garbage wrap: help version
date        date  d: f< I= r< R u s:* date: file< iso-8601= reference< rfc-email rfc-3339: set:* utc universal help version
cal         text  1 3 s m j y
basename    text  a s: z multiple suffix: zero help version
dirname     text  z zero help version
realpath    read  e m L P q s z canonicalize-existing canonicalize-missing logical physical quiet strip no-symlinks zero relative-to< relative-base< help version
readlink    read  f e m n q s v z canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero help version
which       text  a
type        text  a f p P t
uname       none  a s n r v m p i o all kernel-name nodename kernel-release kernel-version machine processor hardware-platform operating-system help version
whoami      none  help version
id          text  a Z g G n r u z context group groups name real user zero help version
groups      text  help version
hostname    none  a A d f i I s y all-fqdns all-ip-addresses fqdn long ip-address short help version
arch        none  help version
nproc       none  all ignore: help version
uptime      none  p s pretty since help version
free        none  b k m g h w t l c: s: bytes kilo mega giga human wide total lohi help version
printenv    text  0 null help version
locale      text  a m
tty         none  s silent quiet
ps          text  A a d e f F j l u x w o: p: C: U: t: H aux pid: sort: no-headers forest
pgrep       text  a c d: f g: i l n o P: s: t: u: U: v w x
tree        tree  a d f l x L: P: I: o> p s h u g D F n C i A S N Q r t U c J X dirsfirst prune noreport filelimit: gitignore help version
sleep       text
yes         text
shuf        read  e i: n: o> r z echo input-range: head-count: output> random-source< repeat zero-terminated help version
tsort       read  help version
numfmt      text  d: z from: to: field: format: header= invalid: padding: round: suffix: delimiter: debug grouping zero-terminated help version
zcat        read  f q v
bzcat       read  s
xzcat       read  f q v
zstdcat     read  f q v
lz4cat      read  f q v
zipinfo     read  1 2 h l m s t T v z
nm          read  a A C D g l n p P r s S u W defined-only demangle= dynamic extern-only line-numbers numeric-sort no-sort print-armap print-file-name print-size radix: size-sort undefined-only help version
size        read  A B d o t x G format: radix: totals common help version
readelf     read  a h l S g t e s n r u d V A c D i x: p: R: z w= I W T all file-header program-headers segments section-headers sections section-groups section-details headers syms symbols dyn-syms notes relocs unwind dynamic version-info arch-specific archive-index use-dynamic hex-dump: string-dump: wide help version
read        read1 a: d: e i: n: N: p: r s t: u:
jq          jq      f<% from-file<% r c n s e a S C M j R h L: raw-output compact-output null-input slurp exit-status ascii-output sort-keys color-output monochrome-output join-output raw-input tab indent:
`

// gitDiff are the flags that all of git's commands have that show changes.
const gitDiff = ` p u s U: W n a b w z R M= C= B= D l: S: G: O< patch no-patch unified: raw patch-with-raw patch-with-stat minimal patience histogram anchored: diff-algorithm: stat= compact-summary numstat shortstat summary dirstat= cumulative name-only name-status submodule= color= no-color color-moved= no-color-moved color-moved-ws: word-diff= word-diff-regex: color-words= no-renames rename-empty check ws-error-highlight: full-index binary abbrev= break-rewrites= find-renames= find-copies= find-copies-harder irreversible-delete diff-filter: pickaxe-all pickaxe-regex skip-to: rotate-to: relative= no-relative text ignore-cr-at-eol ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines: inter-hunk-context: function-context exit-code quiet ext-diff* no-ext-diff textconv* no-textconv ignore-submodules= src-prefix: dst-prefix: no-prefix line-prefix: ita-invisible-in-index output> 0 1 2 3 4 5 6 7 8 9`

// gitLog are the flags of the commands that walk history.
const gitLog = gitDiff + ` i E F P g n: L: c m cc follow no-decorate decorate= decorate-refs: decorate-refs-exclude: source log-size max-count: skip: since: after: until: before: author: committer: grep: grep-reflog: all-match invert-grep regexp-ignore-case basic-regexp extended-regexp fixed-strings perl-regexp remove-empty merges no-merges min-parents: max-parents: first-parent exclude-first-parent-only not all branches= tags= remotes= glob: exclude: reflog walk-reflogs merge boundary simplify-by-decoration full-history dense sparse simplify-merges ancestry-path= cherry cherry-mark cherry-pick left-only right-only left-right show-pulls date-order author-date-order topo-order reverse no-walk= do-walk pretty= format: abbrev-commit no-abbrev-commit oneline encoding: expand-tabs= no-expand-tabs notes= no-notes date: relative-date parents children graph no-graph show-linear-break= mailmap no-mailmap diff-merges: no-diff-merges no-color`

// gitReadOnly are the commands of git that change nothing, in their forms that
// do. show is of operands that may name a path in a commit.
const gitReadOnly = `
status      show  s b v z u= short branch show-stash porcelain= long verbose untracked-files= ignore-submodules= ignored= column= no-column ahead-behind no-ahead-behind renames no-renames find-renames=
log         show` + gitLog + `
show        show` + gitLog + `
whatchanged show` + gitLog + `
diff        show` + gitDiff + ` cached staged merge-base no-index base ours theirs
diff-tree   show` + gitDiff + ` r t root stdin m c cc no-commit-id pretty= always
diff-index  show` + gitDiff + ` cached m merge-base
diff-files  show` + gitDiff + `
blame       show  b L: l t S< p c f n s e w M= C= root show-stats porcelain line-porcelain incremental date: contents< score-debug show-name show-number show-email ignore-rev: ignore-revs-file< color-lines color-by-age abbrev=
shortlog    show` + gitLog + ` summary numbered email group: n s e w=
describe    text  a all tags contains abbrev= candidates: exact-match debug long match: exclude: always first-parent dirty= broken=
rev-parse   text  q verify quiet short= symbolic symbolic-full-name abbrev-ref= abbrev-ref all branches= tags= remotes= git-dir absolute-git-dir git-common-dir show-toplevel show-prefix show-cdup is-inside-work-tree is-inside-git-dir is-bare-repository is-shallow-repository show-superproject-working-tree show-object-format= sq flags no-flags revs-only no-revs default: git-path: path-format:
rev-list    show` + gitLog + ` count objects pretty= header timestamp
ls-files    read  c d m o i s u k z t v x: X< cached deleted modified others ignored stage directory no-empty-directory unmerged killed exclude: exclude-from< exclude-per-directory: exclude-standard error-unmatch with-tree: full-name recurse-submodules abbrev= eol deduplicate format:
ls-tree     show  d r t l z name-only name-status abbrev= full-name full-tree long format:
cat-file    show  t s e p batch= batch-check= batch-all-objects unordered textconv* filters* follow-symlinks
name-rev    text  tags refs: all name-only always
merge-base  text  a all octopus is-ancestor fork-point independent
for-each-ref text sort: count: format: color= points-at: merged= no-merged= contains= no-contains= ignore-case
show-ref    text  head heads tags branches d dereference s hash= verify exclude-existing= q quiet abbrev=
show-branch text  r a remotes all current topo-order date-order sparse more= list merge-base independent no-name sha1-name topics color= no-color
count-objects none v H verbose human-readable
check-ignore read q v z n stdin quiet verbose non-matching no-index
check-attr  read  a z cached stdin all
check-ref-format text branch normalize allow-onelevel
grep        grepgit a I i w v h H E G P F n l L z o c p W e% f<% A: B: C: m: q O=!* cached no-index untracked no-exclude-standard exclude-standard recurse-submodules text textconv* no-textconv ignore-case max-depth: recursive no-recursive word-regexp invert-match full-name extended-regexp basic-regexp perl-regexp fixed-strings line-number column files-with-matches name-only files-without-match open-files-in-pager=!* null only-matching count color= no-color break heading show-function context: after-context: before-context: function-context max-count: threads: and or not all-match quiet
branch      list  a r v i all remotes verbose show-current sort: format: color= no-color column= no-column abbrev= no-abbrev ignore-case points-at: list l contains= merged= no-merged= no-contains=
tag         list  l n= list sort: format: color= column= no-column points-at: ignore-case i contains= merged= no-merged= no-contains=
remote      none  v verbose
version     none  build-options
cherry      text  v abbrev=
range-diff  show` + gitDiff + ` creation-factor: no-dual-color left-only right-only notes=
config      get   get get-all get-regexp get-urlmatch list l global system local worktree f< file< blob: show-origin show-scope z null name-only type: bool int bool-or-int path expiry-date includes no-includes default:
reflog      reflog` + gitLog + ` all
var         text  l
`

// gitReadOnlyOf are the second words that leave a command of git one that
// changes nothing.
const gitReadOnlyOf = `
stash list       text` + gitLog + `
stash show       text` + gitLog + `
worktree list    none porcelain v z verbose
remote get-url   text push all
reflog show      text` + gitLog + `
submodule status text cached recursive quiet
config get       text global system local worktree all regexp value: fixed-value default: show-origin show-scope null name-only type:
config list      none global system local worktree show-origin show-scope null name-only z
bundle verify    read
notes list       text
notes show       text
`
