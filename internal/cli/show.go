package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// showEntry prints all that an entry says to a person.
func showEntry(w io.Writer, en session.Entry) error {
	var b strings.Builder
	switch d := en.Data.(type) {
	case session.Message:
		showMessage(&b, d)
	case session.RunStarted:
		fmt.Fprintf(&b, "— %s: %s in %s\n\n", en.Time.Local().Format("2006-01-02 15:04:05"), oneLine(d.Model), oneLine(d.Dir))
	case session.RunEnded:
		cost := ""
		if d.Cost != nil {
			cost = ", " + d.Cost.String()
		}
		fmt.Fprintf(&b, "— %s after %d turns%s\n", oneLine(d.Stop), d.Turns, cost)
		if d.Error != "" {
			b.WriteString(indent(d.Error))
		}
		b.WriteString("\n")
	case session.Pending:
		fmt.Fprintf(&b, "? the question about %s: %s\n", oneLine(d.CallID), oneLine(string(d.State)))
		if len(d.Answer) > 0 {
			b.WriteString(indent(string(d.Answer)))
		}
	case session.Compaction:
		fmt.Fprintf(&b, "— the view was made smaller: %s\n", oneLine(d.Reason))
		if d.Summary != "" {
			b.WriteString(indent(d.Summary))
		}
		b.WriteString("\n")
	case session.Label:
		if d.Target == "" {
			fmt.Fprintf(&b, "— the title: %s\n\n", oneLine(d.Name))
		}
	case session.Head:
		fmt.Fprintf(&b, "— a branch begins: %s\n\n", oneLine(d.Name))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func showMessage(b *strings.Builder, d session.Message) {
	who := "assistant"
	if d.Role == llm.RoleUser {
		who = string(d.Kind)
	}
	if d.Partial {
		who += " (cut off)"
	}
	for _, p := range d.Parts {
		switch p := p.(type) {
		case llm.Text:
			fmt.Fprintf(b, "%s: %s\n\n", oneLine(who), visible(strings.TrimSpace(p.Text)))
		case llm.Thinking:
			if t := strings.TrimSpace(p.Text); t != "" {
				fmt.Fprintf(b, "thinking: %s\n\n", visible(t))
			}
		case llm.ToolCall:
			fmt.Fprintf(b, "▸ %s(%s)\n", oneLine(p.Name), oneLine(string(p.Input)))
		case llm.ToolResult:
			mark := "→"
			if p.IsError {
				mark = "✗"
			}
			fmt.Fprintf(b, "  %s %s\n", mark, oneLine(p.Name))
			for _, q := range p.Parts {
				switch q := q.(type) {
				case llm.Text:
					b.WriteString(indent(q.Text))
				case llm.Blob:
					b.WriteString(indent(blobLine(q)))
				}
			}
			b.WriteString("\n")
		case llm.Blob:
			fmt.Fprintf(b, "%s: %s\n\n", oneLine(who), blobLine(p))
		}
	}
}

func blobLine(p llm.Blob) string {
	return fmt.Sprintf("[%s %s, %d bytes]", oneLine(p.MIME), oneLine(p.Name), len(p.Data))
}

func indent(text string) string {
	text = strings.TrimRight(visible(text), "\n")
	if text == "" {
		return ""
	}
	return "    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
}
