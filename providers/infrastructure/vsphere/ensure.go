package vsphere

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// EnsureInfrastructure implements providers.Infrastructure: it finds what machines of c need,
// and does the next steps of those that are half made.
func (p *Provider) EnsureInfrastructure(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	op := "create infrastructure of " + c.Key.String()
	o := snapshot.OwnerOf(c)
	got, err := p.look(ctx, c, o)
	if err != nil {
		return wrap(op, err)
	}
	if err := got.lookForStrays(ctx); err != nil {
		return wrap(op, err)
	}
	var errs []error
	if err := p.check(ctx, c, got); err != nil {
		errs = append(errs, err)
	}
	if _, err := p.endpoint(got); err != nil {
		errs = append(errs, err)
	}
	return wrap(op, fleet.JoinErrors(append(errs, p.finish(ctx, c, got)...)...))
}

// finish carries out the open steps of machines of c.
func (p *Provider) finish(ctx context.Context, c *fleet.Cluster, got *observation) []error {
	var all []*work
	for i := range got.sites {
		s := &got.sites[i]
		for j := range s.owned {
			all = append(all, &work{site: s, machine: &s.owned[j]})
		}
	}
	return driver.Step(ctx, stepper{p, c, got}, all)
}

// A stepper takes next steps of the machines of an observation.
type stepper struct {
	*Provider
	cluster *fleet.Cluster
	got     *observation
}

// Next implements driver.Stepper.
func (p stepper) Next(j *work) string { return p.got.upkeep(j.site, j.machine, j.site.Now()) }

// Alone implements driver.Stepper.
func (p stepper) Alone(j *work, do func() error) error {
	o := snapshot.OwnerOf(p.cluster).Part(j.machine.Machine.Name)
	return wrap("finish machine "+string(o.Machine), p.Try(o, func() error {
		defer j.site.Changed(o)
		return do()
	}))
}

// Again implements driver.Stepper.
func (p stepper) Again(ctx context.Context, j *work) (now *work, same bool, err error) {
	same, err = j.again(ctx)
	return j, same, err
}

// Do implements driver.Stepper: it does what is to be done to a machine, step by step, as long as tasks
// take seconds.
func (p stepper) Do(ctx context.Context, j *work) error {
	c, got, s, m := p.cluster, p.got, j.site, j.machine
	if in, ok := got.strays[m]; ok {
		j.group, j.compute, j.grouped = in.group, in.compute, []vcenter.Ref{m.VM.Ref}
		_, err := p.take(ctx, j, machine.Step{Action: machine.JoinGroup, What: string(machine.JoinGroup)})
		return err
	}
	if !halfMade(m) {
		_, err := p.take(ctx, j, machine.NextOfRunning(m, s.Now()))
		return err
	}
	w, err := j.wanted(ctx, c, got)
	if err != nil || w == nil {
		return err
	}
	for range mostSteps {
		d, err := j.details(ctx, w)
		if err != nil {
			return err
		}
		step, err := machine.Next(&m.VM, d, w)
		if err != nil {
			return err
		}
		done, err := p.take(ctx, j, step)
		switch {
		case step.Action == machine.PowerOn:
			return p.noteRefusal(m.VM.InstanceUUID, err)
		case step.Action == machine.Spread && fleet.KindOf(err) == fleet.Unauthorized:
			p.o.Log.WarnContext(ctx, "not separating machines", "machine", string(m.Machine.Name), "error", err)
			j.rule = ""
		case err != nil || !done:
			return err
		}
	}
	return nil
}

// mostSteps is more than any machine needs.
const mostSteps = 20

// wanted returns what the machine is to be, and notes where it is; nil if Git no longer has
// its pool.
func (j *work) wanted(ctx context.Context, c *fleet.Cluster, got *observation) (*machine.Wanted, error) {
	m, o := j.machine, snapshot.OwnerOf(c)
	pool, ok := c.Pool(m.Machine.Pool)
	if !ok {
		return nil, nil //nolint:nilnil // nothing is wanted of it
	}
	if got.outdated(m) {
		return &machine.Wanted{Tags: m.Tags}, nil
	}
	at, err := place(c, got.spec, &pool, m.Machine.FailureDomain)
	if err != nil {
		return nil, err
	}
	claims, err := addresses.Parse(m.Tags[addresses.Tag])
	if err != nil {
		return nil, err
	}
	pools, err := pooled(c, at.VSphereMachineSpec, claims)
	if err != nil {
		return nil, err
	}
	all, err := j.site.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	j.compute = j.site.computeOf(all, m)
	if j.group = at.hosts().VMGroupName; j.group != "" {
		for i := range j.site.owned { // also those that another user removed from the group
			o := &j.site.owned[i]
			if o.Machine.FailureDomain == m.Machine.FailureDomain && o.Machine.Damaged == "" && j.site.computeOf(all, o) == j.compute {
				j.grouped = append(j.grouped, o.VM.Ref)
			}
		}
	}
	if j.compute != nil && j.compute.Cluster && !isTrue(got.spec.DisableClusterModule) {
		j.rule = rulePrefix(o) + string(pool.Name)
		for i := range j.site.owned {
			o := &j.site.owned[i]
			if o.Machine.Pool == pool.Name && o.Machine.Damaged == "" && j.site.computeOf(all, o) == j.compute {
				j.apart = append(j.apart, o.VM.Ref)
			}
		}
	}
	return &machine.Wanted{Tags: m.Tags, Spec: at.VSphereMachineSpec, Pools: pools}, nil
}

// computeOf returns the cluster or host that m is on; nil where the user may not see it.
func (s *observedSite) computeOf(all *vcenter.Inventory, m *machine.Owned) *vcenter.Entity {
	vm := s.look.VM(m.VM.Ref)
	if vm == nil {
		return nil
	}
	if e := all.Entity(vm.Pool); e != nil {
		return all.ComputeOf(e)
	}
	return nil
}

func isTrue(b *bool) bool { return b != nil && *b }

// noteRefusal notes why vm could not be powered on, which the machine says from then on, and
// returns what else went wrong. No error: it was.
func (p *Provider) noteRefusal(vm string, err error) error {
	p.refusals.Forget(vm)
	switch kind := fleet.KindOf(err); {
	case err == nil, vcenter.PoweredAlready(err):
		return nil
	case kind == fleet.Invalid || kind == fleet.Unknown || kind == fleet.Conflict || kind == fleet.NotFound:
		p.refusals.Note(vm, err.Error())
		return nil
	}
	return err
}

// forget forgets what this process knows of vm, which is gone.
func (p *Provider) forget(vm string) {
	p.refusals.Forget(vm)
	p.asked.Forget(vm)
	p.going.Forget(vm)
}

// RemoveShared implements driver.Driver.
func (p machines) RemoveShared(ctx context.Context, _ string, c *fleet.Cluster, got *observation) error {
	if err := p.dropRules(ctx, got); err != nil {
		return err
	}
	p.forgetFound(snapshot.OwnerOf(c))
	return nil
}
