package place

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Sockets are the paths, without links, at which somebody listens who has the
// network of this program.
func Sockets() []string {
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []string
	seen := map[string]bool{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		// Num RefCount Protocol Flags Type St Inode Path
		if i := strings.IndexByte(sc.Text(), '/'); i > 0 {
			real, err := filepath.EvalSymlinks(sc.Text()[i:])
			if err != nil {
				continue
			}
			if fi, err := os.Lstat(real); err == nil && fi.Mode()&fs.ModeSocket != 0 && !seen[real] {
				seen[real] = true
				out = append(out, real)
			}
		}
	}
	slices.Sort(out)
	return out
}
