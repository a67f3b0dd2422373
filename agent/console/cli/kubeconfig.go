package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
)

func newKubeconfig(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "kubeconfig NAMESPACE/NAME",
		GroupID: groupLook,
		Short:   "Print the admin kubeconfig of a cluster",
		Long: `Print the admin kubeconfig of a cluster from the secret store of the agent. Use the same
--source or --secrets as the agent.

--merge adds it to your kubeconfig (the first file in KUBECONFIG, or ~/.kube/config) as
the context NAMESPACE-NAME, and keeps the rest of the file.`,
		Example: `  fairlead kubeconfig prod/eu-1 --merge && kubectl --context prod-eu-1 get nodes
  fairlead kubeconfig prod/eu-1 --source ./fleet > eu-1.kubeconfig
  kubectl --kubeconfig eu-1.kubeconfig get nodes`,
		Args: args(cobra.ExactArgs(1)),
	}
	f := addSource(cmd, built)
	f.addSecrets(cmd)
	f.complete(oneCluster(0))
	merge := cmd.Flags().Bool("merge", false, "add it to your kubeconfig as a context")
	settings(cmd, "merge")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		p := wholeOf(f.from(nil, quiet(cmd.ErrOrStderr())))
		if p.settings.Secrets == "" { // the store is that of the source
			var err error
			if p, err = f.here(cmd.Context(), nil); err != nil {
				return err
			}
		}
		k, err := p.keyOf(cmd.Context(), argv[0])
		if err != nil {
			return err
		}
		w, err := wiring.OpenRuntime(cmd.Context(), p.settings, wiring.ReadOnly, nil)
		if err != nil {
			return err
		}
		defer w.Close()
		d, err := w.Secrets.Get(cmd.Context(), k, fleet.Kubeconfig)
		if fleet.KindOf(err) == fleet.NotFound {
			return p.noKubeconfig(k)
		}
		if err != nil {
			return err
		}
		if *merge {
			file, err := ownKubeconfig()
			if err != nil {
				return err
			}
			name, err := mergeKubeconfig(file, k, d[fleet.KubeconfigKey])
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "context %[2]s added to %[1]s\n", file, name)
			return nil
		}
		_, err = output.Exact(cmd.OutOrStdout()).Write(d[fleet.KubeconfigKey].Reveal())
		return err
	}
	return cmd
}

// noKubeconfig returns the error for a secret store without the kubeconfig of k.
func (p selection) noKubeconfig(k fleet.Key) error {
	store, exists, err := p.settings.SecretStore()
	switch {
	case err != nil:
		return err
	case !exists:
		return fmt.Errorf("kubeconfig of cluster %q not found: secret store %s does not exist. Set --source or --secrets as for the agent", k, store)
	}
	return fmt.Errorf("kubeconfig of cluster %q not found in secret store %s. Set --source or --secrets as for the agent. The kubeconfig exists once the control plane is being created", k, store)
}

// keyOf returns the cluster called name. A name without a namespace is that of the one cluster
// that the status branch has with it, and where the branch cannot be read one of "default".
func (p selection) keyOf(ctx context.Context, name string) (fleet.Key, error) {
	if !strings.Contains(name, "/") {
		if branch, err := p.branch(ctx, ""); err == nil {
			if s, err := p.settings.ReadStatus(ctx, branch); err == nil && len(s.Clusters) > 0 {
				return find(s, name)
			}
		}
	}
	k, err := fleet.ParseKey(name)
	if err != nil {
		return k, &usageError{err}
	}
	return k, nil
}
