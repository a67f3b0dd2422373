package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/agent/wiring"
)

// shared marks flags that many commands have, and that fairlead options tells of.
const shared = "fairlead.dev/shared"

// share declares the flags that are added to cmd before the function that it returns is
// called as shared ones.
func share(cmd *cobra.Command) func() {
	had := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { had[f.Name] = true })
	return func() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !had[f.Name] {
				declare(cmd, shared, []string{f.Name})
			}
		})
	}
}

// own reports whether the help of cmd shows f. Commands without contexts run agents: there
// the shared flags are what matters.
func own(cmd *cobra.Command, f *pflag.Flag) bool {
	return !f.Hidden && (!declared(f, shared) || cmd.Flags().Lookup(contextFlag) == nil)
}

// usage writes how cmd is called.
func usage(cmd *cobra.Command) error {
	writeUsage(cmd.OutOrStderr(), cmd)
	return nil
}

// ownFlags returns the flags of cmd that its help shows, except --help, and whether it has others
// that are not hidden.
func ownFlags(cmd *cobra.Command) (flags []*pflag.Flag, more bool) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		switch {
		case !own(cmd, f):
			more = more || !f.Hidden
		case f.Name != "help":
			flags = append(flags, f)
		}
	})
	return flags, more
}

// writeUsage writes how cmd is called, with examples and flags.
func writeUsage(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintln(w, "Usage:")
	if cmd.Runnable() {
		fmt.Fprintf(w, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	usageCommands(w, cmd)
	list, more := ownFlags(cmd)
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, f := range list {
		flags.AddFlag(f)
	}
	if flags.HasFlags() {
		usageFlags(w, cmd, flags)
	}
	if more {
		fmt.Fprintln(w, "\nUse 'fairlead options' for a list of global flags.")
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nUse '%s [command] --help' for more about a command.\n", cmd.CommandPath())
	}
}

// usageCommands lists the commands below cmd by their groups.
func usageCommands(w io.Writer, cmd *cobra.Command) {
	list := func(title, group string) {
		var lines []string
		for _, c := range cmd.Commands() {
			if c.GroupID == group && c.IsAvailableCommand() || group == "" && c.GroupID == "" && c.Name() == "help" {
				lines = append(lines, fmt.Sprintf("  %-*s %s", c.NamePadding(), c.Name(), c.Short))
			}
		}
		if len(lines) > 0 {
			fmt.Fprintf(w, "\n%s\n%s\n", title, strings.Join(lines, "\n"))
		}
	}
	for _, g := range cmd.Groups() {
		list(g.Title, g.ID)
	}
	title := "Commands:"
	if len(cmd.Groups()) > 0 {
		title = "Settings and help:"
	}
	list(title, "")
}

func newOptions(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "options [COMMAND]",
		Short: "List global flags, or all flags of a command",
		Long: `List global flags: source, credentials, status branch, secrets and providers; or all
flags of a command, by topic. Each command has the global flags that it can use.

A variable FAIRLEAD_ with the name of the flag, such as FAIRLEAD_TOKEN_FILE for
--token-file, sets a flag. A context can hold flags.

A command acts on the fleet of the command line, of --context, of the clone in the
current folder (by its origin), or of the current context, in this order.`,
		Example: "  fairlead options agent",
		Args:    args(cobra.MaximumNArgs(3)), Annotations: map[string]string{asGiven: "true"},
	}
	s := &cobra.Command{Use: "options"}
	sharedFlags(s, built)
	addContext(s)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if len(names) > 0 {
			of, rest, err := cmd.Root().Find(names)
			if err != nil || len(rest) > 0 || of == cmd.Root() {
				return &usageError{fmt.Errorf("unknown command %q", strings.Join(names, " "))}
			}
			describeFlags(cmd.OutOrStdout(), of)
			return nil
		}
		_, err := fmt.Fprint(cmd.OutOrStdout(), s.Flags().FlagUsagesWrapped(helpWidth))
		return err
	}
	s.Flags().VisitAll(func(f *pflag.Flag) { // so that docs/reference/cli.md has them
		hidden := *f
		hidden.Hidden = true
		cmd.Flags().AddFlag(&hidden)
	})
	return cmd
}

// sharedFlags adds all shared flags to cmd.
func sharedFlags(cmd *cobra.Command, built wiring.Built) *sourceFlags {
	f := addSource(cmd, built)
	f.addStatus(cmd)
	f.addSigning(cmd)
	f.addSecrets(cmd)
	f.addProviders(cmd)
	return f
}
