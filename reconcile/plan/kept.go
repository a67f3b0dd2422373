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

	ready, available   int    // of its Nodes
	upToDate, outdated int    // of its Nodes, by their kubelets
	oldest             string // version of a kubelet, or of new machines; empty: it has none
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
	for i := range f.Desired.KeptPools {
		p := &f.Desired.KeptPools[i]
		k := &keptPool{name: p.Name, pool: p}
		if j := slices.IndexFunc(seen, func(s fleet.KeptPoolSeen) bool { return s.Name == p.Name }); j >= 0 {
			k.seen = &seen[j]
		}
		f.kept = append(f.kept, k)
	}
	for i := range seen {
		if _, known := f.Desired.KeptPool(seen[i].Name); !known {
			f.kept = append(f.kept, &keptPool{name: seen[i].Name, seen: &seen[i]})
		}
	}
	f.keptNodes = make(map[fleet.ProviderID]*keptPool)
	for _, k := range f.kept {
		if k.seen != nil {
			k.oldest = k.seen.Version
			for _, id := range k.seen.Machines {
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
}

// keptOf returns the pool whose machine n is on, if the cloud keeps it; nil: it does not.
func (f *facts) keptOf(n *fleet.Node) *keptPool {
	if k := f.keptNodes[n.ProviderID]; k != nil {
		return k
	}
	return f.keptNodes[withoutRegion(n.ProviderID)]
}

// count counts the Node n of k.
func (f *facts) count(k *keptPool, n *fleet.Node) {
	if k.oldest == "" || fleet.OlderVersion(n.KubeletVersion, k.oldest) {
		k.oldest = n.KubeletVersion
	}
	if k.pool != nil && k.pool.Current(n.KubeletVersion) {
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

// planKept has the cloud create, change and delete the pools that it keeps.
func (d *draft) planKept() {
	if d.sites[0].away != "" { // noteAway says so
		return
	}
	for _, k := range d.kept {
		switch {
		case k.seen != nil && k.seen.Damaged != "":
			d.note("pool %s is held: %s", k.name, k.seen.Damaged)
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
	if why := d.keptGate(k).create; why != "" {
		d.wait("%s", why)
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
	why := k.differences()
	switch version, stays := d.keptVersion(k); {
	case version != "":
		why = append(why, version)
	case stays && len(why) > 0:
		d.holdKeptVersion(k)
	}
	if len(why) > 0 {
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

// keptVersion says why the version of k changes; empty: it does not, and stays where it is not that of
// Git.
func (d *draft) keptVersion(k *keptPool) (why string, stays bool) {
	is, want := k.seen.Version, k.pool.Version
	switch {
	case is == want || is == "":
		return "", false
	case fleet.OlderVersion(want, is):
		d.refuse("pool %s stays at %s, which the cloud upgraded it to: it does not go back to %s; set version %s in Git", k.name, is, want, is)
		return "", true
	}
	if why := d.keptGate(k).roll; why != "" {
		d.wait("%s", why)
		return "", true
	}
	return fmt.Sprintf("version %s → %s", is, want), false
}

// holdKeptVersion has the change of k that is planned now leave its version.
func (d *draft) holdKeptVersion(k *keptPool) {
	out := *d.Desired
	out.KeptPools = slices.Clone(out.KeptPools)
	for i := range out.KeptPools {
		if out.KeptPools[i].Name == k.name {
			out.KeptPools[i].Version = k.seen.Version
		}
	}
	f := *d.facts
	f.Desired, d.facts = &out, &f
}

// keptGate says which changes to k the control plane allows. Kubelets are never newer than an API server.
// Source: Kubernetes, version skew policy.
func (f *facts) keptGate(k *keptPool) gate {
	var out gate
	var serves string
	var done bool
	if f.Desired.Hosted == nil {
		serves, done = f.oldestControlPlane(), f.controlPlaneDone()
	} else {
		serves, done = f.served(), f.hostedDone() || f.hostedServes() && f.hostedVersionRefused() != ""
	}
	switch {
	case serves == "":
		out.create = fmt.Sprintf("pool %s waits until it is known what version the API server is of", k.name)
	case NewerMinor(k.pool.Version, serves):
		out.create = fmt.Sprintf("pool %s waits: its version %s is newer than the API server's %s", k.name, k.pool.Version, serves)
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
		if k.seen.Damaged != "" {
			d.note("pool %s is held: %s", k.name, k.seen.Damaged)
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

// deletedSince reports whether this agent deleted the pool of a after it was asked for.
func (f *facts) deletedSince(a fleet.Attempt) bool {
	return a.Answered && slices.ContainsFunc(f.Attempts, func(b fleet.Attempt) bool {
		return b.Action.Kind == fleet.DeletePool && b.Action.Pool == a.Action.Pool && b.At.After(a.At)
	})
}

// keptDone reports whether the pools that the cloud keeps are as Git says.
func (f *facts) keptDone() bool {
	for _, k := range f.kept {
		if k.pool == nil || k.seen == nil || k.seen.State != fleet.KeptActive || len(k.differences()) > 0 || len(k.seen.Fixed) > 0 ||
			k.seen.Version != "" && k.seen.Version != k.pool.Version || k.has() != k.wanted() || k.available != k.wanted() {
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
		if k.pool != nil && k.oldest != "" {
			out = append(out, staging.Machine{Pool: k.name, Version: k.oldest})
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
	case f.sites[0].away != "":
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
	if k.pool != nil && k.seen != nil && !f.deleting() {
		if is := k.seen.Version; fleet.OlderVersion(is, k.pool.Version) {
			rolling = append(rolling, fmt.Sprintf("%s: version %s → %s", k.name, is, k.pool.Version))
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
		r.Message = cmp.Or(k.seen.Message, strings.Join(k.seen.Fixed, "; "))
	}
	return r
}

// phase returns the phase of k.
// Source: Cluster API, reconcilePhase of MachinePools.
func (k *keptPool) phase(unreachable bool) fleet.KeptPhase {
	switch {
	case k.seen == nil:
		return fleet.KeptPhasePending
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
