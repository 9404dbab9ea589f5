package jsonl_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/session/jsonl"
	"github.com/cantle-dev/cantle/session/sessiontest"
)

func open(t testing.TB, dir string) *jsonl.Store {
	t.Helper()
	st, err := jsonl.Open(dir, jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func input(id, text string) session.Entry {
	return session.Entry{ID: id, Time: time.Unix(1, 0), Data: session.Message{Message: llm.UserText(text), Kind: session.KindInput}}
}

func TestStore(t *testing.T) {
	dirs := map[session.Store]string{}
	sessiontest.TestStore(t, sessiontest.Options{
		Open: func(t *testing.T) session.Store {
			dir := t.TempDir()
			st := open(t, dir)
			dirs[st] = dir
			return st
		},
		Reopen: func(t *testing.T, st session.Store) session.Store { return open(t, dirs[st]) },
	})
}

// TestTornAnywhere cuts a journal at random places: what is whole is kept, and
// the loss is said.
func TestTornAnywhere(t *testing.T) {
	dir := t.TempDir()
	s, err := session.Open(t.Context(), open(t, dir), "s", session.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if err := s.Append(t.Context(), input(fmt.Sprint("e", i), strings.Repeat("é", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "s.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := rnd.IntN(len(whole))
		cut := t.TempDir()
		if err := os.WriteFile(filepath.Join(cut, "s.jsonl"), whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := session.Open(t.Context(), open(t, cut), "s", session.OpenOptions{})
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		kept := strings.Count(string(whole[:n]), "\n")
		torn := n > 0 && whole[n-1] != '\n'
		if got := len(s.Repairs()) > 0; got != torn {
			t.Errorf("cut at %d: repairs said: %v, want %v", n, got, torn)
		}
		if err := s.Append(t.Context(), input("next", "x")); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := session.Open(t.Context(), open(t, cut), "s", session.OpenOptions{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		entries := 0
		for _, err := range again.Path(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			entries++
		}
		if entries != kept+1 {
			t.Errorf("cut at %d: %d entries, want %d", n, entries, kept+1)
		}
	}
}

func TestCorruptMiddleIsAnError(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	if err := st.Append(t.Context(), "s", "", input("a", "1"), input("b", "2"), input("c", "3")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "s.jsonl")
	b, _ := os.ReadFile(file)
	lines := strings.SplitAfter(string(b), "\n")
	lines[1] = "{\"half\n"
	if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := open(t, dir)
	_, err := session.Open(t.Context(), fresh, "s", session.OpenOptions{Create: true})
	var c *session.CorruptError
	if !errors.As(err, &c) || c.Line != 2 || c.File != file {
		t.Fatalf("got %v", err)
	}
	lost, err := fresh.Salvage(t.Context(), "s", "saved")
	if err != nil || lost != 1 {
		t.Errorf("salvage: %d lost, %v", lost, err)
	}
	s, err := session.Open(t.Context(), fresh, "saved", session.OpenOptions{})
	if err != nil || len(s.Messages()) == 0 {
		t.Errorf("salvaged: %v", err)
	}
}

func TestSecondWriterIsKeptOut(t *testing.T) {
	dir := t.TempDir()
	s, err := session.Open(t.Context(), open(t, dir), "s", session.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	var locked *session.LockedError
	if _, err := session.Open(t.Context(), open(t, dir), "s", session.OpenOptions{Create: true}); !errors.As(err, &locked) || locked.Holder == "" {
		t.Fatalf("got %v", err)
	}
	if err := s.Append(t.Context(), input("a", "1")); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir).Append(t.Context(), "s", "a", input("b", "2")); !errors.As(err, &locked) {
		t.Fatalf("got %v", err)
	}
	// A writer that ignores the lock is noticed.
	e := input("b", "2")
	e.Parent = "a"
	rec, err := e.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "s.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(append(rec, '\n')); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var conflict *session.ConflictError
	if err := s.Append(t.Context(), input("c", "3")); !errors.As(err, &conflict) || conflict.Have != "b" || conflict.Want != "a" {
		t.Errorf("got %v", err)
	}
	if _, err := session.Open(t.Context(), open(t, dir), "s", session.OpenOptions{ReadOnly: true}); err != nil {
		t.Errorf("reading beside a writer: %v", err)
	}
}

func TestIDsAreNotPaths(t *testing.T) {
	st := open(t, t.TempDir())
	for _, id := range []string{"../x", "a/b", "", ".", "a.b", strings.Repeat("a", 129), "a\x00", "-rf", "é", "a\n", "con", "Aux", "COM1", "lpt0"} {
		if _, err := session.Open(t.Context(), st, id, session.OpenOptions{Create: true}); err == nil {
			t.Errorf("%q was taken", id)
		}
	}
	for _, id := range []string{"_", "0", "a-", "console", "com", "com10", "comx", strings.Repeat("a", 128)} {
		s, err := session.Open(t.Context(), st, id, session.OpenOptions{Create: true})
		if err != nil {
			t.Errorf("%q: %v", id, err)
			continue
		}
		closed(t, s)
	}
}

func TestRetryIsHarmless(t *testing.T) {
	st := open(t, t.TempDir())
	for range 2 {
		if err := st.Append(t.Context(), "s", "", input("a", "1")); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for range st.Headers(t.Context(), "s") {
		n++
	}
	if n != 1 {
		t.Errorf("%d entries", n)
	}
}

func TestListResolveLatestDelete(t *testing.T) {
	st := open(t, t.TempDir())
	for i, id := range []string{"abcd1", "abcd2", "xyzw9"} {
		at := time.Unix(int64(100+i), 0)
		err := st.Append(t.Context(), id, "",
			session.Entry{ID: "r", Time: at, Data: session.RunStarted{RunID: "r", Dir: "/p" + id[:1], Model: "m:x"}},
			session.Entry{ID: "m", Parent: "r", Time: at, Data: session.Message{Message: llm.UserText("hello " + id), Kind: session.KindInput}})
		if err != nil {
			t.Fatal(err)
		}
	}
	var titles []string
	for info, err := range st.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		titles = append(titles, info.Title+" "+info.Dir)
	}
	if len(titles) != 3 {
		t.Errorf("%q", titles)
	}
	if id, err := st.Latest(t.Context(), "/px"); err != nil || id != "xyzw9" {
		t.Errorf("latest %s, %v", id, err)
	}
	if id, err := st.Resolve(t.Context(), "xyzw"); err != nil || id != "xyzw9" {
		t.Errorf("resolve %s, %v", id, err)
	}
	if _, err := st.Resolve(t.Context(), "abcd"); err == nil || !strings.Contains(err.Error(), "abcd1") {
		t.Errorf("ambiguous: %v", err)
	}
	d, err := st.Dir("xyzw9")
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Delete(t.Context(), "xyzw9"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(d); !errors.Is(err, os.ErrNotExist) {
		t.Error("the session's folder is still there")
	}
	if err := st.Delete(t.Context(), "xyzw9"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func long(tb testing.TB, dir string) {
	st := open(tb, dir)
	pad := strings.Repeat("x", 900)
	after := ""
	for i := 0; i < 100_000; i += 500 {
		var batch []session.Entry
		for k := i; k < i+500; k++ {
			e := input(fmt.Sprintf("entry-%012d", k), pad)
			if k == 99_000 {
				e.Data = session.Compaction{Summary: "before", Keep: "entry-000000098000"}
			}
			e.Parent = after
			after = e.ID
			batch = append(batch, e)
		}
		if err := st.Append(tb.Context(), "s", batch[0].Parent, batch...); err != nil {
			tb.Fatal(err)
		}
	}
}

// TestOpenIsLean opens 100,000 entries of 1 kB: the memory that stays in use
// is bounded, and does not grow with the bodies that are out of view.
func TestOpenIsLean(t *testing.T) {
	if testing.Short() || os.Getenv("CANTLE_SOAK") == "" {
		t.Skip("writes 100 MB: set CANTLE_SOAK=1")
	}
	dir := t.TempDir()
	long(t, dir)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	s, err := session.Open(t.Context(), open(t, dir), "s", session.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	ms := s.Messages()
	runtime.GC()
	runtime.ReadMemStats(&after)
	live := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("opened in %v, %.1f MiB live, %d messages in view", took, float64(live)/(1<<20), len(ms))
	if live > 40<<20 || len(ms) != 2000 {
		t.Errorf("%d bytes are live, %d messages in view", live, len(ms))
	}
	runtime.KeepAlive(s)
}

func BenchmarkOpen100k(b *testing.B) {
	dir := b.TempDir()
	long(b, dir)
	b.ReportAllocs()
	for b.Loop() {
		s, err := session.Open(b.Context(), open(b, dir), "s", session.OpenOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if n := len(s.Messages()); n != 2000 {
			b.Fatal(n)
		}
		_ = s.Close()
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, sync := range map[string]bool{"plain": false, "sync": true} {
		b.Run(name, func(b *testing.B) {
			s, err := session.Open(b.Context(), open(b, b.TempDir()), "s", session.OpenOptions{Create: true})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				if err := s.Append(b.Context(), input(fmt.Sprint(i), "hello")); err != nil {
					b.Fatal(err)
				}
				if sync {
					if err := s.Sync(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
