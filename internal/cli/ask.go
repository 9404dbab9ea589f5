package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/cantle-dev/cantle/agent"
)

// asker puts questions to the person at the terminal.
type asker struct {
	e   Env
	out *textOut // nil where the answer is not shown as it comes
	src *source
	mu  sync.Mutex
}

func newAsker(e Env, out output, src *source) *asker {
	t, _ := out.(*textOut)
	return &asker{e: e, out: t, src: src}
}

// why is the data of a gate's question.
type why struct {
	Reason string `json:"reason"`
	Firm   bool   `json:"firm"` // the answer is for this call alone, and a person's
	// Suggest are the rules that "always" grants, as they will be kept.
	Suggest []struct {
		Rule    string `json:"rule"`
		Matched int    `json:"matched"`
		Of      int    `json:"of"`
	} `json:"suggest"`
}

// always is the choice of being asked no more, in words, and the answer for it.
func (w why) always() (choice, data string) {
	if len(w.Suggest) == 0 {
		return "[a]lways this tool", `"always"`
	}
	var rules []string
	for _, s := range w.Suggest {
		r := oneLine(s.Rule)
		if s.Of > 0 {
			r += fmt.Sprintf(" (would have matched %d of %d)", s.Matched, s.Of)
		}
		rules = append(rules, r)
	}
	return "[a]lways in this session: " + strings.Join(rules, ", "), `{"permission.reply":{"always":"session"}}`
}

func whyOf(q *agent.Question) why {
	var w why
	_ = json.Unmarshal(q.Data, &w) // other questions have other data
	return w
}

// ask waits for the answer. A terminal that is closed answers nothing: the
// question goes on waiting.
func (a *asker) ask(ctx context.Context, _ *agent.Turn, q *agent.Question) (*agent.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.out != nil {
		a.out.pause()
	}
	w := whyOf(q)
	a.show(q, w, maxPreview)
	// What was typed before the question was seen is no answer to it.
	defer a.src.aside()()
	prompt, choices := "Allow?", "[y]es / [n]o"
	switch {
	case q.Call == nil:
		prompt = "Go on?"
	case !w.Firm:
		choice, _ := w.always()
		choices += " / " + choice
	}
	if cut(q) {
		choices += " / [d]iff in full"
	}
	for {
		fmt.Fprintf(a.e.Err, "%s %s, or say what to do instead: ", prompt, choices)
		line, err := a.src.line(ctx)
		if err != nil {
			fmt.Fprintln(a.e.Err)
			if errors.Is(err, io.EOF) {
				err = agent.ErrPending
			}
			return nil, err
		}
		switch t := strings.TrimSpace(line); strings.ToLower(t) {
		case "y", "yes":
			return &agent.Answer{OK: true}, nil
		case "a", "always":
			if w.Firm || q.Call == nil {
				fmt.Fprintln(a.e.Err, "This is asked each time.")
				continue
			}
			_, data := w.always()
			return &agent.Answer{OK: true, Data: []byte(data)}, nil
		case "n", "no", "":
			return &agent.Answer{Reason: "the user said no"}, nil
		case "d", "diff":
			a.show(q, w, 0)
		default:
			return &agent.Answer{Reason: "the user said: " + clean(t)}, nil
		}
	}
}

// maxPreview bounds the lines of a diff that a question shows unasked; a
// command is always shown whole.
const maxPreview = 200

func cut(q *agent.Question) bool {
	return q.Call != nil && q.Call.Preview != nil && q.Call.Preview.Text == "" && strings.Count(q.Call.Preview.Diff, "\n") > maxPreview
}

// about is what a question that is about no call says.
func about(q *agent.Question) string {
	var l agent.Limit
	if q.Kind == "limit" && json.Unmarshal(q.Data, &l) == nil && l.Text != "" {
		return l.Text
	}
	return string(q.Data)
}

// show shows what a question is about; most 0 is all of a diff.
func (a *asker) show(q *agent.Question, w why, most int) {
	c := q.Call
	who := ""
	if q.Path != "" {
		who = " (" + q.Path + ")"
	}
	if c == nil {
		fmt.Fprintf(a.e.Err, "\n%s%s: %s\n", oneLine(q.Kind), oneLine(who), visible(about(q)))
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s%s wants to run", oneLine(c.Name), oneLine(who))
	if w.Reason != "" {
		fmt.Fprintf(&b, " (%s)", oneLine(w.Reason))
	}
	b.WriteString(":\n")
	switch p := c.Preview; {
	case p == nil:
		b.WriteString(visible(string(c.Input)) + "\n")
	case p.Text != "":
		b.WriteString(visible(p.Text) + "\n")
	default:
		b.WriteString(oneLine(p.Title) + "\n")
		lines := strings.Split(strings.TrimRight(visible(p.Diff), "\n"), "\n")
		n := len(lines)
		if most > 0 {
			n = min(n, most)
		}
		b.WriteString(strings.Join(lines[:n], "\n") + "\n")
		if more := len(lines) - n; more > 0 {
			fmt.Fprintf(&b, "… %d more lines\n", more)
		}
	}
	for _, acc := range c.Access {
		if c.Preview == nil || acc.Target != c.Preview.Text {
			fmt.Fprintf(&b, "  %s %s\n", acc.Op, oneLine(acc.Target))
		}
	}
	_, _ = io.WriteString(a.e.Err, b.String())
}
