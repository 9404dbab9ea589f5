package procguard

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// hide wipes before it denies: from then on /proc/self/mem is root's.
func hide() error { return errors.Join(wipe(), deny()) }

// wipe overwrites the block. The runtime has made copies of it.
func wipe() error {
	begin, end, err := block()
	if err != nil {
		return fmt.Errorf("procguard: the environment could not be hidden: %w", err)
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("procguard: the environment could not be hidden: %w", err)
	}
	_, err = mem.WriteAt(make([]byte, end-begin), begin)
	if err = errors.Join(err, mem.Close()); err != nil {
		return fmt.Errorf("procguard: the environment could not be hidden: %w", err)
	}
	return nil
}

// block is where the environment lies: the fields 50 and 51 of proc_pid_stat(5).
func block() (begin, end int64, err error) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, err
	}
	// The name of the program, in brackets, may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const third = 3 // the number of the field after the name
	if len(fields) <= 51-third {
		return 0, 0, errors.New("this system does not say where it is")
	}
	if begin, err = strconv.ParseInt(string(fields[50-third]), 10, 64); err != nil {
		return 0, 0, err
	}
	if end, err = strconv.ParseInt(string(fields[51-third]), 10, 64); err != nil {
		return 0, 0, err
	}
	const most = 64 << 20 // far above what a system takes
	if begin <= 0 || end < begin || end-begin > most {
		return 0, 0, errors.New("this system does not say where it is")
	}
	return begin, end, nil
}

func deny() error {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("procguard: the memory could not be hidden: %w", errno)
	}
	return nil
}
