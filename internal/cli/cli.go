// Package cli is the command line: one file a command, flags parsed apart from
// the work, results on standard output and everything for people on standard
// error.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/session"
)

// The exit codes.
const (
	ExitOK          = 0
	ExitError       = 1   // error, refusal, blocked, overflow
	ExitUsage       = 2   // bad usage or settings
	ExitLimit       = 3   // a limit or a guard; the result so far is printed
	ExitPending     = 4   // waiting for an answer
	ExitInterrupted = 130 // Ctrl-C
	ExitTerminated  = 143 // SIGTERM
)

// Streams are where a command reads and writes.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// InTTY, OutTTY and ErrTTY say which of them are terminals.
	InTTY, OutTTY, ErrTTY bool
}

// Env is what the commands know of the world.
type Env struct {
	Streams
	Getenv  func(string) string
	Environ []string // the whole environment, of which commands get a part
	Dir     string   // the working directory
	User    string   // the user's home directory

	early *signals // taken before the command is known; nil: the command does
	lent  *lent
}

// System is the Env of the process.
func System() Env {
	tty := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	dir, _ := os.Getwd()        // "" is told when it is needed
	home, _ := os.UserHomeDir() // likewise
	return Env{
		Streams: Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, InTTY: tty(os.Stdin), OutTTY: tty(os.Stdout), ErrTTY: tty(os.Stderr)},
		Getenv:  os.Getenv, Environ: os.Environ(), Dir: dir, User: home,
	}
}

// home is the folder of Cantle's own.
func (e Env) home() (string, error) {
	if h := e.Getenv("CANTLE_HOME"); h != "" {
		return filepath.Abs(h)
	}
	if e.User == "" {
		return "", app.Usage("there is no home directory: set CANTLE_HOME")
	}
	return filepath.Join(e.User, ".cantle"), nil
}

// exit is an error that only sets the exit code: all was said.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// Main runs the command line args, without the program's name, and returns the
// exit code.
func Main(ctx context.Context, e Env, args []string) int {
	e.lent = &lent{}
	e.early = earlySignals(ctx, e, args)
	defer e.early.stop()
	return e.main(ctx, args)
}

func (e Env) main(ctx context.Context, args []string) int {
	root := newRoot(e)
	root.SetArgs(args)
	root.SetIn(e.In)
	root.SetOut(e.Out)
	root.SetErr(e.Err)
	completions(root, e, args)
	cmd, err := root.ExecuteContextC(ctx)
	e.lent.back()
	var code exit
	var bad *flagError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &bad) && cmd.Name() == "run" && wantsDocument(args):
		if jsonLine(e.Out, document(nil, err, ExitUsage)) == nil {
			return ExitUsage
		}
	}
	text := adviseAlways(err)
	if _, ok := errors.AsType[*session.LockedError](err); ok {
		if f := cmd.Flags().Lookup("fork"); f != nil {
			text = advise(err)
		} else {
			text += "\n  End the program that has it open, and try again."
		}
	}
	e.tell("cantle: " + clean(text))
	if errors.Is(err, app.ErrUsage) || isConfig(err) {
		return ExitUsage
	}
	return ExitError
}

func isConfig(err error) bool {
	var c *config.Error
	return errors.As(err, &c)
}

func newRoot(e Env) *cobra.Command {
	var plain bool
	f := &flags{}
	root := &cobra.Command{
		Use:   "cantle",
		Short: "A terminal coding agent for any model",
		Long: "Cantle is a terminal coding agent: the model proposes, Cantle validates, executes and records.\n\n" +
			"With no command, at a terminal, you talk with it. For one task, or in a script, there is cantle run.",
		Version:       Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			asked := plain || on(e.Getenv("CANTLE_PLAIN"))
			switch {
			case asked, e.InTTY && e.OutTTY:
				return plainLoop(cmd.Context(), e, f)
			case cmd.Flags().NFlag() > 0:
				return app.Usage("there is no terminal to talk at: use cantle run for one task, or --plain to talk line by line")
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(wrongFlag)
	root.SetVersionTemplate("cantle {{.Version}}\n")
	root.Flags().BoolVar(&plain, "plain", false, "talk in a plain loop of lines")
	f.add(root)
	root.AddCommand(newRun(e), newSessions(e), newModels(e), newLogin(e), newLogout(e), newPermissions(e), newSandbox(e), newTrust(e), newDoctor(e), newVersion(e))
	wrongArgs(root)
	return root
}

// on reports whether a variable turns something on.
func on(v string) bool {
	switch v {
	case "", "0", "false", "no":
		return false
	}
	return true
}

func newVersion(e Env) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(e.Out, "cantle "+Version())
			return err
		},
	}
}

// Version is the version of this build.
func Version() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" {
		return b.Main.Version
	}
	return "0.1.0-dev"
}
