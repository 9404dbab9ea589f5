package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/permission"
)

// save keeps a change of the permissions in the settings file that it is for.
// All but that of the project itself are the user's own.
func (o Options) save(u permission.Update) error {
	switch u.Destination {
	case permission.ForUser:
		return put(own(filepath.Join(o.Home, "settings.json")), u)
	case permission.ForLocal:
		return put(own(config.ProjectFile(o.Home, o.Project())), u)
	case permission.ForProject:
		return put(config.InProject{Home: o.Home, Dir: o.Project()}, u)
	}
	return fmt.Errorf("%s is no file", u.Destination)
}

// A settingsFile is one to change.
type settingsFile interface {
	Set(key, value string) error
	Add(key, item string) error
	Remove(key, item string) error
}

// own is a settings file of the user's.
type own string

func (f own) Set(key, value string) error   { return config.Set(string(f), key, value) }
func (f own) Add(key, item string) error    { return config.Add(string(f), key, item) }
func (f own) Remove(key, item string) error { return config.Remove(string(f), key, item) }

// put makes a change in a settings file.
func put(f settingsFile, u permission.Update) error {
	rules := "permissions." + cmp.Or(string(u.Behavior), string(permission.Allow))
	each := func(key string, items []string, with func(key, item string) error) error {
		for _, item := range items {
			if err := with(key, item); err != nil {
				return err
			}
		}
		return nil
	}
	const directories = "permissions.additionalDirectories"
	switch u.Type {
	case permission.AddRules:
		return each(rules, u.Rules, f.Add)
	case permission.RemoveRules:
		return each(rules, u.Rules, f.Remove)
	case permission.ReplaceRules:
		list, err := json.Marshal(append([]string{}, u.Rules...))
		if err != nil {
			return err
		}
		return f.Set(rules, string(list))
	case permission.SetMode:
		return f.Set("permissions.defaultMode", string(u.Mode))
	case permission.AddDirectories:
		return each(directories, u.Directories, f.Add)
	case permission.RemoveDirectories:
		return each(directories, u.Directories, f.Remove)
	}
	return fmt.Errorf("there is no update %q", u.Type)
}
