package sandbox

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// lost ends what is left when the supervisor was killed: the command itself
// dies with it, and the rest of its group here.
func (s *supervised) lost() {
	if s.pid == 0 {
		select {
		case s.begun <- errSupervisor:
		default:
		}
		return
	}
	select {
	case <-s.exited:
		if s.h.boxed() {
			break // the box ends with its first process
		}
		// The group may be empty for long, and its number another's: that one
		// has a leader, which this one has not.
		if errors.Is(syscall.Kill(s.pid, 0), syscall.ESRCH) {
			_ = syscall.Kill(-s.pid, syscall.SIGKILL) // none left is as good
		}
	default:
		if !s.h.boxed() {
			_ = syscall.Kill(-s.pid, syscall.SIGKILL)
		}
		s.err = fmt.Errorf("sandbox: the command was killed: %w", errSupervisor)
		s.exit = Exit{Code: 128 + int(syscall.SIGKILL), Signal: "SIGKILL"}
		close(s.exited)
	}
	s.finish()
}

func (s *supervised) PID() int {
	if s.h.boxed() && s.h.proc != nil {
		return outsidePID(s.h.below(), s.pid)
	}
	return s.pid
}
func (s *supervised) Done() <-chan struct{} { return s.gone }

func (s *supervised) Wait() (Exit, error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-s.exited:
			s.out.settle()
			return s.exit, s.err
		case <-tick.C:
			s.h.mu.Lock()
			if s.h.cur == s {
				s.h.wake()
			}
			s.h.mu.Unlock()
		}
	}
}

func (s *supervised) current() bool {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	return s.h.cur == s && !s.h.dead
}

func (s *supervised) PIDs() []int {
	s.listMu.Lock()
	defer s.listMu.Unlock()
	select {
	case <-s.listed: // of an earlier call that did not wait for it
	default:
	}
	if !s.current() {
		return nil
	}
	if s.h.boxed() && s.h.proc != nil {
		return s.h.boxPIDs()
	}
	if s.h.send(message{Op: "list"}) != nil {
		return nil
	}
	t := time.NewTimer(listPatience)
	defer t.Stop()
	select {
	case pids := <-s.listed:
		return pids
	case <-s.gone:
		return nil
	case <-t.C: // it was stopped, or has no time: the look from here is as good, if slower
		return pidsOf(s.h.below())
	}
}

func (s *supervised) Stop(grace time.Duration) error {
	// The supervisor may serve another command by now: it is only told to stop
	// the one that it has.
	s.h.mu.Lock()
	if s.h.cur == s && !s.h.dead {
		s.h.wake()
		_ = s.h.send(message{Op: "stop", Grace: int64(grace)}) // a dead one has killed all
	}
	s.h.mu.Unlock()
	// The supervisor is helped from here once it is late: a command may stop it
	// over and over.
	end := time.Now().Add(grace + stopPatience)
	for wait := grace + headStart; ; wait = min(2*wait, 100*time.Millisecond) {
		t := time.NewTimer(wait)
		select {
		case <-s.gone:
			t.Stop()
			return nil
		case <-t.C:
		}
		if wait > 100*time.Millisecond {
			wait = 5 * time.Millisecond
		}
		if !s.current() {
			<-s.gone
			return nil
		}
		left := s.h.sweep()
		if time.Now().After(end) {
			return fmt.Errorf("sandbox: processes %v could not be killed", pidsOf(left))
		}
		s.h.wake()
	}
}
