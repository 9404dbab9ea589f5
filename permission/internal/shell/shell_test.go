package shell_test

import (
	"fmt"
	"strings"

	"github.com/cantle-dev/cantle/permission/internal/shell"
)

// describe writes an analysis down, one line a command.
func describe(a *shell.Analysis) string {
	var b strings.Builder
	for _, c := range a.Commands {
		if c.Doubt {
			continue
		}
		for _, v := range c.Via {
			b.WriteString(v + " > ")
		}
		for _, as := range c.Assigns {
			b.WriteString(as.Name + "= ")
		}
		for i, w := range c.Words {
			if i > 0 {
				b.WriteByte(' ')
			}
			text := w.Text
			if !w.Known {
				text = "⟨" + text + "⟩"
			} else if w.Glob {
				text = "glob:" + text
			} else if text == "" || strings.ContainsAny(text, " \n\t") {
				text = fmt.Sprintf("%q", text)
			}
			b.WriteString(text)
		}
		if c.ReadOnly {
			b.WriteString(" [ro]")
		} else if c.Complete {
			b.WriteString(" [complete]")
		}
		if c.Passes {
			b.WriteString(" [passes]")
		}
		for _, ac := range c.Accesses {
			known := ""
			if !ac.Known {
				known = "?"
			}
			fmt.Fprintf(&b, " %s%s=%s", ac.Op, known, ac.Target)
		}
		b.WriteByte('\n')
	}
	for _, r := range a.Unknown {
		fmt.Fprintf(&b, "? %s: %s\n", r.Kind, r.Text)
	}
	return b.String()
}
