package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/tool"
)

// why is the data of a gate's question.
type why struct {
	Reason string `json:"reason"`
	Firm   bool   `json:"firm"` // the answer is for this call alone, and a person's
	Rule   *struct {
		Text   string `json:"text"`
		Source struct {
			Layer string `json:"layer"`
			File  string `json:"file"`
		} `json:"source"`
	} `json:"rule"` // that asks
	Text  string `json:"text"`  // the command line that will run
	Words []span `json:"words"` // the parts of it for which it asks
	// Needs are what no rule covers.
	Needs []string `json:"needs"`
	// Suggest are the rules that "always" grants, as they will be kept.
	Suggest []suggestion `json:"suggest"`
	// Sandbox and Network say how a command would run, where that is known.
	Sandbox *bool `json:"sandbox"`
	Network *bool `json:"network"`
	// Hosts are those that it reaches from the sandbox, and no others.
	Hosts []string `json:"hosts"`
}

type suggestion struct {
	Rule    string `json:"rule"`
	Matched int    `json:"matched"`
	Of      int    `json:"of"`
}

func whyOf(q *agent.Question) why {
	var w why
	_ = json.Unmarshal(q.Data, &w) // other questions have other data
	return w
}

// rules are the rules that would be granted, each exactly as it will be kept, in
// one line; none where one of them would not show as it is.
func (w why) rules() string {
	var out []string
	for _, s := range w.Suggest {
		rule, odd := inLineOdd(s.Rule)
		if odd != (oddness{}) || rule != s.Rule {
			return ""
		}
		if s.Of > 0 {
			rule += fmt.Sprintf(" (would have matched %d of %d calls so far)", s.Matched, s.Of)
		}
		out = append(out, rule)
	}
	return strings.Join(out, ", ")
}

// namesRule reports whether the reason says already which rule asks, and where it is
// written.
func (w why) namesRule() bool {
	from := w.Rule.Source.File
	if from == "" {
		from = w.Rule.Source.Layer
	}
	return strings.Contains(w.Reason, w.Rule.Text) && strings.Contains(w.Reason, from)
}

// question is a question as it is shown. Nothing of it comes to the terminal as
// it was given.
type question struct {
	head, tail []string
	body       []string // what is decided on
	cut        int      // so many lines of the body are shown at first
}

// maxPreview bounds the lines of a diff, or of arguments, that a question shows
// unasked. A command is always shown whole.
const maxPreview = 40

// pose makes a question of what is asked about.
func pose(q *agent.Question, w why, p pane) question {
	var v question
	var odd oddness
	add := func(text string, spans []span, source bool) {
		lines, o := p.lay(text, spans, source)
		v.body, odd = append(v.body, lines...), odd.plus(o)
	}
	c := q.Call
	if c == nil {
		v.head = []string{inLine(q.Kind) + strings.TrimSuffix(from(q), ",") + ":"}
		if text := about(q); strings.Contains(text, "\n") {
			add(text, nil, false)
		} else {
			v.head[0] += " " + inLine(text)
		}
		v.cut = len(v.body)
		return v
	}
	v.head = []string{inLine(c.Name) + from(q) + " wants to run:"}
	command := ""
	switch pre := c.Preview; {
	case pre == nil && w.Text != "":
		command = w.Text
	case pre == nil:
		add(string(c.Input), nil, false)
	case pre.Diff == "":
		command = pre.Text
	default:
		v.head = append(v.head, "  "+inLine(pre.Title))
		if pre.Text != "" {
			add(pre.Text, nil, false)
		}
		add(pre.Diff, nil, true)
		if strings.HasSuffix(pre.Diff, longer) {
			for _, a := range arguments(c.Input) {
				v.body = append(v.body, p.fold("  all of "+inLine(a.name)+":")...)
				add(a.text, nil, true)
			}
		}
	}
	if command != "" {
		var words []span
		if command == w.Text { // else they are of another text
			words = w.Words
		}
		add(command, words, false)
		v.cut = len(v.body)
	} else {
		v.cut = min(len(v.body), max(maxPreview, p.high-maxAround))
	}
	say := func(format string, args ...any) { v.tail = append(v.tail, "  "+fmt.Sprintf(format, args...)) }
	if text := odd.String(); text != "" {
		say("! In it: %s.", text)
	}
	// What no rule covers may be all of the reason.
	listed := len(w.Needs) > 0 && !slices.ContainsFunc(w.Needs, func(n string) bool { return !strings.Contains(w.Reason, n) })
	switch {
	case listed && w.Rule == nil:
		say("It asks because no rule covers that it would")
	case w.Reason != "":
		say("It asks because: %s", inLine(w.Reason))
	}
	if r := w.Rule; r != nil && r.Text != "" && !w.namesRule() {
		say("  by the rule %s%s", inLine(r.Text), where(r.Source.Layer, r.Source.File))
	}
	for _, n := range w.Needs {
		if listed && w.Rule == nil {
			say("  - %s", inLine(n))
		} else {
			say("  no rule covers: %s", inLine(n))
		}
	}
	for _, t := range touches(c, command, w.Reason+"\n"+strings.Join(w.Needs, "\n")) {
		say("  it would %s", t)
	}
	network := w.Network != nil && *w.Network
	switch {
	case w.Text == "": // no command
	case w.Sandbox != nil && *w.Sandbox && len(w.Hosts) > 0:
		var hosts []string
		for _, h := range w.Hosts {
			hosts = append(hosts, inLine(h))
		}
		say("It runs in the sandbox, with %s alone.", strings.Join(hosts, ", "))
	case w.Sandbox != nil && *w.Sandbox && network:
		say("It runs in the sandbox, with the network.")
	case w.Sandbox != nil && *w.Sandbox:
		say("It runs in the sandbox, without the network.")
	case w.Sandbox != nil || network:
		say("It runs outside of a sandbox.")
	}
	return v
}

// maxAround is how much of the height of a terminal is left for what is around
// the text that is decided on.
const maxAround = 16

// longer is what a tool ends a diff with that it has cut.
const longer = "\n[the diff is longer]\n"

type argument struct{ name, text string }

// arguments are those of a call, texts as they are and all else as JSON; what is
// no object is one.
func arguments(input json.RawMessage) []argument {
	var of map[string]json.RawMessage
	if json.Unmarshal(input, &of) != nil {
		return []argument{{"the arguments", string(input)}}
	}
	var out []argument
	for _, name := range slices.Sorted(maps.Keys(of)) {
		var text string
		if json.Unmarshal(of[name], &text) != nil {
			text = string(of[name])
		}
		out = append(out, argument{name, text})
	}
	return out
}

// from says who asks, if it is not the agent itself.
func from(q *agent.Question) string {
	if q.Path == "" {
		return ""
	}
	return ", asked by the agent " + inLine(q.Path) + ","
}

func where(layer, file string) string {
	switch {
	case file != "":
		return ", in " + inLine(file)
	case layer != "":
		return ", of " + inLine(layer)
	}
	return ""
}

// touches are what a call would touch, in words, but for the command itself and
// what is said already. A name that leads elsewhere is shown with where it does.
func touches(c *agent.QuestionCall, command, said string) []string {
	var out []string
	for i := 0; i < len(c.Access); i++ {
		a := c.Access[i]
		op := string(a.Op)
		if a.Op == tool.Connect {
			op += " to"
		}
		text := ""
		switch {
		case a.Op == tool.Exec && a.Target == command:
			continue
		case a.Target == tool.Anywhere && a.Op == tool.Connect:
			text = "reach the network"
		case a.Target == tool.Anywhere && a.Op == tool.Write:
			text = "run outside of the sandbox"
		case i+1 < len(c.Access) && c.Access[i+1].Op == a.Op && leads(c.Access[i+1].Target) == a.Target && c.Access[i+1].Target != a.Target:
			i++
			text = fmt.Sprintf("%s %s, to which %s is a link", inLine(string(a.Op)), inLine(a.Target), inLine(c.Access[i].Target))
			out = append(out, text)
			continue
		default:
			text = op + " " + a.Target
		}
		if !names(said, text) {
			out = append(out, inLine(text))
		}
	}
	return out
}

// names reports whether what was said has text, and not only as the beginning of a
// longer name.
func names(said, text string) bool {
	for {
		_, rest, ok := strings.Cut(said, text)
		if !ok {
			return false
		}
		if rest == "" || strings.HasPrefix(rest, ", ") || rest[0] == '\n' {
			return true
		}
		said = rest
	}
}

// leads is where a name leads, the links of its folders resolved; "" is nowhere
// that can be told.
func leads(name string) string {
	if !filepath.IsAbs(name) {
		return ""
	}
	rest := ""
	for at := filepath.Clean(name); ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if to, err := os.Readlink(at); err == nil { // to what is not there yet
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(at), to)
			}
			return filepath.Join(leads(to), rest)
		}
		if at == filepath.Dir(at) {
			return ""
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}
