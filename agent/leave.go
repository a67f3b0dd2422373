package agent

import (
	"context"
	"errors"
	"slices"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
)

// leave ends the move of a fleet whose home owns it by now: what this agent has
// of it goes. An agent in a home has no part in that: the new owner clears it.
func (a *Agent) leave(ctx context.Context, err error) {
	lost, ok := errors.AsType[*ownership.NotOwnerError](err)
	if _, inside := ownership.HomeOf(a.o.Name); !ok || inside || a.p.Mover == nil || ctx.Err() != nil {
		return
	}
	if _, homely := ownership.HomeOf(lost.Owner.Agent); !homely {
		return
	}
	const notCleared = "what the fleet has here was not cleared, start the agent again to try again"
	rev, err := a.p.Source.Resolve(ctx)
	var f fleet.Fleet
	if err == nil {
		f, err = a.render(ctx, rev)
	}
	if err != nil {
		a.p.Log.Warn(notCleared, "error", err)
		return
	}
	if home := f.Config.Home; home.Keep || ownership.AgentOf(home.Cluster) != lost.Owner.Agent {
		return
	}
	m, err := a.p.Mover(Move{
		Self: a.o.Name, Fleet: f.ID, Home: f.Config.Home, Ledger: a.ledger, Idle: a.o.Interval,
		Clusters: func(ctx context.Context) ([]fleet.Key, error) { return a.everyCluster(ctx, f) },
	})
	if err == nil {
		a.p.Log.Info("the fleet is at home, clearing what is left here", "home", f.Config.Home.Cluster)
		err = m.Run(ctx, func(step, why string) {
			a.p.Log.Info("clearing what is left here", "step", step, "why", why)
		})
	}
	if err != nil && ctx.Err() == nil {
		a.p.Log.Warn(notCleared, "error", err)
	}
}

// everyCluster returns the clusters of f and those that the status branch tells of.
func (a *Agent) everyCluster(ctx context.Context, f fleet.Fleet) ([]fleet.Key, error) {
	s, err := a.ledger.Read(ctx)
	if err != nil {
		return nil, err
	}
	var keys []fleet.Key
	for i := range f.Clusters {
		keys = append(keys, f.Clusters[i].Key)
	}
	for _, c := range s.Clusters {
		keys = append(keys, c.Report.Cluster)
	}
	for _, c := range s.Damaged {
		keys = append(keys, c.Cluster)
	}
	slices.SortFunc(keys, fleet.Key.Compare)
	return slices.Compact(keys), nil
}
