package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strings"

	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/session/jsonl"
)

// OpenStore opens the user's sessions.
func OpenStore(home string) (*jsonl.Store, error) {
	return jsonl.Open(filepath.Join(home, "sessions"), jsonl.Options{})
}

// open opens the session that was asked for.
func (a *App) open(ctx context.Context, o Options) error {
	id := o.Now().UTC().Format("20060102-150405-") + strings.ToLower(randomID(6))
	var err error
	if o.Session.None {
		a.Session, err = session.Open(ctx, new(session.Memory), id, session.OpenOptions{Create: true})
		return err
	}
	if a.Store, err = OpenStore(o.Home); err != nil {
		return err
	}
	from := ""
	switch {
	case o.Session.Resume != "":
		if from, err = a.Store.Resolve(ctx, o.Session.Resume); err != nil {
			return Usage("%w", err)
		}
	case o.Session.Continue:
		if from, err = a.Store.Latest(ctx, o.Dir); err != nil {
			return Usage("%w", err)
		}
	}
	switch {
	case from == "":
		a.Session, err = session.Open(ctx, a.Store, id, session.OpenOptions{Create: true})
	case o.Session.Fork:
		var old *session.Session
		if old, err = session.Open(ctx, a.Store, from, session.OpenOptions{ReadOnly: true}); err == nil {
			a.Session, err = old.Fork(ctx, a.Store, id, "")
			err = errors.Join(err, old.Close())
		}
	default:
		a.Session, err = session.Open(ctx, a.Store, from, session.OpenOptions{})
	}
	return err
}

func randomID(n int) string {
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		panic(err) // crypto/rand does not fail on a supported system
	}
	return hex.EncodeToString(b)[:n]
}
