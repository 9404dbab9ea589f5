package jsonl_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/session/jsonl"
)

func begin(t testing.TB, st *jsonl.Store, texts ...string) *session.Session {
	t.Helper()
	s, err := session.Open(t.Context(), st, "s", session.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range texts {
		if err := s.Append(t.Context(), input("e-"+x, x)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func texts(s *session.Session) string {
	var out []string
	for _, m := range s.Messages() {
		out = append(out, m.Text())
	}
	return strings.Join(out, " ")
}

func closed(t testing.TB, s *session.Session) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk fails writes, after none, some or all of the bytes. Nothing is
// half written, and what is appended next is whole.
func TestFullDisk(t *testing.T) {
	for _, c := range []struct {
		name string
		n    func(all int) int
		cut  bool // it cannot even be cut off
	}{
		{"nothing", func(int) int { return 0 }, false},
		{"some", func(all int) int { return all * 2 / 3 }, false},
		{"all", func(all int) int { return all }, false},
		{"stuck", func(all int) int { return all * 2 / 3 }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			st := open(t, dir)
			s := begin(t, st, "a")
			st.SetWrite(func(f *os.File, b []byte) (int, error) {
				n, err := f.Write(b[:c.n(len(b))])
				if c.cut {
					err = f.Close()
				}
				if err != nil {
					t.Error(err)
				}
				return n, syscall.ENOSPC
			})
			batch := []session.Entry{input("e-b", "b"), input("e-c", "c")}
			if c.cut {
				batch = batch[:1] // of which nothing can be whole
			}
			err := s.Append(t.Context(), batch...)
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "nothing was recorded") {
				t.Fatalf("got %v", err)
			}
			if err := s.Append(t.Context(), input("e-b", "b")); err == nil {
				t.Error("a second write went through")
			}
			if got := texts(s); got != "a" {
				t.Errorf("the view is %q", got)
			}
			if c.cut {
				_ = s.Close() // its file is closed already
				s = begin(t, st)
				if r := s.Repairs(); len(r) != 1 || r[0].Kind != session.RepairTorn {
					t.Errorf("repairs: %v", r)
				}
			}
			st.SetWrite((*os.File).Write)
			if err := s.Append(t.Context(), input("e-b", "b"), input("e-c", "c")); err != nil {
				t.Fatal(err)
			}
			closed(t, s)
			s = begin(t, open(t, dir))
			if got := texts(s); got != "a b c" || len(s.Repairs()) > 0 {
				t.Errorf("opened again: %q", got)
			}
			closed(t, s)
		})
	}
}

// TestFullFromTheStart: a session of which nothing could be recorded leaves no
// file, whatever of its first record was written, and can be begun again.
func TestFullFromTheStart(t *testing.T) {
	for name, write := range map[string]func(*os.File, []byte) (int, error){
		"nothing": func(*os.File, []byte) (int, error) { return 0, syscall.ENOSPC },
		"some": func(f *os.File, b []byte) (int, error) {
			n, err := f.Write(b[:len(b)/2])
			return n, errors.Join(syscall.ENOSPC, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			st := open(t, dir)
			s := begin(t, st)
			st.SetWrite(write)
			for range 2 {
				if err := s.Append(t.Context(), input("e-a", "a")); !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("got %v", err)
				}
				if files, err := filepath.Glob(filepath.Join(dir, "*.jsonl")); err != nil || len(files) > 0 {
					t.Fatalf("it left %v, %v", files, err)
				}
			}
			st.SetWrite((*os.File).Write)
			if err := s.Append(t.Context(), input("e-a", "a")); err != nil {
				t.Fatal(err)
			}
			if err := s.Append(t.Context(), input("e-b", "b")); err != nil {
				t.Fatal(err)
			}
			closed(t, s)
			if got := texts(begin(t, open(t, dir))); got != "a b" {
				t.Errorf("opened again: %q", got)
			}
		})
	}
}

// TestEmptyJournals: they are in no list, and can be deleted.
func TestEmptyJournals(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	closed(t, begin(t, st, "a"))
	if err := os.WriteFile(filepath.Join(dir, "empty.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n := 0
	for info, err := range st.List(t.Context()) {
		if n++; err != nil || info.ID == "empty" {
			t.Errorf("%+v, %v", info, err)
		}
	}
	if n != 1 {
		t.Errorf("%d sessions", n)
	}
	id, err := st.Resolve(t.Context(), "empty")
	if err == nil {
		err = st.Delete(t.Context(), id)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestEnds has what a crash, or an editor, may leave at the end of a file.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b []byte) []byte
		want   string
		torn   int // repairs
	}{
		"sound":            {func(b []byte) []byte { return b }, "a b", 0},
		"no newline":       {func(b []byte) []byte { return b[:len(b)-1] }, "a b", 1},
		"half a record":    {func(b []byte) []byte { return b[:len(b)-2] }, "a", 1},
		"zeros":            {func(b []byte) []byte { return append(b, make([]byte, 5000)...) }, "a b", 1},
		"blank lines":      {func(b []byte) []byte { return append(b, "\n\n"...) }, "a b", 0},
		"one byte":         {func(b []byte) []byte { return append(b, '{') }, "a b", 1},
		"nothing whole":    {func([]byte) []byte { return []byte(`{"v":1,"i`) }, "", 1},
		"empty":            {func([]byte) []byte { return nil }, "", 0},
		"long half record": {func(b []byte) []byte { return append(b, `{"v":1,"id":"x`+strings.Repeat("é", 3<<20)...) }, "a b", 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			closed(t, begin(t, open(t, dir), "a", "b"))
			file := filepath.Join(dir, "s.jsonl")
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			b = c.change(b)
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
			ro, err := session.Open(t.Context(), open(t, dir), "s", session.OpenOptions{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			if name == "no newline" {
				want = "a" // it may be in the middle of being written
			}
			if got := texts(ro); got != want || len(ro.Repairs()) != c.torn {
				t.Errorf("only read: %q", got)
			}
			if now, _ := os.ReadFile(file); !bytes.Equal(now, b) {
				t.Error("reading changed the file")
			}
			s, err := session.Open(t.Context(), open(t, dir), "s", session.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r := s.Repairs()
			if got := texts(s); got != c.want || len(r) != c.torn {
				t.Errorf("%q, repairs %v", got, r)
			}
			if err := s.Append(t.Context(), input("e-z", "z")); err != nil {
				t.Fatal(err)
			}
			closed(t, s)
			s = begin(t, open(t, dir))
			if got := texts(s); got != strings.TrimSpace(c.want+" z") || len(s.Repairs()) > 0 {
				t.Errorf("opened again: %q", got)
			}
			closed(t, s)
			aside, _ := os.ReadFile(filepath.Join(dir, "s.torn"))
			now, _ := os.ReadFile(file)
			if lost := len(b) - bytes.LastIndexByte(b, '\n') - 1; name != "no newline" && c.torn > 0 && len(aside) != lost+1 {
				t.Errorf("%d bytes are set aside, want %d", len(aside), lost+1)
			}
			if bytes.IndexByte(now, 0) >= 0 {
				t.Error("zeros are left")
			}
		})
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("making links needs a privilege there")
	}
	dir, out := t.TempDir(), t.TempDir()
	target := filepath.Join(out, "t")
	if err := os.WriteFile(target, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"s.jsonl", "l.lock", "d.d", "torn.torn", ".index.json"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	st := open(t, dir)
	for _, id := range []string{"s", "l"} {
		if s, err := session.Open(t.Context(), st, id, session.OpenOptions{Create: true}); err == nil {
			t.Errorf("%s was opened", id)
			closed(t, s)
		}
	}
	if _, err := st.Dir("d"); err == nil {
		t.Error("a link was taken for the session's folder")
	}
	if err := os.WriteFile(filepath.Join(dir, "torn.jsonl"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Open(t.Context(), st, "torn", session.OpenOptions{}); err == nil {
		t.Error("a torn record was set aside through a link")
	}
	// The folder of a session may hold a link; what it points to stays.
	if err := st.Append(t.Context(), "x", "", input("a", "a")); err != nil {
		t.Fatal(err)
	}
	d, err := st.Dir("x")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, filepath.Join(d, "link")); err != nil {
		t.Fatal(err)
	}
	for range st.List(t.Context()) {
	}
	if err := st.Delete(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(target); err != nil || string(b) != "mine\n" {
		t.Errorf("the target is %q, %v", b, err)
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are not kept there")
	}
	dir := filepath.Join(t.TempDir(), "new", "sessions")
	st := open(t, dir)
	s := begin(t, st, "a")
	d, err := st.Dir("s")
	if err != nil {
		t.Fatal(err)
	}
	for range st.List(t.Context()) {
	}
	for path, want := range map[string]os.FileMode{
		dir: 0o700, d: 0o700, filepath.Join(dir, "s.jsonl"): 0o600, filepath.Join(dir, "s.lock"): 0o600, filepath.Join(dir, ".index.json"): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	closed(t, s)
	if es, err := filepath.Glob(filepath.Join(dir, "*.lock")); err != nil || len(es) > 0 {
		t.Errorf("locks are left: %v, %v", es, err)
	}
}

// TestLockIsExclusive lets many take and leave one lock: never two have it.
func TestLockIsExclusive(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	var mu sync.Mutex
	holders, got := 0, 0
	for range 8 {
		st := open(t, dir)
		wg.Go(func() {
			for range 200 {
				unlock, err := st.Lock(t.Context(), "s")
				var locked *session.LockedError
				if errors.As(err, &locked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				got++
				if holders++; holders > 1 {
					t.Errorf("%d have the lock", holders)
				}
				mu.Unlock()
				runtime.Gosched()
				mu.Lock()
				holders--
				mu.Unlock()
				if err := unlock(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got == 0 {
		t.Error("nobody got the lock")
	}
}

// TestKilled kills a process that appends, at random places: what it was told
// is recorded is there, what is there besides is what came next, and its lock
// is free.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("JSONL_TEST_KILLED"); dir != "" {
		s := begin(t, open(t, dir))
		for i := 0; ; i++ {
			e := input(fmt.Sprint("e", i), strings.Repeat("x", i*i%50_000))
			if err := s.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			fmt.Println("recorded", e.ID)
		}
	}
	rounds := 20
	if os.Getenv("CANTLE_SOAK") != "" {
		rounds = 200
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for range rounds {
		dir := t.TempDir()
		most, pause := 1+rnd.IntN(150), rnd.IntN(20_000)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "JSONL_TEST_KILLED="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var told []string
		sc := bufio.NewScanner(out)
		for sc.Scan() {
			if id, ok := strings.CutPrefix(sc.Text(), "recorded "); ok {
				told = append(told, id)
			}
			if len(told) == 1 {
				var locked *session.LockedError
				_, err := session.Open(t.Context(), open(t, dir), "s", session.OpenOptions{})
				if !errors.As(err, &locked) || !strings.Contains(locked.Holder, fmt.Sprint("process ", cmd.Process.Pid)) {
					t.Errorf("while it runs: %v", err)
				}
			}
			if len(told) == most {
				for range pause { // it goes on meanwhile
					runtime.Gosched()
				}
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // it was killed
		cancel()
		s, err := session.Open(t.Context(), open(t, dir), "s", session.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var there []string
		for e, err := range s.Path(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			there = append(there, e.ID)
		}
		if len(told) < most || len(there) < len(told) || !slices.Equal(there[:len(told)], told) {
			t.Errorf("%d entries are there, and %d were told to be", len(there), len(told))
		}
		for i, id := range there {
			if id != fmt.Sprint("e", i) {
				t.Fatalf("entry %d is %s", i, id)
			}
		}
		closed(t, s)
	}
}

// TestCorruptBodies damages records that have a sound header.
func TestCorruptBodies(t *testing.T) {
	dir := t.TempDir()
	closed(t, begin(t, open(t, dir), "a", "b", "c"))
	file := filepath.Join(dir, "s.jsonl")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.Replace(b, []byte(`"text":"b"`), []byte(`"text";"b"`), 1)
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = session.Open(t.Context(), open(t, dir), "s", session.OpenOptions{})
	var c *session.CorruptError
	if !errors.As(err, &c) || c.Line != 2 || !strings.Contains(err.Error(), "salvage") {
		t.Errorf("got %v", err)
	}
	later := bytes.Replace(b, []byte(`{"v":1,"id":"e-b"`), []byte(`{"v":2,"id":"e-b"`), 1)
	later = bytes.Replace(later, []byte(`"text";"b"`), []byte(`"text":"b"`), 1)
	if err := os.WriteFile(file, later, 0o600); err != nil {
		t.Fatal(err)
	}
	var v *session.VersionError
	if _, err = session.Open(t.Context(), open(t, dir), "s", session.OpenOptions{}); !errors.As(err, &v) || v.Version != 2 || !errors.As(err, &c) {
		t.Errorf("got %v", err)
	}
	for i, err := range open(t, dir).List(t.Context()) {
		if err != nil || i.ID != "s" || i.Err == "" || i.Title != "a" {
			t.Errorf("listed as %+v, %v", i, err)
		}
	}
}
