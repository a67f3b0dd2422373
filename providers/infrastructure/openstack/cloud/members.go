package cloud

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
)

// addMembers completes the members of the pools that fleets own, and forgets those
// that are gone. Their address and port never change, and a listing of pools gives their
// ids: a pool is asked for its members only when there is one that was never seen.
func (p *Project) addMembers(ctx context.Context, s *snapshot.Set[pools.Pool]) error {
	there := make(map[string]bool)
	for i := range s.All {
		pool := &s.All[i]
		if _, ours := s.Owner(pool.ID); !ours {
			continue
		}
		if !p.knowsMembers(pool) {
			all, err := List(ctx, "members of pool "+pool.Name, p.LoadBalancer, func(c *gophercloud.ServiceClient) pagination.Pager {
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
			there[member.ID] = true
			p.members.Note(member.ID, member)
		}
	}
	p.members.ForgetIf(func(id string, _ pools.Member) bool { return !there[id] })
	return nil
}

// knowsMembers fills in the members of pool from memory, if all are in it.
func (p *Project) knowsMembers(pool *pools.Pool) bool {
	for i, member := range pool.Members {
		old, ok := p.members.Of(member.ID)
		if !ok {
			return false
		}
		pool.Members[i] = old
	}
	return true
}
