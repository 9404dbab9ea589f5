package guard

import (
	"slices"
	"sync"
)

// Known collects keys as a program gets them. The zero value is ready; a nil one
// takes none. It is safe for concurrent use.
type Known struct {
	mu   sync.Mutex
	keys []Key
}

// Add adds a key, if it was not there. Several may have one name, such as the one
// that a key had before it was changed.
func (k *Known) Add(name, value string) {
	if k == nil || len(value) < MinLength {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.ContainsFunc(k.keys, func(o Key) bool { return o.Value == value }) {
		k.keys = append(k.keys[:len(k.keys):len(k.keys)], Key{name, value}) // what Keys gave out stays
	}
}

// Keys are the keys so far, for [Options.Keys]. The caller must not change them.
func (k *Known) Keys() []Key {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.keys
}
