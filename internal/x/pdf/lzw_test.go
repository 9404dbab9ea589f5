package pdf

import (
	"bytes"
	"compress/lzw"
	"math/rand/v2"
	"testing"
)

// enlzw encodes as ISO 32000-1, 7.4.4 says.
func enlzw(b []byte, early bool) []byte {
	soon := 0
	if early {
		soon = 1
	}
	var out []byte
	bits, have, width := 0, 0, 9
	put := func(code int) {
		bits, have = bits<<width|code, have+width
		for have >= 8 {
			have -= 8
			out = append(out, byte(bits>>have))
			bits &= 1<<have - 1
		}
	}
	table := map[string]int{}
	code := func(s string) int {
		if len(s) == 1 {
			return int(s[0])
		}
		return table[s]
	}
	put(256)
	cur := ""
	for _, c := range b {
		next := cur + string([]byte{c})
		if _, ok := table[next]; ok || len(next) == 1 {
			cur = next
			continue
		}
		put(code(cur))
		table[next] = 258 + len(table)
		for width < 12 && 258+len(table)+soon > 1<<width {
			width++
		}
		if len(table) == 3800 {
			put(256)
			clear(table)
			width = 9
		}
		cur = next[len(next)-1:]
	}
	put(code(cur))
	put(257)
	put(0)
	return out
}

func TestLZW(t *testing.T) {
	const example = "\x80\x0B\x60\x50\x22\x0C\x0C\x85\x01" // of ISO 32000-1
	if got, err := unlzw([]byte(example), true, 100); err != nil || string(got) != "-----A---B" {
		t.Errorf("%q, %v", got, err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 60_000; n *= 3 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rnd.IntN(7)) * byte(rnd.IntN(9))
		}
		var std bytes.Buffer
		w := lzw.NewWriter(&std, lzw.MSB, 8)
		_, _ = w.Write(b)
		_ = w.Close()
		for name, c := range map[string]struct {
			in    []byte
			early bool
		}{"early": {enlzw(b, true), true}, "late": {enlzw(b, false), false}, "late, of the standard library": {std.Bytes(), false}} {
			if got, err := unlzw(c.in, c.early, n); err != nil || !bytes.Equal(got, b) {
				t.Errorf("%s, %d bytes: %d came back, %v", name, n, len(got), err)
			}
		}
		if n > 1000 {
			if _, err := unlzw(enlzw(b, true), true, n/2); err == nil {
				t.Error("the limit was passed")
			}
		}
	}
}
