//go:build !unix

package search

import (
	"context"
	"os"
)

// reader is not needed here.
type reader struct{}

func (s *scanner) local(ctx context.Context, name string, w want, _ bool) (found, error) {
	f, err := os.Open(name)
	if err != nil {
		return found{}, err
	}
	defer f.Close()
	return s.scan(ctx, f, w)
}
