package jsonl

import "os"

// SetWrite exchanges what writes to a journal: a disk that gets full.
func (st *Store) SetWrite(fn func(f *os.File, b []byte) (int, error)) { st.write = fn }

// SetFlock puts fn in the place of the system's locks.
func (st *Store) SetFlock(fn func(f *os.File) (held bool, err error)) { st.flock = fn }

// Flock is what locks.
func (st *Store) Flock() func(f *os.File) (held bool, err error) { return st.flock }
