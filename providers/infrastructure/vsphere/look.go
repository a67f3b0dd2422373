package vsphere

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// An observation is what was seen of a cluster.
type observation struct {
	cluster *fleet.Cluster
	spec    *api.VSphereClusterSpec
	sites   []observedSite
	holders addresses.Holders // of addresses of pools, by the names that holder gives VMs, and endpoints; not to be changed
	running map[string]bool   // those of them that are powered on; not to be changed
	unknown error             // why it is not known what addresses a VM has; nil: it is
	strays  map[*machine.Owned]stray
}

// An observedSite is one vCenter with the machines of the cluster in it.
type observedSite struct {
	site
	look   *vcenter.Look
	owned  []machine.Owned
	clones []clone // that run, or failed
}

// look looks at all vCenters of c. o is c, or the machine of it that something is to be asked
// of.
func (p *Provider) look(ctx context.Context, c *fleet.Cluster, o snapshot.Owner) (*observation, error) {
	sites, spec, err := p.sites(ctx, c)
	if err != nil {
		return nil, err
	}
	out := &observation{cluster: c, spec: spec}
	var places []*vcenter.Client
	for _, s := range sites {
		if err := s.identify(ctx, c); err != nil {
			return nil, err
		}
		if same := out.siteOf(s.access.Instance); same != nil {
			if err := same.join(&s); err != nil {
				return nil, err
			}
			continue
		}
		look, err := s.Look(ctx, o)
		if err != nil {
			return nil, err
		}
		l := listingOf(&s, look)
		p.ledger.Saw(s.identity(), l.holders)
		out.hold(l)
		seen := observedSite{site: s, look: look, owned: p.owned(l, c)}
		seen.clones = clonesOf(look, c, seen.owned)
		out.sites = append(out.sites, seen)
		places = append(places, s.Client)
	}
	p.watch.Looked(snapshot.OwnerOf(c), places)
	if err := out.lost(); err != nil {
		return nil, err
	}
	out.once()
	return out, out.holdBack(ctx)
}

// siteOf returns the vCenter that says of itself that it is instance, or nil.
func (o *observation) siteOf(instance string) *observedSite {
	for i := range o.sites {
		if s := &o.sites[i]; instance != "" && s.access.Instance == instance {
			return s
		}
	}
	return nil
}

// lost says which vCenter that the cluster had machines in was not looked at, since another one has
// its name.
func (o *observation) lost() error {
	for _, at := range o.cluster.OtherPlaces() {
		if a, _ := accessOf(at); a.Instance != "" && o.siteOf(a.Instance) == nil {
			return fleet.Errorf(fleet.Unauthorized, "look in "+at.ID+", which had machines of the cluster",
				"%s leads to another vCenter now (lead it back; if the vCenter is gone permanently, annotate the Cluster with %s: %s)", a.Server, fleet.ForgetPlaceAnnotation, at.ID)
		}
	}
	return nil
}

// twins are the VMs that have one provider id.
type twins struct {
	kept  string   // the one that is shown, as holder names it
	sure  bool     // its tags are in order
	paths []string // of all
}

// once leaves one of several VMs that have the same provider id, and marks it as damaged: Nodes and
// deletions name a machine by that id, and it is not known which VM they mean.
func (o *observation) once() {
	all := make(map[fleet.ProviderID]*twins)
	for i := range o.sites {
		s := &o.sites[i]
		for _, m := range s.owned {
			t := all[m.Machine.ProviderID]
			if sure := m.Machine.Damaged == ""; t == nil {
				t = &twins{kept: s.holder(m.VM.Ref), sure: sure}
				all[m.Machine.ProviderID] = t
			} else if sure && !t.sure {
				t.kept, t.sure = s.holder(m.VM.Ref), true
			}
			t.paths = append(t.paths, s.look.Path(s.look.VM(m.VM.Ref))+" in "+s.String())
		}
	}
	for i := range o.sites {
		s := &o.sites[i]
		s.owned = slices.DeleteFunc(s.owned, func(m machine.Owned) bool {
			return m.Machine.ProviderID != "" && all[m.Machine.ProviderID].kept != s.holder(m.VM.Ref)
		})
		for j := range s.owned {
			m := &s.owned[j].Machine
			if t := all[m.ProviderID]; m.ProviderID != "" && len(t.paths) > 1 {
				m.Damaged = strings.TrimPrefix(fmt.Sprintf("%s; %d VMs have its provider id: %s (delete the copies, or change their UUIDs)", m.Damaged, len(t.paths), strings.Join(t.paths, ", ")), "; ")
			}
		}
	}
}

// holder names a VM among those of all vCenters.
func (s *site) holder(ref vcenter.Ref) string { return s.identity() + "/" + ref.Value }

// identity is what the vCenter says of itself, whatever Git calls it.
func (s *site) identity() string { return cmp.Or(s.access.Instance, s.access.Server) }

// machines returns all machines of the cluster, those that are being cloned among them.
func (o *observation) machines() []fleet.Machine {
	var out []fleet.Machine
	for i := range o.sites {
		s := &o.sites[i]
		for _, owned := range s.owned {
			out = append(out, owned.Machine)
		}
		for _, c := range s.clones {
			if c.machine != nil {
				out = append(out, *c.machine)
			}
		}
	}
	driver.SortMachines(out)
	return out
}

// A clone is one that was asked for and whose VM does not show yet, or never will.
type clone struct {
	token   token
	task    vcenter.Task
	unread  *vcenter.VM    // the VM, where vCenter does not tell its configuration
	machine *fleet.Machine // while it may become one
	failure *fleet.Failure // why the observation failed
}

// A token says what a clone was asked for.
type token struct {
	uuid string
	name fleet.MachineName
	op   fleet.OperationID
}

func (t token) String() string { return fmt.Sprintf("fairlead %s %s %s", t.uuid, t.name, t.op) }

// parseToken reads what String wrote; false: it did not write that.
func parseToken(text string) (token, bool) {
	parts := strings.Split(text, " ")
	if len(parts) != 4 || parts[0] != "fairlead" {
		return token{}, false
	}
	return token{parts[1], fleet.MachineName(parts[2]), fleet.OperationID(parts[3])}, true
}

// clonesOf returns the last clone that was asked for of each machine of c, unless a VM of that
// name is there, or the clone made one.
func clonesOf(l *vcenter.Look, c *fleet.Cluster, owned []machine.Owned) []clone {
	there := make(map[fleet.MachineName]bool)
	for _, o := range owned {
		there[o.Machine.Name] = true
	}
	last := make(map[fleet.MachineName]clone)
	for _, t := range l.Tasks { // the newest last
		if k, ok := parseToken(t.Token); ok && machine.OfCluster(k.uuid, c) && !there[k.name] {
			last[k.name] = clone{token: k, task: t}
		}
	}
	for i := range l.VMs {
		vm := &l.VMs[i]
		if name, ok := unread(vm, c); ok && !there[name] && last[name].token.name == "" {
			last[name] = clone{token: token{name: name}, unread: vm}
		}
	}
	var out []clone
	for name, k := range last {
		switch {
		case k.unread != nil || k.task.Running():
			k.machine = pending(c, k)
		case k.task.Err != nil:
			why := k.task.Err.Error()
			if ref, twice := vcenter.DuplicateOf(k.task.Err); twice {
				vm := l.VM(ref)
				if vm == nil || vm.Unread {
					continue // it is gone, or is the machine, which is being cloned
				}
				why += fmt.Sprintf(" (%s is another VM: rename it, or give machines a folder or naming.template of their own)", l.Path(vm))
			}
			k.failure = &fleet.Failure{Machine: name, Operation: k.token.op, At: k.task.Ended, Message: why}
		default:
			continue
		}
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b clone) int { return strings.Compare(string(a.token.name), string(b.token.name)) })
	return out
}

// pending returns the machine that k is, or is to become.
func pending(c *fleet.Cluster, k clone) *fleet.Machine {
	m := &fleet.Machine{Name: k.token.name, Operation: k.token.op, State: fleet.MachinePending, Message: "its VM is being cloned", Created: k.task.Queued}
	if pool := machine.PoolLike(c, k.token.name); pool != nil {
		m.Pool, m.Role, m.Template, m.Version = pool.Name, pool.Role, pool.Template, pool.Version
	}
	if k.unread == nil {
		return m
	}
	if why := k.unread.Unreachable(); why != "" { // it may be a machine of long ago
		m.Template, m.Version = "", ""
		m.Silent, m.Message, m.Damaged = true, why, "its VM has the name of a machine, and vCenter does not tell its tags"
	}
	return m
}

// unread returns the name of the machine of c that vm may be, whose configuration vCenter does
// not tell: it clones it, or does not reach it. An agent that saw its tags before knows it anyway.
func unread(vm *vcenter.VM, c *fleet.Cluster) (fleet.MachineName, bool) {
	name := fleet.MachineName(vm.Name)
	return name, vm.Unread && !vm.Tagged && machine.PoolLike(c, name) != nil
}
