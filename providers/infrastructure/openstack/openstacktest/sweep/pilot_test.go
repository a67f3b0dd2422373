package sweep_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// A pilot keeps one cluster as the agent does: it looks, does what may be done
// now, and looks again. What it remembers dies with its program.
type pilot struct {
	testing.TB
	cloud    *ost.Cloud
	client   *ost.Client
	provider *openstack.Provider
	cluster  fleet.Cluster

	since   time.Time                       // when the program began
	open    map[fleet.MachineName]time.Time // when a machine was asked for
	errors  []error
	trouble bool // something went wrong that was meant to
}

func newPilot(t testing.TB, c *ost.Cloud, cluster fleet.Cluster) *pilot {
	p := &pilot{TB: t, cloud: c, cluster: cluster}
	p.start()
	return p
}

// start begins a new program.
func (p *pilot) start() {
	p.client = p.cloud.Client()
	p.provider = newProvider(p.client)
	p.since, p.open = time.Now(), make(map[fleet.MachineName]time.Time)
}

// wanted returns the machines that are to be there, by name.
func (p *pilot) wanted() map[fleet.MachineName]fleet.Pool {
	out := make(map[fleet.MachineName]fleet.Pool)
	if p.cluster.Delete {
		return out
	}
	for _, pool := range p.cluster.Pools() {
		for i := range pool.Replicas {
			out[fleet.NewMachineName(p.cluster.Key, pool.Name, pool.Template, i)] = pool
		}
	}
	return out
}

func (p *pilot) failed(err error) {
	if err != nil {
		p.errors = append(p.errors, err)
	}
}

// pass looks once and acts. It reports whether nothing is left to do.
func (p *pilot) pass() bool {
	p.Helper()
	c := &p.cluster
	got, err := p.provider.Observe(p.Context(), c)
	if err != nil {
		p.failed(err)
		return false
	}
	p.noTwins()
	wanted := p.wanted()
	calm := p.removeMachines(got.Machines, wanted)
	for name := range wanted {
		calm = calm && slices.ContainsFunc(got.Machines, func(m fleet.Machine) bool { return m.Name == name && m.State == fleet.MachineRunning })
	}
	switch {
	case c.Delete && len(got.Machines) == 0 && !p.awaiting():
		if !got.Exists {
			return true
		}
		p.failed(p.provider.DeleteInfrastructure(p.Context(), "op", c))
		return false
	case c.Delete:
		return false
	case !got.Ready || len(got.Drift) > 0:
		p.failed(p.provider.EnsureInfrastructure(p.Context(), "op", c))
		calm = false
	}
	if got.Ready {
		p.createMachines(got.Machines, wanted)
	}
	return calm
}

// awaiting reports whether a machine that was asked for may still show.
func (p *pilot) awaiting() bool {
	maps.DeleteFunc(p.open, func(_ fleet.MachineName, at time.Time) bool { return time.Since(at) > p.provider.Settle() })
	return len(p.open) > 0
}

func (p *pilot) createMachines(there []fleet.Machine, wanted map[fleet.MachineName]fleet.Pool) {
	p.awaiting()
	if time.Since(p.since) < p.provider.Settle() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		at := slices.IndexFunc(there, func(m fleet.Machine) bool { return m.Name == name })
		if at >= 0 && there[at].ProviderID != "" {
			delete(p.open, name)
		}
		if _, open := p.open[name]; open || at >= 0 {
			continue
		}
		err := p.provider.CreateMachine(p.Context(), fleet.OperationID("op-"+name), providers.MachineRequest{
			Cluster: &p.cluster, Pool: wanted[name], Name: name,
			UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("#cloud-config\n{}\n"))},
		})
		p.failed(err)
		if !fleet.Refused(err) {
			p.open[name] = time.Now()
		}
	}
}

// removeMachines removes those that are not wanted, that failed, and all but the
// first of those that share a name. It reports whether there was none.
func (p *pilot) removeMachines(there []fleet.Machine, wanted map[fleet.MachineName]fleet.Pool) bool {
	calm := true
	seen := make(map[fleet.MachineName]bool)
	for _, m := range there {
		_, want := wanted[m.Name]
		if want && !seen[m.Name] && m.State != fleet.MachineFailed && m.State != fleet.MachineDeleting {
			seen[m.Name] = true
			continue
		}
		calm = false
		if m.State != fleet.MachineDeleting {
			p.failed(p.provider.DeleteMachine(p.Context(), "op", &p.cluster, m.Name, m.ProviderID))
		}
	}
	return calm
}

// noTwins fails where the cluster has two servers of one name that both live.
func (p *pilot) noTwins() {
	p.Helper()
	seen := make(map[string]bool)
	for _, s := range p.cloud.Objects(ost.Servers) {
		tags := s.Object("metadata")
		if tags.String("fairlead.dev:fleet") != string(p.cluster.Fleet) || s.String("OS-EXT-STS:task_state") == "deleting" {
			continue
		}
		if seen[s.String("name")] {
			p.Errorf("there are two servers called %s", s.String("name"))
		}
		seen[s.String("name")] = true
	}
}

// fly passes until nothing is left to do. A program that died is followed by
// another.
func (p *pilot) fly() {
	p.Helper()
	for range 200 {
		done := p.pass()
		if p.client.Dead() {
			p.start()
			p.trouble = true
			done = false
		}
		// A new program tells what is left over from what is to come by waiting:
		// for what was asked for before it, and for what that may still be made of.
		if done && time.Since(p.since) > 2*p.provider.Settle()+15*time.Second {
			return
		}
		time.Sleep(15 * time.Second)
	}
	got, err := p.provider.Observe(p.Context(), &p.cluster)
	p.Fatalf("%s does not get calm: %+v, %v; the last errors: %v", p.cluster.Fleet, got, err, p.errors[max(0, len(p.errors)-3):])
}

// inject lets the nth call that changes something go wrong.
func (p *pilot) inject(n int, f ost.Fault) {
	f.Changes, f.Skip, f.Times = true, n-1, 1
	f.Do = func(ost.Call) { p.trouble = true }
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
	for name, pool := range (&pilot{cluster: *cluster}).wanted() {
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
