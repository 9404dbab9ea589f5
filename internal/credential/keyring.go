package credential

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/zalando/go-keyring"
)

var errNoKeyring = errors.New("there is no keyring here")

const defaultTimeout = 30 * time.Second

// ask asks the keyring, for as long as it may take. A keyring cannot be told to
// give up: one that is late is left to itself.
func (s *Store) ask(ctx context.Context, f func(Keyring) (string, error)) (string, error) {
	if s.Keyring == nil {
		return "", errNoKeyring
	}
	limit := s.Timeout
	if limit <= 0 {
		limit = defaultTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not answer within %v: unlock it, or set CANTLE_KEYRING=off", limit))
	defer cancel()
	type answer struct {
		secret string
		err    error
	}
	done := make(chan answer, 1)
	go func() {
		secret, err := f(s.Keyring)
		done <- answer{secret, err}
	}()
	select {
	case a := <-done:
		return a.secret, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// System is the keyring of the system; nil if there is none, or the variable
// CANTLE_KEYRING is "off". On Linux it is the Secret Service of the session,
// on macOS the keychain, on Windows the credential manager.
func System(getenv func(string) string) Keyring {
	if getenv("CANTLE_KEYRING") == "off" {
		return nil
	}
	switch runtime.GOOS {
	case "darwin", "windows":
	default:
		// Without a session's bus the library would start one.
		bus := filepath.Join("/run/user", strconv.Itoa(os.Getuid()), "bus")
		if _, err := os.Stat(bus); err != nil && getenv("DBUS_SESSION_BUS_ADDRESS") == "" {
			return nil
		}
	}
	return system{}
}

type system struct{}

func (system) Set(service, name, secret string) error { return keyring.Set(service, name, secret) }

func (system) Get(service, name string) (string, error) {
	secret, err := keyring.Get(service, name)
	return secret, notFound(err)
}

func (system) Delete(service, name string) error { return notFound(keyring.Delete(service, name)) }

func notFound(err error) error {
	if errors.Is(err, keyring.ErrNotFound) {
		return ErrNotFound
	}
	return err
}
