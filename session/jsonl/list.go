package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/session"
)

// How much of a file a list reads: what was first typed and the folder are at
// its start, the last title and model at its end.
const (
	listHead = 64 << 10
	listTail = 64 << 10
)

// List is [session.Lister].List. It reads the beginning and the end of each
// file. Files that are not sessions are passed over.
func (st *Store) List(ctx context.Context) iter.Seq2[session.Info, error] {
	return func(yield func(session.Info, error) bool) {
		files, err := st.files()
		if err != nil {
			yield(session.Info{}, err)
			return
		}
		for _, f := range files {
			if err := ctx.Err(); err != nil {
				yield(session.Info{}, err)
				return
			}
			info, err := st.describe(f)
			if errors.Is(err, os.ErrNotExist) {
				continue // deleted meanwhile
			}
			if err != nil {
				info = session.Info{ID: f.id, Title: "(cannot be read: " + err.Error() + ")"}
			}
			info.Updated, info.Size = f.mod, f.size
			if !yield(info, nil) {
				return
			}
		}
	}
}

type listed struct {
	id   string
	mod  time.Time
	size int64
}

// files lists the journals, the one changed last first.
func (st *Store) files() ([]listed, error) {
	es, err := os.ReadDir(st.dir)
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	var out []listed
	for _, e := range es {
		id, ok := strings.CutSuffix(e.Name(), ".jsonl")
		if !ok || checkID(id) != nil || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // deleted meanwhile
		}
		out = append(out, listed{id, info.ModTime(), info.Size()})
	}
	slices.SortFunc(out, func(a, b listed) int {
		if c := b.mod.Compare(a.mod); c != 0 {
			return c
		}
		return strings.Compare(b.id, a.id)
	})
	return out, nil
}

func (st *Store) describe(l listed) (session.Info, error) {
	f, err := os.Open(st.file(l.id))
	if err != nil {
		return session.Info{}, err
	}
	defer f.Close()
	head := make([]byte, min(l.size, listHead))
	if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return session.Info{}, err
	}
	var tail []byte
	if rest := l.size - int64(len(head)); rest > 0 {
		tail = make([]byte, min(rest, listTail))
		if _, err := f.ReadAt(tail, l.size-int64(len(tail))); err != nil && err != io.EOF {
			return session.Info{}, err
		}
		_, tail, _ = bytes.Cut(tail, []byte("\n")) // the first line may be cut
	}
	return session.Describe(l.id, func(yield func(session.Entry) bool) {
		for _, b := range [][]byte{head, tail} {
			for line := range bytes.Lines(b) {
				if e, err := session.Decode(bytes.TrimSpace(line)); err == nil && !yield(e) {
					return
				}
			}
		}
	}), nil
}

// Resolve returns the session whose id begins with prefix, which has four
// characters at least unless it is a whole id. More than one is an error that
// lists them.
func (st *Store) Resolve(_ context.Context, prefix string) (string, error) {
	if err := checkID(prefix); err != nil {
		return "", err
	}
	if _, err := os.Lstat(st.file(prefix)); err == nil {
		return prefix, nil
	}
	files, err := st.files()
	if err != nil {
		return "", err
	}
	var found []string
	for _, f := range files {
		if strings.HasPrefix(f.id, prefix) {
			found = append(found, f.id)
		}
	}
	switch {
	case len(found) == 0:
		return "", fmt.Errorf("%w: no session is named %q: list them to see which there are", session.ErrNotFound, prefix)
	case len(prefix) < 4:
		return "", fmt.Errorf("session: %q is too short for a prefix: give four characters or more", prefix)
	case len(found) > 1:
		return "", fmt.Errorf("session: %q begins %d ids: %s", prefix, len(found), strings.Join(found[:min(len(found), 8)], ", "))
	}
	return found[0], nil
}

// Latest returns the session of the working directory dir that was changed
// last.
func (st *Store) Latest(ctx context.Context, dir string) (string, error) {
	for info, err := range st.List(ctx) {
		if err != nil {
			return "", err
		}
		if info.Dir == dir {
			return info.ID, nil
		}
	}
	return "", fmt.Errorf("%w: no session was held in %s", session.ErrNotFound, dir)
}
