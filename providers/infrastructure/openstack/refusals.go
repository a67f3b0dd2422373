package openstack

import (
	"slices"
	"strings"
	"sync"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
)

// refusals remembers why the last removal of what a cluster has was refused, in the words
// of the cloud: nothing that a look sees tells it.
type refusals struct {
	mu  sync.Mutex
	why map[snapshot.Owner]string
}

// note notes how the removal of what o has went. A call without an answer, which is
// repeated, is no refusal.
func (r *refusals) note(o snapshot.Owner, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.why, o)
	if kind := fleet.KindOf(err); err == nil || kind == fleet.Unavailable || kind == fleet.Unanswered {
		return
	}
	if r.why == nil {
		r.why = make(map[snapshot.Owner]string)
	}
	r.why[o] = err.Error()
}

// of returns why the last removal of what o has was refused; empty: it was not.
func (r *refusals) of(o snapshot.Owner) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.why[o]
}

// deletion says what the deletion of c waits for: seen, what the cloud refused, and the parts of
// machines that somebody has to act on.
func (p *Provider) deletion(c *fleet.Cluster, got *observation, seen string, exists bool) string {
	o := snapshot.OwnerOf(c)
	if !exists {
		p.refused.note(o, nil)
	}
	out := []string{seen, p.refused.of(o)}
	for _, at := range got.projects {
		for _, text := range at.machines.Stuck {
			if !strings.Contains(out[1], text) {
				out = append(out, text)
			}
		}
	}
	return strings.Join(slices.DeleteFunc(out, func(s string) bool { return s == "" }), "; ")
}
