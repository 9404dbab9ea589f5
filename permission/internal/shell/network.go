package shell

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// networked are the programs that cannot do their work without the network, by
// what must be among their words:
//
//   - anything            !verb   unless the first operand is verb
//     verb   the first operand   a/b     the first two operands
//     a&x    the first operand is a, and a later word has x in it
//     ~x     one of the operands
//     -x     one of the words, with or without =value; with * one that begins so
//     ://    a word that holds an address
//     host:  an operand that names another host, as scp and rsync have it
//     none   no operand at all
//
// What works from what is on the disk, if it is there (npm run, go build, make,
// npx), is not here: it fails with a message, and then the model can ask.
const networked = `
git          fetch pull push clone ls-remote fetch-pack send-pack http-fetch http-push send-email request-pull submodule/update submodule/add remote/update remote/show remote/prune archive&--remote lfs/pull lfs/push lfs/fetch lfs/clone svn/fetch svn/clone svn/rebase svn/dcommit annex/get annex/sync
curl         *
wget         *
aria2c       *
axel         *
http         *
https        *
xh           *
lynx         ://
w3m          ://
links        ://
elinks       ://
ffmpeg       ://
ffprobe      ://
yt-dlp       *
youtube-dl   *
ssh          *
mosh         *
autossh      *
ssh-copy-id  *
ssh-keyscan  *
sftp         *
scp          host:
rsync        host:
rclone       *
ftp          *
lftp         *
tftp         *
telnet       *
nc           *
ncat         *
netcat       *
socat        *
ping         *
ping6        *
fping        *
dig          *
drill        *
kdig         *
nslookup     *
host         *
whois        *
traceroute   *
tracepath    *
mtr          *
nmap         *
iperf        *
iperf3       *
ntpdate      *
resolvectl   query
openssl      s_client
gpg          --recv-keys --send-keys --search-keys --refresh-keys --fetch-keys --locate-keys
msmtp        *
swaks        *
redis-cli    *
mongosh      *
psql         -h* --host ://
pg_dump      -h* --host ://
mysql        -h* --host
mysqldump    -h* --host
svn          checkout co update up commit ci switch export import ls list cat log
hg           clone pull push incoming in outgoing out
jj           git/fetch git/push git/clone
repo         sync init
gh           * !completion !config !alias !help !version
glab         * !completion !config !alias !help !version
npm          install i in ins add ci clean-install install-test it install-ci-test cit update up upgrade publish unpublish deprecate dist-tag view info show v outdated audit search login adduser logout whoami ping create init& owner token access
pnpm         install i add update up upgrade dlx create publish fetch outdated audit self-update
yarn         none install add upgrade up upgrade-interactive dlx create publish outdated audit info npm global/add set/version
bun          install i add update upgrade create c publish outdated audit
deno         install add upgrade publish outdated update
npm-check-updates *
ncu          *
playwright   install
puppeteer    browsers/install
pip          install download wheel index search
pipx         install upgrade upgrade-all inject reinstall
uv           add sync lock publish pip/install pip/sync pip/compile tool/install tool/upgrade python/install self/update
poetry       install add update lock publish
pdm          install add update lock sync publish
pipenv       install sync update lock upgrade
rye          sync add lock publish
hatch        publish
twine        upload
conda        install create update upgrade search env/create env/update
mamba        install create update upgrade search env/create env/update
micromamba   install create update upgrade search env/create env/update
spacy        download
pre-commit   autoupdate
huggingface-cli download upload login
hf           download upload
ollama       pull push
gem          install update fetch push search outdated
bundle       none install update add outdated
cargo        install fetch update publish add search login owner yank vendor binstall
rustup       update install toolchain/install target/add component/add self/update default
go           get mod/download mod/tidy install&@ run&@ list&-u list&-versions
mvn          ~deploy ~dependency:resolve ~dependency:go-offline ~dependency:get
gradle       ~publish
composer     install update require create-project outdated global/require
dotnet       restore add&package tool/install tool/update tool/restore workload/install nuget/push
nuget        install restore push
mix          deps.get deps.update local.hex hex.publish hex.info archive.install
opam         update install upgrade init
cabal        update install get
stack        update setup upgrade
luarocks     install search upload download
cpan         *
cpanm        *
dart         pub/get pub/add pub/upgrade pub/publish
flutter      pub/get pub/add pub/upgrade upgrade
pod          install update repo/update
swift        package/update package/resolve
nix          flake/update
apt          install update upgrade full-upgrade dist-upgrade download source build-dep
apt-get      install update upgrade full-upgrade dist-upgrade download source build-dep
aptitude     install update upgrade full-upgrade dist-upgrade download safe-upgrade
add-apt-repository *
dnf          install update upgrade check-update makecache download reinstall builddep groupinstall
yum          install update upgrade check-update makecache download reinstall groupinstall
microdnf     install update upgrade
zypper       install in update up refresh ref dup dist-upgrade patch
apk          add update upgrade fetch
pacman       -S* --sync
brew         install update upgrade fetch tap search reinstall outdated bundle
port         install selfupdate upgrade sync
snap         install refresh download find
flatpak      install update
choco        install upgrade
scoop        install update
winget       install upgrade
asdf         install plugin/add plugin/update
mise         install use upgrade
fnm          install
volta        install
docker       pull push login search image/pull image/push compose/pull compose/push manifest/inspect
podman       pull push login search image/pull image/push compose/pull compose/push
nerdctl      pull push login image/pull image/push compose/pull compose/push
docker-compose pull push
buildah      pull push
skopeo       *
crane        *
oras         *
kubectl      * !config !completion !kustomize !options !help !plugin
oc           * !config !completion !kustomize !options !help !plugin
helm         pull push install upgrade uninstall rollback list ls status history get test repo/add repo/update dependency/update dependency/build dep/update dep/build search/hub registry/login
terraform    init apply plan destroy refresh import login
tofu         init apply plan destroy refresh import login
terragrunt   init apply plan destroy refresh import
pulumi       up preview destroy refresh login import
ansible      *
ansible-playbook *
ansible-galaxy install
packer       init build
aws          * !configure !help
gcloud       * !config !help !info !version
gsutil       *
az           * !version !config
doctl        * !version
fly          * !version
flyctl       * !version
heroku       *
vercel       * !dev !help
netlify      deploy login
wrangler     deploy publish tail login
firebase     deploy login
`

// beforeVerb are the flags with a value that may stand in front of the first
// operands that networked names.
const beforeVerb = `
npm       C: prefix: w: workspace: registry: loglevel: userconfig: globalconfig: cache:
pnpm      C: dir: F: filter: registry: loglevel: reporter: w
yarn      cwd: registry: cache-folder:
bun       cwd: c: config:
pip       proxy: python: cache-dir: log: timeout: retries: index-url: i: cert:
uv        directory: project: cache-dir: config-file: python: p: color:
poetry    C: directory: P: project:
conda     n: name: p: prefix:
cargo     C: config: Z: color: manifest-path:
go        C:
composer  d: working-dir:
bundle    gemfile:
apt       o: c: t: option: config-file: target-release:
apt-get   o: c: t: option: config-file: target-release:
dnf       c: x: exclude: enablerepo: disablerepo: releasever: installroot: setopt:
yum       c: x: exclude: enablerepo: disablerepo: releasever: installroot: setopt:
apk       p: root: X: repository: repositories-file: keys-dir: arch:
docker    H: host: c: context: config: l: log-level: f: file: p: project-name: profile: env-file: project-directory:
podman    c: connection: log-level: url: f: file: p: project-name: profile: env-file:
docker-compose f: file: p: project-name: profile: env-file: H: host: c: context:
helm      n: namespace: kube-context: kubeconfig:
kubectl   n: namespace: context: kubeconfig: cluster: user: s: server: v:
terraform chdir:
hg        R: repository: cwd: config: encoding:
svn       username: password: config-dir: config-option:
gem       config-file:
`

type network struct {
	need  map[string][]string
	flags map[string]flags
}

var networks = sync.OnceValue(func() *network {
	n := &network{need: map[string][]string{}, flags: map[string]flags{}}
	for line := range lines(networked) {
		words := strings.Fields(line)
		n.need[words[0]] = words[1:]
	}
	for line := range lines(beforeVerb) {
		name, spec, _ := strings.Cut(strings.TrimSpace(line), " ")
		n.flags[name] = parseFlags(spec)
	}
	n.flags["git"] = known().gitFlags
	return n
})

// needsNetwork reports whether a command cannot work without the network.
func needsNetwork(c *Command) bool {
	if len(c.Words) == 0 {
		return false
	}
	name, rest := c.Name(), c.Words[1:]
	t := networks()
	if name == "py" || strings.HasPrefix(name, "python") {
		// python -m pip is pip.
		i := slices.IndexFunc(rest, func(w Word) bool { return w.Known && (w.Text == "-m" || !strings.HasPrefix(w.Text, "-")) })
		if i < 0 || rest[i].Text != "-m" || i+1 >= len(rest) || !rest[i+1].Known {
			return false
		}
		name, rest = rest[i+1].Text, rest[i+2:]
	} else if text := c.Words[0].Text; text != name && path.Base(path.Dir(text)) != "bin" {
		return false // a program of the project's own
	}
	need, ok := t.need[name]
	if !ok {
		if need, ok = t.need[strings.TrimRight(name, "0123456789.")]; !ok {
			return false
		}
		name = strings.TrimRight(name, "0123456789.")
	}
	for _, w := range rest {
		switch {
		case !w.Known:
		case w.Text == "--offline", w.Text == "--no-index", len(rest) <= 2 && (w.Text == "--help" || w.Text == "--version"):
			return false
		}
	}
	operands := sortArgs(t.flags[name], rest, true, false).operands
	if len(operands) > 0 && strings.HasPrefix(operands[0].Text, "+") {
		operands = operands[1:] // cargo +nightly
	}
	first, second := "", ""
	if len(operands) > 0 {
		first = operands[0].Text
		if more := sortArgs(t.flags[name], operands[1:], true, false).operands; len(more) > 0 {
			second = more[0].Text
		}
	}
	found := false
	for _, n := range need {
		a, b, pair := strings.Cut(n, "/")
		verb, part, with := strings.Cut(n, "&")
		switch {
		case n == "*":
			found = true
		case n[0] == '!':
			if first == n[1:] {
				return false
			}
		case n == "none":
			found = found || first == ""
		case n == "://":
			found = found || slices.ContainsFunc(rest, func(w Word) bool { return strings.Contains(w.Text, n) && !strings.HasPrefix(w.Text, "file:") })
		case n == "host:":
			found = found || slices.ContainsFunc(rest, elsewhereWord)
		case n[0] == '~':
			found = found || slices.ContainsFunc(rest, func(w Word) bool { return w.Text == n[1:] })
		case n[0] == '-':
			flag, begins := strings.CutSuffix(n, "*")
			found = found || slices.ContainsFunc(rest, func(w Word) bool {
				after, ok := strings.CutPrefix(w.Text, flag)
				return ok && (begins || after == "" || after[0] == '=')
			})
		case with:
			found = found || first == verb && slices.ContainsFunc(operands[1:], func(w Word) bool {
				return strings.Contains(w.Text, part) && (part != "" || !strings.HasPrefix(w.Text, "-"))
			})
		case pair:
			found = found || first == a && second == b
		default:
			found = found || first == n
		}
	}
	return found
}

// elsewhereWord reports whether a word names a file on another host.
func elsewhereWord(w Word) bool {
	if strings.HasPrefix(w.Text, "-") {
		return false
	}
	if scheme, _, ok := strings.Cut(w.Text, "://"); ok {
		return scheme != "file"
	}
	before, _, ok := strings.Cut(w.Text, ":")
	return ok && before != "" && !strings.Contains(before, "/")
}
