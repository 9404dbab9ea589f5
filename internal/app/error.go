package app

import (
	"errors"
	"fmt"
)

// ErrUsage is wrapped by errors that the user mends in the command line or the
// settings.
var ErrUsage = errors.New("usage")

// Usage is an error of the user's side: it wraps ErrUsage.
func Usage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

type usageError struct{ err error }

func (e *usageError) Error() string        { return e.err.Error() }
func (e *usageError) Unwrap() error        { return e.err }
func (e *usageError) Is(target error) bool { return target == ErrUsage }
