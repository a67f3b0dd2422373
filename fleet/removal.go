package fleet

import (
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// A PoolRemoval says how machines of a worker pool are removed, as Git said when the pool was
// last in Git. It holds for machines of a pool that is removed from Git.
// Source: Cluster API, which keeps this on each Machine.
type PoolRemoval struct {
	Pool          PoolName
	DrainSeconds  int               `json:",omitempty"` // Pool.NodeDrainTimeoutSeconds
	DetachSeconds int               `json:",omitempty"` // Pool.NodeVolumeDetachTimeoutSeconds
	Exclude       []string          `json:",omitempty"` // annotations that skip a step of the removal, sorted
	Labels        map[string]string `json:",omitempty"` // that MachineDrainRules select machines by

	MaxUnavailable int           `json:",omitempty"` // Pool.MaxUnavailable where it is more than one
	Order          DeletionOrder `json:",omitempty"` // Pool.DeletionOrder where it is not random
}

// RemovalOf returns how machines of p, a pool of c, are removed, and whether that differs
// from what holds for a pool of which nothing is known.
func (c *Cluster) RemovalOf(p *Pool) (PoolRemoval, bool) {
	r := PoolRemoval{Pool: p.Name, DrainSeconds: p.NodeDrainTimeoutSeconds, DetachSeconds: p.NodeVolumeDetachTimeoutSeconds}
	for _, key := range []string{clusterv1.ExcludeNodeDrainingAnnotation, clusterv1.ExcludeWaitForNodeVolumeDetachAnnotation} {
		if _, ok := p.Annotations[key]; ok {
			r.Exclude = append(r.Exclude, key)
		}
	}
	slices.Sort(r.Exclude)
	if len(c.DrainRules) > 0 {
		r.Labels = p.Labels
	}
	if p.MaxUnavailable > 1 {
		r.MaxUnavailable = p.MaxUnavailable
	}
	if p.DeletionOrder != DeleteRandom {
		r.Order = p.DeletionOrder
	}
	return r, r.DrainSeconds > 0 || r.DetachSeconds > 0 || len(r.Exclude)+len(r.Labels) > 0 || r.MaxUnavailable > 0 || r.Order != ""
}

// WithRemovals returns c with how machines of pools are removed that are not in Git.
func (c *Cluster) WithRemovals(list []PoolRemoval) *Cluster {
	if len(list) == 0 && len(c.Removals) == 0 {
		return c
	}
	out := *c
	out.Removals = list
	return &out
}

// Departed returns the pool called name as Git had it, of which only what its machines are
// removed by is known. It is a pool of workers.
func (c *Cluster) Departed(name PoolName) Pool {
	p := Pool{Name: name, Role: RoleWorker}
	i := slices.IndexFunc(c.Removals, func(r PoolRemoval) bool { return r.Pool == name })
	if i < 0 {
		return p
	}
	r := c.Removals[i]
	p.NodeDrainTimeoutSeconds, p.NodeVolumeDetachTimeoutSeconds, p.Labels = r.DrainSeconds, r.DetachSeconds, r.Labels
	p.MaxUnavailable, p.DeletionOrder = r.MaxUnavailable, r.Order
	if len(r.Exclude) > 0 {
		p.Annotations = make(map[string]string, len(r.Exclude))
	}
	for _, key := range r.Exclude {
		p.Annotations[key] = ""
	}
	return p
}
