package permission_test

import (
	"testing"

	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/tool"
)

// The keys that the program keeps are asked about for reading too, whatever
// the mode is.
func TestStoredKeysAreSensitive(t *testing.T) {
	g, err := permission.New(permission.Options{
		Mode: permission.Bypass, Yes: true, Roots: []string{"/own"}, Own: "/own", Rules: permission.Rules{Allow: []string{"Read"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]permission.Effect{
		"/own/credentials/openai.json": permission.Ask,
		"/own/Credentials/openai.json": permission.Ask,
		"/own/credentials":             permission.Ask,
		"/own/AGENTS.md":               permission.Allow,
		"/w/credentials/main.go":       permission.Allow,
	} {
		if v := g.Decide(tool.Spec{Name: "Read", ReadOnly: true}, []tool.Access{{Op: tool.Read, Target: path}}); v.Effect != want {
			t.Errorf("%s: %+v, want %s", path, v, want)
		}
	}
}
