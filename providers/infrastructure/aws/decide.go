package aws

import (
	"context"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// decide follows what is to be done for what the machines of v's cluster share.
func (v *view) decide() *steps.Decision {
	d := new(steps.Decision)
	if wantsFargate(v.c) {
		d.Faults = append(d.Faults, fleet.Errorf(fleet.Invalid, "make Fargate profiles", "Fargate is for clusters of EKS, and machines are the control plane of %s (remove its AWSFargateProfiles)", v.c.Key))
	}
	n := v.network(d)
	if n.vpc == "" {
		v.endpointBefore(d)
		return d
	}
	groups := v.decideGroups(d, n)
	v.decideBastion(d, n, groups)
	v.endpoint(d, n, groups)
	v.decideBucket(d)
	v.decideTags(d)
	return d
}

// deniedFor is how long a step that AWS denied is not taken again, and untold how long a denial is known.
const (
	deniedFor = 10 * time.Minute
	untold    = time.Hour
)

// A denied is a step of a cluster that AWS denied.
type denied struct {
	owner snapshot.Owner
	what  string
}

// A denial is why, and when.
type denial struct {
	err error
	at  time.Time
}

// spared returns d with denials in the place of the steps that AWS denied before and that machines do without, such as those
// of a setting for which the policy of a former version has no rights. With again it has those whose turn it is.
func (v *view) spared(d *steps.Decision, again bool) *steps.Decision {
	if !v.started() {
		return d
	}
	var left []steps.Step
	for _, s := range d.Steps {
		k, do := denied{v.owner, s.What}, s.Do
		was, known := v.p.denied.Of(k)
		switch {
		case s.Essential || s.Upkeep:
		case known && was.at.Before(v.looked) && !(again && v.looked.Sub(was.at) >= deniedFor):
			d.Faults = append(d.Faults, was.err)
			continue
		default:
			s.Do = func(ctx context.Context) error {
				err := do(ctx)
				v.p.denied.ForgetIf(func(o denied, was denial) bool { return o == k || time.Since(was.at) >= untold })
				if cloud.Kind(err) == fleet.Unauthorized {
					v.p.denied.Note(k, denial{cloud.Wrap(s.What, err), time.Now()})
				}
				return err
			}
		}
		left = append(left, s)
	}
	d.Steps = left
	return d
}

// waitBefore notes what has to be finished before the first machine, and what no other one waits for.
func (v *view) waitBefore(d *steps.Decision, what string) {
	if !v.started() {
		d.Wait(what)
	}
}

// faultBefore notes what is in the way of the first machine, and of no other one.
func (v *view) faultBefore(d *steps.Decision, err error) {
	if !v.started() {
		d.Fault(err)
		return
	}
	d.Faults = append(d.Faults, err)
}

// endpointBefore keeps the endpoint of a cluster whose network is in doubt.
func (v *view) endpointBefore(d *steps.Decision) {
	if b := v.balancer(); b != nil {
		d.Endpoint = v.endpointAt(b.DNS)
	}
}

// Observe implements providers.Infrastructure.
func (p *Provider) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	op := "observe " + c.Key.String()
	if api.IsManaged(c) {
		out, err := p.observeManaged(ctx, c)
		return out, cloud.WrapLook(op, err)
	}
	v, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return fleet.Infrastructure{}, cloud.WrapLook(op, err)
	}
	id, err := v.place.ID(ctx)
	if err != nil {
		return fleet.Infrastructure{}, cloud.WrapLook(op, err)
	}
	d := v.spared(v.decide(), false)
	exists := v.exists() || len(v.instances) > 0 || slices.ContainsFunc(v.secrets, v.hasToGo)
	out := fleet.Infrastructure{
		Exists: exists, Machines: v.machines(), Failures: v.failures(),
		FailureDomains: v.failureDomains(), Places: []fleet.PlaceSeen{{Place: fleet.Place{ID: id}, Used: exists, Named: true}},
	}
	d.Report(&out, v.started(), v.cleaning())
	if c.Delete {
		out.Message = p.deletion(v)
	}
	driver.SortMachines(out.Machines)
	return out, nil
}

// EnsureInfrastructure implements providers.Infrastructure.
func (p *Provider) EnsureInfrastructure(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	op := "create infrastructure of " + c.Key.String()
	if api.IsManaged(c) { // all of it is of the control plane
		_, err := api.ReadControlPlane(c)
		return cloud.Wrap(op, err)
	}
	v, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return cloud.WrapLook(op, err)
	}
	defer v.changed()
	errs := steps.Ensure(ctx, func() *steps.Decision { return v.spared(v.decide(), true) }, v.cleaning, cloud.Wrap)
	return cloud.Wrap(op, fleet.JoinErrors(errs...))
}

// failureDomains are the zones of the cluster's subnets for machines.
func (v *view) failureDomains() []fleet.FailureDomain {
	var zones []string
	n := v.network(new(steps.Decision))
	for _, s := range n.private {
		zones = append(zones, s.Zone)
	}
	if len(zones) == 0 && !v.isGiven() {
		for _, s := range v.layout() {
			if !s.public {
				zones = append(zones, s.zone)
			}
		}
	}
	slices.Sort(zones)
	var out []fleet.FailureDomain
	for _, z := range slices.Compact(zones) {
		out = append(out, fleet.FailureDomain{Name: z, ControlPlane: true})
	}
	return out
}

// makesBalancer reports whether a load balancer is made for the API server, or was and is known to machines.
func (v *view) makesBalancer() bool {
	return !v.c.ServedElsewhere() && (v.spec.ControlPlaneLoadBalancer.LoadBalancerType != api.Disabled || v.knownBalancer() != nil)
}
