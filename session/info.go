package session

import (
	"iter"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/llm"
)

// Describe makes the Info of a session from its entries. Size is left for the
// store.
func Describe(id string, entries iter.Seq[Entry]) Info {
	d := Describer{Info: Info{ID: id}}
	for e := range entries {
		d.Add(e)
	}
	return d.Info
}

// A Describer makes an [Info] from entries as they come, and goes on where it
// left off. A store gives [Describer.Add] the entries that
// [Describer.Wants], and tells [Describer.Count] of the others.
type Describer struct {
	Info
	Labelled bool // Info.Title is a label
	Unpriced bool // a run ended whose cost is unknown
}

// Wants reports whether Add has any use for an entry of this kind.
func (d *Describer) Wants(kind string) bool {
	switch kind {
	case "label", "run_started", "run_ended":
		return true
	}
	return kind == "message" && d.Prompt == ""
}

// Count takes account of an entry that Add is not given.
func (d *Describer) Count(kind string, at time.Time) {
	if d.Entries == 0 {
		d.Created = at
	}
	d.Updated = at
	d.Entries++
	if kind == "message" {
		d.Messages++
	}
}

// Add takes account of the next entry.
func (d *Describer) Add(e Entry) {
	d.Count(e.Kind(), e.Time)
	switch data := e.Data.(type) {
	case Message:
		if d.Prompt == "" && data.Kind == KindInput {
			d.Prompt = TitleOf(data.typed())
		}
	case RunStarted:
		d.Dir, d.Model = data.Dir, data.Model
		if d.Runs++; d.Runs == 1 {
			d.Agent = data.Path
		}
	case RunEnded:
		d.Unpriced = d.Unpriced || data.Cost == nil && data.Usage != (llm.Usage{})
		sum := deref(d.Cost) + deref(data.Cost)
		if d.Cost = &sum; d.Unpriced {
			d.Cost = nil
		}
	case Label:
		if data.Target == "" {
			d.Title, d.Labelled = data.Name, data.Name != ""
		}
	}
	if !d.Labelled {
		d.Title = d.Prompt
	}
}

// typed is what the user wrote.
func (m Message) typed() string {
	if t := m.Typed.Text(); t != "" {
		return t
	}
	return m.Text()
}

// titleBytes bounds a title that is made from what was typed.
const titleBytes = 120

// TitleOf is the first line of text that is not blank, at most 120 bytes of
// it, without control characters.
func TitleOf(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text[:min(len(text), 4096)]), "\n")
	text = oneLine(text)
	if len(text) <= titleBytes {
		return text
	}
	return text[:floor(text, titleBytes)] + "…"
}

// floor is the start of the rune at or before i.
func floor(s string, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

func oneLine(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, s))
}

// Find looks for query, in any case, in what e says to a person: the text of
// a message, what a tool was given and what it answered, a summary, a label.
// The snippet is one line around the first place. An empty query is in
// nothing.
func (e Entry) Find(query string) (snippet string, ok bool) {
	query = strings.ToLower(query)
	if query == "" {
		return "", false
	}
	switch d := e.Data.(type) {
	case Message:
		return findParts(d.Parts, query)
	case Compaction:
		return findText(d.Summary, query)
	case Label:
		return findText(d.Name, query)
	}
	return "", false
}

func findParts(ps llm.Parts, query string) (string, bool) {
	for _, p := range ps {
		text := ""
		switch p := p.(type) {
		case llm.Text:
			text = p.Text
		case llm.ToolCall:
			text = p.Name + " " + string(p.Input)
		case llm.ToolResult:
			if s, ok := findParts(p.Parts, query); ok {
				return s, true
			}
		}
		if s, ok := findText(text, query); ok {
			return s, true
		}
	}
	return "", false
}

// snippetBytes is how much of a text a snippet shows on either side.
const snippetBytes = 60

func findText(text, query string) (string, bool) {
	low := strings.ToLower(text)
	i := strings.Index(low, query)
	if i < 0 {
		return "", false
	}
	if len(low) != len(text) { // the case of some letters has another length
		text = low
	}
	from, to := floor(text, max(0, i-snippetBytes)), floor(text, min(len(text), i+len(query)+snippetBytes))
	s := oneLine(text[from:to])
	if from > 0 {
		s = "…" + s
	}
	if to < len(text) {
		s += "…"
	}
	return s, true
}
