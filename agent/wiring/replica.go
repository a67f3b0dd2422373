package wiring

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"

	"fairlead.dev/agent"
	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/agent/ownership/replicas"
	"fairlead.dev/fleet"
)

// Replicas say how the processes of one agent choose the one that acts. The zero Replicas
// are one process.
type Replicas struct {
	Elect     bool   // a leader, by a Lease in the cluster that keeps the secrets
	Namespace string // of the Lease; empty: that of the pod or kubeconfig
	Lease     string // its name; empty: that of the agent
	Timing    replicas.Timing
	Name      string // of this replica, for people
	Address   string // host at which the others reach this replica
}

// A replica is this process among those of one agent. Without leader election
// it is the only one.
type replica struct {
	o     Replicas
	scale Autoscaler
	port  string // at which replicas hear webhooks
	log   *slog.Logger
	over  func() // is called when this replica does not lead any more; nil: nothing is

	identity string
	agent    atomic.Pointer[agent.Agent] // nil: another replica leads
	leader   atomic.Pointer[string]
}

// lead runs an agent until ctx ends, or the term that guard tells of.
func (r *replica) lead(ctx context.Context, s Settings, o agent.Options, w *Runtime, m *metrics.Metrics, guard func() error) error {
	o.Guard = guard
	a, err := NewAgent(s, o, w, m) //nolint:contextcheck // it opens the status branch when it runs
	if err != nil {
		return err
	}
	r.agent.Store(a)
	defer r.agent.Store(nil)
	if r.over != nil {
		defer r.over()
	}
	defer m.SetOwner(fleet.Owner{})
	return r.scale.run(ctx, a, s.Built, s.Log)
}

// run takes part in the work until ctx ends.
func (r *replica) run(ctx context.Context, s Settings, o agent.Options, w *Runtime, m *metrics.Metrics) error {
	if !r.o.Elect {
		return r.lead(ctx, s, o, w, m, nil)
	}
	_, kubeconfig, _ := strings.Cut(s.Secrets, ":")
	c, err := replicas.Connect(kubeconfig, r.o.Timing)
	if err != nil {
		return err
	}
	c.Namespace = cmp.Or(r.o.Namespace, c.Namespace)
	lease := cmp.Or(r.o.Lease, o.Name)
	s.Lease = Lease{Namespace: c.Namespace, Name: lease}
	r.log, r.identity = s.Log, replicas.NewIdentity(r.o.Name, r.o.Address)
	e, err := replicas.NewElector(replicas.ElectionOptions{
		Leases: c.Leases, Namespace: c.Namespace, Name: lease,
		Identity: r.identity, Timing: r.o.Timing, OnLeader: func(id string) { r.leader.Store(&id) }, Log: s.Log,
	})
	if err != nil {
		return err
	}
	return e.Run(ctx, func(ctx context.Context, t *replicas.Term) error {
		return r.lead(ctx, s, o, w, m, t.Leading)
	})
}

// Leader returns where the leader hears webhooks, and whether that is this
// replica. A leader that does not act yet polls when it begins.
func (r *replica) Leader() (address string, self bool) {
	if r.agent.Load() != nil {
		return "", true
	}
	if id := r.leader.Load(); id != nil && *id != r.identity {
		return replicas.At(*id, r.port), false
	}
	return "", false
}

// leads says for people who leads.
func (r *replica) leads() string {
	if r.agent.Load() != nil {
		return "this process works on the fleet"
	}
	switch id := r.leader.Load(); {
	case id == nil:
		return "no leader was seen yet"
	case *id == r.identity:
		return "this process leads, and does not act yet"
	default:
		return "this process follows " + *id
	}
}

// queued returns how many clusters wait for a pass in this replica.
func (r *replica) queued() int {
	if a := r.agent.Load(); a != nil {
		return a.Queued()
	}
	return 0
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
	if r.leader.Load() == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, "not ready: no leader was seen yet")
		return
	}
	fmt.Fprintln(w, "ready: "+r.leads())
}
