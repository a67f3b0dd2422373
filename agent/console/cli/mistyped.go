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

// unknownBelow returns the error where the command line names a command below cmd that does not
// exist. Cobra checks that only if no help is requested.
func unknownBelow(cmd *cobra.Command) error {
	if a := cmd.Flags().Args(); cmd.HasSubCommands() && len(a) > 0 {
		return &usageError{inWords(cmd, a, nil)}
	}
	return nil
}

// helpOnCommands has --help and the command help show nothing for a command that does not exist,
// which is an error. Cobra shows the help of the command above it.
func helpOnCommands(root *cobra.Command) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if unknownBelow(cmd) == nil {
			fmt.Fprint(cmd.OutOrStdout(), screen(cmd))
		}
	})
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		return
	}
	help.RunE = func(_ *cobra.Command, names []string) error {
		of, rest, err := root.Find(names)
		if err != nil || of.HasSubCommands() && len(rest) > 0 {
			return &usageError{inWords(of, rest, err)}
		}
		writeHelp(root.OutOrStdout(), of)
		return nil
	}
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
