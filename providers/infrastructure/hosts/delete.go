package hosts

import (
	"context"
	"fmt"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/hosts/host"
)

// LeaveEndpoint implements providers.EndpointKeeper. The load balancer leaves out an API
// server without etcd by itself, as long as it leads to others.
func (p *Provider) LeaveEndpoint(ctx context.Context, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	op := "lead the endpoint away from machine " + c.Key.Namespace + "/" + string(name)
	all, err := p.look(ctx, c)
	if err != nil {
		return wrap(op, err)
	}
	for _, f := range all.machines(c) {
		if f.claim.Tags[fleet.TagMachine] == string(name) && (id == "" || f.claim.ProviderID() == id) {
			return wrap(op, p.leave(ctx, c, all, name, false))
		}
	}
	return nil
}

// Remove implements driver.Driver: it has the host clean itself and then give the claim up. A host
// that does not answer does so when it comes back; until then the machine is on its way out.
func (p machines) Remove(ctx context.Context, _ string, c *fleet.Cluster, all roster, m driver.Seen[*hostMachine]) error {
	f := m.Thing
	op := "release host " + f.claim.Host
	if f.forged != "" {
		return fleet.Errorf(fleet.Conflict, op, "its claim may be forged: %s (look at the host, and clean it by hand)", f.forged)
	}
	if f.host == nil {
		return fleet.Errorf(fleet.Conflict, op, "it is in no HostPool any more, so that it cannot be cleaned (put it back until the machine is deleted, with lost: true if it is gone)")
	}
	if f.state != nil && f.claim.Tags[fleet.TagRole] == string(fleet.RoleControlPlane) {
		if err := p.leave(ctx, c, all, m.Name, true); err != nil {
			return err
		}
	}
	note := f.claim
	note.Releasing = true
	noted := p.announce(ctx, all, &note)
	if f.state == nil {
		return noted
	}
	_, err := p.run(ctx, f.host, host.Release(f.claim.ID, f.host.restarts()))
	return err
}

// announce has the other hosts of the pool take a note of c.
func (p *Provider) announce(ctx context.Context, all roster, c *host.Claim) error {
	others, enough := all.witnesses(c.Pool, c.Host)
	asked := others.answering()
	errs := steps.Each(asked, parallel, func(s *observedHost) error {
		_, err := p.run(ctx, s.host, host.Note([]host.Claim{*c}, nil))
		return err
	})
	held := len(asked) - len(errs)
	if held >= enough {
		return nil
	}
	errs = append(errs, fmt.Errorf("%d of the %d other hosts of HostPool %s took a note of it, and %d have to, for the day on which its host does not answer", held, len(others), c.Pool, enough))
	return fleet.Errorf(fleet.Unavailable, "note what is on host "+c.Pool+"/"+c.Host, "%w", fleet.JoinErrors(errs...))
}

// withdraw drops the notes of a claim that was not made. One that stays is stale.
func (p *Provider) withdraw(ctx context.Context, all roster, c *host.Claim) {
	others, _ := all.witnesses(c.Pool, c.Host)
	steps.Each(others.answering(), parallel, func(s *observedHost) error {
		_, err := p.run(ctx, s.host, host.Note(nil, []string{c.NoteName()}))
		if err != nil {
			p.log.Debug("keeping an outdated note", "host", s.host.String(), "error", err)
		}
		return err
	})
}
