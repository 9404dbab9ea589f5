package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cantle-dev/cantle/internal/app"
)

func newPermissions(e Env) *cobra.Command {
	f := &flags{}
	asJSON := false
	c := &cobra.Command{
		Use: "permissions", Short: "List the permission rules, check them, and say how they decide", Args: cobra.NoArgs,
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
			e.tell("cantle: " + clean(w))
		}
		return app.Options{Config: c, Home: home, User: e.User, Dir: dir, Getenv: e.Getenv, Environ: e.Environ, Yes: f.yes}, nil
	}
	c.AddCommand(&cobra.Command{
		Use: "list", Short: "List the rules that hold here, and where each is written", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			o, err := options()
			if err != nil {
				return err
			}
			rules, err := o.Rules()
			if err != nil {
				return err
			}
			if asJSON {
				return jsonLine(e.Out, struct {
					Mode  string     `json:"mode"`
					Rules []app.Rule `json:"rules"`
				}{mode(o), append([]app.Rule{}, rules...)})
			}
			var rows [][]string
			for _, r := range rules {
				rows = append(rows, []string{string(r.Effect), inLine(r.Text), inLine(r.Source.Layer), inLine(r.Source.File)})
			}
			if err := (&models{e: e}).table([]string{"EFFECT", "RULE", "LAYER", "FILE"}, rows); err != nil {
				return err
			}
			e.tell(fmt.Sprintf("%d rule(s); the mode is %s.", len(rules), inLine(mode(o))))
			return nil
		},
	}, &cobra.Command{
		Use: "check", Short: "Say what is wrong with the rules: those that are malformed, or can decide nothing", Args: cobra.NoArgs,
		Long: "Say what is wrong with the rules: those that are malformed, or can decide nothing, as for a mistyped name.\n\n" +
			"Exit codes: 0 all is well; 1 a rule decides nothing; 2 the settings are malformed.",
		RunE: func(*cobra.Command, []string) error {
			o, err := options()
			if err != nil {
				return err
			}
			report, err := o.CheckRules()
			if err != nil {
				return err
			}
			if asJSON {
				err = jsonLine(e.Out, report)
			} else {
				for _, line := range unused(o, report) {
					_ = e.tellOut(line) // what follows fails as it does
				}
				_, err = fmt.Fprintf(e.Out, "%d rule(s), %d that can decide nothing\n", report.Rules, len(report.Unused))
			}
			if err == nil && len(report.Unused) > 0 {
				err = exit(ExitError)
			}
			return err
		},
	}, &cobra.Command{
		Use: "why COMMAND | why TOOL INPUT", Short: "Say what is decided on a command line or a call, and which rule decides; nothing is run",
		Example: "  cantle permissions why 'git log | tee notes'\n  cantle permissions why Read '~/.ssh/config'\n" +
			"  cantle permissions why Write '{\"file_path\": \"a.txt\", \"content\": \"\"}'",
		Args: func(_ *cobra.Command, args []string) error {
			switch n := len(args); {
			case n > 2:
				return app.Usage("%d words: give one command line, in quotes, or a tool and its input, in quotes", n)
			case n > 0 && strings.TrimSpace(args[0]) == "":
				return app.Usage("the command line is empty: give one, in quotes, or a tool and its input")
			}
			return cobra.MinimumNArgs(1)(nil, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			o, err := options()
			if err != nil {
				return err
			}
			var why app.Explanation
			if len(args) == 2 {
				if why, err = o.ExplainCall(args[0], []byte(args[1])); err != nil && !strings.HasPrefix(args[1], "{") {
					err = fmt.Errorf("%w (a command line is one argument, in quotes)", err)
				}
			} else if why, err = o.Explain(args[0]); err == nil {
				err = needsInput(o, strings.TrimSpace(args[0]))
			}
			if err != nil {
				return err
			}
			if asJSON {
				return jsonLine(e.Out, why)
			}
			err = e.tellOut(clean(why.String()))
			return err
		},
	}, &cobra.Command{
		Use: "test FILE", Short: "Hold the rules to a file of cases, one JSON object a line; - is standard input",
		Long: "Hold the rules to a file of cases, one JSON object a line; - is standard input. Nothing is run.\n\n" +
			"Exit codes: 0 all came out as they should; 1 some did not; 2 the file or the settings are malformed.",
		Example: `  echo '{"rules":{"deny":["Bash(rm:*)"]},"tool":"Bash","input":{"command":"rm -rf /"},"expect":"deny"}' | cantle permissions test -`,
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

func mode(o app.Options) string { return cmp.Or(o.Config.Permissions.DefaultMode, app.Modes()[0]) }

// needsInput is an error where what should be a command line is the name of a tool.
func needsInput(o app.Options, line string) error {
	names, err := o.ToolNames()
	if err == nil && slices.Contains(names, line) {
		err = app.Usage("%s is a tool, and what is decided depends on its input: cantle permissions why %s INPUT, where the input is a command, a path or an address, or all of it as JSON", line, line)
	}
	return err
}

// unused are the rules that can decide nothing, as lines.
func unused(o app.Options, r *app.RuleReport) []string {
	var names []string
	if len(r.Unused) > 0 {
		names, _ = o.ToolNames() // without them nothing can be meant
	}
	var out []string
	for _, rule := range r.Unused {
		name, _, _ := strings.Cut(rule.Text, "(")
		meant := near("", strings.TrimSpace(name), names, "")
		out = append(out, fmt.Sprintf("the %s rule %s%s names no tool that there is%s", rule.Effect, inLine(rule.Text), where(rule.Source.Layer, rule.Source.File), meant))
	}
	return out
}

func testRules(e Env, o app.Options, in io.Reader, asJSON bool) error {
	report, err := o.TestRules(in)
	if err != nil {
		return err
	}
	if asJSON {
		err = jsonLine(e.Out, report)
	} else {
		err = e.tellOut(clean(report.String()))
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
