package plan_test

import (
	"fmt"
	"strings"

	"fairlead.dev/fleet"
)

// classy makes c a cluster of a class that has these older versions.
func classy(c *fleet.Cluster, concurrency int, versions ...string) {
	t := &fleet.Topology{Class: fleet.Key{Namespace: "prod", Name: "dev"}, Listed: len(versions) > 0, Concurrency: concurrency}
	for _, p := range c.Workers {
		t.Order = append(t.Order, p.Name)
	}
	for _, p := range c.KeptPools {
		t.Order = append(t.Order, p.Name)
	}
	for _, v := range versions {
		older := fleet.ClassVersion{Version: v, Pools: map[fleet.PoolName]fleet.Blueprint{}}
		for _, p := range c.Pools() {
			b := p.Blueprint()
			b.Template = template(v, "")
			older.Pools[p.Name] = b
		}
		if c.Hosted != nil {
			h := *c.Hosted
			h.Version, older.Hosted = v, &h
		}
		t.Older = append(t.Older, older)
	}
	if c.Hosted != nil {
		t.Version = c.Hosted.Version
	}
	if c.Hosted != nil && len(c.Workers) > 0 {
		t.Version = c.Workers[0].Version // the keeper of the control plane decides about patches
	}
	c.Topology = t
}

// topology reads "topology versions=v1.33.5,v1.34.1 concurrency=1 defer=a hold=b
// synced=v1.33.5": what the class has, and of which version kubeadm-config is.
func (s *script) topology(w words) {
	d := s.in.Desired
	list := func(key string) []string {
		return strings.FieldsFunc(w[key], func(r rune) bool { return r == ',' })
	}
	classy(d, w.number("concurrency", 1), list("versions")...)
	d.Topology.Deferred = map[fleet.PoolName]string{}
	for _, key := range []string{"defer", "hold"} {
		for _, name := range list(key) {
			d.Topology.Deferred[fleet.PoolName(name)] = map[string]string{
				"defer": "topology.cluster.x-k8s.io/defer-upgrade", "hold": "topology.cluster.x-k8s.io/hold-upgrade-sequence",
			}[key]
		}
	}
	for _, o := range append(d.Topology.Older, fleet.ClassVersion{Version: d.ControlPlane.Version}) {
		for _, p := range d.Pools() {
			p.Version, p.Template = o.Version, template(o.Version, "")
			for i := range 20 {
				n := fleet.NewMachineName(d.Key, p.Name, p.Template, i)
				s.alias[string(n)] = fmt.Sprintf("%s/%d@%s", p.Name, i, p.Version)
			}
			if p.Role == fleet.RoleControlPlane && o.Version == w["synced"] {
				s.in.Observed.Workload.Applied = inLine(&p)
				s.in.Observed.Workload.Made = &fleet.Made{Membership: fleet.MembershipPerMachine}
				s.kubeadm = words{"gone": ""}
			}
		}
	}
}
