package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// args makes the error of a check of positional arguments a usageError, which names the
// argument that is missing or too many.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, a []string) error {
		if err := check(cmd, a); err != nil {
			return &usageError{inWords(cmd, a, err)}
		}
		return nil
	}
}

// inWords returns what is wrong with the positional arguments a of cmd, of which err says that
// they are not right.
func inWords(cmd *cobra.Command, a []string, err error) error {
	wanted := positional(cmd)
	switch {
	case cmd.HasSubCommands() && len(a) > 0:
		cmd.SuggestionsMinimumDistance = closeEnough
		return fmt.Errorf("unknown command %q for %s%s", a[0], cmd.CommandPath(), didYouMean(cmd.SuggestionsFor(a[0])))
	case len(a) < len(wanted):
		return fmt.Errorf("missing argument %s: %s %s", wanted[len(a)], cmd.CommandPath(), strings.Join(wanted, " "))
	case len(a) > len(wanted):
		return fmt.Errorf("%q is one argument too many: %s", a[len(wanted)], strings.TrimSpace(cmd.CommandPath()+" "+strings.Join(wanted, " ")))
	}
	return err
}

// positional returns the positional arguments of cmd, as its usage line has them.
func positional(cmd *cobra.Command) []string {
	line, _, _ := strings.Cut(cmd.Use, " --")
	return strings.Fields(line)[1:]
}

// flagError returns what is wrong with a flag of cmd as a usageError.
func flagError(cmd *cobra.Command, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		return &usageError{err}
	}
	names := &cobra.Command{SuggestionsMinimumDistance: closeEnough} // cobra compares names of commands alone
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	found := names.SuggestionsFor(name)
	for i := range found {
		found[i] = "--" + found[i]
	}
	return &usageError{fmt.Errorf("%w%s", err, didYouMean(found))}
}

// closeEnough is how many letters a name may differ in from one that is suggested.
const closeEnough = 2

// didYouMean asks whether one of names was meant.
func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(names, " or ") + "?)"
}
