package wiring

import (
	"context"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/reconcile"
	"fairlead.dev/sources/status"
)

// RecordedLooker returns what looks at clusters as s tells of them: no cloud, no cluster and
// no secret store is asked. What s does not tell counts as well: shared infrastructure that
// was ready is as Git said then.
func (w *Runtime) RecordedLooker(s status.Status, now func() time.Time) *reconcile.Looker {
	return reconcile.NewLooker(reconcile.LookerOptions{
		Infrastructure: func(name string) (providers.Observer, error) { return recorded{s, name}, nil },
		Workload:       w.Workload, Distributions: w.built.distributions(w.Workload), Limits: w.built.limits(), Secrets: emptyWorld{}, Now: now,
	})
}

// recorded is what a provider had when an agent looked last.
type recorded struct {
	status   status.Status
	provider string
}

// Observe implements providers.Observer.
func (r recorded) Observe(_ context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	if err := r.status.DamageOf(c.Key); err != nil {
		return fleet.Infrastructure{}, err
	}
	one, known := r.status.Cluster(c.Key)
	if !known {
		return fleet.Infrastructure{}, nil // no look found anything of it
	}
	report := one.Report
	first := r.provider == report.Provider || report.Provider == ""
	var out fleet.Infrastructure
	for _, m := range report.Machines {
		guest := m.Machine.Provider
		if first && guest == "" || guest == r.provider {
			m.Machine.Provider = ""
			out.Machines = append(out.Machines, m.Machine)
		}
	}
	out.Exists = len(out.Machines) > 0
	if !first {
		out.Ready = out.Exists
		return out, nil
	}
	for _, cond := range report.Conditions {
		if cond.Type == clusterv1.ClusterInfrastructureReadyCondition {
			out.Ready, out.Message = cond.Status == fleet.True, cond.Message
		}
	}
	out.Exists = out.Exists || out.Ready
	out.Endpoint = report.Endpoint
	for _, p := range report.Residence.Places {
		out.Places = append(out.Places, fleet.PlaceSeen{Place: p, Used: true, Named: true})
	}
	return out, nil
}
