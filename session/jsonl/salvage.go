package jsonl

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/cantle-dev/cantle/session"
)

// salvageBytes is how much is written at a time.
const salvageBytes = 1 << 20

// Salvage copies what can be read of a corrupt session, which stays as it is,
// into the new session to, and returns how many lines could not be read. They
// are left out, also the half of a last line; an entry whose parent is lost
// goes on from the one before it, as opening it tells. A session to that is
// there already is [session.ErrExists]. On an error nothing is left of it.
func (st *Store) Salvage(ctx context.Context, id, to string) (lost int, err error) {
	if err := errors.Join(checkID(id), checkID(to)); err != nil {
		return 0, err
	}
	f, size, err := openFile(st.path(id, ".jsonl"), os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("%w: %s", session.ErrNotFound, id)
	}
	if err != nil {
		return 0, fmt.Errorf("session %s: %w", id, err)
	}
	defer f.Close()
	unlock, err := st.Lock(ctx, to)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if _, err := os.Lstat(st.path(to, ".jsonl")); err == nil {
		return 0, fmt.Errorf("%w: %s", session.ErrExists, to)
	}
	lost, err = st.salvage(ctx, f, size, to)
	if err != nil {
		if rerr := os.Remove(st.path(to, ".jsonl")); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
		return lost, fmt.Errorf("session %s: salvage: %w", id, err)
	}
	return lost, nil
}

func (st *Store) salvage(ctx context.Context, f *os.File, size int64, to string) (lost int, err error) {
	var batch []session.Entry
	after, bytes := "", 0
	write := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := st.Append(ctx, to, after, batch...); err != nil {
			return err
		}
		after = batch[len(batch)-1].ID
		batch, bytes = batch[:0], 0
		return nil
	}
	seen := map[string]bool{}
	err = scanLines(f, 0, size, func(l line) error {
		if l.n == 0 {
			return nil
		}
		b := make([]byte, l.n)
		if _, err := f.ReadAt(b, l.at); err != nil {
			return err
		}
		e, err := session.Decode(b)
		if err != nil || seen[e.ID] {
			lost++
			return nil
		}
		seen[e.ID] = true
		batch = append(batch, e)
		if bytes += l.n; bytes < salvageBytes {
			return nil
		}
		return write()
	})
	if err == nil {
		err = write()
	}
	if err == nil && after == "" {
		err = errors.New("nothing in it can be read")
	}
	if err == nil {
		err = st.Sync(ctx, to)
	}
	return lost, err
}
