package inmemory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
)

// machines lists those of c, or those of them called name, that are part of it.
func (p *Provider) machines(ctx context.Context, op string, c *fleet.Cluster, name fleet.MachineName) ([]VM, error) {
	list, err := p.vms(ctx, op, c, name)
	return slices.DeleteFunc(list, func(v VM) bool { return !v.owned() }), err
}

// vms lists the machines of c, or those of them called name, with those that are
// released and those that never were.
func (p *Provider) vms(ctx context.Context, op string, c *fleet.Cluster, name fleet.MachineName) ([]VM, error) {
	tags := c.Tags()
	if name != "" {
		tags[fleet.TagMachine] = string(name)
	}
	list, err := p.api.VMs(ctx, tags)
	if err != nil {
		return nil, wrap(op, err)
	}
	return list, nil
}

// CreateMachine implements providers.Infrastructure.
func (p *Provider) CreateMachine(ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
	c := r.Cluster
	what := fmt.Sprintf("create machine %s/%s", c.Key.Namespace, r.Name)
	if f := r.UserData.Format; f != "cloud-config" && f != "ignition" {
		return fleet.Errorf(fleet.Invalid, what, "its image reads cloud-config and Ignition, and the user data is %q", f)
	}
	var spec DevMachineSpec
	if err := json.Unmarshal(r.Pool.Infrastructure.Spec, &spec); err != nil {
		return fleet.Errorf(fleet.Invalid, what, "spec of %s: %w", r.Pool.Infrastructure.Name, err)
	}
	there, err := p.machines(ctx, what, c, r.Name)
	if err != nil {
		return err
	}
	var seen []driver.Seen[VM]
	for _, v := range there {
		seen = append(seen, driver.Seen[VM]{Machine: fleet.Machine{Name: r.Name, Template: fleet.TemplateHash(v.Tags[fleet.TagTemplate]), State: v.State}})
	}
	if is, err := driver.IsThere(what, r.Name, r.Pool.Template, seen); is || err != nil {
		return err
	}
	networks, err := p.networks(ctx, what, c)
	if err != nil {
		return err
	}
	if len(networks) == 0 {
		return fleet.Errorf(fleet.Conflict, what, "the infrastructure of the cluster is not there")
	}
	var timing DevMachineInMemory
	if spec.Backend.InMemory != nil {
		timing = *spec.Backend.InMemory
	}
	vm := VMSpec{
		Name: string(r.Name), Network: networks[0].ID, FailureDomain: r.FailureDomain,
		Tags: r.Tags(op), Version: r.Pool.Version,
		UserData: r.UserData.Content.Reveal(), Timing: timing,
	}
	if err := p.giveAddresses(ctx, r, timing.AddressesFromPools, &vm); err != nil {
		return wrap(what, err)
	}
	_, err = p.api.CreateVM(ctx, vm)
	return wrap(what, err)
}

// DeleteMachine implements providers.Infrastructure.
func (p *Provider) DeleteMachine(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	op := fmt.Sprintf("delete machine %s/%s", c.Key.Namespace, name)
	if name == "" {
		return fleet.Errorf(fleet.Invalid, op, "no name was given")
	}
	vms, err := p.machines(ctx, op, c, name)
	if err != nil {
		return err
	}
	for _, v := range vms {
		if id != "" && v.Provider != id {
			continue
		}
		switch there, err := p.isThere(ctx, op, c, name, v.ID); {
		case err != nil:
			return err
		case !there:
			continue
		}
		if err := p.api.DeleteVM(ctx, v.ID); err != nil && fleet.KindOf(err) != fleet.NotFound {
			return wrap(op, err)
		}
	}
	return nil
}

// isThere reports whether the server with that id is the machine of c called name by now: a listing may be
// old when somebody acts on it.
func (p *Provider) isThere(ctx context.Context, op string, c *fleet.Cluster, name fleet.MachineName, id string) (bool, error) {
	list, err := p.machines(ctx, op, c, name)
	return slices.ContainsFunc(list, func(v VM) bool { return v.ID == id }), err
}
