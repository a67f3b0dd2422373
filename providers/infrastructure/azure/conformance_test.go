package azure_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
	"fairlead.dev/providers/infrastructure/azure"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
)

func TestConformance(t *testing.T) {
	for name, spec := range map[string]string{
		"public":   clusterSpec,
		"internal": strings.Replace(clusterSpec, "identityRef", "networkSpec: {apiServerLB: {type: Internal}}, identityRef", 1),
	} {
		t.Run(name, func(t *testing.T) { conform(t, spec) })
	}
}

func conform(t *testing.T, spec string) {
	worlds := make(map[providers.Infrastructure]*world)
	var last *world
	conformance.Run(t, conformance.Options{
		Provider: api.ProviderName,
		New: func(t testing.TB) providers.Infrastructure {
			last = newWorld(t, slowly())
			last.n = 0
			worlds[last.p] = last
			return last.p
		},
		Cluster: func() fleet.Cluster { return last.cluster(spec, machineSpec) },
		Foreign: func(_ testing.TB, p providers.Infrastructure, name string) func() bool {
			id := worlds[p].AddVM("rg-theirs", name)
			return func() bool { r, ok := worlds[p].Resource(id); return ok && r.State == "Succeeded" }
		},
		FailListing: func(t testing.TB, p providers.Infrastructure, nth int) {
			time.Sleep(2 * tick) // so that no listing is new enough
			end := worlds[p].Inject(azuretest.Fault{Method: "LIST *", Skip: nth - 1, Times: 1, Status: 500, Code: "InternalServerError", Message: "Encountered internal server error."})
			t.Cleanup(func() { end() })
		},
		Hooks: hooks(worlds, spec), Around: synctest.Test,
	})
}

// hooks reach the clouds of providers.
func hooks(worlds map[providers.Infrastructure]*world, spec string) conformance.Hooks {
	group := func(c *fleet.Cluster) string {
		s, err := api.ReadCluster(c.Infrastructure)
		if err != nil {
			panic(err)
		}
		return s.ResourceGroup
	}
	return conformance.Hooks{
		Changes: func(_ testing.TB, p providers.Infrastructure) string {
			var out strings.Builder
			for i, c := range worlds[p].Calls() {
				if c.Changes() {
					fmt.Fprintln(&out, i, c.Method, c.ID)
				}
			}
			return out.String()
		},
		Contents: func(_ testing.TB, p providers.Infrastructure) (out []string) {
			for _, r := range worlds[p].Resources("") {
				out = append(out, r.Kind+" "+r.ID)
			}
			return out
		},
		LoseAnswer: func(_ testing.TB, p providers.Infrastructure, nth int) func() bool {
			end := worlds[p].Inject(azuretest.Fault{Changes: true, Skip: nth - 1, Times: 1, Lose: true})
			return func() bool { return end() > 0 }
		},
		Retag: func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID, change func(map[string]string)) {
			if !worlds[p].Retag(vmID(id), func(tags map[string]string) {
				own := map[string]string{}
				for k, v := range tags {
					own[strings.Replace(k, "_", "/", 1)] = v
				}
				change(own)
				clear(tags)
				for k, v := range own {
					tags[strings.Replace(k, "/", "_", 1)] = v
				}
			}) {
				t.Fatalf("there is no VM %s", id)
			}
		},
		LoseRecords: func(_ testing.TB, p providers.Infrastructure, id fleet.ProviderID) func() bool {
			worlds[p].Deny("virtualmachines", true)
			return func() bool { r, ok := worlds[p].Resource(vmID(id)); return ok && r.State == "Succeeded" }
		},
		TakeOver: func(_ testing.TB, p providers.Infrastructure, id fleet.ProviderID) func() (taken, there bool) {
			w, listed, taken := worlds[p], false, false
			w.Watch(func(c azuretest.Call) {
				switch {
				case c.Method == "LIST virtualmachines", c.Method == "LIST resources":
					listed = true
				case listed && !taken:
					taken = w.Retag(vmID(id), func(tags map[string]string) { tags["fairlead.dev_cluster"] = "prod/theirs" })
				}
			})
			return func() (bool, bool) {
				w.Watch(nil)
				r, ok := w.Resource(vmID(id))
				return taken, ok && r.State == "Succeeded"
			}
		},
		FailBoot: func(_ testing.TB, p providers.Infrastructure) { worlds[p].FailVMs("AllocationFailed") },
		Served: func(_ testing.TB, p providers.Infrastructure, c *fleet.Cluster) []fleet.MachineName {
			return worlds[p].served(c, group(c))
		},
		Jam: func(_ testing.TB, p providers.Infrastructure) { worlds[p].Jam(true) },
		Mistaken: func(t testing.TB, _ providers.Infrastructure, c *fleet.Cluster) (out []*fleet.Cluster) {
			for _, m := range []struct{ old, new, machine string }{
				{"identityRef", "networkSpec: {vnet: {cidrBlocks: [10.0.0.0/9]}}, identityRef", machineSpec},
				{"identityRef", "networkSpec: {vnet: {name: missing, resourceGroup: missing}}, identityRef", machineSpec},
				{"", "", strings.Replace(machineSpec, "D4s", "D5s", 1)},
				{"", "", strings.Replace(machineSpec, "{", "{image: {id: /subscriptions/missing}, ", 1)},
				{"", "", strings.Replace(machineSpec, "{", "{subnetName: missing, ", 1)},
			} {
				one := newCluster(t, strings.Replace(strings.Replace(clusterSpec, "GROUP", group(c), 1), m.old, m.new, 1), m.machine)
				one.Fleet, one.Key = c.Fleet, c.Key
				out = append(out, &one)
			}
			return out
		},
		Renamed: func(t testing.TB, _ providers.Infrastructure, c *fleet.Cluster) (out []*fleet.Cluster) {
			is, other := "type: Public", "type: Internal"
			if strings.Contains(spec, "Internal") {
				is, other = other, is
			}
			for _, change := range []struct {
				balancer, endpoint string
				port               int32
			}{
				{is, "host: api.example.com, port: 6443", 0},
				{is, "host: api.example.com, port: 443", 0},
				{is, "", 443},
				{is + ", name: another", "", 0},
				{other, "", 0},
			} {
				text := strings.Replace(clusterSpec, "identityRef", "networkSpec: {apiServerLB: {"+change.balancer+"}}, identityRef", 1)
				if change.endpoint != "" {
					text = strings.Replace(text, "identityRef", "controlPlaneEndpoint: {"+change.endpoint+"}, identityRef", 1)
				}
				one := newCluster(t, strings.Replace(text, "GROUP", group(c), 1), machineSpec)
				one.Fleet, one.Key, one.Network.APIServerPort = c.Fleet, c.Key, change.port
				out = append(out, &one)
			}
			return out
		},
		KeptPool: func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) (*fleet.Cluster, string) {
			return worlds[p].keeping(t, p, c, group(c))
		},
		FailureDomain: "2",
		UserDataLimit: 65536,
	}
}

// keeping returns c as a cluster of AKS with a User pool, whose System pool is of somebody else, and a version that the pool
// may be upgraded to.
func (w *world) keeping(t testing.TB, p providers.Infrastructure, c *fleet.Cluster, group string) (*fleet.Cluster, string) {
	with := newManaged(t, strings.Replace(strings.Replace(planeSpec, "v1.33.5", "v1.34.1", 1), "resourceGroupName: rg", "resourceGroupName: "+group, 1))
	with.Fleet, with.Key = c.Fleet, c.Key
	plane := azure.NewControlPlane(p.(*azure.Provider))
	for range 40 {
		if err := plane.Ensure(t.Context(), "op-plane", &with); err != nil {
			t.Fatal(err)
		}
		time.Sleep(settle)
		seen, err := plane.Observe(t.Context(), &with, nil)
		if err != nil || !seen.State.Ready {
			continue
		}
		for _, r := range w.Resources("agentpools") {
			if strings.Contains(strings.ToLower(r.ID), "/resourcegroups/"+strings.ToLower(group)+"/") {
				w.Edit(r.ID, func(body map[string]any) { delete(body["properties"].(map[string]any), "tags") })
			}
		}
		with.KeptPools = with.KeptPools[1:]
		with.KeptPools[0].Version = "v1.33.5"
		return with.ServedAt(seen.State.Endpoint), "v1.34.1"
	}
	t.Fatal("AKS makes no control plane")
	return nil, ""
}

// served returns the machines that the load balancer of c leads to at the port that its machines know.
func (w *world) served(c *fleet.Cluster, group string) (out []fleet.MachineName) {
	for _, lb := range w.Resources("loadbalancers") {
		if lb.Tags["fairlead.dev_cluster"] != c.Key.String() || !strings.Contains(strings.ToLower(lb.ID), "/resourcegroups/"+group+"/") {
			continue
		}
		text := fmt.Sprint(lb.Body)
		if port := c.Residence.Endpoint.Port; port != 0 && !strings.Contains(text, fmt.Sprint("frontendPort:", port)) {
			continue
		}
		for _, vm := range w.Resources("virtualmachines") {
			for _, nic := range w.Resources("networkinterfaces") {
				if strings.EqualFold(nic.Name, vm.Name+"-nic") && strings.Contains(fmt.Sprint(nic.Body), lb.ID+"/backendAddressPools/") && strings.EqualFold(groupOf(nic.ID), groupOf(vm.ID)) {
					out = append(out, fleet.MachineName(vm.Tags["fairlead.dev_machine"]))
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

func groupOf(id string) string { return strings.Split(id, "/")[4] }
