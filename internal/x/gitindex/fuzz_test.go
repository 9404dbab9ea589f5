package gitindex

import "testing"

// FuzzEntries: no bytes make it read beyond them, or never end.
func FuzzEntries(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01"), false)
	f.Add(append([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01"), make([]byte, 100)...), true)
	f.Fuzz(func(_ *testing.T, b []byte, long bool) {
		hash := 20
		if long {
			hash = 32
		}
		_ = entries(b, hash, func([]byte) {}) // what is wrong with it does not matter
	})
}
