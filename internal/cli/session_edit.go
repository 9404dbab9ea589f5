package cli

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/session"
)

func newSessionsSearch(e Env) *cobra.Command {
	limit, asJSON := 50, false
	c := &cobra.Command{
		Use: "search TEXT...", Short: "Find text in all sessions, in any case", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := strings.Join(args, " ")
			if strings.TrimSpace(query) == "" {
				return app.Usage("there is nothing to search for")
			}
			st, err := e.store()
			if err != nil {
				return err
			}
			n := 0
			for hit, err := range st.Search(cmd.Context(), query) {
				if err != nil {
					return err
				}
				if n++; limit > 0 && n > limit {
					e.tell(fmt.Sprintf("There is more than %d: --limit 0 shows all.", limit))
					break
				}
				if asJSON {
					err = jsonLine(e.Out, map[string]string{"session": hit.Session, "entry": hit.Entry, "snippet": hit.Snippet})
				} else {
					_, err = fmt.Fprintf(e.Out, "%s  %s\n", hit.Session, oneLine(hit.Snippet))
				}
				if err != nil {
					return err
				}
			}
			if n == 0 && !asJSON {
				e.tell("Nothing was found.")
			}
			return nil
		},
	}
	c.Flags().IntVarP(&limit, "limit", "n", 50, "most places; 0 is all")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return c
}

func newSessionsRename(e Env) *cobra.Command {
	return &cobra.Command{
		Use: "rename ID TITLE...", Short: "Give a session a title; an empty one takes it away", Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			st, err := e.store()
			if err != nil {
				return err
			}
			id, err := st.Resolve(cmd.Context(), args[0])
			if err != nil {
				return asUsage(err)
			}
			s, err := session.Open(cmd.Context(), st, id, session.OpenOptions{})
			if err != nil {
				return err
			}
			defer func() {
				if e := s.Close(); err == nil {
					err = e
				}
			}()
			return s.SetTitle(cmd.Context(), rand.Text(), time.Now(), session.TitleOf(strings.Join(args[1:], " ")))
		},
	}
}

func newSessionsSalvage(e Env) *cobra.Command {
	return &cobra.Command{
		Use: "salvage ID", Short: "Copy what can be read of a damaged session into a new one", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := e.store()
			if err != nil {
				return err
			}
			id, err := st.Resolve(cmd.Context(), args[0])
			if err != nil {
				return asUsage(err)
			}
			to := time.Now().UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:6])
			lost, err := st.Salvage(cmd.Context(), id, to)
			if err != nil {
				return err
			}
			e.tell(fmt.Sprintf("%s stays as it is. %d line(s) of it could not be read. Go on with: cantle --resume %s", id, lost, to))
			_, err = fmt.Fprintln(e.Out, to)
			return err
		},
	}
}
