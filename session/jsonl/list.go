package jsonl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/session"
)

// indexName is the file of what a list knows. It is made anew if it is lost.
const indexName = ".index.json"

// known is what a list knows of one journal, and how far it has read it.
type known struct {
	Size    int64             `json:"size"` // of the file when it was read
	Mtime   time.Time         `json:"mtime"`
	End     int64             `json:"end"`  // of the records that were read
	Last    int64             `json:"last"` // where the last of them begins
	LastID  string            `json:"last_id"`
	Session session.Describer `json:"session"`
}

type listIndex struct {
	Version  int               `json:"version"`
	Sessions map[string]*known `json:"sessions"`
}

const listVersion = 2

// List is [session.Lister].List. It reads what was appended since the last
// list; a session that cannot be read is listed with its [session.Info.Err], and
// one of which nothing was recorded is not listed.
func (st *Store) List(ctx context.Context) iter.Seq2[session.Info, error] {
	return func(yield func(session.Info, error) bool) {
		infos, err := st.list(ctx)
		if err != nil {
			yield(session.Info{}, err)
			return
		}
		for _, info := range infos {
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (st *Store) list(ctx context.Context) ([]session.Info, error) {
	st.listing.Lock()
	defer st.listing.Unlock()
	files, err := os.ReadDir(st.dir)
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	old := st.loadIndex()
	fresh := listIndex{listVersion, make(map[string]*known, len(files))}
	changed := false
	infos := make([]session.Info, 0, len(files))
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		id, ok := isSession(file.Name())
		if !ok || !file.Type().IsRegular() {
			continue
		}
		stat, err := file.Info()
		if err != nil {
			continue // deleted meanwhile
		}
		if stat.Size() == 0 {
			continue // it is about to begin, or ended before it could
		}
		k := old.Sessions[id]
		if k == nil || k.Size != stat.Size() || !k.Mtime.Equal(stat.ModTime()) {
			if k, err = st.describe(ctx, id, k); errors.Is(err, fs.ErrNotExist) {
				continue // deleted meanwhile
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			changed = true
		}
		if err == nil {
			fresh.Sessions[id] = k
		}
		info := k.info(stat, err)
		infos = append(infos, info)
	}
	if changed || len(fresh.Sessions) != len(old.Sessions) {
		_ = st.saveIndex(fresh) // the next list reads more, that is all
	}
	slices.SortFunc(infos, func(a, b session.Info) int {
		if c := b.Updated.Compare(a.Updated); c != 0 {
			return c
		}
		return strings.Compare(b.ID, a.ID)
	})
	return infos, nil
}

// Info is what a list says of one session.
func (st *Store) Info(ctx context.Context, id string) (session.Info, error) {
	if err := checkID(id); err != nil {
		return session.Info{}, err
	}
	k, err := st.describe(ctx, id, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return session.Info{}, fmt.Errorf("%w: %s", session.ErrNotFound, id)
	}
	if ctx.Err() != nil {
		return session.Info{}, ctx.Err()
	}
	stat, err2 := os.Lstat(st.path(id, ".jsonl"))
	if err2 != nil {
		return session.Info{}, fmt.Errorf("session %s: %w", id, err2)
	}
	return k.info(stat, err), nil
}

// info is what is known, of a journal that may be one that cannot be read.
func (k *known) info(stat fs.FileInfo, err error) session.Info {
	info := k.Session.Info
	info.Size = stat.Size()
	if info.Updated.IsZero() {
		info.Updated = stat.ModTime()
	}
	if err != nil {
		info.Err = err.Error()
		if info.Title == "" {
			info.Title = "(cannot be read: " + info.Err + ")"
		}
	}
	return info
}

// describe reads a journal on from where was ends, if that is still there.
func (st *Store) describe(ctx context.Context, id string, was *known) (*known, error) {
	k := &known{Session: session.Describer{Info: session.Info{ID: id}}}
	f, size, err := openFile(st.path(id, ".jsonl"), os.O_RDONLY)
	if err != nil {
		return k, err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return k, err
	}
	if was != nil && was.End > 0 && was.End <= size {
		b := make([]byte, min(headBytes, was.End-was.Last))
		if _, err := f.ReadAt(b, was.Last); err == nil {
			if h, _, ok := session.CutHeader(b); ok && string(h.ID) == was.LastID {
				*k = *was
			}
		}
	}
	k.Size, k.Mtime = size, stat.ModTime()
	err = scanLines(f, k.End, size, func(l line) error {
		if !l.whole || ctx.Err() != nil {
			return ctx.Err()
		}
		k.End = l.at + int64(l.n) + 1
		if l.n == 0 {
			return nil
		}
		h, err := readHeader(f, l)
		if err != nil {
			return fmt.Errorf("line %d: %w", lineAt(f, l.at), err)
		}
		k.Last, k.LastID = l.at, string(h.ID)
		if !k.Session.Wants(string(h.Kind)) {
			at, err := time.Parse(time.RFC3339Nano, string(h.Time))
			if err != nil {
				return fmt.Errorf("line %d: %w", lineAt(f, l.at), err)
			}
			k.Session.Count(string(h.Kind), at)
			return nil
		}
		b := make([]byte, l.n)
		if _, err := f.ReadAt(b, l.at); err != nil {
			return err
		}
		e, err := session.Decode(b)
		if err != nil {
			return fmt.Errorf("line %d: %w", lineAt(f, l.at), err)
		}
		k.Session.Add(e)
		return nil
	})
	return k, err
}

// loadIndex reads the index. One that cannot be read is as good as none.
func (st *Store) loadIndex() listIndex {
	var x listIndex
	f, _, err := openFile(st.path("", indexName), os.O_RDONLY)
	if err != nil {
		return x
	}
	defer f.Close()
	if err := json.NewDecoder(f).Decode(&x); err != nil || x.Version != listVersion {
		return listIndex{}
	}
	for id, k := range x.Sessions {
		if k == nil || k.End < 0 || k.Last < 0 || k.Last > k.End {
			delete(x.Sessions, id)
		}
	}
	return x
}

func (st *Store) saveIndex(x listIndex) error {
	b, err := json.Marshal(x)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(st.dir, indexName+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), st.path("", indexName))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // a leftover, no more
	}
	return err
}

// Resolve returns the session whose id is prefix, or the only one whose id
// begins with it; a prefix has four characters at least. More than one is an
// error that lists them.
func (st *Store) Resolve(_ context.Context, prefix string) (string, error) {
	if err := checkID(prefix); err != nil {
		return "", err
	}
	if info, err := os.Lstat(st.path(prefix, ".jsonl")); err == nil && info.Mode().IsRegular() {
		return prefix, nil
	}
	files, err := os.ReadDir(st.dir)
	if err != nil {
		return "", fmt.Errorf("session: %w", err)
	}
	var found []string
	for _, f := range files {
		if id, ok := isSession(f.Name()); ok && f.Type().IsRegular() && strings.HasPrefix(id, prefix) {
			found = append(found, id)
		}
	}
	switch {
	case len(found) == 0:
		return "", fmt.Errorf("%w: no session is named %q: list them to see which there are", session.ErrNotFound, prefix)
	case len(prefix) < 4:
		return "", fmt.Errorf("session: %q is too short for a prefix: give four characters or more", prefix)
	case len(found) > 8:
		return "", fmt.Errorf("session: %d ids begin with %q, among them %s: give more of it", len(found), prefix, strings.Join(found[:8], ", "))
	case len(found) > 1:
		return "", fmt.Errorf("session: %d ids begin with %q: %s: give more of it", len(found), prefix, strings.Join(found, ", "))
	}
	return found[0], nil
}

// Latest returns the session of the working directory dir that was changed
// last. Those of children are passed over.
func (st *Store) Latest(ctx context.Context, dir string) (string, error) {
	for info, err := range st.List(ctx) {
		if err != nil {
			return "", err
		}
		if info.Dir == dir && info.Agent == "" && info.Err == "" {
			return info.ID, nil
		}
	}
	return "", fmt.Errorf("%w: no session was held in %s", session.ErrNotFound, dir)
}
