package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/config"
)

func newDoctor(e Env) *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use: "doctor", Short: "Say what is configured, what is missing, and how to mend it", Args: cobra.NoArgs,
		Long: "Say what is configured, what is missing, and how to mend it. Keys are not shown, only where they are from;\n" +
			"no key is asked of a keyring or a command, and nothing is sent.\n\n" +
			"Exit codes: 0 all is there; 1 something is missing or wrong, in the lines that begin with !!;\n" +
			"2 bad usage, or settings that cannot be read.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ok := true
			say := func(good bool, format string, args ...any) {
				mark := "ok  "
				if !good {
					mark, ok = "!!  ", false
				}
				_ = e.tellOut(clean(fmt.Sprintf(mark+format, args...))) // the exit code says it too
			}
			wrong := func(noun string, err error) { say(false, "%s: %s", noun, without(noun, err)) }
			fmt.Fprintln(e.Out, "cantle "+Version())
			c, home, dir, err := f.load(e)
			if err != nil {
				wrong("settings", err)
				return exit(ExitUsage)
			}
			say(true, "settings: %d file(s) read%s", len(c.Files), strings.Join(append([]string{""}, c.Files...), "\n      "))
			for _, k := range slices.Sorted(maps.Keys(c.From)) {
				fmt.Fprintf(e.Out, "      %s from %s\n", oneLine(k), oneLine(c.From[k]))
			}
			for _, w := range c.Warnings {
				say(false, "%s", w)
			}
			m := &models{e: e, config: c, home: home}
			if m.opts, err = app.ProviderOptions(c, e.app(home)); err != nil {
				wrong("providers", err)
			} else {
				if text, err := m.model(); err != nil {
					wrong("model", err)
				} else {
					say(true, "model: %s", text)
				}
				if ref := c.Permissions.Reviewer.Model; ref != "" {
					if text, err := m.described(ref); err != nil {
						wrong("reviewer", fmt.Errorf("permissions.reviewer.model: %w", err))
					} else {
						say(true, "reviewer: %s", text)
					}
				}
				for _, l := range m.keyLines() {
					if l.wrong != nil {
						say(false, "key of %s; it cannot be used: %v", l.text, l.wrong)
						continue
					}
					say(true, "key of %s", l.text)
				}
			}
			if err := writable(home); err != nil {
				say(false, "sessions: %s cannot be written: %v: set CANTLE_HOME to a folder of yours", home, err)
			} else {
				say(true, "sessions: kept in %s", home)
			}
			o := app.Options{Config: c, Home: home, User: e.User, Dir: dir, Getenv: e.Getenv, Environ: e.Environ}
			sandbox, none := sandboxReport(cmd.Context(), o)
			if none != nil {
				wrong("sandbox", none)
			} else {
				say(true, "sandbox: %s", strings.Join(sandboxLines(sandbox), "\n    "))
			}
			switch report, err := o.CheckRules(); {
			case err != nil && none != nil:
				say(false, "rules: not looked at without the sandbox")
			case err != nil:
				wrong("rules", err)
			default:
				for _, l := range unused(o, report) {
					say(false, "rules: %s", l)
				}
				say(true, "rules: %d; the mode is %s", report.Rules, mode(o))
			}
			for _, d := range c.Permissions.AdditionalDirectories {
				say(true, "further directory: %s", d)
			}
			switch why := c.Trust.Why(); {
			case len(c.Trust.Off()) > 0:
				say(true, "trust: %s are off: %s; cantle trust shows what it brings, and asks", strings.Join(c.Trust.Off(), ", "), why)
			case c.Trust.Level == config.Trusted:
				say(true, "trust: this folder is trusted with what it brings")
			default:
				say(true, "trust: this folder brings nothing that needs it")
			}
			say(true, "working directory: %s", dir)
			if !ok {
				return exit(ExitError)
			}
			return nil
		},
	}
	f.add(c)
	return c
}

// model says which model is configured and what is assumed of it, with an error
// where it cannot be used.
func (m *models) model() (string, error) {
	if m.config.Model == "" {
		return "", fmt.Errorf("none is configured: use -m provider:model, CANTLE_MODEL, or \"model\" in the settings; %s needs no key", app.DemoModel)
	}
	return m.described(m.config.Model)
}

// described says which model one is and what is assumed of it.
func (m *models) described(ref string) (string, error) {
	if app.IsDemo(m.config, ref) {
		return app.DemoModel + ", a stand-in and not a language model", nil
	}
	k, err := m.describe(ref, app.ModelCache(m.home))
	if err == nil {
		_, err = m.opts.KeyFrom(k.Provider)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", ref, err)
	}
	name := ref
	if k.Ref != ref {
		name += ", which is " + k.Ref
	}
	return fmt.Sprintf("%s at %s, key: %s\n      window: %d tokens (%s)", name, k.Provider.BaseURL, keyState(m.opts, k.Provider),
		k.Info.Context, fromWords[k.ContextFrom]), nil
}

// without is an error behind a noun, which it does not say again.
func without(noun string, err error) string {
	text := err.Error()
	for _, n := range []string{noun, "settings", "permission"} {
		text = strings.TrimPrefix(text, n+": ")
	}
	return text
}

func writable(home string) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(home, ".doctor-*")
	if err != nil {
		return err
	}
	_ = f.Close()
	return os.Remove(f.Name())
}
