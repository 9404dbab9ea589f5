package cli

import (
	"testing"
)

// TestALentTerminalIsGivenBackOnce, by whoever comes first: what had it, or the signal
// that ends the program.
func TestALentTerminalIsGivenBackOnce(t *testing.T) {
	l := &lent{}
	l.back() // of nobody
	n := 0
	back := l.take(func() { n++ })
	soon(l.back)
	if back(); n != 1 {
		t.Errorf("%d times", n)
	}
	back = l.take(func() { n++ })
	back()
	if soon(l.back); n != 2 {
		t.Errorf("%d times", n)
	}
	(*lent)(nil).back()
	if (*lent)(nil).take(func() { n++ })(); n != 3 {
		t.Errorf("%d times", n)
	}
}
