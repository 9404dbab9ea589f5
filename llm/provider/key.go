package provider

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoKey means that a provider wants a key, and that there is none.
var ErrNoKey = errors.New("no key")

// Where a key is from that is in no variable. A [Keys] has words of its own
// for its places.
const (
	FromCommand = "apiKeyCommand"
	FromGiven   = "given" // [Options.APIKey]
)

// Keys are keys that are kept for providers, by their names.
type Keys interface {
	// Get returns a key and where it is kept; "" without an error if there is
	// none.
	Get(provider string) (key, where string, err error)
	// Has says where a key is kept, without asking for it; "" if nowhere.
	Has(provider string) (where string)
}

// Key returns the provider's key and where it is from: [FromGiven], the name of
// a variable, [FromCommand] or a place of [Options.Keys], of which the first
// that has one counts. A provider that wants none has the key "".
func (o Options) Key(c Custom) (key, from string, err error) {
	from, err = o.KeyFrom(c)
	if err != nil {
		return "", from, err
	}
	switch from {
	case "":
	case FromGiven:
		key = o.APIKey
	case FromCommand:
		if key, err = c.KeyCommand(); err != nil {
			err = fmt.Errorf("provider: providers.%s.apiKeyCommand: %w", c.Name, err)
		}
	default:
		if o.Getenv != nil && slices.Contains(c.KeyEnv, from) {
			key = o.Getenv(from)
			break
		}
		if key, _, err = o.Keys.Get(c.Name); err != nil {
			err = fmt.Errorf("provider: the key of %s: %w", c.Name, err)
		}
	}
	return strings.TrimSpace(key), from, err
}

// KeyFrom says where [Options.Key] would take the key from. It runs nothing,
// and reads no key but those in variables. That there is none where one is
// wanted is [ErrNoKey].
func (o Options) KeyFrom(c Custom) (from string, err error) {
	if strings.TrimSpace(o.APIKey) != "" && (o.APIKeyFor == "" || o.APIKeyFor == c.Name) {
		return FromGiven, nil
	}
	for _, v := range c.KeyEnv {
		if o.Getenv != nil && strings.TrimSpace(o.Getenv(v)) != "" {
			return v, nil
		}
	}
	if c.KeyCommand != nil {
		return FromCommand, nil
	}
	// A key is kept for the provider of that name, not for another server that
	// stands in its place.
	if o.Keys != nil && !c.elsewhere {
		if where := o.Keys.Has(c.Name); where != "" {
			return where, nil
		}
	}
	if len(c.KeyEnv) == 0 || c.KeyOptional {
		return "", nil
	}
	hint := "set " + strings.Join(c.KeyEnv, " or ")
	if o.Keys != nil && !c.elsewhere {
		hint += ", or store one with cantle login " + c.Name
	}
	return "", fmt.Errorf("provider: %w for %s: %s", ErrNoKey, c.Name, hint)
}
