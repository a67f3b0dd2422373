package status

import (
	"context"
	"sync"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// A Reader looks up single clusters on a status branch repeatedly.
type Reader struct {
	branch sources.Branch

	mu      sync.Mutex
	damaged map[fleet.Key]cached // damaged files as last read, since decoding them again with each poll is expensive
}

// NewReader returns a reader of branch.
func NewReader(branch sources.Branch) *Reader {
	return &Reader{branch: branch, damaged: map[fleet.Key]cached{}}
}

// ReadCluster returns what the branch says of cluster k, and whether it says anything.
func (r *Reader) ReadCluster(ctx context.Context, k fleet.Key) (Cluster, bool, error) {
	_, t, err := r.branch.Read(ctx)
	if err != nil {
		return Cluster{}, false, err
	}
	digest := ""
	if knownPath(k) {
		digest, _ = t.Digest(ClusterPath(k))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, ok := r.damaged[k]; ok && d.digest == digest {
		return Cluster{}, false, d.err
	}
	delete(r.damaged, k)
	c, ok, err := ReadCluster(t, k)
	if err != nil && digest != "" {
		r.damaged[k] = cached{digest: digest, err: err}
	}
	return c, ok, err
}
