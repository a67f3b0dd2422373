package vsphere

import (
	"context"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// untaggedByName returns VMs that neither tags nor UUIDs nor Nodes tell are machines of the
// cluster, and that are called like one in a folder of its machines. They may be one whose tags
// somebody took off, and are damaged: no second machine of that name is made in another folder. A
// cluster that is paused may have no tags yet.
func (p *Provider) untaggedByName(ctx context.Context, o *observation, s *observedSite) ([]fleet.Machine, error) {
	pools := o.poolsByName(s)
	if len(pools) == 0 {
		return nil, nil
	}
	folders, err := o.folders(ctx, s)
	if err != nil {
		return nil, err
	}
	var refs []vcenter.Ref
	for ref := range pools {
		if vm := s.look.VM(ref); slices.Contains(folders, vm.Folder) {
			refs = append(refs, ref)
		}
	}
	if len(refs) == 0 {
		return nil, nil
	}
	vms, err := s.Detailed(ctx, refs)
	if err != nil {
		return nil, err
	}
	var out []fleet.Machine
	for i := range vms {
		vm := &vms[i]
		if _, known := vm.Owner(); !known && !vm.Template && !vm.Unread {
			out = append(out, machine.UntaggedByName(p.converted(vm), s.look.Path(vm), pools[vm.Ref], o.cluster))
		}
	}
	return out, nil
}

// poolsByName returns the VMs in s that may be such machines, with the pools that their names
// tell. Those that Cluster API gives tell nothing where no machine that was adopted is left.
func (o *observation) poolsByName(s *observedSite) map[vcenter.Ref]*fleet.Pool {
	if o.cluster.Paused {
		return nil
	}
	taken := make(map[fleet.MachineName]bool)
	adopted := false
	for i := range o.sites {
		for j := range o.sites[i].owned {
			m := &o.sites[i].owned[j]
			taken[m.Machine.Name] = true
			adopted = adopted || machine.Adopted(m.Tags)
		}
		for _, k := range o.sites[i].clones {
			taken[k.token.name] = true
		}
	}
	names := machine.NamesOf(o.cluster)
	out := make(map[vcenter.Ref]*fleet.Pool)
	for i := range s.look.VMs {
		vm := &s.look.VMs[i]
		name := fleet.MachineName(vm.Name)
		pool := names.PoolByName(name)
		if pool == nil && adopted {
			pool = names.Adopted(name)
		}
		if pool == nil || vm.Unread || taken[name] || machine.IsMadeUUID(vm.InstanceUUID) {
			continue // without an owner, or known by its UUIDs
		}
		if _, known := vm.Owner(); !known {
			out[vm.Ref] = pool
		}
	}
	return out
}

// folders returns those of s that machines of the cluster are in, or may be by Git.
func (o *observation) folders(ctx context.Context, s *observedSite) ([]vcenter.Ref, error) {
	all, err := s.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	var out []vcenter.Ref
	for i := range s.owned {
		if vm := s.look.VM(s.owned[i].VM.Ref); vm != nil {
			out = append(out, vm.Folder)
		}
	}
	for _, pool := range o.cluster.Pools() {
		placed, err := placements(o.cluster, o.spec, &pool)
		if err != nil {
			return nil, err
		}
		for _, at := range placed {
			if !s.is(at.Server) {
				continue
			}
			dc, err := all.Datacenter(at.Datacenter)
			if err != nil {
				continue // nothing is where there is none
			}
			if folder, err := all.Folder(dc, at.Folder); err == nil {
				out = append(out, folder.Ref)
			}
		}
	}
	return out, nil
}
