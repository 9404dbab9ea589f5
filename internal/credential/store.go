// Package credential keeps providers' keys out of the settings: in the
// system's keyring or, where there is none, in files that only their user can
// read, and it runs the command that a user names to get a key.
//
//	s := credential.Store{Dir: filepath.Join(home, "credentials"), Keyring: credential.System(os.Getenv)}
//	where, err := s.Set(ctx, "anthropic", key)
//	key, where, err := s.Get(ctx, "anthropic")
//
// No error of the package holds a key, or what a command printed.
package credential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/internal/x/atomicfile"
)

// Service is the name under which the keys are in a keyring.
const Service = "cantle"

// Where says where a key is kept.
type Where string

// The places of keys.
const (
	InKeyring Where = "keyring"
	InFile    Where = "file"
)

// ErrNotFound means that no key is kept under a name.
var ErrNotFound = errors.New("no key is stored")

// Keyring is a keyring of the system. A key that is not there is
// [ErrNotFound].
type Keyring interface {
	Set(service, name, secret string) error
	Get(service, name string) (string, error)
	Delete(service, name string) error
}

// Store keeps keys by the name of a provider. It is safe for concurrent use,
// by several processes too.
type Store struct {
	// Dir has a file for each key: with the key, or with the note that it is in
	// the keyring, which is asked for no other. It is made when it is needed.
	Dir     string
	Keyring Keyring // nil: files alone
	// Timeout is how long the keyring may take; default 30 s, in which a user
	// can unlock it. A keyring that nobody can unlock would wait for ever.
	Timeout time.Duration
}

// Entry is a key that is kept.
type Entry struct {
	Name  string
	Where Where
}

const (
	formVersion = 1
	maxSecret   = 16 << 10 // bytes
)

// form is what a file of the store holds.
type form struct {
	Version int    `json:"version"`
	Where   Where  `json:"where"`
	Secret  string `json:"secret,omitempty"`
}

// CheckName says what is wrong with the name of a provider.
func CheckName(name string) error {
	if name == "" || len(name) > 100 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || r == ':' }) {
		return fmt.Errorf("credential: %q is not the name of a provider: it has at most 100 bytes, and no blank and no colon in it", name)
	}
	return nil
}

// Clean is a key as it was typed or pasted, without what is around it. One that
// cannot be a key is an error that does not hold it. Keys are ASCII: what is not
// came with the text that a key was copied from, or from a terminal or a pipe
// with an encoding of its own, and cannot be sent.
func Clean(secret string) (string, error) {
	secret = strings.TrimSpace(strings.TrimPrefix(secret, "\uFEFF"))
	switch {
	case secret == "":
		return "", errors.New("credential: the key is empty")
	case len(secret) > maxSecret:
		return "", fmt.Errorf("credential: the key is longer than %d bytes", maxSecret)
	case strings.ContainsFunc(secret, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", errors.New("credential: the key has control characters in it, as of more than one line")
	}
	if i := strings.IndexFunc(secret, func(r rune) bool { return r > 0x7f }); i >= 0 {
		return "", fmt.Errorf("credential: the key has at byte %d a character that no key has, perhaps an invisible one: copy it anew", i+1)
	}
	return secret, nil
}

func (s *Store) path(name string) string {
	return filepath.Join(s.Dir, url.PathEscape(name)+".json")
}

// Set keeps a key in the place of an earlier one of that name: in the keyring
// or, where there is none or it does not take it, in a file of mode 0600.
func (s *Store) Set(ctx context.Context, name, secret string) (Where, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	secret, err := Clean(secret)
	if err != nil {
		return "", err
	}
	f := form{formVersion, InKeyring, ""}
	if _, err := s.ask(ctx, func(k Keyring) (string, error) { return "", k.Set(Service, name, secret) }); err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("credential: storing the key of %s: %w", name, ctx.Err())
		}
		f = form{formVersion, InFile, secret}
	}
	text, err := json.Marshal(f)
	if err == nil {
		err = os.MkdirAll(s.Dir, 0o700)
	}
	if err == nil {
		err = atomicfile.Write(s.path(name), append(text, '\n'), atomicfile.Options{Private: true})
	}
	if err != nil {
		return "", fmt.Errorf("credential: storing the key of %s: %w", name, err)
	}
	s.sweep(name, time.Minute)
	return f.Where, nil
}

// sweep removes what a program that was killed while it wrote the file of that
// name left beside it, which may hold a key. What is younger than age may be of
// a program that is writing now.
func (s *Store) sweep(name string, age time.Duration) {
	left, _ := os.ReadDir(s.Dir) // where it cannot be read there is nothing to be done
	begin := "." + filepath.Base(s.path(name))
	begin = begin[:min(len(begin), 1+100)] + "." // as package atomicfile names them
	for _, e := range left {
		if !strings.HasPrefix(e.Name(), begin) || !strings.HasSuffix(e.Name(), ".tmp") {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) >= age {
			_ = os.Remove(filepath.Join(s.Dir, e.Name()))
		}
	}
}

// Get returns the key of that name and where it is kept. That there is none is
// [ErrNotFound].
func (s *Store) Get(ctx context.Context, name string) (secret string, where Where, err error) {
	f, err := s.read(name)
	if err != nil {
		return "", "", err
	}
	if f.Where == InFile {
		return f.Secret, InFile, nil
	}
	secret, err = s.ask(ctx, func(k Keyring) (string, error) { return k.Get(Service, name) })
	if err == nil {
		secret, err = Clean(secret)
	}
	if err != nil {
		return "", InKeyring, fmt.Errorf("credential: the key of %s was stored in the system's keyring: %w; cantle login %s stores it again", name, err, name)
	}
	return secret, InKeyring, nil
}

// Where says where the key of that name is kept, without asking a keyring for
// it. That there is none is [ErrNotFound].
func (s *Store) Where(name string) (Where, error) {
	f, err := s.read(name)
	return f.Where, err
}

// Delete removes a key from wherever it is. That there is none is
// [ErrNotFound].
func (s *Store) Delete(ctx context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	s.sweep(name, 0)
	f, err := s.read(name)
	if errors.Is(err, ErrNotFound) {
		return err
	}
	// What cannot be read is removed all the same.
	if err == nil && f.Where == InKeyring {
		_, err := s.ask(ctx, func(k Keyring) (string, error) { return "", k.Delete(Service, name) })
		if err != nil && !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("credential: removing the key of %s from the system's keyring: %w", name, err)
		}
	}
	if err := os.Remove(s.path(name)); err != nil {
		return fmt.Errorf("credential: removing the key of %s: %w", name, err)
	}
	return nil
}

// List is which keys are kept, by name. It asks no keyring.
func (s *Store) List(context.Context) ([]Entry, error) {
	files, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("credential: %w", err)
	}
	var out []Entry
	for _, f := range files {
		base, ok := strings.CutSuffix(f.Name(), ".json")
		name, err := url.PathUnescape(base)
		if !ok || err != nil || CheckName(name) != nil || url.PathEscape(name) != base {
			continue // none of ours
		}
		kept, err := s.read(name)
		if err != nil {
			return nil, err
		}
		out = append(out, Entry{name, kept.Where})
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// read reads the file of a name. What is in it is in no error.
func (s *Store) read(name string) (form, error) {
	if CheckName(name) != nil {
		return form{}, fmt.Errorf("credential: %w for %q", ErrNotFound, name)
	}
	path := s.path(name)
	bad := func(what string) (form, error) {
		return form{}, fmt.Errorf("credential: %s %s: cantle login %s writes it anew, cantle logout %s removes it", path, what, name, name)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return form{}, fmt.Errorf("credential: %w for %s", ErrNotFound, name)
	case err != nil:
		return form{}, fmt.Errorf("credential: %w", err)
	case !info.Mode().IsRegular():
		return bad("is not a regular file")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return form{}, fmt.Errorf("credential: %s can be read by others than you: chmod 600 it, and think of another key", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return form{}, fmt.Errorf("credential: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 8*maxSecret))
	if err != nil {
		return form{}, fmt.Errorf("credential: %w", err)
	}
	var f form
	if json.Unmarshal(text, &f) != nil {
		return bad("is damaged")
	}
	if f.Version != formVersion {
		return bad(fmt.Sprintf("is of version %d, where this program knows %d", f.Version, formVersion))
	}
	if f.Where == InFile {
		if f.Secret, err = Clean(f.Secret); err != nil {
			return bad("is damaged")
		}
	} else if f.Where != InKeyring {
		return bad("is damaged")
	}
	return f, nil
}
