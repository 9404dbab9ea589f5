package session_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/session/jsonl"
	"github.com/cantle-dev/cantle/session/sessiontest"
)

var update = flag.Bool("update", false, "write the journal of this version")

const golden = "testdata/v1.jsonl"

// TestGolden loads the journal that the first version wrote, which every later
// one must. It has every kind, and records with kinds and fields that this
// version does not know; each is written back byte for byte.
func TestGolden(t *testing.T) {
	if *update {
		var b []byte
		for _, e := range sessiontest.Kinds() {
			var err error
			if b, err = e.Encode(b); err != nil {
				t.Fatal(err)
			}
			b = append(b, '\n')
		}
		b = append(b, `{"v":1,"id":"odd1","parent":"k17","kind":"message","time":"2026-01-02T03:05:05.000Z","data":{"role":"user","parts":[{"type":"text","text":"odd"},{"type":"hologram","depth":3}],"kind":"input","mood":"good"},"sig":"x"}`+"\n"...)
		b = append(b, `{"v":1, "kind":"message","id":"odd2","parent":"odd1", "time":"2026-01-02T03:06:05Z","data":{"role":"user","parts":[{"type":"text","text":"other order"}]}}`+"\n"...)
		if err := os.WriteFile(golden, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for line := range bytes.Lines(b) {
		e, err := session.Decode(line)
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		kinds[e.Kind()] = true
		again, err := e.Encode(nil)
		if err != nil || string(again)+"\n" != string(line) {
			t.Errorf("%v: %s\nbecame %s", err, line, again)
		}
	}
	for _, e := range sessiontest.Kinds() {
		if !kinds[e.Kind()] {
			t.Errorf("no record of the kind %s", e.Kind())
		}
	}
	// As a file it opens, and shows what it showed.
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "v1.jsonl"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := jsonl.Open(dir, jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(t.Context(), st, "v1", session.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sketch(s.Messages()), "U:Grüße, 世界 \u2028 \x00 <&> \U0001F600 A:llm.ThinkingI read[c1]llm.Native U:(c1=?)odd U:other order"; got != want {
		t.Errorf("the view is\n%s\nand was\n%s", got, want)
	}
	if r := s.Repairs(); len(r) != 1 || r[0].Kind != session.RepairNoResult {
		t.Errorf("repairs: %v", r)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "v1.jsonl")); err != nil || !bytes.Equal(after, b) {
		t.Errorf("opening changed the file: %v", err)
	}
}

func TestLaterVersionIsToldApart(t *testing.T) {
	_, err := session.Decode([]byte(`{"v":2,"id":"a","parent":"","kind":"message","time":"2026-01-02T03:04:05Z","data":{}}`))
	var v *session.VersionError
	if !errors.As(err, &v) || v.Version != 2 || v.Entry != "a" {
		t.Errorf("got %v", err)
	}
}

// TestDecodeIsStrict has records of the usual form that are no JSON, in each
// kind of entry.
func TestDecodeIsStrict(t *testing.T) {
	for _, kind := range []string{"message", "note:x", "from_the_future", "note:"} {
		for _, data := range []string{``, `{`, `{"a":1}}`, `{"a" 1}`, `{},{}`, `{}}{`, "{\"a\":\"\x01\"}"} {
			line := `{"v":1,"id":"a","parent":"","kind":"` + kind + `","time":"2026-01-02T03:04:05Z","data":` + data + `}`
			if e, err := session.Decode([]byte(line)); err == nil {
				t.Errorf("%s was read as %#v", line, e.Data)
			}
		}
	}
	if _, err := session.Decode([]byte(`{"v":1,"id":"a","parent":"","kind":"message","time":"2026-01-02T03:04:05Z","data":{"role":"user"},"more":[1]}`)); err != nil {
		t.Errorf("a field behind the data: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	b, err := os.ReadFile(golden)
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		f.Add(bytes.TrimSpace(line))
	}
	f.Add([]byte(`{"v":1,"id":"a","parent":"","kind":"note:","time":"2026-01-02T03:04:05Z","data":}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := session.Decode(line)
		if err != nil {
			return
		}
		again, err := e.Encode(nil)
		if err != nil || !bytes.Equal(again, bytes.TrimSuffix(line, []byte("\n"))) {
			t.Errorf("%v: %q became %q", err, line, again)
		}
		if e.ID == "" || e.Kind() == "" {
			t.Errorf("no id or kind: %q", line)
		}
	})
}
