package agenttest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
)

// eventWriter writes one line an event. Deltas in a row are one line: where
// a provider cuts its stream is not the loop's doing.
type eventWriter struct {
	b    *strings.Builder
	head string // of the delta that is being gathered
	text string
}

func (w *eventWriter) write(e agent.Event, err error) {
	if err != nil {
		w.flush()
		fmt.Fprintf(w.b, "error %s\n", strconv.Quote(err.Error()))
		return
	}
	switch d := e.Data.(type) {
	case agent.TextDelta:
		w.delta(prefix(e)+"text_delta", d.Text)
		return
	case agent.ThinkingDelta:
		w.delta(prefix(e)+"thinking_delta", d.Text)
		return
	case agent.CallDelta:
		w.delta(prefix(e)+fmt.Sprintf("call_delta %d %s %s", d.Index, d.ID, d.Name), d.Input)
		return
	}
	w.flush()
	fmt.Fprintf(w.b, "%s%s\n", prefix(e), eventLine(e))
}

func (w *eventWriter) delta(head, text string) {
	if head != w.head {
		w.flush()
	}
	w.head = head
	w.text += text
}

func (w *eventWriter) flush() {
	if w.head != "" {
		fmt.Fprintf(w.b, "%s %s\n", w.head, strconv.Quote(w.text))
	}
	w.head, w.text = "", ""
}

func prefix(e agent.Event) string {
	if e.Path == "" {
		return ""
	}
	return "[" + e.Path + "] "
}

// eventLine is the event's type and what matters of it. What has no line of
// its own here is written as JSON, so that nothing goes unseen.
func eventLine(e agent.Event) string {
	switch d := e.Data.(type) {
	case agent.RunStarted:
		return fmt.Sprintf("run_started %s tools=[%s]", d.Model, strings.Join(d.Tools, " "))
	case agent.Input:
		return "input " + d.Kind + " " + partLines(d.Parts)
	case agent.TurnStarted:
		return fmt.Sprintf("turn_started %d", e.Turn)
	case agent.Continued:
		return fmt.Sprintf("continued %d of %d", d.Attempt, d.Of)
	case agent.Message:
		stop := string(d.Stop)
		if d.Partial {
			stop = "partial"
		}
		return "message " + stop + " " + partLines(d.Message.Parts)
	case agent.ToolStarted:
		return "tool_started " + callLine(d.Call) + decisionLine(d.Decision)
	case agent.ToolFinished:
		line := "tool_finished " + d.Call.ID + " " + d.Call.Name + " " + string(d.Outcome)
		if d.IsError {
			line += " error"
		}
		if d.Outcome == agent.OutcomeDenied { // else it is with tool_started
			line += decisionLine(d.Decision)
		}
		return line + " " + partLines(d.Parts)
	case agent.TurnEnded:
		return fmt.Sprintf("turn_ended %d calls=%d", e.Turn, d.Calls)
	case agent.Warning:
		return "warning " + strconv.Quote(d.Text)
	case agent.Repaired:
		line := "repaired " + d.Kind
		if d.CallID != "" {
			line += " " + d.CallID
		}
		return line + " " + strconv.Quote(d.Text)
	case agent.RunEnded:
		r := d.Result
		line := fmt.Sprintf("run_ended %s turns=%d calls=%d text=%q", r.Stop, r.Turns, r.Calls, r.Text)
		for _, d := range r.Denied {
			line += " denied=" + d.CallID
		}
		if r.Reason != "" {
			line += fmt.Sprintf(" reason=%q", r.Reason)
		}
		return line
	}
	var env struct {
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	b, err := json.Marshal(e)
	if err == nil {
		err = json.Unmarshal(b, &env)
	}
	if err != nil {
		return fmt.Sprintf("%T: %v", e.Data, err)
	}
	return env.Type + " " + string(env.Data)
}

func decisionLine(d *agent.Decision) string {
	if d == nil {
		return ""
	}
	return fmt.Sprintf(" by=%s %q", d.By, d.Reason)
}

func partLines(ps llm.Parts) string {
	if len(ps) == 0 {
		return "nothing"
	}
	out := make([]string, len(ps))
	for i, p := range ps {
		out[i] = partLine(p)
	}
	return strings.Join(out, "; ")
}

func partLine(p llm.Part) string {
	switch p := p.(type) {
	case llm.Text:
		return "text " + strconv.Quote(p.Text)
	case llm.Thinking:
		return "thinking " + strconv.Quote(p.Text)
	case llm.Blob:
		return fmt.Sprintf("blob %s %d bytes %s", p.MIME, len(p.Data), p.URL)
	case llm.ToolCall:
		return "call " + callLine(p)
	case llm.ToolResult:
		line := "result " + p.CallID
		if p.IsError {
			line += " error"
		}
		return line + " " + partLines(p.Parts)
	}
	return compact(llm.Parts{p})
}

func callLine(c llm.ToolCall) string {
	if c.Malformed != "" {
		return c.ID + " " + c.Name + " malformed " + strconv.Quote(c.Malformed)
	}
	return c.ID + " " + c.Name + " " + compact(c.Input)
}

// compact is v as JSON on one line.
func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return strconv.Quote(fmt.Sprint(v))
	}
	return string(b)
}
