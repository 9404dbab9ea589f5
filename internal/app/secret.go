package app

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/cantle-dev/cantle/guard"
	"github.com/cantle-dev/cantle/internal/credential"
)

// redactor takes the keys that the program holds out of what tools tell: those
// in variables, those in its own files, which a command may print too, and
// those that it gets from commands and the keyring.
func (o Options) redactor() *guard.Redactor {
	for _, name := range o.keyVariables() {
		// A header may be made of what is no secret, such as the user's name.
		if v := strings.TrimSpace(o.Getenv(name)); !slices.Contains(publicVariables, strings.ToUpper(name)) {
			o.held.Add(name, v)
		}
	}
	stored := sync.OnceFunc(func() {
		store := Keys(o.env())
		entries, _ := store.List(context.Background()) // what cannot be read is told where it is wanted
		for _, e := range entries {
			if e.Where != credential.InFile {
				continue
			}
			if key, _, err := store.Get(context.Background(), e.Name); err == nil {
				o.held.Add(e.Name, key)
			}
		}
	})
	return guard.New(guard.Options{Keys: func() []guard.Key {
		stored()
		return o.held.Keys()
	}})
}

var publicVariables = []string{"HOME", "USER", "LOGNAME", "USERNAME", "HOSTNAME", "COMPUTERNAME", "PWD", "SHELL", "PATH", "LANG", "TERM"}
