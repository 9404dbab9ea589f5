package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible shows all of a text that is decided on: what a terminal would act
// on, hide, reorder or show as an ordinary blank is written as its number.
// Ends of lines and tabs stay.
func visible(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "<0x%02X>", s[i])
		case r == '\n' || r == '\t' || r == ' ':
			b.WriteRune(r)
		case !unicode.IsGraphic(r) || unicode.Is(unicode.Zs, r) || blank(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// blank reports whether r counts as graphic and shows nothing.
func blank(r rune) bool {
	return r == 0x034F || r == 0x115F || r == 0x1160 || r == 0x17B4 || r == 0x17B5 || r == 0x2800 || r == 0x3164 || r == 0xFFA0 ||
		r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF
}

// oneLine shows all of s in one line, so that the name of a file cannot look
// like a line of the question.
func oneLine(s string) string {
	return strings.NewReplacer("\n", "⏎", "\t", "<U+0009>").Replace(visible(s))
}

// clean takes out of text that is not ours what would drive a terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ' || r == 0x7F || r >= 0x80 && r < 0xA0:
			return -1
		case r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069: // changes of direction
			return -1
		}
		return r
	}, s)
}

// tilde is a path, from ~ where it is in the user's home.
func (e Env) tilde(path string) string {
	if e.User != "" {
		if rest, ok := strings.CutPrefix(path, filepath.Clean(e.User)+string(filepath.Separator)); ok {
			return "~" + string(filepath.Separator) + rest
		}
	}
	return path
}
