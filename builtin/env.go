package builtin

import (
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"

	"github.com/cantle-dev/cantle/internal/x/secretshape"
)

// What of the program's environment a command gets. Nothing else is passed,
// and nothing whose name or value looks like a credential, whoever asks for it.
var (
	envNames = []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TEMP", "TMP", "TERM", "TZ", "LANG", "LANGUAGE", "HOSTNAME",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",
		"GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE",
		"CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "NVM_DIR", "PNPM_HOME", "PYENV_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX",
		"SYSTEMROOT", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES", "PROGRAMDATA", "WINDIR",
	}
	envPrefixes = []string{"LC_", "XDG_"}
	// envAnywhere are those that mean the same on another system.
	envAnywhere = []string{"TERM", "TZ", "LANG", "LANGUAGE"}
	// fixed are set for every command: nothing may wait for a person, or page.
	envFixed = map[string]string{
		"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "false", "GIT_SEQUENCE_EDITOR": "false", "EDITOR": "false", "VISUAL": "false",
		"PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat", "NO_COLOR": "1", "DEBIAN_FRONTEND": "noninteractive", "CANTLE": "1",
	}
)

// credentialLike reports whether a variable's name looks like a secret's.
func credentialLike(name string) bool {
	n := strings.ToUpper(name)
	for _, w := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "API_KEY", "APIKEY", "CREDENTIAL", "PRIVATE_KEY", "ACCESS_KEY"} {
		if strings.Contains(n, w) {
			return true
		}
	}
	return strings.HasSuffix(n, "_KEY") || strings.HasSuffix(n, "_PASS") || n == "KEY"
}

// holdsLogin reports whether a value is or lists a URL with a name and password.
func holdsLogin(v string) bool {
	for {
		_, rest, ok := strings.Cut(v, "://")
		if !ok {
			return false
		}
		host := rest
		if i := strings.IndexAny(rest, "/?#, |"); i >= 0 {
			host = rest[:i]
		}
		if strings.ContainsRune(host, '@') {
			return true
		}
		v = rest
	}
}

// validName refuses what would not be one variable, or would define a function
// in the shell.
func validName(name string) bool {
	return name != "" && !strings.ContainsAny(name, "=\x00()% \t\n")
}

// valueOf is a variable of env, whose names are compared without case as
// Windows does; "" if it is not there.
func valueOf(env []string, name string) string {
	for _, kv := range env {
		if n, v, _ := strings.Cut(kv, "="); strings.EqualFold(n, name) {
			return v
		}
	}
	return ""
}

// absolutePath is a PATH without what is relative to the folder that a command runs
// in: a rule for git is not for a program of that name that lies there.
func absolutePath(v string) string {
	list := slices.DeleteFunc(filepath.SplitList(v), func(dir string) bool { return !filepath.IsAbs(dir) })
	if len(list) == 0 && runtime.GOOS != "windows" {
		return "/usr/local/bin:/usr/bin:/bin" // without one, shells may look in the folder
	}
	return strings.Join(list, string(filepath.ListSeparator))
}

// environment makes the environment of a command of that of the program and of
// what the settings add. hidden names are never passed.
func environment(all []string, add map[string]string, hidden []string) []string {
	set := map[string]string{}
	may := func(name, value string) bool {
		return validName(name) && strings.IndexByte(value, 0) < 0 && !secretshape.Is(strings.TrimSpace(value)) &&
			!credentialLike(name) && !slices.ContainsFunc(hidden, func(h string) bool { return strings.EqualFold(h, name) })
	}
	for _, kv := range all {
		name, v, _ := strings.Cut(kv, "=")
		up := strings.ToUpper(name)
		if (slices.Contains(envNames, up) || slices.ContainsFunc(envPrefixes, func(p string) bool { return strings.HasPrefix(up, p) })) && may(name, v) && !holdsLogin(v) {
			if up == "PATH" {
				v = absolutePath(v)
			}
			set[name] = v
		}
	}
	for name, v := range add {
		if may(name, v) && name != "BASH_ENV" && name != "ENV" {
			set[name] = v
		}
	}
	for name, v := range envFixed {
		if _, ok := add[name]; !ok {
			set[name] = v
		}
	}
	out := make([]string, 0, len(set))
	for name, v := range set {
		out = append(out, name+"="+v)
	}
	sort.Strings(out)
	return out
}
