package cli

import (
	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/wiring/demo"
)

func newDemo(p Program) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:     "demo",
		GroupID: groupRun,
		Short:   "Run a one-minute demo",
		Long: `Run a one-minute demo: create a Git repository with an example fleet, serve it on this
computer, start an agent, and push two clusters, more workers, a Kubernetes upgrade
that is planned on a branch first, a mistake, its fix, and a deletion.

The machines are simulated, everything else is real. Each step is verified on the status
branch and at the API servers; the exit code is 0 if all succeed. The demo needs git,
and no cloud, credentials or containers.`,
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
	cmd.Flags().BoolVar(&keep, "keep", false, "keep everything running at the end")
	settings(cmd, "keep")
	return cmd
}
