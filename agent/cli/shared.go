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

// usage writes what the help of cmd says of how it is called.
func usage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
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
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	hidden := false
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if own(cmd, f) {
			flags.AddFlag(f)
			return
		}
		hidden = hidden || !f.Hidden
	})
	if flags.HasFlags() {
		usageFlags(w, cmd, flags)
	}
	if hidden {
		fmt.Fprintln(w, "\nfairlead options lists the flags that commands share.")
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%s [command] --help tells more about a command.\n", cmd.CommandPath())
	}
	return nil
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
		title = "Besides:"
	}
	list(title, "")
}

func newOptions(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "options",
		Short: "List the flags that commands share",
		Long: `List the flags that commands share: where a fleet is, what is shown to its server, where
its status branch and its secrets are, and what providers are told. Each command
has those of them that it can use. The variable FAIRLEAD_ with the flag's name
behind it sets a flag as well, as FAIRLEAD_TOKEN_FILE sets --token-file, and a
context may hold them: fairlead context.

Which fleet a command is about, the first of these says: what the command line
names; --context; the clone of a fleet that one stands in, by its origin; the
current context.`,
		Args: args(cobra.NoArgs), Annotations: map[string]string{asGiven: "true"},
	}
	s := &cobra.Command{Use: "options"}
	sharedFlags(s, built)
	addContext(s)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
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
