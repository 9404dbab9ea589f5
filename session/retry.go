package session

import "fmt"

// Retried is for stores: it holds the rule of [Store].Append. It returns how
// many of the entries, from the first on, are in the journal already, and an
// error if the rest may not be added.
//
// have is the ID of the journal's last entry; present says whether there is
// an entry with the ID of entries[i], and whether its record is the same.
func Retried(id, after, have string, entries []Entry, present func(i int) (there, same bool, err error)) (skip int, err error) {
	seen := make(map[string]bool, len(entries))
	for i, e := range entries {
		there, same, err := present(i)
		switch {
		case err != nil:
			return 0, err
		case seen[e.ID] || there && (!same || skip != i):
			return 0, fmt.Errorf("%w: session %s has another entry %s, or has it elsewhere", ErrExists, id, e.ID)
		case there:
			skip++
		}
		seen[e.ID] = true
	}
	switch {
	case skip == len(entries):
		return skip, nil // a retry of what was written
	case skip > 0 && entries[skip-1].ID != have, skip == 0 && after != have:
		return 0, &ConflictError{Session: id, Want: after, Have: have}
	}
	return skip, nil
}
