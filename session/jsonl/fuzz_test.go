package jsonl_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/session/sessiontest"
)

// FuzzOpen has any bytes for a journal. It opens, to be read and to be written,
// or is an error that says where; what is then in it stays, in bytes and in
// view, when something is appended and it is opened again.
func FuzzOpen(f *testing.F) {
	var sound []byte
	for _, e := range sessiontest.Kinds() {
		var err error
		if sound, err = e.Encode(sound); err != nil {
			f.Fatal(err)
		}
		sound = append(sound, '\n')
	}
	f.Add(sound)
	f.Add(sound[:len(sound)*2/3])
	f.Add([]byte("\n\n{}\n"))
	f.Add([]byte(`{"v":1,"kind":"message","parent":"b","id":"a","time":"2026-01-02T03:04:05Z","data":{"role":"assistant","parts":[{"type":"tool_call","id":"c","name":"n","input":{}}]}}`))
	f.Add([]byte(strings.Repeat(`{"v":1,"id":"a","parent":"a","kind":"head","time":"2026-01-02T03:04:05Z","data":{"root":true}}`+"\n", 2)))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		file := filepath.Join(dir, "s.jsonl")
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		st := open(t, dir)
		ro, roErr := session.Open(t.Context(), st, "s", session.OpenOptions{ReadOnly: true})
		listed := list(t, st)
		for _, err := range st.Search(t.Context(), "a") {
			if err != nil {
				t.Fatal(err)
			}
		}
		s, err := session.Open(t.Context(), open(t, dir), "s", session.OpenOptions{})
		now, _ := os.ReadFile(file)
		if err != nil {
			var c *session.CorruptError
			if !errors.As(err, &c) || c.Line < 1 || c.Line > bytes.Count(b, []byte("\n"))+1 {
				t.Fatalf("%T: %v", err, err)
			}
			if roErr == nil && bytes.HasSuffix(b, []byte("\n")) {
				t.Fatalf("it can be read and not be written: %v", err)
			}
			if lost, err := st.Salvage(t.Context(), "s", "saved"); err == nil && lost == 0 && bytes.HasSuffix(b, []byte("\n")) {
				t.Fatal("nothing of a corrupt session is lost")
			} else if err == nil {
				s, err := session.Open(t.Context(), st, "saved", session.OpenOptions{})
				if err != nil {
					t.Fatalf("what was salvaged: %v", err)
				}
				closed(t, s)
			}
			return
		}
		if roErr != nil {
			t.Fatalf("it can be written and not be read: %v", roErr)
		}
		if len(listed) != 1 {
			t.Fatalf("listed as %+v", listed)
		}
		if whole := b[:bytes.LastIndexByte(b, '\n')+1]; !bytes.HasPrefix(now, whole) {
			t.Fatal("whole lines were changed")
		}
		if bytes.HasSuffix(b, []byte("\n")) && texts(ro) != texts(s) {
			t.Fatalf("read only %q, else %q", texts(ro), texts(s))
		}
		before := len(s.Messages())
		if err := s.Append(t.Context(), input("zz-last", "z")); err != nil {
			if !errors.Is(err, session.ErrExists) {
				t.Fatal(err)
			}
			closed(t, s)
			return
		}
		view := texts(s)
		closed(t, s)
		s, err = session.Open(t.Context(), open(t, dir), "s", session.OpenOptions{})
		if err != nil {
			t.Fatalf("opened again: %v", err)
		}
		if got := texts(s); got != view || len(s.Messages()) < before {
			t.Fatalf("opened again: %q, was %q", got, view)
		}
		closed(t, s)
	})
}
