package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/agent"
)

// asker puts questions to the person at the terminal. What is approved is what
// is shown: nothing of it is masked, and nothing can be allowed of which a part
// was left out.
type asker struct {
	e   Env
	out *textOut // nil where the answer is not shown as it comes
	src *source
	// saved are the files for the rules of this project and of everywhere, by
	// their destinations; one that has none is not offered.
	saved map[string]string
	mu    sync.Mutex
	// late is set when a question ended without its answer, which may still come.
	late bool
}

func newAsker(e Env, f *flags, out output, src *source) *asker {
	t, _ := out.(*textOut)
	return &asker{e: e, out: t, src: src, saved: f.saved(e)}
}

// choice is an answer that can be given by a word.
type choice struct {
	key, word string
	says      string // "" is not listed
	to        string // where a yes is kept
}

// choices are the ways not to be asked again, each with the rules that it saves
// and where.
func (a *asker) choices(q *agent.Question, w why) []choice {
	if q.Kind != "approve" || q.Call == nil || w.Firm {
		return nil
	}
	rules := w.rules()
	if rules == "" {
		return nil
	}
	out := []choice{{"a", "always", "[a]lways in this session: " + rules, "session"}}
	for _, c := range []struct{ key, word, says, to string }{
		{"p", "project", "always in this [p]roject", "localSettings"}, {"u", "user", "always for this [u]ser, everywhere", "userSettings"},
	} {
		if file := a.saved[c.to]; file != "" {
			out = append(out, choice{c.key, c.word, fmt.Sprintf("%s: %s; saved in %s", c.says, rules, inLine(a.e.tilde(file))), c.to})
		}
	}
	return out
}

// ask waits for the answer. A terminal that is closed answers nothing: the
// question goes on waiting.
func (a *asker) ask(ctx context.Context, _ *agent.Turn, q *agent.Question) (*agent.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() != nil { // it ended while others were asked
		return nil, context.Cause(ctx)
	}
	if a.out != nil {
		a.out.pause()
	}
	w, p := whyOf(q), paneOf(a.e)
	v := pose(q, w, p)
	// What was typed before the question was seen is no answer to it.
	defer a.src.aside()()
	a.show(v)
	if err := a.src.calm(ctx, settling); err != nil {
		return nil, err
	}
	return a.answer(ctx, q, v, a.choices(q, w), p)
}

// over waits until no question is open, and drops what was typed to one that ended
// without its answer: it is no prompt.
func (a *asker) over() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.late {
		a.src.aside() // and nothing puts it back
	}
	a.late = false
}

// settling is how long what is typed is still for what was there before the
// question.
const settling = 300 * time.Millisecond

func (a *asker) show(v question) {
	a.say(append([]string{""}, v.head...)...)
	a.put(v.body[:v.cut])
	if more := len(v.body) - v.cut; more > 0 {
		a.say(fmt.Sprintf("  … %d more lines", more))
	}
	a.say(v.tail...)
}

// say puts lines of ours, folded where the terminal is narrow.
func (a *asker) say(lines ...string) {
	p := paneOf(a.e)
	var out []string
	for _, l := range lines {
		out = append(out, p.fold(l)...)
	}
	a.put(out)
}

// put puts lines as they are.
func (a *asker) put(lines []string) {
	if len(lines) > 0 {
		_, _ = io.WriteString(a.e.Err, strings.Join(lines, "\n")+"\n")
	}
}

// prompt puts what a line is typed behind.
func (a *asker) prompt(text string) {
	_, _ = io.WriteString(a.e.Err, strings.Join(paneOf(a.e).fold(text), "\n")+" ")
}

// broken ends the line of a prompt that got no answer.
func (a *asker) broken() {
	fmt.Fprintln(a.e.Err)
	if a.out != nil {
		a.out.fresh()
	}
}

func (a *asker) answer(ctx context.Context, q *agent.Question, v question, always []choice, p pane) (*agent.Answer, error) {
	whole := v.cut == len(v.body)
	for {
		line, err := a.read(ctx, q, v, always, whole, p)
		if err != nil {
			a.broken()
			switch {
			case gone(err):
				err = agent.ErrPending
			case errors.Is(ctx.Err(), context.DeadlineExceeded):
				a.late = true
				a.say("Not allowed: " + inLine(err.Error()) + ".")
			}
			return nil, err
		}
		t := strings.TrimSpace(line)
		word := strings.ToLower(t)
		is := func(c choice) bool { return word == c.key || word == c.word }
		switch i := slices.IndexFunc(always, is); {
		case word == "y" || word == "yes" || i >= 0:
			if !whole {
				a.say("It was not all shown: d shows the rest.")
				continue
			}
			out := &agent.Answer{OK: true, Question: q.ID}
			if i >= 0 {
				out.Data = granting(always[i].to)
			}
			return out, nil
		case word == "a" || word == "always" || word == "p" || word == "project" || word == "u" || word == "user":
			a.say("This is asked each time.")
		case word == "d" || word == "diff":
			if whole = a.all(ctx, v, p) || whole; !whole {
				a.say("Its end was not reached.")
			}
		case word == "n" || word == "no":
			return &agent.Answer{Reason: "the user said no", Question: q.ID}, nil
		case utf8.RuneCountInString(bare(t)) < 2:
			a.say("Answer with one of the letters, or say what to do instead.")
		case unclear(t):
			a.say("That is neither a yes nor a no: y allows it; n, or what to do instead, after “no, ” where it begins like this.")
		default:
			a.say("Not allowed; the model is told what you said.")
			return &agent.Answer{Reason: "the user said: " + clean(t), Question: q.ID}, nil
		}
	}
}

// errNoAnswer is that nobody answered: the terminal is closed.
var errNoAnswer = errors.New("nobody answered")

// confirm asks for a yes or a no.
func (a *asker) confirm(ctx context.Context, v question, prompt string) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := paneOf(a.e)
	defer a.src.aside()()
	a.show(v)
	if err := a.src.calm(ctx, settling); err != nil {
		return false, err
	}
	for whole := v.cut == len(v.body); ; {
		short := "[y]es / [n]o"
		if !whole {
			short = fmt.Sprintf("[d] shows all %d lines, then you can say yes / [n]o", len(v.body))
		}
		a.prompt(prompt + " " + short + ":")
		line, err := a.src.line(ctx)
		if err != nil {
			a.broken()
			if gone(err) {
				err = errNoAnswer
			}
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			if whole {
				return true, nil
			}
			a.say("It was not all shown: d shows the rest.")
		case "n", "no":
			return false, nil
		case "d":
			whole = a.all(ctx, v, p) || whole
		}
	}
}

// read puts the prompt and reads a line.
func (a *asker) read(ctx context.Context, q *agent.Question, v question, always []choice, whole bool, p pane) (string, error) {
	prompt, short := "Allow?", "[y]es / [n]o"
	if q.Call == nil {
		prompt = "Go on?"
	}
	switch tall := p.high > 0 && len(v.body) > p.high-maxAround; {
	case !whole:
		always, short = nil, fmt.Sprintf("[d] shows all %d lines, then it can be allowed / [n]o", len(v.body))
	case tall || v.cut < len(v.body):
		short += fmt.Sprintf(" / [d] shows all %d lines", len(v.body))
	}
	for _, c := range always {
		a.say("  " + c.says)
		short += " / [" + c.key + "]"
	}
	a.prompt(prompt + " " + short + ", or say what to do instead:")
	return a.src.line(ctx)
}

// all shows the whole body, and reports whether its end was come to.
func (a *asker) all(ctx context.Context, v question, p pane) bool {
	if done, ok := a.page(ctx, v.body, p); ok {
		return done
	}
	a.put(v.body)
	return true
}

// gone reports whether err is that the terminal, or whoever wrote the input, is
// gone: that is no answer.
func gone(err error) bool {
	_, ok := errors.AsType[*fs.PathError](err)
	return ok || errors.Is(err, io.EOF)
}

// about is what a question that is about no call says.
func about(q *agent.Question) string {
	var l agent.Limit
	if q.Kind == "limit" && json.Unmarshal(q.Data, &l) == nil && l.Text != "" {
		return l.Text
	}
	return string(q.Data)
}
