// Package sessiontest checks that a [session.Store] keeps what the interface
// promises. A store's own test calls it:
//
//	func TestStore(t *testing.T) {
//		sessiontest.TestStore(t, sessiontest.Options{
//			Open:   func(t *testing.T) session.Store { return mystore.New(t.TempDir()) },
//			Reopen: func(t *testing.T, st session.Store) session.Store { return mystore.New(st.(*mystore.Store).Path()) },
//		})
//	}
//
// What is optional is tested where the store has it.
package sessiontest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// Options say how to come by stores.
type Options struct {
	// Open returns a new and empty store.
	Open func(t *testing.T) session.Store
	// Reopen returns another store of what st holds, as another process would
	// see it. Leave it nil for one that keeps nothing.
	Reopen func(t *testing.T, st session.Store) session.Store
}

// TestStore runs the suite.
func TestStore(t *testing.T, opts Options) {
	for _, c := range []struct {
		name string
		fn   func(t *testing.T, st session.Store, opts Options)
	}{
		{"Order", testOrder},
		{"Missing", testMissing},
		{"Conflict", testConflict},
		{"Retry", testRetry},
		{"AllOrNone", testAllOrNone},
		{"Kinds", testKinds},
		{"Big", testBig},
		{"Readers", testReaders},
		{"Writers", testWriters},
		{"Stop", testStop},
		{"Apart", testApart},
		{"Session", testSession},
		{"Lock", testLock},
		{"List", testList},
		{"Search", testSearch},
		{"Delete", testDelete},
		{"Cancelled", testCancelled},
	} {
		t.Run(c.name, func(t *testing.T) { c.fn(t, opts.Open(t), opts) })
	}
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

// Input makes an entry in which the user says text.
func Input(id, parent, text string) session.Entry {
	return session.Entry{ID: id, Parent: parent, Time: epoch, Data: session.Message{Message: llm.UserText(text), Kind: session.KindInput}}
}

// chain makes n entries that follow each other.
func chain(prefix string, n int) []session.Entry {
	es := make([]session.Entry, n)
	parent := ""
	for i := range es {
		es[i] = Input(fmt.Sprintf("%s%d", prefix, i), parent, fmt.Sprintf("text %d", i))
		parent = es[i].ID
	}
	return es
}

func put(t *testing.T, st session.Store, id, after string, es ...session.Entry) {
	t.Helper()
	if err := st.Append(t.Context(), id, after, es...); err != nil {
		t.Fatalf("append: %v", err)
	}
}

func collect[T any](t *testing.T, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var out []T
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

func encoded(t *testing.T, es []session.Entry) []string {
	t.Helper()
	out := make([]string, len(es))
	for i, e := range es {
		b, err := e.Encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = string(b)
	}
	return out
}

func same(t *testing.T, what string, got, want []session.Entry) {
	t.Helper()
	g, w := encoded(t, got), encoded(t, want)
	if !slices.Equal(g, w) {
		t.Errorf("%s: got %d entries, want %d", what, len(g), len(w))
		for i := range min(len(g), len(w)) {
			if g[i] != w[i] {
				t.Errorf("%s: entry %d is\n%.300s\nand not\n%.300s", what, i, g[i], w[i])
				return
			}
		}
	}
}

// again calls fn with the store, and with the store opened anew.
func again(t *testing.T, st session.Store, opts Options, fn func(st session.Store)) {
	t.Helper()
	fn(st)
	if opts.Reopen != nil {
		fn(opts.Reopen(t, st))
	}
}

func testOrder(t *testing.T, st session.Store, opts Options) {
	es := chain("e", 7)
	put(t, st, "s", "", es[0])
	put(t, st, "s", "e0", es[1:5]...)
	put(t, st, "s", "e4", es[5:]...)
	again(t, st, opts, func(st session.Store) {
		same(t, "all", collect(t, st.Read(t.Context(), "s")), es)
		hs := collect(t, st.Headers(t.Context(), "s"))
		if len(hs) != len(es) {
			t.Fatalf("%d headers", len(hs))
		}
		for i, h := range hs {
			if want := (session.Header{ID: es[i].ID, Parent: es[i].Parent, Kind: "message"}); h != want {
				t.Errorf("header %d is %v, want %v", i, h, want)
			}
		}
		same(t, "some", collect(t, st.Read(t.Context(), "s", "e6", "e0", "e1", "e2", "e0")),
			[]session.Entry{es[6], es[0], es[1], es[2], es[0]})
	})
}

func testMissing(t *testing.T, st session.Store, _ Options) {
	for _, err := range st.Headers(t.Context(), "none") {
		if !errors.Is(err, session.ErrNotFound) {
			t.Errorf("headers of no session: %v", err)
		}
	}
	n := 0
	for _, err := range st.Read(t.Context(), "none") {
		if n++; !errors.Is(err, session.ErrNotFound) {
			t.Errorf("entries of no session: %v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d pairs for no session", n)
	}
	put(t, st, "s", "", chain("e", 2)...)
	var got []string
	var last error
	for e, err := range st.Read(t.Context(), "s", "e1", "x", "e0") {
		if last = err; err == nil {
			got = append(got, e.ID)
		}
	}
	if !errors.Is(last, session.ErrNotFound) || !slices.Equal(got, []string{"e1"}) {
		t.Errorf("an entry that is not there: %v, %v", got, last)
	}
	if _, err := session.Open(t.Context(), st, "other", session.OpenOptions{}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("opening no session: %v", err)
	}
	if _, err := session.Open(t.Context(), st, "other", session.OpenOptions{ReadOnly: true}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("opening no session to read: %v", err)
	}
}

func testConflict(t *testing.T, st session.Store, opts Options) {
	es := chain("e", 3)
	put(t, st, "s", "", es...)
	again(t, st, opts, func(st session.Store) {
		for _, after := range []string{"", "e0", "x"} {
			err := st.Append(t.Context(), "s", after, Input("n", after, "new"))
			var c *session.ConflictError
			if !errors.As(err, &c) || c.Want != after || c.Have != "e2" {
				t.Errorf("after %q: %v", after, err)
			}
		}
		var c *session.ConflictError
		if err := st.Append(t.Context(), "fresh", "e2", Input("n", "", "new")); !errors.As(err, &c) {
			t.Errorf("after an entry in a new session: %v", err)
		}
		same(t, "afterwards", collect(t, st.Read(t.Context(), "s")), es)
	})
}

func testRetry(t *testing.T, st session.Store, opts Options) {
	es := chain("e", 5)
	put(t, st, "s", "", es[:3]...)
	again(t, st, opts, func(st session.Store) {
		put(t, st, "s", "", es[:3]...)
		put(t, st, "s", "e0", es[1:3]...)
	})
	put(t, st, "s", "e1", es[2:]...) // part of it was written
	again(t, st, opts, func(st session.Store) { same(t, "retried", collect(t, st.Read(t.Context(), "s")), es) })

	changed := es[4]
	changed.Data = session.Message{Message: llm.UserText("another"), Kind: session.KindInput}
	if err := st.Append(t.Context(), "s", "e3", changed); !errors.Is(err, session.ErrExists) {
		t.Errorf("an id with another record: %v", err)
	}
	if err := st.Append(t.Context(), "s", "e4", Input("n", "e4", "new"), es[1]); !errors.Is(err, session.ErrExists) {
		t.Errorf("an id that is there behind a new one: %v", err)
	}
	if err := st.Append(t.Context(), "s", "e4", Input("n", "e4", "new"), Input("n", "n", "new")); !errors.Is(err, session.ErrExists) {
		t.Errorf("an id twice: %v", err)
	}
	var c *session.ConflictError
	if err := st.Append(t.Context(), "s", "", es[0], Input("n", "e0", "new")); !errors.As(err, &c) {
		t.Errorf("a retry that would add in the middle: %v", err)
	}
	same(t, "afterwards", collect(t, st.Read(t.Context(), "s")), es)
}

func testAllOrNone(t *testing.T, st session.Store, _ Options) {
	put(t, st, "s", "", chain("e", 1)...)
	for name, bad := range map[string]session.Entry{
		"no data":   {ID: "x", Parent: "n", Time: epoch},
		"no id":     {Time: epoch, Data: session.Head{}},
		"quote":     {ID: `a"b`, Time: epoch, Data: session.Head{}},
		"newline":   {ID: "a\nb", Time: epoch, Data: session.Head{}},
		"bad note":  {ID: "x", Time: epoch, Data: session.Note{Kind: "k", Data: json.RawMessage(`{"half`)}},
		"note kind": {ID: "x", Time: epoch, Data: session.Note{Kind: "a b", Data: json.RawMessage(`1`)}},
	} {
		if err := st.Append(t.Context(), "s", "e0", Input("n", "e0", "new"), bad); err == nil {
			t.Errorf("%s: was taken", name)
		}
	}
	if n := len(collect(t, st.Read(t.Context(), "s"))); n != 1 {
		t.Errorf("%d entries", n)
	}
	if err := st.Append(t.Context(), "t", ""); err != nil {
		t.Errorf("nothing appended: %v", err)
	}
}

func testKinds(t *testing.T, st session.Store, opts Options) {
	es := Kinds()
	// A field that this version does not know.
	odd, err := session.Decode([]byte(`{"v":1,"id":"odd","parent":"k17","kind":"label","time":"2026-01-02T03:04:05.000Z","data":{"name":"A title","colour":"red"},"more":[1]}`))
	if err != nil {
		t.Fatal(err)
	}
	es = append(es, odd)
	put(t, st, "s", "", es...)
	again(t, st, opts, func(st session.Store) {
		got := collect(t, st.Read(t.Context(), "s"))
		same(t, "kinds", got, es)
		for i, h := range collect(t, st.Headers(t.Context(), "s")) {
			if want := (session.Header{ID: es[i].ID, Parent: es[i].Parent, Kind: es[i].Kind()}); h != want {
				t.Errorf("header %d is %v, want %v", i, h, want)
			}
			if !got[i].Time.Equal(es[i].Time) {
				t.Errorf("time %d is %v, want %v", i, got[i].Time, es[i].Time)
			}
		}
	})
}

func testBig(t *testing.T, st session.Store, opts Options) {
	es := chain("e", 3)
	es[1].Data = session.Message{Message: llm.UserText(strings.Repeat("ü\n", 5<<20/3)), Kind: session.KindInput}
	put(t, st, "s", "", es...)
	again(t, st, opts, func(st session.Store) {
		same(t, "big", collect(t, st.Read(t.Context(), "s", "e2", "e1")), []session.Entry{es[2], es[1]})
		if n := len(collect(t, st.Headers(t.Context(), "s"))); n != 3 {
			t.Errorf("%d headers", n)
		}
	})
}

func testReaders(t *testing.T, st session.Store, _ Options) {
	es := chain("e", 60)
	put(t, st, "s", "", es[0])
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n := 0; n < len(es); {
				n = 0
				for e, err := range st.Read(t.Context(), "s") {
					if err != nil || e.ID != es[n].ID {
						t.Errorf("entry %d is %s, %v", n, e.ID, err)
						return
					}
					n++
				}
				if n == 0 {
					t.Error("nothing was read")
					return
				}
			}
		})
	}
	for i, e := range es[1:] {
		if err := st.Append(t.Context(), "s", es[i].ID, e); err != nil {
			t.Error(err)
			// The readers would wait for ever.
			for _, e := range es[i+1:] {
				_ = st.Append(t.Context(), "s", e.Parent, e)
			}
			break
		}
	}
	wg.Wait()
}

// testWriters lets several append at once: each append is a whole, and those
// that come too late are told.
func testWriters(t *testing.T, st session.Store, _ Options) {
	put(t, st, "s", "", Input("e0", "", "first"))
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for w := range 4 {
		wg.Go(func() {
			for i := range 10 {
				last := ""
				for h, err := range st.Headers(t.Context(), "s") {
					if err != nil {
						t.Error(err)
						return
					}
					last = h.ID
				}
				a, b := fmt.Sprintf("w%d-%d-a", w, i), fmt.Sprintf("w%d-%d-b", w, i)
				err := st.Append(t.Context(), "s", last, Input(a, last, "a"), Input(b, a, "b"))
				var c *session.ConflictError
				var l *session.LockedError
				switch {
				case err == nil:
					mu.Lock()
					won++
					mu.Unlock()
				case !errors.As(err, &c) && !errors.As(err, &l):
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	hs := collect(t, st.Headers(t.Context(), "s"))
	if len(hs) != 1+2*won || won == 0 {
		t.Errorf("%d entries of %d appends", len(hs), won)
	}
	for i := 1; i < len(hs); i++ {
		if hs[i].Parent != hs[i-1].ID {
			t.Errorf("entry %s follows %s and was to follow %s", hs[i].ID, hs[i-1].ID, hs[i].Parent)
		}
	}
}

func testStop(t *testing.T, st session.Store, _ Options) {
	put(t, st, "s", "", chain("e", 5)...)
	for range st.Headers(t.Context(), "s") {
		break
	}
	for range st.Read(t.Context(), "s") {
		break
	}
	for range st.Read(t.Context(), "s", "e1", "e2") {
		break
	}
	// And the store can be used within a range.
	for e, err := range st.Read(t.Context(), "s") {
		if err != nil {
			t.Fatal(err)
		}
		if got := collect(t, st.Read(t.Context(), "s", e.ID)); len(got) != 1 {
			t.Errorf("%d entries", len(got))
		}
	}
	put(t, st, "s", "e4", Input("e5", "e4", "more"))
}

func testApart(t *testing.T, st session.Store, opts Options) {
	put(t, st, "a", "", Input("same", "", "in a"))
	put(t, st, "b", "", Input("same", "", "in b"))
	put(t, st, "a", "same", Input("next", "same", "more"))
	again(t, st, opts, func(st session.Store) {
		same(t, "a", collect(t, st.Read(t.Context(), "a")), []session.Entry{Input("same", "", "in a"), Input("next", "same", "more")})
		same(t, "b", collect(t, st.Read(t.Context(), "b")), []session.Entry{Input("same", "", "in b")})
	})
}

// testSession drives a session over the store.
func testSession(t *testing.T, st session.Store, opts Options) {
	ctx := t.Context()
	s, err := session.Open(ctx, st, "s", session.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range Kinds() {
		e.Parent = ""
		if _, ok := e.Data.(session.Head); ok {
			e.Parent = "k4"
		}
		if err := s.Append(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Append(ctx, Input("in", "", "again")); err != nil {
		t.Fatal(err)
	}
	view := func(s *session.Session) []byte {
		b, err := json.Marshal(s.Messages())
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	before := view(s)
	if err := s.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	f, err := s.Fork(ctx, st, "fork", "")
	if err != nil {
		t.Fatal(err)
	}
	if got := view(f); !bytes.Equal(got, before) {
		t.Errorf("the fork's view is\n%s\nand not\n%s", got, before)
	}
	if _, err := s.Fork(ctx, st, "fork", ""); err == nil {
		t.Error("a fork into a session that is there")
	}
	if err := errors.Join(f.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	again(t, st, opts, func(st session.Store) {
		s, err := session.Open(ctx, st, "s", session.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := view(s); !bytes.Equal(got, before) {
			t.Errorf("opened again the view is\n%s\nand not\n%s", got, before)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func testCancelled(t *testing.T, st session.Store, _ Options) {
	put(t, st, "s", "", chain("e", 3)...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range st.Read(ctx, "s") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("reading with an ended context: %v", err)
		}
	}
	for _, err := range st.Headers(ctx, "s") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("headers with an ended context: %v", err)
		}
	}
	if err := st.Append(ctx, "s", "e2", Input("n", "e2", "n")); !errors.Is(err, context.Canceled) {
		t.Errorf("appending with an ended context: %v", err)
	}
}
