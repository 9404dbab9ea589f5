package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/internal/x/atomicfile"
)

// TrustLevel says whether what a folder brings takes effect.
type TrustLevel string

const (
	BringsNothing TrustLevel = "nothing"   // that would need trust
	Untrusted     TrustLevel = "untrusted" // never trusted
	Trusted       TrustLevel = "trusted"   // with the content that it has
	Changed       TrustLevel = "changed"   // trusted, with other content
)

// TrustState is how a folder stands. Trust is of the real path and of the
// content: a folder below, a copy and a worktree of it have none, and one that
// brings something else than what was trusted has none either.
type TrustState struct {
	Level  TrustLevel `json:"level"`
	Survey *Survey    `json:"survey"`
	Since  time.Time  `json:"since,omitzero"` // when it was trusted
	// Of a changed folder: what is not as it was trusted, by path.
	New     []string `json:"new,omitempty"`
	Changed []string `json:"changed,omitempty"`
	Gone    []string `json:"gone,omitempty"`
}

// Files are the files of a kind that take effect.
func (s TrustState) Files(kind string) []SurveyFile {
	if s.Level != Trusted || s.Survey == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Survey.Files), func(f SurveyFile) bool { return f.Kind != kind || f.Refused != "" })
}

// Off are the kinds that are there and take no effect for want of trust.
func (s TrustState) Off() []string {
	if s.Level != Untrusted && s.Level != Changed || s.Survey == nil {
		return nil
	}
	return slices.DeleteFunc(Kinds(), func(kind string) bool {
		return !slices.ContainsFunc(s.Survey.Files, func(f SurveyFile) bool { return f.Kind == kind && f.active() })
	})
}

// Why says why the folder is not trusted, as a clause; "" if it is.
func (s TrustState) Why() string {
	switch s.Level {
	case Untrusted:
		return "this folder is not trusted"
	case Changed:
		var parts []string
		for _, p := range []struct {
			word  string
			paths []string
		}{{"changed", s.Changed}, {"new", s.New}, {"gone", s.Gone}} {
			if len(p.paths) > 0 {
				parts = append(parts, p.word+": "+someOf(p.paths))
			}
		}
		return "this folder has changed since you trusted it (" + strings.Join(parts, "; ") + ")"
	}
	return ""
}

// Note says what is off, why, and what to do; "" if nothing is.
func (s TrustState) Note() string {
	off := s.Off()
	if len(off) == 0 {
		return ""
	}
	if s.Survey.Digest == "" {
		return listed(off) + " of this folder: off, since it brings more than can be trusted"
	}
	return listed(off) + " of this folder: off, since " + s.Why() + "; " + wayOut
}

const wayOut = `see what it brings and trust it with "cantle trust"`

// someOf names a few files. Their names come with the folder, and are shown so
// that they cannot pass for anything else.
func someOf(paths []string) string {
	const most = 5
	var out []string
	for _, p := range paths[:min(len(paths), most)] {
		out = append(out, dotted([]string{p}))
	}
	text := strings.Join(out, ", ")
	if more := len(paths) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func listed(words []string) string {
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " and " + words[n]
	}
	return strings.Join(words, "")
}

// A trustRecord is what the user has trusted of a folder.
type trustRecord struct {
	Version int               `json:"version"`
	Folder  string            `json:"folder"`
	Time    time.Time         `json:"time"`
	Digest  string            `json:"digest"`
	Files   map[string]string `json:"files"` // digests by path
}

const trustVersion = 1

func trustFile(home, real string) string { return filepath.Join(projectHome(home, real), "trust.json") }

// TrustOf tells how a folder stands. An error comes with a state in which
// nothing is trusted: the folder brings too much, or what was recorded cannot
// be read.
func TrustOf(home, dir string) (TrustState, error) {
	survey, err := SurveyOf(home, dir)
	state := TrustState{Level: Untrusted, Survey: survey}
	if err != nil {
		return state, err
	}
	if !survey.Active() {
		state.Level = BringsNothing
		return state, nil
	}
	was, err := readTrust(trustFile(home, survey.Dir))
	if err != nil || was == nil || was.Folder != survey.Dir {
		return state, err
	}
	state.Since = was.Time
	if was.Digest == survey.Digest {
		state.Level = Trusted
		return state, nil
	}
	state.Level = Changed
	left := was.Files
	for _, f := range survey.Files {
		sum, ok := left[f.Path]
		switch delete(left, f.Path); {
		case !ok:
			state.New = append(state.New, f.Path)
		case sum != f.SHA256:
			state.Changed = append(state.Changed, f.Path)
		}
	}
	for p := range left {
		state.Gone = append(state.Gone, p)
	}
	slices.Sort(state.Gone)
	return state, nil
}

// readTrust reads a record; nil without an error if there is none.
func readTrust(file string) (*trustRecord, error) {
	const most = 32 << 20 // of as many and as long names as may be
	b, err := readBounded(file, most)
	if err != nil || b == nil {
		return nil, err
	}
	var r trustRecord
	if err := json.Unmarshal(b, &r); err != nil || r.Version != trustVersion {
		why := fmt.Sprintf("version %d", r.Version)
		if err != nil {
			why = err.Error()
		}
		return nil, &Error{File: file, Text: "it is no record of trust (" + why + "), so that the folder is not trusted: trust it again, which replaces the record", err: err}
	}
	if r.Files == nil {
		r.Files = map[string]string{}
	}
	return &r, nil
}

// Trust records that the user trusts a folder with what the survey found, which
// he was shown; nothing else is trusted, even if it is there by now. It is for
// whoever has asked a person: no program trusts a folder by itself.
func Trust(home, dir string, s *Survey) error {
	bad := func(text string) error { return &Error{File: dir, Text: text} }
	switch {
	case s == nil || s.Digest == "":
		return bad("it brings nothing that could be trusted")
	case realPath(dir) != s.Dir:
		return bad("another folder was looked at: " + s.Dir)
	}
	r := trustRecord{Version: trustVersion, Folder: s.Dir, Time: time.Now().UTC().Truncate(time.Second), Digest: s.Digest, Files: map[string]string{}}
	for _, f := range s.Files {
		r.Files[f.Path] = f.SHA256
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return bad(err.Error())
	}
	return changeTrust(trustFile(home, s.Dir), func(file string) error {
		return atomicfile.Write(file, append(b, '\n'), atomicfile.Options{Private: true})
	})
}

// Distrust takes the trust in a folder back. That there was none is no error.
func Distrust(home, dir string) error {
	file := trustFile(home, realPath(dir))
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return changeTrust(file, func(file string) error {
		if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// changeTrust keeps others from writing while a record is changed.
func changeTrust(file string, change func(file string) error) error {
	told := func(err error) error { return &Error{File: file, Text: err.Error(), err: err} }
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return told(err)
	}
	unlock, err := lockFolder(dir)
	if err != nil {
		return told(err)
	}
	defer unlock()
	if err := change(file); err != nil {
		return told(err)
	}
	return nil
}
