package app

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cantle-dev/cantle/sandbox"
)

// watchEvery is how often it is looked whether a command has made what it must
// not, of which there is one file for each repository: of many, less often.
const watchEvery = 10 * time.Millisecond

// watched is a command that is ended if it makes one of some files, which are
// removed. No view of files can keep a file from being made that is not there in
// a folder that must stay open.
type watched struct {
	sandbox.Process
	absent []absent
	done   chan struct{}

	mu   sync.Mutex
	made string
}

// absent is a file that must not be there, in a folder that stays the same
// whatever comes to be at its path.
type absent struct {
	in         *os.Root
	name, path string
}

func watch(p sandbox.Process, paths []string) sandbox.Process {
	w := &watched{Process: p, done: make(chan struct{})}
	for _, path := range paths {
		dir, name := filepath.Split(path)
		in, err := os.OpenRoot(dir)
		if err != nil {
			continue // and so nothing is made in it
		}
		w.absent = append(w.absent, absent{in, name, path})
	}
	if len(w.absent) == 0 {
		return p
	}
	go w.look()
	return w
}

func (w *watched) look() {
	defer func() {
		for _, a := range w.absent {
			_ = a.in.Close() // nothing was written
		}
		close(w.done)
	}()
	tick := time.NewTicker(watchEvery * time.Duration(1+len(w.absent)/8))
	defer tick.Stop()
	for {
		select {
		case <-w.Process.Done():
			w.clear()
			return
		case <-tick.C:
			if w.clear() {
				_ = w.Process.Stop(0) // what could not be ended is looked at again
			}
		}
	}
}

// clear removes what was made, and reports whether there was anything.
func (w *watched) clear() bool {
	found := false
	for _, a := range w.absent {
		if _, err := a.in.Lstat(a.name); err != nil {
			continue // after the end, its folder is closed
		}
		found = true
		_ = a.in.RemoveAll(a.name) // what stays is found again
		w.mu.Lock()
		w.made = a.path
		w.mu.Unlock()
	}
	return found
}

// Done is [sandbox.Process].Done.
func (w *watched) Done() <-chan struct{} { return w.done }

// Wait is [sandbox.Process].Wait.
func (w *watched) Wait() (sandbox.Exit, error) {
	exit, err := w.Process.Wait()
	w.clear()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && w.made != "" {
		err = fmt.Errorf("it was ended, since it made %s, by which git would take the configuration of another folder and run what that says: the file was removed", w.made)
	}
	return exit, err
}
