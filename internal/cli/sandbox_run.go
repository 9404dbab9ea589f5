package cli

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/cantle-dev/cantle/internal/app"
)

func newSandboxRun(e Env, options func() (app.Options, error)) *cobra.Command {
	c := &cobra.Command{
		Use: "run -- COMMAND [ARGUMENT…]", Short: "Run a command in the sandbox, as the agent's commands run", Args: cobra.MinimumNArgs(1),
		Long: "Run a command in the sandbox of the settings, as the agent's commands run: with the same folders to write in, the same\n" +
			"environment and the same network. The exit code is the command's.",
		Example: "  cantle sandbox run -- curl https://example.com\n  cantle sandbox run -- sh -c 'echo x > /etc/x'",
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := options()
			if err != nil {
				return err
			}
			ctx, stop, ended := e.notify(cmd.Context(), nil, interrupts...)
			defer stop()
			in, end, err := e.input()
			if err != nil {
				return err
			}
			defer end()
			code, err := o.RunSandboxed(ctx, args, in, e.Out, e.Err)
			switch {
			case ended() != nil:
				return exit(signalCode(ended()))
			case err != nil:
				return err
			case code != 0:
				return exit(code)
			}
			return nil
		},
	}
	c.Flags().SetInterspersed(false) // what follows the command is the command's
	return c
}

// input is standard input as a file, and what lets go of it.
func (e Env) input() (in *os.File, end func(), err error) {
	if f, ok := e.In.(*os.File); ok || e.In == nil {
		return f, func() {}, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	go func() {
		_, _ = io.Copy(w, e.In) // the command may read as little as it likes
		_ = w.Close()
	}()
	return r, func() { _ = r.Close() }, nil
}
