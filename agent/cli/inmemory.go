package cli

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"fairlead.dev/agent"
	"fairlead.dev/providers/infrastructure/inmemory"
)

func newInMemory() *cobra.Command {
	var listen, format, level string
	cmd := &cobra.Command{
		Use:     "inmemory",
		GroupID: groupRun,
		Short:   "Run the in-memory cloud as a process of its own",
		Long: `Run the in-memory cloud as a process of its own.

Its machines live as long as the process. An agent uses it with --inmemory-url,
and can be killed and started again without losing a machine.`,
		Example: `  fairlead inmemory --listen 127.0.0.1:8090 &
  fairlead agent --source ./fleet --inmemory-url http://127.0.0.1:8090`,
		Args: args(cobra.NoArgs),
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8090", "address to serve on")
	cmd.Flags().StringVar(&format, "log-format", "text", "text or json")
	cmd.Flags().StringVar(&level, "log-level", "info", "debug, info, warn or error")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		log, err := newLogger(cmd.ErrOrStderr(), format, level)
		if err != nil {
			return err
		}
		l, err := (&net.ListenConfig{}).Listen(cmd.Context(), "tcp", listen)
		if err != nil {
			return fmt.Errorf("cannot serve: %w", err)
		}
		cloud := inmemory.NewCloud(inmemory.CloudOptions{Log: log})
		defer cloud.Close()
		log.Info("serving the in-memory cloud", "url", "http://"+l.Addr().String())
		return agent.Serve(cmd.Context(), l, inmemory.Handler(cloud), log)
	}
	return cmd
}
