package sandboxtest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// attackName is the argument with which a test's program is an attacker.
const attackName = "sandboxtest-attack"

// Main is to be called by TestMain after sandbox.Main: [Escapes] starts the
// test's program again for what a shell cannot try.
func Main() {
	if len(os.Args) < 3 || os.Args[1] != attackName {
		return
	}
	if err := attack(os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, os.Args[2]+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func attack(name string, args []string) error {
	inet := func(kind, proto int) error {
		fd, err := unix.Socket(unix.AF_INET, kind, proto)
		if err != nil {
			return err
		}
		port, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		to := &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
		if kind == unix.SOCK_DGRAM {
			return unix.Sendto(fd, []byte("out"), 0, to)
		}
		if err := unix.Connect(fd, to); err != nil {
			return err
		}
		_, err = unix.Write(fd, []byte("out"))
		return err
	}
	switch name {
	case "tcp":
		return inet(unix.SOCK_STREAM, 0)
	case "udp":
		return inet(unix.SOCK_DGRAM, 0)
	case "mptcp":
		return inet(unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
	case "unix":
		c, err := net.Dial("unix", args[0])
		if err != nil {
			return err
		}
		_, err = c.Write([]byte("out"))
		return err
	case "pair": // a pair of datagram sockets sends to any path
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		return unix.Sendto(fds[0], []byte("out"), 0, &unix.SockaddrUnix{Name: args[0]})
	case "ring":
		var params [120]byte
		fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(ptr(&params)), 0)
		if errno != 0 {
			return errno
		}
		return unix.Close(int(fd))
	case "family": // kinds of sockets that reach past any network namespace
		var errs []error
		for _, f := range []int{unix.AF_VSOCK, unix.AF_ALG, unix.AF_PACKET, unix.AF_BLUETOOTH, unix.AF_XDP} {
			fd, err := unix.Socket(f, unix.SOCK_SEQPACKET, 0)
			if err != nil {
				fd, err = unix.Socket(f, unix.SOCK_STREAM, 0)
			}
			if err == nil {
				return unix.Close(fd)
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	case "limits": // low ones end a process, or what it writes
		pid, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 7, Max: 7}, nil)
	case "memory":
		id, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		b, err := unix.SysvShmAttach(id, 0, 0)
		if err != nil {
			return err
		}
		b[0] = 1
		return unix.SysvShmDetach(b)
	case "namespace":
		cmd := exec.Command("/proc/self/exe", attackName, "nothing")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET}
		return cmd.Run()
	case "nothing":
		return nil
	case "truncate":
		return unix.Truncate(args[0], 0)
	case "supervisor": // what watches over the command, if it can be seen
		list, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return err
		}
		for _, c := range list {
			b, err := os.ReadFile(c)
			if err != nil || !bytes.Contains(b, []byte("cantle-sandbox-supervisor")) {
				continue
			}
			// To read it is to learn what it is told, to write it is to be it.
			for _, f := range []string{"mem", "environ", "fd/3"} {
				if f, err := os.Open(filepath.Join(filepath.Dir(c), f)); err == nil {
					return f.Close()
				}
			}
		}
		return unix.ESRCH
	case "write":
		return os.WriteFile(args[0], []byte("planted"), 0o600)
	}
	return fmt.Errorf("there is no attack of that name")
}
