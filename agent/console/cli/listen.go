package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/observability/server"
	"fairlead.dev/agent/secrets/certs"
	"fairlead.dev/agent/wiring"
)

// listenFlags say how the agent serves HTTP, and which clients may connect.
type listenFlags struct {
	files    certs.Files
	token    string
	clusters string // that have series of their own
}

// Which clusters have series of their own.
const (
	unhealthyClusters = "unhealthy"
	allClusters       = "all"
)

func (f *listenFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.clusters, "metrics-clusters", unhealthyClusters, "clusters that have series of their own at /metrics: unhealthy or all. Totals count all")
	_ = cmd.RegisterFlagCompletionFunc("metrics-clusters", cobra.FixedCompletions([]string{unhealthyClusters, allClusters}, cobra.ShellCompDirectiveNoFileComp))
	fs.StringVar(&f.files.Certificate, "listen-tls-cert", "", "server certificate of --listen (PEM). Without it: plain HTTP")
	fs.StringVar(&f.files.Key, "listen-tls-key", "", "private key of that certificate (PEM)")
	fs.StringVar(&f.files.ClientCA, "listen-client-ca", "", "CA bundle (PEM) for client certificates. If set, reading metrics requires a client certificate; health probes do not")
	fs.StringVar(&f.token, "listen-token-file", "", "file with bearer tokens, one per line. If set, reading metrics requires a token; health probes do not")
	needs(cmd, "listen", "metrics-clusters", "listen-tls-cert", "listen-tls-key", "listen-client-ca", "listen-token-file")
}

// check returns an error for flags that cannot be used with address.
func (f *listenFlags) check(address string) error {
	switch {
	case f.clusters != unhealthyClusters && f.clusters != allClusters:
		return &usageError{fmt.Errorf("invalid --metrics-clusters %q: must be one of %s, %s", f.clusters, unhealthyClusters, allClusters)}
	case (f.files.Certificate == "") != (f.files.Key == ""):
		return &usageError{errors.New("--listen-tls-cert and --listen-tls-key must be set together")}
	case f.files.ClientCA != "" && f.files.Certificate == "":
		return &usageError{errors.New("--listen-client-ca requires --listen-tls-cert and --listen-tls-key")}
	case f.token != "" && f.files.Certificate == "" && !loopback(address):
		return &usageError{errors.New("--listen-token-file requires --listen-tls-cert and --listen-tls-key: plain HTTP would expose the token")}
	}
	return nil
}

// pages returns the configuration of the HTTP server at address.
func (f *listenFlags) pages(address string, profiling bool) wiring.Pages {
	return wiring.Pages{
		Address: address, Certificates: f.files, Profiling: profiling, AllClusters: f.clusters == allClusters,
		Access: server.Access{Certificates: f.files.ClientCA != "", TokenFile: f.token},
	}
}
