package cli

import (
	"slices"
	"strings"
	"unicode"
)

// assents are words that may be meant as a yes. None of them is one: a yes is what
// nobody says by mistake.
var assents = []string{"ok", "okay", "sure", "fine", "maybe", "perhaps", "allow", "allowed", "accept", "approve", "approved", "agreed", "right"}

// unclear reports whether what was typed, which is neither a yes nor a no, may be
// meant as a yes: it is no instruction then.
func unclear(text string) bool {
	word := ""
	if f := strings.Fields(text); len(f) > 0 {
		word = strings.ToLower(bare(f[0]))
	}
	return strings.HasPrefix(word, "y") || slip(word, "yes") || slip(word, "always") || slices.Contains(assents, word)
}

// bare is text without what is around its letters and digits, as in [y].
func bare(text string) string {
	return strings.TrimFunc(text, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
}

// slip reports whether typed is word but for one letter: another, one more, one
// less, or two that changed places.
func slip(typed, word string) bool {
	a, b := []rune(typed), []rune(word)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}
