package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/session/jsonl"
)

func newSessions(e Env) *cobra.Command {
	c := &cobra.Command{
		Use: "sessions", Short: "List, show, search, rename, mend and delete sessions", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newSessionsList(e), newSessionsShow(e), newSessionsSearch(e), newSessionsRename(e), newSessionsSalvage(e), newSessionsDelete(e))
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
	limit, asJSON, all := 50, false, false
	c := &cobra.Command{
		Use: "list", Short: "List sessions, the one used last first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := e.store()
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
			n := 0
			var damaged []string
			for info, err := range st.List(cmd.Context()) {
				if err != nil {
					return err
				}
				if info.Agent != "" && !all {
					continue
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
				title := clipLine(info.Title, 60)
				if info.Agent != "" {
					title = "(" + clipLine(info.Agent, 40) + ") " + title
				}
				if info.Err != "" {
					title = "damaged: " + clipLine(info.Err, 200)
					damaged = append(damaged, info.ID)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", info.ID, info.Updated.Local().Format("2006-01-02 15:04"), clipLine(info.Dir, 200), title)
			}
			if n == 0 && !asJSON {
				e.tell("There are no sessions yet.")
			}
			if err := w.Flush(); err != nil {
				return err
			}
			for _, id := range damaged {
				e.tell(fmt.Sprintf("Copy what can be read of %s into a new session: cantle sessions salvage %s", id, id))
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "those of subagents too")
	c.Flags().IntVarP(&limit, "limit", "n", 50, "most sessions; 0 is all")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return c
}

func newSessionsShow(e Env) *cobra.Command {
	asJSON, cost := false, false
	c := &cobra.Command{
		Use: "show ID", Short: "Show what was said and done in a session, or what it cost", Args: cobra.ExactArgs(1),
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
			defer s.Close()
			if cost {
				return e.showCost(cmd.Context(), s, asJSON)
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
				if err := showEntry(e.Out, en); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "the journal's own records; with --cost, the costs")
	c.Flags().BoolVar(&cost, "cost", false, "what was used, by purpose and model, in all branches")
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
				e.tell("deleted " + id)
			}
			return nil
		},
	}
}
