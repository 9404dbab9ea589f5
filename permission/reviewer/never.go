package reviewer

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/permission/internal/shell"
)

// Forbidden is a kind of command that no model answers for: the user does,
// whatever the rules and the sandbox are.
type Forbidden struct {
	Why      string
	Programs []string // by base name, with stars
	// Words are what one of its words must be, apart from options, with stars;
	// "a b" are two in a row. None means that the program alone is enough.
	Words []string
	// Flags are what one of its words must be if that is an option: "-f" is also
	// one of the letters of "-rf", and "--force" also what is short for it.
	Flags []string
	// Either lets one of Words or of Flags do; else there must be both.
	Either bool
}

// Never lists what is never reviewed. It names the worst, so that the user is
// told why he is asked; what is not named here must be on the list of programs
// that may be reviewed, or confined.
func Never() []Forbidden { return slices.Clone(forbidden) }

// builders run what a project calls by a name of its own.
var builders = []string{
	"npm", "pnpm", "yarn", "bun", "deno", "make", "gmake", "just", "task", "rake", "mvn", "mvnw", "gradle", "gradlew", "cargo", "go", "mix", "sbt", "composer",
	"nx", "turbo", "lerna", "tox", "nox", "invoke", "dotnet", "bundle", "rails", "poetry", "uv", "hatch", "pdm", "rush", "moon", "mage", "ninja", "cmake", "swift", "zig", "npx",
}

var forbidden = []Forbidden{
	{Why: "it would act with the rights of another user", Programs: []string{"sudo", "sudoedit", "su", "doas", "pkexec", "runuser", "run0", "gosu", "sg", "newgrp", "runas"}},
	{Why: "it works on disks or file systems", Programs: []string{"dd", "mkfs", "mkfs.*", "mke2fs", "mkswap", "swapoff", "fdisk", "sfdisk", "gdisk", "sgdisk", "parted", "wipefs", "shred", "blkdiscard", "hdparm", "cryptsetup", "losetup", "mount", "umount", "fusermount*", "lvremove", "vgremove", "zpool", "zfs", "btrfs", "diskutil", "format"}},
	{Why: "it would stop the machine", Programs: []string{"shutdown", "reboot", "halt", "poweroff", "init", "telinit"}},
	{Why: "it changes services, or what runs later", Programs: []string{"systemctl", "service", "launchctl", "rc-service", "rc-update", "update-rc.d", "chkconfig", "loginctl", "crontab", "at", "batch", "sc", "schtasks", "systemd-run"}},
	{Why: "it changes the system", Programs: []string{"useradd", "userdel", "usermod", "adduser", "deluser", "groupadd", "groupdel", "passwd", "chpasswd", "chsh", "visudo", "iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "sysctl", "modprobe", "insmod", "rmmod", "setenforce", "setcap", "defaults", "osascript", "reg", "powershell", "pwsh", "cmd", "update-alternatives", "ldconfig", "chroot", "nsenter", "unshare", "setfacl", "chattr"}},
	{Why: "it ends processes that it does not name", Programs: []string{"killall", "pkill", "skill", "fuser"}},
	{Why: "it changes permissions of all that lies in a folder", Programs: []string{"chmod", "chown", "chgrp"}, Flags: []string{"-R", "--recursive"}},
	{Why: "it deletes without end", Programs: []string{"rm"}, Flags: []string{"--no-preserve-root"}},
	{Why: "it deletes what it finds", Programs: []string{"find", "fd", "fdfind"}, Flags: []string{"-delete", "-exec", "-execdir", "-ok", "-okdir", "--exec", "--exec-batch", "-x", "-X"}},
	{Why: "it overwrites or empties files", Programs: []string{"truncate", "srm", "unlink"}},

	{Why: "it publishes to another machine", Programs: []string{"git"}, Words: []string{"push", "send-email", "send-pack", "http-push", "svn dcommit", "p4 submit", "lfs push"}},
	{Why: "it throws away work that is not committed", Programs: []string{"git"}, Words: []string{"rm"}, Flags: []string{"-f", "--force"}},
	{Why: "it throws away work that is not committed", Programs: []string{"git"}, Words: []string{"reset"}, Flags: []string{"--hard", "--merge", "--keep"}},
	{Why: "it throws away files that are not committed", Programs: []string{"git"}, Words: []string{"clean", "restore", "checkout-index", "read-tree"}},
	{Why: "it may throw away work that is not committed", Programs: []string{"git"}, Words: []string{"checkout", "switch"}, Flags: []string{"-f", "--force", "--discard-changes", "--", "-B", "-C", "-p", "--patch", "--ours", "--theirs"}},
	{Why: "it may throw away work that is not committed", Programs: []string{"git"}, Words: []string{"checkout .", "checkout HEAD", "stash drop", "stash clear", "worktree remove", "submodule deinit"}},
	{Why: "it deletes branches or tags", Programs: []string{"git"}, Words: []string{"branch", "tag"}, Flags: []string{"-d", "-D", "--delete", "-f", "--force", "-M", "-C"}},
	{Why: "it rewrites history, or what would bring it back", Programs: []string{"git"}, Words: []string{"filter-branch", "filter-repo", "reflog expire", "reflog delete", "gc", "prune", "update-ref", "replace", "fast-import", "symbolic-ref"}},
	{Why: "it changes how git works, or with whom", Programs: []string{"git"}, Words: []string{"config", "remote add", "remote set-url", "remote remove", "remote rm", "remote rename", "submodule add", "submodule set-url", "credential*", "daemon", "instaweb", "bisect run", "rebase", "update-index"}},
	{Why: "it gets at what other version control publishes", Programs: []string{"hg", "svn", "jj", "fossil", "bzr", "p4"}, Words: []string{"push", "commit", "ci", "submit", "purge", "strip", "import", "git push"}},

	{Why: "it runs another program than its own", Programs: builders, Flags: []string{"-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool", "-overlay", "--overlay", "-modfile", "--modfile", "--script-shell", "--config", "--eval", "--init-script"}},
	{Why: "it runs another program than its own, or fetches what it names", Programs: []string{"go"}, Flags: []string{"-ldflags", "--ldflags", "-gccgoflags", "--gccgoflags", "-compiler", "--compiler", "-mod", "--mod"}},
	{Why: "it runs what it is told and not what the project has", Programs: []string{"make", "gmake", "just", "ninja"}, Flags: []string{"-f", "--file", "--makefile", "--justfile", "-E", "-I", "--include-dir", "--shell"}},
	{Why: "it installs for the whole machine or the user", Programs: []string{"make", "gmake", "just", "ninja", "meson", "cmake", "task", "rake", "mage"}, Words: []string{"install*", "uninstall*", "*[:_\\-]install"}, Flags: []string{"--install"}, Either: true},
	{Why: "it runs a script that is not shown", Programs: []string{"sed"}, Flags: []string{"-f", "--file"}},
	{Why: "it lends a program the rights of its owner", Programs: []string{"chmod"}, Words: []string{"[2-7][0-7][0-7][0-7]", "*+s", "*+[a-z]s", "*=*s"}},
	{Why: "it runs what it is told and not what the project has", Programs: []string{"cmake"}, Flags: []string{"-E", "-P", "-C"}},
	{Why: "it runs what it is told and not what the project has", Programs: []string{"mvn", "mvnw", "gradle", "gradlew"}, Words: []string{"exec:*", "antrun:*"}, Flags: []string{"-I", "-P", "--build-file", "-b", "--settings"}, Either: true},
	{Why: "it publishes, or changes what is published", Programs: []string{"npm", "pnpm", "yarn", "bun", "lerna"}, Words: []string{"publish", "unpublish", "deprecate", "dist-tag", "owner", "access", "token", "login", "logout", "adduser", "team", "org", "hook", "profile", "star"}},
	{Why: "it installs for all projects", Programs: []string{"npm", "pnpm", "yarn", "bun"}, Words: []string{"global"}, Flags: []string{"-g", "--global", "--location"}, Either: true},
	{Why: "it publishes, or installs for all projects", Programs: []string{"cargo"}, Words: []string{"publish", "yank", "owner", "login", "logout", "install", "uninstall"}},
	{Why: "it installs for all projects", Programs: []string{"go"}, Words: []string{"install"}},
	{Why: "it changes Go for all projects", Programs: []string{"go"}, Words: []string{"env", "clean", "telemetry"}, Flags: []string{"-w", "-u", "-modcache", "-cache"}},
	{Why: "it publishes, or changes what is published", Programs: []string{"gem", "twine", "flit", "hatch", "poetry", "uv", "pdm", "vsce", "ovsx", "goreleaser", "jreleaser", "semantic-release", "np", "changeset", "pod", "fastlane", "eas", "nuget", "dotnet", "mvn", "mvnw", "gradle", "gradlew", "sbt", "mix", "conan", "cabal", "luarocks", "snapcraft", "deno", "jsr", "composer", "ko", "helm"}, Words: []string{"push", "publish", "publish*", "upload", "release", "release:*", "deploy", "deploy:*", "yank", "trunk", "submit", "hex.publish", "nuget push", "create", "update"}},
	{Why: "it publishes, or changes what runs elsewhere", Programs: builders, Words: []string{"*deploy*", "*publish*", "push", "push[:_\\-]*", "*[:_\\-]push", "release", "release[:_\\-]*", "*[:_\\-]release", "upload", "upload[:_\\-]*", "ship", "prod", "production", "rollback", "destroy", "*[:_\\-]destroy"}},
	{Why: "it installs for the whole machine or the user", Programs: []string{"apt", "apt-get", "aptitude", "dpkg", "dnf", "yum", "rpm", "zypper", "pacman", "yay", "apk", "brew", "port", "snap", "flatpak", "winget", "choco", "scoop", "nix-env", "nix-channel", "emerge", "xbps-install", "pkg", "pipx", "conda", "mamba", "gem", "rustup", "nvm", "asdf", "mise", "sdk"}},
	{Why: "it may install for the whole machine or the user", Programs: []string{"pip", "pip3", "pip3.*", "easy_install"}, Words: []string{"install", "uninstall", "config", "cache"}},

	{Why: "it acts in the user's name on a code host", Programs: []string{"gh", "glab", "hub", "tea", "az-devops", "jira", "linear"}},
	{Why: "it reaches into containers, which may do what the user may", Programs: []string{"docker", "docker-compose", "podman", "podman-compose", "nerdctl", "buildah", "skopeo", "crane", "oras", "ctr", "crictl", "lxc", "incus", "machinectl"}},
	{Why: "it reaches into systems that others use", Programs: []string{"kubectl", "oc", "helm", "k9s", "kustomize", "argocd", "flux", "terraform", "tofu", "terragrunt", "pulumi", "cdk", "cdktf", "sam", "serverless", "sls", "ansible*", "salt*", "puppet", "chef*", "knife", "packer", "vagrant", "nomad", "consul", "vault", "etcdctl", "aws", "gcloud", "gsutil", "bq", "az", "oci", "ibmcloud", "doctl", "hcloud", "scw", "linode-cli", "vultr*", "heroku", "fly", "flyctl", "railway", "render", "vercel", "now", "netlify", "surge", "wrangler", "firebase", "supabase", "eb", "copilot", "cf", "eksctl", "kops", "juju", "rclone", "s3cmd", "mc", "stripe", "twilio"}},
	{Why: "it works on a database", Programs: []string{"psql", "createdb", "dropdb", "dropuser", "pg_restore", "pg_dump*", "mysql", "mysqladmin", "mysqldump", "mariadb*", "mongo", "mongosh", "mongodump", "mongorestore", "redis-cli", "valkey-cli", "sqlite3", "sqlcmd", "sqlplus", "cqlsh", "clickhouse*", "influx", "duckdb", "cockroach", "cypher-shell"}},
	{Why: "it changes the data of a database", Programs: []string{"*"}, Words: []string{"db:drop*", "db:reset", "db:purge", "db:wipe", "db:truncate*", "migrate:fresh", "migrate:reset", "migrate:refresh", "ecto.drop", "ecto.reset", "database:drop", "migrate reset", "db push", "dropdb", "flushdb", "flushall"}},
	{Why: "it connects to a host that no rule names", Programs: []string{"curl", "wget", "wget2", "aria2c", "http", "https", "xh", "httpie", "lynx", "links", "w3m", "nc", "ncat", "netcat", "socat", "telnet", "ssh", "autossh", "mosh", "scp", "sftp", "ftp", "lftp", "tftp", "rsync", "ping", "ping6", "dig", "drill", "nslookup", "host", "whois", "traceroute", "tracepath", "mtr", "nmap", "masscan", "openssl", "mail", "mailx", "mutt", "sendmail", "msmtp", "swaks", "ngrok", "cloudflared", "tailscale", "localtunnel", "lt", "bore", "wg", "wg-quick", "openvpn", "tor", "torsocks", "proxychains*", "syncthing", "croc", "wormhole", "magic-wormhole", "transfer", "ipfs", "yt-dlp", "websocat", "grpcurl", "busybox"}},
	{Why: "it handles keys or passwords", Programs: []string{"security", "secret-tool", "pass", "gopass", "op", "bw", "lpass", "gpg", "gpg2", "age", "sops", "ssh-keygen", "ssh-add", "ssh-agent", "ssh-copy-id", "keytool", "certutil", "kinit", "keyctl", "git-credential*", "aws-vault"}},
}

// destroys are texts that mean a loss in whatever program they are given to.
var destroys = regexp.MustCompile(`(?i)\bdrop\s+(database|schema|table|user|role|keyspace|index|collection)\b|\btruncate\s+(table\b|\w+\s*;)|\bdelete\s+from\b|\bdropdatabase\b|\bflush(all|db)\b|/dev/(sd[a-z]|nvme\d|hd[a-z]|vd[a-z]|mmcblk|disk\d|mapper/|mem|kmem|tcp/|udp/)`)

// never says why a command is never reviewed, or "".
func never(c *shell.Command) string {
	if len(c.Words) == 0 {
		return ""
	}
	name := strings.ToLower(c.Name())
	name = strings.TrimSuffix(name, ".exe")
	for _, w := range c.Words {
		if destroys.MatchString(w.Text) {
			return "it would delete data, or write to a device"
		}
	}
	if destroys.MatchString(c.String()) {
		return "it would delete data, or write to a device"
	}
	if name == "rm" && deletesUnnamed(c.Words[1:]) {
		return "it deletes folders that it does not name"
	}
	for _, f := range forbidden {
		if slices.ContainsFunc(f.Programs, func(p string) bool { return like(p, name) }) && f.is(c.Words[1:]) {
			return name + ": " + f.Why
		}
	}
	return ""
}

// deletesUnnamed reports whether rm deletes folders by a pattern.
func deletesUnnamed(words []shell.Word) bool {
	return slices.ContainsFunc(words, func(w shell.Word) bool { return w.Known && !w.Glob && isFlag(w.Text, "-r", "-R", "--recursive") }) &&
		slices.ContainsFunc(words, func(w shell.Word) bool { return w.Glob || !w.Known || w.Many })
}

// is reports whether the words of a command are those of f. A word that is
// computed may be any that begins as it does.
func (f Forbidden) is(words []shell.Word) bool {
	var plain []string
	worded, flagged := false, false
	for _, w := range words {
		if !w.Known || w.Glob || w.Many {
			option := w.Prefix == "" || w.Prefix[0] == '-' || w.Prefix[0] == '+'
			flagged = flagged || option
			worded = worded || slices.ContainsFunc(f.Words, func(p string) bool {
				return strings.HasPrefix(p, w.Prefix) || strings.ContainsAny(p[:1], "*[")
			})
			continue
		}
		flagged = flagged || isFlag(w.Text, f.Flags...)
		if !strings.HasPrefix(w.Text, "-") {
			plain = append(plain, w.Text)
		}
	}
	for i, w := range plain {
		worded = worded || slices.ContainsFunc(f.Words, func(p string) bool {
			first, second, two := strings.Cut(p, " ")
			return like(first, w) && (!two || i+1 < len(plain) && like(second, plain[i+1]))
		})
	}
	switch {
	case f.Either:
		return worded || flagged
	case len(f.Words) == 0 && len(f.Flags) == 0:
		return true
	case len(f.Words) == 0:
		return flagged
	case len(f.Flags) == 0:
		return worded
	}
	return worded && flagged
}

// isFlag reports whether a word is one of the options.
func isFlag(word string, flags ...string) bool {
	name, _, _ := strings.Cut(word, "=")
	return slices.ContainsFunc(flags, func(f string) bool {
		switch {
		case word == f || name == f:
			return true
		case f == "--" || len(name) < 2:
			return false
		case strings.HasPrefix(f, "--"): // options may be cut short, and have longer kin
			return strings.HasPrefix(name, "--") && len(name) >= 4 && (strings.HasPrefix(f, name) || strings.HasPrefix(name, f+"-"))
		case len(f) == 2 && name[0] == '-' && name[1] != '-': // alone, with its value, or among others
			return name[1] == f[1] || len(name) <= 6 && strings.IndexByte(name, f[1]) > 0
		}
		return false
	})
}

// like matches a name with a pattern of [path.Match].
func like(pattern, name string) bool {
	ok, err := path.Match(pattern, strings.ReplaceAll(name, "/", "\x00"))
	return ok && err == nil
}

// secrets are the forms of keys that are known by their looks.
var secrets = regexp.MustCompile(`\b(A[KS]IA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|sk-[A-Za-z0-9_-]{20,}|[rs]k_(live|test)_[A-Za-z0-9]{16,}|xox[abeoprs]-[A-Za-z0-9-]{10,}|AIza[0-9A-Za-z_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{20,}|dop_v1_[a-f0-9]{32,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*)|-----BEGIN [A-Z ]*PRIVATE KEY|://[^/\s:@"']+:[^/\s@"']+@`)

// given are the ways in which commands are given a secret.
var given = regexp.MustCompile(`(?i)(^|[\s"'-])[a-z_-]*(password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|private[_-]?key|bearer|authorization)["']?\s*[=:]\s*["']?[^\s"'$]|(?i)\bbearer\s+[A-Za-z0-9._~+/-]{8,}|(?i)--(password|passwd|token|secret|api-key|auth)[\s=]+[^\s$-]|(?i)\b[A-Z_]*(TOKEN|SECRET|PASSWORD)=[^\s$]`)

const holdsSecret = "its arguments hold what looks like a key or a password"

func secretIn(text string) string {
	if secrets.MatchString(text) {
		return holdsSecret
	}
	return ""
}

func secretInCommand(text string) string {
	if given.MatchString(text) {
		return holdsSecret
	}
	return secretIn(text)
}
