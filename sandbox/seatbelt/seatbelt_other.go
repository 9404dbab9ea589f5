//go:build !darwin

package seatbelt

import (
	"context"
	"fmt"

	"github.com/cantle-dev/cantle/sandbox"
)

// Open fails: Seatbelt is a part of macOS.
func Open(context.Context, func(host, why string)) (sandbox.Runner, error) {
	return nil, fmt.Errorf("seatbelt: %w: it is a part of macOS", ErrUnavailable)
}
