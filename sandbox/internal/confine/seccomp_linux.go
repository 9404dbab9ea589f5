//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// arch is how the kernel calls the machine.
var arch = map[string]uint32{
	"amd64": unix.AUDIT_ARCH_X86_64,
	"arm64": unix.AUDIT_ARCH_AARCH64,
}[runtime.GOARCH]

// CanFilter reports whether there is a filter of system calls for this machine.
func CanFilter() bool { return true }

// Apply confines this thread. It is locked to its goroutine for good by the
// caller. An error leaves it half confined.
func Apply(s Spec) error {
	if err := dropCaps(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	switch {
	case s.Landlock:
		if err := restrict(s); err != nil {
			return err
		}
	case s.Scope:
		if err := scope(); err != nil {
			return err
		}
	}
	prog := filter(s)
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog))); errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	runtime.KeepAlive(prog)
	return nil
}

// denied are system calls that reach past files and sockets: with the rights of
// root they load code into the kernel, move mounts, or open what has no path.
var denied = []uint32{
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN,
	unix.SYS_MOUNT_SETATTR, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
}

// shared are the ways to memory, queues and semaphores that are of the whole
// machine and have no path: those of other programs of this user are among them.
var shared = []uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
}

// missing are told to be not there, so that programs use what they used before.
// The flags of clone3 are out of a filter's sight.
var missing = []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_CLONE3}

// Offsets in struct seccomp_data; of an argument the half that an int has.
const (
	offNr   = 0
	offArch = 4
	offArg0 = 16
	offArg1 = 24
	offArg2 = 32
)

const x32Bit = 0x40000000

// filter is the program for the kernel.
func filter(s Spec) []unix.SockFilter {
	var p []unix.SockFilter
	load := func(off uint32) {
		p = append(p, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off})
	}
	ret := func(k uint32) { p = append(p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k}) }
	// unless skips n instructions if the loaded word is not k.
	unless := func(k uint32, n uint8) {
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: n, K: k})
	}
	refuse := func(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }
	load(offArch)
	p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: arch})
	ret(unix.SECCOMP_RET_KILL_PROCESS)
	load(offNr)
	if runtime.GOARCH == "amd64" {
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jf: 1, K: x32Bit})
		ret(refuse(unix.ENOSYS))
	}
	for _, nr := range missing {
		unless(nr, 1)
		ret(refuse(unix.ENOSYS))
	}
	for _, nr := range denied {
		unless(nr, 1)
		ret(refuse(unix.EPERM))
	}
	if s.Landlock { // and so there is no namespace of these
		for _, nr := range shared {
			unless(nr, 1)
			ret(refuse(unix.EPERM))
		}
	}
	// In a namespace of its own a command would be root, which opens much more of
	// the kernel to it.
	for _, nr := range []uint32{unix.SYS_UNSHARE, unix.SYS_CLONE} {
		unless(nr, 4)
		load(offArg0)
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: 1, K: unix.CLONE_NEWUSER})
		ret(refuse(unix.EPERM))
		load(offNr)
	}
	// Limits of others: a new one ends them, or what they write.
	unless(unix.SYS_PRLIMIT64, 9)
	load(offArg0)
	unless(0, 1)
	ret(unix.SECCOMP_RET_ALLOW)
	load(offArg2)
	unless(0, 3)
	load(offArg2 + 4)
	unless(0, 1)
	ret(unix.SECCOMP_RET_ALLOW) // it is but looked at
	ret(refuse(unix.EPERM))
	// A kind of socket that is not known to be harmless is refused: among others
	// those to the machine's host and to the kernel's own services.
	var families []uint32
	if !s.NoUnix {
		families = append(families, unix.AF_UNIX)
	}
	if !s.NoNetwork {
		families = append(families, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)
	}
	unless(unix.SYS_SOCKET, uint8(2+2*len(families)))
	load(offArg0)
	for _, f := range families {
		unless(f, 1)
		ret(unix.SECCOMP_RET_ALLOW)
	}
	ret(refuse(unix.EACCES))
	if s.NoUnix {
		// A pair of datagram sockets can send to any path.
		unless(unix.SYS_SOCKETPAIR, 4)
		load(offArg1)
		p = append(p, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf})
		unless(unix.SOCK_DGRAM, 1)
		ret(refuse(unix.EACCES))
	}
	ret(unix.SECCOMP_RET_ALLOW)
	return p
}

// keptCaps are those that concern files and identities alone, so that root can
// go on as it is used to where it may write.
var keptCaps = []int{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL, unix.CAP_SETGID, unix.CAP_SETUID,
}

// dropCaps drops the capabilities of this thread but those that are kept.
func dropCaps() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	if data[0].Permitted|data[1].Permitted == 0 {
		return nil // nothing to drop, and no_new_privs lets none be gained
	}
	for c := range 64 {
		if slices.Contains(keptCaps, c) {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // the kernel has no more
		}
		if err != nil && !errors.Is(err, unix.EPERM) { // without CAP_SETPCAP; no_new_privs serves as well
			return fmt.Errorf("capability %d: %w", c, err)
		}
	}
	var keep uint32
	for _, c := range keptCaps {
		keep |= bits.RotateLeft32(1, c)
	}
	data[0].Permitted &= keep
	data[0].Effective &= keep
	data[0].Inheritable = 0
	data[1] = unix.CapUserData{}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // a kernel before 4.3 has none
	if err := unix.Capset(&hdr, &data[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	return nil
}
