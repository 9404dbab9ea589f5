package jsonl_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/session/jsonl"
)

// TestNoLocks opens a session where the file system has no locks. It is said,
// and the second of two writers is noticed when it writes.
func TestNoLocks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the error is another there")
	}
	dir := t.TempDir()
	without := func() *jsonl.Store {
		st := open(t, dir)
		st.SetFlock(func(*os.File) (bool, error) { return false, syscall.ENOLCK })
		return st
	}
	s := begin(t, without(), "a")
	if r := s.Repairs(); len(r) != 1 || r[0].Kind != session.RepairLock || !strings.Contains(r[0].Text, "no locks") {
		t.Errorf("repairs: %v", r)
	}
	other := begin(t, without())
	if err := other.Append(t.Context(), input("e-b", "b")); err != nil {
		t.Fatal(err)
	}
	var c *session.ConflictError
	if err := s.Append(t.Context(), input("e-c", "c")); !errors.As(err, &c) {
		t.Errorf("got %v", err)
	}
	closed(t, s)
	closed(t, other)
	s = begin(t, open(t, dir))
	if got := texts(s); got != "a b" || len(s.Repairs()) > 0 {
		t.Errorf("%q", got)
	}
	closed(t, s)
	// Another error is no leave to go on.
	st := open(t, dir)
	st.SetFlock(func(*os.File) (bool, error) { return false, syscall.EIO })
	if _, err := session.Open(t.Context(), st, "s", session.OpenOptions{}); !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v", err)
	}
}

// TestDeletedWhileOpen takes the journal away from under a session: nothing is
// written where nobody finds it. One that is moved goes on where it is.
func TestDeletedWhileOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file that is open stays where it is there")
	}
	dir := t.TempDir()
	file, away := filepath.Join(dir, "s.jsonl"), filepath.Join(dir, "away.jsonl")
	s := begin(t, open(t, dir), "a")
	if err := os.Rename(file, away); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), input("e-b", "b")); err != nil {
		t.Errorf("moved: %v", err)
	}
	if err := os.Rename(away, file); err != nil {
		t.Fatal(err)
	}
	// As an editor saves it.
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(away, b, 0o600), os.Rename(away, file)); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), input("e-c", "c")); err == nil || !strings.Contains(err.Error(), "open the session again") {
		t.Errorf("replaced: %v", err)
	}
	closed(t, s)
	s = begin(t, open(t, dir), "c")
	if got := texts(s); got != "a b c" {
		t.Errorf("%q", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), input("e-d", "d")); err == nil {
		t.Error("appended to what was deleted")
	}
	closed(t, s)
}

func TestSalvage(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	var lines []string
	for i := range 5 {
		e := input(fmt.Sprint("e", i), fmt.Sprint(i))
		if i > 0 {
			e.Parent = fmt.Sprint("e", i-1)
		}
		b, err := e.Encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(b)+"\n")
	}
	put := func(id string, lines ...string) string {
		t.Helper()
		text := strings.Join(lines, "")
		if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return text
	}
	for id, c := range map[string]struct {
		lines []string
		lost  int
		want  string
	}{
		"sound":      {lines, 0, "0 1 2 3 4"},
		"middle":     {[]string{lines[0], "{\"half\n", lines[2], lines[3]}, 1, "0 2 3"},
		"glued":      {[]string{lines[0], lines[1][:40], lines[2], lines[3]}, 1, "0 3"},
		"first":      {[]string{"\x00\x00\n", lines[1], lines[2]}, 1, "1 2"},
		"last":       {[]string{lines[0], lines[1], lines[2][:30]}, 1, "0 1"},
		"twice":      {[]string{lines[0], lines[1], lines[1], lines[2]}, 1, "0 1 2"},
		"binary":     {[]string{lines[0], strings.Repeat("\xff\x00", 3<<20) + "\n", lines[1]}, 1, "0 1"},
		"a newer's":  {[]string{lines[0], `{"v":9,"id":"x","parent":"e0","kind":"message","time":"2030-01-01T00:00:00Z","data":{}}` + "\n", lines[2]}, 1, "0 2"},
		"no newline": {[]string{lines[0], strings.TrimSpace(lines[1])}, 0, "0 1"},
	} {
		from := strings.NewReplacer(" ", "-", "'", "").Replace(id)
		before := put(from, c.lines...)
		lost, err := st.Salvage(t.Context(), from, from+"-saved")
		if err != nil || lost != c.lost {
			t.Errorf("%s: %d lost, %v", id, lost, err)
			continue
		}
		s, err := session.Open(t.Context(), open(t, dir), from+"-saved", session.OpenOptions{})
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		if got := texts(s); got != c.want {
			t.Errorf("%s: %q, want %q", id, got, c.want)
		}
		closed(t, s)
		if now, err := os.ReadFile(filepath.Join(dir, from+".jsonl")); err != nil || string(now) != before {
			t.Errorf("%s: the damaged one was changed", id)
		}
	}
	if _, err := st.Salvage(t.Context(), "sound", "middle"); !errors.Is(err, session.ErrExists) {
		t.Errorf("over another: %v", err)
	}
	if _, err := st.Salvage(t.Context(), "sound", "sound"); !errors.Is(err, session.ErrExists) {
		t.Errorf("over itself: %v", err)
	}
	if _, err := st.Salvage(t.Context(), "none", "x"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("of nothing: %v", err)
	}
	if _, err := st.Salvage(t.Context(), "sound", "../x"); err == nil {
		t.Error("salvaged into another folder")
	}
	put("hopeless", "{}\n", "x\n")
	if lost, err := st.Salvage(t.Context(), "hopeless", "x"); err == nil || lost != 2 {
		t.Errorf("%d lost, %v", lost, err)
	}
	st.SetWrite(func(f *os.File, b []byte) (int, error) { return 0, syscall.ENOSPC })
	if _, err := st.Salvage(t.Context(), "sound", "x"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "x.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a part of what was salvaged is left")
	}
}

// TestAppendsOnly counts what is written: each entry once, whatever came
// before.
func TestAppendsOnly(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	writes, bytes := 0, 0
	st.SetWrite(func(f *os.File, b []byte) (int, error) {
		writes++
		bytes += len(b)
		return f.Write(b)
	})
	s := begin(t, st)
	var before []byte
	for i := range 200 {
		if err := s.Append(t.Context(), input(fmt.Sprint("e", i), strings.Repeat("é", i))); err != nil {
			t.Fatal(err)
		}
		now, err := os.ReadFile(filepath.Join(dir, "s.jsonl"))
		if err != nil || !strings.HasPrefix(string(now), string(before)) || writes != i+1 || bytes != len(now) {
			t.Fatalf("%d writes of %d bytes for %d entries in %d bytes, %v", writes, bytes, i+1, len(now), err)
		}
		before = now
	}
	closed(t, s)
}

// TestClockGoesBack has entries that are older than those before them: the
// journal's order counts.
func TestClockGoesBack(t *testing.T) {
	dir := t.TempDir()
	s := begin(t, open(t, dir))
	for i, at := range []time.Time{time.Unix(1000, 0), time.Unix(10, 0), {}, time.Unix(-1, 5), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)} {
		e := input(fmt.Sprint("e", i), fmt.Sprint(i))
		e.Time = at
		if err := s.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, s)
	s = begin(t, open(t, dir))
	if got := texts(s); got != "0 1 2 3 4" || len(s.Repairs()) > 0 {
		t.Errorf("%q", got)
	}
	closed(t, s)
	if l := list(t, open(t, dir)); len(l) != 1 || l[0].Err != "" || !l[0].Created.Equal(time.Unix(1000, 0)) || l[0].Updated.Year() != 9999 {
		t.Errorf("listed as %+v", l)
	}
}

// TestOddRecords has records that are JSON and odd: each is one entry's
// trouble, and none keeps the session from being opened and gone on with.
func TestOddRecords(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	parent := ""
	n := 0
	put := func(kind, data string) {
		id := fmt.Sprint("e", n)
		n++
		fmt.Fprintf(&b, `{"v":1,"id":"%s","parent":"%s","kind":"%s","time":"2026-01-02T03:04:05Z","data":%s}`+"\n", id, parent, kind, data)
		parent = id
	}
	put("message", `{"role":"user","parts":[{"type":"text","text":"hi"}],"kind":"input"}`)
	put("message", `{"role":"user","parts":null}`)
	put("message", `{"role":"user","parts":[]}`)
	put("message", `null`)
	put("message", `{"role":"user","parts":[{"type":"blob","mime":"image/png","data":null}]}`)
	put("message", `{"role":"assistant","parts":[{"type":"tool_call","id":"a","name":"Read","input":{}}]}`)
	put("message", `{"role":"user","parts":[{"type":"tool_result","call_id":"a","parts":null}]}`)
	put("message", `{"role":"user","parts":[{"type":"hologram"}]}`)
	put("lc", `{"lc":1,"type":"constructor","id":["os","system"],"kwargs":{"cmd":"id"}}`)
	put("pending", `{}`)
	put("compaction", `{}`)
	put("queued", `{"done":true}`)
	put("setup", `null`)
	put("label", `{"name":"`+strings.Repeat("n", 1<<20)+`"}`)
	put("head", `null`)
	put("message", `{"role":"user","parts":[{"type":"text","text":"`+strings.Repeat("漢", 3<<20)+`"}]}`)
	if err := os.WriteFile(filepath.Join(dir, "s.jsonl"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	st := open(t, dir)
	s := begin(t, st, "z")
	ms := s.Messages()
	last := ms[len(ms)-2].Text()
	if ms[len(ms)-1].Text() != "z" || len(last) != 9<<20 || strings.Contains(last, "\uFFFD") || ms[1].Role != llm.RoleAssistant {
		t.Errorf("%d messages, the last but one of %d bytes", len(ms), len(last))
	}
	count := 0
	for _, err := range s.Path(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		count++
	}
	if count != n+1 {
		t.Errorf("%d entries, want %d", count, n+1)
	}
	closed(t, s)
	if l := list(t, st); l[0].Err != "" || l[0].Prompt != "hi" {
		t.Errorf("listed with the prompt %q, %s", l[0].Prompt, l[0].Err)
	}
}

// TestLinkedFolder keeps sessions in a folder that is elsewhere, by a link of
// the user's.
func TestLinkedFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("making links needs a privilege there")
	}
	real, link := t.TempDir(), filepath.Join(t.TempDir(), "sessions")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	s := begin(t, open(t, link), "a")
	var locked *session.LockedError
	if _, err := session.Open(t.Context(), open(t, real), "s", session.OpenOptions{}); !errors.As(err, &locked) {
		t.Errorf("by its real name: %v", err)
	}
	closed(t, s)
	if l := list(t, open(t, link)); len(l) != 1 {
		t.Errorf("listed %v", l)
	}
	if err := open(t, link).Delete(t.Context(), "s"); err != nil {
		t.Error(err)
	}
	dangling := filepath.Join(t.TempDir(), "sessions")
	if err := os.Symlink(filepath.Join(real, "gone"), dangling); err != nil {
		t.Fatal(err)
	}
	if _, err := jsonl.Open(dangling, jsonl.Options{}); err == nil {
		t.Error("a link to nowhere was opened")
	}
}

// TestForkIsCutOff ends a fork after its first write, as a crash does: what is
// there is a beginning of the conversation, and the name can be used again
// once it is deleted.
func TestForkIsCutOff(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	s := begin(t, st)
	for i := range 1200 {
		if err := s.Append(t.Context(), input(fmt.Sprint("e", i), fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	// Between the fork and its first entry there is nothing.
	f, err := session.Open(t.Context(), st, "f", session.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	if _, err := session.Open(t.Context(), st, "f", session.OpenOptions{}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a session of nothing: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	writes := 0
	st.SetWrite(func(f *os.File, b []byte) (int, error) {
		if writes++; writes == 2 {
			cancel()
			return 0, io.ErrClosedPipe
		}
		return f.Write(b)
	})
	if _, err := s.Fork(ctx, st, "f", ""); err == nil {
		t.Fatal("the fork went through")
	}
	if _, err := os.Lstat(filepath.Join(dir, "f.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a part of it is left")
	}
	st.SetWrite((*os.File).Write)
	f, err = s.Fork(t.Context(), st, "f", "e599")
	if err != nil || len(f.Messages()) != 600 || f.Leaf() != "e599" {
		t.Fatalf("forked again: %v", err)
	}
	closed(t, f)
	closed(t, s)
}
