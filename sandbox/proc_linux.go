package sandbox

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"
)

// procStat is what /proc says of a process.
type procStat struct {
	state        byte
	parent, pgrp int
}

func readStat(pid int) (procStat, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, false
	}
	// The name is in brackets and may hold anything, brackets too.
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return procStat{}, false
	}
	f := bytes.Fields(b[i+1:])
	if len(f) < 3 {
		return procStat{}, false
	}
	parent, err1 := strconv.Atoi(string(f[1]))
	pgrp, err2 := strconv.Atoi(string(f[2]))
	return procStat{f[0][0], parent, pgrp}, err1 == nil && err2 == nil
}

// procMounted reports whether /proc is there and has this process: without it
// nobody's children can be found.
func procMounted() bool {
	_, ok := readStat(os.Getpid())
	return ok
}

func processes() map[int]procStat {
	all := map[int]procStat{}
	d, err := os.Open("/proc")
	if err != nil {
		return all
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1) // what could be read is all that there is to go by
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			if st, ok := readStat(pid); ok {
				all[pid] = st
			}
		}
	}
	return all
}

// child is a process as it was seen, below root, who adopts those whose parent
// ends.
type child struct{ pid, parent, root int }

// descendants lists the living descendants of pid, each after its parent: who
// is signalled in this order never sees its child end and goes on to what it
// would do next.
func descendants(pid int) []child {
	all := processes()
	children := map[int][]int{}
	for p, st := range all {
		children[st.parent] = append(children[st.parent], p)
	}
	var out []child
	seen := map[int]bool{pid: true}
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		for _, c := range children[queue[0]] {
			if seen[c] {
				continue
			}
			seen[c] = true
			queue = append(queue, c)
			if s := all[c].state; s != 'Z' && s != 'X' {
				out = append(out, child{c, queue[0], pid})
			}
		}
	}
	return out
}

// pidsOf are the numbers of children, sorted; nil of none.
func pidsOf(list []child) []int {
	var pids []int
	for _, c := range list {
		pids = append(pids, c.pid)
	}
	slices.Sort(pids)
	return pids
}

func groupMembers(pgrp int) []int {
	if !procMounted() {
		return []int{pgrp} // its number is its leader's
	}
	var out []int
	for p, st := range processes() {
		if st.pgrp == pgrp && st.state != 'Z' && st.state != 'X' {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// groupAlive reports whether a group has a member that runs: one that nobody
// has reaped still takes signals, and an idle init may leave it so for long.
func groupAlive(pgrp int) bool { return len(groupMembers(pgrp)) > 0 }

// The numbers of these calls are the same on all architectures.
const (
	sysPidfdSendSignal = 424
	sysPidfdOpen       = 434
)

// signalChild signals c if it still is a child of its parent, or of the root
// since its parent has ended: between the look and the signal a number may come
// to mean another process, so a handle is taken first and checked.
func signalChild(c child, sig syscall.Signal) {
	pid := c.pid
	ours := func() bool {
		st, ok := readStat(pid)
		return ok && (st.parent == c.parent || st.parent == c.root)
	}
	fd, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(pid), 0, 0)
	if errno != 0 {
		if errors.Is(errno, syscall.ESRCH) {
			return
		}
		// A kernel before 5.3 or a filter: the check alone has to do.
		if ours() {
			_ = syscall.Kill(pid, sig) // gone is as good
		}
		return
	}
	defer syscall.Close(int(fd))
	if !ours() {
		return // gone, or adopted by another: the next look finds it again
	}
	_, _, _ = syscall.Syscall6(sysPidfdSendSignal, fd, uintptr(sig), 0, 0, 0, 0)
}
