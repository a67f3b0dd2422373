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
	fs.StringVar(&f.Address, "autoscaler-listen", "", "address on which cluster-autoscaler finds its externalgrpc cloud provider, such as :8086; empty for none")
	fs.StringVar(&f.Files.Certificate, "autoscaler-cert", "", "file with the certificate to show to autoscalers, PEM")
	fs.StringVar(&f.Files.Key, "autoscaler-key", "", "file with its key, PEM")
	fs.StringVar(&f.Files.ClientCA, "autoscaler-ca-cert", "", "file with the authorities that sign the certificates of autoscalers, PEM")
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
		return &usageError{errors.New("certificates for autoscalers are given, and no address to serve them on: add --autoscaler-listen :8086")}
	case f.Address != "" && given < 3:
		return &usageError{errors.New("--autoscaler-listen needs --autoscaler-cert, --autoscaler-key and --autoscaler-ca-cert: who may scale a cluster is told by certificate")}
	}
	return nil
}
