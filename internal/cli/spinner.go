package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// spinner shows on a terminal that something is waited for.
type spinner struct {
	w    io.Writer
	once sync.Once
	quit chan struct{}
	done chan struct{}
}

func startSpinner(w io.Writer) *spinner {
	s := &spinner{w: w, quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		t := time.NewTicker(120 * time.Millisecond)
		defer t.Stop()
		for i := 0; ; i++ {
			select {
			case <-t.C:
				fmt.Fprintf(w, "\r%c ", []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")[i%10])
			case <-s.quit:
				fmt.Fprint(w, "\r  \r")
				return
			}
		}
	}()
	return s
}

func (s *spinner) stop() {
	if s == nil {
		return
	}
	s.once.Do(func() { close(s.quit) })
	<-s.done
}
