//go:build unix

package search

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"
)

// local opens and reads a file by bare system calls: with tens of thousands of
// small files, what os.File does beside them takes as long as the search.
func (s *scanner) local(ctx context.Context, name string, w want, follow bool) (found, error) {
	fail := func(op string, err error) (found, error) {
		return found{}, &fs.PathError{Op: op, Path: name, Err: err}
	}
	// A file that has become a pipe, a device or a link since it was listed is
	// neither waited for nor followed.
	flags := syscall.O_RDONLY | syscall.O_CLOEXEC | syscall.O_NONBLOCK | syscall.O_NOCTTY
	if !follow {
		flags |= syscall.O_NOFOLLOW
	}
	var fd int
	for {
		var err error
		fd, err = syscall.Open(name, flags, 0)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EINTR) {
			return fail("open", err)
		}
	}
	defer syscall.Close(fd)
	s.fd = reader{fd: fd}
	f, err := s.scan(ctx, &s.fd, w)
	if err != nil && ctx.Err() == nil {
		return fail("read", err)
	}
	return f, err
}

// reader reads a file descriptor.
type reader struct {
	fd, n int
	known bool // to be a regular file
}

func (r *reader) Read(p []byte) (int, error) {
	// What is shorter than a buffer has an end, so only the rest is asked for
	// its kind: /dev/zero has none.
	if r.n >= chunk && !r.known {
		var st syscall.Stat_t
		if err := syscall.Fstat(r.fd, &st); err != nil {
			return 0, err
		}
		if st.Mode&syscall.S_IFMT != syscall.S_IFREG {
			return 0, errors.New("not a regular file")
		}
		r.known = true
	}
	for {
		n, err := syscall.Read(r.fd, p)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return 0, errors.New("not a regular file")
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		default:
			r.n += n
			return n, nil
		}
	}
}
