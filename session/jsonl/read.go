package jsonl

import (
	"context"
	"fmt"
	"io"

	"github.com/cantle-dev/cantle/session"
)

// readBlock is how much is read at a time where entries lie side by side.
const readBlock = 256 << 10

type place struct {
	id string
	at int64
	n  int32
}

// read yields the entries. What yield is told is all that went wrong; the
// error that is returned was not told yet.
func (j *journal) read(ctx context.Context, ids []string, yield func(session.Entry, error) bool) error {
	j.mu.Lock()
	places := make([]place, 0, max(len(ids), 1))
	var missing error
	if len(ids) == 0 {
		for _, r := range j.recs {
			places = append(places, place{r.id, r.at, r.n})
		}
	}
	for _, id := range ids {
		i, ok := j.index[id]
		if !ok {
			missing = fmt.Errorf("%w: entry %s of session %s", session.ErrNotFound, id, j.id)
			break
		}
		r := j.recs[i]
		places = append(places, place{r.id, r.at, r.n})
	}
	f, done, err := j.file()
	j.mu.Unlock()
	if err != nil {
		return err
	}
	defer done()
	for len(places) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, to := 1, places[0].at+int64(places[0].n)
		for n < len(places) && places[n].at == to+1 && to-places[0].at < readBlock {
			to = places[n].at + int64(places[n].n)
			n++
		}
		b := make([]byte, to-places[0].at)
		if _, err := f.ReadAt(b, places[0].at); err != nil {
			return j.errorf("entry %s: %w", places[0].id, err)
		}
		for _, p := range places[:n] {
			from := p.at - places[0].at
			e, err := session.Decode(b[from : from+int64(p.n) : from+int64(p.n)])
			if err == nil && e.ID != p.id {
				err = fmt.Errorf("entry %s is where %s was", e.ID, p.id)
			}
			if err != nil {
				return &session.CorruptError{Session: j.id, File: j.path, Line: lineAt(f, p.at), Err: err}
			}
			if !yield(e, nil) {
				return nil
			}
		}
		places = places[n:]
	}
	return missing
}

// lineAt is the number of the line that begins at a place.
func lineAt(f io.ReaderAt, at int64) int {
	n := 1
	_ = scanLines(f, 0, at, func(line) error { n++; return nil }) // a wrong number is better than no error
	return n
}
