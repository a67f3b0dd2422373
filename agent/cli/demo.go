package cli

import (
	"github.com/spf13/cobra"

	"fairlead.dev/agent/demo"
	"fairlead.dev/agent/output"
)

func newDemo(p Program) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:     "demo",
		GroupID: groupRun,
		Short:   "Watch pushes become running clusters, in a minute",
		Long: `Watch pushes become running clusters, in a minute.

The demonstration makes a Git repository of an example fleet, serves it over
HTTP on this computer, starts an agent, and pushes: two clusters, more workers, a
new Kubernetes version, whose plan is read on a branch before it is merged, a mistake,
its repair, a deletion. The machines are
simulated, everything else is real. A step counts only once it was seen on the
status branch and at the API servers of the clusters; the exit code is 0 only if
all were.

It needs git, and no cloud, credentials or containers.`,
		Example: `  fairlead demo
  fairlead demo --keep     leave it running, to try things`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			if f := output.Terminal(out); f != nil {
				out = f // a terminal that can be drawn on
			}
			err := demo.Run(cmd.Context(), demo.Options{Out: out, Width: output.Width(out), Keep: keep, Version: p.Version, Built: p.Built})
			if err != nil {
				return &exitError{exitFailure}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "leave everything running at the end and say what to try")
	settings(cmd, "keep")
	return cmd
}
