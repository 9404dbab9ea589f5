package config

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cantle-dev/cantle/internal/x/atomicfile"
)

// InProject is a settings file of a project, to be changed as [Set], [Add] and
// [Remove] change one of the user's own:
//
//	err := config.InProject{Home: home, Dir: dir}.Add("permissions.deny", "Bash(git push:*)")
//
// The file is made, with its folder, for all who may read the project. Nothing
// is written through a link that the project brings: that .cantle or the file
// is one is an error. So is a key that no project may set.
//
// Where the folder was trusted, or brought nothing that needs trust, it is
// trusted with what was written too, unless anything else in it is not as it
// was. In any other folder what needs trust takes no effect until the user
// trusts it; [TrustOf] tells.
type InProject struct {
	Home, Dir string
	Local     bool // settings.local.json, which is not to be shared, instead of settings.json
}

// File is the path of the file.
func (p InProject) File() string { return filepath.Join(p.Dir, ".cantle", p.base()) }

func (p InProject) base() string {
	if p.Local {
		return "settings.local.json"
	}
	return "settings.json"
}

// Set is [Set] in the project's file.
func (p InProject) Set(key, value string) error {
	return p.save(func(t target) error { return set(t, key, value) })
}

// Add is [Add] in the project's file.
func (p InProject) Add(key, item string) error {
	return p.save(func(t target) error { return add(t, key, item) })
}

// Remove is [Remove] in the project's file.
func (p InProject) Remove(key, item string) error {
	return p.save(func(t target) error { return take(t, key, item) })
}

// save makes a change, and renews the trust in the folder.
func (p InProject) save(change func(target) error) error {
	before, cause := TrustOf(p.Home, p.Dir)
	root, err := os.OpenRoot(realPath(p.Dir))
	if err != nil {
		return &Error{File: p.Dir, Text: err.Error(), err: err}
	}
	defer root.Close()
	var folder *os.Root
	defer func() {
		if folder != nil {
			_ = folder.Close() // what was written has been told of
		}
	}()
	var was, written []byte
	t := target{name: p.File(), only: notOfProjects}
	t.lock = func() (unlock func(), err error) {
		if folder, err = ownFolder(root, ".cantle"); err != nil {
			return nil, err
		}
		return lockFolder(filepath.Join(root.Name(), ".cantle"))
	}
	t.read = func() ([]byte, error) {
		info, err := folder.Lstat(p.base())
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return nil, errors.New("it is a symbolic link that came with the project, and nothing is written through one: put a file there")
		}
		if !info.Mode().IsRegular() {
			return nil, errors.New("it is not a regular file: remove it, or put a file there")
		}
		f, why := openSeen(folder, p.base(), info)
		if why != "" {
			return nil, errors.New(why)
		}
		defer f.Close()
		if was, err = readOpen(t.name, f, maxFile); err != nil {
			return nil, err
		}
		return was, shallow(t.name, was)
	}
	t.write = func(b []byte) error {
		written = b
		return atomicfile.WriteIn(folder, p.base(), b, atomicfile.Options{Mode: 0o644})
	}
	if err := change(t); err != nil || written == nil || cause != nil {
		return err
	}
	return p.renew(before, was, written)
}

// renew trusts the folder with what was written into its file, if it could be
// relied on before and nothing else is new: neither in another file nor in
// what the change was made to.
func (p InProject) renew(before TrustState, was, written []byte) error {
	now, err := SurveyOf(p.Home, p.Dir)
	if err != nil {
		return nil // it cannot be trusted, and TrustOf says so
	}
	at := ".cantle/" + p.base()
	f, ok := now.file(at)
	old, had := before.Survey.file(at)
	if had != (was != nil) || had && old.SHA256 != sumOf(string(was)) {
		return nil
	}
	others := func(s *Survey) []SurveyFile {
		return slices.DeleteFunc(slices.Clone(s.Files), func(f SurveyFile) bool { return f.Path == at })
	}
	same := slices.EqualFunc(others(before.Survey), others(now), func(a, b SurveyFile) bool {
		return a.Kind == b.Kind && a.Path == b.Path && a.SHA256 == b.SHA256 && a.Link == b.Link && (a.Refused == "") == (b.Refused == "")
	})
	switch {
	case !ok || !same || f.Refused != "" || f.SHA256 != sumOf(string(written)):
		return nil
	case before.Level == Trusted, before.Level == BringsNothing && now.Active():
		return Trust(p.Home, p.Dir, now)
	}
	return nil
}

// ownFolder opens a folder in root, which is made if it is not there, and which
// is no link.
func ownFolder(root *os.Root, name string) (*os.Root, error) {
	if err := root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, errors.New(name + " is a symbolic link that came with the project, and nothing is written through one: put a folder there")
	case !info.IsDir():
		return nil, errors.New(name + " is no folder: move it away")
	}
	folder, why := openFolder(root, name, info)
	if why != "" {
		return nil, errors.New(name + ": " + why)
	}
	return folder, nil
}

// notOfProjects refuses what would be left out when it is read, whatever the
// user has set.
func notOfProjects(path []string, raw json.RawMessage) (f *fault) {
	var layer map[string]json.RawMessage
	if json.Unmarshal(within(path, raw), &layer) != nil {
		return nil // it is well formed
	}
	(&Config{}).ofUserOnly(layer, func(key, why string) {
		if f == nil && why != onlyLower && why != onlyTighter {
			f = &fault{[]string{key}, why}
		}
	})
	return f
}
