package sessiontest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

func testLock(t *testing.T, st session.Store, opts Options) {
	l, ok := st.(session.Locker)
	if !ok {
		t.Skip("the store has no locks")
	}
	put(t, st, "s", "", chain("e", 1)...)
	unlock, err := l.Lock(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	put(t, st, "s", "e0", Input("e1", "e0", "by whom has the lock"))
	again(t, st, opts, func(st session.Store) {
		var locked *session.LockedError
		if _, err := st.(session.Locker).Lock(t.Context(), "s"); !errors.As(err, &locked) || locked.Session != "s" {
			t.Errorf("a second lock: %v", err)
		}
		if d, ok := st.(session.Deleter); ok {
			if err := d.Delete(t.Context(), "s"); !errors.As(err, &locked) {
				t.Errorf("deleting what is locked: %v", err)
			}
		}
		if n := len(collect(t, st.Read(t.Context(), "s"))); n != 2 {
			t.Errorf("reading what is locked: %d entries", n)
		}
		other, err := st.(session.Locker).Lock(t.Context(), "other")
		if err != nil {
			t.Fatalf("another session: %v", err)
		}
		if err := other(); err != nil {
			t.Fatal(err)
		}
	})
	if opts.Reopen != nil {
		var locked *session.LockedError
		if err := opts.Reopen(t, st).Append(t.Context(), "s", "e1", Input("x", "e1", "x")); !errors.As(err, &locked) {
			t.Errorf("appending to what another has locked: %v", err)
		}
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	again(t, st, opts, func(st session.Store) {
		unlock, err := st.(session.Locker).Lock(t.Context(), "s")
		if err != nil {
			t.Fatalf("after the unlock: %v", err)
		}
		if err := unlock(); err != nil {
			t.Fatal(err)
		}
	})
}

func testList(t *testing.T, st session.Store, opts Options) {
	l, ok := st.(session.Lister)
	if !ok {
		t.Skip("the store has no list")
	}
	if got := collect(t, l.List(t.Context())); len(got) != 0 {
		t.Errorf("an empty store lists %v", got)
	}
	at := func(min int, e session.Entry) session.Entry {
		e.Time = epoch.Add(time.Duration(min) * time.Minute)
		return e
	}
	run := func(id, parent, dir, path string) session.Entry {
		return session.Entry{ID: id, Parent: parent, Data: session.RunStarted{RunID: "r", Dir: dir, Model: "p:m", Path: path}}
	}
	put(t, st, "old", "", at(1, run("r", "", "/a", "")), at(1, Input("m", "r", "\n\n  What\tis\nthis?")))
	put(t, st, "new", "", at(2, run("r", "", "/b", "")), at(2, Input("m", "r", strings.Repeat("é", 100))))
	put(t, st, "child", "", at(3, run("r", "", "/b", "explorer")))
	ended := func(id, parent string, in int64, cost *llm.Money) session.Entry {
		return session.Entry{ID: id, Parent: parent, Data: session.RunEnded{RunID: "r", Usage: llm.Usage{Input: in}, Cost: cost}}
	}
	five := llm.Money(5)
	put(t, st, "spent", "", at(4, run("r", "", "/c", "")), at(4, ended("x", "r", 1, &five)), at(4, run("r2", "x", "/c", "")), at(4, ended("y", "r2", 1, &five)))
	put(t, st, "unpriced", "", at(5, run("r", "", "/c", "")), at(5, ended("x", "r", 1, nil)), at(5, ended("y", "x", 1, &five)))
	get := func(st session.Store) map[string]session.Info {
		m := map[string]session.Info{}
		var order []string
		for _, i := range collect(t, st.(session.Lister).List(t.Context())) {
			m[i.ID] = i
			order = append(order, i.ID)
		}
		if !slices.IsSortedFunc(order, func(a, b string) int { return m[b].Updated.Compare(m[a].Updated) }) {
			t.Errorf("the one changed last is not first: %v", order)
		}
		return m
	}
	again(t, st, opts, func(st session.Store) {
		m := get(st)
		i := m["old"]
		if len(m) != 5 || i.Prompt != i.Title || i.Messages != 1 || i.Runs != 1 || i.Cost != nil || i.Title != "What is" || i.Dir != "/a" || i.Model != "p:m" || i.Entries != 2 || i.Size == 0 || i.Err != "" ||
			!i.Created.Equal(epoch.Add(time.Minute)) || !i.Updated.Equal(epoch.Add(time.Minute)) {
			t.Errorf("old: %+v", i)
		}
		if got := m["new"].Title; got != strings.Repeat("é", 60)+"…" {
			t.Errorf("a long title is %q", got)
		}
		if got := m["spent"]; got.Cost == nil || *got.Cost != 10 || got.Runs != 2 || got.Messages != 0 || got.Title != "" {
			t.Errorf("spent: %+v", got)
		}
		if got := m["unpriced"]; got.Cost != nil {
			t.Errorf("the cost is unknown and said to be %d", *got.Cost)
		}
		if got := m["child"]; got.Agent != "explorer" {
			t.Errorf("child: %+v", got)
		}
	})
	label := func(id, parent, target, name string) session.Entry {
		return session.Entry{ID: id, Parent: parent, Data: session.Label{Target: target, Name: name}}
	}
	put(t, st, "old", "m", at(9, label("l1", "m", "", "Mine")), at(9, label("l2", "l1", "m", "here")))
	again(t, st, opts, func(st session.Store) {
		if i := get(st)["old"]; i.Title != "Mine" || i.Prompt != "What is" || i.Entries != 4 || !i.Updated.Equal(epoch.Add(9*time.Minute)) || !i.Created.Equal(epoch.Add(time.Minute)) {
			t.Errorf("labelled: %+v", i)
		}
	})
}

func testSearch(t *testing.T, st session.Store, opts Options) {
	if _, ok := st.(session.Searcher); !ok {
		t.Skip("the store has no search")
	}
	put(t, st, "a", "", Input("m", "", "How do I grow a \"Pear\" tree?\nIn a garden."), Input("n", "m", "Ölbäume <too>"))
	put(t, st, "b", "", session.Entry{ID: "t", Time: epoch, Data: session.Message{
		Kind: session.KindResults, Message: llm.Message{Role: llm.RoleUser, Parts: llm.Parts{llm.ToolResult{CallID: "c", Parts: llm.Texts("the pear is ripe")}}},
	}})
	again(t, st, opts, func(st session.Store) {
		for query, want := range map[string][]string{
			"PEAR": {"a/m", "b/t"}, `"pear" tree`: {"a/m"}, "ölbäume": {"a/n"}, "<TOO>": {"a/n"}, "apple": nil, "": nil, "input": nil,
		} {
			var got []string
			for h, err := range st.(session.Searcher).Search(t.Context(), query) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, h.Session+"/"+h.Entry)
				if h.Snippet == "" || strings.Contains(h.Snippet, "\n") {
					t.Errorf("%q: snippet %q", query, h.Snippet)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%q: found %v, want %v", query, got, want)
			}
		}
	})
}

func testDelete(t *testing.T, st session.Store, opts Options) {
	d, ok := st.(session.Deleter)
	if !ok {
		t.Skip("the store deletes nothing")
	}
	put(t, st, "s", "", chain("e", 2)...)
	put(t, st, "t", "", chain("e", 1)...)
	if err := d.Delete(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	again(t, st, opts, func(st session.Store) {
		if err := st.(session.Deleter).Delete(t.Context(), "s"); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("deleting what is not there: %v", err)
		}
		if _, err := session.Open(t.Context(), st, "s", session.OpenOptions{}); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("opening what was deleted: %v", err)
		}
		if n := len(collect(t, st.Read(t.Context(), "t"))); n != 1 {
			t.Errorf("another session has %d entries", n)
		}
	})
	put(t, st, "s", "", Input("new", "", "new"))
	same(t, "made again", collect(t, st.Read(t.Context(), "s")), []session.Entry{Input("new", "", "new")})
}
