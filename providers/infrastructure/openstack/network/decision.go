package network

import (
	"context"
	"fmt"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// A step is one change that brings the cloud nearer to what Git says.
type step = steps.Step

// A decision is what follows from a view.
type decision struct {
	steps.Decision
	placement Placement
	handsOver string // the step after which another machine serves the API server; empty: none
	// refused says that Git names another place than the machines are in. What it named
	// before is not known, so nothing is taken away that followed from that.
	refused bool
}

func (d *decision) wait(format string, args ...any) { d.Wait(fmt.Sprintf(format, args...)) }

// notFound notes that something which Git names is not found, or is found twice. Before the
// first machine it is in the way of everything. Machines that run do without it: they are
// cared for, and what they use stays unchanged.
func (v *view) notFound(d *decision, err error) {
	d.Faults, d.Missing = append(d.Faults, err), d.Missing || !v.started()
}

func cannotChange(field, format string, args ...any) error {
	return fleet.Errorf(fleet.Invalid, "change "+field, format, args...)
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
	v.project = p
	var last *decision
	errs := steps.Perform(ctx, func() []step {
		last = decide()
		return last.Steps
	}, openstackauth.Wrap)
	return errs, last
}
