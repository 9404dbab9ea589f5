package demo

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// languages are the kinds of source files that the script looks for, by their
// extensions.
var languages = map[string]string{
	".go": "Go", ".py": "Python", ".js": "JavaScript", ".jsx": "JavaScript", ".mjs": "JavaScript", ".ts": "TypeScript",
	".tsx": "TypeScript", ".rs": "Rust", ".c": "C", ".h": "C", ".cc": "C++", ".cpp": "C++", ".hpp": "C++", ".java": "Java",
	".kt": "Kotlin", ".scala": "Scala", ".cs": "C#", ".rb": "Ruby", ".php": "PHP", ".swift": "Swift", ".m": "Objective-C",
	".sh": "shell", ".lua": "Lua", ".pl": "Perl", ".r": "R", ".jl": "Julia", ".hs": "Haskell", ".ml": "OCaml", ".ex": "Elixir",
	".exs": "Elixir", ".erl": "Erlang", ".clj": "Clojure", ".dart": "Dart", ".zig": "Zig", ".vue": "Vue", ".svelte": "Svelte",
	".sql": "SQL", ".html": "HTML", ".css": "CSS", ".tf": "Terraform", ".md": "Markdown", ".rst": "reStructuredText", ".txt": "text",
}

// manifests name a project and what it needs, in the order of what they say.
var manifests = []string{
	"go.mod", "package.json", "pyproject.toml", "cargo.toml", "pom.xml", "build.gradle", "build.gradle.kts", "gemfile",
	"composer.json", "mix.exs", "setup.py", "setup.cfg", "requirements.txt", "cmakelists.txt", "makefile", "dockerfile",
}

func extensions() []string {
	var out []string
	for e := range languages {
		out = append(out, e[1:])
	}
	slices.Sort(out)
	return out
}

func base(name string) string {
	return strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
}

func language(name string) string { return languages[path.Ext(base(name))] }

func isReadme(name string) bool   { return strings.HasPrefix(base(name), "readme") }
func isManifest(name string) bool { return slices.Contains(manifests, base(name)) }
func isKnown(name string) bool {
	return language(name) != "" || isReadme(name) || isManifest(name) || base(name) == "license"
}

// maxListed bounds how much of a listing is looked at.
const maxListed = 20_000

// files are the names that were listed, sorted, each once.
func (s *script) files() []string {
	var out []string
	for _, st := range s.steps {
		if st.purpose != look || !st.ok() || st.is(grepNames) {
			continue
		}
		n := 0
		for line := range strings.Lines(st.text()) {
			if n++; n > maxListed {
				break
			}
			if name, ok := listed(line); ok {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// listed is the name of the file that a line of a listing is about. A line
// that may be something else, such as a note, is none.
func listed(line string) (string, bool) {
	line = strings.TrimSpace(line)
	if _, text, ok := numbered(line); ok {
		line = strings.TrimSpace(text)
	}
	line = strings.TrimPrefix(strings.TrimPrefix(line, "- "), "./")
	if line == "" || len(line) > 1000 || !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl) && !strings.Contains(line, "\t") {
		return "", false
	}
	if strings.ContainsAny(line[:1], "([<") || strings.ContainsAny(line[len(line)-1:], ")]>:/.…") {
		return "", false
	}
	if first, _, ok := strings.Cut(line, "\t"); ok { // a name and its size
		return first, isKnown(first)
	}
	if first := strings.Fields(line); len(first) > 1 {
		if isKnown(line) && !strings.Contains(line, ": ") {
			return line, true // a name with blanks
		}
		return first[0], isKnown(first[0])
	}
	return line, true
}

// hit is a line of a file.
type hit struct {
	path string
	line int
	text string
}

// lazily is a pattern that is compiled when it is first used: a program that has
// this package in it pays nothing for it until then.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var (
	hitLine  = lazily(`^(.+?):(\d+):(.*)$`)
	bareHit  = lazily(`^\s*(\d+):(.*)$`)
	readLine = lazily(`^\s*(\d+)(?:\t|→)(.*)$`)
)

// numbered takes a line of a listing of a file apart.
func numbered(line string) (int, string, bool) {
	m := readLine().FindStringSubmatch(line)
	if m == nil {
		return 0, "", false
	}
	n, err := strconv.Atoi(m[1])
	return n, m[2], err == nil
}

// hits are the lines that a search found.
func (s *script) hits() []hit {
	var out []hit
	for _, st := range s.steps {
		if st.purpose != look || !st.ok() || !st.is(grepNames) {
			continue
		}
		heading := ""
		var found []hit
		for line := range strings.Lines(st.text()) {
			line = strings.TrimSuffix(line, "\n")
			m := bareHit().FindStringSubmatch(line)
			if m != nil && heading != "" { // the path stands above its lines
				m = []string{line, heading, m[1], m[2]}
			} else if m = hitLine().FindStringSubmatch(line); m == nil {
				heading = strings.TrimSpace(line)
				continue
			}
			n, err := strconv.Atoi(m[2])
			if err != nil || len(found) >= maxListed {
				continue
			}
			found = append(found, hit{strings.TrimPrefix(m[1], "./"), n, m[3]})
		}
		// Where every text starts with a blank, the blank may be the tool's.
		// Without it each is a part of its line in any case.
		if !slices.ContainsFunc(found, func(h hit) bool { return !strings.HasPrefix(h.text, " ") }) {
			for i := range found {
				found[i].text = found[i].text[1:]
			}
		}
		out = append(out, found...)
	}
	return out
}

// lines are the lines of the file that st read.
func (st step) lines() []hit {
	if !st.ok() {
		return nil
	}
	name := st.value("file_path", "path", "file")
	command := st.value("command", "cmd")
	var out []hit
	for line := range strings.Lines(st.text()) {
		line = strings.TrimSuffix(line, "\n")
		if n, text, ok := numbered(line); ok && command == "" {
			out = append(out, hit{name, n, text})
		} else if command != "" {
			out = append(out, hit{"", 0, line})
		}
	}
	return out
}

// telling picks the files to read: up to two that the prompt names, then what
// introduces the project, then its sources, best those with hits.
func telling(prompt string, files []string, hits []hit) []string {
	const most = 3
	var out []string
	add := func(n int, fs []string) {
		for _, f := range fs[:min(n, len(fs))] {
			if len(out) < most && !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	for _, w := range strings.Fields(prompt) {
		if f, ok := named(w, files); ok {
			add(1, []string{f})
		}
		if len(out) == 2 {
			break
		}
	}
	found := map[string]int{}
	for _, h := range hits {
		found[h.path]++
	}
	by := func(keep func(string) bool, rank func(string) int) []string {
		var fs []string
		for _, f := range files {
			if keep(f) {
				fs = append(fs, f)
			}
		}
		slices.SortStableFunc(fs, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
		return fs
	}
	depth := func(f string) int { return strings.Count(strings.ReplaceAll(f, `\`, "/"), "/") }
	readmes := by(isReadme, func(f string) int {
		if path.Ext(base(f)) == ".md" {
			return depth(f) * 2
		}
		return depth(f)*2 + 1
	})
	specs := by(isManifest, func(f string) int { return depth(f)*100 + slices.Index(manifests, base(f)) })
	sources := by(isSource, func(f string) int {
		rank := min(depth(f), 50) * 10
		switch stem, _, _ := strings.Cut(base(f), "."); stem {
		case "main", "index", "app", "lib", "cli", "server", "__main__", "mod":
			rank -= 15
		}
		if isAside(f) {
			rank += 1000
		}
		return rank - 10_000*min(found[f], 9)
	})
	add(1, readmes)
	add(1, specs)
	add(most, sources)
	add(most, specs)
	add(most, readmes)
	add(most, by(isKnown, depth))
	return out
}

func isSource(f string) bool {
	switch language(f) {
	case "", "Markdown", "reStructuredText", "text", "HTML", "CSS":
		return false
	}
	return !isManifest(f)
}

// isAside reports whether f is beside the point of a project.
func isAside(f string) bool {
	f = strings.ToLower(strings.ReplaceAll(f, `\`, "/"))
	for _, s := range []string{"test", "spec.", "vendor/", "node_modules/", "dist/", "build/", "example", "third_party/", "generated", ".min."} {
		if strings.Contains(f, s) {
			return true
		}
	}
	return false
}

// named is the file that a word of the prompt names.
func named(word string, files []string) (string, bool) {
	word = strings.TrimPrefix(strings.Trim(word, "`'\"()[]<>,;:!?.@"), "./")
	if word == "" || !strings.ContainsAny(word, "./") {
		return "", false
	}
	for _, f := range files {
		if f == word || strings.HasSuffix(f, "/"+word) {
			return f, true
		}
	}
	// One that was not listed may be there all the same.
	return word, strings.Contains(word, "/") && !strings.Contains(word, "://") && isKnown(word)
}

// salient are the words of a prompt that are worth a search: what stands in
// quotes and what looks like a name in a program, or else the longest.
func salient(prompt string) []string {
	const most = 2
	prompt = prompt[:min(len(prompt), 2000)]
	var out []string
	add := func(w string) {
		if len(out) < most && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	for _, m := range quotedWords().FindAllStringSubmatch(prompt, -1) {
		if w := strings.TrimSpace(m[1] + m[2]); len(w) >= 2 {
			add(w)
		}
	}
	words := strings.FieldsFunc(prompt, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	var plain []string
	for _, w := range words {
		if !utf8.ValidString(w) {
			continue
		}
		if isIdentifier(w) {
			add(w)
		} else if utf8.RuneCountInString(w) >= 5 && !slices.Contains(common, strings.ToLower(w)) {
			plain = append(plain, w)
		}
	}
	slices.SortStableFunc(plain, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	if len(out) == 0 { // beside a name, plain words say little
		for _, w := range plain {
			add(w)
		}
	}
	return out
}

var quotedWords = lazily("`([^`\n]{2,60})`|\"([^\"\n]{2,60})\"")

// isIdentifier reports whether w looks like a name in a program: snake_case,
// camelCase, or with digits in it.
func isIdentifier(w string) bool {
	if utf8.RuneCountInString(w) < 4 {
		return false
	}
	lower, upper, other := false, false, false
	for i, r := range w {
		switch {
		case unicode.IsUpper(r) && i > 0 && lower:
			upper = true
		case unicode.IsLower(r):
			lower = true
		case r == '_' || unicode.IsDigit(r) && i > 0:
			other = true
		}
	}
	return upper || lower && other
}

// common are words of five letters or more that say nothing about a project.
var common = strings.Fields(`about above after again against almost along already although always among another answer
	around because before behind below between change check clean codebase describe different directory does doing every
	everything explain files first folder found function implement implemented inside itself later lines looks makes maybe
	might never other please program project question quick quickly really repository right several shall should show
	simple since small some something source start still summarise summarize summary tell thank thanks their them there
	these thing things think those three through today under understand until using value wants where which while whole
	whose without words works would write wrong yours hello world could`)
