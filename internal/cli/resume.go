package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/session"
)

// resumed has the model answer that the session had last, unless a flag, the
// environment or the managed settings name one: a session goes on as it was, and
// the settings may be meant for new ones. A model that cannot be used any more
// leaves those of the settings, with a note.
func (f *flags) resumed(ctx context.Context, e Env, c *config.Config, home, dir string) (notes []string) {
	switch c.From["model"] {
	case "--model", "--set", "CANTLE_MODEL", config.ManagedFile():
		if c.Model != "" {
			return nil
		}
	}
	if c.Route.Mode != "" { // which one answers is decided each time
		return nil
	}
	last := f.lastModel(ctx, home, dir)
	if last == "" || last == c.Model {
		return nil
	}
	try := *c
	try.Model = last
	roles, err := app.Roles(&try, e.app(home))
	i := slices.IndexFunc(roles, func(r app.Role) bool { return r.Name == "default" })
	if err != nil || i < 0 {
		return nil // it is told where the app is made
	}
	if err := roles[i].Err; err != nil {
		return []string{fmt.Sprintf("the model %s, which this session had, cannot be used: %v", last, err)}
	}
	c.Model = last
	return nil
}

// lastModel is the model that the session which is gone on with had last; what is
// wrong with the session is told where it is opened.
func (f *flags) lastModel(ctx context.Context, home, dir string) string {
	st, err := app.OpenStore(home)
	if err != nil {
		return ""
	}
	id := ""
	switch {
	case f.resume != "":
		id, err = st.Resolve(ctx, f.resume)
	case f.cont:
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		id, err = st.Latest(ctx, dir)
	}
	if err != nil || id == "" {
		return ""
	}
	s, err := session.Open(ctx, st, id, session.OpenOptions{ReadOnly: true})
	if err != nil {
		return ""
	}
	defer func() { _ = s.Close() }() // nothing was written
	was, _ := s.Setup()
	return was.Model
}
