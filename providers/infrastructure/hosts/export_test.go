package hosts

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/claims"
	"fairlead.dev/providers/infrastructure/hosts/host"
)

// Forget makes the next look at each host a new one.
func (p *Provider) Forget() {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	clear(p.cache.looks)
}

// ClaimStore returns the hosts of c as what keeps claims.
func (p *Provider) ClaimStore(c *fleet.Cluster) claims.Store { return claimStore{p, c} }

type claimStore struct {
	p *Provider
	c *fleet.Cluster
}

func (s claimStore) hosts(ctx context.Context) (roster, error) {
	s.p.Forget()
	return s.p.look(ctx, s.c)
}

// Claims implements claims.Store.
func (s claimStore) Claims(ctx context.Context) (map[string]claims.Claim, error) {
	all, err := s.hosts(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[string]claims.Claim)
	for _, h := range all {
		switch {
		case !h.state.Claimed:
		case h.state.Claim == nil:
			out[h.host.Name] = claims.Claim{}
		default:
			out[h.host.Name] = claims.Claim{ID: h.state.Claim.ID, Tags: h.state.Claim.Tags}
		}
	}
	return out, nil
}

// Claim implements claims.Store.
func (s claimStore) Claim(ctx context.Context, thing string, c claims.Claim) error {
	all, err := s.p.look(ctx, s.c)
	if err != nil {
		return err
	}
	h := all.find("pool", thing)
	k := &host.Claim{ID: c.ID, Pool: "pool", Host: thing, Tags: c.Tags}
	reason, err := s.p.claim(ctx, h, k, host.Payload{Steps: []byte("true\n")})
	if err != nil || reason == "" {
		return err
	}
	if has, err := s.Claims(ctx); err != nil || has[thing].ID == c.ID {
		return err
	}
	return fleet.Errorf(fleet.Conflict, "claim "+thing, "it %s", reason)
}

// Release implements claims.Store.
func (s claimStore) Release(ctx context.Context, thing, id string) error {
	all, err := s.hosts(ctx)
	if err != nil {
		return err
	}
	h := all.find("pool", thing)
	if h.state.Claim == nil || h.state.Claim.ID != id {
		return nil
	}
	_, err = s.p.run(ctx, h.host, host.Release(id, false))
	return err
}
