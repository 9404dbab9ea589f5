package credential_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/internal/credential"
	"github.com/cantle-dev/cantle/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	if dir := os.Getenv(storeVariable); dir != "" {
		storeForEver(dir)
	}
	os.Exit(m.Run())
}

// ring is a keyring in memory.
type ring struct {
	mu   sync.Mutex
	keys map[string]string
	err  error
	gets int
}

func (r *ring) Set(service, name, secret string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.keys[service+"/"+name] = secret
	}
	return r.err
}

func (r *ring) Get(service, name string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gets++
	k, ok := r.keys[service+"/"+name]
	if !ok && r.err == nil {
		return "", credential.ErrNotFound
	}
	return k, r.err
}

func (r *ring) Delete(service, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.keys, service+"/"+name)
	return r.err
}

func newRing() *ring { return &ring{keys: map[string]string{}} }

func TestKeyring(t *testing.T) {
	r := newRing()
	s := credential.Store{Dir: filepath.Join(t.TempDir(), "credentials"), Keyring: r}
	if _, _, err := s.Get(t.Context(), "openai"); !errors.Is(err, credential.ErrNotFound) || r.gets != 0 {
		t.Errorf("nothing there: %v, asked %d times", err, r.gets)
	}
	if where, err := s.Set(t.Context(), "openai", " sk-canary\n"); err != nil || where != credential.InKeyring || r.keys["cantle/openai"] != "sk-canary" {
		t.Errorf("%q, %v, %v", where, err, r.keys)
	}
	if strings.Contains(all(t, s.Dir), "canary") {
		t.Error("the key is in a file too")
	}
	if key, where, err := s.Get(t.Context(), "openai"); key != "sk-canary" || where != credential.InKeyring || err != nil {
		t.Errorf("%q, %q, %v", key, where, err)
	}
	if l, err := s.List(t.Context()); err != nil || len(l) != 1 || l[0] != (credential.Entry{Name: "openai", Where: credential.InKeyring}) {
		t.Errorf("%v, %v", l, err)
	}
	delete(r.keys, "cantle/openai")
	if _, _, err := s.Get(t.Context(), "openai"); err == nil || !strings.Contains(err.Error(), "cantle login openai stores it again") {
		t.Errorf("removed behind its back: %v", err)
	}
	if err := s.Delete(t.Context(), "openai"); err != nil {
		t.Error(err)
	}
	if err := s.Delete(t.Context(), "openai"); !errors.Is(err, credential.ErrNotFound) {
		t.Error(err)
	}
	// One that is there but fails keeps none: the file does.
	r.err = errors.New("locked")
	if where, err := s.Set(t.Context(), "openai", "sk-2"); err != nil || where != credential.InFile {
		t.Errorf("%q, %v", where, err)
	}
	if key, where, err := s.Get(t.Context(), "openai"); key != "sk-2" || where != credential.InFile || err != nil {
		t.Errorf("%q, %q, %v", key, where, err)
	}
}

// all is what is in the files of a folder.
func all(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s: %s\n", path, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFiles(t *testing.T) {
	s := credential.Store{Dir: filepath.Join(t.TempDir(), "deep", "credentials")}
	if l, err := s.List(t.Context()); err != nil || len(l) != 0 {
		t.Errorf("%v, %v", l, err)
	}
	for _, name := range []string{"openai", "my.co", "../../up", "a/b", "ü"} {
		if where, err := s.Set(t.Context(), name, "key of "+strconv.QuoteToASCII(name)); err != nil || where != credential.InFile {
			t.Fatalf("%s: %q, %v", name, where, err)
		}
		if key, _, err := s.Get(t.Context(), name); key != "key of "+strconv.QuoteToASCII(name) || err != nil {
			t.Errorf("%s: %q, %v", name, key, err)
		}
	}
	files, err := os.ReadDir(s.Dir)
	if err != nil || len(files) != 5 {
		t.Fatalf("%v, %v", files, err)
	}
	l, err := s.List(t.Context())
	if err != nil || len(l) != 5 || !slices.IsSortedFunc(l, func(a, b credential.Entry) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("%v, %v", l, err)
	}
	if runtime.GOOS != "windows" {
		for _, f := range files {
			if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", f.Name(), info.Mode(), err)
			}
		}
		if info, err := os.Stat(s.Dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if err := os.Chmod(filepath.Join(s.Dir, "openai.json"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Get(t.Context(), "openai"); err == nil || !strings.Contains(err.Error(), "chmod 600") || strings.Contains(err.Error(), "key of") {
			t.Errorf("a file that others can read: %v", err)
		}
	}
	if _, err := s.Set(t.Context(), "openai", "second"); err != nil {
		t.Error(err)
	}
	if key, _, err := s.Get(t.Context(), "openai"); key != "second" || err != nil {
		t.Errorf("written anew: %q, %v", key, err)
	}
}

func TestBadKeysAndFiles(t *testing.T) {
	s := credential.Store{Dir: t.TempDir()}
	for _, secret := range []string{"", " \n", "canary\ncanary", "canary\x00", strings.Repeat("canary", 4000), "canary\u200bcanary", "canarÿ", "canary\xff"} {
		if _, err := s.Set(t.Context(), "x", secret); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%.20q: %v", secret, err)
		}
	}
	// What begins a pipe's text on Windows is no part of the key.
	if key, err := credential.Clean("\ufeffcanary\r\n"); key != "canary" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
	for _, name := range []string{"", "a b", "a:b", "a\n", strings.Repeat("x", 101)} {
		if _, err := s.Set(t.Context(), name, "canary"); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", name, err)
		}
		if _, _, err := s.Get(t.Context(), name); !errors.Is(err, credential.ErrNotFound) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for text, want := range map[string]string{
		"canary":                       "is damaged",
		`{"version":1,"where":"file"}`: "is damaged",
		`{"version":1,"where":"canary","secret":"canary"}`:         "is damaged",
		`{"version":2,"where":"file","secret":"canary"}`:           "version 2",
		`{"version":1,"where":"file","secret":"canary\ncanary"}`:   "is damaged",
		`{"version":1,"where":"file","secret":["canary"]}`:         "is damaged",
		`{"version":1,"where":"keyring"}`:                          "there is no keyring here",
		strings.Repeat(" ", 1<<20) + `{"version":1,"where":"file"`: "is damaged",
	} {
		if err := os.WriteFile(filepath.Join(s.Dir, "x.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Get(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "cantle login x") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%.60s: %v", text, err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "x.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "x"); err != nil {
		t.Errorf("a damaged file is removed: %v", err)
	}
}

// What a program that was killed left beside a key's file goes with the next
// login, if it is old, and with logout.
func TestLeftovers(t *testing.T) {
	s := credential.Store{Dir: t.TempDir()}
	leave := func(base string, age time.Duration) string {
		t.Helper()
		name := filepath.Join(s.Dir, base)
		if err := os.WriteFile(name, []byte("canary"), 0o600); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(name, when, when); err != nil {
			t.Fatal(err)
		}
		return name
	}
	there := func(name string) bool { _, err := os.Stat(name); return err == nil }
	old, young, other := leave(".x.json.AAAA.tmp", time.Hour), leave(".x.json.BBBB.tmp", 0), leave(".y.json.CCCC.tmp", time.Hour)
	if _, err := s.Set(t.Context(), "x", "key"); err != nil || there(old) || !there(young) || !there(other) {
		t.Errorf("%v: %v, %v, %v", err, there(old), there(young), there(other))
	}
	if err := s.Delete(t.Context(), "x"); err != nil || there(young) || !there(other) {
		t.Errorf("%v: %v, %v", err, there(young), there(other))
	}
}

// stuck never answers, as a keyring that asks a user who is not there.
type stuck struct{ until chan struct{} }

func (k stuck) Set(string, string, string) error   { <-k.until; return nil }
func (k stuck) Get(string, string) (string, error) { <-k.until; return "", nil }
func (k stuck) Delete(string, string) error        { <-k.until; return nil }

func TestKeyringThatNeverAnswers(t *testing.T) {
	k := stuck{make(chan struct{})}
	defer close(k.until)
	s := credential.Store{Dir: t.TempDir(), Keyring: k, Timeout: time.Millisecond}
	if where, err := s.Set(t.Context(), "x", "key"); where != credential.InFile || err != nil {
		t.Errorf("%q, %v", where, err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "y.json"), []byte(`{"version":1,"where":"keyring"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Get(t.Context(), "y"); err == nil || !strings.Contains(err.Error(), "did not answer within 1ms") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Timeout = time.Hour
	if _, err := s.Set(ctx, "z", "key"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestManyAtOnce(t *testing.T) {
	s := credential.Store{Dir: t.TempDir()}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				if _, err := s.Set(t.Context(), "x", fmt.Sprintf("key-%d-%d", i, j)); err != nil {
					t.Error(err)
				}
				if key, _, err := s.Get(t.Context(), "x"); err != nil || !strings.HasPrefix(key, "key-") {
					t.Errorf("%q, %v", key, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestNoKeyringWithoutABus(t *testing.T) {
	if credential.System(func(string) string { return "off" }) != nil {
		t.Error("CANTLE_KEYRING=off has no effect")
	}
}

func TestCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are of a POSIX shell")
	}
	dir := t.TempDir()
	env := []string{"PATH=/usr/bin:/bin", "GIVEN=canary-3"}
	run := func(line string) (string, error) {
		c := credential.Command{Args: credential.Shell(line), Dir: dir, Env: env}
		return c.Key(t.Context())
	}
	for line, want := range map[string]string{
		"echo '  canary-1 '":                 "canary-1",
		"printf %s \"$GIVEN\"":               "canary-3",
		"echo noise >&2; echo canary-4":      "canary-4",
		"echo canary-5; sleep 30 >&- 2>&- &": "canary-5",
	} {
		if key, err := run(line); key != want || err != nil {
			t.Errorf("%s: %q, %v", line, key, err)
		}
	}
	for line, want := range map[string]string{
		"echo canary; echo 'the vault is locked' >&2; exit 3": "it ended with 3: the vault is locked",
		"echo canary; echo 'no canary in it' >&2; exit 1":     "it ended with 1: no … in it",
		"true":                     "what it printed is no key: the key is empty",
		"echo canary; echo canary": "more than one line",
		"head -c 100000 /dev/zero | tr '\\000' x":         "longer than",
		"printf '\\033]0;title\\007%1000s' x >&2; exit 1": "]0;title",
	} {
		_, err := run(line)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") || strings.ContainsAny(err.Error(), "\x1b\x07") || len(err.Error()) > 500 {
			t.Errorf("%s: %v", line, err)
		}
	}
	if _, err := (&credential.Command{Args: []string{"no-such-program-at-all"}, Dir: dir}).Key(t.Context()); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Error(err)
	}
	slow := &credential.Command{Args: credential.Shell("sleep 100 & echo canary; wait"), Dir: dir, Env: env, Timeout: 200 * time.Millisecond}
	if _, err := slow.Key(t.Context()); err == nil || !strings.Contains(err.Error(), "longer than 200ms") || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}

// A key is got once; a failure is tried again.
func TestCommandRunsOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command is of a POSIX shell")
	}
	dir := t.TempDir()
	c := &credential.Command{Args: credential.Shell("echo x >> runs; [ -e ready ] && echo key"), Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}}
	if _, err := c.Key(t.Context()); err == nil {
		t.Error("there is no key yet")
	}
	if err := os.WriteFile(filepath.Join(dir, "ready"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if key, err := c.Key(t.Context()); key != "key" || err != nil {
			t.Errorf("%q, %v", key, err)
		}
	}
	if runs, err := os.ReadFile(filepath.Join(dir, "runs")); string(runs) != "x\nx\n" {
		t.Errorf("%q, %v", runs, err)
	}
}
