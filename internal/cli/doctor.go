package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/provider"
	"github.com/cantle-dev/cantle/sandbox"
)

func newModels(e Env) *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use: "models", Short: "List providers, and whether each can be used", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, _, _, err := f.load(e)
			if err != nil {
				return err
			}
			po, err := app.ProviderOptions(c, e.Getenv)
			if err != nil {
				return err
			}
			names := map[string]bool{}
			for _, p := range catalog.Providers() {
				names[p.Name] = true
			}
			for n := range c.Providers {
				names[n] = true
			}
			w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "PROVIDER\tWIRE\tADDRESS\tKEY")
			for _, n := range slices.Sorted(maps.Keys(names)) {
				p, err := po.Find(n)
				if err != nil {
					fmt.Fprintf(w, "%s\t\t\t%v\n", n, err)
					continue
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", n, p.Wire, p.BaseURL, keyState(po, p))
			}
			fmt.Fprintf(w, "demo\t-\t-\tnone needed: %s is a stand-in for trying Cantle out\n", app.DemoModel)
			if err := w.Flush(); err != nil {
				return err
			}
			fmt.Fprintln(e.Err, "\nName a model as provider:model, as the provider names it: anthropic:claude-opus-4-8, ollama:qwen3:4b.")
			return nil
		},
	}
	c.Flags().StringArrayVar(&f.set, "set", nil, "a setting, as key=value")
	return c
}

func keyState(po provider.Options, p provider.Custom) string {
	if len(p.KeyEnv) == 0 {
		return "none needed"
	}
	if _, v, err := po.Key(p); err == nil {
		return v + " is set"
	}
	return "missing: set " + strings.Join(p.KeyEnv, " or ")
}

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
				fmt.Fprintf(e.Out, mark+format+"\n", args...)
			}
			fmt.Fprintln(e.Out, "cantle "+Version())
			c, home, dir, err := f.load(e)
			if err != nil {
				say(false, "settings: %v", err)
				return exit(ExitUsage)
			}
			say(true, "settings: %d file(s) read%s", len(c.Files), strings.Join(append([]string{""}, c.Files...), "\n      "))
			for _, k := range slices.Sorted(maps.Keys(c.From)) {
				fmt.Fprintf(e.Out, "      %s from %s\n", k, c.From[k])
			}
			for _, w := range c.Warnings {
				say(false, "%s", w)
			}
			doctorModel(e, say, c.Model, func() (provider.Options, error) { return app.ProviderOptions(c, e.Getenv) })
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
	name, _, err := provider.Split(ref)
	var p provider.Custom
	var po provider.Options
	if err == nil {
		po, err = options()
	}
	if err == nil {
		p, err = po.Find(name)
	}
	if err == nil {
		_, _, err = po.Key(p)
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
