package demo

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/llm"
)

const (
	opening = "I am Cantle's built-in stand-in, not a language model: I follow a fixed script and understand nothing."
	closing = "For an answer to what you asked, choose a language model."
)

// answer ends the script.
func (s *script) answer() llm.Parts {
	if s.req.Schema != nil {
		return llm.Texts(string(fill(s.req.Schema.JSON, s.report())))
	}
	return llm.Texts(s.report())
}

// report says what the tools returned, with lines quoted as they stand in the
// files: each alone on its line, between fences.
func (s *script) report() string {
	var b strings.Builder
	b.WriteString(opening)
	if len(s.steps) == 0 {
		s.withoutTools(&b)
		return b.String()
	}
	b.WriteString(" The tools that I called are real, and this is what they returned.\n")
	s.reportFiles(&b)
	quotes := s.reportReads(&b)
	quotes += s.reportHits(&b)
	if quotes == 0 {
		b.WriteString("\nI found no line of text to quote.\n")
	}
	s.reportCommands(&b)
	s.reportFailures(&b)
	b.WriteString("\n" + closing + "\n")
	return b.String()
}

// withoutTools is the report of a script that could call nothing.
func (s *script) withoutTools(b *strings.Builder) {
	if len(s.req.Tools) == 0 {
		b.WriteString(" I was given no tools, so I looked at nothing.\n")
	} else {
		b.WriteString(" I was given no tool that I know how to use, so I looked at nothing.\n")
	}
	var asked []string
	for _, m := range s.req.Messages {
		if m.Role == llm.RoleUser {
			if t := typed(m); t != "" {
				asked = append(asked, "- "+clip(oneLine(t), 200))
			}
		}
	}
	if n := len(asked); n > 0 {
		const most = 5
		fmt.Fprintf(b, "\nThe conversation has %s. It was asked:\n\n%s\n", count(len(s.req.Messages), "message"), strings.Join(asked[max(0, n-most):], "\n"))
	}
	b.WriteString("\n" + closing + "\n")
}

func (s *script) reportFiles(b *strings.Builder) {
	files := s.files()
	if len(files) == 0 {
		if slices.ContainsFunc(s.steps, func(st step) bool { return st.purpose == look && st.ok() }) {
			b.WriteString("\nNo files were listed: the working directory looks empty.\n")
		}
		return
	}
	fmt.Fprintf(b, "\n%s listed", count(len(files), "file was", "files were"))
	if kinds := kinds(files); kinds != "" {
		b.WriteString(", among them " + kinds)
	}
	b.WriteString(".")
	var names []string
	for _, f := range files {
		if isReadme(f) || isManifest(f) {
			names = append(names, "`"+f+"`")
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")) })
	if len(names) > 0 {
		b.WriteString(" What introduces the project: " + strings.Join(names[:min(len(names), 4)], ", ") + ".")
	}
	b.WriteString("\n")
}

// kinds counts the files by language, the most frequent first.
func kinds(files []string) string {
	n := map[string]int{}
	for _, f := range files {
		if l := language(f); l != "" {
			n[l]++
		}
	}
	var names []string
	for l := range n {
		names = append(names, l)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(n[b], n[a]), strings.Compare(a, b)) })
	var out []string
	for _, l := range names[:min(len(names), 5)] {
		out = append(out, fmt.Sprintf("%d %s", n[l], l))
	}
	return strings.Join(out, ", ")
}

// reportReads quotes the files that were read.
func (s *script) reportReads(b *strings.Builder) int {
	n := 0
	for _, st := range s.steps {
		if st.purpose != open || !st.ok() {
			continue
		}
		best := s.best(st.lines())
		for _, h := range best {
			from := fmt.Sprintf("`%s:%d`", h.path, h.line)
			if h.line == 0 {
				from = "`" + st.value("command", "cmd") + "`"
			}
			quote(b, from+" says:", h.text)
			n++
		}
		if len(best) == 0 {
			fmt.Fprintf(b, "\n`%s` has no line of text to quote in what was read of it.\n", st.value("file_path", "path", "file", "command", "cmd"))
		}
	}
	return n
}

// best picks the two lines of a file that say most.
func (s *script) best(lines []hit) []hit {
	type scored struct {
		hit
		score int
	}
	var all []scored
	for _, h := range lines {
		if !quotable(h.text) {
			continue
		}
		score := weigh(path.Ext(base(h.path)), h.text)
		for _, w := range s.words {
			if strings.Contains(strings.ToLower(h.text), strings.ToLower(w)) {
				score += 10
			}
		}
		all = append(all, scored{h, score})
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var out []hit
	for _, h := range all[:min(2, len(all))] {
		out = append(out, h.hit)
	}
	slices.SortFunc(out, func(a, b hit) int { return cmp.Compare(a.line, b.line) })
	return out
}

var (
	naming      = lazily(`^(module \S|name\s*=|\s{0,4}"(name|description)":|description\s*=|\s*<artifactId>)`)
	declaration = lazily(`^\s*(export |pub |public |static |async )*(func|def|class|fn|type|struct|interface|enum|trait|function|module|defmodule|namespace|object)\s+\w`)
)

// weigh says how much a line tells of its file.
func weigh(ext, text string) int {
	switch {
	case naming().MatchString(text):
		return 8
	case ext == ".md" && strings.HasPrefix(text, "# "):
		return 8
	case declaration().MatchString(text):
		return 6
	case strings.Contains(text, "main("):
		return 5
	}
	letters, blanks := 0, 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
		} else if r == ' ' {
			blanks++
		}
	}
	switch {
	case letters >= 20 && blanks >= 3 && !strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "<") && !strings.HasPrefix(text, "!"):
		return 4 // a sentence, and not a badge
	case letters >= 8:
		return 2
	}
	return 0
}

// quotable reports whether a line can be quoted as it is and found again: it
// is short, has words, and nothing that a terminal, a fence or a filter of
// secrets would change.
func quotable(text string) bool {
	if len(text) > 200 || !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) ||
		strings.Contains(text, "```") || strings.Contains(text, "…") || strings.Contains(strings.ToLower(text), "redacted") {
		return false
	}
	words := 0
	for _, r := range text {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			words++
		case r != '\t' && !unicode.IsPrint(r):
			return false
		}
	}
	return words >= 3
}

// quote writes lines between fences.
func quote(b *strings.Builder, title string, lines ...string) {
	fmt.Fprintf(b, "\n%s\n\n```\n%s\n```\n", title, strings.Join(lines, "\n"))
}

// reportHits quotes what the search for the prompt's words found.
func (s *script) reportHits(b *strings.Builder) int {
	var searched []string
	for _, st := range s.steps {
		if st.purpose == look && st.is(grepNames) && st.ok() {
			searched = append(searched, "`"+clip(st.value("pattern", "query", "regex"), 60)+"`")
		}
	}
	if len(searched) == 0 {
		return 0
	}
	hits := s.hits()
	what := "\nI searched for " + strings.Join(searched, " and ")
	if len(hits) == 0 {
		b.WriteString(what + " and found nothing.\n")
		return 0
	}
	files := map[string]bool{}
	for _, h := range hits {
		files[h.path] = true
	}
	fmt.Fprintf(b, "%s and was shown %s in %s.\n", what, count(len(hits), "line"), count(len(files), "file"))
	const most = 3
	shown := map[string]bool{}
	n := 0
	// Declarations before uses, and one line of each file.
	slices.SortStableFunc(hits, func(a, b hit) int {
		rank := func(h hit) int {
			if declaration().MatchString(h.text) {
				return 0
			}
			return 1
		}
		return cmp.Compare(rank(a), rank(b))
	})
	for _, h := range hits {
		if n < most && !shown[h.path] && quotable(h.text) {
			quote(b, fmt.Sprintf("`%s:%d` says:", h.path, h.line), h.text)
			shown[h.path] = true
			n++
		}
	}
	return n
}

func (s *script) reportCommands(b *strings.Builder) {
	for _, st := range s.steps {
		if st.purpose != run && st.purpose != again || !st.ok() {
			continue
		}
		title := "`" + st.value("command", "cmd") + "`"
		var lines []string
		all := strings.Split(strings.TrimSpace(st.text()), "\n")
		for _, l := range all[:min(3, len(all))] {
			if l = clip(oneLine(l), 200); l != "" && !strings.Contains(l, "```") {
				lines = append(lines, l)
			}
		}
		switch {
		case len(lines) == 0:
			b.WriteString("\n" + title + " printed nothing that can be shown.\n")
		case len(all) > 3:
			quote(b, fmt.Sprintf("%s printed %d lines, the first of which are:", title, len(all)), lines...)
		default:
			quote(b, title+" printed:", lines...)
		}
	}
}

func (s *script) reportFailures(b *strings.Builder) {
	for _, st := range s.steps {
		what := "`" + st.call.Name + "`"
		if v := st.value("command", "cmd", "file_path", "path", "file", "pattern"); v != "" {
			what += " of `" + clip(oneLine(v), 80) + "`"
		}
		switch {
		case !st.done:
			fmt.Fprintf(b, "\nThe call %s has no result.\n", what)
		case st.result.IsError:
			why := clip(oneLine(strings.TrimSpace(st.text())), 200)
			if why == "" {
				why = "it does not say why"
			}
			fmt.Fprintf(b, "\nThe call %s was refused or failed: %s\n", what, why)
		}
	}
}

// count is a number with its noun.
func count(n int, noun ...string) string {
	plural := noun[0] + "s"
	if len(noun) > 1 {
		plural = noun[1]
	}
	if n == 1 {
		return "1 " + noun[0]
	}
	return fmt.Sprintf("%d %s", n, plural)
}

// oneLine is s with what does not print, line ends too, as blanks.
func oneLine(s string) string {
	s = s[:min(len(s), 4096)]
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)), " ")
}

// clip cuts s to n bytes, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
