package cloud

import (
	"context"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
)

// faultCache remembers why servers are in ERROR. A server that never got a host is
// listed without its fault, and has to be asked for it: once.
// Source: Nova keeps such servers in cell0, and looks up faults of a list in one
// cell only.
type faultCache struct {
	mu   *sync.Mutex
	byID map[string]servers.Fault
}

func newFaultCache() faultCache {
	return faultCache{mu: new(sync.Mutex), byID: make(map[string]servers.Fault)}
}

// fill completes the faults of the fleets' servers in ERROR, and forgets those of
// others. Words that cannot be had are not worth the whole look.
func (f *faultCache) fill(ctx context.Context, c *gophercloud.ServiceClient, all []servers.Server) {
	there := make(map[string]servers.Fault)
	for i := range all {
		s := &all[i]
		if _, ours := MetadataOwner(s.Metadata); !ours || s.Status != "ERROR" || s.Fault.Message != "" {
			continue
		}
		f.mu.Lock()
		known, ok := f.byID[s.ID]
		f.mu.Unlock()
		if !ok {
			one, err := servers.Get(ctx, c, s.ID).Extract()
			if err != nil {
				continue
			}
			known = one.Fault
		}
		s.Fault, there[s.ID] = known, known
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.byID = there
}
