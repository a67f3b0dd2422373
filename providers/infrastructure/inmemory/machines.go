package inmemory

import (
	"context"
	"encoding/json"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
)

// machines are those of a provider, for package driver.
type machines struct{ *Provider }

var _ driver.Driver[observation, VM] = machines{}

// Look implements driver.Driver.
func (p machines) Look(ctx context.Context, c *fleet.Cluster, o snapshot.Owner) (observation, error) {
	of := c.Tags()
	if o.Machine != "" {
		of[fleet.TagMachine] = string(o.Machine)
	}
	return p.list(ctx, c.Tags(), of)
}

// Seen implements driver.Driver.
func (p machines) Seen(_ *fleet.Cluster, got observation) []driver.Seen[VM] {
	var out []driver.Seen[VM]
	for _, v := range got.vms {
		if v.owned() {
			out = append(out, driver.Seen[VM]{Machine: v.machine(), Where: "server " + v.ID, Thing: v})
		}
	}
	return out
}

// Exists implements driver.Driver.
func (p machines) Exists(_ *fleet.Cluster, got observation) bool { return len(got.networks) > 0 }

// Wrap implements driver.Driver.
func (p machines) Wrap(what string, err error) error { return wrap(what, err) }

// machine is what v is to the planner.
func (v VM) machine() fleet.Machine {
	m := fleet.MachineFromTags(v.Tags)
	m.ProviderID, m.FailureDomain = v.Provider, v.FailureDomain
	m.State, m.Message, m.Silent = v.State, v.Message, v.Silent
	m.Created, m.Addresses = v.Created, v.Addresses
	m.Power = powerOf(v)
	return m
}

// Create implements driver.Driver.
func (p machines) Create(ctx context.Context, what string, op fleet.OperationID, r providers.MachineRequest, got observation) error {
	if f := r.UserData.Format; f != "cloud-config" && f != "ignition" {
		return fleet.Errorf(fleet.Invalid, what, "its image reads cloud-config and Ignition, and the user data is %q", f)
	}
	var spec DevMachineSpec
	if err := json.Unmarshal(r.Pool.Infrastructure.Spec, &spec); err != nil {
		return fleet.Errorf(fleet.Invalid, what, "spec of %s: %w", r.Pool.Infrastructure.Name, err)
	}
	var timing DevMachineInMemory
	if spec.Backend.InMemory != nil {
		timing = *spec.Backend.InMemory
	}
	vm := VMSpec{
		Name: string(r.Name), Network: got.networks[0].ID, FailureDomain: r.FailureDomain,
		Tags: r.Tags(op), Version: r.Pool.Version,
		UserData: r.UserData.Content.Reveal(), Timing: timing,
	}
	if err := p.giveAddresses(ctx, r, timing.AddressesFromPools, &vm); err != nil {
		return wrap(what, err)
	}
	_, err := p.api.CreateVM(ctx, vm)
	return wrap(what, err)
}

// Remove implements driver.Driver.
func (p machines) Remove(ctx context.Context, _ string, c *fleet.Cluster, _ observation, m driver.Seen[VM]) error {
	if there, err := p.isThere(ctx, c, m.Name, m.Thing.ID); err != nil || !there {
		return err
	}
	return ignoreNotFound(p.api.DeleteVM(ctx, m.Thing.ID))
}

// isThere reports whether the server with that id is the machine of c called name by now: a listing may be
// old when somebody acts on it.
func (p *Provider) isThere(ctx context.Context, c *fleet.Cluster, name fleet.MachineName, id string) (bool, error) {
	got, err := machines{p}.Look(ctx, c, snapshot.OwnerOf(c).Part(name))
	return slices.ContainsFunc(got.vms, func(v VM) bool { return v.ID == id && v.owned() }), err
}

// RemoveShared implements driver.Driver.
func (p machines) RemoveShared(ctx context.Context, what string, _ *fleet.Cluster, got observation) error {
	if pools := poolsIn(got.networks); len(pools) > 0 {
		return fleet.Errorf(fleet.Conflict, what, "there are still pools, %s is the first", pools[0].Name)
	}
	return p.deleteNetworks(ctx, got.networks)
}

// deleteNetworks deletes all, until one cannot be deleted.
func (p *Provider) deleteNetworks(ctx context.Context, all []Network) error {
	for _, n := range all {
		if err := ignoreNotFound(p.api.DeleteNetwork(ctx, n.ID)); err != nil {
			return err
		}
	}
	return nil
}

// ignoreNotFound returns err, the error of a deletion: nothing there is success.
func ignoreNotFound(err error) error {
	if fleet.KindOf(err) == fleet.NotFound {
		return nil
	}
	return err
}
