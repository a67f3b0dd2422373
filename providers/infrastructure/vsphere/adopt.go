package vsphere

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// A theirVM is a VM that Cluster API's provider made.
type theirVM struct {
	site *observedSite
	vm   *vcenter.VM
}

// An adoption is of a VM that Cluster API's provider made. Nothing but its tags is changed: rules, groups
// and modules stay unchanged.
type adoption = driver.Adoption[theirVM]

// isMarked reports whether the VM of x has all its tags.
func isMarked(x *adoption) bool { return maps.Equal(x.Thing.vm.Tags, x.Tags) }

// Adoptable implements providers.Adopter.
func (p *Provider) Adoptable(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) ([]string, error) {
	op := "adopt " + c.Key.String()
	all, err := p.adoptions(ctx, c, machines)
	var out []string
	for i := range all {
		if x := &all[i]; !isMarked(x) {
			out = append(out, x.Where)
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
		if x := &all[i]; !isMarked(x) {
			if err := p.writeTags(ctx, c, x.Machine, x.Thing, machine.EncodeTags(x.Tags)); err != nil {
				return wrap(op+": mark "+x.Where, err)
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
	if err := driver.MayRelease(op, c, got.machines(), machines, func(id fleet.ProviderID) string { return strings.ToLower(string(id)) }); err != nil {
		return err
	}
	for i := range got.sites {
		s := &got.sites[i]
		for j := range s.owned {
			vm := s.look.VM(s.owned[j].VM.Ref)
			if err := p.writeTags(ctx, c, s.owned[j].Machine.Name, theirVM{s, vm}, ""); err != nil {
				return wrap(op+": take the mark off VM "+s.look.Path(vm), err)
			}
		}
	}
	return nil
}

// writeTags has x, the VM of a machine, carry value, or, where it is empty, no tags. It waits until that
// is so.
func (p *Provider) writeTags(ctx context.Context, c *fleet.Cluster, name fleet.MachineName, x theirVM, value string) error {
	defer x.site.Changed(snapshot.OwnerOf(c).Part(name))
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
	return driver.Adoptions(machines, func(m providers.AdoptedMachine) (adoption, error) { return p.adoption(ctx, c, got, m) }, wrap)
}

// adoption finds the VM of m where Git has machines of its pool and failure domain.
func (p *Provider) adoption(ctx context.Context, c *fleet.Cluster, got *observation, m providers.AdoptedMachine) (x adoption, err error) {
	const op = "find its VM"
	tags, ok := providers.AdoptionTags(c, m)
	pool, there := c.Pool(m.Pool)
	if !ok || !there {
		return x, fleet.Errorf(fleet.Invalid, op, "the cluster has no pool %s", m.Pool)
	}
	at, err := place(c, got.spec, &pool, m.FailureDomain)
	if err != nil {
		return x, err
	}
	claims, err := claimsOf(c, at, m)
	if err != nil {
		return x, err
	}
	s := siteOfSeen(got.sites, at.Server)
	if s == nil {
		return x, fleet.Errorf(fleet.Invalid, op, "Git does not lead to vCenter %s", at.Server)
	}
	uuid, ok := strings.CutPrefix(string(m.ID), machine.IDPrefix)
	if !ok {
		return x, fleet.Errorf(fleet.Invalid, op, "its provider id %q is none of vSphere", m.ID)
	}
	vms, err := s.WithUUID(ctx, uuid)
	if err != nil {
		return x, err
	}
	vm, err := s.only(op, uuid, vms)
	if err != nil {
		return x, err
	}
	path := s.look.Path(vm)
	x = adoption{Machine: m.Name, Thing: theirVM{s, vm}, ID: s.holder(vm.Ref), Where: "VM " + path, Claims: claims}
	x.Tags = machine.AdoptedTags(tags, machine.UUIDs{Instance: vm.InstanceUUID, BIOS: vm.UUID}, at.VSphereMachineSpec, m.FailureDomain)
	if len(claims) > 0 {
		x.Tags[addresses.Tag] = addresses.Format(claims)
	}
	if err := checkTheirs(op, c, vm, path); err != nil {
		return x, err
	}
	return x, x.KeepsAddresses(got.holders, wrap("keep its addresses", got.unknown))
}

// only returns the one VM of vms, which have a UUID, that may be a machine.
func (s *observedSite) only(op, uuid string, vms []vcenter.VM) (*vcenter.VM, error) {
	if len(vms) == 0 {
		return nil, fleet.Errorf(fleet.NotFound, op, "vCenter %s shows its user %s no VM with the UUID %s", s.access.Server, s.User(), uuid)
	}
	if len(vms) > 1 {
		return nil, fleet.Errorf(fleet.Conflict, op, "%s and %s have the same UUID %s (give the copy another uuid.bios, or remove it)", s.look.Path(&vms[0]), s.look.Path(&vms[1]), uuid)
	}
	return &vms[0], nil
}

// checkTheirs says why vm, which is at path, cannot be taken over for c.
func checkTheirs(op string, c *fleet.Cluster, vm *vcenter.VM, path string) error {
	owner, known := vm.Owner()
	switch why := vm.Unreachable(); {
	case vm.Template:
		return fleet.Errorf(fleet.Conflict, op, "%s is a template", path)
	case why != "":
		return fleet.Errorf(fleet.Unavailable, op, "%s cannot be marked now: %s", path, why)
	case vm.Unread:
		return fleet.Errorf(fleet.Unavailable, op, "%s cannot be marked now: vCenter does not tell its configuration", path)
	case vm.Tagged && !known:
		return fleet.Errorf(fleet.Conflict, op, "%s has a key %s that says nothing (take it off)", path, machine.TagsKey)
	case known && owner.Shared() != snapshot.OwnerOf(c).Shared():
		return fleet.Errorf(fleet.Conflict, op, "%s belongs to cluster %s of fleet %s", path, owner.Cluster, owner.Fleet)
	case known && vm.Tags[fleet.TagOperation] != string(providers.AdoptionID(c.Key)):
		return fleet.Errorf(fleet.Conflict, op, "%s was not adopted, and carries a mark of the cluster", path)
	case known && vm.Tags[machine.TagDeleting] != "":
		return fleet.Errorf(fleet.Conflict, op, "%s is being deleted", path)
	}
	return nil
}

// claimsOf returns the addresses of pools that m has, in the order in which its devices name
// pools at the placement.
func claimsOf(c *fleet.Cluster, at placement, m providers.AdoptedMachine) ([]addresses.Claim, error) {
	var pools []string
	for _, d := range at.Network.Devices {
		for _, ref := range d.AddressesFromPools {
			pool, err := addresses.Find(c, ref)
			if err != nil {
				return nil, err
			}
			pools = append(pools, pool.ID)
		}
	}
	return driver.ClaimsOf(m, pools, "IPAddressClaim", "no device of it names that pool")
}
