package steps

import (
	"context"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// A Decision is what follows from an observation of what machines of a cluster share.
type Decision struct {
	Steps    []Step
	Waits    []string // what the infrastructure has to finish first, for people
	Faults   []error  // what cannot be done until Git changes, or somebody acts
	Missing  bool     // what the faults are about is essential
	Endpoint fleet.Endpoint
}

// Add adds a step.
func (d *Decision) Add(s Step) { d.Steps = append(d.Steps, s) }

// Wait notes what has to be finished first.
func (d *Decision) Wait(what string) { d.Waits = append(d.Waits, what) }

// Fault notes what is in the way of everything that follows from it.
func (d *Decision) Fault(err error) { d.Faults, d.Missing = append(d.Faults, err), true }

// CannotFollow notes that Git asks for a change that is impossible: what is there stays, and machines go on.
func (d *Decision) CannotFollow(field, format string, args ...any) {
	d.Faults = append(d.Faults, fleet.Errorf(fleet.Invalid, "change "+field, format, args...))
}

// Ready reports whether machines may be made. Before the first one, which started says, everything has to be there;
// later only what they cannot do without.
func (d *Decision) Ready(started bool) bool {
	if d.Missing || len(d.Waits) > 0 || d.Endpoint.IsZero() {
		return false
	}
	return !slices.ContainsFunc(d.Steps, func(s Step) bool { return s.Essential || !started && !s.Upkeep })
}

// Message says why it is not ready: faults and waits, else the next step.
func (d *Decision) Message() string {
	var out []string
	for _, err := range d.Faults {
		out = append(out, err.Error())
	}
	out = append(out, d.Waits...)
	if len(out) == 0 && len(d.Steps) > 0 {
		out = append(out, "next: "+d.Steps[0].What)
	}
	return strings.Join(out, "; ")
}

// Report enters into out, the infrastructure of a cluster, whether it is ready, why not, its endpoint, and once it
// is ready the drift: faults, steps, and those of cleaning, which nothing waits for.
func (d *Decision) Report(out *fleet.Infrastructure, started bool, cleaning []Step) {
	out.Endpoint = d.Endpoint
	if !out.Exists && len(d.Faults) == 0 {
		out.Endpoint = fleet.Endpoint{}
	}
	if out.Ready = d.Ready(started); !out.Ready {
		out.Message = d.Message()
		return
	}
	for _, err := range d.Faults {
		out.Drift = append(out.Drift, err.Error())
	}
	for _, s := range slices.Concat(d.Steps, cleaning) {
		out.Drift = append(out.Drift, s.What)
		if s.Upkeep {
			out.Upkeep = append(out.Upkeep, s.What)
		}
	}
	slices.Sort(out.Drift)
	slices.Sort(out.Upkeep)
}

// Ensure performs what decide finds, as Perform does, and then each step of cleaning. It returns the errors, with the
// faults of the last decision.
func Ensure(ctx context.Context, decide func() *Decision, cleaning func() []Step, wrap func(what string, err error) error) []error {
	errs := Perform(ctx, func() []Step { return decide().Steps }, wrap)
	errs = append(errs, decide().Faults...)
	for _, s := range cleaning() {
		if err := wrap(s.What, s.Do(ctx)); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
