package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/llm"
)

// output shows a run.
type output interface {
	event(agent.Event)
	note(text string)
	complain(text string)
	close(res *agent.Result, err error, code int) error
}

// newOutput makes the output of a form: json, stream-json, or else text.
func newOutput(e Env, form string, verbose bool) output {
	if form == "json" || form == "stream-json" {
		return &jsonOut{e: e, verbose: verbose, stream: form == "stream-json", sessions: map[string]string{}}
	}
	return &textOut{e: e, live: e.OutTTY, chatty: verbose || e.OutTTY && e.ErrTTY}
}

// warn says on a terminal what was left out of the settings. Into a file it
// goes only where asked for: there is nothing on standard error of a run that
// went well.
func (e Env) warn(text string, verbose bool) {
	if verbose || e.ErrTTY {
		e.tell("cantle: " + clean(text))
	}
}

// SchemaVersion is the version of the documents that run writes.
const SchemaVersion = 1

// Document is what run --output json prints, and the last line of stream-json.
type Document struct {
	Type        string            `json:"type"` // "result"
	Version     int               `json:"schema_version"`
	Status      string            `json:"status"` // completed, failed, cancelled, rejected, limited, pending
	Result      string            `json:"result"`
	Structured  json.RawMessage   `json:"structured,omitempty"`
	SessionID   string            `json:"session_id,omitempty"`
	Usage       *agent.Usage      `json:"usage"`
	Cost        *float64          `json:"cost"` // US dollars; null: unknown
	Turns       int               `json:"num_turns"`
	ToolCalls   int               `json:"tool_calls"`
	Termination string            `json:"termination_reason"`
	Reason      string            `json:"reason,omitempty"`
	Denials     []agent.Denial    `json:"permission_denials,omitempty"`
	Questions   []*agent.Question `json:"questions,omitempty"` // that wait: at exit 4, and that of a limit at 3
	Warnings    []string          `json:"warnings,omitempty"`  // settings that were left out, and why
	StandIn     bool              `json:"stand_in,omitempty"`
	Duration    int64             `json:"duration_ms"`
	ExitCode    int               `json:"exit_code"`
	Error       *ErrorDoc         `json:"error"`
}

// ErrorDoc is an error in a Document.
type ErrorDoc struct {
	Kind    string `json:"kind"` // as llm.Kind; "usage" or "error"
	Message string `json:"message"`
}

func document(res *agent.Result, err error, code int) Document {
	d := Document{Type: "result", Version: SchemaVersion, Status: string(agent.StatusFailed), Termination: string(agent.StopError), ExitCode: code}
	if res != nil {
		d.Status, d.Termination, d.Reason = string(res.Stop.Status()), string(res.Stop), res.Reason
		d.Result, d.Structured, d.SessionID = res.Text, res.Value, res.Session
		d.Usage, d.Turns, d.ToolCalls, d.Denials, d.Questions = &res.Usage, res.Turns, res.Calls, res.Denied, res.Questions
		d.Duration = res.Duration.Milliseconds()
		if res.Cost != nil {
			usd := res.Cost.Dollars()
			d.Cost = &usd
		}
	}
	if err != nil {
		d.Error = &ErrorDoc{Kind: "error", Message: advise(err)}
		var e *llm.Error
		switch {
		case errors.Is(err, errInterrupted):
			d.Error.Kind, d.Status, d.Termination = "interrupted", string(agent.StatusCancelled), string(agent.StopInterrupted)
		case errors.As(err, &e):
			d.Error.Kind = string(e.Kind)
		case code == ExitUsage:
			d.Error.Kind, d.Termination = "usage", "usage"
		}
	}
	return d
}

type jsonOut struct {
	e               Env
	verbose, stream bool
	standIn         bool
	warnings        []string
	mu              sync.Mutex
	run             string
	sessions        map[string]string // the session of the agent at each path
	closed          bool              // the closing document is written: nothing follows it
}

// complain says that a line of input is not understood: in the stream, where
// there is one, and else on standard error, for the document stands alone.
func (o *jsonOut) complain(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
	case o.stream:
		_ = jsonLine(o.e.Out, map[string]any{"type": "error", "data": map[string]string{"message": text}}) // as in event
	default:
		fmt.Fprintln(o.e.Err, "cantle: "+clean(text))
	}
}

func (o *jsonOut) event(ev agent.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s, ok := ev.Data.(agent.RunStarted); ok {
		if ev.Path == "" {
			o.standIn, o.run = s.StandIn, s.Run
		}
		o.sessions[ev.Path] = s.Session
	}
	if n, ok := ev.Data.(agent.Notice); ok && n.Kind == app.NoticeStandIn {
		o.standIn = true
	}
	if o.stream && !o.closed {
		_ = o.line(ev) // a reader that went away shows at the end
	}
}

// line writes an event with an id that no other line of any run has, and the id
// of the session of its agent.
func (o *jsonOut) line(ev agent.Event) error {
	head, err := json.Marshal(struct {
		ID      string `json:"id"`
		Session string `json:"session_id"`
	}{fmt.Sprintf("%s-%d", o.run, ev.Seq), o.sessions[ev.Path]})
	if err != nil {
		return err
	}
	b, err := json.Marshal(ev)
	if err != nil {
		return err
	}
	head[len(head)-1] = ','
	_, err = o.e.Out.Write(append(quiet(append(head, b[1:]...)), '\n'))
	return err
}

func (o *jsonOut) note(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.warnings = append(o.warnings, text)
	o.e.warn(text, o.verbose)
}

func (o *jsonOut) close(res *agent.Result, err error, code int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed { // by the signal that ended the program
		return nil
	}
	d := document(res, err, code)
	d.StandIn, d.Warnings = o.standIn, o.warnings
	if d.SessionID == "" {
		d.SessionID = o.sessions[""]
	}
	o.closed = true
	return jsonLine(o.e.Out, d)
}

// textOut prints the answer, and for a person at a terminal what is done.
type textOut struct {
	e      Env
	live   bool // the answer is shown as it comes
	chatty bool // what is done is shown on standard error
	mu     sync.Mutex
	open   bool // the last line of the answer has no end yet
	shown  strings.Builder
	spin   *spinner
	asking int // questions that are open: nothing is drawn over them
	// ended tells the signal that ends what goes on; nil: none does. Its ^C stands on
	// the terminal until broke is set.
	ended func() os.Signal
	broke bool
	// talk is that more can be typed, unkept that nothing is recorded.
	talk, unkept bool
}

// follow has the ^C of a signal that ended tells stand on a line of its own.
func (o *textOut) follow(ended func() os.Signal) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended, o.broke = ended, false
}

// fresh is that the terminal stands at the start of a line.
func (o *textOut) fresh() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.broke = o.ended != nil && o.ended() != nil
}

func (o *textOut) note(text string) { o.e.warn(text, o.chatty) }

func (o *textOut) complain(text string) {
	o.pause()
	o.e.tell("cantle: " + clean(text))
}

// pause leaves the terminal to another: the cursor is at the start of a line.
func (o *textOut) pause() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.endLine()
}

// wait shows that something is waited for.
func (o *textOut) wait() {
	if o.chatty && o.e.ErrTTY && o.spin == nil && o.asking == 0 {
		o.endLine()
		o.spin = startSpinner(o.e.Err)
	}
}

func (o *textOut) still() {
	o.spin.stop()
	o.spin = nil
}

func (o *textOut) event(ev agent.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch d := ev.Data.(type) {
	case agent.TextDelta:
		if o.live && ev.Path == "" {
			o.still()
			t := clean(d.Text)
			_, _ = io.WriteString(o.e.Out, t) // a terminal that went away ends the program anyway
			o.shown.WriteString(t)
			o.open = !strings.HasSuffix(t, "\n") && t != "" || t == "" && o.open
		}
	case agent.TurnStarted, agent.ThinkingDelta, agent.CallDelta, agent.ToolProgress:
		o.wait()
	case agent.ToolStarted:
		if o.chatty {
			o.progress(ev)
		}
		o.wait()
	case agent.Asked:
		o.still()
		o.asking++
	case agent.Answered:
		o.asking--
		o.wait()
	default:
		if o.chatty {
			o.progress(ev)
		}
	}
}

func (o *textOut) progress(ev agent.Event) {
	say := func(format string, args ...any) {
		o.endLine()
		o.e.tell(clean(fmt.Sprintf(format, args...)))
	}
	at := ""
	if ev.Path != "" {
		at = ev.Path + " "
	}
	switch d := ev.Data.(type) {
	case agent.RunStarted:
		if d.StandIn && ev.Path == "" {
			say("cantle: %s is a stand-in, not a language model", d.Model)
		}
	case agent.ToolStarted:
		// What somebody else has answered in the user's place he sees.
		if by := d.Decision; by != nil && by.By == agent.ByReviewer {
			say("%s… %s: %s", at, callLine(d.Call), clipLine(by.Reason, 300))
		}
	case agent.ToolFinished:
		mark := "→"
		if d.IsError {
			mark = "✗"
		}
		say("%s▸ %s %s %s", at, callLine(d.Call), mark, summary(d.Parts))
	case agent.Retrying:
		say("%s… %s: trying again in %v", at, d.Error, d.Wait.Round(100*time.Millisecond))
		o.wait()
	case agent.Switched:
		say("%s… %s answers in the place of %s", at, d.To, d.From)
	case agent.Continued:
		say("%s[continuation %d/%d]", at, d.Attempt, d.Of)
	case agent.Compacted:
		say("%s… the view was made smaller, from %s to %s tokens: %s", at, quantity(int64(d.Before)), quantity(int64(d.After)), d.Reason)
	case agent.Repaired:
		say("%s", d.Text)
	case agent.Warning:
		say("%s", d.Text)
	case agent.Notice:
		say("%s… %s", at, d.Text)
	}
}

// endLine makes what comes next begin on a line of its own.
func (o *textOut) endLine() {
	o.still()
	broken := !o.broke && o.ended != nil && o.ended() == os.Interrupt && o.e.InTTY && o.e.ErrTTY
	o.broke = o.broke || broken
	switch {
	case o.open:
		_, _ = io.WriteString(o.e.Out, "\n")
		o.open = false
	case broken: // the terminal has put ^C
		fmt.Fprintln(o.e.Err)
	}
}

func (o *textOut) close(res *agent.Result, err error, code int) error {
	o.e.lent.back() // from a question that the run did not wait for
	o.mu.Lock()
	defer o.mu.Unlock()
	o.endLine()
	o.asking = 0 // what was not answered goes on waiting
	text := ""
	if res != nil {
		text = res.Text
		if len(res.Value) > 0 {
			text = string(res.Value)
		}
	}
	if o.live {
		if s := strings.TrimSpace(text); s != "" && !strings.Contains(o.shown.String(), strings.TrimSpace(clean(s))) {
			fmt.Fprintln(o.e.Out, clean(s))
		}
	} else if text != "" && code != ExitError && code != ExitUsage {
		// On failure standard output stays empty: a script sees the exit code.
		if _, err := fmt.Fprintln(o.e.Out, strings.TrimRight(text, "\n")); err != nil {
			return err
		}
	}
	if err != nil {
		o.e.tell("cantle: " + clean(advise(err)))
	} else if code != ExitOK && res != nil {
		text := "cantle: stopped: " + string(res.Stop)
		if res.Reason != "" {
			text += ": " + res.Reason
		}
		o.e.tell(clean(text))
		if res.Stop.Status() == agent.StatusPending && !o.unkept {
			again := ""
			if o.talk {
				again = "Enter asks again; later, "
			}
			o.e.tell("  " + again + toAnswer(res.Session))
		}
	}
	if o.chatty && res != nil {
		o.e.tell(turnLine(res))
	}
	return nil
}

// toAnswer says how the questions that wait in a session are answered.
func toAnswer(id string) string {
	return fmt.Sprintf("cantle run -c, or cantle run -r %s, asks again.", id)
}

// turnLine sums a run up in a line.
func turnLine(r *agent.Result) string {
	cached := ""
	if n := r.Usage.CacheRead; n > 0 {
		cached = fmt.Sprintf(" (%s cached)", quantity(n))
	}
	cost := "cost n/a"
	if r.Cost != nil {
		cost = r.Cost.String()
	}
	return fmt.Sprintf("— %d steps · %d tools · %s in / %s out%s · %s · %.1fs", r.Turns, r.Calls,
		quantity(r.Usage.Prompt()), quantity(r.Usage.Output), cached, cost, r.Duration.Seconds())
}

func callLine(c llm.ToolCall) string {
	return clipLine(c.Name, 64) + "(" + clipLine(string(c.Input), 72) + ")"
}

func summary(ps llm.Parts) string {
	text := strings.TrimSpace(ps.Text())
	if text == "" && len(ps) > 0 {
		return "(file)"
	}
	return clipLine(text, 100)
}

// clipLine is the first line of s, n runes of it at most, and safe to print.
func clipLine(s string, n int) string {
	s, more, _ := strings.Cut(s, "\n")
	r := []rune(clean(s))
	if len(r) > n {
		return string(r[:n]) + "…"
	}
	if strings.TrimSpace(more) != "" {
		return string(r) + " …"
	}
	return string(r)
}
