package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/output"
)

// outputFlag adds -o to cmd, and returns its value.
func outputFlag(cmd *cobra.Command, allowed ...output.Format) *string {
	names := make([]string, len(allowed))
	for i, f := range allowed {
		names[i] = string(f)
	}
	out := cmd.Flags().StringP("output", "o", names[0], "how to show it: "+strings.Join(names, ", "))
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(names, *out) {
			return &usageError{fmt.Errorf("there is no output %q here: use one of %s", *out, strings.Join(names, ", "))}
		}
		return nil
	}
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return out
}
