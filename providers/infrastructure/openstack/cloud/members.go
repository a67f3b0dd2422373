package cloud

import (
	"context"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
)

// memberCache remembers the members of pools by id. Their address and port never
// change, and a listing of pools gives their ids: a pool is asked for its members
// only when there is one that was never seen.
type memberCache struct {
	mu   *sync.Mutex
	byID map[string]pools.Member
}

func newMemberCache() memberCache {
	return memberCache{mu: new(sync.Mutex), byID: make(map[string]pools.Member)}
}

// fill completes the members of the pools that fleets own, and forgets those
// that are gone.
func (m *memberCache) fill(ctx context.Context, service Service, s *snapshot.Set[pools.Pool]) error {
	there := make(map[string]pools.Member)
	for i := range s.All {
		pool := &s.All[i]
		if _, ours := s.Owner(pool.ID); !ours {
			continue
		}
		if !m.known(pool) {
			all, err := List(ctx, "members of pool "+pool.Name, service, func(c *gophercloud.ServiceClient) pagination.Pager {
				return pools.ListMembers(c, pool.ID, pools.ListMembersOpts{})
			}, pools.ExtractMembers)
			if openstackauth.NotFound(err) {
				continue // the pool went away since it was listed
			}
			if err != nil {
				return err
			}
			pool.Members = all
		}
		for _, member := range pool.Members {
			there[member.ID] = member
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byID = there
	return nil
}

// known fills in the members of pool from memory, if all are in it.
func (m *memberCache) known(pool *pools.Pool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, member := range pool.Members {
		old, ok := m.byID[member.ID]
		if !ok {
			return false
		}
		pool.Members[i] = old
	}
	return true
}
