package config_test

import (
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/config"
)

// What a feature refuses is told with the place where it was set.
func TestWrongNamesThePlace(t *testing.T) {
	c, err := load(t, map[string]string{
		"home/settings.json":      "{\"permissions\": {\"deny\": [\n\"A\",\n\"B\"\n],\n\"defaultMode\": \"x\"},\n\"web\": {\n\"search\": {\n\"url\": \"http://h/{query}\"}}}",
		"p/.cantle/settings.json": "{\"permissions\":\n{\"deny\": [\"C\"]}}",
	}, nil, config.Flag{Key: "permissions.deny", Value: "D", Name: "--deny"})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct{ key, item, want string }{
		{"permissions.deny", "B", "home/settings.json:3: permissions.deny: no"},
		{"permissions.deny", "C", "p/.cantle/settings.json:2: permissions.deny: no"},
		{"permissions.deny", "D", "settings: --deny: permissions.deny: no"},
		{"permissions.defaultMode", "", "home/settings.json:5: permissions.defaultMode: no"},
		{"web.search.url", "", "home/settings.json:8: web.search.url: no"},
		{"web.search.keyEnv", "", "home/settings.json:7: web.search.keyEnv: no"},
		{"web.maxChars", "", "settings: web.maxChars: no"},
		{"model", "", "settings: model: no"},
	} {
		if got := c.Wrong(w.key, w.item, "no").Error(); !strings.HasSuffix(got, w.want) {
			t.Errorf("got %s, want %s", got, w.want)
		}
	}
	if got := new(config.Config).Wrong("model", "", "no").Error(); got != "settings: model: no" {
		t.Error(got)
	}
}
