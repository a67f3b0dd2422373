package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"fairlead.dev/agent"
	"fairlead.dev/agent/metrics"
	"fairlead.dev/agent/replicas"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
)

// replicaFlags say how the replicas of one agent share its work.
type replicaFlags struct {
	elect     bool
	namespace string
	lease     string
	timing    replicas.Timing
	name      string // of this replica
	address   string // host at which the others reach this replica
	shards    int
	listen    string // for the other replicas
}

func (f *replicaFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.elect, "leader-election", false, "run beside replicas of the same --name, of which one leads; needs --secrets kubernetes")
	settings(cmd, "leader-election")
	fs.StringVar(&f.lease, "leader-election-lease", "", "name of the Lease (default: --name)")
	fs.StringVar(&f.namespace, "leader-election-namespace", os.Getenv("POD_NAMESPACE"), "namespace of the Lease (default: POD_NAMESPACE, or that of the pod or kubeconfig)")
	fs.DurationVar(&f.timing.Duration, "leader-election-lease-duration", replicas.DefaultDuration, "for which a silent leader is respected")
	fs.DurationVar(&f.timing.Deadline, "leader-election-renew-deadline", replicas.DefaultDeadline, "for which the leader acts without having renewed the Lease")
	fs.DurationVar(&f.timing.Retry, "leader-election-retry-period", replicas.DefaultRetry, "between renewals, and between tries to lead")
	hostname, _ := os.Hostname()
	fs.StringVar(&f.name, "replica-name", orElse(os.Getenv("POD_NAME"), hostname), "name of this replica, for people (default: POD_NAME, or the host name)")
	fs.StringVar(&f.address, "replica-address", orElse(os.Getenv("POD_IP"), "127.0.0.1"), "address at which other replicas reach this one (default: POD_IP, or 127.0.0.1)")
	fs.IntVar(&f.shards, "shards", 0, "parts that the clusters are divided into and the replicas share, about four for each replica; 0: the leader does all")
	fs.StringVar(&f.listen, "replica-listen", ":9293", "address on which replicas hear each other, where there are shards")
	for _, name := range []string{"leader-election-namespace", "replica-name", "replica-address"} {
		fs.Lookup(name).DefValue = "" // of the machine, which documentation cannot know
	}
}

// maxShards bounds the Leases of shards.
const maxShards = 1024

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// check says what is wrong with the flags.
func (f *replicaFlags) check(s wiring.Settings) error {
	switch {
	case f.shards < 0 || f.shards > maxShards:
		return &usageError{fmt.Errorf("--shards must be from 0 to %d", maxShards)}
	case f.shards > 1 && !f.elect:
		return &usageError{fmt.Errorf("--shards is for replicas: add --leader-election")}
	case !f.elect:
		return nil
	}
	if kind, _, _ := strings.Cut(s.Secrets, ":"); kind != "kubernetes" {
		return &usageError{fmt.Errorf("--leader-election needs secrets that all replicas share: add --secrets kubernetes")}
	}
	if err := f.timing.Check(); err != nil {
		return &usageError{fmt.Errorf("--leader-election-…: %w", err)}
	}
	if net.ParseIP(strings.Trim(f.address, "[]")) == nil && strings.ContainsAny(f.address, ":_/") {
		return &usageError{fmt.Errorf("--replica-address %q is no host: give it without a port", f.address)}
	}
	return nil
}

// A replica is this process among those of one agent. Without leader election
// it is the only one.
type replica struct {
	flags replicaFlags
	scale autoscalerFlags
	port  string // at which replicas hear webhooks
	log   *slog.Logger

	identity string
	agent    atomic.Pointer[agent.Agent] // nil: another replica leads
	leader   atomic.Pointer[string]
}

// lead runs an agent until ctx ends, or the term that guard tells of.
func (r *replica) lead(ctx context.Context, s wiring.Settings, o agent.Options, w *wiring.World, m *metrics.Metrics, guard func() error) error {
	o.Guard = guard
	a, err := wiring.NewAgent(s, o, w, m)
	if err != nil {
		return err
	}
	r.agent.Store(a)
	defer r.agent.Store(nil)
	defer m.SetOwner(fleet.Owner{})
	return r.scale.run(ctx, a, s.Log)
}

// run takes part in the work until ctx ends.
func (r *replica) run(ctx context.Context, s wiring.Settings, o agent.Options, w *wiring.World, m *metrics.Metrics) error {
	if !r.flags.elect {
		return r.lead(ctx, s, o, w, m, nil)
	}
	_, kubeconfig, _ := strings.Cut(s.Secrets, ":")
	c, err := replicas.Connect(kubeconfig, r.flags.timing)
	if err != nil {
		return err
	}
	c.Namespace = orElse(r.flags.namespace, c.Namespace)
	lease := orElse(r.flags.lease, o.Name)
	s.Lease = wiring.Lease{Namespace: c.Namespace, Name: lease}
	r.log, r.identity = s.Log, replicas.NewIdentity(r.flags.name, r.flags.address)
	var sharing *sharing
	if r.flags.shards > 1 {
		if sharing, err = r.share(ctx, c, lease, o, w, m); err != nil {
			return err
		}
		s.Passes = sharing.passes
		o.Workers *= r.flags.shards // that wait for an answer; each replica bounds its own
	}
	e, err := replicas.NewElector(replicas.ElectionOptions{
		Leases: c.Leases, Namespace: c.Namespace, Name: lease, Labels: replicas.Labels(lease),
		Identity: r.identity, Timing: r.flags.timing, OnLeader: func(id string) { r.leader.Store(&id) }, Log: s.Log,
	})
	if err != nil {
		return err
	}
	elect := func(ctx context.Context) error {
		return e.Run(ctx, func(ctx context.Context, t *replicas.Term) error {
			return r.lead(ctx, s, o, w, m, t.Leading)
		})
	}
	if sharing != nil {
		return sharing.run(ctx, r, elect)
	}
	return elect(ctx)
}

// Leader returns where the leader hears webhooks, and whether that is this
// replica.
func (r *replica) Leader() (address string, self bool) {
	if r.agent.Load() != nil {
		return "", true
	}
	if id := r.leader.Load(); id != nil {
		return replicas.At(*id, r.port), false
	}
	return "", false
}

// Poll makes the agent look at its source now, where it runs in this replica.
func (r *replica) Poll() {
	if a := r.agent.Load(); a != nil {
		a.Poll()
	}
}

// Writes reports whether the agent itself writes the branch of that name, as far
// as this replica knows.
func (r *replica) Writes(branch string) bool {
	a := r.agent.Load()
	return a != nil && a.Writes(branch)
}

// Wrote reports whether the agent pushed that commit to a branch of its own, as far
// as this replica knows.
func (r *replica) Wrote(branch, commit string) bool {
	a := r.agent.Load()
	return a != nil && a.Wrote(branch, commit)
}

// ServeHTTP answers whether the replica is ready: as the agent is, or to follow.
func (r *replica) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if a := r.agent.Load(); a != nil {
		a.Ready().ServeHTTP(w, req)
		return
	}
	switch id := r.leader.Load(); {
	case id != nil:
		fmt.Fprintln(w, "ready: following "+*id)
	default:
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, "not ready: no leader was seen yet")
	}
}
