package search

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// The bounds of what is shown of one line, in bytes.
const (
	// MaxLine is the most that is shown of a line.
	MaxLine = 2000
	// MaxLead is the most of it that stands before the match.
	MaxLead = 100
)

// Line is one line of a file, or the part of it around a match.
type Line struct {
	Number int    // from 1
	Text   string // valid UTF-8 without the line's end
	Match  bool   // false for a line of context
	Before int    // bytes of the line cut off before Text
	After  int    // bytes cut off after it
}

// window makes a Line of line, of which the match begins at at. It is cut at
// the borders of runes, so that no character is torn.
func window(line []byte, at int) (text string, before, after int) {
	lo, hi := 0, len(line)
	if len(line) > MaxLine {
		lo = max(at-MaxLead, 0)
		for k := 0; lo > 0 && lo < at && !utf8.RuneStart(line[lo]) && k < utf8.UTFMax; k++ {
			lo++
		}
		hi = min(lo+MaxLine, len(line))
		for k := 0; hi > lo && hi < len(line) && !utf8.RuneStart(line[hi]) && k < utf8.UTFMax; k++ {
			hi--
		}
	}
	part := line[lo:hi]
	if utf8.Valid(part) {
		return string(part), lo, len(line) - hi
	}
	return strings.ToValidUTF8(string(part), "\uFFFD"), lo, len(line) - hi
}

// chomp takes off the carriage return of a CRLF line.
func chomp(line []byte) []byte { return bytes.TrimSuffix(line, []byte{'\r'}) }
