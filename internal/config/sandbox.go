package config

import (
	"encoding/json"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/internal/x/fetch"
)

// Sandbox is what commands are confined by. It is for the user to decide: a
// project's files may only tighten it, which is a mode that stands later in
// none, outer, landlock, auto, bubblewrap and seatbelt; strict as true;
// autoAllow as false; network as "off"; and more to hide.
type Sandbox struct {
	// Mode is "auto" (default), which takes the strongest that there is, or one
	// by name, which must be there then: "bubblewrap" ("bwrap"), "landlock",
	// "seatbelt", "docker", "outer" (the container that the program is in), or
	// "none".
	Mode string `json:"mode,omitempty"`
	// Image is that of docker, such as "python:3.12-slim"; there is no default.
	Image string `json:"image,omitempty"`
	// Strict refuses commands whose policy the sandbox cannot hold as a whole.
	Strict bool `json:"strict,omitempty"`
	// AllowedDomains can be reached from inside while the network is off:
	// "example.com" is that host alone, "*.example.com" every host below it.
	// None is nothing, never everything.
	AllowedDomains []string `json:"allowedDomains,omitempty"`
	Network        string   `json:"network,omitempty"` // "off" (default) or "on"
	// AutoAllow lets commands that stay inside run without asking.
	AutoAllow bool `json:"autoAllow,omitempty"`
	// Excluded are commands that run outside, as in the brackets of a Bash rule:
	// "docker:*".
	Excluded []string `json:"excluded,omitempty"`
	// Write are further folders to write in, and Hide files and folders that must
	// not be read: absolute, or ~/…. What layers hide adds up; of all other lists
	// of the sandbox the last counts.
	Write []string `json:"write,omitempty"`
	Hide  []string `json:"hide,omitempty"`
}

// Reviewer is a model that is asked about calls before the user is. It is off
// without a model.
type Reviewer struct {
	Model        string `json:"model,omitempty"`        // as provider:model, or an alias
	Timeout      string `json:"timeout,omitempty"`      // as "30s"
	Instructions string `json:"instructions,omitempty"` // of what it may approve
}

// sandboxModes are the modes from the weakest to the strongest. Of those with
// one rank none is stronger. What has no rank no project can set: docker brings
// other programs.
var sandboxModes = []struct {
	name string
	rank int
}{{"", 3}, {"none", 0}, {"outer", 1}, {"landlock", 2}, {"auto", 3}, {"bubblewrap", 4}, {"bwrap", 4}, {"seatbelt", 4}, {"docker", -1}}

func modeNames() []string {
	var out []string
	for _, m := range sandboxModes {
		out = append(out, m.name)
	}
	return out
}

// tighter reports whether the sandbox mode a is stronger than b.
func tighter(a, b string) bool {
	rank := func(name string) int {
		for _, m := range sandboxModes {
			if m.name == name {
				return m.rank
			}
		}
		return -1
	}
	return rank(b) >= 0 && rank(a) > rank(b)
}

// loosensSandbox reports whether a key of the sandbox in a project's file does
// anything else than tighten what the user has.
func (c *Config) loosensSandbox(key string, raw json.RawMessage) bool {
	var s string
	text := string(raw)
	_ = json.Unmarshal(raw, &s) // what is no text is told of where it is checked
	switch key {
	case "hide":
		return false
	case "strict":
		return text != "true"
	case "autoAllow":
		return text != "false"
	case "network":
		return s != "off"
	case "mode":
		return !tighter(s, c.Sandbox.Mode)
	}
	return true
}

// domain is a host or, after "*.", all below it.
func domain(s string) error {
	name, wild := strings.CutPrefix(s, "*.")
	if strings.ContainsAny(name, "*/:[]@ \t\r\n\x00") {
		return errForm
	}
	host, err := fetch.Host(name)
	if err != nil {
		return err
	}
	if _, err := netip.ParseAddr(host); err == nil || wild && !strings.Contains(host, ".") {
		return errForm
	}
	return nil
}

// absolute is a path that means the same from wherever it is read.
func absolute(s string) error {
	if noNUL(s) != nil {
		return errForm
	}
	if _, ok := strings.CutPrefix(s, "~/"); ok || filepath.IsAbs(s) {
		return nil
	}
	return errForm
}

// below is a folder that is not all there is, nor all that the user has:
// Cantle's own settings are there too.
func below(s string) error {
	if err := absolute(s); err != nil {
		return err
	}
	if rest, ok := strings.CutPrefix(s, "~/"); ok {
		if !filepath.IsLocal(rest) || filepath.Clean(rest) == "." {
			return errForm
		}
		return nil
	}
	if clean := filepath.Clean(s); clean == filepath.VolumeName(clean)+string(filepath.Separator) {
		return errForm
	}
	return nil
}

// passable is the name of a variable that commands may have. What holds a
// secret by its name is none, nor is a file that a shell would run.
func passable(s string) error {
	if variable(s) != nil || credentialName(s) || slices.Contains([]string{"BASH_ENV", "ENV"}, strings.ToUpper(s)) {
		return errForm
	}
	return nil
}

// credentialName reports whether a variable is one that a secret may be in. It
// is wider than keyName, which is about what a user writes down himself.
func credentialName(name string) bool {
	n := strings.ToUpper(name)
	for _, w := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "API_KEY", "APIKEY", "CREDENTIAL", "PRIVATE_KEY", "ACCESS_KEY"} {
		if strings.Contains(n, w) {
			return true
		}
	}
	return n == "KEY" || strings.HasSuffix(n, "_KEY") || strings.HasSuffix(n, "_PASS") || keyName(name)
}

// matcher is what stands in the brackets of a Bash rule.
func matcher(s string) error {
	if oneLine(s) != nil {
		return errForm
	}
	return given(s)
}
