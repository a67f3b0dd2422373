package network

import (
	"context"
	"fmt"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// A step is one change that brings the cloud nearer to what Git says.
type step struct {
	what string // for people: "make network prod-eu-1"
	// essential says that no machine can be made or work without it.
	essential bool
	// optional says that some clouds do not have it, and clusters do without.
	optional bool
	// blocked says that the cloud does not take it at this moment.
	blocked bool
	// handsOver says that another machine serves the API server from then on.
	handsOver bool
	// do makes the change and enters its outcome into the view.
	do func(ctx context.Context, sess *session) error
}

// A decision is what follows from a view.
type decision struct {
	steps     []step
	waitsFor  []string // what the cloud has to finish first
	faults    []error  // what cannot be done until Git changes, or somebody acts in the cloud
	missing   bool     // what the faults are about is essential
	endpoint  fleet.Endpoint
	placement Placement
	// refused says that Git names another place than the machines are in. What it named
	// before is not known, so nothing is taken away that followed from that.
	refused bool
}

func (d *decision) add(s step) { d.steps = append(d.steps, s) }

func (d *decision) wait(format string, args ...any) {
	d.waitsFor = append(d.waitsFor, fmt.Sprintf(format, args...))
}

// fault notes what is in the way of everything that follows from it.
func (d *decision) fault(err error) {
	d.faults, d.missing = append(d.faults, err), true
}

// notFound notes that something which Git names is not found, or is found twice. Before the
// first machine it is in the way of everything. Machines that run do without it: they are
// cared for, and what they use stays unchanged.
func (v *view) notFound(d *decision, err error) {
	d.faults, d.missing = append(d.faults, err), d.missing || !v.started()
}

// cannotFollow records that Git requires a change that is impossible for existing resources:
// they stay, and machines go on.
func (d *decision) cannotFollow(field, format string, args ...any) {
	d.faults = append(d.faults, cannotChange(field, format, args...))
}

func cannotChange(field, format string, args ...any) error {
	return fleet.Errorf(fleet.Invalid, "change "+field, format, args...)
}

// ready reports whether machines may be made. Before the first one everything
// has to be there; later only what they cannot do without, so that a rule that
// somebody removed holds up nothing.
func (d *decision) ready(started bool) bool {
	if d.missing || len(d.waitsFor) > 0 || d.endpoint.IsZero() {
		return false
	}
	return !slices.ContainsFunc(d.steps, func(s step) bool { return s.essential || !started && !s.optional })
}

// decide follows what is to be done for the cluster of v. It is pure.
func (v *view) decide() *decision {
	d := new(decision)
	v.external(d)
	if v.managed() {
		v.managedNetwork(d)
	} else {
		v.existingNetwork(d)
	}
	v.groups(d)
	v.endpoint(d)
	return d
}

// perform takes the steps that decide finds, as far as possible, and returns
// the errors and the last decision.
func perform(ctx context.Context, p *cloud.Project, v *view, decide func() *decision) ([]error, *decision) {
	sess := &session{Project: p, owner: v.owner}
	var last *decision
	errs := steps.Perform(ctx, func() []steps.Step {
		last = decide()
		out := make([]steps.Step, 0, len(last.steps))
		for _, s := range last.steps {
			out = append(out, steps.Step{What: s.what, Blocked: s.blocked, Do: func(ctx context.Context) error { return s.do(ctx, sess) }})
		}
		return out
	}, openstackauth.Wrap)
	return errs, last
}
