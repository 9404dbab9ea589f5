package shell

// writing are programs that change files and do nothing else, with every flag
// that is known of them: what they touch is known in full, unless there is a
// flag that is not here.
const writing = `
cp          copy   a b d f H i l L n P p R r s S: t^ T u v x Z archive attributes-only backup= copy-contents force interactive link dereference no-clobber no-dereference preserve= no-preserve: parents recursive reflink= remove-destination sparse: strip-trailing-slashes symbolic-link suffix: target-directory^ no-target-directory update= verbose one-file-system context= debug help version
mv          move   b f i n S: t^ T u v Z backup= force interactive no-clobber strip-trailing-slashes suffix: target-directory^ no-target-directory update= verbose context exchange debug help version
link        link   help version
ln          link   b d f F i L n P r s S: t^ T v backup= directory force interactive logical no-dereference physical relative symbolic suffix: target-directory^ no-target-directory verbose help version
install     copy   b c C d D g: m: o: p s S: t^ T v Z backup= compare directory group: mode: owner: preserve-timestamps strip suffix: target-directory^ no-target-directory verbose help version strip-program!
rm          remove f i I r R d v force interactive= one-file-system no-preserve-root preserve-root= recursive dir verbose help version
rmdir       write  p v ignore-fail-on-non-empty parents verbose help version
unlink      write  help version
mkdir       write  m: p v Z mode: parents verbose context= help version
mkfifo      write  m: Z mode: context= help version
mknod       first  m: Z mode: context= help version
mktemp      temp   d u q p> t tmpdir= suffix: dry-run quiet directory
touch       write  a c d: f h m r< t: no-create date: no-dereference reference< time: help version
truncate    write  c o r< s: no-create io-blocks reference< size: help version
tee         write  a i p append ignore-interrupts output-error= help version
chmod       mode   c f v R changes quiet silent verbose recursive no-preserve-root preserve-root reference< help version 0 1 2 3 4 5 6 7 u g o a r w x X s t
chown       mode   c f v h R H L P changes quiet silent verbose dereference no-dereference from: no-preserve-root preserve-root reference< recursive help version
chgrp       mode   c f v h R H L P changes quiet silent verbose dereference no-dereference no-preserve-root preserve-root reference< recursive help version
shred       write  f n: s: u v x z force iterations: random-source< size: remove= verbose exact zero help version
split       split  a: b: C: d e l: n: t: u x additional-suffix: bytes: line-bytes: lines: number: elide-empty-files hex-suffixes= numeric-suffixes= separator: unbuffered verbose filter!* help version
csplit      split  b: f: k n: q s z suffix-format: prefix: keep-files suppress-matched digits: quiet silent elide-empty-files help version
dd          dd
gzip        pack   c d f h k l n N q r S: t v 1 2 3 4 5 6 7 8 9 stdout to-stdout decompress uncompress force keep list no-name name quiet recursive suffix: test verbose fast best
gunzip      pack   c f k l n N q r S: t v stdout to-stdout force keep list no-name name quiet recursive suffix: test verbose
bzip2       pack   c d f k q s t v z 1 2 3 4 5 6 7 8 9 stdout decompress compress force keep quiet small test verbose
xz          pack   c d f k l q t v z T: 0 1 2 3 4 5 6 7 8 9 e stdout to-stdout decompress compress force keep list quiet test verbose threads: extreme
bunzip2     pack    c f k q s t v stdout force keep quiet small test verbose
unxz        pack    c f k l q t v T: stdout to-stdout force keep list quiet test verbose threads:
zstd        pack    d c f k l q r t v z o> T: D< 1 2 3 4 5 6 7 8 9 decompress stdout force keep list quiet test verbose threads: rm ultra long= output-dir-flat> train* maxdict: adapt no-progress exclude-compressed
unzstd      pack    c f k l q t v o> T: D< stdout force keep list quiet test verbose
lz4         pack    d c f k l q t v z m 1 9 decompress stdout force keep list test rm
gofmt       gofmt  l w d s e r: cpuprofile>
`
