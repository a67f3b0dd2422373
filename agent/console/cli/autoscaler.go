package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/wiring"
)

// autoscalerFlags say where an agent serves cluster-autoscaler.
type autoscalerFlags struct{ wiring.Autoscaler }

func (f *autoscalerFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.Address, "autoscaler-listen", "", "address of the externalgrpc provider for cluster-autoscaler, such as :8086; empty disables it")
	fs.StringVar(&f.Files.Certificate, "autoscaler-cert", "", "server certificate for autoscalers (PEM)")
	fs.StringVar(&f.Files.Key, "autoscaler-key", "", "private key of that certificate (PEM)")
	fs.StringVar(&f.Files.ClientCA, "autoscaler-ca-cert", "", "CA bundle for client certificates of autoscalers (PEM)")
	needs(cmd, "autoscaler-listen", "autoscaler-cert", "autoscaler-key", "autoscaler-ca-cert")
}

// check returns an error for flags that cannot be used.
func (f *autoscalerFlags) check() error {
	if f.Address != "" && (f.Files.Certificate == "" || f.Files.Key == "" || f.Files.ClientCA == "") {
		return &usageError{errors.New("--autoscaler-listen requires --autoscaler-cert, --autoscaler-key and --autoscaler-ca-cert: a client certificate identifies the cluster that may be scaled")}
	}
	return nil
}
