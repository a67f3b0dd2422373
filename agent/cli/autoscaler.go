package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/oklog/run"
	"github.com/spf13/cobra"

	"fairlead.dev/agent"
	"fairlead.dev/agent/autoscaler"
)

// autoscalerFlags say where an agent answers cluster-autoscalers.
type autoscalerFlags struct {
	listen string
	files  autoscaler.Files
}

func (f *autoscalerFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.listen, "autoscaler-listen", "", "address on which cluster-autoscaler finds its externalgrpc cloud provider, such as :8086; empty for none")
	fs.StringVar(&f.files.Certificate, "autoscaler-cert", "", "file with the certificate to show to autoscalers, PEM")
	fs.StringVar(&f.files.Key, "autoscaler-key", "", "file with its key, PEM")
	fs.StringVar(&f.files.ClientCA, "autoscaler-ca-cert", "", "file with the authorities that sign the certificates of autoscalers, PEM")
}

// check says what is wrong with the flags.
func (f *autoscalerFlags) check() error {
	given := 0
	for _, file := range []string{f.files.Certificate, f.files.Key, f.files.ClientCA} {
		if file != "" {
			given++
		}
	}
	switch {
	case f.listen == "" && given > 0:
		return &usageError{errors.New("certificates for autoscalers are given, and no address to serve them on: add --autoscaler-listen :8086")}
	case f.listen != "" && given < 3:
		return &usageError{errors.New("--autoscaler-listen needs --autoscaler-cert, --autoscaler-key and --autoscaler-ca-cert: who may scale a cluster is told by certificate")}
	}
	return nil
}

// run runs a, and answers autoscalers as long as it does: of several replicas the
// one that leads.
func (f *autoscalerFlags) run(ctx context.Context, a *agent.Agent, log *slog.Logger) error {
	if f.listen == "" {
		return a.Run(ctx)
	}
	server, err := autoscaler.New(a, f.files, log)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("cannot serve autoscalers: %w", err)
	}
	log.Info("serving autoscalers", "address", l.Addr().String())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g run.Group
	g.Add(func() error { return a.Run(ctx) }, func(error) { cancel() })
	g.Add(func() error { return server.Serve(ctx, l) }, func(error) { cancel() })
	return g.Run()
}
