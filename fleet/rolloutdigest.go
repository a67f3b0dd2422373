package fleet

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

// rolloutSchema is the schema of template hashes in digests of rollouts. It stays the same when a
// schema is added, so that nothing comes in waves because the agent is newer.
const rolloutSchema = "2"

// NeverWaits says why a change of a field of a Cluster or a Pool needs no turn in a rollout; empty: it
// waits. Each field waits that is not here, those that come later too.
func NeverWaits(field string) string {
	switch field {
	case "Fleet", "Key", "Overlay", "Revision", "Digest":
		return "it names the definition"
	case "Labels of Cluster":
		return "what they select is in other fields, and stages, windows and freezes go by the labels before and after"
	case "Delete", "Abandon", "Protect", "LeaveExternal", "DeletionRefused", "Paused", "Suspension", "Drift":
		return "it stops something, or ends the cluster: a deletion does not wait"
	case "RolloutRelease", "Rotate", "Recreate", "AllowVersion", "ForgetPlaces", "Replace", "Remediate":
		return "a person asks for it, of this cluster"
	case "Secrets", "ConfigMaps", "Companions", "NamespaceLabels":
		return "care needs it: credentials, hosts and addresses; what machines are made of is in their templates"
	case "Residence", "NeighborPlaces", "Removals", "Made", "Rebooting", "Neighbors", "APIElsewhere":
		return "Git does not say it"
	case "Replicas", "Scaling", "Count", "Range":
		return "numbers of machines are for people and autoscalers at any time"
	case "Former", "Bootstrap of Pool", "Infrastructure of Pool":
		return "it is in the hash of the template"
	}
	return ""
}

// RolloutDigest identifies what of c comes in waves: all but what NeverWaits.
func (c *Cluster) RolloutDigest() string {
	w := *c
	w.Fleet, w.Key, w.Overlay, w.Revision, w.Digest, w.Labels = "", Key{}, "", Revision{}, "", nil
	w.Delete, w.Abandon, w.Protect, w.LeaveExternal, w.DeletionRefused, w.Paused, w.Suspension, w.Drift = false, false, false, false, false, false, nil, ""
	w.RolloutRelease, w.Rotate, w.Recreate, w.AllowVersion, w.ForgetPlaces = "", nil, "", "", nil
	w.Secrets, w.ConfigMaps, w.Companions, w.NamespaceLabels = nil, nil, nil, nil
	w.NeighborPlaces, w.Neighbors = nil, Neighbors{}
	of := []any{w.Infrastructure.GVK.Kind, hashed(w.Infrastructure)}
	w.Infrastructure = Object{}
	if h := w.Hosted; h != nil {
		of = append(of, h.Version, h.Endpoint, hashed(h.Object))
	}
	for _, g := range w.Guests {
		of = append(of, g.Provider, hashed(g.Infrastructure))
	}
	for _, s := range w.ResourceSets {
		of = append(of, s.Name, s.Mark(), s.Paused)
	}
	for _, r := range w.Releases {
		of = append(of, r.Namespace, r.Name, r.Digest, r.Paused)
	}
	w.Hosted, w.Guests, w.ResourceSets, w.Releases = nil, nil, nil, nil
	w.Topology = w.Topology.inWaves()
	w.ControlPlane = w.ControlPlane.inWaves()
	w.Workers = make([]Pool, 0, len(c.Workers))
	for _, p := range c.Workers {
		w.Workers = append(w.Workers, p.inWaves())
	}
	w.KeptPools = nil
	for _, p := range c.KeptPools {
		w.KeptPools = append(w.KeptPools, p.inWaves())
	}
	return DigestOf(append(of, w)...)
}

// inWaves returns p without what NeverWaits.
func (p Pool) inWaves() Pool {
	p.Replicas, p.Scaling, p.Replace, p.Remediate, p.Paused = 0, nil, nil, nil, false
	p.Template = cmp.Or(p.In(rolloutSchema), p.Template)
	p.Former, p.Bootstrap, p.Infrastructure = nil, Bootstrap{}, Object{}
	p.RolloutAfter = p.RolloutAfter.UTC()
	return p
}

// inWaves returns t with templates in place of what they are made of.
func (t *Topology) inWaves() *Topology {
	if t == nil {
		return nil
	}
	out := *t
	out.Older = make([]ClassVersion, 0, len(t.Older))
	for _, v := range t.Older {
		pools := make(map[PoolName]Blueprint, len(v.Pools))
		for name, b := range v.Pools {
			pools[name] = Blueprint{Template: b.Template}
		}
		then := ClassVersion{Version: v.Version, Pools: pools}
		if h := v.Hosted; h != nil {
			then.Hosted = &HostedControlPlane{Version: h.Version, Object: Object{Spec: json.RawMessage(hashed(h.Object))}}
		}
		out.Older = append(out.Older, then)
	}
	return &out
}

// FormerRolloutDigest is the RolloutDigest of agents for which only templates, versions, infrastructure
// and addons waited. By it a standing that such an agent wrote is distinguished from a change.
func (c *Cluster) FormerRolloutDigest() string {
	var of []any
	for _, p := range c.Pools() {
		of = append(of, []string{string(p.Name), string(p.Role), string(p.Kind), p.Provider, p.Version, string(cmp.Or(p.In(rolloutSchema), p.Template)), p.RolloutAfter.UTC().Format(time.RFC3339)})
	}
	if h := c.Hosted; h != nil {
		of = append(of, h.Version, hashed(h.Object))
	}
	of = append(of, c.Infrastructure.GVK.Kind, hashed(c.Infrastructure))
	for _, g := range c.Guests {
		of = append(of, g.Provider, hashed(g.Infrastructure))
	}
	for _, s := range c.ResourceSets {
		of = append(of, s.Name, s.Mark())
	}
	for _, r := range c.Releases {
		of = append(of, r.Namespace, r.Name, r.Digest)
	}
	return DigestOf(of...)
}

// hashed returns what of o counts in hashes.
func hashed(o Object) string {
	if o.Hashed != nil {
		return string(o.Hashed)
	}
	return strings.TrimSpace(string(o.Spec))
}
