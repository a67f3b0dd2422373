package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/staging"
	corev1 "k8s.io/api/core/v1"
)

// A keptPool is a pool that the cloud keeps, wanted and seen.
type keptPool struct {
	name fleet.PoolName
	pool *fleet.KeptPool     // nil: it is not in Git any more
	seen *fleet.KeptPoolSeen // nil: it is not there
	held string              // why which pool it is, or whose, is not certain; nothing is done to it

	ready, available   int // of its Nodes
	upToDate, outdated int // of its Nodes, by their kubelets
	read               int // of its Nodes: the version of the kubelet can be read

	version string // of new machines: what the cloud says, or else the oldest kubelet; empty: not known
	oldest  string // version of a kubelet, or of new machines; empty: not known, or it is not there

	deferred string // the annotation by which people put off its upgrade, so that it stays at its version
}

// wanted is the number of machines that the pool is to have: where the cloud decides it, what it decided.
func (k *keptPool) wanted() int {
	switch {
	case k.pool == nil:
		return 0
	case k.pool.Range == nil || k.seen == nil:
		return k.pool.Count
	}
	return k.pool.Range.Bound(k.seen.Count)
}

// has is the number of machines that the pool has.
func (k *keptPool) has() int {
	if k.seen == nil {
		return 0
	}
	return len(k.seen.Machines)
}

// findKept finds the pools that the cloud keeps, those of Git first, and counts their Nodes.
func (f *facts) findKept() {
	seen := f.Observed.Infrastructure.Pools
	if len(seen) == 0 && len(f.Desired.KeptPools) == 0 {
		return
	}
	named := make(map[fleet.PoolName]*keptPool)
	add := func(k *keptPool) *keptPool {
		f.kept, named[k.name] = append(f.kept, k), k
		return k
	}
	for i := range f.Desired.KeptPools {
		add(&keptPool{name: f.Desired.KeptPools[i].Name, pool: &f.Desired.KeptPools[i]})
	}
	f.keptNodes = make(map[fleet.ProviderID]*keptPool)
	for i := range seen {
		s := &seen[i]
		k := named[s.Name]
		switch {
		case k == nil:
			k = add(&keptPool{name: s.Name})
			fallthrough
		case k.seen == nil:
			k.seen, k.held = s, s.Damaged
		default:
			k.held = "its cloud lists several pools with this name, and Fairlead does not know which is which: delete the others yourself"
		}
		if order, known := fleet.CompareKubernetes(s.Version, cmp.Or(k.oldest, s.Version)); known && (order < 0 || k.oldest == "") {
			k.version, k.oldest = s.Version, s.Version
		}
		for _, id := range s.Machines {
			if id != "" { // Nodes that no cloud has set up have none, either
				f.keptNodes[id] = k
			}
		}
	}
	for i := range f.Observed.Workload.Nodes {
		n := &f.Observed.Workload.Nodes[i]
		if k := f.keptOf(n); k != nil {
			f.count(k, n)
		}
	}
	for _, k := range f.kept {
		if k.version == "" && k.read >= k.has() {
			k.version = k.oldest
		}
		f.deferKept(k)
	}
}

// unknown reports whether k may have kubelets of an unknown version.
func (k *keptPool) unknown() bool { return k.seen != nil && k.version == "" }

// keptOf returns the pool whose machine n is on, if the cloud keeps it; nil: it does not.
func (f *facts) keptOf(n *fleet.Node) *keptPool {
	if k := f.keptNodes[n.ProviderID]; k != nil {
		return k
	}
	return f.keptNodes[withoutRegion(n.ProviderID)]
}

// count counts the Node n of k.
func (f *facts) count(k *keptPool, n *fleet.Node) {
	if order, known := fleet.CompareKubernetes(n.KubeletVersion, cmp.Or(k.oldest, n.KubeletVersion)); known {
		k.read++
		if order < 0 || k.oldest == "" {
			k.oldest = n.KubeletVersion
		}
	}
	if k.pool != nil && !older(n.KubeletVersion, k.pool.Version) {
		k.upToDate++
	} else {
		k.outdated++
	}
	if !n.Ready {
		return
	}
	k.ready++
	since := n.Created
	for _, c := range n.Conditions {
		if c.Type == corev1.NodeReady {
			since = latest(since, c.LastTransitionTime.Time)
		}
	}
	if k.pool != nil && k.pool.MinReadySeconds > 0 {
		if left := time.Duration(k.pool.MinReadySeconds)*time.Second - f.there().Sub(since); left > 0 {
			f.wake(left)
			return
		}
	}
	k.available++
}

// older reports whether a kubelet is older than version want, or may be.
func older(kubelet, want string) bool {
	order, known := fleet.CompareKubernetes(kubelet, want)
	return order < 0 || !known
}

// planKept has the cloud create, change and delete the pools that it keeps.
func (d *draft) planKept() {
	if d.sites[0].away != "" { // noteAway says so
		return
	}
	for _, k := range d.kept {
		switch {
		case k.held != "":
			d.note("pool %s is held: %s", k.name, k.held)
		case k.pool == nil:
			d.deleteKept(k, "the pool is not in Git any more")
		case k.pool.Paused:
			d.note("pool %s is paused", k.name)
		case k.seen == nil:
			d.createKept(k)
		default:
			d.changeKept(k)
		}
	}
}

// createKept has the cloud create k.
func (d *draft) createKept(k *keptPool) {
	if why := d.keptGate(k, k.pool.Version).create; why != "" {
		d.wait("%s", why)
		return
	}
	if r, _, _, ok := d.rotation(); ok && r == fleet.RotateCA && d.Desired.Hosted == nil {
		d.wait("pool %s waits until the rotation of %s is over", k.name, r)
		return
	}
	if d.unsettledOn("") {
		return
	}
	d.ensureKept(k, "the cluster has no pool "+string(k.name))
}

// changeKept has the cloud change k, which is there, where it is not as Git says.
func (d *draft) changeKept(k *keptPool) {
	for _, text := range k.seen.Fixed {
		d.refuse("pool %s does not change: %s", k.name, text)
	}
	switch k.seen.State {
	case fleet.KeptDeleting:
		d.wait("pool %s is being deleted, and is created again afterwards", k.name)
		return
	case fleet.KeptCreating, fleet.KeptUpdating:
		d.wait("pool %s is %s%s", k.name, k.seen.State, because(k.seen.Message))
		return
	case fleet.KeptFailed:
		d.note("pool %s is %s%s; change it in Git to try again, or remove it and add it again", k.name, k.seen.State, because(k.seen.Message))
	}
	if k.unknown() {
		d.wait("pool %s waits until the version of its machines is known: its cloud says %q", k.name, k.seen.Version)
		return
	}
	why := k.differences()
	version, upgrade := d.keptVersion(k)
	if upgrade {
		why = append(why, fmt.Sprintf("version %s → %s", k.version, version))
	}
	if len(why) > 0 {
		d.askFor(k, version)
		d.ensureKept(k, strings.Join(why, "; "))
		return
	}
	if k.seen.State == fleet.KeptActive {
		d.awaitKept(k)
	}
}

// ensureKept has the cloud bring k in line with Git. Another definition is another operation.
func (d *draft) ensureKept(k *keptPool, reason string) {
	p, _ := d.Desired.KeptPool(k.name)
	d.request(fleet.Action{Kind: fleet.EnsurePool, Pool: k.name, Mark: fleet.DigestOf(p), Reason: reason})
}

// differences says in what k is not as Git says, beside its version.
func (k *keptPool) differences() []string {
	var why []string
	switch is, want := k.seen.Range, k.pool.Range; {
	case is.Is(want):
	case want == nil:
		why = append(why, fmt.Sprintf("%d machines, and no autoscaler of the cloud", k.pool.Count))
	case is == nil:
		why = append(why, fmt.Sprintf("the cloud's autoscaler decides the number of machines, %s", want))
	default:
		why = append(why, fmt.Sprintf("range %s → %s", is, want))
	}
	if k.pool.Range == nil && k.seen.Range == nil && k.seen.Count != k.pool.Count {
		why = append(why, fmt.Sprintf("%d → %s", k.seen.Count, machines(k.pool.Count)))
	}
	return append(why, k.seen.Drift...)
}

// keptVersion returns the version that the cloud is asked for, and whether that is an upgrade. A pool that is newer
// than Git by itself stays, and another build of a version is that version.
func (d *draft) keptVersion(k *keptPool) (version string, upgrade bool) {
	want := d.keptTarget(k)
	switch order, _ := fleet.CompareKubernetes(want, k.version); {
	case order < 0 && NewerMinor(k.version, want):
		d.refuse("pool %s stays at %s, which the cloud upgraded it to: it does not go back to %s; set version %s in Git", k.name, k.version, want, fleet.PlainVersion(k.version))
		return k.version, false
	case order < 0:
		d.note("pool %s has %s, which the cloud upgraded it to: it does not go back to %s; set version %s in Git", k.name, k.version, want, fleet.PlainVersion(k.version))
		return k.version, false
	case order == 0:
		return k.version, false
	}
	if why := cmp.Or(d.keptGate(k, want).roll, d.keptTurn(k)); why != "" {
		d.wait("%s", why)
		return k.version, false
	}
	return want, true
}

// deferKept has k, of a cluster of a class, stay at its version if people defer its upgrade and it has not begun.
func (f *facts) deferKept(k *keptPool) {
	if t := f.Desired.Topology; t == nil || t.Deferred[k.name] == "" || !k.behind() || k.unknown() || k.upToDate > 0 {
		return
	}
	p := *k.pool
	p.Version = fleet.PlainVersion(k.version)
	k.pool, k.deferred = &p, f.Desired.Topology.Deferred[k.name]
	k.upToDate, k.outdated = k.outdated, 0
}

// behind reports whether k has a machine of an older version than Git asks for.
func (k *keptPool) behind() bool {
	return k.pool != nil && k.seen != nil && (!k.pool.Current(k.version) || k.outdated > 0)
}

// keptTurn says why k, of a cluster of a class, is not upgraded yet: so many other pools are, or come before it.
// Source: Cluster API, exp/topology/desiredstate.
func (f *facts) keptTurn(k *keptPool) string {
	t := f.Desired.Topology
	if t == nil {
		return ""
	}
	at, n := slices.Index(t.Order, k.name), 0
	for _, o := range f.kept {
		if o == k || !o.behind() || o.pool.Paused || o.held != "" {
			continue
		}
		if slices.Index(t.Order, o.name) < at || o.seen.State == fleet.KeptUpdating {
			n++
		}
	}
	if n < t.Concurrency {
		return ""
	}
	return fmt.Sprintf("pool %s waits for its turn to be upgraded", k.name)
}

// keptTarget returns the version that k is to have now: that of Git, or that of the API server if Git's is newer and
// the control plane waits for k. Otherwise each would wait for the other.
func (f *facts) keptTarget(k *keptPool) string {
	serves, waits := f.keptServer(), string(k.name) == f.staging.Behind()
	if f.Desired.Hosted != nil {
		waits = f.Desired.VersionStep(f.served()).Why == "" && f.hostedVersionRefused() != "" && fleet.KubeletTooOld(k.oldest, f.Desired.Version())
	}
	if ahead, _ := fleet.CompareKubernetes(serves, k.version); waits && ahead > 0 && NewerMinor(k.pool.Version, serves) {
		return cmp.Or(fleet.PlainVersion(serves), k.pool.Version)
	}
	return k.pool.Version
}

// askFor has the change of k that is planned now ask for a version.
func (d *draft) askFor(k *keptPool, version string) {
	if p, _ := d.Desired.KeptPool(k.name); version == p.Version {
		return
	}
	out := *d.Desired
	out.KeptPools = slices.Clone(out.KeptPools)
	for i := range out.KeptPools {
		if out.KeptPools[i].Name == k.name {
			out.KeptPools[i].Version = version
		}
	}
	f := *d.facts
	f.Desired, d.facts = &out, &f
}

// keptServer returns the oldest version of the API servers that kubelets of pools meet; empty: not known.
func (f *facts) keptServer() string {
	if f.Desired.Hosted != nil {
		return f.served()
	}
	return f.oldestControlPlane()
}

// keptGate says which changes of k to a version the control plane allows. Kubelets are never newer than an API server.
// Source: Kubernetes, version skew policy.
func (f *facts) keptGate(k *keptPool, version string) gate {
	var out gate
	done := f.controlPlaneDone()
	if f.Desired.Hosted != nil {
		done = done || f.hostedServes() && f.hostedVersionRefused() != ""
	}
	switch serves := f.keptServer(); {
	case fleet.PlainVersion(serves) == "":
		out.create = fmt.Sprintf("pool %s waits until it is known what version the API server is of", k.name)
	case NewerMinor(version, serves):
		out.create = fmt.Sprintf("pool %s waits: its version %s is newer than the API server's %s", k.name, version, serves)
	}
	out.roll = out.create
	if out.roll == "" && !done {
		out.roll = fmt.Sprintf("pool %s waits until the control plane is stable", k.name)
	}
	return out
}

// awaitKept says what k, of which Git asks for nothing else, waits for.
func (d *draft) awaitKept(k *keptPool) {
	if n := k.wanted(); k.available != n || k.has() != n {
		d.wait("pool %s waits until available: %s", k.name, machines(n))
	}
	if k.outdated > 0 && !older(k.version, k.pool.Version) {
		d.note("pool %s has nodes of an older version than %s, and its cloud has nothing to do", k.name, k.pool.Version)
	}
}

// deleteKept has the cloud delete k.
func (d *draft) deleteKept(k *keptPool, reason string) {
	if k.seen.State == fleet.KeptDeleting {
		d.wait("pool %s is being deleted%s", k.name, because(k.seen.Message))
		return
	}
	d.request(fleet.Action{Kind: fleet.DeletePool, Pool: k.name, Reason: reason})
}

// deleteAllKept deletes the pools that the cloud keeps, of a cluster that goes. It reports whether any is
// there, or may still appear.
func (d *draft) deleteAllKept() bool {
	found := false
	for _, k := range d.kept {
		if k.seen == nil {
			continue
		}
		found = true
		if k.held != "" {
			d.note("pool %s is held: %s", k.name, k.held)
			continue
		}
		d.deleteKept(k, "the cluster is to be deleted")
	}
	for _, a := range d.Attempts {
		shown := slices.ContainsFunc(d.kept, func(k *keptPool) bool { return k.name == a.Action.Pool && k.seen != nil })
		if a.Action.Kind == fleet.EnsurePool && !shown && d.recent(a, d.Settle) && !d.deletedSince(a) {
			found = true
			d.wait("pool %s was asked for and may still appear", a.Action.Pool)
			d.wake(d.Settle - d.Now.Sub(a.At))
		}
	}
	return found
}

// keptBegun reports whether the pool called name was asked of the cloud, and may not show yet; without a name, any pool.
func (f *facts) keptBegun(name fleet.PoolName) bool {
	return slices.ContainsFunc(f.Attempts, func(a fleet.Attempt) bool {
		return a.Action.Kind == fleet.EnsurePool && (name == "" || a.Action.Pool == name) && f.recent(a, f.Settle) && !f.deletedSince(a)
	})
}

// deletedSince reports whether this agent deleted the pool of a after it was asked for.
func (f *facts) deletedSince(a fleet.Attempt) bool {
	return a.Answered && slices.ContainsFunc(f.Attempts, func(b fleet.Attempt) bool {
		return b.Action.Kind == fleet.DeletePool && b.Action.Pool == a.Action.Pool && b.At.After(a.At)
	})
}

// keptDone reports whether the pools that the cloud keeps are as Git says.
func (f *facts) keptDone() bool {
	for _, k := range f.kept {
		if k.pool == nil || k.seen == nil || k.held != "" || k.seen.State != fleet.KeptActive || len(k.differences()) > 0 || len(k.seen.Fixed) > 0 ||
			!k.pool.Current(k.version) || k.outdated > 0 || k.has() != k.wanted() || k.available != k.wanted() {
			return false
		}
	}
	return true
}

// keptServes reports whether a Node of a pool that the cloud keeps is ready.
func (f *facts) keptServes() bool {
	return slices.ContainsFunc(f.kept, func(k *keptPool) bool { return k.ready > 0 })
}

// keptMachines stands for the machines of pools that the cloud keeps, for what a control plane waits for.
func (f *facts) keptMachines() []staging.Machine {
	var out []staging.Machine
	for _, k := range f.kept {
		switch {
		case k.pool == nil || k.seen == nil:
		case k.unknown():
			out = append(out, staging.Machine{Pool: k.name})
		default:
			out = append(out, staging.Machine{Pool: k.name, Version: fleet.PlainVersion(k.oldest)})
		}
	}
	return out
}

// keptShort names the pools that the cloud keeps and that have too few available machines.
func (f *facts) keptShort() []string {
	var short []string
	for _, k := range f.kept {
		if k.pool != nil && f.sites[0].away == "" && k.available < k.wanted() {
			short = append(short, fmt.Sprintf("pool %s has too few available machines", k.name))
		}
	}
	return short
}

// keptProgress says what goes on in k, for the conditions of the cluster.
func (f *facts) keptProgress(k *keptPool) (rolling, up, down []string) {
	want := fmt.Sprintf("%s wants %s", k.name, machines(k.wanted()))
	switch {
	case f.sites[0].away != "", k.held != "":
	case f.deleting() && k.seen != nil:
		down = append(down, fmt.Sprintf("%s is being deleted", k.name))
	case f.deleting():
	case k.pool == nil:
		down = append(down, fmt.Sprintf("pool %s is not in Git any more", k.name))
	case k.has() < k.wanted():
		up = append(up, want)
	case k.has() > k.wanted():
		down = append(down, want)
	}
	if k.pool != nil && k.seen != nil && k.held == "" && !f.deleting() {
		if k.version != "" && older(k.version, k.pool.Version) {
			rolling = append(rolling, fmt.Sprintf("%s: version %s → %s", k.name, k.version, k.pool.Version))
		} else if k.outdated > 0 {
			rolling = append(rolling, fmt.Sprintf("%s: nodes of an older version than %s", k.name, k.pool.Version))
		}
	}
	return rolling, up, down
}

// report tells of k.
func (k *keptPool) report(unreachable bool) fleet.PoolReport {
	r := fleet.PoolReport{
		Name: k.name, Role: fleet.RoleWorker, Kind: fleet.MachinePoolKind, Desired: k.wanted(), Current: k.has(),
		UpToDate: k.upToDate, Ready: k.ready, Available: k.available, Phase: k.phase(unreachable),
	}
	if k.pool != nil {
		r.Version = k.pool.Version
	}
	if k.seen != nil {
		r.Message = cmp.Or(k.held, k.seen.Message, strings.Join(k.seen.Fixed, "; "))
	}
	return r
}

// phase returns the phase of k.
// Source: Cluster API, reconcilePhase of MachinePools.
func (k *keptPool) phase(unreachable bool) fleet.KeptPhase {
	switch {
	case k.seen == nil:
		return fleet.KeptPhasePending
	case k.held != "":
		return fleet.KeptPhaseUnknown
	case k.pool == nil, k.seen.State == fleet.KeptDeleting:
		return fleet.KeptPhaseDeleting
	case k.seen.State == fleet.KeptFailed:
		return fleet.KeptPhaseFailed
	case k.seen.State == fleet.KeptCreating:
		return fleet.KeptPhaseProvisioning
	case unreachable:
		return fleet.KeptPhaseUnknown
	case k.ready != k.wanted() && k.pool.Range != nil:
		return fleet.KeptPhaseScaling
	case k.ready < k.wanted():
		return fleet.KeptPhaseScalingUp
	case k.ready > k.wanted() || k.has() > k.wanted():
		return fleet.KeptPhaseScalingDown
	case k.seen.State == fleet.KeptUpdating:
		return fleet.KeptPhaseProvisioning
	}
	return fleet.KeptPhaseRunning
}
