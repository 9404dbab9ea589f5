package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/llm"
)

// completions makes root ready for completing args: what the shells ask for,
// and the script that makes them ask. Any other command does without.
func completions(root *cobra.Command, e Env, args []string) {
	if len(args) == 0 {
		return
	}
	switch {
	case strings.HasPrefix(args[0], cobra.ShellCompRequestCmd): // with descriptions or without
		complete(root, e)
	case args[0] == "completion":
		root.InitDefaultCompletionCmd()
		if c, _, err := root.Find([]string{"completion", "bash"}); err == nil && c.Name() == "bash" {
			write := c.RunE
			c.RunE = func(c *cobra.Command, args []string) error {
				if _, err := fmt.Fprint(e.Out, bashAlone); err != nil {
					return err
				}
				return write(c, args)
			}
		}
	}
}

// bashAlone is what the script for bash needs of the package bash-completion,
// for where that is not: the words of the line, not split at = and :.
const bashAlone = `if ! declare -F _init_completion >/dev/null 2>&1 && ! declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
    _get_comp_words_by_ref()
    {
        local i w rest line=$COMP_LINE
        words=() cword=0
        for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
            w=${COMP_WORDS[i]}
            rest=${line#"${line%%[![:blank:]]*}"}
            if ((i > 0)) && [[ $rest == "$line" ]]; then
                words[${#words[@]} - 1]+=$w
            else
                words+=("$w")
            fi
            line=${rest#"$w"}
            ((i == COMP_CWORD)) && cword=$((${#words[@]} - 1))
        done
        cur=${words[cword]}
        prev=
        ((cword > 0)) && prev=${words[cword - 1]}
        return 0
    }
fi

`

type completer = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// complete says what the values of flags and arguments may be.
func complete(c *cobra.Command, e Env) {
	words := func(of ...string) completer {
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return of, cobra.ShellCompDirectiveNoFileComp
		}
	}
	dirs := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	var efforts []string
	for _, ef := range llm.Efforts() {
		efforts = append(efforts, string(ef))
	}
	for flag, f := range map[string]completer{
		"output": words("text", "json", "stream-json"), "output-format": words("text", "json", "stream-json"),
		"input": words("text", "stream-json"), "mode": words(app.Modes()...), "effort": words(efforts...),
		"cd": dirs, "add-dir": dirs, "model": e.modelNames, "resume": e.sessionIDs, "session": e.sessionIDs,
	} {
		if c.Flags().Lookup(flag) != nil || c.PersistentFlags().Lookup(flag) != nil {
			_ = c.RegisterFlagCompletionFunc(flag, f) // the flag is there
		}
	}
	switch c.CommandPath() {
	case "cantle login", "cantle logout", "cantle models", "cantle models refresh":
		c.ValidArgsFunction = e.providerNames
	case "cantle models show":
		c.ValidArgsFunction = e.modelNames
	case "cantle sessions show", "cantle sessions delete", "cantle sessions rename", "cantle sessions salvage":
		c.ValidArgsFunction = e.sessionIDs
	}
	for _, sub := range c.Commands() {
		complete(sub, e)
	}
}

// models are those of the settings as they are where the shell is. What is
// wrong with them is told when they are used.
func (e Env) models() (*models, bool) {
	m := &models{e: e}
	return m, m.load() == nil
}

func (e Env) providerNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	if m, ok := e.models(); ok {
		return m.names(), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// modelNames are providers first, and the models of one when it is named.
func (e Env) modelNames(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	m, ok := e.models()
	if !ok {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	name, _, named := strings.Cut(begun, ":")
	if !named {
		out := []string{app.DemoModel}
		for _, n := range m.names() {
			if n != "demo" {
				out = append(out, n+":")
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	p, err := m.opts.Find(name)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ids, _, _ := m.known(name, p) // without a kept list, what else is known
	var out []string
	for _, id := range ids {
		if clean(id) == id && !strings.ContainsAny(id, "\n\t") {
			out = append(out, name+":"+id)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// sessionIDs are those that were used last.
func (e Env) sessionIDs(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	const most = 50
	var out []string
	if st, err := e.store(); err == nil {
		for info, err := range st.List(c.Context()) {
			if err != nil || len(out) == most {
				break
			}
			if info.Agent == "" {
				out = append(out, info.ID+"\t"+clipLine(strings.ReplaceAll(info.Title, "\t", " "), 60))
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
