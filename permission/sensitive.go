package permission

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cantle-dev/cantle/tool"
)

// A kind says why paths are sensitive.
type kind int

const (
	secret  kind = iota + 1 // holds credentials: asked about for reading and for writing
	private                 // holds what its user did or keeps to himself: likewise
	runs                    // makes other programs run code: asked about for writing
)

func (k kind) String() string {
	switch k {
	case secret:
		return "which may hold credentials"
	case private:
		return "which is private to its user"
	}
	return "which can make other programs run code"
}

// sensitivePaths are asked about in every mode. A pattern is the last names of
// a path, a star standing for any characters of one name; one with a slash at
// its end is a folder with all that is in it. They hold wherever it lies, but
// for those that begin with a slash.
var sensitivePaths = map[kind][]string{
	secret: {
		// Keys to other machines, and to what is encrypted or signed.
		".ssh/", ".gnupg/", ".password-store/", ".local/share/keyrings/", ".local/share/kwalletd/", "Library/Keychains/",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "ssh_host_*_key", "krb5.keytab",
		"*.ppk", "*.kdbx", ".config/age/", ".config/sops/",
		// Clouds, clusters and registries.
		".aws/", ".azure/", ".oci/", ".aliyun/", ".bluemix/", ".kube/", ".docker/", ".fly/", ".terraform.d/", ".boto", ".s3cfg",
		".config/gcloud/", ".config/doctl/", ".config/hcloud/", ".config/scw/", ".config/containers/auth.json", ".config/rclone/", ".config/helm/",
		"AppData/Roaming/gcloud/", "application_default_credentials.json", "credentials.json", "credentials.toml", ".vault-token",
		"/run/secrets/", "/var/run/secrets/",
		// Code hosts, package registries and other programs for developers.
		".config/gh/", ".config/glab-cli/", ".config/hub", ".config/github-copilot/", ".config/git/credentials", ".git-credentials",
		".netrc", "_netrc", ".npmrc", ".yarnrc", ".pypirc", ".cargo/credentials", ".gem/credentials", ".m2/settings.xml", ".gradle/gradle.properties",
		".config/composer/auth.json", ".composer/auth.json", ".nuget/NuGet.Config", ".config/op/", ".config/1password/", ".config/configstore/",
		".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".config/openai/", ".huggingface/token", ".cache/huggingface/token",
		// Databases.
		".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf", ".dbshell",
		// The environment: of projects, and of processes.
		".env", ".env.*", "*.env", ".envrc", "/proc/*/environ", "/proc/*/task/*/environ", "/proc/*/mem", "/proc/*/task/*/mem", "/proc/kcore", "/dev/mem", "/dev/kmem",
		// The system's own.
		"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d/", "/etc/ssl/private/", "/etc/kubernetes/",
		"/private/etc/master.passwd", "/private/etc/sudoers", "/private/etc/sudoers.d/",
	},
	private: {
		".bash_history", ".zsh_history", ".zhistory", ".sh_history", ".ash_history", ".histfile", "fish_history", ".python_history", ".node_repl_history",
		".psql_history", ".mysql_history", ".sqlite_history", ".rediscli_history", ".mongosh/", ".lesshst", ".viminfo", "ConsoleHost_history.txt",
		".mozilla/", ".thunderbird/", ".config/google-chrome*/", ".config/chromium/", ".config/BraveSoftware/", ".config/microsoft-edge*/",
		".config/opera*/", ".config/vivaldi/", ".librewolf/", "Library/Application Support/Google/Chrome/", "Library/Application Support/Firefox/",
		"Library/Application Support/BraveSoftware/", "Library/Application Support/Microsoft Edge/", "Library/Safari/", "Library/Cookies/", "Library/Messages/", "Library/Mail/",
		"AppData/Local/Google/Chrome/User Data/", "AppData/Local/Microsoft/Edge/User Data/", "AppData/Local/BraveSoftware/Brave-Browser/User Data/", "AppData/Roaming/Mozilla/Firefox/Profiles/",
	},
	runs: {
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout",
		".gitconfig", ".gitmodules", ".ripgreprc", ".yarnrc.yml", ".cargo/config", ".cargo/config.toml", ".bazelrc", ".mcp.json", ".claude.json", ".inputrc", ".xprofile", ".pam_environment",
		".git/", "git~1/", ".hg/", ".config/", ".cantle/", ".claude/", ".husky/", ".vscode/", ".idea/", ".local/bin/", "Library/LaunchAgents/", "/etc/", "/private/etc/", "/proc/sys/",
		// What other agents and editors run, and what runs when the project is opened, committed or pushed.
		".agents/", ".cursor/", ".gemini/", ".codex/", ".zed/", ".fleet/", ".devcontainer/", ".pre-commit-config.yaml", ".lefthook.yml", "lefthook.yml",
		".github/workflows/", ".github/actions/", ".gitlab-ci.yml", ".gitlab/ci/", ".circleci/", ".buildkite/", ".travis.yml", ".drone.yml", ".woodpecker/", ".woodpecker.yml",
		"azure-pipelines.yml", "bitbucket-pipelines.yml", "Jenkinsfile", ".forgejo/workflows/", ".gitea/workflows/",
		"/var/spool/cron/", "/Library/LaunchDaemons/", ".kshrc", ".cshrc", ".tcshrc", ".login", ".xsession", ".xinitrc",
	},
}

// harmless are names that look like a secret's, and are made to be shown.
var harmless = []string{".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults"}

// A guard is a pattern, made ready.
type guard struct {
	kind     kind
	names    []string // folded
	path     string   // as it is written in the table, without slashes around
	folder   bool
	anchored bool // the names begin at the root of the file system
}

// guards are the patterns by their last name; those whose last name has a star
// are under "*", and under "*/" if they are folders.
var guards = sync.OnceValue(func() map[string][]guard {
	out := map[string][]guard{}
	for _, k := range []kind{secret, private, runs} {
		for _, p := range sensitivePaths[k] {
			g := guard{kind: k, folder: strings.HasSuffix(p, "/"), anchored: strings.HasPrefix(p, "/")}
			g.path = strings.Trim(p, "/")
			g.names = strings.Split(strings.ToLower(g.path), "/")
			last := g.names[len(g.names)-1]
			if strings.Contains(last, "*") {
				last = "*"
				if g.folder {
					last = "*/"
				}
			}
			out[last] = append(out[last], g)
		}
	}
	return out
})

// at reports whether the guard is for the path that the names up to i make.
func (g guard) at(names []string, i int) bool {
	if !g.folder && i != len(names)-1 || i+1 < len(g.names) || g.anchored && i != len(g.names) {
		return false // the first name is empty
	}
	for j, n := range g.names {
		if !like(n, names[i+1-len(g.names)+j]) {
			return false
		}
	}
	return true
}

// firstOf is the kind of the first guard of a list that is for the path that
// the names up to i make, or 0.
func firstOf(list []guard, op tool.Op, names []string, i int) kind {
	for _, g := range list {
		if (g.kind != runs || op == tool.Write) && g.at(names, i) {
			return g.kind
		}
	}
	return 0
}

// sensitive says why an access to a cleaned path is asked about in every mode,
// or "". The path is one that shown leads to.
func (st *state) sensitive(op tool.Op, shown, path string) string {
	if op != tool.Read && op != tool.Write {
		return ""
	}
	if path != shown && path != filepath.Clean(shown) {
		shown += ", that is " + path
	}
	if op == tool.Write && st.owns(path) {
		return "it would write " + shown + ", in the folder of Cantle's own settings and sessions"
	}
	names := strings.Split(filepath.ToSlash(path), "/")
	for i, n := range names {
		names[i] = folded(n)
	}
	if slices.Contains(names, "credentials") && st.owns(path) {
		return "it would read " + shown + ", where Cantle keeps keys"
	}
	if slices.Contains(harmless, names[len(names)-1]) {
		names = names[:len(names)-1] // what it lies in counts
	}
	guards := guards()
	folders, files := guards["*/"], guards["*"]
	for i, n := range names {
		why := firstOf(guards[n], op, names, i)
		if why == 0 {
			why = firstOf(folders, op, names, i)
		}
		if why == 0 && i == len(names)-1 {
			why = firstOf(files, op, names, i)
		}
		if why != 0 {
			return "it would " + string(op) + " " + shown + ", " + why.String()
		}
	}
	return ""
}

// folded is a name as the least particular of file systems takes it: without
// regard to case, without the dots, the spaces and the stream at its end, and
// without characters that do not show.
func folded(name string) string {
	if i := strings.IndexByte(name, ':'); i > 0 {
		name = name[:i]
	}
	name = strings.TrimRight(name, ". ")
	for i := range len(name) {
		if name[i] >= 0x80 {
			name = strings.Map(func(r rune) rune {
				switch {
				case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
					return -1
				}
				return r
			}, name)
			name = strings.ToUpper(name) // folds what ToLower alone does not
			break
		}
	}
	return strings.ToLower(name)
}

// owns reports whether a path lies in the program's own folder. A workspace
// inside of that folder is a workspace.
func (st *state) owns(path string) bool {
	g := st.g
	if g.o.Own == "" || !within(g.o.Own, path) {
		return false
	}
	return !slices.ContainsFunc(st.roots, func(root string) bool {
		return root != g.o.Own && within(g.o.Own, root) && within(root, path)
	})
}
