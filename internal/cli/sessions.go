package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/session/jsonl"
)

func newSessions(e Env) *cobra.Command {
	c := &cobra.Command{
		Use: "sessions", Short: "List, show and delete sessions", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newSessionsList(e), newSessionsShow(e), newSessionsDelete(e))
	return c
}

func (e Env) store() (*jsonl.Store, error) {
	home, err := e.home()
	if err != nil {
		return nil, err
	}
	return app.OpenStore(home)
}

func newSessionsList(e Env) *cobra.Command {
	limit, asJSON := 50, false
	c := &cobra.Command{
		Use: "list", Short: "List sessions, the one used last first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := e.store()
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
			n := 0
			for info, err := range st.List(cmd.Context()) {
				if err != nil {
					return err
				}
				if n++; limit > 0 && n > limit {
					break
				}
				if asJSON {
					if err := jsonLine(e.Out, info); err != nil {
						return err
					}
					continue
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", info.ID, info.Updated.Local().Format("2006-01-02 15:04"), clipLine(info.Dir, 200), clipLine(info.Title, 60))
			}
			if n == 0 && !asJSON {
				fmt.Fprintln(e.Err, "There are no sessions yet.")
			}
			return w.Flush()
		},
	}
	c.Flags().IntVarP(&limit, "limit", "n", 50, "most sessions; 0 is all")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return c
}

func newSessionsShow(e Env) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use: "show ID", Short: "Show what was said and done in a session", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := e.store()
			if err != nil {
				return err
			}
			id, err := st.Resolve(cmd.Context(), args[0])
			if err != nil {
				return asUsage(err)
			}
			s, err := session.Open(cmd.Context(), st, id, session.OpenOptions{ReadOnly: true})
			if err != nil {
				return err
			}
			for en, err := range s.Path(cmd.Context()) {
				if err != nil {
					return err
				}
				if asJSON {
					b, err := en.Encode(nil)
					if err != nil {
						return err
					}
					if err := jsonLine(e.Out, json.RawMessage(b)); err != nil {
						return err
					}
					continue
				}
				showEntry(e, en)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "the journal's own records")
	return c
}

// asUsage makes an id that names no session, or no single one, an error of
// usage.
func asUsage(err error) error {
	var file *fs.PathError
	if errors.As(err, &file) {
		return err
	}
	return app.Usage("%w", err)
}

func showEntry(e Env, en session.Entry) {
	switch d := en.Data.(type) {
	case session.Message:
		for _, p := range d.Parts {
			switch p := p.(type) {
			case llm.Text:
				who := "assistant"
				if d.Role == llm.RoleUser {
					who = string(d.Kind)
				}
				if d.Partial {
					who += " (cut off)"
				}
				fmt.Fprintf(e.Out, "%s: %s\n\n", who, clean(strings.TrimSpace(p.Text)))
			case llm.ToolCall:
				fmt.Fprintf(e.Out, "▸ %s\n", callLine(p))
			case llm.ToolResult:
				mark := "→"
				if p.IsError {
					mark = "✗"
				}
				fmt.Fprintf(e.Out, "  %s %s\n", mark, summary(p.Parts))
			}
		}
	case session.RunEnded:
		fmt.Fprintf(e.Out, "— %s after %d turns\n\n", clipLine(string(d.Stop), 60), d.Turns)
	case session.Compaction:
		fmt.Fprintf(e.Out, "— the view was made smaller: %s\n\n", clean(d.Reason))
	}
}

func newSessionsDelete(e Env) *cobra.Command {
	return &cobra.Command{
		Use: "delete ID...", Short: "Delete sessions with all that belongs to them", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := e.store()
			if err != nil {
				return err
			}
			for _, a := range args {
				id, err := st.Resolve(cmd.Context(), a)
				if err != nil {
					return asUsage(err)
				}
				if err := st.Delete(cmd.Context(), id); err != nil {
					return err
				}
				fmt.Fprintln(e.Err, "deleted "+id)
			}
			return nil
		},
	}
}
