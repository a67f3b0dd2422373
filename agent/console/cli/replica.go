package cli

import (
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/ownership/replicas"
	"fairlead.dev/agent/wiring"
)

// replicaFlags say how the replicas of one agent choose the one that acts.
type replicaFlags struct{ wiring.Replicas }

func (f *replicaFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.Elect, "leader-election", false, "elect a leader among replicas of the same --name; requires --secrets kubernetes")
	settings(cmd, "leader-election")
	fs.StringVar(&f.Lease, "leader-election-lease", "", "name of the Lease (default: --name)")
	fs.StringVar(&f.Namespace, "leader-election-namespace", os.Getenv("POD_NAMESPACE"), "namespace of the Lease (default: POD_NAMESPACE, or that of the pod or kubeconfig)")
	fs.DurationVar(&f.Timing.Duration, "leader-election-lease-duration", replicas.DefaultDuration, "duration of the leader election lease")
	fs.DurationVar(&f.Timing.Deadline, "leader-election-renew-deadline", replicas.DefaultDeadline, "time limit of the leader to renew the lease")
	fs.DurationVar(&f.Timing.Retry, "leader-election-retry-period", replicas.DefaultRetry, "interval between renewals and between attempts to lead")
	hostname, _ := os.Hostname()
	fs.StringVar(&f.Name, "replica-name", orElse(os.Getenv("POD_NAME"), hostname), "name of this replica in logs and status (default: POD_NAME, or the host name)")
	fs.StringVar(&f.Address, "replica-address", orElse(os.Getenv("POD_IP"), "127.0.0.1"), "address of this replica for other replicas (default: POD_IP, or 127.0.0.1)")
	needs(cmd, "leader-election", "leader-election-lease", "leader-election-namespace", "leader-election-lease-duration",
		"leader-election-renew-deadline", "leader-election-retry-period", "replica-name", "replica-address")
	fs.Int("shards", 0, "no effect")
	fs.String("replica-listen", "", "no effect")
	for _, name := range []string{"shards", "replica-listen"} {
		_ = fs.MarkDeprecated(name, "it has no effect: the leader reconciles all clusters, and the other replicas stand by")
	}
	for _, name := range []string{"leader-election-namespace", "replica-name", "replica-address"} {
		fs.Lookup(name).DefValue = "" // of the machine, which documentation cannot know
	}
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// check returns an error for flags that cannot be used.
func (f *replicaFlags) check(s wiring.Settings) error {
	if !f.Elect {
		return nil
	}
	if kind, _, _ := strings.Cut(s.Secrets, ":"); kind != "kubernetes" {
		return &usageError{fmt.Errorf("--leader-election requires --secrets kubernetes, which all replicas share")}
	}
	if err := f.Timing.Check(); err != nil {
		return &usageError{fmt.Errorf("--leader-election-…: %w", err)}
	}
	if net.ParseIP(strings.Trim(f.Address, "[]")) == nil && strings.ContainsAny(f.Address, ":_/") {
		return &usageError{fmt.Errorf("invalid --replica-address %q: must be a host without a port", f.Address)}
	}
	return nil
}
