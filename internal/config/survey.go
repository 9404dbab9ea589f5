package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
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

type surveyedPlace struct{ path, kind string }

// surveyed are the places that are looked at, each a file or a tree. Those in
// one folder follow each other.
var surveyed = []surveyedPlace{
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
	for top := range byTop() {
		info, err := os.Lstat(filepath.Join(s.survey.Dir, top))
		if err == nil && (top != ".cantle" || !isFolder(home, info)) {
			tops[top] = info // what nobody can look at takes no effect
		}
	}
	if len(tops) == 0 {
		return s.survey, nil
	}
	root, err := os.OpenRoot(s.survey.Dir)
	if err != nil {
		return s.survey, &Error{File: s.survey.Dir, Text: err.Error(), err: err}
	}
	defer root.Close()
	for top, places := range byTop() {
		info := tops[top]
		switch {
		case info == nil:
		case places[0].path == top:
			err = s.visit(root, SurveyFile{Kind: places[0].kind, Path: top}, 0)
		default:
			err = s.top(root, top, info, places)
		}
		if err != nil {
			return s.survey, err
		}
	}
	s.finish()
	return s.survey, nil
}

// byTop yields the places by the first name of their paths.
func byTop() iter.Seq2[string, []surveyedPlace] {
	return func(yield func(string, []surveyedPlace) bool) {
		for rest := surveyed; len(rest) > 0; {
			top, _, _ := strings.Cut(rest[0].path, "/")
			n := 1
			for n < len(rest) && strings.HasPrefix(rest[n].path, top+"/") {
				n++
			}
			if !yield(top, rest[:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

func isFolder(name string, info fs.FileInfo) bool {
	other, err := os.Stat(name)
	return err == nil && os.SameFile(other, info)
}

type surveyor struct {
	survey  *Survey
	entries int
	bytes   int64
	buffer  []byte
}

func (s *surveyor) tooMuch(format string, args ...any) error {
	return &Error{File: s.survey.Dir, Text: "what this folder brings for agents cannot be trusted: " + fmt.Sprintf(format, args...) + ": move away what does not belong there"}
}

// top looks at the places in a folder of the project.
func (s *surveyor) top(root *os.Root, top string, info fs.FileInfo, places []surveyedPlace) error {
	f := SurveyFile{Kind: places[0].kind, Path: top}
	if !info.IsDir() {
		s.add(root, f, info)
		return nil
	}
	folder, why := openFolder(root, top, info)
	if why != "" {
		s.refuse(f, why)
		return nil
	}
	defer folder.Close()
	for _, p := range places {
		if err := s.visit(folder, SurveyFile{Kind: p.kind, Path: p.path}, 0); err != nil {
			return err
		}
	}
	return nil
}

// visit looks at what is at a path, whose folder is open.
func (s *surveyor) visit(in *os.Root, f SurveyFile, depth int) error {
	info, err := in.Lstat(path.Base(f.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if s.entries++; s.entries > maxSurveyFiles {
		return s.tooMuch("there are more than %d files", maxSurveyFiles)
	}
	switch {
	case err != nil:
		s.refuse(f, unreadable)
		return nil
	case info.IsDir() && f.Kind != KindSettings && f.Kind != KindMCP:
		return s.folder(in, f, info, depth)
	case !info.Mode().IsRegular():
		s.add(in, f, info)
		return nil
	}
	return s.file(in, f, info)
}

const unreadable = "it cannot be read"

// refuse keeps what takes no effect for another reason than its content.
func (s *surveyor) refuse(f SurveyFile, why string) {
	f.Refused = why
	if f.SHA256 == "" {
		f.SHA256 = sumOf(why)
	}
	s.survey.Files = append(s.survey.Files, f)
}

// add keeps what takes no effect because of what it is.
func (s *surveyor) add(in *os.Root, f SurveyFile, info fs.FileInfo) {
	why := "it is no regular file"
	f.SHA256 = sumOf(info.Mode().Type().String())
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := in.Readlink(path.Base(f.Path))
		if err != nil {
			target = "?"
		}
		f.Link, f.SHA256 = target, sumOf(target)
		why = "it is a symbolic link, which a folder's own files never come through"
	case info.Mode().IsRegular():
		why = "it is a file where a folder is wanted"
	}
	s.refuse(f, why)
}

// folder looks at all that is in a folder.
func (s *surveyor) folder(in *os.Root, f SurveyFile, info fs.FileInfo, depth int) error {
	if depth >= maxSurveyDepth {
		return s.tooMuch("%s is more than %d folders deep", f.Path, maxSurveyDepth)
	}
	folder, why := openFolder(in, path.Base(f.Path), info)
	if why != "" {
		s.refuse(f, why)
		return nil
	}
	defer folder.Close()
	names, err := s.names(folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := s.visit(folder, SurveyFile{Kind: f.Kind, Path: f.Path + "/" + name}, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// names lists a folder, in order. What cannot be read is missing, and comes as
// a change when it can.
func (s *surveyor) names(folder *os.Root) ([]string, error) {
	dir, err := folder.Open(".")
	if err != nil {
		return nil, nil
	}
	defer dir.Close()
	var names []string
	for {
		const some = 256 // so that a folder of millions costs no more than one that is too large
		list, err := dir.Readdirnames(some)
		names = append(names, list...)
		if s.entries+len(names) > maxSurveyFiles {
			return nil, s.tooMuch("there are more than %d files", maxSurveyFiles)
		}
		if err != nil {
			slices.Sort(names)
			return names, nil // at the end
		}
	}
}

// openFolder opens the folder that was seen, and nothing that has come in its
// place.
func openFolder(in *os.Root, name string, seen fs.FileInfo) (folder *os.Root, why string) {
	folder, err := in.OpenRoot(name)
	if err != nil {
		return nil, unreadable
	}
	if now, err := folder.Stat("."); err != nil || !os.SameFile(seen, now) {
		_ = folder.Close() // nothing was written
		return nil, replaced
	}
	return folder, ""
}

const replaced = "it was replaced while it was read"

// openSeen opens the file that was seen, and nothing that has come in its place.
func openSeen(in *os.Root, name string, seen fs.FileInfo) (f *os.File, why string) {
	f, err := in.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, unreadable
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(seen, now) || now.Mode().Type() != seen.Mode().Type() {
		_ = f.Close() // nothing was written
		return nil, replaced
	}
	return f, ""
}

// file takes the digest of a file.
func (s *surveyor) file(in *os.Root, f SurveyFile, info fs.FileInfo) error {
	file, why := openSeen(in, path.Base(f.Path), info)
	if why != "" {
		s.refuse(f, why)
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
		if s.buffer == nil {
			s.buffer = make([]byte, 32<<10)
		}
		from := struct{ io.Reader }{io.LimitReader(file, left+1)} // or the buffer would not be used
		f.Size, err = io.CopyBuffer(sum, from, s.buffer)
	}
	if f.Size > left {
		return s.tooMuch("it is more than %d MiB", maxSurveyBytes>>20)
	}
	s.bytes += f.Size
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if err != nil {
		f.Refused = unreadable
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
