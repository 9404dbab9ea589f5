package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/tailscale/hujson"
)

// Sources are where settings come from.
type Sources struct {
	Home    string // the folder of the user's own: ~/.cantle, or CANTLE_HOME
	Dir     string // the working directory: see ProjectDir
	Managed string // the managed file, see ManagedFile; "" is none
	Getenv  func(string) string
	// Flags are settings by dotted key, as "permissions.defaultMode", with
	// their values as text: from --set, and from the flags that have a setting.
	Flags []Flag
}

// Flag is one setting from the command line.
type Flag struct{ Key, Value, Name string }

// Error is a setting that is wrong.
type Error struct {
	File string // or the flag or variable
	Line int    // 0: unknown
	Key  string
	Text string
	err  error // what it comes of, if that is another error
}

func (e *Error) Unwrap() error { return e.err }

func (e *Error) Error() string {
	at := e.File
	if e.Line > 0 {
		at += ":" + strconv.Itoa(e.Line)
	}
	if at != "" {
		at += ": "
	}
	if e.Key != "" {
		at += e.Key + ": "
	}
	return "settings: " + at + e.Text
}

// Load reads all layers.
func Load(src Sources) (*Config, error) {
	c := &Config{From: map[string]string{}, places: map[string]place{}}
	var above []string
	if c.Project, above = projectDirs(src.Home, src.Dir); len(above) > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s: its settings do not hold in %s, which has settings of its own", filepath.Join(above[0], ".cantle"), c.Project))
	}
	src.Dir = c.Project
	layers := []struct{ name, file string }{
		{"user", filepath.Join(src.Home, "settings.json")},
		{"projectUser", ProjectFile(src.Home, src.Dir)},
		{"project", filepath.Join(src.Dir, ".cantle", "settings.json")},
		{"local", filepath.Join(src.Dir, ".cantle", "settings.local.json")},
	}
	if sameFolder(src.Home, filepath.Join(src.Dir, ".cantle")) {
		layers = slices.Delete(layers, 2, 3) // the user's own, and read already
	}
	var err error
	if c.Trust, err = TrustOf(src.Home, src.Dir); err != nil {
		c.Warnings = append(c.Warnings, strings.TrimPrefix(err.Error(), "settings: "))
	}
	for _, l := range layers {
		if err := c.file(l.name, l.file); err != nil {
			return nil, err
		}
	}
	for key, name := range map[string]string{"model": "CANTLE_MODEL", "maxContextTokens": "CANTLE_MAX_CONTEXT_TOKENS", "permissions.defaultMode": "CANTLE_PERMISSION_MODE"} {
		if v := src.Getenv(name); v != "" {
			if err := c.set(key, v, "environment", name); err != nil {
				return nil, err
			}
		}
	}
	if err := c.aliases(src.Getenv("CANTLE_MODEL_ALIASES")); err != nil {
		return nil, err
	}
	for _, f := range src.Flags {
		if err := c.set(f.Key, f.Value, "flags", f.Name); err != nil {
			return nil, err
		}
	}
	if err := c.whole(func(at []string) (string, int) { return c.From[strings.Join(at[:2], ".")], 0 }); err != nil {
		return nil, err
	}
	if src.Managed != "" {
		if err := c.file("managed", src.Managed); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// aliases lays those of the environment over c. What is malformed is left out.
func (c *Config) aliases(text string) error {
	const name = "CANTLE_MODEL_ALIASES"
	list, malformed := catalog.ParseAliases(text)
	for _, bad := range malformed {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s: %q is left out: write name=provider:model, with commas between", name, bad))
	}
	if len(list) == 0 {
		return nil
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return &Error{File: name, Text: err.Error()}
	}
	return c.merge(map[string]json.RawMessage{"aliases": raw}, "environment", name, nil, nil)
}

func sameFolder(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// file merges a file into c. A missing one is none. What a project may not
// decide for its user is left out, with a warning.
func (c *Config) file(name, file string) error {
	b, err := readFile(file)
	if err != nil || b == nil {
		return err
	}
	c.Files = append(c.Files, file)
	err = c.layer(name, file, b)
	if e, ok := errors.AsType[*Error](err); ok && (name == "project" || name == "local") && linked(file) {
		// It may lead to anything, of which nothing must be told.
		return &Error{File: file, Line: e.Line, Text: "it is a symbolic link that came with the project, and what it leads to is no settings file: remove it, or put a file there"}
	}
	return err
}

// bom is what some editors put before a text.
var bom = []byte("\uFEFF")

// parse reads JSON with comments and trailing commas. The value has memory of
// its own.
func parse(name string, b []byte) (hujson.Value, error) {
	b = slices.Clone(b)
	if bytes.HasPrefix(b, bom) {
		copy(b, "   ") // offsets stay
	}
	root, err := hujson.Parse(slices.Clone(b))
	if err != nil { // the last line may be a comment that nothing ends
		if ended, more := hujson.Parse(append(slices.Clone(b), '\n')); more == nil {
			return ended, nil
		}
	}
	if err != nil {
		text := strings.TrimPrefix(err.Error(), "hujson: ")
		line := 0
		_, _ = fmt.Sscanf(text, "line %d", &line) // 0: it does not say
		// What stands there may be a secret in the wrong place.
		if at, _, ok := strings.Cut(text, "invalid literal"); ok {
			text = at + "a text is in double quotes, and no other word than true, false and null is without them"
		}
		return root, &Error{File: name, Line: line, Text: "not JSON (comments and trailing commas are fine): " + text}
	}
	return root, nil
}

func objectOf(root hujson.Value) (map[string]json.RawMessage, bool) {
	plain := root.Clone()
	plain.Standardize()
	var out map[string]json.RawMessage
	err := json.Unmarshal(plain.Pack(), &out)
	return out, err == nil && out != nil
}

// layer merges the text of a file into c.
func (c *Config) layer(name, file string, b []byte) error {
	root, err := parse(file, b)
	if err != nil {
		return err
	}
	layer, ok := objectOf(root)
	if !ok {
		return &Error{File: file, Line: 1, Text: "an object is wanted"}
	}
	if name == "project" || name == "local" {
		c.project(file, layer, sumOf(string(b)))
	}
	if err := c.merge(layer, name, file, &root, b); err != nil {
		return err
	}
	return c.whole(func(at []string) (string, int) { return file, lineOf(&root, b, at) })
}

// set lays one value over c. What is JSON is taken as JSON where the key wants
// something else than text.
func (c *Config) set(key, value, name, from string) error {
	path, raw, err := setting(key, value)
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.File = from
		}
		return err
	}
	return c.merge(map[string]json.RawMessage{path[0]: within(path[1:], raw)}, name, from, nil, nil)
}
