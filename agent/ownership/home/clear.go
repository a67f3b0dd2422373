package home

import (
	"context"
	"errors"
	"slices"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
)

// Clear removes what is left with this agent after the fleet moved to its home. err is the
// *ownership.NotOwnerError that says so. What is left in another home is removed by the new
// owner.
func (h *Home) Clear(ctx context.Context, b ownership.Branch, err error) {
	lost, ok := errors.AsType[*ownership.NotOwnerError](err)
	if _, inside := ownership.HomeOf(h.o.Self); !ok || inside || h.p.Mover == nil || ctx.Err() != nil {
		return
	}
	if _, isHome := ownership.HomeOf(lost.Owner.Agent); !isHome {
		return
	}
	const notCleared = "what the fleet has here was not cleared, start the agent again to try again"
	f, err := h.p.Newest(ctx)
	if err != nil {
		h.p.Log.Warn(notCleared, "error", err)
		return
	}
	if home := f.Config.Home; home.Keep || ownership.AgentOf(home.Cluster) != lost.Owner.Agent {
		return
	}
	move := h.move(b, f.ID, f.Config.Home)
	move.Clusters = func(ctx context.Context) ([]fleet.Key, error) { return allClusters(ctx, b, f) }
	m, err := h.p.Mover(move)
	if err == nil {
		h.p.Log.Info("fleet is in its home, deleting leftovers here", "home", f.Config.Home.Cluster)
		err = m.Run(ctx, func(step, why string) {
			h.p.Log.Info("deleting leftovers here", "step", step, "why", why)
		})
	}
	if err != nil && ctx.Err() == nil {
		h.p.Log.Warn(notCleared, "error", err)
	}
}

// allClusters returns the clusters of f and those that the status branch has.
func allClusters(ctx context.Context, b ownership.Branch, f fleet.Fleet) ([]fleet.Key, error) {
	s, err := b.Read(ctx)
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
