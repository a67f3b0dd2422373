package openstack

import (
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
)

// noteRefusal notes why the removal of what o has was refused, in the words of the cloud: nothing that a
// look sees tells it. A call without an answer, which is repeated, is no refusal.
func (p *Provider) noteRefusal(o snapshot.Owner, err error) {
	if kind := fleet.KindOf(err); err == nil || kind == fleet.Unavailable || kind == fleet.Unanswered {
		p.refused.Forget(o)
		return
	}
	p.refused.Note(o, err.Error())
}

// deletion says what the deletion of c waits for: seen, what the cloud refused, and the parts of
// machines that somebody has to act on.
func (p *Provider) deletion(c *fleet.Cluster, got *observation, seen string, exists bool) string {
	o := snapshot.OwnerOf(c)
	if !exists {
		p.refused.Forget(o)
	}
	refused, _ := p.refused.Of(o)
	out := []string{seen, refused}
	for _, at := range got.projects {
		for _, text := range at.machines.Stuck {
			if !strings.Contains(refused, text) {
				out = append(out, text)
			}
		}
	}
	return strings.Join(slices.DeleteFunc(out, func(s string) bool { return s == "" }), "; ")
}
