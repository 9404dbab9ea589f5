package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/credential"
	"github.com/cantle-dev/cantle/llm/provider"
)

// oneProvider is the argument of login and logout. More is refused without
// being repeated: it may be a key.
func oneProvider(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return app.Usage("one provider is wanted, as anthropic; a key is no argument, where other programs could see it: it is asked for, or read from standard input")
	}
	return nil
}

func newLogin(e Env) *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use: "login PROVIDER", Short: "Store the key of a provider",
		Long: "Store the key of a provider: in the system's keyring or, where there is none, in a file that only you can read.\n" +
			"The key is asked for at a terminal, where it does not show, and else read from standard input.\n" +
			"A variable or an apiKeyCommand of the settings goes before it; cantle doctor says which key counts.",
		Example: "  cantle login anthropic\n  pass show anthropic | cantle login anthropic",
		Args:    oneProvider,
		RunE: func(cmd *cobra.Command, args []string) error {
			po, home, err := f.providers(e)
			if err != nil {
				return err
			}
			p, err := po.Find(args[0])
			if err != nil {
				return app.Usage("%w", err)
			}
			key, err := e.secret(cmd.Context(), "Key of "+p.Name+" (it does not show): ")
			if err != nil {
				return err
			}
			where, err := app.Keys(e.app(home)).Set(cmd.Context(), p.Name, key)
			if err != nil {
				return err
			}
			e.tell(fmt.Sprintf("The key of %s is stored in the %s.", p.Name, where))
			from, err := po.KeyFrom(p)
			switch {
			case err != nil, from == "":
				e.tell(fmt.Sprintf("It does not go to %s: the settings put another server in the place of the provider's.", clean(p.BaseURL)))
			case from != string(where):
				e.tell(fmt.Sprintf("%s goes before it.", clean(from)))
			}
			return nil
		},
	}
	f.addSet(c)
	return c
}

func newLogout(e Env) *cobra.Command {
	return &cobra.Command{
		Use: "logout PROVIDER", Short: "Remove the stored key of a provider", Args: oneProvider,
		RunE: func(cmd *cobra.Command, args []string) error {
			home, err := e.home()
			if err != nil {
				return err
			}
			if err := credential.CheckName(args[0]); err != nil {
				return app.Usage("%w", err)
			}
			// The settings may not have the provider any more, nor be readable.
			if err := app.Keys(e.app(home)).Delete(cmd.Context(), args[0]); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			e.tell(fmt.Sprintf("The key of %s is removed.", clean(args[0])))
			return nil
		},
	}
}

// providers are those of the settings.
func (f *flags) providers(e Env) (provider.Options, string, error) {
	c, home, _, err := f.load(e)
	if err != nil {
		return provider.Options{}, "", err
	}
	po, err := app.ProviderOptions(c, e.app(home))
	return po, home, err
}

// addSet adds the flags of commands that read settings and run nothing.
func (f *flags) addSet(c *cobra.Command) {
	fs := c.Flags()
	fs.Var((*many)(&f.set), "set", "a setting, as key=value (again for more)")
	fs.VarP((*given)(&f.dir), "cd", "C", "work in this directory")
}

// secret reads what must not show: from the terminal, or all of standard
// input.
func (e Env) secret(ctx context.Context, prompt string) (string, error) {
	in, ok := e.In.(*os.File)
	if !e.InTTY || !ok {
		const most = 64 << 10 // the store says what is too long for a key
		b, err := io.ReadAll(io.LimitReader(e.In, most))
		if err != nil {
			return "", fmt.Errorf("standard input: %w", err)
		}
		return string(b), nil
	}
	fd := int(in.Fd())
	old, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	back := func() { _ = term.Restore(fd, old) }
	ctx, stop, ended := e.withSignals(ctx, func(int) { back() })
	defer stop()
	_, _ = io.WriteString(e.Err, prompt)
	type read struct {
		b   []byte
		err error
	}
	got := make(chan read, 1)
	go func() {
		b, err := term.ReadPassword(fd)
		got <- read{b, err}
	}()
	defer fmt.Fprintln(e.Err)
	select {
	case r := <-got:
		if errors.Is(r.err, io.EOF) {
			return "", app.Usage("no key was given")
		}
		return string(r.b), r.err
	case <-ctx.Done():
		back()
		return "", exit(signalCode(ended()))
	}
}

// keyLine says of a provider that has a key where it is from, and why it
// cannot be used.
type keyLine struct {
	text  string
	wrong error
}

// keyLines are those of all providers. No keyring and no command is asked.
func (m *models) keyLines() []keyLine {
	var out []keyLine
	for _, n := range m.names() {
		p, err := m.opts.Find(n)
		if err != nil {
			continue // told where the provider is used
		}
		from, err := m.opts.KeyFrom(p)
		if err != nil || from == "" {
			continue
		}
		var wrong error
		if stored(from) {
			_, wrong = app.Keys(m.e.app(m.home)).Where(n)
		}
		line := n + ": " + keyState(m.opts, p)
		var others []string
		if kept := m.opts.Keys; kept != nil && !stored(from) {
			if where := kept.Has(n); where != "" {
				others = append(others, "the one stored in the "+where)
			}
		}
		for _, v := range p.KeyEnv {
			if v != from && m.opts.Getenv(v) != "" && slices.Index(p.KeyEnv, v) > slices.Index(p.KeyEnv, from) {
				others = append(others, v)
			}
		}
		if len(others) > 0 {
			line += ", and goes before " + strings.Join(others, ", ")
		}
		out = append(out, keyLine{line, wrong})
	}
	return out
}

// stored reports whether a key is from what login keeps.
func stored(from string) bool {
	return from == string(credential.InKeyring) || from == string(credential.InFile)
}
