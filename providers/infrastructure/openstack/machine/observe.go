package machine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// An Observation is what was seen of the servers of a cluster.
type Observation struct {
	Machines []fleet.Machine // sorted by name, then provider id
	Bastions []*servers.Server
	Exists   bool     // something is there, if only parts
	Drift    []string // leftovers, for people, sorted

	Stuck []string // what takes no deletion until somebody acts, for people, sorted

	leftovers map[snapshot.Owner]*parts
	retained  []*servers.Server // that Nova keeps, though they were asked to go
}

// Observe sorts what s, a look at p, has of the machines of c.
func (k *Keeper) Observe(p *cloud.Project, s *cloud.Snapshot, c *fleet.Cluster) Observation {
	o := snapshot.OwnerOf(c)
	var out Observation
	k.forgetGone(p, o, s)
	with, all := make(map[snapshot.Owner]bool), partsOf(s, o)
	for _, v := range s.Servers.Of(o) {
		owner, _ := s.Servers.Owner(v.ID)
		tags := cloud.Tags(v.Metadata)
		part, doubted := s.Contradiction(v.ID)
		doubted = doubted && !Leaving(v)
		if !doubted && cloud.IsBastion(o, tags) {
			with[owner] = true
			out.Bastions = append(out.Bastions, v)
			continue
		}
		m := toMachine(v, tags)
		if own := all[owner]; own != nil && m.Message == "" { // left behind by the last one of its name
			m.Message = strings.Join(own.stuckVolumes(), "; ")
		}
		if doubted {
			m = ambiguous(m, o, part)
			owner = o.Part(m.Name)
		}
		with[owner] = true
		fillPool(&m, c)
		switch {
		case v.Status != softDeleted || !k.mayPurge(v.ID, c.Delete):
		case c.Delete:
			m.State = fleet.MachineFailed // its deletion is asked for again
		default:
			out.retained = append(out.retained, v)
			out.Drift = append(out.Drift, fmt.Sprintf("left over of %s: server %s, which Nova keeps after its deletion", owner.Machine, v.ID))
		}
		out.Machines = append(out.Machines, m)
	}
	without := make(map[snapshot.Owner]*parts)
	for owner, all := range all {
		out.Exists = true
		out.Stuck = append(out.Stuck, all.stuckVolumes()...)
		if with[owner] {
			continue
		}
		v, part := all.server(s, owner)
		switch {
		case v == nil:
			without[owner] = all
			out.Stuck = append(out.Stuck, all.overdueVolumes(s.Began)...)
		case Leaving(v), owner == cloud.Bastion(o): // making another is refused, and says why
		default:
			m := unmarked(s, v, owner, part)
			fillPool(&m, c)
			out.Machines = append(out.Machines, m)
		}
	}
	out.Exists = out.Exists || len(with) > 0 || len(retainedFloatingIPs(s, o)) > 0
	awaited, left := k.classifyParts(p, o, without, with, s.Began)
	for owner, all := range awaited {
		if m, ok := pendingMachine(c, owner, all); ok {
			out.Machines = append(out.Machines, m)
		}
	}
	out.leftovers = left
	for owner, all := range left {
		if now := all.notDeleting(); !now.empty() {
			out.Drift = append(out.Drift, fmt.Sprintf("left over of %s: %s", owner.Machine, now))
		}
	}
	slices.Sort(out.Drift)
	slices.Sort(out.Stuck)
	driver.SortMachines(out.Machines)
	slices.SortFunc(out.Bastions, func(a, b *servers.Server) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// WithoutServer returns the machines of cluster o of which s has only parts.
func WithoutServer(s *cloud.Snapshot, o snapshot.Owner) (out []snapshot.Owner) {
	for owner := range partsOf(s, o) {
		if len(s.Servers.Of(owner)) == 0 && owner != cloud.Bastion(o) {
			out = append(out, owner)
		}
	}
	return out
}

func toMachine(v *servers.Server, tags map[string]string) fleet.Machine {
	m := fleet.MachineFromTags(tags)
	m.ProviderID = fleet.ProviderID(IDPrefix + v.ID)
	m.FailureDomain = v.AvailabilityZone
	m.State, m.Message = state(v)
	m.Created = v.Created
	m.Addresses = addresses(v)
	return m
}

// state says what Nova's status means.
// Source: https://docs.openstack.org/api-guide/compute/server_concepts.html
func state(v *servers.Server) (fleet.MachineState, string) {
	if v.Status == softDeleted {
		return fleet.MachineDeleting, "server is SOFT_DELETED: Nova keeps it until it is reclaimed (restore it, or have it go at once with: openstack server delete --force " + v.ID + ")"
	}
	if Leaving(v) {
		return fleet.MachineDeleting, ""
	}
	switch v.Status {
	case "ACTIVE":
		return fleet.MachineRunning, ""
	case "REBOOT", "HARD_REBOOT", "PASSWORD", "MIGRATING", "RESIZE", "VERIFY_RESIZE", "REVERT_RESIZE":
		return fleet.MachineRunning, "server is " + v.Status
	case "UNKNOWN":
		return fleet.MachineRunning, "server is UNKNOWN: Nova does not reach its host"
	case "BUILD", "REBUILD", "":
		return fleet.MachinePending, "server is being built"
	case "ERROR":
		return fleet.MachineFailed, fault(v)
	}
	return fleet.MachinePending, fmt.Sprintf("server is %s: somebody else did that (start it, or delete the machine)", v.Status)
}

// fault returns Nova's words about a server in ERROR, with what to do.
func fault(v *servers.Server) string {
	text := strings.Join(strings.Fields(v.Fault.Message), " ")
	if text == "" {
		return "server is in ERROR, and Nova does not say why"
	}
	low := strings.ToLower(text)
	switch {
	case strings.Contains(low, "no valid host"):
		text += " (no hypervisor has room for the flavor in its zone and server group: free some, or ask for less)"
	case strings.Contains(low, "quota"):
		text += " (have the quota of the project raised, or remove what is not needed)"
	case strings.Contains(low, "exhausted all hosts"):
		text += " (each host that was tried refused it, and Nova tells operators alone why: a port that cannot be bound there, such as one of a vnicType that no host has, or an image that the hypervisor does not take)"
	case strings.Contains(low, "binding"):
		text += " (Neutron could not bind a port on the host: look at its agent there)"
	}
	return text
}

// addresses returns all addresses of v, fixed ones first, sorted.
func addresses(v *servers.Server) []string {
	var fixed, floating []string
	for _, net := range slices.Sorted(maps.Keys(v.Addresses)) {
		list, _ := v.Addresses[net].([]any)
		for _, item := range list {
			a, _ := item.(map[string]any)
			addr, _ := a["addr"].(string)
			if addr == "" {
				continue
			}
			if a["OS-EXT-IPS:type"] == "floating" {
				floating = append(floating, addr)
			} else {
				fixed = append(fixed, addr)
			}
		}
	}
	slices.Sort(floating)
	return append(fixed, floating...)
}

// spareNames is how many indexes above those of a pool are tried when the name
// of a machine is looked for.
const spareNames = 64

// pendingMachine returns the machine that parts without a server are for. Their marks
// have its name only: one that Git does not ask for any more is not shown.
func pendingMachine(c *fleet.Cluster, o snapshot.Owner, p *parts) (fleet.Machine, bool) {
	pool, ok := poolOf(c, o.Machine)
	return fleet.Machine{
		Name: o.Machine, Pool: pool.Name, Role: pool.Role, Template: pool.Template, Version: pool.Version,
		State: fleet.MachinePending, Message: "its server was not seen yet", Created: p.created(),
	}, ok
}

// poolOf returns the pool that the name of a machine follows from.
func poolOf(c *fleet.Cluster, name fleet.MachineName) (fleet.Pool, bool) {
	for _, pool := range c.Pools() {
		for i := range pool.Replicas + pool.MaxSurge + spareNames {
			if c.MachineName(&pool, i) == name {
				return pool, true
			}
		}
	}
	return fleet.Pool{}, false
}

// created is when the oldest part was made.
func (p *parts) created() time.Time {
	var out time.Time
	take := func(t time.Time) {
		if !t.IsZero() && (out.IsZero() || t.Before(out)) {
			out = t
		}
	}
	for _, f := range p.floating {
		take(f.CreatedAt)
	}
	for _, t := range p.trunks {
		take(t.CreatedAt)
	}
	for _, t := range p.ports {
		take(t.CreatedAt)
	}
	for _, v := range p.volumes {
		take(v.CreatedAt)
	}
	return out
}

// Clean removes what obs found left over, as far as a new look finds it left
// over too: a machine may have got its server since. Servers that were asked to go
// and that Nova keeps are deleted permanently.
func (k *Keeper) Clean(ctx context.Context, p *cloud.Project, obs Observation, keeps func(pool string) bool) error {
	errs := []error{k.clean(ctx, p, obs.leftovers, keeps, func(o snapshot.Owner, s *cloud.Snapshot) bool { return k.isLeftover(machineID{p, o}, s.Began) })}
	for _, v := range obs.retained {
		if o, ours := cloud.MetadataOwner(v.Metadata); ours {
			errs = append(errs, k.purge(ctx, p, o, v))
		}
	}
	return fleet.JoinErrors(errs...)
}

// DeleteAllParts removes the parts of all machines of o whose servers are gone,
// awaited or not, and the floating IPs that pools keep: the whole cluster is to go.
func (k *Keeper) DeleteAllParts(ctx context.Context, p *cloud.Project, s *cloud.Snapshot, o snapshot.Owner, keeps func(pool string) bool) error {
	errs := []error{k.clean(ctx, p, partsOf(s, o), keeps, func(snapshot.Owner, *cloud.Snapshot) bool { return true })}
	for _, f := range retainedFloatingIPs(s, o) {
		if f.PortID != "" { // the machines are gone
			errs = append(errs, fleet.Errorf(fleet.Conflict, "give back floating IP "+f.FloatingIP, "port %s of somebody else has it (detach it, or empty its description)", f.PortID))
			continue
		}
		errs = append(errs, release(ctx, p, f, o, func(string) bool { return false }))
		p.Changed(o)
	}
	return fleet.JoinErrors(errs...)
}

func (k *Keeper) clean(ctx context.Context, p *cloud.Project, all map[snapshot.Owner]*parts, keeps func(pool string) bool, may func(snapshot.Owner, *cloud.Snapshot) bool) error {
	var errs []error
	for _, o := range slices.SortedFunc(maps.Keys(all), func(a, b snapshot.Owner) int { return cmp.Compare(a.Machine, b.Machine) }) {
		errs = append(errs, k.cleanOne(ctx, p, o, keeps, may))
	}
	return fleet.JoinErrors(errs...)
}

func (k *Keeper) cleanOne(ctx context.Context, p *cloud.Project, o snapshot.Owner, keeps func(pool string) bool, may func(snapshot.Owner, *cloud.Snapshot) bool) error {
	if !k.busy.TryLock(o) {
		return nil
	}
	defer k.busy.Unlock(o)
	s, err := p.Snapshot(ctx, o)
	if err != nil {
		return err
	}
	now := partsOf(s, o)[o]
	if now == nil || len(s.Servers.Of(o)) > 0 || !may(o, s) {
		return nil
	}
	return removeParts(ctx, p, o, now, keeps)
}
