package builtin

import (
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// gitConfigMax is how much of a git configuration is read.
const gitConfigMax = 1 << 20

// excludesFile is the line of a git configuration that names the user's own
// ignore file. Its section is core's alone.
var excludesFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^[ \t]*excludesfile[ \t]*=[ \t]*("?)([^"\r\n]*?)"?[ \t]*$`)
})

// excludes is the path of the user's own ignore file as git finds it: what the
// configuration says, or else the file in git's own folder. It is "" where the
// home directory is not known.
func (o Options) excludes() string {
	if o.Home == "" {
		return ""
	}
	folder := valueOf(o.Environ, "XDG_CONFIG_HOME")
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(o.Home, ".config")
	}
	folder = filepath.Join(folder, "git")
	file := filepath.Join(folder, "ignore")
	for _, name := range []string{filepath.Join(o.Home, ".gitconfig"), filepath.Join(folder, "config")} {
		if f := o.excludesIn(name); f != "" {
			file = f
			break
		}
	}
	return o.led(file)
}

// led is where name leads: such files are often links into a folder of the
// user's. One that leads nowhere stays as it is, and is not there.
func (o Options) led(name string) string {
	if real, err := realPath(o.fs(), name); err == nil {
		return real
	}
	return name
}

// excludesIn is what one configuration says, or "".
func (o Options) excludesIn(name string) string {
	name = o.led(name)
	info, err := o.fs().Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > gitConfigMax {
		return ""
	}
	f, err := o.fs().Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, gitConfigMax))
	if err != nil {
		return ""
	}
	all := excludesFile().FindAllSubmatch(text, -1)
	if len(all) == 0 {
		return ""
	}
	file := string(all[len(all)-1][2]) // the last one holds
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		file = filepath.Join(o.Home, rest)
	}
	if !filepath.IsAbs(file) {
		return "" // relative to what is not said
	}
	return file
}
