package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/llm/provider"
	"github.com/cantle-dev/cantle/sandbox"
)

func newDoctor(e Env) *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use: "doctor", Short: "Say what is configured, what is missing, and how to mend it", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			ok := true
			say := func(good bool, format string, args ...any) {
				mark := "ok  "
				if !good {
					mark, ok = "!!  ", false
				}
				fmt.Fprintln(e.Out, clean(fmt.Sprintf(mark+format, args...)))
			}
			fmt.Fprintln(e.Out, "cantle "+Version())
			c, home, dir, err := f.load(e)
			if err != nil {
				say(false, "settings: %v", err)
				return exit(ExitUsage)
			}
			say(true, "settings: %d file(s) read%s", len(c.Files), strings.Join(append([]string{""}, c.Files...), "\n      "))
			for _, k := range slices.Sorted(maps.Keys(c.From)) {
				fmt.Fprintf(e.Out, "      %s from %s\n", oneLine(k), oneLine(c.From[k]))
			}
			for _, w := range c.Warnings {
				say(false, "%s", w)
			}
			doctorModel(e, say, c.Model, func() (provider.Options, error) { return app.ProviderOptions(c, e.app(home)) })
			if err := writable(home); err != nil {
				say(false, "sessions: %s cannot be written: %v: set CANTLE_HOME to a folder of yours", home, err)
			} else {
				say(true, "sessions: kept in %s", home)
			}
			info := sandbox.Local(sandbox.LocalOptions{}).Info()
			say(true, "sandbox: %s; whatever a command leaves behind is found and ended: %v", info.Name, info.Sweeps)
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

func doctorModel(e Env, say func(bool, string, ...any), ref string, options func() (provider.Options, error)) {
	if ref == "" {
		say(false, "model: none is configured: use -m provider:model, CANTLE_MODEL, or \"model\" in the settings; %s needs no key", app.DemoModel)
		return
	}
	if ref == app.DemoModel {
		say(true, "model: %s, a stand-in and not a language model", ref)
		return
	}
	var p provider.Custom
	var name string
	po, err := options()
	if err == nil {
		_, name, _, err = po.Resolve(ref)
	}
	if err == nil {
		p, err = po.Find(name)
	}
	if err == nil {
		_, err = po.KeyFrom(p)
	}
	if err != nil {
		say(false, "model: %s: %v", ref, err)
		return
	}
	say(true, "model: %s at %s, key: %s", ref, p.BaseURL, keyState(po, p))
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
