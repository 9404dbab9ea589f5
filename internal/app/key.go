package app

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/cantle-dev/cantle/guard"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/internal/credential"
)

// Env is what surrounds a program.
type Env struct {
	Home    string // ~/.cantle
	User    string // the user's home directory
	Getenv  func(string) string
	Environ []string // as "NAME=value", for commands that print a key

	held *guard.Known // keys, as they are got; nil keeps none
}

func (o Options) env() Env { return Env{o.Home, o.User, o.Getenv, o.Environ, o.held} }

// Keys are the keys that the user has stored.
func Keys(e Env) *credential.Store {
	return &credential.Store{Dir: filepath.Join(e.Home, "credentials"), Keyring: credential.System(e.Getenv)}
}

// kept are stored keys for models to be opened with.
type kept struct {
	store *credential.Store
	held  *guard.Known
}

// Get is that of [provider.Keys].
func (k kept) Get(name string) (key, where string, err error) {
	key, at, err := k.store.Get(context.Background(), name) // the store has a time limit of its own
	if errors.Is(err, credential.ErrNotFound) {
		return "", "", nil
	}
	k.held.Add(name, key)
	return key, string(at), err
}

// Has is that of [provider.Keys]. What cannot be read is there: that it cannot
// is told when it is asked for.
func (k kept) Has(name string) string {
	where, err := k.store.Where(name)
	switch {
	case errors.Is(err, credential.ErrNotFound):
		return ""
	case err != nil:
		return string(credential.InFile)
	}
	return string(where)
}

// keyCommand makes the function that gets a key from a command, once.
func keyCommand(name string, c config.Command, e Env) func() (string, error) {
	if c.Shell == "" && len(c.Args) == 0 {
		return nil
	}
	cmd := &credential.Command{Args: c.Args, Dir: e.User, Env: e.Environ}
	if c.Shell != "" {
		cmd.Args = credential.Shell(c.Shell)
	}
	return func() (string, error) {
		key, err := cmd.Key(context.Background()) // it has a time limit of its own
		e.held.Add(name, key)
		return key, err
	}
}
