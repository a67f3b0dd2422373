package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"fairlead.dev/fleet"
)

func newBootstrap(p Program) *cobra.Command {
	m := &moveCommand{program: p, local: true}
	var home string
	cmd := &cobra.Command{
		Use:     "bootstrap --source URL --home NAMESPACE/CLUSTER",
		GroupID: groupRun,
		Short:   "Create the home cluster from this machine and move the agent into it",
		Long: `Create the home cluster from this machine and move the agent into it.

An agent in this process creates the control plane of the home, installs the chart
there, copies the secrets, and hands the fleet over with one push. The new owner
creates everything else. Then the command writes the kubeconfig of the home and
deletes the secrets here. Run it again to continue after an interruption.

--dry-run shows completed and remaining steps. --undo reverts them until the hand-over;
after it, use ` + "`" + `fairlead pivot --here` + "`" + `: docs/operations/pivot.md. --identity-file
restores a lost home from escrow: docs/operations/disaster-recovery.md.`,
		Example: `  fairlead bootstrap --source https://git.example.com/fleet.git --home ops/home \
    --addons cni.yaml --image registry.example.com/fairlead:v1.0.0
  fairlead bootstrap --source https://git.example.com/fleet.git --home ops/home \
    --addons cni.yaml --image registry.example.com/fairlead:v1.0.0 \
    --identity-file escrow.txt --take-over home.ops.home@3`,
		Args:        args(cobra.NoArgs),
		Annotations: map[string]string{grouped: "true"},
	}
	m.add(cmd)
	m.addHome(cmd)
	hostname, _ := os.Hostname() // without a host name people have to give --name
	cmd.Flags().StringVar(&home, "home", "", "home cluster, NAMESPACE/CLUSTER")
	cmd.Flags().StringVar(&m.name, "name", hostname, "name of the agent in this process")
	cmd.Flags().StringVar(&m.takeOver, "take-over", "", "owner to replace, AGENT@EPOCH as fairlead status shows it. Make sure that it does not run")
	confirms(cmd, "take-over")
	cmd.Flags().Lookup("name").DefValue = "the host name"
	m.recovery.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if home == "" {
			return &usageError{errors.New("missing --home NAMESPACE/CLUSTER")}
		}
		k, err := fleet.ParseKey(home)
		if err != nil {
			return &usageError{fmt.Errorf("--home: %w", err)}
		}
		if err := checkOneLocation(m.recovery.location); err != nil {
			return err
		}
		return m.toHome(cmd, k)
	}
	return cmd
}

func newPivot(p Program) *cobra.Command {
	m := &moveCommand{program: p}
	var to string
	var here, exit bool
	cmd := &cobra.Command{
		Use:     "pivot --to NAMESPACE/CLUSTER | --here",
		GroupID: groupRun,
		Short:   "Move the agent to another cluster, or back to this machine",
		Long: `Move the agent to another cluster, or back to this machine. Clusters do not change.

The owner continues until the new agent has proven that it can act, and hands the
fleet over with one push. Run the command again to continue after an interruption.
--dry-run shows completed and remaining steps. --undo reverts them until the hand-over.

--secrets is the secret store of the current owner: a folder, or kubernetes:KUBECONFIG
for an agent in a cluster. With --here an agent in this process owns the fleet until it
is stopped, with its secrets in --into.`,
		Example: `  fairlead pivot --source https://git.example.com/fleet.git --to ops/home \
    --image registry.example.com/fairlead:v1.0.0
  fairlead pivot --source https://git.example.com/fleet.git \
    --secrets kubernetes:home.kubeconfig --here`,
		Args:        args(cobra.NoArgs),
		Annotations: map[string]string{grouped: "true"},
	}
	m.add(cmd)
	m.addHome(cmd)
	hostname, _ := os.Hostname()
	fs := cmd.Flags()
	fs.StringVar(&to, "to", "", "home cluster, NAMESPACE/CLUSTER")
	fs.BoolVar(&here, "here", false, "move the fleet to an agent in this process")
	fs.StringVar(&m.into, "into", "", "folder for secrets with --here (default: a folder for the source in ~/.local/state/fairlead)")
	fs.BoolVar(&exit, "exit", false, "with --here, exit once the agent acts: then no agent runs")
	confirms(cmd, "here", "exit")
	fs.StringVar(&m.name, "name", hostname, "name of the agent in this process, with --here")
	fs.Lookup("name").DefValue = "the host name"
	needs(cmd, "here", "into", "exit")
	unusedWith(cmd, "here", "to", "addons", "image", "values", "namespace", "release", "kubeconfig")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !here && to == "" {
			return &usageError{fmt.Errorf("missing --to NAMESPACE/CLUSTER or --here")}
		}
		if here {
			return m.toHere(cmd, exit)
		}
		k, err := fleet.ParseKey(to)
		if err != nil {
			return &usageError{fmt.Errorf("--to: %w", err)}
		}
		return m.toHome(cmd, k)
	}
	return cmd
}
