//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ABI is the version of Landlock that the kernel has; 0 is none.
func ABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

const (
	readFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	readDirs  = unix.LANDLOCK_ACCESS_FS_READ_DIR
	// What is written without making entries: all that a rule for one file may hold.
	writeFiles = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	makeNodes  = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	makeRest   = unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REFER
)

// devices are what programs expect to be able to open. No other device can be:
// a disk holds every file.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// maxEntries bounds how many entries a directory above a hidden one may have.
const maxEntries = 16384

// ruleset is a Landlock ruleset that is being made.
type ruleset struct {
	fd      int
	handled uint64
}

func (r ruleset) allow(fd int, access uint64) error {
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access & r.handled, Parent_fd: int32(fd)}
	if attr.Allowed_access == 0 {
		return nil
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("landlock_add_rule: %w", errno)
	}
	return nil
}

// open opens name in dir, not what a link of that name leads to: a link may
// have been planted.
func open(dir int, name string) (int, error) {
	return unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// restrict puts this thread under Landlock.
func restrict(s Spec) error {
	abi := ABI()
	if abi < MinABI {
		return fmt.Errorf("the kernel has version %d of Landlock, and %d is needed", abi, MinABI)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: readFiles | readDirs | writeFiles | makeNodes | makeRest}
	if abi < 5 {
		attr.Handled_access_fs &^= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= ABIUnix {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	if abi >= 4 && s.NoNetwork {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= ABIScope {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, err := create(attr)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r := ruleset{fd, attr.Handled_access_fs}
	if err := r.readable(s.Hide); err != nil {
		return err
	}
	for _, dir := range s.Write {
		real, err := filepath.EvalSymlinks(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		at, err := open(unix.AT_FDCWD, real)
		if err != nil {
			return fmt.Errorf("%s: %w", real, err)
		}
		access := uint64(readFiles | readDirs | writeFiles | makeRest | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX)
		if !isDir(at) {
			access = readFiles | writeFiles
		}
		err = r.allow(at, access)
		unix.Close(at)
		if err != nil {
			return fmt.Errorf("%s: %w", real, err)
		}
	}
	return enforce(fd)
}

func create(attr unix.LandlockRulesetAttr) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return 0, fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	return int(fd), nil
}

func enforce(fd int) error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), 0, 0); errno != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", errno)
	}
	return nil
}

// scope puts this thread in a scope of its own, where the kernel has them.
func scope() error {
	if ABI() < ABIScope {
		return nil
	}
	fd, err := create(unix.LandlockRulesetAttr{Scoped: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return enforce(fd)
}

// readable lets all be read but devices and what is hidden. Landlock cannot
// take away, so that above what is hidden each of its neighbours is given by
// itself; what is new there cannot be read until the next command. Names can be
// listed everywhere: a right to list is one for all that is below.
func (r ruleset) readable(hide []string) error {
	skip := [][]string{{"dev"}}
	for _, h := range hide {
		real, err := filepath.EvalSymlinks(h)
		if err != nil {
			if real = deepest(h); real == "" {
				continue // not there: nothing to read
			}
		}
		if real == "/" {
			return errors.New("/ cannot be hidden")
		}
		skip = append(skip, strings.Split(strings.Trim(real, "/"), "/"))
	}
	root, err := open(unix.AT_FDCWD, "/")
	if err != nil {
		return err
	}
	defer unix.Close(root)
	if err := r.allow(root, readDirs); err != nil {
		return err
	}
	if err := r.neighbours(root, "/", skip); err != nil {
		return err
	}
	dev, err := unix.Openat(root, "dev", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // a system without devices
	}
	defer unix.Close(dev)
	for _, name := range devices {
		fd, err := open(dev, name)
		if err != nil {
			continue
		}
		err = r.allow(fd, readFiles&^unix.LANDLOCK_ACCESS_FS_EXECUTE|writeFiles)
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("/dev/%s: %w", name, err)
		}
	}
	return nil
}

// deepest is h where only this user cannot look: a path that may not be
// followed is hidden as it was written, and one that is not there is "".
func deepest(h string) string {
	if _, err := os.Lstat(h); err != nil && !errors.Is(err, os.ErrPermission) {
		return ""
	}
	return filepath.Clean(h)
}

// neighbours gives the right to read to all entries of a directory but those
// that a path of skip begins with, and to their neighbours below.
func (r ruleset) neighbours(dir int, path string, skip [][]string) error {
	list, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // what cannot be listed by us the command cannot list either
	}
	f := os.NewFile(uintptr(list), path)
	entries, err := f.ReadDir(maxEntries + 1)
	f.Close()
	if len(entries) > maxEntries {
		return fmt.Errorf("%s has more than %d entries, too many to hide one of them: hide the directory, or use bubblewrap", path, maxEntries)
	}
	if err != nil && len(entries) == 0 {
		return nil // empty
	}
	for _, e := range entries {
		name := e.Name()
		if e.Type()&os.ModeSymlink != 0 {
			continue // what it leads to counts, wherever that is
		}
		var below [][]string
		gone := false
		for _, s := range skip {
			if s[0] == name {
				if gone = len(s) == 1; gone {
					break
				}
				below = append(below, s[1:])
			}
		}
		if gone {
			continue
		}
		fd, err := open(dir, name)
		if err != nil {
			continue // gone since it was listed
		}
		if below != nil && isDir(fd) {
			err = r.neighbours(fd, filepath.Join(path, name), below)
		} else {
			err = r.allow(fd, allowed(fd, readFiles))
		}
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(path, name), err)
		}
	}
	return nil
}

// allowed is access, or 0 for what a rule cannot be about: a pipe or a socket
// that has no file system, or a link that took the place of a file.
func allowed(fd int, access uint64) uint64 {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || !slices.Contains([]uint32{unix.S_IFDIR, unix.S_IFREG, unix.S_IFIFO}, st.Mode&unix.S_IFMT) {
		return 0
	}
	return access
}

func isDir(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}
