package azure

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// AKS takes one change at a time, and that of a tag of an agent pool is one.
const (
	idlePoll = 5 * time.Second
	idleWait = 15 * time.Minute // for what AKS is at work on
)

// plane finds the cluster of AKS and the agent pools of the pools.
func (f *finder) plane(ctx context.Context) error {
	m := f.managed
	var raw map[string]any
	switch err := f.place.Get(ctx, f.place.resource(arm.ManagedClusters, m.name), &raw); {
	case arm.IsMissing(err):
		return fleet.Errorf(fleet.NotFound, f.op, "resource group %s has no cluster %s of AKS (name that of Cluster API in resourceGroupName)", f.place.group, m.name)
	case err != nil:
		return err
	}
	is, err := typed[arm.ManagedCluster](raw)
	if err != nil {
		return err
	}
	m.is, m.raw = is, raw
	own := f.c.Owns(tagsFrom(is.Tags))
	switch busy := m.busy(); {
	case !f.theirs(is.Tags) && !own:
		return fleet.Errorf(fleet.Invalid, f.op, "cluster %s of AKS has no tag %s=owned: Cluster API did not make it", m.name, theirCluster+f.c.Key.Name)
	case busy != "" && !own: // what tags it got keeps AKS at work, too
		return fleet.Errorf(fleet.Conflict, f.op, "%s (wait until AKS has ended)", busy)
	}
	f.add("cluster "+m.name+" of AKS", is.ID, "control-plane", is.Tags)
	all, err := m.allPools(ctx)
	if err != nil {
		return err
	}
	for _, p := range f.c.KeptPools {
		spec, err := api.ReadPool(p.Infrastructure)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(g agentPool) bool { return g.is.Name == spec.Name })
		if i < 0 {
			return fleet.Errorf(fleet.NotFound, f.op, "cluster %s of AKS has no agent pool %s", m.name, spec.Name)
		}
		f.with("agent pool "+spec.Name, all[i].is.ID, all[i].is.Properties.Tags, f.c.PoolTags(p.Name, providers.AdoptionID(f.c.Key)))
	}
	return nil
}

// isPool reports whether a resource is an agent pool, whose tags no request for tags changes.
func isPool(id string) bool { return strings.Contains(strings.ToLower(id), "/agentpools/") }

// retag writes an agent pool as it is, but for its tags, once AKS takes a change. change says which tags it is to have.
func (m *managed) retag(ctx context.Context, id string, change func(has arm.Tags) (arm.Tags, error)) error {
	if err := m.awaitIdle(ctx); err != nil {
		return err
	}
	var raw map[string]any
	if err := m.place.Get(ctx, id, &raw); err != nil {
		return err
	}
	is, err := typed[arm.AgentPool](raw)
	if err != nil {
		return err
	}
	tags, err := change(is.Properties.Tags)
	if err != nil {
		return err
	}
	body := plain(raw)
	p := propertiesIn(body)
	etag, _ := p["eTag"].(string)
	keepOwn(p)
	p["tags"] = tags
	readOnly(body, "id", "name", "type")
	return m.place.Put(ctx, id, body, arm.Unchanged(etag))
}

// awaitIdle waits until AKS has nothing to do.
func (m *managed) awaitIdle(ctx context.Context) error {
	for end, said := time.Now().Add(idleWait), ""; ; {
		var raw map[string]any
		if err := m.place.Get(ctx, m.place.resource(arm.ManagedClusters, m.name), &raw); err != nil {
			return err
		}
		is, err := typed[arm.ManagedCluster](raw)
		if err != nil {
			return err
		}
		m.is, m.raw = is, raw
		busy := m.busy()
		switch {
		case busy == "":
			return nil
		case time.Now().After(end):
			return fleet.Errorf(fleet.Unavailable, "wait for AKS", "after %s %s", idleWait, busy)
		case busy != said:
			m.p.o.Log.InfoContext(ctx, "waiting until AKS takes a change", "cluster", m.c.Key.String(), "busy", busy)
			said = busy
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(idlePoll):
		}
	}
}

// tagPool gives an agent pool the tags of x, unless another fleet came first.
func (f *finder) tagPool(ctx context.Context, x *adoption) error {
	return f.managed.retag(ctx, x.id, func(has arm.Tags) (arm.Tags, error) {
		if now := tagsFrom(has); now[fleet.TagFleet] != "" && !f.c.Owns(now) {
			return nil, ofOther(f.op, x.what, now)
		}
		return tagsFor(nil, has, tagsFor(x.add)), nil
	})
}

// untagPool removes tags from an agent pool.
func (m *managed) untagPool(ctx context.Context, id string, ours arm.Tags) error {
	return m.retag(ctx, id, func(has arm.Tags) (arm.Tags, error) {
		left := maps.Clone(has)
		maps.DeleteFunc(left, func(k, _ string) bool { _, ok := ours[k]; return ok })
		return left, nil
	})
}

// adoptedParts returns the agent pools and the cluster of AKS, which comes after what is found by way of it.
func (m *managed) adoptedParts(ctx context.Context) ([]adoption, error) {
	if m.is == nil {
		return nil, nil
	}
	all, err := m.allPools(ctx)
	if err != nil {
		return nil, err
	}
	var out []adoption
	for i := range all {
		if p := &all[i]; m.owns(p) {
			out = append(out, adoption{what: "agent pool " + p.is.Name, id: p.is.ID, has: p.is.Properties.Tags})
		}
	}
	return append(out, adoption{what: "cluster " + m.is.Name + " of AKS", id: m.is.ID, has: m.is.Tags}), nil
}
