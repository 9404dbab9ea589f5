package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cantle-dev/cantle/internal/app"
)

func newSandbox(e Env) *cobra.Command {
	f := &flags{}
	asJSON := false
	c := &cobra.Command{
		Use: "sandbox", Short: "Say which sandbox commands run in, and run one in it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	fs := c.PersistentFlags()
	fs.VarP((*given)(&f.dir), "cd", "C", "work in this directory")
	fs.Var((*many)(&f.set), "set", "a setting, as key=value (again for more)")
	fs.Var((*many)(&f.addDir), "add-dir", "a further directory of the workspace (again for more)")
	options := func() (app.Options, error) {
		c, home, dir, err := f.load(e)
		if err != nil {
			return app.Options{}, err
		}
		for _, w := range c.Warnings {
			e.tell("cantle: " + clean(w))
		}
		return app.Options{Config: c, Home: home, User: e.User, Dir: dir, Getenv: e.Getenv, Environ: e.Environ}, nil
	}
	probe := &cobra.Command{
		Use: "probe", Short: "Say which sandbox there is, why, and what it does not hold", Args: cobra.NoArgs,
		Long: "Say which sandbox there is, why that one, what was tried before, and what it does not hold.\n\n" +
			"Exit codes: 0 there is what the settings want; 1 it cannot be had; 2 the settings are malformed.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := options()
			if err != nil {
				return err
			}
			report, err := sandboxReport(cmd.Context(), o)
			if asJSON {
				doc := struct {
					app.SandboxReport
					Error string `json:"error,omitempty"`
				}{SandboxReport: report}
				if err != nil {
					doc.Error = err.Error()
				}
				if werr := jsonLine(e.Out, doc); werr != nil {
					return werr
				}
				switch {
				case isConfig(err):
					return exit(ExitUsage)
				case err != nil:
					return exit(ExitError)
				}
				return nil
			}
			if lines := sandboxLines(report); len(lines) > 0 {
				err = errors.Join(err, e.tellOut(strings.Join(lines, "\n")))
			}
			return err
		},
	}
	probe.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	c.AddCommand(probe, newSandboxRun(e, options))
	return c
}

// sandboxReport says which sandbox there is, by the settings.
func sandboxReport(ctx context.Context, o app.Options) (app.SandboxReport, error) {
	if s := o.Config.Sandbox; s.Mode == "docker" && s.Image == "" {
		return app.SandboxReport{}, o.Config.Wrong("sandbox.image", "", "no image is named, in which commands would run: name one that \"docker images\" lists")
	}
	return o.Sandbox(ctx)
}

// sandboxLines are what is found of a sandbox, for people; none where there is none.
func sandboxLines(r app.SandboxReport) []string {
	if r.Why == "" {
		return nil
	}
	out := []string{inLine(r.Name) + ": " + inLine(r.Why)}
	if r.Container != "" {
		out = append(out, "  this program is in a container: "+inLine(r.Container))
	}
	for _, t := range r.Tried {
		out = append(out, "  not "+inLine(t))
	}
	if len(r.Lacks) > 0 {
		out = append(out, "  Its limits: what it does not hold back, the permission rules alone do; what cannot be done in it can be outside of it, if you allow that:")
	}
	for _, l := range r.Lacks {
		out = append(out, "  - "+inLine(l))
	}
	return out
}
