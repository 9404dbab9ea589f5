//go:build !linux

package procguard

import (
	"errors"
	"fmt"
)

func hide() error {
	return fmt.Errorf("procguard: the environment is not hidden: %w", errors.ErrUnsupported)
}
