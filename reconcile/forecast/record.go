package forecast

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// A record is what was done on a model.
type record struct {
	cluster *fleet.Cluster
	unseen  bool // the content of the cluster was not observed: what is done there is no news
	deletes bool // something of a cluster that is to go was there
	before  []fleet.Machine
	there   map[fleet.MachineName]bool // of before
	reasons map[subject]string         // why a removal began
	pools   []*poolRecord
	shared  []Change
	nodes   map[fleet.MachineName]Change // by machines that were there before
	addons  []Change
	hosts   []Change
	reboots []Change
	kept    []Change // pools that a cloud keeps
	resumed []Change
}

// A subject is a machine that is removed; without an id, the only one of its name.
type subject struct {
	name fleet.MachineName
	id   fleet.ProviderID
}

// A poolRecord is what was done to the machines of one pool.
type poolRecord struct {
	name     fleet.PoolName
	gone     []departure                  // of machines that were there before, in order
	made     []fleet.Action               // without a machine: it is gone again
	at       map[fleet.MachineName]int    // in made
	versions map[fleet.MachineName]string // of machines that were made
	between  []fleet.Action               // made, and gone again
}

// A departure is a machine that goes.
type departure struct {
	fleet.Machine
	reason string
}

func newRecord(c *fleet.Cluster, o fleet.Observed) *record {
	r := &record{cluster: c, reasons: map[subject]string{}, before: o.Infrastructure.Machines, there: map[fleet.MachineName]bool{}, nodes: map[fleet.MachineName]Change{}}
	for i := range r.before {
		r.there[r.before[i].Name] = true
	}
	for _, p := range c.Pools() {
		r.pool(p.Name)
	}
	return r
}

func (r *record) pool(name fleet.PoolName) *poolRecord {
	if i := slices.IndexFunc(r.pools, func(p *poolRecord) bool { return p.name == name }); i >= 0 {
		return r.pools[i]
	}
	p := &poolRecord{name: name, at: map[fleet.MachineName]int{}, versions: map[fleet.MachineName]string{}}
	r.pools = append(r.pools, p)
	return p
}

func (r *record) change(kind ChangeKind, pool fleet.PoolName, m fleet.MachineName, reason string) Change {
	return Change{Kind: kind, Cluster: r.cluster.Key, Pool: pool, Machine: m, Reason: reason}
}

// note takes down a, which is about to be done to what o shows.
func (r *record) note(desired *fleet.Cluster, m *model, a fleet.Action) {
	o := &m.observed
	if a.Provider != "" && !desired.Delete && (a.Kind == fleet.EnsureInfrastructure || a.Kind == fleet.DeleteInfrastructure) {
		r.shared = append(r.shared, r.change(UpdateShared, "", "", a.Reason))
		return
	}
	switch s := (subject{a.Machine, a.ProviderID}); a.Kind {
	case fleet.DrainNode, fleet.RemoveMember:
		r.begin(m, s, a.Reason)
	case fleet.DeleteInfrastructure, fleet.DeleteSecrets, fleet.DeleteControlPlane:
		r.deletes = true
	case fleet.EnsureInfrastructure:
		switch {
		case !o.Infrastructure.Exists && len(o.Infrastructure.Machines) == 0:
			r.shared = append(r.shared, r.change(CreateCluster, "", "", a.Reason))
		case o.Infrastructure.Ready:
			r.shared = append(r.shared, r.change(UpdateShared, "", "", a.Reason))
		}
	case fleet.EnsureControlPlane:
		if o.ControlPlane.Exists {
			r.shared = append(r.shared, r.change(UpdateShared, "", "", a.Reason))
		}
	case fleet.ApplyStep:
		if desired.Hosted != nil {
			r.shared = append(r.shared, r.change(UpdateShared, "", "", a.Reason))
		}
	case fleet.CreateMachine:
		p, _ := desired.Pool(a.Pool)
		of := r.pool(a.Pool)
		of.at[a.Machine], of.versions[a.Machine] = len(of.made), p.Version
		of.made = append(of.made, a)
	case fleet.DeleteMachine:
		r.noteDeleted(m, a)
	case fleet.EnsurePool, fleet.DeletePool:
		r.noteKept(o, a)
	case fleet.SwitchOff:
		r.reboots = append(r.reboots, r.change(RebootMachine, a.Pool, a.Machine, a.Reason))
	case fleet.SyncNode:
		if r.there[a.Machine] && differs(desired, m, a) {
			r.nodes[a.Machine] = r.change(UpdateNode, a.Pool, a.Machine, a.Reason)
		}
	case fleet.ApplyResources, fleet.PruneResources, fleet.InstallRelease, fleet.UninstallRelease:
		r.noteAddon(desired, o, a)
	}
}

// noteHosts takes down what is to be done to hosts of the inventory.
func (r *record) noteHosts(list []fleet.Host) {
	for i := range list {
		h := &list[i]
		if h.Next.Do == "" || h.Held != "" {
			continue
		}
		c := r.change(PrepareHost, "", "", h.Next.Do)
		if h.Next.Why != "" {
			c.Reason += ": " + h.Next.Why
		}
		c.Host = h.Key().String()
		r.hosts = append(r.hosts, c)
	}
}

// differs reports whether a, which syncs a Node, changes more than whose word the Node
// has for being in line: a machine that joined, or that another controller looked
// after, only gets Fairlead's annotations.
func differs(desired *fleet.Cluster, m *model, a fleet.Action) bool {
	n := m.node(a.Node)
	if n == nil || n.Annotations[clusterv1.MachineAnnotation] == "" {
		return false
	}
	p, known := desired.Pool(a.Pool)
	if !known {
		p.Name = a.Pool
	}
	if a.Outdated {
		p = p.OfOutdated()
	}
	return !fleet.NodeInSync(desired, p, a.Machine, fleet.SignedNode(desired.Key, p, a.Machine, *n))
}

func (r *record) noteDeleted(m *model, a fleet.Action) {
	r.deletes = true
	o := m.machine(a.Machine, a.ProviderID)
	if o == nil {
		return
	}
	of := r.pool(a.Pool)
	r.begin(m, subject{o.Name, o.ProviderID}, a.Reason)
	switch {
	case strings.HasPrefix(string(o.ProviderID), madeID):
		j := of.at[a.Machine]
		of.between = append(of.between, of.made[j])
		of.made[j].Machine = ""
	case o.State == fleet.MachineDeleting:
		r.resumed = append(r.resumed, r.change(DeleteMachine, a.Pool, a.Machine, a.Reason))
	default:
		of.gone = append(of.gone, departure{*o, r.reasons[subject{o.Name, o.ProviderID}]})
	}
}

// noteKept takes down what is done to a pool that the cloud keeps, which is one change however often it is
// changed.
func (r *record) noteKept(o *fleet.Observed, a fleet.Action) {
	kind := UpdatePool
	switch there := slices.ContainsFunc(o.Infrastructure.Pools, func(p fleet.KeptPoolSeen) bool { return p.Name == a.Pool }); {
	case a.Kind == fleet.DeletePool:
		kind, r.deletes = DeletePool, true
	case !there:
		kind = CreatePool
	}
	i := slices.IndexFunc(r.kept, func(c Change) bool { return c.Pool == a.Pool })
	switch {
	case i < 0:
		r.kept = append(r.kept, r.change(kind, a.Pool, "", a.Reason))
	case kind == UpdatePool:
		r.kept[i].Reason += "; " + a.Reason
	}
}

// begin takes down why the removal of s began, unless it is known.
func (r *record) begin(m *model, s subject, reason string) {
	if s.id == "" {
		if o := m.machine(s.name, ""); o != nil {
			s.id = o.ProviderID
		}
	}
	if _, known := r.reasons[s]; !known {
		r.reasons[s] = reason
	}
}

func (r *record) noteAddon(desired *fleet.Cluster, o *fleet.Observed, a fleet.Action) {
	c := r.change("", "", "", a.Reason)
	c.Addon = a.Addon
	switch a.Kind {
	case fleet.ApplyResources:
		c.Kind = ApplyResources
		if len(a.Resources) == 0 {
			return // only what is remembered of it changes
		}
	case fleet.PruneResources:
		c.Kind = PruneResources
		if len(a.Objects) == 0 {
			return
		}
	case fleet.UninstallRelease:
		c.Kind, c.Addon = UninstallRelease, a.Release.String()
	case fleet.InstallRelease:
		c.Kind, c.Addon = InstallRelease, a.Release.String()
		if slices.ContainsFunc(o.Workload.Releases, func(s fleet.ReleaseState) bool { return s.ReleaseRef == a.Release }) {
			c.Kind = UpgradeRelease
		}
		if rel, ok := desired.Release(a.Release); ok {
			c.Reason = fmt.Sprintf("%s of %s: %s", rel.Chart, rel.Chart.Repository, a.Reason)
		}
	}
	r.addons = append(r.addons, c)
}
