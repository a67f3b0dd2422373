package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/render/decode"
)

func newExplain(built wiring.Built) *cobra.Command {
	var version string
	cmd := &cobra.Command{
		Use:     "explain KIND[.FIELD]",
		GroupID: groupWrite,
		Short:   "Show which fields of a kind are supported",
		Long: `Show what Fairlead does with a field of a manifest and with all fields below it. An
honoured field changes what Fairlead does, in part if a note says so. A refused field is
an error in 'fairlead validate'. A field with no effect is ignored.

The default is the newest version of the kind. For the descriptions of fields see the API
reference of Cluster API and of its providers. docs/reference/mutability.md lists what
a change of each field does to machines.`,
		Example: `  fairlead explain MachineDeployment.spec
  fairlead explain KubeadmControlPlane.spec.rollout
  fairlead explain OpenStackMachineTemplate --api-version v1beta1`,
		Args: args(cobra.ExactArgs(1)),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown)
	cmd.Flags().StringVar(&version, "api-version", "", "version of the kind, such as v1beta1 (default: the newest)")
	settings(cmd, "api-version")
	cmd.ValidArgsFunction = func(_ *cobra.Command, argv []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		d, err := explainer(built)
		if err != nil || len(argv) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return d.Kinds(), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		d, err := explainer(built)
		if err != nil {
			return err
		}
		e, err := d.Explain(argv[0], version)
		if err != nil {
			return err
		}
		t := output.Table{Header: []string{"FIELD", "SUPPORT", "NOTE"}}
		for _, f := range e.Fields {
			t.Add(f.Path, f.Support, f.Note)
		}
		if output.Format(*form) == output.FormatTable {
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n\n", e.Kind, e.APIVersion)
		}
		return t.Write(cmd.OutOrStdout(), output.Format(*form), e)
	}
	return cmd
}

// explainer returns the decoder of the kinds that are built in.
func explainer(built wiring.Built) (*decode.Decoder, error) {
	registry, err := built.Registry()
	if err != nil {
		return nil, err
	}
	return decode.New("", registry.Kinds()), nil
}
