package cloud

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
)

// addFaults completes the faults of the fleets' servers in ERROR, and forgets those of
// others. A server that never got a host is listed without its fault, and has to be asked
// for it: once. Words that cannot be had are not worth the whole look.
// Source: Nova keeps such servers in cell0, and looks up faults of a list in one
// cell only.
func (p *Project) addFaults(ctx context.Context, c *gophercloud.ServiceClient, all []servers.Server) {
	there := make(map[string]bool)
	for i := range all {
		s := &all[i]
		if _, ours := MetadataOwner(s.Metadata); !ours || s.Status != "ERROR" || s.Fault.Message != "" {
			continue
		}
		known, ok := p.faults.Of(s.ID)
		if !ok {
			one, err := servers.Get(ctx, c, s.ID).Extract()
			if err != nil {
				continue
			}
			known = one.Fault
			p.faults.Note(s.ID, known)
		}
		s.Fault, there[s.ID] = known, true
	}
	p.faults.ForgetIf(func(id string, _ servers.Fault) bool { return !there[id] })
}
