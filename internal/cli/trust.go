package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/config"
)

func newTrust(e Env) *cobra.Command {
	f := &flags{}
	asJSON, sure := false, false
	c := &cobra.Command{
		Use: "trust", Short: "Show what this folder brings for agents, and trust it or not", Args: cobra.NoArgs,
		Long: "Show what this folder brings for agents: settings, hooks, MCP servers, agents, commands and skills, all of it;\n" +
			"and ask whether to trust it. Until you do, it can only restrict what is done, and nothing of it runs.\n" +
			"Trust is of the folder with just that content: when it changes, you are asked again.\n\n" +
			"Exit codes, also of cantle trust show: 0 it is trusted, or brings nothing that needs trust; 1 it is not, or has\n" +
			"changed since; 2 nobody can be asked.",
		Example: "  cantle trust\n  cantle trust show --json\n  cantle trust yes --yes   # in a script that knows what it trusts\n  cantle trust no",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.trust(cmd.Context(), e, sure)
		},
	}
	fs := c.PersistentFlags()
	fs.VarP((*given)(&f.dir), "cd", "C", "the folder")
	c.Flags().BoolVarP(&sure, "yes", "y", false, "trust it without asking")
	show := &cobra.Command{
		Use: "show", Short: "Show what this folder brings, and whether it is trusted", Args: cobra.NoArgs,
		Long: "Show what this folder brings, and whether it is trusted. It asks nothing.\n\n" +
			"Exit codes: 0 it is trusted, or brings nothing that needs trust; 1 it is not, or has changed since.",
		RunE: func(*cobra.Command, []string) error {
			_, state, err := f.trustState(e)
			if state == nil {
				return err
			}
			var werr error
			if asJSON {
				werr = jsonLine(e.Out, state)
			} else {
				v := brings(*state, f.never(e), pane{})
				_, werr = fmt.Fprintln(e.Out, strings.Join(slices.Concat(v.head, v.body, v.tail), "\n"))
			}
			if err = errors.Join(err, werr); err == nil && (state.Level == config.Untrusted || state.Level == config.Changed) {
				err = exit(ExitError)
			}
			return err
		},
	}
	show.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	yes := &cobra.Command{
		Use: "yes", Short: "Show what this folder brings, and trust it if you say so", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.trust(cmd.Context(), e, sure) },
	}
	yes.Flags().BoolVarP(&sure, "yes", "y", false, "trust it without asking")
	no := &cobra.Command{
		Use: "no", Short: "Trust this folder no more", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			o, _, err := f.trustState(e)
			if o == nil {
				return err
			}
			if err := o.SetTrust("", false); err != nil {
				return err
			}
			e.tell(fmt.Sprintf("%s is not trusted.", inLine(o.Project())))
			return nil
		},
	}
	c.AddCommand(show, yes, no)
	return c
}

// trustState is how the folder stands. An error comes with what is known of it.
func (f *flags) trustState(e Env) (*app.Options, *config.TrustState, error) {
	home, dir, err := f.places(e)
	if err != nil {
		return nil, nil, err
	}
	o := &app.Options{Home: home, User: e.User, Dir: dir, Getenv: e.Getenv, Environ: e.Environ}
	state, err := o.Trust()
	return o, &state, err
}

// trust shows what the folder brings, asks, and trusts it.
func (f *flags) trust(ctx context.Context, e Env, sure bool) error {
	o, state, err := f.trustState(e)
	if err != nil {
		return err
	}
	switch state.Level {
	case config.BringsNothing:
		e.tell(fmt.Sprintf("%s brings nothing that would need trust.", inLine(o.Project())))
		return nil
	case config.Trusted:
		e.tell(fmt.Sprintf("%s is trusted with what it brings: cantle trust show lists it, cantle trust no takes it back.", inLine(o.Project())))
		return nil
	}
	a := newAsker(e, f, nil, newSource(e))
	if sure {
		v := brings(*state, f.never(e), paneOf(e))
		a.say(v.head...)
		a.put(v.body)
		a.say(v.tail...)
	} else {
		if !e.InTTY {
			return app.Usage("there is no terminal to ask at: cantle trust show says what it brings, and --yes trusts it")
		}
		ctx, stop, ended := e.notify(ctx, nil, interrupts...)
		defer stop()
		ok, err := a.confirm(ctx, brings(*state, f.never(e), paneOf(e)), "Trust it?")
		switch {
		case ended() != nil:
			return exit(signalCode(ended()))
		case err != nil:
			return err
		case !ok:
			a.say("It is not trusted.")
			return exit(ExitError)
		}
	}
	if err := o.SetTrust(state.Survey.Digest, true); err != nil {
		return err
	}
	a.say(inLine(o.Project()) + " is trusted, as long as it brings just this.")
	return nil
}

// askTrust asks about a folder that brings what is not trusted, before a talk in
// it begins. Whatever goes wrong leaves it so, and is told where it is used.
func (a *asker) askTrust(ctx context.Context, f *flags) error {
	o, state, err := f.trustState(a.e)
	if err != nil || len(state.Off()) == 0 || state.Survey.Digest == "" {
		return nil
	}
	ok, err := a.confirm(ctx, brings(*state, f.never(a.e), paneOf(a.e)), "Trust it?")
	switch {
	case errors.Is(err, errNoAnswer):
		return nil
	case err != nil || !ok:
		return err
	}
	if err := o.SetTrust(state.Survey.Digest, true); err != nil {
		a.say("cantle: " + inLine(err.Error()))
	}
	return nil
}

// never are what the folder's files set neither trusted nor not, each behind the
// file's path in it. Settings that cannot be read are told of where they are used.
func (f *flags) never(e Env) []string {
	c, _, _, err := f.load(e)
	if err != nil {
		return nil
	}
	var out []string
	why := c.Trust.Why()
	for _, w := range c.Warnings {
		w, of := strings.CutPrefix(w, c.Project+string(filepath.Separator))
		if of && (why == "" || !strings.Contains(w, ": "+why+"; ")) { // else trust takes it in
			out = append(out, filepath.ToSlash(w))
		}
	}
	return out
}

// effects say what files of a kind do where they are trusted.
var effects = map[string]string{
	config.KindSettings: "it would set", config.KindMCP: "programs that it would start, and servers that it would speak to",
	config.KindHooks: "what may run without being called", config.KindAgents: "an agent that the model may start",
	config.KindCommands: "a prompt that you may call", config.KindSkills: "what the model may read and follow",
}

// brings is the question whether to trust a folder: all that it brings, and of
// one that has changed what is not as it was. Never is what its files set in no
// case, as [flags.never] gives it.
func brings(s config.TrustState, never []string, p pane) question {
	dir := ""
	var files []config.SurveyFile
	if s.Survey != nil {
		dir, files = s.Survey.Dir, s.Survey.Files
	}
	v := question{}
	say := func(format string, args ...any) { v.head = append(v.head, fmt.Sprintf(format, args...)) }
	switch s.Level {
	case config.BringsNothing:
		say("%s brings nothing that would need trust.", inLine(dir))
	case config.Trusted:
		say("%s is trusted since %s with what it brings:", inLine(dir), s.Since.Local().Format("2006-01-02 15:04"))
	case config.Changed:
		say("%s has changed since you trusted it on %s:", inLine(dir), s.Since.Local().Format("2006-01-02 15:04"))
		for _, c := range []struct {
			what  string
			paths []string
		}{{"new", s.New}, {"changed", s.Changed}, {"gone", s.Gone}} {
			for _, path := range c.paths {
				v.body = append(v.body, p.fold(fmt.Sprintf("  %s: %s", c.what, inLine(path)))...)
			}
		}
	default:
		say("%s brings this, which has no effect until you trust it:", inLine(dir))
	}
	for _, f := range files {
		head := fmt.Sprintf("  %s %s", f.Kind, inLine(f.Path))
		same := s.Level == config.Changed && !slices.Contains(s.New, f.Path) && !slices.Contains(s.Changed, f.Path)
		switch {
		case f.Refused != "":
			head += ": of no effect: " + inLine(f.Refused)
			if f.Link != "" {
				head += ", to " + inLine(f.Link)
			}
		case f.Kind == config.KindSettings && len(f.Needs) == 0:
			head += ": only restricts, and needs no trust"
		case same:
			head += ": as you trusted it"
		default:
			head += ": " + effects[f.Kind]
			if len(f.Needs) > 0 {
				head += " " + inLine(strings.Join(f.Needs, ", "))
			}
			v.body = append(v.body, p.fold(head+":")...)
			for _, w := range never {
				if text, ok := strings.CutPrefix(w, f.Path+": "); ok {
					v.body = append(v.body, p.fold("    ! Not even then: "+inLine(text))...)
				}
			}
			v.body = append(v.body, content(s.Survey, f, p)...)
			continue
		}
		v.body = append(v.body, p.fold(head)...)
	}
	v.cut = min(len(v.body), max(maxPreview, p.high-maxAround))
	return v
}

// content is what a file holds, as lines.
func content(s *config.Survey, f config.SurveyFile, p pane) []string {
	b, err := s.Read(f.Path)
	switch {
	case err != nil:
		return []string{"    cannot be shown: " + inLine(err.Error())}
	case bytes.IndexByte(b[:min(len(b), 8192)], 0) >= 0:
		return []string{fmt.Sprintf("    no text: %d bytes, SHA-256 %s", f.Size, f.SHA256)}
	}
	lines, odd := p.lay(string(b), nil, true)
	if text := odd.String(); text != "" {
		lines = append(lines, "  ! In it: "+text+".")
	}
	return lines
}
