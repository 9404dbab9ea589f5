package wrap

import "strings"

// markers are what models put before a call. They count anywhere in a text but
// in code.
var markers = []string{
	"<tool_call>", "<tool_calls>", "<tool_use>", "<tools>", "<function_call>", "<function_calls>", "<minimax:tool_call>",
	"<function=", "<function name=", "<function(", "<invoke name=",
	"<|tool_call|>", "<|tool_calls|>", "<|tool_call>", "<|python_tag|>",
	"<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|channel|>commentary to=",
	"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>",
	"[TOOL_CALLS]", "[TOOL_CALL]",
}

// openers are the markers that only say that a call follows.
var openers = []string{
	"<tool_call>", "<tool_calls>", "<tool_use>", "<tools>", "<function_call>", "<function_calls>", "<minimax:tool_call>",
	"<|tool_call|>", "<|tool_calls|>", "<|tool_call>", "<|python_tag|>",
	"<|tool_calls_section_begin|>", "<|tool_call_begin|>",
	"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>",
	"[TOOL_CALLS]", "[TOOL_CALL]",
}

// closers end a call, and may be left out.
var closers = []string{
	"</tool_call>", "</tool_calls>", "</tool_use>", "</tools>", "</function_call>", "</function_calls>", "</minimax:tool_call>",
	"</function>", "</invoke>",
	"<|/tool_call|>", "<|/tool_calls|>", "<tool_call|>", "<|tool_call_end|>", "<|tool_calls_section_end|>", "<|call|>",
	"<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<|end|>", "</s>",
	"<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "<｜end▁of▁sentence｜>",
	"[/TOOL_CALLS]", "[/TOOL_CALL]",
}

// The keys of a call that is written as JSON.
var (
	nameKeys = words("name", "tool", "tool_name", "function", "action", "recipient_name", "function_name")
	argsKeys = words("arguments", "parameters", "args", "input", "tool_input", "action_input", "params", "kwargs")
	wrapKeys = words("function", "function_call", "tool_call", "tool_calls", "tool_uses", "calls")
	sideKeys = words("type", "id", "index", "call_id", "tool_call_id")
	fences   = words("", "json", "jsonc", "json5", "tool_call", "tool_calls", "tool_code", "tool", "tool_use", "function_call", "python", "py", "xml", "text", "plaintext", "action")
)

func words(ws ...string) map[string]bool {
	m := make(map[string]bool, len(ws))
	for _, w := range ws {
		m[w] = true
	}
	return m
}

// window is how much of a text may be held back before it is clear whether a
// call can begin there.
const window = 256

type verdict int

const (
	no    verdict = iota
	wait          // more is needed to say
	maybe         // it looks like the beginning of a call
)

// scanner goes through a text that comes in pieces and stops where a call may
// begin. It knows where it is in the line, and whether that is in code.
type scanner struct {
	known  func(name string) bool
	inLine bool   // something other than a blank came before in this line
	indent int    // blanks at the beginning of the line
	tick   bool   // within `code`
	fence  string // the fence of the block of code that it is in
	some   bool   // something other than a blank has come at all
}

// next scans s from its start. It returns how far it came, and maybe where
// a call may begin there; wait where it cannot say before more has come; no at
// the end of s. All of the text has come when whole is set.
func (sc *scanner) next(s string, whole bool) (int, verdict) {
	i := 0
	for i < len(s) {
		if sc.fence != "" {
			n, v := sc.inFence(s[i:], whole)
			i += n
			if v == wait {
				return i, wait
			}
			continue
		}
		switch c := s[i]; {
		case c == '\n':
			sc.inLine, sc.tick, sc.indent = false, false, 0
			i++
			continue
		case c == ' ' || c == '\t' || c == '\r':
			if !sc.inLine {
				sc.indent++
			}
			i++
			continue
		default:
			v := sc.begins(s[i:], whole)
			if v == no && !sc.inLine && (c == '`' || c == '~') {
				n, opened := sc.opens(s[i:], whole)
				if n == 0 {
					return i, wait
				}
				if opened {
					i += n
					sc.some, sc.inLine = true, false
					continue
				}
			}
			if v != no {
				return i, v
			}
			if c == '`' {
				sc.tick = !sc.tick
			}
			sc.inLine, sc.some = true, true
			i++
		}
	}
	return i, no
}

// inFence goes through a block of code.
func (sc *scanner) inFence(s string, whole bool) (int, verdict) {
	line, _, ended := strings.Cut(s, "\n")
	if !sc.inLine {
		t := strings.TrimSpace(line)
		if t == "" || strings.Trim(t, sc.fence[:1]) == "" {
			if !ended && !whole && len(line) < window {
				return 0, wait // it may become the end
			}
			if len(t) >= len(sc.fence) {
				sc.fence, sc.tick, sc.indent = "", false, 0
			}
		}
	}
	sc.inLine = !ended
	if ended {
		return len(line) + 1, no
	}
	return len(line), no
}

// opens says whether s begins with the opening line of a block of code, and how
// long that is; 0 if it cannot be said yet.
func (sc *scanner) opens(s string, whole bool) (int, bool) {
	if len(s) > window {
		s, whole = s[:window], true
	}
	n := len(s) - len(strings.TrimLeft(s, s[:1]))
	if n < 3 {
		if n == len(s) && !whole {
			return 0, false
		}
		return 1, false
	}
	line, _, ended := strings.Cut(s, "\n")
	if !ended && !whole {
		return 0, false
	}
	if strings.Contains(line[n:], "`") {
		return 1, false // ```code``` in a line
	}
	sc.fence = s[:n]
	if ended {
		return len(line) + 1, true
	}
	return len(line), true
}

// begins says whether a call may begin at the start of s.
func (sc *scanner) begins(s string, whole bool) verdict {
	if len(s) > window {
		s, whole = s[:window], true
	}
	v := no
	switch s[0] {
	case '<', '[':
		if !sc.tick {
			v = marked(s, whole)
		}
	}
	if v != no || sc.inLine || sc.indent > 3 {
		return v
	}
	switch s[0] {
	case '{':
		return sc.object(s, whole)
	case '[':
		return sc.list(s, whole)
	case '`', '~':
		return sc.block(s, whole)
	case 'A':
		return sc.action(s, whole)
	}
	return no
}

// marked says whether s begins with a marker.
func marked(s string, whole bool) verdict {
	v := no
	for _, m := range markers {
		if strings.HasPrefix(s, m) {
			return maybe
		}
		if !whole && strings.HasPrefix(m, s) {
			v = wait
		}
	}
	return v
}

// short is the answer where s ends too early.
func short(whole bool) verdict {
	if whole {
		return no
	}
	return wait
}

// object says whether a JSON object that is a call begins in s.
func (sc *scanner) object(s string, whole bool) verdict {
	key, rest := member(s[1:])
	if rest == "" {
		return short(whole)
	}
	switch c := rest[0]; {
	case wrapKeys[key] && (c == '{' || c == '['):
		return maybe
	case argsKeys[key] && (c == '{' || c == '"'):
		return maybe
	case sc.known(key) && c == '{':
		return maybe
	case nameKeys[key]:
		name, rest, ok := quoted(rest)
		if !ok {
			return short(whole)
		}
		if sc.known(name) {
			return maybe
		}
		if sc.some || name == "" || ident(bare(name)) != bare(name) {
			return no
		}
		if key, rest = member(strings.TrimLeft(rest, ", \t\r\n")); rest == "" {
			return short(whole)
		}
		if argsKeys[key] || sideKeys[key] {
			return maybe
		}
	case key == "type":
		kind, _, ok := quoted(rest)
		if !ok {
			return short(whole)
		}
		switch kind {
		case "function", "tool_use", "tool_call", "function_call":
			return maybe
		}
	case sideKeys[key]:
		_, rest, ok := quoted(rest)
		if !ok {
			return short(whole)
		}
		if key, rest = member(strings.TrimLeft(rest, ", \t\r\n")); rest == "" {
			return short(whole)
		}
		if nameKeys[key] || key == "type" {
			return maybe
		}
	}
	return no
}

// list says whether a list of calls begins in s.
func (sc *scanner) list(s string, whole bool) verdict {
	in := strings.TrimLeft(s[1:], " \t\r\n")
	switch {
	case in == "":
		return short(whole)
	case in[0] == '{':
		return sc.object(in, whole)
	}
	return sc.function(in, whole)
}

// function says whether s begins with the name of a tool and a bracket.
func (sc *scanner) function(s string, whole bool) verdict {
	n := 0
	for n < len(s) && (isIdent(s[n]) || s[n] == '.' || s[n] == '-') {
		n++
	}
	switch {
	case n == len(s):
		return short(whole)
	case s[n] == '(' && s[:n] == "print":
		return sc.function(s[n+1:], whole)
	case s[n] == '(' && sc.known(s[:n]):
		return maybe
	}
	return no
}

// block says whether s begins with a block of code that begins with a call.
func (sc *scanner) block(s string, whole bool) verdict {
	n := len(s) - len(strings.TrimLeft(s, s[:1]))
	line, in, ended := strings.Cut(s[n:], "\n")
	if !ended {
		if len(line) > 20 || n < 3 && line != "" {
			return no
		}
		return short(whole)
	}
	if n < 3 || !fences[strings.ToLower(strings.TrimSpace(line))] {
		return no
	}
	in = strings.TrimLeft(in, " \t\r\n")
	if in == "" {
		return short(whole)
	}
	switch in[0] {
	case '{':
		return sc.object(in, whole)
	case '<':
		return marked(in, whole)
	case '[':
		if v := marked(in, whole); v != no {
			return v
		}
		return sc.list(in, whole)
	case 'A':
		if v := sc.action(in, whole); v != no {
			return v
		}
	}
	return sc.function(in, whole)
}

// action says whether "Action: name" of a tool begins in s.
func (sc *scanner) action(s string, whole bool) verdict {
	const word = "Action:"
	if len(s) < len(word) {
		if strings.HasPrefix(word, s) {
			return short(whole)
		}
		return no
	}
	if !strings.HasPrefix(s, word) {
		return no
	}
	name, _, ended := strings.Cut(s[len(word):], "\n")
	switch {
	case !ended:
		return short(whole)
	case sc.known(strings.TrimSpace(name)):
		return maybe
	}
	return no
}

// member reads a key and its colon; rest is what follows, or "" where s ends
// before that.
func member(s string) (key, rest string) {
	s = strings.TrimLeft(s, " \t\r\n")
	if s == "" {
		return "", ""
	}
	if s[0] == '"' || s[0] == '\'' || s[0] == openQuote[0] {
		var ok bool
		if key, s, ok = quoted(s); !ok {
			return "", ""
		}
	} else {
		key = ident(s)
		if s = s[len(key):]; key == "" {
			return "", "!"
		}
	}
	s = strings.TrimLeft(s, " \t\r\n")
	if s == "" {
		return "", ""
	}
	if s[0] != ':' {
		return "", "!"
	}
	return key, strings.TrimLeft(s[1:], " \t\r\n")
}

// The quotes that a word processor makes.
const openQuote, closeQuote = "“", "”"

// quoted reads a short string without escapes. It is not ok where s ends
// within. What is no string is "".
func quoted(s string) (v, rest string, ok bool) {
	if s == "" {
		return "", "", false
	}
	closing := s[:1]
	switch {
	case strings.HasPrefix(s, openQuote):
		s, closing = s[len(openQuote):], closeQuote
	case s[0] == '"' || s[0] == '\'':
		s = s[1:]
	default:
		return "", s, !strings.HasPrefix(openQuote, s)
	}
	return strings.Cut(s, closing)
}
