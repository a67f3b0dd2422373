package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MaxReplicas is the most that a pool may have from any source: twice the largest
// number of nodes that Kubernetes is made for. More is a slip of the hand, and what
// is planned for each machine would take all memory.
// Source: Kubernetes, "Considerations for large clusters".
const MaxReplicas = 10_000

// A Scaling says that Git leaves the number of a pool's machines to somebody
// else, as a rule cluster-autoscaler. What was decided is a Scale on the status
// branch; before the first one the pool has what Git begins with, or what is
// there already.
type Scaling struct {
	Min, Max int // bounds of the number; a Max of 0 is MaxReplicas
	// Decided says that Replicas is what a Scale says.
	Decided bool                `json:",omitempty"`
	Remove  map[ProviderID]bool `json:",omitempty"` // machines to go before others, as a Scale says
	Reason  string              `json:",omitempty"` // of that Scale, for people

	Rollout Rollout // to be resolved with each number

	// What a new Node of the pool is like, for pools that have none to look at.
	Capacity corev1.ResourceList `json:",omitempty"`
	Labels   map[string]string   `json:",omitempty"`
	Taints   []corev1.Taint      `json:",omitempty"`

	Options ScalingOptions `json:",omitzero"`
}

// ScalingOptions are settings of cluster-autoscaler for one pool; nil: its own.
type ScalingOptions struct {
	UtilizationThreshold, GPUUtilizationThreshold *float64       `json:",omitempty"` // of scaling down
	UnneededTime, UnreadyTime, ProvisionTime      *time.Duration `json:",omitempty"`
}

// Bound returns n within the bounds.
func (s *Scaling) Bound(n int) int {
	n = min(n, MaxReplicas)
	if s.Max > 0 {
		n = min(n, s.Max)
	}
	return max(n, s.Min)
}

// A Rollout holds the bounds of a rollout unresolved: numbers, or
// percentages of the replicas. They were checked before.
type Rollout struct {
	MaxSurge, MaxUnavailable *intstr.IntOrString `json:",omitempty"` // nil: the pool replaces on deletion
	MaxInFlight              *intstr.IntOrString `json:",omitempty"` // of remediation; nil: no bound
}

// Resolve sets the bounds of p for its replicas: surge is rounded up,
// unavailable down, and one of them is at least 1.
func (r Rollout) Resolve(p *Pool) {
	if p.Strategy == RollingUpdate {
		p.MaxSurge, p.MaxUnavailable = scaled(r.MaxSurge, p.Replicas, true), scaled(r.MaxUnavailable, p.Replicas, false)
		if p.MaxSurge == 0 && p.MaxUnavailable == 0 {
			p.MaxUnavailable = 1
		}
	}
	p.MaxRemediations = -1
	if r.MaxInFlight != nil {
		p.MaxRemediations = scaled(r.MaxInFlight, p.Replicas, true)
	}
}

func scaled(n *intstr.IntOrString, total int, up bool) int {
	v, _ := intstr.GetScaledValueFromIntOrPercent(n, total, up)
	return v
}

// Sized returns p, which Git leaves to be scaled, with n machines, or as near to
// it as its bounds allow.
func (p Pool) Sized(n int) Pool {
	p.Replicas = p.Scaling.Bound(n)
	p.Scaling.Rollout.Resolve(&p)
	return p
}

// A Scale is what was decided on a pool that Git leaves to be scaled.
type Scale struct {
	Cluster  Key
	Pool     PoolName
	Replicas int
	Remove   []ProviderID // machines to go before others, sorted; who is gone does nothing
	Reason   string       // who decided, and what, for people

	At         time.Time // of the decision; zero: it is not known
	Distrusted string    // why no key that counts signed it; empty: one did, or no keys are required
}

// Identical reports whether s and o are the same.
func (s Scale) Identical(o Scale) bool {
	return s.SamePool(o) && s.Replicas == o.Replicas && slices.Equal(s.Remove, o.Remove) && s.Reason == o.Reason
}

// SamePool reports whether s and o are about the same pool.
func (s Scale) SamePool(o Scale) bool { return s.Cluster == o.Cluster && s.Pool == o.Pool }

// Compare orders scales by cluster and pool.
func (s Scale) Compare(o Scale) int {
	return cmp.Or(s.Cluster.Compare(o.Cluster), cmp.Compare(s.Pool, o.Pool))
}

// String returns what was decided: "prod/eu-1-md-0: 5 replicas".
func (s Scale) String() string {
	return fmt.Sprintf("%s/%s: %d replicas", s.Cluster.Namespace, s.Pool, s.Replicas)
}

// WithScales returns c with those of list that are about it and about pools that Git
// leaves to be scaled.
func (c *Cluster) WithScales(list []Scale) *Cluster {
	out := c
	for _, s := range list {
		i := slices.IndexFunc(c.Workers, func(p Pool) bool { return p.Name == s.Pool })
		if s.Cluster != c.Key || i < 0 || c.Workers[i].Scaling == nil || s.Distrusted != "" {
			continue
		}
		if out == c {
			clone := *c
			clone.Workers, out = slices.Clone(c.Workers), &clone
		}
		scaling := *c.Workers[i].Scaling
		scaling.Decided, scaling.Reason = true, s.Reason
		scaling.Remove = make(map[ProviderID]bool, len(s.Remove))
		for _, id := range s.Remove {
			scaling.Remove[id] = true
		}
		p := c.Workers[i]
		p.Scaling = &scaling
		out.Workers[i] = p.Sized(s.Replicas)
	}
	return out
}

// A Scalable is a cluster as an autoscaler sees it.
type Scalable struct {
	Cluster  *Cluster        // with what was decided
	Machines []MachineReport // of the last look at it
}
