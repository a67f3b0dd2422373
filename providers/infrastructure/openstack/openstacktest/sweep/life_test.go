package sweep_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
	"fairlead.dev/test/run/life"
)

// clusterLife is that of a cluster on OpenStack.
type clusterLife struct {
	life.Life
	cloud  *ost.Cloud
	client *ost.Client
}

func newLife(t testing.TB, c *ost.Cloud, cluster fleet.Cluster) *clusterLife {
	p := &clusterLife{Life: life.Life{TB: t, Cluster: cluster}, cloud: c}
	p.Start = func() {
		p.client = p.cloud.Client()
		p.Provider = newProvider(p.client)
	}
	p.Dead, p.Look = func() bool { return p.client.Dead() }, p.noTwins
	p.Begin()
	return p
}

// noTwins fails where the cluster has two servers of one name that both live.
func (p *clusterLife) noTwins() {
	p.Helper()
	seen := make(map[string]bool)
	for _, s := range p.cloud.Objects(ost.Servers) {
		tags := s.Object("metadata")
		if tags.String("fairlead.dev:fleet") != string(p.Cluster.Fleet) || s.String("OS-EXT-STS:task_state") == "deleting" {
			continue
		}
		if seen[s.String("name")] {
			p.Errorf("there are two servers called %s", s.String("name"))
		}
		seen[s.String("name")] = true
	}
}

// inject lets the nth call that changes something go wrong.
func (p *clusterLife) inject(n int, f ost.Fault) {
	f.Changes, f.Skip, f.Times = true, n-1, 1
	f.Do = func(ost.Call) { p.Trouble = true }
	p.cloud.Inject(f)
}

// everything returns what is in the cloud, "kind id": JSON.
func everything(c *ost.Cloud) map[string]string {
	out := make(map[string]string)
	for _, k := range kinds {
		for _, o := range c.Objects(k) {
			b, err := json.Marshal(o)
			if err != nil {
				panic(err)
			}
			out[string(k)+" "+o.ID()] = string(b)
		}
	}
	return out
}

var kinds = []ost.Kind{
	ost.Servers, ost.ServerGroups, ost.Ports, ost.Trunks, ost.FloatingIPs, ost.Volumes, ost.Networks, ost.Subnets, ost.Routers,
	ost.SecurityGroups, ost.SecurityGroupRules, ost.LoadBalancers, ost.Listeners, ost.Pools, ost.Members, ost.Monitors,
}

// counts returns how many things of each kind are there.
func counts(c *ost.Cloud) map[ost.Kind]int {
	out := make(map[ost.Kind]int)
	for _, k := range kinds {
		out[k] = len(c.Objects(k))
	}
	return out
}

// neighbors puts things of others into project alpha: of another fleet with a
// cluster of the same name, and of nobody, called as the cluster's own are.
func neighbors(c *ost.Cloud, cluster *fleet.Cluster) {
	theirs := snapshot.Owner{Fleet: "fleet-b", Cluster: cluster.Key}
	for name, pool := range (&life.Life{Cluster: *cluster}).Wanted() {
		tags := cluster.MachineTags(pool, name, "op")
		tags[fleet.TagFleet] = string(theirs.Fleet)
		for _, metadata := range []map[string]string{cloud.Metadata(tags), {}} {
			m := ost.Object{}
			for k, v := range metadata {
				m[k] = v
			}
			c.Add("alpha", ost.Servers, ost.Object{"name": string(name), "status": "ACTIVE", "metadata": m})
			c.Add("alpha", ost.Volumes, ost.Object{"name": string(name) + "-root", "status": "available", "metadata": m})
		}
		for _, description := range []string{cloud.FormatOwner("", theirs.Part(name)), "", "[fairlead.dev fleet=" + string(cluster.Fleet) + "]"} {
			c.Add("alpha", ost.Ports, ost.Object{"name": string(name) + "-0", "description": description})
			c.Add("alpha", ost.FloatingIPs, ost.Object{"description": description})
			c.Add("alpha", ost.Trunks, ost.Object{"name": string(name) + "-0", "description": description})
		}
	}
	for _, description := range []string{cloud.FormatOwner("", theirs), ""} {
		for _, k := range []ost.Kind{ost.Networks, ost.Subnets, ost.Routers, ost.SecurityGroups, ost.LoadBalancers, ost.Listeners, ost.Pools} {
			c.Add("alpha", k, ost.Object{
				"name": strings.ReplaceAll(cluster.Key.String(), "/", "-"), "description": description, "provisioning_status": "ACTIVE", "operating_status": "ONLINE",
			})
		}
	}
}
