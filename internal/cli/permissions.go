package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cantle-dev/cantle/internal/app"
)

func newPermissions(e Env) *cobra.Command {
	f := &flags{}
	asJSON := false
	c := &cobra.Command{
		Use: "permissions", Short: "Say how the permission rules decide, and hold them to a file of cases", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	fs := c.PersistentFlags()
	fs.VarP((*given)(&f.dir), "cd", "C", "work in this directory")
	fs.Var((*given)(&f.mode), "mode", "permission mode: "+strings.Join(app.Modes(), ", "))
	fs.BoolVarP(&f.yes, "yes", "y", false, "answer yes where the mode asks")
	fs.Var((*many)(&f.allow), "allow", "a further allow rule (again for more)")
	fs.Var((*many)(&f.deny), "deny", "a further deny rule (again for more)")
	fs.Var((*many)(&f.ask), "ask", "a further ask rule (again for more)")
	fs.Var((*many)(&f.set), "set", "a setting, as key=value (again for more)")
	fs.Var((*many)(&f.addDir), "add-dir", "a further directory of the workspace (again for more)")
	fs.BoolVar(&asJSON, "json", false, "write JSON")
	options := func() (app.Options, error) {
		c, home, dir, err := f.load(e)
		if err != nil {
			return app.Options{}, err
		}
		for _, w := range c.Warnings { // a rule that was left out decides nothing
			fmt.Fprintln(e.Err, "cantle: "+clean(w))
		}
		return app.Options{Config: c, Home: home, User: e.User, Dir: dir, Getenv: e.Getenv, Environ: e.Environ, Yes: f.yes}, nil
	}
	c.AddCommand(&cobra.Command{
		Use: "why COMMAND", Short: "Say what is decided on a command line, and which rule decides; nothing is run",
		Example: "  cantle permissions why 'git log | tee notes'",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || strings.TrimSpace(args[0]) == "" {
				return fmt.Errorf("give one command line, in quotes: there are %d arguments", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			o, err := options()
			if err != nil {
				return err
			}
			why, err := o.Explain(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return jsonLine(e.Out, why)
			}
			_, err = fmt.Fprintln(e.Out, clean(why.String()))
			return err
		},
	}, &cobra.Command{
		Use: "test FILE", Short: "Hold the rules to a file of cases, one JSON object a line; - is standard input",
		Long: "Hold the rules to a file of cases, one JSON object a line; - is standard input. Nothing is run.\n\n" +
			"Exit codes: 0 all came out as they should; 1 some did not; 2 the file or the settings are malformed.",
		Example: `  echo '{"tool":"Bash","input":{"command":"rm -rf /"},"expect":"deny"}' | cantle permissions test -`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o, err := options()
			if err != nil {
				return err
			}
			in := e.In
			if args[0] != "-" {
				name := args[0]
				if !filepath.IsAbs(name) {
					name = filepath.Join(e.Dir, name)
				}
				file, err := os.Open(name)
				if err != nil {
					return app.Usage("%w", err)
				}
				defer file.Close()
				in = file
			}
			return testRules(e, o, in, asJSON)
		},
	})
	return c
}

func testRules(e Env, o app.Options, in io.Reader, asJSON bool) error {
	report, err := o.TestRules(in)
	if err != nil {
		return err
	}
	if asJSON {
		err = jsonLine(e.Out, report)
	} else {
		_, err = fmt.Fprintln(e.Out, clean(report.String()))
	}
	switch {
	case err != nil:
		return err
	case len(report.Failures) > 0:
		return exit(ExitError)
	case report.Passed == 0:
		return app.Usage("there is no case in it")
	}
	return nil
}
