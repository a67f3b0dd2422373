package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MachinePoolKind is the kind of the object that a KeptPool comes from, and a Pool whose infrastructure is of a kind
// with OwnMachines.
const MachinePoolKind PoolKind = "MachinePool"

// A KeptPool is a group of workers that a cloud keeps: a managed node group, an agent pool. The cloud
// creates, joins, drains and deletes its machines. Fairlead says how many there are to be, and of which
// version, and counts their Nodes.
type KeptPool struct {
	Name PoolName
	// Count is the number of machines. If Range is set, it is the number that a new pool begins with.
	Count int
	// Range, if not nil, has the cloud decide the number within bounds.
	Range   *PoolRange `json:",omitempty"`
	Version string     // of Kubernetes, with its v; never empty

	Infrastructure Object     // DevMachinePool, …
	Bootstrap      *Bootstrap `json:",omitempty"` // that machines are set up with; nil: the cloud sets them up by itself
	FailureDomains []string   `json:",omitempty"` // that machines are in; empty: the cloud chooses

	NodeLabels map[string]string        `json:",omitempty"` // that the cloud gives the Nodes
	Taints     []clusterv1.MachineTaint `json:",omitempty"` // that the cloud gives the Nodes

	MinReadySeconds int  `json:",omitempty"`
	Paused          bool `json:",omitempty"`
}

// Current reports whether the version of a kubelet is what p asks for: of the same minor version, and not older.
// Clouds patch their pools by themselves.
func (p *KeptPool) Current(kubelet string) bool {
	have, errHave := version.ParseGeneric(kubelet)
	want, errWant := version.ParseGeneric(p.Version)
	return errHave == nil && errWant == nil && have.Major() == want.Major() && have.Minor() == want.Minor() && !have.LessThan(want)
}

// A PoolRange has the bounds within which a cloud decides the number of machines.
type PoolRange struct{ Min, Max int }

// Bound returns n within the bounds.
func (r PoolRange) Bound(n int) int { return max(min(n, r.Max), r.Min) }

// String returns the bounds as "1–5".
func (r PoolRange) String() string { return fmt.Sprintf("%d–%d", r.Min, r.Max) }

// Is reports whether r and o are the same range, or both none.
func (r *PoolRange) Is(o *PoolRange) bool {
	return r == nil && o == nil || r != nil && o != nil && *r == *o
}

// A KeptState is how far a cloud is with a pool.
type KeptState string

// The states of a pool that a cloud keeps.
const (
	KeptCreating KeptState = "Creating"
	KeptActive   KeptState = "Active"   // the cloud has nothing to do, and accepts changes
	KeptUpdating KeptState = "Updating" // the cloud changes it, and accepts no other change
	KeptDeleting KeptState = "Deleting"
	KeptFailed   KeptState = "Failed" // the cloud gave up: Message says why
)

// A KeptPoolSeen is a pool with the cluster's tags, as its cloud shows it.
type KeptPoolSeen struct {
	Name     PoolName
	State    KeptState
	Message  string       // the cloud's own words about State
	Count    int          // of machines that the cloud keeps
	Range    *PoolRange   `json:",omitempty"` // in which its autoscaler decides Count; nil: it does not
	Version  string       // of Kubernetes that new machines get
	Machines []ProviderID // that are there, sorted
	Drift    []string     `json:",omitempty"` // what EnsurePool would change beside count, range and version, for people, sorted
	Fixed    []string     `json:",omitempty"` // what Git asks for and the cloud cannot change of this pool, for people, sorted
	Created  time.Time    // zero: not known
	Damaged  string       `json:",omitempty"` // which tags are missing or damaged, for people; empty: none is
}

// A KeptPhase is the headline of a pool that a cloud keeps, with the names of Cluster API's MachinePool.
type KeptPhase string

// The phases of a pool that a cloud keeps.
const (
	KeptPhasePending      KeptPhase = "Pending"      // it is not there
	KeptPhaseProvisioning KeptPhase = "Provisioning" // the cloud creates or changes it
	KeptPhaseScalingUp    KeptPhase = "ScalingUp"    // fewer Nodes are ready than machines are wanted
	KeptPhaseScalingDown  KeptPhase = "ScalingDown"  // more are
	KeptPhaseScaling      KeptPhase = "Scaling"      // either, while the cloud's autoscaler decides the number
	KeptPhaseRunning      KeptPhase = "Running"
	KeptPhaseDeleting     KeptPhase = "Deleting"
	KeptPhaseFailed       KeptPhase = "Failed"  // the cloud gave up
	KeptPhaseUnknown      KeptPhase = "Unknown" // its Nodes cannot be seen, or which pool it is is not certain
)

// KeptPool returns the pool called name that a cloud keeps.
func (c *Cluster) KeptPool(name PoolName) (KeptPool, bool) {
	i := slices.IndexFunc(c.KeptPools, func(p KeptPool) bool { return p.Name == name })
	if i < 0 {
		return KeptPool{}, false
	}
	return c.KeptPools[i], true
}

// OnlyKeptPools reports whether a cloud keeps all that c has: a hosted control plane, and pools.
func (c *Cluster) OnlyKeptPools() bool {
	return c.Hosted != nil && len(c.Workers) == 0 && len(c.KeptPools) > 0
}

// PoolTags returns the ownership tags of a pool of c that a cloud keeps, made by op.
func (c *Cluster) PoolTags(name PoolName, op OperationID) map[string]string {
	tags := c.Tags()
	tags[TagPool], tags[TagRole], tags[TagOperation] = string(name), string(RoleWorker), string(op)
	return tags
}

// whileWaiting does for p what Cluster.WhileWaiting does. Where one of both leaves the number to the cloud, the other's
// number is a lower bound; who decides it is a part of what waits.
func (p KeptPool) whileWaiting(next *KeptPool) KeptPool {
	p.Paused = next.Paused
	least, most := next.Count, next.Count
	if next.Range != nil {
		least, most = next.Range.Min, next.Range.Max
	}
	if p.Range != nil {
		p.Range = &PoolRange{Min: max(p.Range.Min, least), Max: max(p.Range.Max, most)}
		p.Count = p.Range.Bound(p.Count)
	} else {
		p.Count = max(p.Count, least)
	}
	return p
}

// inWaves returns p without what NeverWaits.
func (p KeptPool) inWaves() KeptPool {
	p.Count, p.Range, p.Paused = 0, nil, false
	p.Infrastructure = Object{GVK: p.Infrastructure.GVK, Spec: []byte(cmp.Or(hashed(p.Infrastructure), "null"))}
	return p
}
