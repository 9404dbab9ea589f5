package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The kinds of what a folder brings.
const (
	KindSettings = "settings"
	KindMCP      = "mcp"
	KindHooks    = "hooks"
	KindAgents   = "agents"
	KindCommands = "commands"
	KindSkills   = "skills"
)

// Kinds lists the kinds.
func Kinds() []string {
	return []string{KindSettings, KindMCP, KindHooks, KindAgents, KindCommands, KindSkills}
}

// A folder that brings more than this is not trusted, whatever is in it.
const (
	maxSurveyFiles = 2_000 // and folders
	maxSurveyBytes = 16 << 20
	maxSurveyDepth = 16 // of folders in a tree
)

// Survey is what a folder brings for Cantle, as it was when it was looked at.
type Survey struct {
	Dir    string       `json:"dir"`              // its real path
	Digest string       `json:"digest,omitempty"` // of all that it brings; "" is nothing
	Files  []SurveyFile `json:"files,omitempty"`  // in the order of their paths
}

// SurveyFile is one file that a folder brings.
type SurveyFile struct {
	Kind   string `json:"kind"`
	Path   string `json:"path"` // from the folder, with slashes
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`         // of its content; of a link, of where it leads
	Link   string `json:"link,omitempty"` // where it leads, if it is a link
	// Refused says why it takes effect in no case, as because it is a link.
	Refused string `json:"refused,omitempty"`
	// Needs are the keys in a settings file that count only in a trusted folder.
	Needs []string `json:"needs,omitempty"`
}

// active reports whether the file has an effect that needs trust.
func (f SurveyFile) active() bool {
	return f.Refused == "" && (f.Kind != KindSettings || len(f.Needs) > 0)
}

// surveyed are the places that are looked at, each a file or a tree.
var surveyed = []struct{ path, kind string }{
	{".agents/agents", KindAgents},
	{".agents/commands", KindCommands},
	{".agents/skills", KindSkills},
	{".cantle/agents", KindAgents},
	{".cantle/commands", KindCommands},
	{".cantle/hooks", KindHooks},
	{".cantle/settings.json", KindSettings},
	{".cantle/settings.local.json", KindSettings},
	{".cantle/skills", KindSkills},
	{".claude/agents", KindAgents},
	{".claude/commands", KindCommands},
	{".claude/skills", KindSkills},
	{".mcp.json", KindMCP},
}

// SurveyOf looks at what a folder brings. No link is followed, neither one in it
// nor one that a folder in it is swapped for meanwhile, and nothing but regular
// files and folders is opened. Home is the user's own folder, which is none of
// the project's even where it lies in it.
//
// An error means that the folder brings too much to be looked at; the survey
// has no digest then, and holds what was seen.
func SurveyOf(home, dir string) (*Survey, error) {
	s := &surveyor{survey: &Survey{Dir: realPath(dir)}}
	tops := map[string]fs.FileInfo{}
	for _, p := range surveyed {
		top, _, _ := strings.Cut(p.path, "/")
		if _, seen := tops[top]; seen {
			continue
		}
		info, err := os.Lstat(filepath.Join(s.survey.Dir, top))
		if err != nil {
			info = nil // it is not there, or nobody can read it
		}
		if top == ".cantle" && info != nil && isFolder(home, info) {
			info = nil
		}
		tops[top] = info
	}
	if !slices.ContainsFunc(surveyed, func(p struct{ path, kind string }) bool {
		top, _, _ := strings.Cut(p.path, "/")
		return tops[top] != nil
	}) {
		return s.survey, nil
	}
	root, err := os.OpenRoot(s.survey.Dir)
	if err != nil {
		return s.survey, &Error{File: s.survey.Dir, Text: err.Error(), err: err}
	}
	defer root.Close()
	s.root = root
	for _, p := range surveyed {
		top, _, deeper := strings.Cut(p.path, "/")
		info := tops[top]
		if info == nil {
			continue
		}
		if at := top; deeper && !info.IsDir() {
			tops[top] = nil // told of once
			s.add(SurveyFile{Kind: p.kind, Path: at}, info)
			continue
		}
		if err := s.visit(p.path, p.kind, 0); err != nil {
			return s.survey, err
		}
	}
	s.finish()
	return s.survey, nil
}

func isFolder(name string, info fs.FileInfo) bool {
	other, err := os.Stat(name)
	return err == nil && os.SameFile(other, info)
}

type surveyor struct {
	root    *os.Root
	survey  *Survey
	entries int
	bytes   int64
}

func (s *surveyor) tooMuch(format string, args ...any) error {
	return &Error{File: s.survey.Dir, Text: "what this folder brings for agents cannot be trusted: " + fmt.Sprintf(format, args...) + ": move away what does not belong there"}
}

// visit looks at what is at a path.
func (s *surveyor) visit(at, kind string, depth int) error {
	info, err := s.root.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if s.entries++; s.entries > maxSurveyFiles {
		return s.tooMuch("there are more than %d files", maxSurveyFiles)
	}
	f := SurveyFile{Kind: kind, Path: at}
	switch {
	case err != nil:
		f.Refused = "it cannot be read"
		f.SHA256 = sumOf("unreadable")
		s.survey.Files = append(s.survey.Files, f)
		return nil
	case info.IsDir() && kind != KindSettings && kind != KindMCP:
		return s.folder(f, info, depth)
	case !info.Mode().IsRegular():
		s.add(f, info)
		return nil
	}
	return s.file(f, info)
}

// add keeps what takes no effect because of what it is.
func (s *surveyor) add(f SurveyFile, info fs.FileInfo) {
	f.Refused = "it is no regular file"
	f.SHA256 = sumOf(info.Mode().Type().String())
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := s.root.Readlink(f.Path)
		if err != nil {
			target = "?"
		}
		f.Link, f.SHA256 = target, sumOf(target)
		f.Refused = "it is a symbolic link, which a folder's own files never come through"
	case info.Mode().IsRegular() && !strings.Contains(f.Path, "/"):
		f.Refused = "it is a file where a folder is wanted"
	}
	s.survey.Files = append(s.survey.Files, f)
}

// folder looks at all that is in a folder.
func (s *surveyor) folder(f SurveyFile, info fs.FileInfo, depth int) error {
	if depth >= maxSurveyDepth {
		return s.tooMuch("%s is more than %d folders deep", f.Path, maxSurveyDepth)
	}
	dir, why := openSeen(s.root, f.Path, info)
	if why != "" {
		f.Refused, f.SHA256 = why, sumOf(why)
		s.survey.Files = append(s.survey.Files, f)
		return nil
	}
	defer dir.Close()
	var names []string
	for {
		const some = 256 // so that a folder of millions costs no more than one that is too large
		list, err := dir.ReadDir(some)
		for _, e := range list {
			names = append(names, e.Name())
		}
		if s.entries+len(names) > maxSurveyFiles {
			return s.tooMuch("there are more than %d files", maxSurveyFiles)
		}
		if err != nil {
			break // at the end; what could not be read is missing from the digest, and comes as a change
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if err := s.visit(path.Join(f.Path, name), f.Kind, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// openSeen opens what was seen at a path, and nothing that has come in its place.
func openSeen(root *os.Root, at string, seen fs.FileInfo) (f *os.File, why string) {
	f, err := root.OpenFile(at, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, "it cannot be read"
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(seen, now) || now.Mode().Type() != seen.Mode().Type() {
		_ = f.Close() // nothing was written
		return nil, "it was replaced while it was read"
	}
	return f, ""
}

// file takes the digest of a file.
func (s *surveyor) file(f SurveyFile, info fs.FileInfo) error {
	file, why := openSeen(s.root, f.Path, info)
	if why != "" {
		f.Refused, f.SHA256 = why, sumOf(why)
		s.survey.Files = append(s.survey.Files, f)
		return nil
	}
	defer file.Close()
	left := maxSurveyBytes - s.bytes
	var text []byte
	sum := sha256.New()
	var err error
	if f.Kind == KindSettings && info.Size() <= maxFile {
		text, err = io.ReadAll(io.LimitReader(file, min(left, maxFile)+1))
		_, _ = sum.Write(text) // a hash takes all
		f.Size = int64(len(text))
		f.Needs = needsTrust(text)
	} else {
		f.Size, err = io.Copy(sum, io.LimitReader(file, left+1))
	}
	if f.Size > left {
		return s.tooMuch("it is more than %d MiB", maxSurveyBytes>>20)
	}
	s.bytes += f.Size
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if err != nil {
		f.Refused = "it cannot be read"
	}
	s.survey.Files = append(s.survey.Files, f)
	return nil
}

// finish takes the digest of all. Each text is preceded by its length, so that
// no two surveys have the same bytes.
func (s *surveyor) finish() {
	files := s.survey.Files
	slices.SortFunc(files, func(a, b SurveyFile) int { return strings.Compare(a.Path, b.Path) })
	if len(files) == 0 {
		return
	}
	sum := sha256.New()
	field(sum, "cantle trust 1")
	for _, f := range files {
		field(sum, f.Kind)
		field(sum, f.Path)
		field(sum, f.SHA256)
		field(sum, f.Link)
		field(sum, strconv.FormatBool(f.Refused != ""))
	}
	s.survey.Digest = hex.EncodeToString(sum.Sum(nil))
}

func field(sum hash.Hash, text string) {
	_, _ = fmt.Fprintf(sum, "%d:%s", len(text), text) // a hash takes all
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// file is what the survey has at a path.
func (s *Survey) file(at string) (SurveyFile, bool) {
	i, ok := slices.BinarySearchFunc(s.Files, at, func(f SurveyFile, at string) int { return strings.Compare(f.Path, at) })
	if !ok {
		return SurveyFile{}, false
	}
	return s.Files[i], true
}

// Active reports whether the folder brings anything that takes effect only if
// it is trusted.
func (s *Survey) Active() bool { return slices.ContainsFunc(s.Files, SurveyFile.active) }

// Read reads a file of the survey, as it was then: one whose content is another
// by now, or that the survey refuses, is an error.
func (s *Survey) Read(at string) ([]byte, error) {
	f, ok := s.file(at)
	bad := func(why string) error {
		return &Error{File: filepath.Join(s.Dir, filepath.FromSlash(at)), Text: why}
	}
	switch {
	case !ok:
		return nil, bad("it was not there when this folder was looked at")
	case f.Refused != "":
		return nil, bad(f.Refused)
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, bad(err.Error())
	}
	defer root.Close()
	info, err := root.Lstat(at)
	if err != nil {
		return nil, bad(err.Error())
	}
	if !info.Mode().IsRegular() {
		return nil, bad("it is no regular file any more")
	}
	file, why := openSeen(root, at, info)
	if why != "" {
		return nil, bad(why)
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, f.Size+1))
	if err != nil {
		return nil, bad(err.Error())
	}
	if sumOf(string(b)) != f.SHA256 {
		return nil, bad("it has changed since this folder was looked at")
	}
	return b, nil
}
