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
}

// check returns an error for flags that cannot be used.
func (f *autoscalerFlags) check() error {
	given := 0
	for _, file := range []string{f.Files.Certificate, f.Files.Key, f.Files.ClientCA} {
		if file != "" {
			given++
		}
	}
	switch {
	case f.Address == "" && given > 0:
		return &usageError{errors.New("--autoscaler-cert, --autoscaler-key and --autoscaler-ca-cert require --autoscaler-listen, such as :8086")}
	case f.Address != "" && given < 3:
		return &usageError{errors.New("--autoscaler-listen requires --autoscaler-cert, --autoscaler-key and --autoscaler-ca-cert: a client certificate identifies the cluster that may be scaled")}
	}
	return nil
}
