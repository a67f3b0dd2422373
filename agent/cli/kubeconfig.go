package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/output"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
)

func newKubeconfig(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "kubeconfig NAMESPACE/NAME",
		GroupID: groupLook,
		Short:   "Write the administrator's kubeconfig of a cluster",
		Long: `Write the administrator's kubeconfig of a cluster.

It comes from the secret store of the agent, so this runs where the agent's
secrets are: with the same --source, or the same --secrets.`,
		Example: `  fairlead kubeconfig prod/eu-1 --source ./fleet > eu-1.kubeconfig
  kubectl --kubeconfig eu-1.kubeconfig get nodes`,
		Args: args(cobra.ExactArgs(1)),
	}
	f := addSource(cmd, built)
	f.addSecrets(cmd)
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		k, err := fleet.ParseKey(argv[0])
		if err != nil {
			return &usageError{err}
		}
		w, err := wiring.OpenRuntime(cmd.Context(), f.from(nil, quiet(cmd.ErrOrStderr())), wiring.ReadOnly, nil)
		if err != nil {
			return err
		}
		defer w.Close()
		d, err := w.Secrets.Get(cmd.Context(), k, fleet.Kubeconfig)
		if fleet.KindOf(err) == fleet.NotFound {
			return fmt.Errorf("there is no kubeconfig of %s here: is it the right --source or --secrets, and has the cluster got that far?", k)
		}
		if err != nil {
			return err
		}
		_, err = output.Exact(cmd.OutOrStdout()).Write(d[fleet.KubeconfigKey].Reveal())
		return err
	}
	return cmd
}
