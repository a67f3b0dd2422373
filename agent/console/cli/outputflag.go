package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
)

// outputFlag adds -o to cmd, and returns its value.
func outputFlag(cmd *cobra.Command, allowed ...output.Format) *string {
	names := make([]string, len(allowed))
	for i, f := range allowed {
		if names[i] = string(f); f == output.FormatJSONPath {
			names[i] += "=TEMPLATE"
		}
	}
	out := cmd.Flags().StringP("output", "o", names[0], "output format: "+strings.Join(names, ", "))
	cmd.PreRunE = func(*cobra.Command, []string) error {
		f := output.Format(*out)
		if err := f.Check(); err != nil {
			return &usageError{err}
		}
		if _, path := f.Template(); path && slices.Contains(allowed, output.FormatJSONPath) {
			return nil
		}
		if !slices.Contains(allowed, f) || f == output.FormatJSONPath {
			return &usageError{fmt.Errorf("invalid --output %q: must be one of %s", *out, strings.Join(names, ", "))}
		}
		return nil
	}
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return out
}
