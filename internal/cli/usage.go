package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/llm/catalog"
)

// wrongArgs has c and the commands below it say in words of ours what they want,
// where their arguments are others.
func wrongArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil || errors.Is(err, app.ErrUsage) { // it has words of its own
				return err
			}
			return app.Usage("%s", wanted(cmd, args))
		}
	}
	for _, sub := range c.Commands() {
		wrongArgs(sub)
	}
}

// wanted says what a command wants in the place of args.
func wanted(cmd *cobra.Command, args []string) string {
	help := "; see " + cmd.CommandPath() + " --help"
	use := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	switch {
	case len(args) == 0:
		return fmt.Sprintf("nothing is given: write %s%s", use, help)
	case len(names) > 0 && (use == cmd.CommandPath() || near("", args[0], names, "") != ""):
		return fmt.Sprintf("there is no command %q of %s%s", args[0], cmd.CommandPath(), near("", args[0], names, help))
	case use == cmd.CommandPath():
		return fmt.Sprintf("%s takes no arguments, and %q is given%s", use, args[0], help)
	case len(args) == 1:
		return fmt.Sprintf("%q alone is given: write %s%s", args[0], use, help)
	}
	return fmt.Sprintf("%d arguments are given: write %s%s", len(args), use, help)
}

// near says which of the names may have been meant, each behind the prefix, and
// what else helps.
func near(prefix, name string, names []string, help string) string {
	found := catalog.Nearest(name, names, 2)
	if len(found) == 0 {
		return help
	}
	text := ": did you mean " + prefix + strings.Join(found, " or "+prefix) + "?"
	if rest, ok := strings.CutPrefix(help, "; s"); ok {
		text += " S" + rest
	}
	return text
}

// wrongFlag is the error for a flag that could not be read.
func wrongFlag(cmd *cobra.Command, err error) error {
	help := "; see " + cmd.CommandPath() + " --help"
	var none *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var bad *pflag.InvalidValueError
	var form *pflag.InvalidSyntaxError
	switch {
	case errors.As(err, &none) && none.GetSpecifiedShortnames() != "":
		err = fmt.Errorf("there is no flag -%s of %s%s", none.GetSpecifiedName(), cmd.CommandPath(), help)
	case errors.As(err, &none):
		var names []string
		add := func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		}
		cmd.LocalFlags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		err = fmt.Errorf("there is no flag --%s of %s%s", none.GetSpecifiedName(), cmd.CommandPath(), near("--", none.GetSpecifiedName(), names, help))
	case errors.As(err, &bare):
		err = fmt.Errorf("%s wants a value%s", dashed(bare.GetFlag(), bare.GetSpecifiedName()), help)
	case errors.As(err, &bad):
		why := error(bad)
		if inner := bad.Unwrap(); inner != nil {
			why = inner
		}
		err = fmt.Errorf("%s %q: %w%s", dashed(bad.GetFlag(), ""), bad.GetValue(), why, help)
	case errors.As(err, &form):
		err = fmt.Errorf("%q is no flag%s", form.GetSpecifiedFlag(), help)
	}
	return app.Usage("%w", &flagError{err})
}

// dashed is a flag as it is written.
func dashed(f *pflag.Flag, given string) string {
	switch {
	case len(given) == 1:
		return "-" + given
	case f != nil && given == "" && f.Shorthand != "":
		return "-" + f.Shorthand + ", --" + f.Name
	case f != nil:
		return "--" + f.Name
	}
	return "--" + given
}
