package aws_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// sixSpec is of a cluster with both families.
const sixSpec = `{region: eu-central-1, network: {vpc: {ipv6: {}}}, controlPlaneLoadBalancer: {loadBalancerType: nlb, healthCheckProtocol: HTTPS}}`

// routesOf returns the routes of the tables of a cluster, as "part destination gateway", with kinds of gateways.
func (w *world) routesOf() (out []string) {
	for _, t := range w.cloud.Things(awstest.RouteTables) {
		for _, r := range t.Sets["routes"] {
			to, by, _ := strings.Cut(r, " ")
			kind, _, _ := strings.Cut(by, "-")
			out = append(out, t.Tags["fairlead.dev/part"]+" "+to+" "+kind)
		}
	}
	slices.Sort(out)
	return out
}

// TestIPv6: a VPC has a range of Amazon, its subnets those that upstream gives them, its tables routes for both families, and
// its load balancer and machines addresses of both. All of it goes with the cluster.
func TestIPv6(t *testing.T) {
	inBubble(t, sixSpec, machineSpec, func(w *world) {
		for range 5 { // ranges that do not show yet are no reason to give up
			if err := w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster); err != nil && strings.Contains(err.Error(), "was made without IPv6") {
				w.Error(err)
			}
			time.Sleep(2 * tick)
		}
		w.settle()
		vpc := w.cloud.Things(awstest.VPCs)[0]
		base := strings.TrimSuffix(vpc.Attr["six"], "00::/56")
		want := map[string]string{ // by ranges of IPv4, of three zones
			"10.0.64.0/18": "02", "10.0.128.0/18": "03", "10.0.192.0/18": "04", "10.0.0.0/20": "05", "10.0.16.0/20": "06", "10.0.32.0/20": "07",
		}
		for _, s := range w.cloud.Things(awstest.Subnets) {
			if s.Attr["six"] != base+want[s.Attr["cidrBlock"]]+"::/64" || s.Attr["AssignIpv6AddressOnCreation"] != "true" {
				w.Errorf("subnet %s has %s, and gives addresses: %q", s.Attr["cidrBlock"], s.Attr["six"], s.Attr["AssignIpv6AddressOnCreation"])
			}
		}
		if got, want := fmt.Sprint(w.routesOf()), "[private-routes-eu-central-1a 0.0.0.0/0 nat private-routes-eu-central-1a ::/0 eigw private-routes-eu-central-1b 0.0.0.0/0 nat "+
			"private-routes-eu-central-1b ::/0 eigw private-routes-eu-central-1c 0.0.0.0/0 nat private-routes-eu-central-1c ::/0 eigw public-routes 0.0.0.0/0 igw public-routes ::/0 igw]"; got != want {
			w.Errorf("the routes are %s", got)
		}
		for role, rule := range map[string]string{"apiserver-lb": "tcp\x006443\x006443\x00::/0", "node": "tcp\x0030000\x0032767\x00::/0"} {
			g, _ := w.cloud.Thing(w.groupOf(role))
			if !strings.Contains(fmt.Sprint(g.Sets["rules"]), rule) {
				w.Errorf("security group %s lacks %q", role, rule)
			}
		}
		if b := w.cloud.Things(awstest.Balancers)[0]; b.Attr["family"] != "dualstack" {
			w.Errorf("the load balancer is %q", b.Attr["family"])
		}
		if g := w.cloud.Things(awstest.TargetGroups)[0]; g.Attr["family"] != "ipv6" {
			w.Errorf("the target group is %q", g.Attr["family"])
		}
		w.mustCreate("cp-0", w.cluster.ControlPlane, "")
		got := w.settle()
		if m := got.Machines[0]; len(m.Addresses) != 2 || !strings.HasPrefix(m.Addresses[1], strings.TrimSuffix(base, ":")) {
			w.Errorf("the machine has %q", m.Addresses)
		}
		if g := w.cloud.Things(awstest.TargetGroups)[0]; len(g.Sets["targets"]) != 1 {
			w.Errorf("the load balancer leads to %q", g.Sets["targets"])
		}
		off := w.cluster.ControlPlane
		off.Infrastructure = object(w, "AWSMachineTemplate", "nodes", strings.Replace(machineSpec, "{", "{assignPrimaryIPv6: disabled, ", 1))
		wantKind(w, "a server without address", w.create("cp-1", off, ""), fleet.Invalid, "assignPrimaryIPv6 is disabled")
		worker := w.cluster.Workers[0]
		worker.Infrastructure = off.Infrastructure
		w.mustCreate("m-0", worker, "")
		if i := w.instances()["m-0"]; i.Attr["primaryIpv6"] != "" {
			w.Errorf("the worker has a primary address: %v", i.Attr)
		}
		w.follow6()
		w.cluster.Delete = true
		for _, name := range []fleet.MachineName{"cp-0", "m-0"} {
			if err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, name, ""); err != nil {
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
		if left := w.cloud.Contents(); len(left) > 0 {
			w.Errorf("left are %q", left)
		}
	})
}

// follow6 has people change what there is of IPv6, and expects it back.
func (w *world) follow6() {
	w.Helper()
	before := fmt.Sprint(w.routesOf())
	for _, x := range w.cloud.Things(awstest.Egresses) {
		w.cloud.Remove(x.ID)
	}
	for _, s := range w.cloud.Things(awstest.Subnets)[:1] {
		w.cloud.Edit(s.ID, func(s *awstest.Thing) { s.Attr["AssignIpv6AddressOnCreation"] = "false" })
	}
	w.settle()
	if got := fmt.Sprint(w.routesOf()); got != before || len(w.cloud.Things(awstest.Egresses)) != 1 || w.cloud.Things(awstest.Subnets)[0].Attr["AssignIpv6AddressOnCreation"] != "true" {
		w.Errorf("the routes are %s", got)
	}
	w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", clusterSpec)
	if got := w.observe(); !got.Ready || !strings.Contains(fmt.Sprint(got.Drift), "network.vpc.ipv6") {
		w.Errorf("without IPv6 in Git: ready %t, %q, drift %q", got.Ready, got.Message, got.Drift)
	}
	if got := fmt.Sprint(w.routesOf()); got != before {
		w.Errorf("without IPv6 in Git the routes are %s", got)
	}
	w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", sixSpec)
	w.settle()
}

// TestIPv6OfOthers: a range of people, of a pool, and none at all.
func TestIPv6OfOthers(t *testing.T) {
	six := func(spec string) string { return strings.Replace(sixSpec, "{ipv6: {}}", spec, 1) }
	for name, tc := range map[string]struct{ spec, want string }{
		"of people": {six(`{ipv6: {cidrBlock: "2001:db8:1:1200::/56", poolId: ipv6pool-ec2-1}}`), "2001:db8:1:1200::/56"},
		"of a pool": {six(`{ipv6: {ipamPool: {name: six}}}`), "2001:db8:2:1200::/56"},
	} {
		inBubble(t, tc.spec, machineSpec, func(w *world) {
			w.cloud.AddPool("six", "2001:db8:2:1200::")
			w.settle()
			if got := w.cloud.Things(awstest.VPCs)[0].Attr["six"]; got != tc.want {
				w.Errorf("%s: it is %s", name, got)
			}
			if tc.want[9] == '1' {
				w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.Replace(tc.spec, "1200", "1300", 1))
				if got := w.observe(); !strings.Contains(fmt.Sprint(got.Drift, got.Message), "has 2001:db8:1:1200::/56 and not 2001:db8:1:1300::/56") {
					w.Errorf("another range: %q, %q", got.Message, got.Drift)
				}
			}
		})
	}
	inBubble(t, sixSpec, machineSpec, func(w *world) {
		w.cloud.FailSix("no range is left")
		for range 5 {
			_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster) // the fault
			time.Sleep(settle)
		}
		if got := w.observe(); got.Ready || !strings.Contains(got.Message, "no range is left (delete the VPC") || len(w.cloud.Things(awstest.Subnets)) > 0 {
			w.Errorf("without a range: ready %t, %q", got.Ready, got.Message)
		}
	})
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		w.mustCreate("cp-0", w.cluster.ControlPlane, "")
		w.settle()
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", sixSpec)
		if got := w.observe(); !got.Ready || !strings.Contains(fmt.Sprint(got.Drift), "was made without IPv6") {
			w.Errorf("IPv6 later: ready %t, %q, drift %q", got.Ready, got.Message, got.Drift)
		}
		on := w.cluster.Workers[0]
		on.Infrastructure = object(w, "AWSMachineTemplate", "nodes", strings.Replace(machineSpec, "{", "{assignPrimaryIPv6: enabled, ", 1))
		wantKind(w, "an address that no subnet has", w.create("m-0", on, ""), fleet.Invalid, "assignPrimaryIPv6 is enabled")
	})
}

// TestIPv6OfSubnets: subnets in Git have IPv6 if they say so. Where machines are without, the load balancer leads to them by IPv4.
func TestIPv6OfSubnets(t *testing.T) {
	subnet := func(id, cidr, zone, more string) string {
		return fmt.Sprintf("{id: %s, cidrBlock: %s, availabilityZone: eu-central-1%s%s}", id, cidr, zone, more)
	}
	for private, family := range map[string]string{"": "ipv4", ", isIpv6: true": "ipv6"} {
		spec := strings.Replace(sixSpec, "{vpc: {ipv6: {}}}", "{vpc: {ipv6: {cidrBlock: '2001:db8:1:1200::/56', poolId: p}}, subnets: ["+strings.Join([]string{
			subnet("a", "10.0.0.0/24", "a", ", isPublic: true, isIpv6: true"), subnet("b", "10.0.1.0/24", "a", ", ipv6CidrBlock: '2001:db8:1:1201::/64'"), subnet("c", "10.0.2.0/24", "a", private),
		}, ", ")+"]}", 1)
		inBubble(t, spec, machineSpec, func(w *world) {
			w.settle()
			got := make(map[string]string)
			for _, s := range w.cloud.Things(awstest.Subnets) {
				got[s.Attr["cidrBlock"]] = s.Attr["six"]
			}
			if got["10.0.0.0/24"] != "2001:db8:1:1202::/64" || got["10.0.1.0/24"] != "2001:db8:1:1201::/64" || (got["10.0.2.0/24"] == "") != (family == "ipv4") {
				w.Errorf("the subnets have %v", got)
			}
			if g := w.cloud.Things(awstest.TargetGroups)[0]; g.Attr["family"] != family {
				w.Errorf("the target group is %q, want %q", g.Attr["family"], family)
			}
		})
	}
}

// TestLoadBalancerOfIPv4: a load balancer in a subnet without IPv6 has IPv4 alone, and leads by it.
func TestLoadBalancerOfIPv4(t *testing.T) {
	spec := strings.Replace(sixSpec, "{vpc: {ipv6: {}}}", "{vpc: {ipv6: {}}, subnets: [{id: a, cidrBlock: 10.0.0.0/24, availabilityZone: eu-central-1a, isPublic: true}, {id: b, cidrBlock: 10.0.1.0/24, availabilityZone: eu-central-1a, isIpv6: true}]}", 1)
	inBubble(t, spec, machineSpec, func(w *world) {
		w.settle()
		if b, g := w.cloud.Things(awstest.Balancers)[0], w.cloud.Things(awstest.TargetGroups)[0]; b.Attr["family"] != "" || g.Attr["family"] != "ipv4" {
			w.Errorf("the load balancer is %q and leads by %s", b.Attr["family"], g.Attr["family"])
		}
	})
}

// TestNodePorts: with ranges in Git node ports are open to these alone, also by IPv6; without any to everything.
func TestNodePorts(t *testing.T) {
	for from, want := range map[string]string{
		"":                                "0.0.0.0/0 ::/0",
		"[192.0.2.0/24]":                  "192.0.2.0/24",
		"['2001:db8::/32']":               "2001:db8::/32",
		"[192.0.2.0/24, '2001:db8::/32']": "192.0.2.0/24 2001:db8::/32",
	} {
		spec := sixSpec
		if from != "" {
			spec = strings.Replace(spec, "network: {", "network: {nodePortIngressRuleCidrBlocks: "+from+", ", 1)
		}
		inBubble(t, spec, machineSpec, func(w *world) {
			w.settle()
			var got []string
			for r := range strings.Lines(w.rulesOf("node")) {
				if rest, ok := strings.CutPrefix(r, "tcp 30000 32767 "); ok {
					source, _, _ := strings.Cut(rest, " ")
					got = append(got, source)
				}
			}
			slices.Sort(got)
			if s := strings.Join(got, " "); s != want {
				w.Errorf("from %s: node ports are open to %s, want %s", from, s, want)
			}
		})
	}
}

// TestFamilyOfTargets: Git says by which addresses load balancers lead to servers, and what is there keeps that.
func TestFamilyOfTargets(t *testing.T) {
	spec := strings.Replace(sixSpec, "healthCheckProtocol: HTTPS", "targetGroupIPType: ipv4, additionalListeners: [{port: 8132, targetGroupIPType: ipv6}]", 1)
	inBubble(t, spec, machineSpec, func(w *world) {
		w.settle()
		for _, g := range w.cloud.Things(awstest.TargetGroups) {
			if want := map[string]string{"6443": "ipv4", "8132": "ipv6"}[g.Attr["port"]]; g.Attr["family"] != want {
				w.Errorf("at port %s it is %s, want %s", g.Attr["port"], g.Attr["family"], want)
			}
		}
		w.mustCreate("cp-0", w.cluster.ControlPlane, "")
		w.settle()
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.Replace(spec, "targetGroupIPType: ipv4", "targetGroupIPType: ipv6", 1))
		if got := w.observe(); !got.Ready || !strings.Contains(fmt.Sprint(got.Drift), "stays ipv4 (put it back") || strings.Contains(fmt.Sprint(got.Drift), "stays ipv6") {
			w.Errorf("another family: ready %t, %q, drift %q", got.Ready, got.Message, got.Drift)
		}
	})
}

// TestMistakenNetwork: a network in Git that cannot be changes no rule of the one that is there, by which machines reach the API server.
func TestMistakenNetwork(t *testing.T) {
	spec := strings.Replace(sixSpec, "nlb,", "nlb, targetGroupIPType: ipv4, ingressRules: [{description: office, protocol: tcp, fromPort: 6443, toPort: 6443, cidrBlocks: [192.0.2.0/24]}],", 1)
	inBubble(t, spec, machineSpec, func(w *world) {
		w.settle()
		w.mustCreate("cp-0", w.cluster.ControlPlane, "")
		w.settle()
		rules := func() string { return w.rulesOf("apiserver-lb") + w.rulesOf("node") + w.rulesOf("controlplane") }
		before := rules()
		for _, vpc := range []string{"cidrBlock: 10.9.0.0/16, ipv6", "id: vpc-0123456789, ipv6", "ipv6"} {
			text := strings.Replace(spec, "ipv6", vpc, 1)
			if vpc == "ipv6" { // as it was, and people took the tags
				w.cloud.Edit(w.cloud.Things(awstest.VPCs)[0].ID, func(x *awstest.Thing) { clear(x.Tags) })
				time.Sleep(settle)
			}
			if strings.Contains(vpc, "id: vpc") {
				text = strings.Replace(text, ", ipv6: {}", "", 1)
			}
			w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", text)
			for range 3 {
				_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster) // the difference
				time.Sleep(settle)
			}
			if after := rules(); after != before || !strings.Contains(before, "198.51.100.") {
				w.Errorf("with %s the rules are\n%s, and were\n%s", vpc, after, before)
			}
			if got := w.observe(); !got.Ready || !strings.Contains(fmt.Sprint(got.Drift), "make another cluster") {
				w.Errorf("with %s: ready %t, %s, %q", vpc, got.Ready, got.Message, got.Drift)
			}
		}
	})
}

// inGivenSix runs f with a cluster in a given VPC, of which all subnets have IPv6 but those without.
func inGivenSix(t *testing.T, spec string, without []string, f func(w *world, vpc string)) {
	t.Helper()
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		vpc, public, private := w.cloud.AddVPC("10.7.0.0/16")
		w.cloud.Edit(vpc, func(x *awstest.Thing) { x.Attr["six"] = "2001:db8:7:1200::/56" })
		for i, id := range slices.Concat(public, private) {
			x, _ := w.cloud.Thing(id)
			if !slices.Contains(without, x.Attr["cidrBlock"]) {
				w.cloud.Edit(id, func(x *awstest.Thing) { x.Attr["six"] = fmt.Sprintf("2001:db8:7:12%02x::/64", i) })
			}
		}
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.Replace(clusterSpec, "{region", "{network: {vpc: {id: "+vpc+spec+"}}, region", 1))
		f(w, vpc)
	})
}

// TestIPv6OfAGivenVPC: a cluster uses the IPv6 of a given VPC if Git says so, as far as subnets have it, and changes nothing of the VPC.
func TestIPv6OfAGivenVPC(t *testing.T) {
	for name, tc := range map[string]struct {
		spec             string
		without          []string
		balancer, family string
		addresses        int
	}{
		"all":                      {", ipv6: {}", nil, "dualstack", "ipv6", 2},
		"as Cluster API wrote it":  {", cidrBlock: 10.7.0.0/16, ipv6: {cidrBlock: '2001:db8:7:1200::/56', egressOnlyInternetGatewayId: eigw-1}", nil, "dualstack", "ipv6", 2},
		"not in Git":               {"", nil, "", "ipv4", 1},
		"not of the load balancer": {", ipv6: {}", []string{"10.7.1.0/24"}, "", "ipv4", 2},
		"not of machines":          {", ipv6: {}", []string{"10.7.100.0/24", "10.7.101.0/24", "10.7.102.0/24"}, "dualstack", "ipv4", 1},
	} {
		inGivenSix(t, tc.spec, tc.without, func(w *world, vpc string) {
			w.settle()
			w.mustCreate("cp-0", w.cluster.ControlPlane, "")
			got := w.settle()
			b, g := w.cloud.Things(awstest.Balancers)[0], w.cloud.Things(awstest.TargetGroups)[0]
			if b.Attr["family"] != tc.balancer || g.Attr["family"] != tc.family || len(got.Machines[0].Addresses) != tc.addresses || len(g.Sets["targets"]) != 1 {
				w.Errorf("%s: the load balancer is %q and leads by %s to %q with %q", name, b.Attr["family"], g.Attr["family"], g.Sets["targets"], got.Machines[0].Addresses)
			}
			if open := strings.Contains(w.rulesOf("apiserver-lb"), "::/0"); open != (tc.spec != "") {
				w.Errorf("%s: the rules are %s", name, w.rulesOf("apiserver-lb"))
			}
			for _, call := range w.cloud.Calls() {
				if slices.Contains([]string{"CreateEgressOnlyInternetGateway", "ModifySubnetAttribute", "CreateRoute", "CreateTags"}, call.Action) {
					w.Errorf("%s: %s was called", name, call.Action)
				}
			}
			w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.Replace(clusterSpec, "{region", "{network: {vpc: {id: "+vpc+"}}, region", 1))
			if got := w.observe(); !got.Ready || strings.Contains(fmt.Sprint(got.Drift), "load balancers lead to servers by IPv6 (put it back") != (tc.family == "ipv6") {
				w.Errorf("%s: without it in Git: %s, %q", name, got.Message, got.Drift)
			}
			if tc.spec != "" {
				other, _, _ := w.cloud.AddVPC("10.8.0.0/16")
				before := w.rulesOf("apiserver-lb")
				w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.Replace(clusterSpec, "{region", "{network: {vpc: {id: "+other+tc.spec+"}}, region", 1))
				_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster) // the difference
				if after := w.rulesOf("apiserver-lb"); after != before {
					w.Errorf("%s: with another VPC in Git the rules are %s, and were %s", name, after, before)
				}
			}
			w.dismantle("cp-0")
		})
	}
	for spec, want := range map[string]string{", ipv6: {cidrBlock: '2001:db8:8::/56'}": "has 2001:db8:7:1200::/56 and not 2001:db8:8::/56 (leave it out)", ", ipv6: {}": "has no range of IPv6 (add one"} {
		inGivenSix(t, spec, nil, func(w *world, vpc string) {
			if strings.HasPrefix(want, "has no") {
				w.cloud.Edit(vpc, func(x *awstest.Thing) { delete(x.Attr, "six") })
			}
			if got := w.observe(); got.Ready || !strings.Contains(got.Message, want) {
				w.Errorf("ready %t, %q, want %q", got.Ready, got.Message, want)
			}
		})
	}
}

// TestMistakenGivenNetwork: the same in a given VPC, also if its IPv6 left Git with it.
func TestMistakenGivenNetwork(t *testing.T) {
	for name, vpc := range map[string]string{"another": "network: {vpc: {id: OTHER}}, ", "one that does not exist": "network: {vpc: {id: vpc-0123456789}}, ", "none": ""} {
		inGivenSix(t, ", ipv6: {}", nil, func(w *world, _ string) {
			w.settle()
			w.mustCreate("cp-0", w.cluster.ControlPlane, "")
			w.settle()
			other, _, _ := w.cloud.AddVPC("10.8.0.0/16")
			rules := func() string { return w.rulesOf("apiserver-lb") + w.rulesOf("node") + w.rulesOf("controlplane") }
			before := rules()
			w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.Replace(clusterSpec, "{", "{"+strings.Replace(vpc, "OTHER", other, 1), 1))
			for range 3 {
				_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
				time.Sleep(settle)
			}
			if after := rules(); after != before {
				w.Errorf("%s: the rules are\n%s, and were\n%s", name, after, before)
			}
			if got := w.observe(); !got.Ready || !strings.Contains(fmt.Sprint(got.Drift), "make another cluster") {
				w.Errorf("%s: ready %t, %s, %q", name, got.Ready, got.Message, got.Drift)
			}
			w.mustCreate("m-0", w.cluster.Workers[0], "")
		})
	}
}

// TestServersStayReached: a load balancer that leads by IPv6 reaches new servers, whatever Git says of the network by now.
func TestServersStayReached(t *testing.T) {
	for _, left := range []string{"{network: {vpc: {id: VPC}}, region", "{network: {vpc: {id: OTHER}}, region", "{region"} {
		inGivenSix(t, ", ipv6: {}", nil, func(w *world, vpc string) {
			w.settle()
			w.mustCreate("cp-0", w.cluster.ControlPlane, "")
			w.settle()
			other, _, _ := w.cloud.AddVPC("10.8.0.0/16")
			w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.Replace(clusterSpec, "{region", strings.NewReplacer("VPC", vpc, "OTHER", other).Replace(left), 1))
			time.Sleep(settle)
			w.mustCreate("cp-1", w.cluster.ControlPlane, "")
			for range 3 {
				_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
				time.Sleep(settle)
			}
			if g := w.cloud.Things(awstest.TargetGroups)[0]; len(g.Sets["targets"]) != 2 {
				w.Errorf("%s: the load balancer leads to %q", left, g.Sets["targets"])
			}
		})
	}
}

// TestServerInASubnetWithoutIPv6: no server is made where a load balancer that leads by IPv6 cannot reach it.
func TestServerInASubnetWithoutIPv6(t *testing.T) {
	for _, without := range [][]string{{"10.7.0.0/24", "10.7.1.0/24"}, {"10.7.0.0/24", "10.7.1.0/24", "10.7.2.0/24"}} {
		inGivenSix(t, ", ipv6: {}", without, func(w *world, vpc string) {
			w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.Replace(strings.Replace(clusterSpec, "{region", "{network: {vpc: {id: "+vpc+", ipv6: {}}}, region", 1), "loadBalancerType", "scheme: internal, loadBalancerType", 1))
			w.settle()
			public := w.cluster.ControlPlane
			public.Infrastructure = object(w, "AWSMachineTemplate", "nodes", strings.Replace(machineSpec, "{", "{publicIP: true, ", 1))
			worker := public
			worker.Role = fleet.RoleWorker
			w.mustCreate("m-0", worker, "eu-central-1a")
			if len(without) == 3 {
				wantKind(w, "a server in a public subnet", w.create("cp-0", public, "eu-central-1a"), fleet.Invalid, "needs an address of IPv6, and no subnet for it has one (add ranges")
				return
			}
			w.mustCreate("cp-0", public, "eu-central-1a")
			if i := w.instances()["cp-0"]; i.Attr["zone"] != "eu-central-1c" {
				w.Errorf("the server is in %s", i.Attr["zone"])
			}
		})
	}
}
