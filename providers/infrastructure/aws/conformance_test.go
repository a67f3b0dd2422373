package aws_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
	"fairlead.dev/providers/infrastructure/aws"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

func TestConformance(t *testing.T) {
	for name, specs := range map[string][2]string{
		"network load balancer": {clusterSpec, machineSpec},
		"IPv6":                  {sixSpec, machineSpec},
		"classic load balancer, SSM for user data": {`{region: eu-central-1}`, parameterSpec},
	} {
		t.Run(name, func(t *testing.T) { conform(t, specs[0], specs[1]) })
	}
}

func conform(t *testing.T, spec, machine string) {
	clouds := make(map[providers.Infrastructure]*awstest.Cloud)
	var last *awstest.Cloud
	conformance.Run(t, conformance.Options{
		Provider: api.ProviderName,
		New: func(t testing.TB) providers.Infrastructure {
			last = slowly()
			p := newProvider(last.Client())
			clouds[p] = last
			t.Cleanup(p.Close)
			return p
		},
		Cluster: func() fleet.Cluster { return newCluster(t, spec, machine) },
		Foreign: func(_ testing.TB, p providers.Infrastructure, name string) func() bool {
			id := clouds[p].AddInstance(name)
			return func() bool { i, ok := clouds[p].Thing(id); return ok && i.Attr["state"] == "running" }
		},
		FailListing: func(t testing.TB, p providers.Infrastructure, nth int) {
			time.Sleep(2 * tick) // so that no listing is good enough
			t.Cleanup(clouds[p].Inject(awstest.Fault{Looks: true, Skip: nth - 1, Times: 1, Status: 500, Code: "InternalError", Message: "An internal error has occurred"}))
		},
		Hooks: hooks(clouds), Around: synctest.Test,
	})
}

// hooks reach the clouds of providers.
func hooks(clouds map[providers.Infrastructure]*awstest.Cloud) conformance.Hooks {
	return conformance.Hooks{
		Changes: func(_ testing.TB, p providers.Infrastructure) string {
			var out strings.Builder
			for _, c := range clouds[p].Calls() {
				if c.Changes() {
					fmt.Fprintln(&out, c.N, c.Service, c.Action)
				}
			}
			return out.String()
		},
		Contents: func(_ testing.TB, p providers.Infrastructure) []string { return clouds[p].Contents() },
		LoseAnswer: func(_ testing.TB, p providers.Infrastructure, nth int) func() bool {
			lost := false
			end := clouds[p].Inject(awstest.Fault{Changes: true, Skip: nth - 1, Times: 1, Cut: awstest.After, Do: func(awstest.Call) { lost = true }})
			return func() bool { end(); return lost }
		},
		Retag: func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID, change func(map[string]string)) {
			if !clouds[p].Edit(idOf(id), func(i *awstest.Thing) { change(i.Tags) }) {
				t.Fatalf("there is no instance %s", id)
			}
		},
		LoseRecords: func(_ testing.TB, p providers.Infrastructure, id fleet.ProviderID) func() bool {
			clouds[p].Deny("DescribeInstances", true)
			return func() bool { i, ok := clouds[p].Thing(idOf(id)); return ok && i.Attr["state"] == "running" }
		},
		TakeOver: func(_ testing.TB, p providers.Infrastructure, id fleet.ProviderID) func() (taken, there bool) {
			c, taken := clouds[p], false
			end := c.Inject(awstest.Fault{Action: "DescribeInstances", Do: func(call awstest.Call) { // what follows on a listing names it
				if !taken && call.Form["Filter.1.Name"][0] == "instance-id" {
					taken = c.Edit(idOf(id), func(i *awstest.Thing) { i.Tags["fairlead.dev/cluster"] = "prod/theirs" })
				}
			}})
			return func() (bool, bool) {
				end()
				i, ok := c.Thing(idOf(id))
				return taken, ok && i.Attr["state"] == "running"
			}
		},
		FailCreate: func(_ testing.TB, p providers.Infrastructure) func() {
			clouds[p].FailInstances("Client.VolumeLimitExceeded: Volume limit exceeded")
			return func() { clouds[p].FailInstances("") }
		},
		Served: func(_ testing.TB, p providers.Infrastructure, c *fleet.Cluster) (out []fleet.MachineName) {
			for _, k := range []awstest.Kind{awstest.TargetGroups, awstest.ClassicOnes} {
				for _, g := range clouds[p].Things(k) {
					if g.Tags["fairlead.dev/cluster"] != c.Key.String() || !reached(clouds[p], c, &g) {
						continue
					}
					for _, id := range g.Sets["targets"] {
						i, _ := clouds[p].Thing(id)
						if i.Attr["state"] != "terminated" {
							out = append(out, fleet.MachineName(i.Tags["fairlead.dev/machine"]))
						}
					}
				}
			}
			return out
		},
		Jam: func(_ testing.TB, p providers.Infrastructure) { clouds[p].Jam(true) },
		Mistaken: func(t testing.TB, _ providers.Infrastructure, c *fleet.Cluster) (out []*fleet.Cluster) {
			for _, m := range []struct{ cluster, machine string }{
				{strings.Replace(clusterSpec, "{region", "{network: {vpc: {cidrBlock: 10.9.0.0/16}}, region", 1), machineSpec},
				{strings.Replace(clusterSpec, "{region", "{network: {vpc: {id: vpc-missing}}, region", 1), machineSpec},
				{clusterSpec, strings.Replace(machineSpec, "m6i.large", "m6i.lagre", 1)},
				{clusterSpec, strings.Replace(machineSpec, "{", "{ami: {id: ami-missing}, ", 1)},
			} {
				one := newCluster(t, m.cluster, m.machine)
				one.Fleet, one.Key = c.Fleet, c.Key
				out = append(out, &one)
			}
			return out
		},
		Renamed: func(t testing.TB, _ providers.Infrastructure, c *fleet.Cluster) (out []*fleet.Cluster) {
			const classic, nlb = "loadBalancerType: classic", "loadBalancerType: nlb, healthCheckProtocol: HTTPS"
			has, other := classic, nlb
			if strings.Contains(string(c.Infrastructure.Spec), `"nlb"`) {
				has, other = nlb, classic
			}
			for _, change := range []struct {
				balancer, endpoint string
				port               int32
			}{
				{has, "host: api.example.com, port: 6443", 0},
				{has, "host: api.example.com, port: 443", 0},
				{has, "", 443},
				{has + ", name: another", "", 0},
				{has + ", scheme: internal", "", 0},
				{other, "", 0},
				{"loadBalancerType: disabled", "host: api.example.com, port: 6443", 0},
			} {
				spec := "{region: eu-central-1, controlPlaneLoadBalancer: {" + change.balancer + "}"
				if change.endpoint != "" {
					spec += ", controlPlaneEndpoint: {" + change.endpoint + "}"
				}
				one := newCluster(t, spec+"}", machineSpec)
				one.Fleet, one.Key, one.Network.APIServerPort = c.Fleet, c.Key, change.port
				out = append(out, &one)
			}
			return out
		},
		KeptPool: func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) (*fleet.Cluster, string) {
			vpc, _, _ := clouds[p].AddVPC("10.7.0.0/16")
			with := newManaged(t, strings.Replace(strings.Replace(planeSpec, "v1.33.5", "v1.34.1", 1), "{", "{network: {vpc: {id: "+vpc+"}}, ", 1), groupSpec)
			with.Fleet, with.Key, with.KeptPools[0].Version = c.Fleet, c.Key, "v1.33.0"
			plane := aws.NewControlPlane(aws.Options{Cloud: cloud.Options{Tick: tick, Base: clouds[p].Client(), Own: own()}, Settle: settle})
			for range 20 {
				if err := plane.Ensure(t.Context(), "op-plane", &with); err != nil {
					t.Fatal(err)
				}
				time.Sleep(settle)
				if seen, err := plane.Observe(t.Context(), &with, nil); err == nil && seen.State.Ready {
					return with.ServedAt(seen.State.Endpoint), "v1.34.0"
				}
			}
			t.Fatal("EKS makes no control plane")
			return nil, ""
		},
		FailureDomain: "eu-central-1b",
		UserDataLimit: 65536,
	}
}

// reached reports whether clients reach what g leads to at the port that machines of c know, where they know one.
func reached(cloud *awstest.Cloud, c *fleet.Cluster, g *awstest.Thing) bool {
	if c.Residence.Endpoint.Port == 0 {
		return true
	}
	port := strconv.Itoa(int(c.Residence.Endpoint.Port))
	open := slices.ContainsFunc(cloud.Things(awstest.Groups), func(t awstest.Thing) bool {
		return t.Tags["fairlead.dev/part"] == "group-apiserver-lb" && slices.ContainsFunc(t.Sets["rules"], func(rule string) bool {
			return strings.HasPrefix(rule, "tcp\x00"+port+"\x00")
		})
	})
	listens := g.Kind == awstest.ClassicOnes || slices.ContainsFunc(cloud.Things(awstest.Listeners), func(t awstest.Thing) bool {
		return t.Attr["group"] == g.ID && t.Attr["port"] == port
	})
	return open && listens
}

// idOf returns the id of the instance that a provider id is of.
func idOf(id fleet.ProviderID) string { return string(id)[strings.LastIndexByte(string(id), '/')+1:] }
