package vsphere

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// An adoption is a VM that Cluster API's provider made for a cluster, and the tags that it is to
// have. Nothing else is: rules, groups and modules stay as they are.
type adoption struct {
	machine fleet.MachineName
	site    *observedSite
	vm      *vcenter.VM
	path    string
	claims  []addresses.Claim // of pools
	tags    map[string]string
}

// done reports whether the VM has all tags of x.
func (x *adoption) done() bool { return maps.Equal(x.vm.Tags, x.tags) }

// Adoptable implements providers.Adopter.
func (p *Provider) Adoptable(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) ([]string, error) {
	op := "adopt " + c.Key.String()
	all, err := p.adoptions(ctx, c, machines)
	var out []string
	for i := range all {
		if !all[i].done() {
			out = append(out, "VM "+all[i].path)
		}
	}
	slices.Sort(out)
	return out, wrap(op, err)
}

// Adopt implements providers.Adopter: one key of the extra configuration of each VM is written,
// which its guest does not see, whether it runs or not.
func (p *Provider) Adopt(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) error {
	op := "adopt " + c.Key.String()
	all, err := p.adoptions(ctx, c, machines)
	if err != nil {
		return wrap(op, err)
	}
	for i := range all {
		if x := &all[i]; !x.done() {
			if err := p.writeTags(ctx, c, x, machine.EncodeTags(x.tags)); err != nil {
				return wrap(op+": mark VM "+x.path, err)
			}
		}
	}
	return nil
}

// Release implements providers.Adopter.
func (p *Provider) Release(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) error {
	op := "release " + c.Key.String()
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return wrap(op, err)
	}
	for _, m := range got.machines() {
		known := slices.ContainsFunc(machines, func(a providers.AdoptedMachine) bool { return strings.EqualFold(string(a.ID), string(m.ProviderID)) })
		if !known || m.Operation != providers.AdoptionID(c.Key) || m.State == fleet.MachineDeleting || m.Damaged != "" {
			return fleet.Errorf(fleet.Conflict, op, "machine %s was made or changed since it was adopted", m.Name)
		}
	}
	for i := range got.sites {
		s := &got.sites[i]
		for j := range s.owned {
			vm := s.look.VM(s.owned[j].VM.Ref)
			x := &adoption{machine: s.owned[j].Machine.Name, site: s, vm: vm, path: s.look.Path(vm)}
			if err := p.writeTags(ctx, c, x, ""); err != nil {
				return wrap(op+": take the mark off VM "+x.path, err)
			}
		}
	}
	return nil
}

// writeTags has the VM of x carry value, or, where it is empty, no tags. It waits until that is so.
func (p *Provider) writeTags(ctx context.Context, c *fleet.Cluster, x *adoption, value string) error {
	defer x.site.Changed(snapshot.OwnerOf(c).Part(x.machine))
	task, err := x.site.Reconfigure(ctx, x.vm.Ref, types.VirtualMachineConfigSpec{
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: machine.TagsKey, Value: value}},
	}, "")
	if err != nil {
		return err
	}
	ended, err := p.await(ctx, x.site.Client, task)
	if err == nil && !ended {
		return fleet.Errorf(fleet.Unavailable, "reconfigure "+x.vm.Ref.Value, "the task takes longer than %s (run this again when it is through)", p.o.Patience)
	}
	return err
}

// adoptions returns the VMs of machines. Where one cannot be taken over, there are only the reasons.
func (p *Provider) adoptions(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) ([]adoption, error) {
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return nil, err
	}
	var out []adoption
	var errs []error
	for _, m := range machines {
		x, err := p.adoption(ctx, c, got, m)
		if err == nil {
			err = x.apart(out)
		}
		if err != nil {
			errs = append(errs, wrap("take over machine "+string(m.Name), err))
			continue
		}
		out = append(out, *x)
	}
	if err := fleet.JoinErrors(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

// adoption finds the VM of m where Git has machines of its pool and failure domain.
func (p *Provider) adoption(ctx context.Context, c *fleet.Cluster, got *observation, m providers.AdoptedMachine) (*adoption, error) {
	const op = "find its VM"
	tags, ok := providers.AdoptionTags(c, m)
	pool, there := c.Pool(m.Pool)
	if !ok || !there {
		return nil, fleet.Errorf(fleet.Invalid, op, "the cluster has no pool %s", m.Pool)
	}
	at, err := place(c, got.spec, &pool, m.FailureDomain)
	if err != nil {
		return nil, err
	}
	claims, err := claimsOf(c, at, m)
	if err != nil {
		return nil, err
	}
	s := siteOfSeen(got.sites, at.Server)
	if s == nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "Git does not lead to vCenter %s", at.Server)
	}
	uuid, ok := strings.CutPrefix(string(m.ID), machine.IDPrefix)
	if !ok {
		return nil, fleet.Errorf(fleet.Invalid, op, "its provider id %q is none of vSphere", m.ID)
	}
	vms, err := s.WithUUID(ctx, uuid)
	if err != nil {
		return nil, err
	}
	x, err := s.only(op, uuid, vms)
	if err != nil {
		return nil, err
	}
	x.machine = m.Name
	x.tags = machine.AdoptedTags(tags, machine.UUIDs{Instance: x.vm.InstanceUUID, BIOS: x.vm.UUID}, at.VSphereMachineSpec, m.FailureDomain)
	if x.claims = claims; len(claims) > 0 {
		x.tags[addresses.Tag] = addresses.Format(claims)
	}
	if err := x.check(op, c); err != nil {
		return nil, err
	}
	return x, got.checkFree(s.holder(x.vm.Ref), claims)
}

// only returns the one VM of vms, which have a UUID, that may be a machine.
func (s *observedSite) only(op, uuid string, vms []vcenter.VM) (*adoption, error) {
	if len(vms) == 0 {
		return nil, fleet.Errorf(fleet.NotFound, op, "vCenter %s shows its user %s no VM with the UUID %s", s.access.Server, s.User(), uuid)
	}
	vm := &vms[0]
	path := s.look.Path(vm)
	if len(vms) > 1 {
		return nil, fleet.Errorf(fleet.Conflict, op, "%s and %s have the same UUID %s (give the copy another uuid.bios, or remove it)", path, s.look.Path(&vms[1]), uuid)
	}
	return &adoption{site: s, vm: vm, path: path}, nil
}

// check says why the VM of x cannot be taken over for c.
func (x *adoption) check(op string, c *fleet.Cluster) error {
	owner, known := x.vm.Owner()
	switch why := x.vm.Unreachable(); {
	case x.vm.Template:
		return fleet.Errorf(fleet.Conflict, op, "%s is a template", x.path)
	case why != "":
		return fleet.Errorf(fleet.Unavailable, op, "%s cannot be marked now: %s", x.path, why)
	case x.vm.Unread:
		return fleet.Errorf(fleet.Unavailable, op, "%s cannot be marked now: vCenter does not tell its configuration", x.path)
	case x.vm.Tagged && !known:
		return fleet.Errorf(fleet.Conflict, op, "%s has a key %s that says nothing (take it off)", x.path, machine.TagsKey)
	case known && owner.Shared() != snapshot.OwnerOf(c).Shared():
		return fleet.Errorf(fleet.Conflict, op, "%s belongs to cluster %s of fleet %s", x.path, owner.Cluster, owner.Fleet)
	case known && x.vm.Tags[fleet.TagOperation] != string(providers.AdoptionID(c.Key)):
		return fleet.Errorf(fleet.Conflict, op, "%s was not adopted, and carries a mark of the cluster", x.path)
	case known && x.vm.Tags[machine.TagDeleting] != "":
		return fleet.Errorf(fleet.Conflict, op, "%s is being deleted", x.path)
	}
	return nil
}

// apart says what of x one of others has too, which are claimed by the same request.
func (x *adoption) apart(others []adoption) error {
	for i := range others {
		o := &others[i]
		if o.site.Client == x.site.Client && o.vm.Ref == x.vm.Ref {
			return fleet.Errorf(fleet.Conflict, "find its VM", "%s is the VM of machine %s too (one of both has another's provider id)", x.path, o.machine)
		}
		for _, c := range x.claims {
			if slices.Contains(o.claims, c) {
				return fleet.Errorf(fleet.Conflict, "keep its addresses", "machine %s has %s of %s too", o.machine, c.Address, c.Pool)
			}
		}
	}
	return nil
}

// claimsOf returns the addresses of pools that m has, in the order in which its devices name
// pools at the placement.
func claimsOf(c *fleet.Cluster, at placement, m providers.AdoptedMachine) ([]addresses.Claim, error) {
	have, err := addresses.Parse(m.Addresses)
	if err != nil {
		return nil, err
	}
	var out []addresses.Claim
	for _, d := range at.Network.Devices {
		for _, ref := range d.AddressesFromPools {
			pool, err := addresses.Find(c, ref)
			if err != nil {
				return nil, err
			}
			i := slices.IndexFunc(have, func(x addresses.Claim) bool { return x.Pool == pool.ID })
			if i < 0 {
				return nil, fleet.Errorf(fleet.NotFound, "find its addresses", "no IPAddressClaim of it has one of %s, which Git names", pool.ID)
			}
			out = append(out, have[i])
			have = slices.Delete(have, i, i+1)
		}
	}
	if len(have) > 0 {
		return nil, fleet.Errorf(fleet.Conflict, "find its addresses", "it has %s of %s, and no device of it names that pool", have[0].Address, have[0].Pool)
	}
	return out, nil
}

// checkFree says which of claims another VM has than the one that is called own among holders.
func (o *observation) checkFree(own string, claims []addresses.Claim) error {
	const op = "keep its addresses"
	if len(claims) > 0 && o.unknown != nil {
		return wrap(op, o.unknown)
	}
	for _, c := range claims {
		if slices.ContainsFunc(o.holders[c], func(other string) bool { return other != own }) {
			return fleet.Errorf(fleet.Conflict, op, "another VM of a fleet has %s of %s by its tags", c.Address, c.Pool)
		}
	}
	return nil
}
