package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

// Names that hold credentials, or that run code when they are there. They are
// compared without regard to case on every system, since some file systems do
// so.
var (
	secretFiles = []string{".npmrc", ".pypirc", ".netrc", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", ".git-credentials", ".pgpass", "credentials.json", "credentials.toml", "application_default_credentials.json", ".vault-token", ".my.cnf"}
	secretDirs  = []string{".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure"}
	writeFiles  = []string{".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".gitconfig", ".envrc"}
	writeDirs   = []string{".git", ".config", ".cantle", ".husky", ".vscode", ".idea"}
)

// sensitive says why an access is asked about in every mode, or "".
func (g *Gate) sensitive(a tool.Access) string {
	if a.Op != tool.Read && a.Op != tool.Write {
		return ""
	}
	if a.Op == tool.Write && g.owns(a.Target) {
		return "it would write " + a.Target + ", in the folder of Cantle's own settings and sessions"
	}
	parts := strings.Split(filepath.ToSlash(a.Target), "/")
	for i, p := range parts {
		name := strings.TrimRight(strings.ToLower(p), ". ")
		last := i == len(parts)-1
		secret := last && (oneOf(name, secretFiles) || name == ".env" || strings.HasPrefix(name, ".env.")) || oneOf(name, secretDirs)
		if secret && name != ".env.example" {
			return "it would " + string(a.Op) + " " + a.Target + ", which may hold credentials"
		}
		if a.Op == tool.Write && (last && oneOf(name, writeFiles) || oneOf(name, writeDirs)) {
			return "it would write " + a.Target + ", which can make other programs run code"
		}
	}
	return ""
}

// owns reports whether a path lies in the program's own folder. A workspace
// inside of that folder is a workspace.
func (g *Gate) owns(path string) bool {
	if g.own == "" || !within(g.own, path) {
		return false
	}
	return !slices.ContainsFunc(g.roots, func(root string) bool {
		return root != g.own && within(g.own, root) && within(root, path)
	})
}

func oneOf(s string, list []string) bool {
	for _, l := range list {
		if s == l {
			return true
		}
	}
	return false
}
