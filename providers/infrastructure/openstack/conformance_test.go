package openstack_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack/api"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

func TestConformance(t *testing.T) {
	clouds := make(map[providers.Infrastructure]*ost.Cloud)
	var last *ost.Cloud
	conformance.Run(t, conformance.Options{
		New: func(t testing.TB) providers.Infrastructure {
			last = ost.New(ost.Options{Delays: ost.Delays{
				Listing: 3 * time.Second, Server: 10 * time.Second, ServerDelete: 4 * time.Second, LoadBalancer: 5 * time.Second, Volume: 3 * time.Second,
			}})
			p := newProvider(last, last.Client())
			clouds[p] = last
			t.Cleanup(p.Close)
			return p
		},
		Cluster: func() fleet.Cluster {
			return newCluster(t, last.CloudsYAML(ost.URL, "alice"), clusterSpec(), machineSpec())
		},
		Foreign: func(_ testing.TB, p providers.Infrastructure, name string) func() bool {
			c := clouds[p]
			id := c.Add("alpha", ost.Servers, ost.Object{"name": name})
			return func() bool { _, ok := c.Object(ost.Servers, id); return ok }
		},
		FailListing: func(t testing.TB, p providers.Infrastructure, nth int) {
			time.Sleep(2 * tick) // so that no snapshot is good enough
			remove := clouds[p].Inject(ost.Fault{Method: http.MethodGet, Skip: nth - 1, Times: 1, Status: http.StatusInternalServerError})
			t.Cleanup(remove)
		},
		Provider: "openstack", Hooks: hooks(clouds),
		Around: synctest.Test,
	})
}

// hooks reach the clouds of providers.
func hooks(clouds map[providers.Infrastructure]*ost.Cloud) conformance.Hooks {
	return conformance.Hooks{
		Changes: func(_ testing.TB, p providers.Infrastructure) string {
			var out strings.Builder
			for _, c := range clouds[p].Calls() {
				if c.Changes() {
					fmt.Fprintln(&out, c.N, c.Method, c.Service, c.Path)
				}
			}
			return out.String()
		},
		Contents: func(_ testing.TB, p providers.Infrastructure) []string {
			var out []string
			for _, k := range []ost.Kind{
				ost.Servers, ost.ServerGroups, ost.Networks, ost.Subnets, ost.Routers, ost.Ports, ost.SecurityGroups, ost.SecurityGroupRules,
				ost.FloatingIPs, ost.Trunks, ost.LoadBalancers, ost.Listeners, ost.Pools, ost.Members, ost.Monitors, ost.Volumes,
			} {
				for _, o := range clouds[p].Objects(k) {
					out = append(out, string(k)+" "+o.ID())
				}
			}
			slices.Sort(out)
			return out
		},
		LoseAnswer: func(_ testing.TB, p providers.Infrastructure, nth int) func() bool {
			before := changes(clouds[p])
			end := clouds[p].Inject(ost.Fault{Changes: true, Skip: nth - 1, Times: 1, Cut: ost.After})
			return func() bool {
				end()
				return changes(clouds[p]) >= before+nth
			}
		},
		Retag: func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID, change func(map[string]string)) {
			server := strings.TrimPrefix(string(id), "openstack:///")
			if !clouds[p].Edit(ost.Servers, server, func(o ost.Object) {
				tags := make(map[string]string)
				for k, v := range o.Object("metadata") {
					tags[strings.Replace(k, ":", "/", 1)], _ = v.(string)
				}
				change(tags)
				metadata := ost.Object{}
				for k, v := range tags {
					metadata[strings.Replace(k, "/", ":", 1)] = v
				}
				o["metadata"] = metadata
			}) {
				t.Fatalf("there is no server %q", server)
			}
		},
		LoseRecords: func(_ testing.TB, p providers.Infrastructure, id fleet.ProviderID) func() bool {
			c, server := clouds[p], strings.TrimPrefix(string(id), "openstack:///")
			before := len(c.Objects(ost.Ports))
			c.Set(func(o *ost.Options) { o.CellDown = func(s ost.Object) bool { return s.ID() == server } })
			return func() bool {
				_, there := c.Object(ost.Servers, server)
				return there && len(c.Objects(ost.Ports)) >= before
			}
		},
		TakeOver: func(_ testing.TB, p providers.Infrastructure, id fleet.ProviderID) func() (taken, there bool) {
			c, server, taken := clouds[p], strings.TrimPrefix(string(id), "openstack:///"), false
			end := c.Inject(ost.Fault{Path: "/servers/" + server, Times: 1, Do: func(ost.Call) { // what follows on a listing names it
				taken = c.Edit(ost.Servers, server, func(o ost.Object) { o.Object("metadata")["fairlead.dev:cluster"] = "prod/theirs" })
			}})
			return func() (bool, bool) {
				end()
				_, there := c.Object(ost.Servers, server)
				return taken, there
			}
		},
		FailBoot: func(_ testing.TB, p providers.Infrastructure) {
			clouds[p].Set(func(o *ost.Options) { o.FailServer = func(ost.Object) string { return "No valid host was found." } })
		},
		Elsewhere: func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) *fleet.Cluster {
			ownNetwork(clouds[p], "beta")
			bob := fleet.SecretData{openstackauth.CloudsYAMLKey: fleet.NewSecret(clouds[p].CloudsYAML(ost.URL, "bob"))}
			out := *c
			out.Secrets = map[string]fleet.SecretData{betaSecret.Name: bob}
			pool := c.Workers[0]
			pool.Infrastructure = object(t, "OpenStackMachineTemplate", "nodes-beta", nil, elsewhere(betaIdentity()))
			pool.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{betaSecret: bob}
			out.Workers = []fleet.Pool{pool}
			return &out
		},
		OtherName: func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) *fleet.Cluster {
			spec, ref := machineSpec(), betaIdentity()
			spec.IdentityRef = &ref
			yaml := otherHost(string(clouds[p].CloudsYAML(ost.URL, "alice")))
			out, pool := *c, c.Workers[0]
			pool.Infrastructure = object(t, "OpenStackMachineTemplate", "nodes-alias", nil, spec)
			pool.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{betaSecret: {openstackauth.CloudsYAMLKey: fleet.NewSecret([]byte(yaml))}}
			out.Workers = []fleet.Pool{pool}
			return &out
		},
		Served: func(_ testing.TB, p providers.Infrastructure, _ *fleet.Cluster) (out []fleet.MachineName) {
			for _, m := range clouds[p].Objects(ost.Members) {
				out = append(out, fleet.MachineName(m.String("name")))
			}
			return out
		},
		Jam: func(_ testing.TB, p providers.Infrastructure) {
			for _, lb := range clouds[p].Objects(ost.LoadBalancers) {
				clouds[p].Edit(ost.LoadBalancers, lb.ID(), func(o ost.Object) {
					o["provisioning_status"], o["updated_at"] = "PENDING_UPDATE", time.Now().UTC().Format("2006-01-02T15:04:05")
				})
			}
		},
		EndpointAt: func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster, address string) *fleet.Cluster {
			ports := clouds[p].Objects(ost.Ports)
			i := slices.IndexFunc(ports, func(o ost.Object) bool { return strings.Contains(fmt.Sprint(o["fixed_ips"]), address) })
			spec := clusterSpec()
			spec.ManagedSubnets, spec.Network = nil, &api.NetworkParam{ID: ptr(ports[i].String("network_id"))}
			spec.APIServer = &api.APIServer{EnableFloatingIP: ptr(false), FixedIP: &address}
			out := newCluster(t, clouds[p].CloudsYAML(ost.URL, "alice"), spec, machineSpec())
			out.Fleet, out.Key = c.Fleet, c.Key
			return &out
		},
		Mistaken: func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) (out []*fleet.Cluster) {
			for _, mistake := range []func(*api.OpenStackClusterSpec, *api.OpenStackMachineSpec){
				func(s *api.OpenStackClusterSpec, _ *api.OpenStackMachineSpec) {
					s.ManagedSubnets[0].CIDR = "10.7.0.0/24"
				},
				func(s *api.OpenStackClusterSpec, _ *api.OpenStackMachineSpec) {
					s.Router = &api.RouterParam{Filter: &api.RouterFilter{Name: "egde"}}
				},
				func(s *api.OpenStackClusterSpec, _ *api.OpenStackMachineSpec) {
					s.ExternalNetwork = &api.NetworkParam{Filter: &api.NetworkFilter{Name: "pubilc"}}
				},
				func(_ *api.OpenStackClusterSpec, m *api.OpenStackMachineSpec) { m.Flavor.Filter.Name = ptr("m1.smal") },
				func(_ *api.OpenStackClusterSpec, m *api.OpenStackMachineSpec) { m.Image.Filter.Name = ptr("ubunut") },
			} {
				spec, machine := clusterSpec(), machineSpec()
				mistake(spec, machine)
				m := newCluster(t, clouds[p].CloudsYAML(ost.URL, "alice"), spec, machine)
				m.Fleet, m.Key = c.Fleet, c.Key
				out = append(out, &m)
			}
			return out
		},
		Renamed: func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) (out []*fleet.Cluster) {
			for _, change := range []func(*api.OpenStackClusterSpec){
				func(s *api.OpenStackClusterSpec) {
					s.ControlPlaneEndpoint = &clusterv1.APIEndpoint{Host: "api.example.com", Port: 6443}
				},
				func(s *api.OpenStackClusterSpec) { s.APIServer.FloatingIP = ptr("198.18.0.99") },
				func(s *api.OpenStackClusterSpec) { s.APIServer.FixedIP = ptr("10.6.0.99") },
				func(s *api.OpenStackClusterSpec) { s.APIServer.ManagedLoadBalancer.Enabled = ptr(false) },
				func(s *api.OpenStackClusterSpec) { s.APIServer.Port = ptr(uint16(443)) },
			} {
				spec := clusterSpec()
				change(spec)
				m := newCluster(t, clouds[p].CloudsYAML(ost.URL, "alice"), spec, machineSpec())
				m.Fleet, m.Key = c.Fleet, c.Key
				out = append(out, &m)
			}
			return out
		},
		FailureDomain: "az2",
		UserDataLimit: 49149, // of Nova
	}
}

// changes returns how many calls might have changed something.
func changes(c *ost.Cloud) (n int) {
	for _, x := range c.Calls() {
		if x.Changes() {
			n++
		}
	}
	return n
}
