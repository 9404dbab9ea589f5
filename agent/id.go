package agent

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"sync"
	"time"
)

var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

var idClock struct {
	sync.Mutex
	last uint64
}

// newID makes an id of 20 characters: 54 bits of microseconds and a count,
// rising within the process, then 46 random ones.
func newID() string {
	idClock.Lock()
	now := max(uint64(time.Now().UnixMicro()), idClock.last+1)
	idClock.last = now
	idClock.Unlock()
	var b [13]byte
	binary.BigEndian.PutUint64(b[:8], now<<8)
	if _, err := rand.Read(b[7:]); err != nil {
		panic(err) // crypto/rand does not fail on a supported system
	}
	return idEncoding.EncodeToString(b[:])[:20]
}
