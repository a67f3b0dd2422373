package cli

import (
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/observability/server"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/providers/infrastructure/inmemory"
)

func newInMemory() *cobra.Command {
	var listen, format, level string
	cmd := &cobra.Command{
		Use:     "inmemory",
		GroupID: groupRun,
		Short:   "Run the in-memory infrastructure as a separate process",
		Long: `Run the in-memory infrastructure as a separate process. Its machines exist as long as
the process. An agent with --inmemory-url can be restarted without losing them.`,
		Example: `  fairlead inmemory --listen 127.0.0.1:8090 &
  fairlead agent --source ./fleet --inmemory-url http://127.0.0.1:8090`,
		Args: args(cobra.NoArgs),
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8090", "address to serve on")
	cmd.Flags().StringVar(&format, "log-format", "text", "log format: text or json")
	cmd.Flags().StringVar(&level, "log-level", "info", "log level: debug, info, warn or error")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		log, err := newLogger(cmd.ErrOrStderr(), format, level)
		if err != nil {
			return err
		}
		l, err := server.Listen(cmd.Context(), "listen", listen)
		if err != nil {
			return err
		}
		cloud := inmemory.NewCloud(inmemory.CloudOptions{Log: log})
		defer cloud.Close()
		log.Info("serving the in-memory cloud", "url", "http://"+l.Addr().String())
		return server.Serve(cmd.Context(), l, inmemory.Handler(cloud), server.Options{Log: log})
	}
	return cmd
}

const serveInMemory = "serve-inmemory"

// inMemoryFlags say whether an agent serves its in-memory cloud. Every process that reaches it can
// create and delete its machines, without authentication.
type inMemoryFlags struct {
	serve bool
	asked bool // the flag is on the command line
}

func (f *inMemoryFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.serve, serveInMemory, false, "serve the in-memory cloud of this agent under /inmemory/ of --listen, without authentication")
	settings(cmd, serveInMemory)
	cmd.Flags().Lookup(serveInMemory).DefValue = "where the source is on this computer and --listen is of it alone"
}

// served reports whether the agent of s, listening at address, serves its in-memory cloud.
// By default it does so only for a fleet in a folder, on this computer alone.
func (f *inMemoryFlags) served(s wiring.Settings, address string) (bool, error) {
	elsewhere := s.Providers[inmemory.ProviderName][inmemory.SettingURL] != ""
	if f.asked {
		if f.serve && elsewhere {
			return false, &usageError{fmt.Errorf("--%s and --inmemory-url are both set: use one of them", serveInMemory)}
		}
		return f.serve, nil
	}
	local := wiring.IsFolder(s.Source) || strings.HasPrefix(s.Source, "file://")
	return local && !elsewhere && loopback(address), nil
}

// loopback reports whether only this computer can reach address.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
