package shell

import "strings"

// reserved are the words that stand in front of a command.
const reserved = ` if then elif else do while until time ! { } case in esac fi done coproc function `

// rough finds commands in a text by what may separate them, whatever the
// quotes: nothing that any shell would run is missed, and some is found that
// none would. It serves deny rules where the parser's answer is not sure.
func (w *walker) rough(text string) {
	was, wasFixed := w.doubt, w.fixed
	w.doubt = true
	if w.fixed == nil {
		w.fixed = &span{from: 0, to: len(w.out.Text)}
	}
	var words []Word
	var word strings.Builder
	open, target := false, false // in a word; the first word may be a redirect's, or the end of one
	endWord := func() {
		if open {
			s := word.String()
			known := !strings.ContainsAny(s, "$*?[")
			prefix := s
			if i := strings.IndexAny(s, "$*?["); i >= 0 {
				prefix = s[:i]
			}
			words = append(words, Word{Text: s, Known: known, Prefix: prefix, Start: w.fixed.from, End: w.fixed.to})
		}
		word.Reset()
		open = false
	}
	endCommand := func() {
		endWord()
		for len(words) > 0 && (listed(reserved, words[0].Text) || assignment(words[0].Text)) {
			// A name may follow these, and then the command.
			target = target || words[0].Text == "coproc" || words[0].Text == "function" || words[0].Text == "time"
			words = words[1:]
		}
		for i := 1; target && i < min(len(words), maxThrough); i++ {
			w.emit(Command{Words: words[i:], Start: w.fixed.from, End: w.fixed.to})
		}
		if len(words) > 0 {
			target = false
			c := Command{Words: words, Start: w.fixed.from, End: w.fixed.to}
			w.emit(c)
		}
		words = nil
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ';', '&', '|', '(', ')', '<', '>', '\n', '`':
			endCommand()
			target = target || c == '<' || c == '>' || c == ')' || c == '`'
		case ' ', '\t', '\r', '\v', '\f':
			endWord()
		case '\'', '"':
			open = true
			target = target || len(words) == 0 // or the end of quoted text
		case '\\': // before a line's end too: views has the text without
			target = target || i+1 < len(text) && strings.IndexByte(" \t", text[i+1]) >= 0 // the blank may be a letter
		case '$':
			if decoded, n := roughANSI(text[i+1:]); n > 0 {
				word.WriteString(decoded)
				i += n
				open = true
				continue
			}
			if i+1 < len(text) && (text[i+1] == '\'' || text[i+1] == '"' || text[i+1] == '(') {
				continue
			}
			word.WriteByte(c)
			open = true
		default:
			word.WriteByte(c)
			open = true
		}
	}
	endCommand()
	w.doubt, w.fixed = was, wasFixed
}

func assignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && isName(strings.TrimSuffix(name, "+"))
}

// roughANSI decodes a '…' that follows a dollar sign, if there is nothing in it
// that might separate commands.
func roughANSI(s string) (text string, n int) {
	if s == "" || s[0] != '\'' {
		return "", 0
	}
	for i := 1; i < len(s) && i < 256; i++ {
		switch s[i] {
		case '\\':
			i++
		case '\'':
			text, ok := ansiC(s[1:i])
			if !ok {
				return "", 0
			}
			return text, i + 1
		case ';', '&', '|', '(', ')', '<', '>', '\n', '`', ' ', '\t', '$', '"':
			return "", 0
		}
	}
	return "", 0
}
