package aws

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// machines are those of a provider, for package driver.
type machines struct{ *Provider }

var _ driver.Driver[*view, cloud.Instance] = machines{}

// Look implements driver.Driver.
func (p machines) Look(ctx context.Context, c *fleet.Cluster, o snapshot.Owner) (*view, error) {
	if api.IsManaged(c) {
		m, err := p.lookManagedFor(ctx, c, o)
		if err != nil {
			return nil, err
		}
		return m.view, nil
	}
	return p.look(ctx, c, o)
}

// Seen implements driver.Driver.
func (p machines) Seen(_ *fleet.Cluster, v *view) []driver.Seen[cloud.Instance] {
	var out []driver.Seen[cloud.Instance]
	for _, i := range v.instances {
		out = append(out, driver.Seen[cloud.Instance]{Machine: machineOf(i), Where: "instance " + i.ID, Thing: i})
	}
	return out
}

// Exists implements driver.Driver: machines have a network and security groups.
func (p machines) Exists(c *fleet.Cluster, v *view) bool {
	if api.IsManaged(c) {
		return v.joins()
	}
	d := new(steps.Decision)
	n := v.network(d)
	if n.vpc == "" || len(n.private) == 0 {
		return false
	}
	groups := v.decideGroups(d, n)
	return groups["controlplane"] != "" && groups["node"] != ""
}

// Wrap implements driver.Driver.
func (p machines) Wrap(what string, err error) error { return cloud.Wrap(what, err) }

// instanceID returns the id of the instance that a provider id is of.
func instanceID(id fleet.ProviderID) string {
	s := string(id)
	return s[strings.LastIndexByte(s, '/')+1:]
}

func providerID(i cloud.Instance) fleet.ProviderID {
	return fleet.ProviderID(idPrefix + i.Zone + "/" + i.ID)
}

// machineOf returns the machine that an instance is.
func machineOf(i cloud.Instance) fleet.Machine {
	m := fleet.MachineFromTags(i.Tags)
	m.ProviderID, m.FailureDomain, m.Created = providerID(i), i.Zone, i.Launched
	m.State, m.Message = state(i)
	if isCopied(i) && m.Damaged == "" {
		m.Damaged = "instance " + i.ID + " has the tags of a machine, and was made by somebody else: a copy of it"
	}
	for _, a := range append([]string{i.Address, i.PublicAddress}, i.Six...) {
		if a != "" {
			m.Addresses = append(m.Addresses, a)
		}
	}
	return m
}

// state says what the state of an instance means.
// Source: EC2 user guide, "Instance lifecycle".
func state(i cloud.Instance) (fleet.MachineState, string) {
	switch i.State {
	case "running":
		return fleet.MachineRunning, ""
	case "shutting-down", "terminated":
		return fleet.MachineDeleting, ""
	case "stopping", "stopped":
		return fleet.MachinePending, "instance is " + i.State + ": somebody else did that (start it, or delete the machine)"
	}
	return fleet.MachinePending, "instance is " + cmp.Or(i.State, "being made")
}

// machines returns the machines of the cluster.
func (v *view) machines() []fleet.Machine {
	out := make([]fleet.Machine, 0, len(v.instances))
	for _, i := range v.instances {
		out = append(out, machineOf(i))
	}
	return out
}

// failures returns the requests for machines that AWS took, and whose instances it ended by itself before
// anybody asked for that. The reclaim of a spot instance is no failure: the machine is gone.
func (v *view) failures() []fleet.Failure {
	last := make(map[fleet.MachineName]fleet.Failure)
	for _, i := range v.ended {
		if !strings.HasPrefix(i.ReasonCode, "Client.") && !strings.HasPrefix(i.ReasonCode, "Server.") || i.ReasonCode == "Client.UserInitiatedShutdown" ||
			i.ReasonCode == "Client.InstanceInitiatedShutdown" || strings.HasPrefix(i.ReasonCode, "Server.SpotInstance") {
			continue
		}
		m := fleet.MachineFromTags(i.Tags)
		if f, ok := last[m.Name]; ok && !f.At.Before(i.Launched) {
			continue
		}
		last[m.Name] = fleet.Failure{Machine: m.Name, Operation: m.Operation, At: i.Launched, Message: i.Reason}
	}
	for _, i := range v.instances {
		delete(last, fleet.MachineName(i.Tags[fleet.TagMachine]))
	}
	var out []fleet.Failure
	for _, f := range last {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b fleet.Failure) int { return cmp.Compare(a.Machine, b.Machine) })
	return out
}

// again looks at an instance once more by its id, and reports whether it still is the machine that was seen.
func (v *view) again(ctx context.Context, i cloud.Instance) (now cloud.Instance, same bool, err error) {
	all, err := v.place.InstancesOf(ctx, []string{i.ID})
	if err != nil {
		return now, false, err
	}
	if len(all) != 1 || all[0].Ended() {
		return now, false, nil
	}
	now = all[0]
	for _, t := range []string{fleet.TagFleet, fleet.TagCluster, fleet.TagMachine} {
		if now.Tags[t] != i.Tags[t] {
			return now, false, nil
		}
	}
	return now, true, nil
}

// Remove implements driver.Driver: the endpoint leads away from the instance, and it is terminated. What was
// stored for it goes with it.
func (p machines) Remove(ctx context.Context, what string, c *fleet.Cluster, v *view, m driver.Seen[cloud.Instance]) error {
	if m.Damaged != "" {
		return fleet.Errorf(fleet.Conflict, what, "what %s is is not certain: %s (put its tags right, or terminate it)", m.Where, m.Damaged)
	}
	defer v.place.Changed(v.owner.Part(m.Name))
	_, same, err := v.again(ctx, m.Thing)
	if err != nil || !same {
		return err
	}
	if err := p.leave(ctx, c, v, m.Machine); fleet.KindOf(err) == fleet.Conflict {
		return err
	} else if err != nil {
		p.o.Log.WarnContext(ctx, "leaving the endpoint unchanged", "cluster", c.Key.String(), "machine", string(m.Name), "error", err)
	}
	if m.State != fleet.MachineDeleting {
		p.o.Log.InfoContext(ctx, "terminating an instance", "machine", string(m.Name), "instance", m.Thing.ID)
		if err := v.place.Terminate(ctx, m.Thing.ID); err != nil {
			return err
		}
	}
	return v.dropSecrets(ctx, m.Name)
}

// LeaveEndpoint implements providers.EndpointKeeper.
func (p *Provider) LeaveEndpoint(ctx context.Context, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	op := "lead the endpoint away from machine " + c.Key.Namespace + "/" + string(name)
	v, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return cloud.WrapLook(op, err)
	}
	for _, m := range v.machines() {
		if m.Name == name && (id == "" || m.ProviderID == id) {
			if err := p.leave(ctx, c, v, m); err != nil {
				return cloud.Wrap(op, err)
			}
		}
	}
	return nil
}

// leave leads the endpoint away from a server, once it leads to each one that stays. Where everything is to go,
// nothing has to.
func (p *Provider) leave(ctx context.Context, c *fleet.Cluster, v *view, m fleet.Machine) error {
	if m.Role != fleet.RoleControlPlane || c.Delete || !v.makesBalancer() {
		return nil
	}
	leaves := instanceID(m.ProviderID)
	var stay, back []string
	for _, o := range v.machines() {
		id := instanceID(o.ProviderID)
		switch {
		case id == leaves || o.Role != fleet.RoleControlPlane || o.State != fleet.MachineRunning || o.Damaged != "":
		case p.leaving.Has(id):
			back = append(back, id)
		default:
			stay = append(stay, id)
		}
	}
	if len(stay) == 0 { // what was to go stays after all
		stay = back
		for _, id := range back {
			p.leaving.Forget(id)
		}
	}
	if len(stay) == 0 {
		return nil
	}
	ids := v.leadsTo()
	refuse := func(err error) error {
		return fleet.Errorf(fleet.Conflict, "change the endpoint", "%w (the machine stays until the load balancer takes the change)", cloud.Wrap("lead it elsewhere", err))
	}
	for _, id := range ids {
		for _, i := range stay {
			if slices.Contains(v.members[id], i) {
				continue
			}
			if err := v.setTarget(ctx, id, i, true); err != nil {
				return refuse(err)
			}
		}
		if !slices.Contains(v.members[id], leaves) {
			continue
		}
		if err := v.setTarget(ctx, id, leaves, false); err != nil {
			if cloud.Kind(err) == fleet.Unanswered {
				return err
			}
			return refuse(err)
		}
	}
	p.leaving.Note(leaves)
	return nil
}

// Untagged implements providers.UntaggedFinder.
func (p *Provider) Untagged(ctx context.Context, c *fleet.Cluster, ids []fleet.ProviderID) ([]fleet.Machine, error) {
	op := "find machines of " + c.Key.String() + " without tags"
	v, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return nil, cloud.WrapLook(op, err)
	}
	var some []string
	for _, id := range ids {
		if i := instanceID(id); strings.HasPrefix(string(id), idPrefix) && !slices.ContainsFunc(v.instances, func(o cloud.Instance) bool { return o.ID == i }) {
			some = append(some, i)
		}
	}
	if len(some) == 0 {
		return nil, nil
	}
	all, err := v.place.InstancesOf(ctx, some)
	if err != nil {
		return nil, cloud.WrapLook(op, err)
	}
	var out []fleet.Machine
	for _, i := range all {
		if i.Ended() || c.Owns(i.Tags) {
			continue
		}
		m := machineOf(i)
		m.Damaged = "the tags " + fleet.TagFleet + " and " + fleet.TagCluster + " of instance " + i.ID + " do not say that it is of the cluster"
		out = append(out, m)
	}
	driver.SortMachines(out)
	return out, nil
}
