package aws_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// An adopting world is a cloud with a cluster that Cluster API's provider made, and manifests as it leaves them.
type adopting struct {
	*world
	left     *awstest.LeftByCAPA
	machines []providers.AdoptedMachine
}

// adopts runs f on a cluster of Cluster API. more is what its AWSCluster has beside what the provider writes.
func adopts(t *testing.T, o awstest.CAPA, more string, f func(w *adopting)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := slowly()
		o.Name, o.Servers, o.Workers = "eu-1", 3, 2
		if o.VPC == "given" {
			o.VPC, _, o.Subnets = c.AddVPC("10.7.0.0/16")
		}
		w := &adopting{world: &world{T: t, cloud: c, provider: newProvider(c.Client())}, left: c.AddCAPA(o)}
		c.AddCAPA(awstest.CAPA{Name: "us-1", Servers: 1})                           // another one in the account
		c.AddCAPA(awstest.CAPA{Name: "eu-1", Servers: 1, Balancer: "of-namespace"}) // one of that name, of another namespace
		lb := "name: " + w.left.Balancer
		if o.Inside {
			lb = "scheme: internal, preserveClientIP: true, additionalListeners: [{port: 8443}]"
		}
		if o.Rules {
			lb += ", ingressRules: [{description: office, protocol: tcp, fromPort: 6443, toPort: 6443, cidrBlocks: [192.0.2.0/24]}"
			if o.Inside {
				lb += ", {description: servers, protocol: tcp, fromPort: 6444, toPort: 6444}"
			}
			lb += "]"
		}
		kind, vpc := "nlb", fmt.Sprintf("vpc: {id: %s, cidrBlock: 10.0.0.0/16, internetGatewayId: igw-1, tags: {Name: eu-1-vpc, sigs.k8s.io/cluster-api-provider-aws/cluster/eu-1: owned}}, subnets: [%s]",
			w.left.VPC, strings.Join(w.left.Subnets, ", "))
		if o.Classic {
			kind = "classic"
		}
		if o.VPC != "" {
			vpc = "vpc: {id: " + o.VPC + "}"
		}
		if o.Six {
			vpc = strings.Replace(vpc, "vpc: {", "vpc: {ipv6: {cidrBlock: '2a05:d014:7:1200::/56', poolId: Amazon, egressOnlyInternetGatewayId: eigw-1}, ", 1)
		}
		if o.NodePorts != "" {
			vpc += ", nodePortIngressRuleCidrBlocks: [" + o.NodePorts + "]"
		}
		w.cluster = newCluster(t, fmt.Sprintf("{region: eu-central-1, network: {%s}, controlPlaneEndpoint: {host: %s, port: 6443}, controlPlaneLoadBalancer: {loadBalancerType: %s, %s}%s}",
			vpc, w.left.DNS, kind, lb, more), machineSpec)
		for pool, ids := range map[fleet.PoolName][]string{"eu-1-cp": w.left.Servers, "eu-1-md-0": w.left.Workers} {
			for n, id := range ids {
				w.machines = append(w.machines, providers.AdoptedMachine{
					Name: fleet.MachineName(fmt.Sprintf("%s-%d", pool, n)), Pool: pool, ID: fleet.ProviderID("aws:///" + w.left.Zones[id] + "/" + id), FailureDomain: w.left.Zones[id],
				})
			}
		}
		defer w.provider.Close()
		f(w)
	})
}

// contentsOf returns all things with their attributes and tags, but for those of Fairlead.
func contentsOf(c *awstest.Cloud) map[string]string {
	out := make(map[string]string)
	for _, line := range c.Contents() {
		_, id, _ := strings.Cut(line, " ")
		x, _ := c.Thing(id)
		maps.DeleteFunc(x.Tags, func(k, _ string) bool { return strings.HasPrefix(k, "fairlead.dev/") })
		delete(x.Sets, "balancers") // which a listing fills in
		out[id] = fmt.Sprint(x.Tags, x.Attr, x.Sets)
	}
	return out
}

// changesOf returns the actions that changed something.
func changesOf(c *awstest.Cloud) (out []string) {
	for _, call := range c.Calls() {
		if call.Changes() {
			out = append(out, call.Action)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestAdopt: a cluster that Cluster API made gets tags, and nothing else of it changes: there is nothing to do afterwards, its
// machines are those of the templates, and it can be given back. Then it can be grown and deleted, with all that it consists of.
func TestAdopt(t *testing.T) {
	for name, tc := range map[string]struct {
		left awstest.CAPA
		more string
	}{
		"network load balancer, own VPC":   {awstest.CAPA{}, ""},
		"classic load balancer, bastion":   {awstest.CAPA{Classic: true, Bastion: true}, ", bastion: {enabled: true}"},
		"network load balancer, given VPC": {awstest.CAPA{VPC: "given", Rules: true}, ""},
		"internal load balancer":           {awstest.CAPA{Inside: true, Rules: true}, ""},
		"rules":                            {awstest.CAPA{Rules: true}, ""},
		"IPv6, bastion":                    {awstest.CAPA{Six: true, Bastion: true}, ", bastion: {enabled: true}"},
		"IPv6, internal, node ports":       {awstest.CAPA{Six: true, Inside: true, NodePorts: "192.0.2.0/24"}, ""},
		"IPv6, rules":                      {awstest.CAPA{Six: true, Rules: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			adopts(t, tc.left, tc.more, func(w *adopting) {
				before := contentsOf(w.cloud)
				w.cloud.Forget()
				untagged, err := w.provider.Adoptable(w.Context(), &w.cluster, w.machines)
				if err != nil || len(untagged) < 11 {
					w.Fatalf("to be marked are %q, %v", untagged, err)
				}
				if done := changesOf(w.cloud); len(done) > 0 {
					w.Errorf("to look called %q", done)
				}
				for range 2 { // and once more
					if err := w.provider.Adopt(w.Context(), &w.cluster, w.machines); err != nil {
						w.Fatal(err)
					}
					time.Sleep(settle)
				}
				if left, err := w.provider.Adoptable(w.Context(), &w.cluster, w.machines); err != nil || len(left) > 0 {
					w.Errorf("left are %q, %v", left, err)
				}
				if n := w.called("CreateTags") + w.called("AddTags"); n != len(untagged) {
					w.Errorf("%d requests marked %d things", n, len(untagged))
				}
				if d := cmp.Diff(before, contentsOf(w.cloud)); d != "" {
					w.Errorf("more than tags of Fairlead changed: %s", d)
				}
				w.cloud.Forget()
				got := w.settle()
				if len(got.Machines) != 5 || got.Endpoint.Host != w.left.DNS || !got.Ready {
					w.Errorf("it is ready %t at %v: %q, with machines %+v", got.Ready, got.Endpoint, got.Message, got.Machines)
				}
				for _, m := range got.Machines {
					if p, _ := w.cluster.Pool(m.Pool); m.Damaged != "" || m.Template != p.Template || m.Operation != providers.AdoptionID(w.cluster.Key) || m.State != fleet.MachineRunning {
						w.Errorf("machine %+v", m)
					}
				}
				if err := w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster); err != nil {
					w.Error(err)
				}
				if done := changesOf(w.cloud); len(done) > 0 {
					w.Errorf("nothing is to do, and %q was called", done)
				}
				if d := cmp.Diff(before, contentsOf(w.cloud)); d != "" {
					w.Errorf("it changed since: %s", d)
				}
				if err := w.provider.Release(w.Context(), &w.cluster, w.machines); err != nil {
					w.Fatal(err)
				}
				for id := range contentsOf(w.cloud) {
					x, _ := w.cloud.Thing(id)
					for k := range x.Tags {
						if strings.HasPrefix(k, "fairlead.dev/") {
							w.Errorf("%s has %s", id, k)
						}
					}
				}
				if again, err := w.provider.Adoptable(w.Context(), &w.cluster, w.machines); err != nil || !slices.Equal(again, untagged) {
					w.Errorf("to be marked again are %q, %v", again, err)
				}
				w.life()
			})
		})
	}
}

// life adopts the cluster, adds and removes machines, and deletes it.
func (w *adopting) life() {
	w.Helper()
	if err := w.provider.Adopt(w.Context(), &w.cluster, w.machines); err != nil {
		w.Fatal(err)
	}
	time.Sleep(settle)
	w.mustCreate("m-0", w.cluster.Workers[0], "")
	w.mustCreate("cp-0", w.cluster.ControlPlane, "")
	w.settle()
	for _, k := range []awstest.Kind{awstest.TargetGroups, awstest.ClassicOnes} {
		for _, g := range w.cloud.Things(k) {
			if g.Tags["fairlead.dev/cluster"] != "" && len(g.Sets["targets"]) != 4 {
				w.Errorf("the load balancer leads to %q", g.Sets["targets"])
			}
		}
	}
	wantKind(w, "to give back what was made since", w.provider.Release(w.Context(), &w.cluster, w.machines), fleet.Conflict, "was made or changed since")
	w.cluster.Delete = true
	for _, m := range w.observe().Machines {
		if err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, m.Name, ""); err != nil {
			w.Error(err)
		}
	}
	for range 20 {
		time.Sleep(settle)
		if !w.observe().Exists {
			break
		}
		_ = w.provider.DeleteInfrastructure(w.Context(), "op", &w.cluster) // what it waits for, the next look tells
	}
	if got := w.observe(); got.Exists {
		w.Errorf("it stays: %s", got.Message)
	}
	for _, id := range w.left.All {
		if x, ok := w.cloud.Thing(id); ok && x.Attr["state"] != "terminated" && x.Attr["state"] != "deleted" {
			w.Errorf("%s is left", id)
		}
	}
	if n := len(w.cloud.Things(awstest.Instances)); n == 0 {
		w.Error("that of another cluster is gone")
	}
}

// TestAdoptRefuses: what cannot be adopted is told by its name, and nothing is marked.
func TestAdoptRefuses(t *testing.T) {
	const role = "sigs.k8s.io/cluster-api-provider-aws/role"
	// of returns the first of what the cluster has of a kind.
	of := func(w *adopting, k awstest.Kind) string {
		i := slices.IndexFunc(w.left.All, func(id string) bool { x, ok := w.cloud.Thing(id); return ok && x.Kind == k })
		return w.left.All[i]
	}
	tag := func(k awstest.Kind, pairs ...string) func(w *adopting) {
		return func(w *adopting) {
			w.cloud.Edit(of(w, k), func(x *awstest.Thing) {
				for i := 0; i < len(pairs); i += 2 {
					x.Tags[pairs[i]] = pairs[i+1]
				}
			})
		}
	}
	spec := func(now, then string) func(w *adopting) {
		return func(w *adopting) {
			text := strings.ReplaceAll(string(w.cluster.Infrastructure.Spec), now, then)
			w.cluster.Infrastructure.Spec = []byte(text)
		}
	}
	for name, tc := range map[string]struct {
		left   awstest.CAPA
		change func(w *adopting)
		kind   fleet.ErrorKind
		say    []string
	}{
		"a machine that is gone":     {awstest.CAPA{}, func(w *adopting) { w.cloud.Remove(w.left.Servers[0]) }, fleet.NotFound, []string{"take over machine eu-1-cp-0", "there is no instance i-"}},
		"one that is being deleted":  {awstest.CAPA{}, func(w *adopting) { w.cloud.Reclaim(w.left.Servers[0], "") }, fleet.NotFound, []string{"there is no instance i-"}},
		"a machine of another cloud": {awstest.CAPA{}, func(w *adopting) { w.machines[0].ID = "openstack:///42" }, fleet.Invalid, []string{`"openstack:///42" is none of AWS`}},
		"a machine of no pool":       {awstest.CAPA{}, func(w *adopting) { w.machines[0].Pool = "eu-1-md-9" }, fleet.Invalid, []string{"no pool eu-1-md-9"}},
		"two machines, one instance": {awstest.CAPA{}, func(w *adopting) { w.machines[0].ID = w.machines[1].ID }, fleet.Conflict, []string{"is that of machine"}},
		"machines of two VPCs": {awstest.CAPA{}, func(w *adopting) {
			w.cloud.Edit(w.left.Servers[0], func(x *awstest.Thing) { x.Attr["vpcId"] = "vpc-other" })
		}, fleet.Conflict, []string{"is in vpc-", "and others are in"}},
		"another fleet":              {awstest.CAPA{}, tag(awstest.VPCs, fleet.TagFleet, "fleet-b", fleet.TagCluster, "prod/eu-1"), fleet.Conflict, []string{"VPC vpc-", "belongs to cluster prod/eu-1 of fleet fleet-b"}},
		"another machine's tags":     {awstest.CAPA{}, tag(awstest.Instances, fleet.TagFleet, "fleet-a", fleet.TagMachine, "other"), fleet.Conflict, []string{"has the tags of machine other"}},
		"tags that were not adopted": {awstest.CAPA{}, tag(awstest.Gateways, fleet.TagFleet, "fleet-a", fleet.TagCluster, "prod/eu-1"), fleet.Conflict, []string{"internet gateway igw-", "was not adopted"}},
		"a VPC of people": {awstest.CAPA{}, func(w *adopting) {
			w.left.All = w.left.All[:1]
			spec(w.left.VPC, "")(w)
			tag(awstest.VPCs, "sigs.k8s.io/cluster-api-provider-aws/cluster/eu-1", "shared")(w)
		}, fleet.Invalid, []string{"name it in network.vpc.id"}},
		"another VPC":                 {awstest.CAPA{VPC: "given"}, func(w *adopting) { spec(w.left.VPC, "vpc-other")(w) }, fleet.Invalid, []string{"network.vpc.id is vpc-other"}},
		"a subnet of no kind":         {awstest.CAPA{}, tag(awstest.Subnets, role, "cni"), fleet.Invalid, []string{"subnet subnet-", "are public or private"}},
		"a security group is missing": {awstest.CAPA{}, tag(awstest.Groups, role, "other"), fleet.NotFound, []string{role + "=apiserver-lb"}},
		"another load balancer":       {awstest.CAPA{}, spec("eu-1-apiserver", "other"), fleet.NotFound, []string{"0 load balancers other"}},
		"two load balancers": {awstest.CAPA{Inside: true}, func(w *adopting) {
			w.cloud.Edit("arn:aws:elasticloadbalancing:eu-central-1:123456789012:loadbalancer/net/of-namespace/0000000000000001", func(x *awstest.Thing) { x.Attr["vpcId"] = w.left.VPC })
		}, fleet.NotFound, []string{"has 2 load balancers"}},
		"a bastion that goes": {awstest.CAPA{Bastion: true}, func(w *adopting) {
			spec(`"region"`, `"bastion":{"enabled":true},"region"`)(w)
			for _, x := range w.cloud.Things(awstest.Instances) {
				if x.Tags[role] == "bastion" {
					w.cloud.Reclaim(x.ID, "")
				}
			}
		}, fleet.NotFound, []string{role + "=bastion"}},
		"no bastion": {awstest.CAPA{}, spec(`"region"`, `"bastion":{"enabled":true},"region"`), fleet.NotFound, []string{role + "=bastion"}},
	} {
		t.Run(name, func(t *testing.T) {
			adopts(t, tc.left, "", func(w *adopting) {
				tc.change(w)
				w.cloud.Forget()
				_, err := w.provider.Adoptable(w.Context(), &w.cluster, w.machines)
				wantKind(w, "adoptable", err, tc.kind, tc.say...)
				wantKind(w, "adopt", w.provider.Adopt(w.Context(), &w.cluster, w.machines), tc.kind, tc.say...)
				if done := changesOf(w.cloud); len(done) > 0 {
					w.Errorf("%q was called", done)
				}
			})
		})
	}
}

// TestNotAdopted: manifests with what Cluster API's provider wrote into them make no network for a cluster that was not adopted.
func TestNotAdopted(t *testing.T) {
	adopts(t, awstest.CAPA{}, "", func(w *adopting) {
		if got := w.observe(); got.Ready || !strings.Contains(got.Message, "it was not adopted (run fairlead adopt") {
			w.Errorf("ready %t: %q", got.Ready, got.Message)
		}
		w.cloud.Forget()
		_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster) // the fault
		if done := changesOf(w.cloud); len(done) > 0 {
			w.Errorf("%q was called", done)
		}
	})
}

// TestAdoptedKeeps: what was adopted is kept as Cluster API's provider kept it: its routes and rules come back, and those that others
// add go. What a copy of a thing has as tags makes it no part of the cluster. What Fairlead makes since is not given back.
func TestAdoptedKeeps(t *testing.T) {
	adopts(t, awstest.CAPA{}, "", func(w *adopting) {
		if err := w.provider.Adopt(w.Context(), &w.cluster, w.machines); err != nil {
			w.Fatal(err)
		}
		time.Sleep(settle)
		w.settle()
		before := contentsOf(w.cloud)
		for _, id := range w.left.All {
			w.cloud.Edit(id, func(x *awstest.Thing) {
				x.Sets["routes"] = nil
				if x.Kind == awstest.Groups && x.Tags["fairlead.dev/part"] != "group-lb" {
					x.Sets["rules"] = append(x.Sets["rules"][1:], "tcp\x0022\x0022\x000.0.0.0/0\x00")
				}
				delete(x.Sets, "routes")
			})
		}
		w.settle()
		for _, id := range w.left.All {
			x, _ := w.cloud.Thing(id)
			slices.Sort(x.Sets["rules"])
			if x.Kind == awstest.RouteTables && len(x.Sets["routes"]) != 1 || strings.Contains(fmt.Sprint(x.Sets["rules"]), "tcp\x0022\x00") {
				w.Errorf("%s has %q; it was %s", id, x.Sets, before[id])
			}
		}
		copied := w.cloud.AddInstance("copy")
		group := w.cloud.AddGroup(w.left.VPC, "copy")
		theirs, _ := w.cloud.Thing(w.left.Workers[0])
		w.cloud.Edit(copied, func(x *awstest.Thing) {
			x.Attr["clientToken"], x.Attr["vpcId"] = "of-a-backup", w.left.VPC
			maps.Copy(x.Tags, theirs.Tags)
		})
		for _, g := range w.cloud.Things(awstest.Groups) {
			if g.Tags["fairlead.dev/part"] == "group-node" {
				w.cloud.Edit(group, func(x *awstest.Thing) { maps.Copy(x.Tags, g.Tags) })
			}
		}
		damaged := 0
		for _, m := range w.observe().Machines {
			if m.Damaged != "" && strings.HasSuffix(string(m.ProviderID), copied) {
				damaged++
			}
		}
		if damaged != 1 {
			w.Error("a copy of an instance is a machine")
		}
		w.cloud.Forget()
		w.settle()
		for _, c := range w.cloud.Calls() {
			if c.Changes() {
				w.Errorf("for a copy of a security group %s was called: %v", c.Action, c.Form)
			}
		}
		w.cloud.Remove(copied)
		w.cloud.Edit(w.left.VPC, func(x *awstest.Thing) { delete(x.Tags, "fairlead.dev/adopted") })
		time.Sleep(settle)
		wantKind(w, "to give back what was made since", w.provider.Release(w.Context(), &w.cluster, w.machines), fleet.Conflict, "VPC "+w.left.VPC, "was made since")
		w.cloud.Edit(w.left.VPC, func(x *awstest.Thing) { x.Tags["fairlead.dev/adopted"] = x.ID })
		time.Sleep(settle)
		if err := w.provider.Release(w.Context(), &w.cluster, w.machines); err != nil {
			w.Errorf("beside the copy of a security group: %v", err)
		}
	})
}

// TestAdoptsNoOthers: what people have in the VPC, and gateways that failed, are not marked.
func TestAdoptsNoOthers(t *testing.T) {
	adopts(t, awstest.CAPA{}, "", func(w *adopting) {
		theirs := w.cloud.AddSubnet(w.left.VPC, "eu-central-1a", "10.0.48.0/24")
		failed := w.cloud.Things(awstest.NATs)[0].ID
		w.cloud.Edit(failed, func(x *awstest.Thing) { x.Attr["state"] = "failed" })
		time.Sleep(settle)
		got, err := w.provider.Adoptable(w.Context(), &w.cluster, w.machines)
		if text := strings.Join(got, "\n"); err != nil || strings.Contains(text, theirs) || strings.Contains(text, failed) || !strings.Contains(text, "NAT gateway") {
			w.Errorf("to be marked are %q, %v", got, err)
		}
		if n := strings.Count(strings.Join(got, "\n"), "subnet "); n != 6 {
			w.Errorf("to be marked are %d subnets", n)
		}
	})
}

// TestAdoptedVPCIsNoGivenOne: what is missing of a VPC that was adopted is made again, and what needs it waits.
func TestAdoptedVPCIsNoGivenOne(t *testing.T) {
	adopts(t, awstest.CAPA{Bastion: true}, ", bastion: {enabled: true}", func(w *adopting) {
		if err := w.provider.Adopt(w.Context(), &w.cluster, w.machines); err != nil {
			w.Fatal(err)
		}
		time.Sleep(settle)
		of := func(role string) (ids []string) {
			for _, s := range w.cloud.Things(awstest.Subnets) {
				if s.Attr["vpcId"] == w.left.VPC && s.Tags["sigs.k8s.io/cluster-api-provider-aws/role"] == role {
					ids = append(ids, s.ID)
				}
			}
			return ids
		}
		for _, id := range append(of("public"), of("private")[0]) {
			w.cloud.Remove(id)
		}
		for _, b := range w.bastions() {
			w.cloud.Remove(b.ID)
		}
		w.cluster.Infrastructure.Spec = []byte(strings.Replace(string(w.cluster.Infrastructure.Spec), `"region"`, `"secondaryControlPlaneLoadBalancer":{"name":"inside","loadBalancerType":"nlb","scheme":"internal"},"region"`, 1))
		if got := w.observe(); strings.Contains(fmt.Sprint(got.Message, got.Drift), "has no public subnet") {
			w.Errorf("it says %s, %q", got.Message, got.Drift)
		}
		w.settle()
		for _, b := range w.cloud.Things(awstest.Balancers) {
			if b.Attr["name"] == "inside" && len(b.Sets["subnets"]) != 3 || len(w.cloud.Things(awstest.Balancers)) != 4 {
				w.Errorf("load balancer %s is in %q", b.Attr["name"], b.Sets["subnets"])
			}
		}
		if len(w.bastions()) != 1 {
			w.Errorf("%d bastions", len(w.bastions()))
		}
	})
}

// TestRangeOfAGivenVPC: the range of a given VPC in Git, which Cluster API writes there, wants no subnets of it.
func TestRangeOfAGivenVPC(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		vpc, public, _ := w.cloud.AddVPC("10.7.0.0/16")
		w.cloud.Remove(public[2])
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.Replace(clusterSpec, "{region", "{network: {vpc: {id: "+vpc+", cidrBlock: 10.7.0.0/16}}, region", 1))
		w.settle()
		if b := w.cloud.Things(awstest.Balancers); len(b) != 1 || len(b[0].Sets["subnets"]) != 2 {
			w.Errorf("load balancers %+v", b)
		}
	})
}

// TestAdoptSweep: a program that dies while it marks things, or gives them back, leaves what another one ends.
func TestAdoptSweep(t *testing.T) {
	adopts(t, awstest.CAPA{Six: true, Bastion: true}, ", bastion: {enabled: true}", func(w *adopting) {
		before := contentsOf(w.cloud)
		all, err := w.provider.Adoptable(w.Context(), &w.cluster, w.machines)
		if err != nil {
			w.Fatal(err)
		}
		run := func(n int, cut awstest.Cut, f func() error) {
			w.provider.Close()
			client := w.cloud.Client()
			client.DieAtChange(n, cut)
			w.provider = newProvider(client)
			if err := f(); err == nil {
				w.Errorf("at call %d nothing went wrong", n)
			}
			w.provider.Close()
			w.provider = newProvider(w.cloud.Client())
			time.Sleep(settle)
			if err := f(); err != nil {
				w.Errorf("after call %d: %v", n, err)
			}
			time.Sleep(settle)
		}
		marks := func() (n int) {
			for id := range before {
				if x, _ := w.cloud.Thing(id); x.Tags["fairlead.dev/adopted"] != "" || x.Tags["fairlead.dev/fleet"] != "" {
					n++
				}
			}
			return n
		}
		adopt := func() error { return w.provider.Adopt(w.Context(), &w.cluster, w.machines) }
		release := func() error { return w.provider.Release(w.Context(), &w.cluster, w.machines) }
		for i := range all {
			cut := []awstest.Cut{awstest.Before, awstest.After}[i%2]
			if run(i+1, cut, adopt); marks() != len(all) {
				w.Fatalf("after call %d %d of %d things are marked", i+1, marks(), len(all))
			}
			if run(i+1, cut, release); marks() != 0 {
				w.Fatalf("after call %d %d things are marked still", i+1, marks())
			}
		}
		if d := cmp.Diff(before, contentsOf(w.cloud)); d != "" {
			w.Errorf("more than tags of Fairlead changed: %s", d)
		}
	})
}

// TestNodePortsOfAdopted: node ports that Cluster API's provider opened to IPv6 are closed once Git names a range of it.
func TestNodePortsOfAdopted(t *testing.T) {
	adopts(t, awstest.CAPA{Six: true, NodePorts: "192.0.2.0/24"}, "", func(w *adopting) {
		if err := w.provider.Adopt(w.Context(), &w.cluster, w.machines); err != nil {
			w.Fatal(err)
		}
		time.Sleep(settle)
		w.settle()
		before := w.rulesOf("node")
		w.cluster.Infrastructure.Spec = []byte(strings.Replace(string(w.cluster.Infrastructure.Spec), `["192.0.2.0/24"]`, `["192.0.2.0/24","2001:db8::/32"]`, 1))
		w.settle()
		if after := w.rulesOf("node"); !strings.Contains(before, "32767 ::/0") || strings.Contains(after, "::/0") || !strings.Contains(after, "32767 2001:db8::/32") {
			w.Errorf("before %s, after %s", before, after)
		}
	})
}
