package reconcile

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/exec"
	"fairlead.dev/reconcile/plan"
)

// A Result is what came of one pass.
type Result struct {
	// Report has no Phase where the cluster could not be looked at, not now and
	// not before: then it tells of nothing but the failure.
	Report fleet.Report
	Plan   plan.Plan
	// Observed is what was seen; zero where the cluster could not be looked at.
	Observed fleet.Observed
	// After is when to look again where neither an event nor a regular look comes
	// first; zero means that nothing is due.
	After time.Duration
	// Err joins what went wrong, in full. What of it does not change from one pass to
	// the next is in Report.Failure too.
	Err error
}

// NotAfter says when certificates of the cluster expire, by what they are for:
// CA certificates, the kubeconfig, "apiserver" for what the API server serves with, and
// "machines" for the first that a distribution warns of. It is nil where the cluster could not be looked at.
func (r Result) NotAfter() map[string]time.Time {
	if r.Observed.At.IsZero() {
		return nil
	}
	out := make(map[string]time.Time, 5)
	for name, at := range r.Observed.Secrets.NotAfter {
		out[string(name)] = at
	}
	if at := r.Observed.Secrets.Kubeconfig.NotAfter; !at.IsZero() {
		out[string(fleet.Kubeconfig)] = at
	}
	if at := r.Observed.Workload.NotAfter; !at.IsZero() {
		out["apiserver"] = at
	}
	if at := firstWarned(r.Observed.Workload.Nodes); !at.IsZero() {
		out["machines"] = at
	}
	return out
}

// lasting returns what of NotAfter is the same whichever server answers: each has its own
// certificate, and a report of passes that find the same is to be the same.
func (r Result) lasting() map[string]time.Time {
	out := r.NotAfter()
	delete(out, "apiserver")
	return out
}

// firstWarned returns when the first certificate expires that a distribution warns of;
// zero where there is none.
func firstWarned(nodes []fleet.Node) time.Time {
	var first time.Time
	for i := range nodes {
		if at := nodes[i].CertificatesNotAfter; !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// failed joins what went wrong with actions.
func failed(out []exec.Outcome) error {
	var errs []error
	for _, o := range out {
		errs = append(errs, o.Err)
	}
	return errors.Join(errs...)
}

// afterFailure returns when to look again after a pass of which something
// failed, which is to be tried again after wait: sooner where the rest goes on.
func (res *Result) afterFailure(wait time.Duration) time.Duration {
	if len(res.Report.Actions) > 0 {
		wait = min(wait, res.After)
	}
	if res.Plan.After > 0 {
		wait = min(wait, res.Plan.After)
	}
	return wait
}

func (res *Result) report(o fleet.Observed) {
	res.Report.Phase = res.Plan.Phase
	res.Report.Conditions = res.Plan.Conditions
	res.Report.Endpoint = endpoint(res.Plan.Desired, &o)
	if o.ControlPlane != nil {
		res.Report.Version = cmp.Or(o.Workload.Version, o.ControlPlane.Version, res.Report.Version)
	}
	res.Report.Pools = res.Plan.Pools
	res.Report.Machines = res.Plan.Machines
	res.Report.Addons = res.Plan.Addons
	res.Report.Hosts = o.Infrastructure.Hosts
	res.Report.Waiting = slices.Compact(slices.Sorted(slices.Values(slices.Concat(res.Plan.Waiting, res.Plan.Notes))))
	res.Report.Memory = res.Plan.Memory
}

// joined joins errors in an order that depends on their texts alone, so that
// equal failures make equal reports.
func joined(errs []error) error {
	errs = slices.Clone(errs)
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}
