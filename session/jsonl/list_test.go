package jsonl_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/session/jsonl"
)

func list(t testing.TB, st *jsonl.Store) []session.Info {
	t.Helper()
	var out []session.Info
	for i, err := range st.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, i)
	}
	return out
}

// TestIndexIsOnlyACache lists with the index as it is, gone, damaged, out of
// date, and of another journal with the same name.
func TestIndexIsOnlyACache(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	name := func(i int) string { return fmt.Sprint("s", i) }
	for i := range 5 {
		e := input("m", fmt.Sprint("title ", i))
		e.Time = time.Unix(int64(i), 0)
		if err := st.Append(t.Context(), name(i), "", e); err != nil {
			t.Fatal(err)
		}
	}
	index := filepath.Join(dir, ".index.json")
	check := func(what string) {
		t.Helper()
		got := list(t, st)
		if err := os.Remove(index); err != nil {
			t.Fatal(err)
		}
		want := list(t, open(t, dir))
		if !slices.Equal(got, want) {
			t.Errorf("%s: listed\n%+v\nand without an index\n%+v", what, got, want)
		}
	}
	check("first")
	list(t, st)
	check("again")
	for _, bad := range []string{"", "{", "null", `{"version":1,"sessions":{"s1":null,"s2":{"end":-5},"s3":{"last":99,"end":3}}}`, `{"version":99}`} {
		if err := os.WriteFile(index, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		check("damaged: " + bad)
	}
	list(t, st)
	more := input("n", "more")
	more.Parent, more.Time = "m", time.Unix(100, 0)
	if err := st.Append(t.Context(), name(0), "m", more, session.Entry{ID: "l", Parent: "n", Time: time.Unix(101, 0), Data: session.Label{Name: "called"}}); err != nil {
		t.Fatal(err)
	}
	if got := list(t, st); got[0].ID != name(0) || got[0].Title != "called" || got[0].Entries != 3 {
		t.Errorf("appended: %+v", got[0])
	}
	check("appended")
	list(t, st)
	if err := st.Delete(t.Context(), name(3)); err != nil {
		t.Fatal(err)
	}
	if err := st.Append(t.Context(), name(3), "", input("other", strings.Repeat("another ", 50))); err != nil {
		t.Fatal(err)
	}
	check("made anew")
	if got := list(t, st); len(got) != 5 {
		t.Errorf("%d sessions", len(got))
	}
}

// TestListOfOthers has files in the folder that are no sessions.
func TestListOfOthers(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"notes.txt": "x", "a b.jsonl": "x", "-x.jsonl": "x", "con.jsonl": "x", ".index.json.123": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "d.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := list(t, open(t, dir)); len(got) != 0 {
		t.Errorf("listed %+v", got)
	}
}

func TestInfo(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	closed(t, begin(t, st, "a", "b"))
	i, err := st.Info(t.Context(), "s")
	if all := list(t, st); err != nil || i.Prompt != "a" || i.Messages != 2 || i.Size == 0 || len(all) != 1 || i != all[0] {
		t.Errorf("%+v, %v", i, err)
	}
	if _, err := st.Info(t.Context(), "none"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.jsonl"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if i, err := st.Info(t.Context(), "bad"); err != nil || !strings.Contains(i.Err, "line 1") {
		t.Errorf("%+v, %v", i, err)
	}
}

func fill(tb testing.TB, dir string, n int) *jsonl.Store {
	tb.Helper()
	st := open(tb, dir)
	for i := range n {
		id := fmt.Sprint("session-", i)
		es := []session.Entry{
			{ID: "r", Time: time.Unix(int64(i), 0), Data: session.RunStarted{RunID: "r", Dir: fmt.Sprint("/p", i%10), Model: "p:m"}},
			input("m", fmt.Sprint("question ", i)),
		}
		es[1].Parent = "r"
		for k := range 40 {
			e := input(fmt.Sprint("e", k), strings.Repeat("x", 1000))
			e.Parent = es[len(es)-1].ID
			es = append(es, e)
		}
		if err := st.Append(tb.Context(), id, "", es...); err != nil {
			tb.Fatal(err)
		}
	}
	return st
}

func BenchmarkList1000(b *testing.B) {
	dir := b.TempDir()
	fill(b, dir, 1000)
	run := func(b *testing.B, before func()) {
		for b.Loop() {
			before()
			if n := len(list(b, open(b, dir))); n != 1000 {
				b.Fatal(n)
			}
		}
	}
	b.Run("cold", func(b *testing.B) { run(b, func() { _ = os.Remove(filepath.Join(dir, ".index.json")) }) })
	b.Run("indexed", func(b *testing.B) { run(b, func() {}) })
	b.Run("search", func(b *testing.B) {
		st := open(b, dir)
		for b.Loop() {
			n := 0
			for _, err := range st.Search(b.Context(), "question 777") {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			if n != 1 {
				b.Fatal(n)
			}
		}
	})
}
