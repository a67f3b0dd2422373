package cli

import (
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
		Short:   "Bring a fleet to life from here, and move into its home cluster",
		Long: `Bring a fleet to life from here, and move into its home cluster.

An agent in this process makes the control plane of the home cluster, which is a
cluster of the fleet like any other. Then the agent's chart is installed there,
all secrets are moved and compared, the fleet is handed over in one push, and the
new owner makes the workers and everything else. At the end the kubeconfig of the
home is written, and the secrets here are removed.

Nothing is remembered: killed at any time, the same command goes on. --dry-run
says what is done and what is to come. Before the hand-over --undo takes it back;
after it, ` + "`fairlead pivot --here`" + ` brings the fleet back. docs/operations/pivot.md tells more.

Where the home is gone, with the agent and the Secrets in it, --identity-file
restores the secrets from escrow first and shows the plan, which must be empty but
for the home; --take-over names the agent that is gone. docs/operations/disaster-recovery.md
tells more.`,
		Example: `  fairlead bootstrap --source https://git.example.com/fleet.git --token-file token \
    --home ops/home --addons cni.yaml --image registry.example.com/fairlead:v1.0.0
  fairlead bootstrap --source https://git.example.com/fleet.git --token-file token --home ops/home --addons cni.yaml \
    --image registry.example.com/fairlead:v1.0.0 --identity-file escrow.txt --take-over home.ops.home@3`,
		Args: args(cobra.NoArgs),
	}
	m.add(cmd)
	m.addHome(cmd)
	hostname, _ := os.Hostname() // without a host name people have to give --name
	cmd.Flags().StringVar(&home, "home", "", "cluster to live in, NAMESPACE/CLUSTER")
	cmd.Flags().StringVar(&m.name, "name", hostname, "name of the agent in this process")
	cmd.Flags().StringVar(&m.takeOver, "take-over", "", "owner that is gone and cannot be asked, AGENT@EPOCH as the status branch tells it: take its place first. Be sure that it is gone")
	confirms(cmd, "take-over")
	cmd.Flags().Lookup("name").DefValue = "the host name"
	m.recovery.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		k, err := fleet.ParseKey(home)
		if err != nil {
			return &usageError{fmt.Errorf("--home: %w", err)}
		}
		if err := m.recovery.check(); err != nil {
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
		Short:   "Move the agent of a fleet to another cluster, or here",
		Long: `Move the agent of a fleet to another cluster, or here.

The owner goes on until the new agent has proven that it can act, and makes the
push that hands the fleet over itself. No machine is touched.

--secrets names the secret store of the agent that owns the fleet: a folder, or
kubernetes:KUBECONFIG where that agent lives in a cluster. With --here the fleet
comes to an agent in this process, which goes on until it is stopped; its secrets
come into --into.

Nothing is remembered: killed at any time, the same command goes on. --dry-run
says what is done and what is to come. Before the hand-over --undo takes it back.`,
		Example: `  fairlead pivot --source https://git.example.com/fleet.git --to ops/home --image registry.example.com/fairlead:v1.0.0
  fairlead pivot --source https://git.example.com/fleet.git --secrets kubernetes:home.kubeconfig --here`,
		Args: args(cobra.NoArgs),
	}
	m.add(cmd)
	m.addHome(cmd)
	hostname, _ := os.Hostname()
	fs := cmd.Flags()
	fs.StringVar(&to, "to", "", "cluster to live in, NAMESPACE/CLUSTER")
	fs.BoolVar(&here, "here", false, "bring the fleet to an agent in this process")
	fs.StringVar(&m.into, "into", "", "with --here, folder for the secrets (default: a folder for the source in ~/.local/state/fairlead)")
	fs.BoolVar(&exit, "exit", false, "with --here, end once the agent acts, though nobody does then")
	confirms(cmd, "here", "exit")
	fs.StringVar(&m.name, "name", hostname, "with --here, name of the agent in this process")
	fs.Lookup("name").DefValue = "the host name"
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if here == (to != "") {
			return &usageError{fmt.Errorf("say where the fleet is to go: --to NAMESPACE/CLUSTER or --here")}
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
