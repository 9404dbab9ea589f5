//go:build !linux

package sandbox

import (
	"context"
	"errors"
)

// Main must be the first thing that a program's main does. Here there are no
// supervisors and it does nothing; it is there so that programs are the same
// everywhere.
func Main() { mainCalled.Store(true) }

type pool struct{}

func newPool(LocalOptions) *pool { return nil }

// supervises: a confined command can be run without one.
const supervises = false

func (*pool) start(context.Context, *Command, *Launch) (Process, error) {
	return nil, errors.New("sandbox: there are no supervisors on this system")
}

func (*pool) close() {}
