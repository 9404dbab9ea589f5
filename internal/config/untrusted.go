package config

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// ofTrust are the keys that a project's file may set only in a folder that the
// user trusts.
var ofTrust = []string{"model", "system", "appendSystem", "env", "permissions.allow", "permissions.defaultMode", "permissions.additionalDirectories"}

// ofUser are the keys that only the user's own files may set, whatever he
// trusts.
var ofUser = []string{"providers", "aliases", "fallback", "route", "retry", "cacheWatch", "stallTimeout", "user", "envPassthrough"}

// ofUserModel are those of a model: what it costs, and what it is sent.
var ofUserModel = []string{"price", "output", "thinkingStyle", "efforts", "minCache", "salvage"}

// ofUserIn are those of other objects.
var ofUserIn = map[string][]string{
	"permissions": {"askTimeout", "reviewer"},
	"web":         {"allowPrivate", "allowRanges", "search"},
}

// modesOfProjects are those that a trusted project may choose. None lets
// everything run, and none is another name for one.
var modesOfProjects = []string{"default", "acceptEdits", "plan", "dontAsk"}

// inside changes the object of a layer at the key.
func inside(layer map[string]json.RawMessage, key string, change func(in map[string]json.RawMessage)) {
	var in map[string]json.RawMessage
	if json.Unmarshal(layer[key], &in) != nil || in == nil {
		return // it is not there, or no object, which is told of where it is checked
	}
	change(in)
	if b, err := json.Marshal(in); err == nil {
		layer[key] = b
	}
}

// project takes out of a project's file what it may not decide for whoever
// opens it. sum is the digest of the text that the layer was read from.
func (c *Config) project(file string, layer map[string]json.RawMessage, sum string) {
	var whys []string
	keys := map[string][]string{}
	c.ofUserOnly(layer, func(key, why string) {
		if keys[why] == nil {
			whys = append(whys, why)
		}
		keys[why] = append(keys[why], key)
	})
	for _, why := range whys {
		c.leftOut(file, keys[why], why)
	}
	at := ".cantle/" + filepath.Base(file)
	seen, ok := c.Trust.Survey.file(at)
	if c.Trust.Level == Trusted && ok && seen.Refused == "" && seen.SHA256 == sum {
		return
	}
	off := takeTrusted(layer)
	why := notForYou
	switch {
	case linked(file):
		why = "it comes through a symbolic link, which is never trusted; put it into your own settings"
	case !ok || c.Trust.Survey.Digest == "": // it cannot be trusted
	case c.Trust.Why() == "":
		why = "the file was changed while it was read; start again, or put it into your own settings"
	default:
		why = c.Trust.Why() + "; " + wayOut + ", or put it into your own settings"
	}
	c.leftOut(file, off, why)
}

// leftOut warns of keys in a file that take no effect, if there are any.
func (c *Config) leftOut(file string, keys []string, why string) {
	verb := " is left out: "
	if len(keys) > 1 {
		verb, why = " are left out: ", strings.NewReplacer("set it", "set them", "put it", "put them", "it comes", "they come").Replace(why)
	}
	if len(keys) > 0 {
		c.Warnings = append(c.Warnings, file+": "+listed(keys)+verb+why)
	}
}

const (
	notForYou   = "a project may not set it for you; put it into your own settings"
	onlyLower   = "a project may only lower your limit"
	onlyTighter = "a project may only tighten the sandbox"
)

// takeTrusted takes out what needs trust, and returns the keys of it.
func takeTrusted(layer map[string]json.RawMessage) (keys []string) {
	take := func(in map[string]json.RawMessage, name, key string) {
		v, ok := in[name]
		if delete(in, name); ok && !slices.Contains([]string{`""`, "[]", "{}"}, string(v)) {
			keys = append(keys, key)
		}
	}
	for _, key := range ofTrust {
		outer, inner, deeper := strings.Cut(key, ".")
		if !deeper {
			take(layer, key, key)
			continue
		}
		inside(layer, outer, func(in map[string]json.RawMessage) { take(in, inner, key) })
	}
	return keys
}

// needsTrust are the keys in the text of a project's file that need trust.
func needsTrust(text []byte) []string {
	if tooDeep(text) > 0 {
		return nil
	}
	root, err := parse("", text)
	if err != nil {
		return nil // which no one reads
	}
	layer, ok := objectOf(root)
	if !ok {
		return nil
	}
	(&Config{}).ofUserOnly(layer, func(string, string) {})
	return takeTrusted(layer)
}

// ofUserOnly takes out what no project may set, and tells of it.
func (c *Config) ofUserOnly(layer map[string]json.RawMessage, tell func(key, why string)) {
	take := func(in map[string]json.RawMessage, name, key string) {
		if _, ok := in[name]; ok {
			delete(in, name)
			tell(key, notForYou)
		}
	}
	for _, k := range ofUser {
		take(layer, k, k)
	}
	for _, k := range slices.Sorted(maps.Keys(ofUserIn)) {
		inside(layer, k, func(in map[string]json.RawMessage) {
			for _, name := range ofUserIn[k] {
				take(in, name, k+"."+name)
			}
		})
	}
	for _, k := range []string{"maxTurns", "maxTokens", "maxCost", "softLimit", "timeout"} {
		if v, ok := layer[k]; ok && c.widens(k, v) {
			delete(layer, k)
			tell(k, onlyLower)
		}
	}
	// A price of a project's making would turn the limit on cost off.
	inside(layer, "models", func(models map[string]json.RawMessage) {
		for _, ref := range slices.Sorted(maps.Keys(models)) {
			inside(models, ref, func(in map[string]json.RawMessage) {
				for _, name := range ofUserModel {
					take(in, name, dotted([]string{"models", ref, name}))
				}
			})
		}
	})
	inside(layer, "sandbox", func(in map[string]json.RawMessage) {
		for _, k := range slices.Sorted(maps.Keys(in)) {
			if _, known := fieldsByName(reflect.TypeFor[Sandbox]())[k]; known && c.loosensSandbox(k, in[k]) {
				delete(in, k)
				tell("sandbox."+k, onlyTighter)
			}
		}
	})
	inside(layer, "permissions", func(in map[string]json.RawMessage) {
		var mode string
		if json.Unmarshal(in["defaultMode"], &mode) == nil && mode != "" && !slices.Contains(modesOfProjects, mode) {
			delete(in, "defaultMode")
			tell("permissions.defaultMode", shown([]byte(quoted(mode)), "")+" is no mode that a project may choose, which are "+strings.Join(modesOfProjects, ", "))
		}
	})
	inside(layer, "env", func(in map[string]json.RawMessage) {
		for _, name := range slices.Sorted(maps.Keys(in)) {
			var v string
			switch at := dotted([]string{"env", name}); {
			case launches(name):
				delete(in, name)
				tell(at, "a project may not set what programs do when they start; put it into your own settings")
			case json.Unmarshal(in[name], &v) == nil && strings.Contains(v, "${"):
				delete(in, name)
				tell(at, "a project may not ask for a variable of yours; put it into your own settings")
			}
		}
	})
}

// linked reports whether a project's settings file, or the folder it is in, is
// a symbolic link.
func linked(file string) bool {
	return slices.ContainsFunc([]string{file, filepath.Dir(file)}, func(name string) bool {
		fi, err := os.Lstat(name)
		return err == nil && fi.Mode()&os.ModeSymlink != 0
	})
}
