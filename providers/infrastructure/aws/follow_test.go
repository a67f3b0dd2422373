package aws_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// TestLoadBalancerFollows: health checks, cross-zone balancing and client addresses follow Git and are put right, with a
// cluster that lives.
func TestLoadBalancerFollows(t *testing.T) {
	const after = "healthCheckProtocol: TCP, crossZoneLoadBalancing: true, healthCheck: {intervalSeconds: 20, timeoutSeconds: 7, thresholdCount: 2, unhealthyThresholdCount: 4}"
	for name, tc := range map[string]struct {
		before, after string
		kind          awstest.Kind
		want          map[string]string // attributes
		drift         map[string]string
	}{
		"network": {
			"loadBalancerType: nlb, healthCheckProtocol: HTTPS", "loadBalancerType: nlb, preserveClientIP: true, " + after, awstest.TargetGroups,
			map[string]string{
				"HealthCheckProtocol": "TCP", "HealthCheckIntervalSeconds": "20", "HealthCheckTimeoutSeconds": "7", "HealthyThresholdCount": "2", "UnhealthyThresholdCount": "4",
				"preserve_client_ip.enabled": "true", "target_health_state.unhealthy.connection_termination.enabled": "false",
			},
			map[string]string{"HealthCheckIntervalSeconds": "5", "preserve_client_ip.enabled": "false"},
		},
		"classic": {
			"healthCheckProtocol: HTTPS", after, awstest.ClassicOnes,
			map[string]string{"health": "TCP:6443", "Interval": "20", "Timeout": "7", "HealthyThreshold": "2", "UnhealthyThreshold": "4", "crossZone": "true"},
			map[string]string{"Interval": "5", "crossZone": "false"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, "{region: eu-central-1, controlPlaneLoadBalancer: {"+tc.before+"}}", machineSpec, func(w *world) {
				w.settle()
				w.mustCreate("cp-0", w.cluster.ControlPlane, "")
				w.settle()
				w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", "{region: eu-central-1, controlPlaneLoadBalancer: {"+tc.after+"}}")
				look := func(when string) {
					if got := w.settle(); !got.Ready {
						w.Errorf("%s: not ready: %s", when, got.Message)
					}
					for _, x := range w.cloud.Things(tc.kind) {
						for k, v := range tc.want {
							if x.Attr[k] != v {
								w.Errorf("%s: %s of %s is %q, want %q", when, k, x.ID, x.Attr[k], v)
							}
						}
					}
					for _, b := range w.cloud.Things(awstest.Balancers) {
						if b.Attr["load_balancing.cross_zone.enabled"] != "true" {
							w.Errorf("%s: it does not cross zones", when)
						}
					}
				}
				look("as Git says")
				for _, x := range w.cloud.Things(tc.kind) {
					w.cloud.Edit(x.ID, func(x *awstest.Thing) {
						for k, v := range tc.drift {
							x.Attr[k] = v
						}
					})
				}
				time.Sleep(11 * time.Minute)
				look("after people changed it")
			})
		})
	}
}

// TestIdleLooks: what a load balancer is like is remembered: a look costs no request for it.
func TestIdleLooks(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		w.observe()
		w.cloud.Forget()
		for range 10 {
			w.observe()
		}
		for _, c := range w.cloud.Calls() {
			if strings.HasSuffix(c.Action, "Attributes") {
				w.Errorf("%s was called", c.Action)
			}
		}
	})
}

// TestTagsFollow: additionalTags of the cluster are set on what is there. Those that Git does not have stay, and so do those
// of others, and what a template says of its machines.
func TestTagsFollow(t *testing.T) {
	for name, spec := range map[string]string{"network": clusterSpec, "classic": classicSpec} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, strings.Replace(spec, "{region", "{additionalTags: {team: a, cost: one}, region", 1), strings.Replace(machineSpec, "{", "{additionalTags: {cost: machine}, ", 1), func(w *world) {
				vpc, _, _ := w.cloud.AddVPC("10.7.0.0/16")
				w.settle()
				w.mustCreate("m-0", w.cluster.Workers[0], "")
				w.settle()
				for _, v := range w.cloud.Things(awstest.VPCs) {
					w.cloud.Edit(v.ID, func(v *awstest.Thing) { v.Tags["people"] = "yes" })
				}
				w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.Replace(spec, "{region", "{additionalTags: {team: b, cost: two, env: prod, Name: x, kubernetes.io/cluster/other: owned}, region", 1))
				if drift := fmt.Sprint(w.observe().Drift); !strings.Contains(drift, "set tags cost, env, team of ") {
					w.Errorf("drift is %s", drift)
				}
				w.settle()
				for _, k := range []awstest.Kind{
					awstest.VPCs, awstest.Subnets, awstest.Gateways, awstest.Addresses, awstest.NATs, awstest.RouteTables, awstest.Groups, awstest.Instances,
					awstest.Balancers, awstest.TargetGroups, awstest.ClassicOnes,
				} {
					for _, x := range w.cloud.Things(k) {
						if x.Tags["fairlead.dev/cluster"] == "" {
							continue
						}
						got := []string{x.Tags["team"], x.Tags["env"], x.Tags["cost"]}
						want := []string{"b", "prod", "two"}
						if k == awstest.Instances {
							want[2] = "machine"
						}
						if !slices.Equal(got, want) || x.Tags["Name"] == "x" || x.Tags["kubernetes.io/cluster/other"] != "" {
							w.Errorf("%s has %q, want %q", x.ID, x.Tags, want)
						}
					}
				}
				if v, _ := w.cloud.Thing(vpc); len(v.Tags) != 1 {
					w.Errorf("the VPC of others has %q", v.Tags)
				}
				w.cloud.Forget()
				w.settle()
				w.observe()
				for _, c := range w.cloud.Calls() {
					if c.Changes() {
						w.Errorf("nothing is left to do, and %s was called", c.Action)
					}
				}
			})
		})
	}
}

// TestSecondLoadBalancer: a second, internal load balancer leads to all servers, and goes once Git does not have it. The
// endpoint stays that of the first one.
func TestSecondLoadBalancer(t *testing.T) {
	const second = "secondaryControlPlaneLoadBalancer: {name: inside, healthCheckProtocol: TCP, additionalListeners: [{port: 8443}]}, "
	for name, spec := range map[string]string{"network": clusterSpec, "classic": classicSpec} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, strings.Replace(spec, "{", "{"+second, 1), machineSpec, func(w *world) {
				endpoint := w.settle().Endpoint
				w.mustCreate("cp-0", w.cluster.ControlPlane, "")
				w.mustCreate("cp-1", w.cluster.ControlPlane, "")
				w.settle()
				of := func(part string) (out []awstest.Thing) {
					for _, k := range []awstest.Kind{awstest.Balancers, awstest.TargetGroups} {
						for _, x := range w.cloud.Things(k) {
							if strings.HasPrefix(x.Tags["fairlead.dev/part"], part) {
								out = append(out, x)
							}
						}
					}
					return out
				}
				b := of("apiserver-secondary")
				if len(b) != 1 || b[0].Attr["name"] != "inside" || b[0].Attr["scheme"] != "internal" || strings.Contains(endpoint.Host, "inside") {
					w.Errorf("load balancers %+v, and the endpoint is %s", b, endpoint.Host)
				}
				groups := of("secondary-targets-")
				if len(groups) != 2 {
					w.Errorf("%d target groups, want those of two ports", len(groups))
				}
				for _, g := range groups {
					if len(g.Sets["targets"]) != 2 {
						w.Errorf("%s leads to %q", g.Attr["name"], g.Sets["targets"])
					}
				}
				id := w.instances()["cp-1"].ID
				for _, m := range w.observe().Machines {
					if m.Name == "cp-1" {
						if err := w.provider.LeaveEndpoint(w.Context(), &w.cluster, m.Name, m.ProviderID); err != nil {
							w.Fatal(err)
						}
					}
				}
				for _, g := range of("secondary-targets-") {
					if slices.Contains(g.Sets["targets"], id) {
						w.Errorf("%s leads to a server that left", g.Attr["name"])
					}
				}
				w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", spec)
				if got := w.settle(); got.Endpoint != endpoint {
					w.Errorf("the endpoint is %v", got.Endpoint)
				}
				if left := append(of("apiserver-secondary"), of("secondary-targets-")...); len(left) > 0 {
					w.Errorf("left over: %+v", left)
				}
			})
		})
	}
}

// TestSecondLoadBalancerOfOthers: a load balancer of that name without tags is not taken for the cluster's.
func TestSecondLoadBalancerOfOthers(t *testing.T) {
	inBubble(t, strings.Replace(clusterSpec, "{", "{secondaryControlPlaneLoadBalancer: {name: inside}, ", 1), machineSpec, func(w *world) {
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		for _, b := range w.cloud.Things(awstest.Balancers) {
			if b.Attr["name"] == "inside" {
				w.cloud.Edit(b.ID, func(b *awstest.Thing) { clear(b.Tags) })
			}
		}
		time.Sleep(settle)
		wantKind(w, "EnsureInfrastructure", w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster), fleet.Conflict, "without the tags of the cluster")
		if got := w.observe(); !got.Ready || !strings.Contains(strings.Join(got.Drift, "\n"), "without the tags of the cluster") {
			w.Errorf("ready %t, drift %q: want the cluster to go on", got.Ready, got.Drift)
		}
		if n := len(w.cloud.Things(awstest.Balancers)); n != 2 {
			w.Errorf("%d load balancers", n)
		}
	})
}

// TestSecondLoadBalancerLater: a second load balancer that Git has later, whatever becomes of it, is in the way of nothing.
func TestSecondLoadBalancerLater(t *testing.T) {
	const second = "secondaryControlPlaneLoadBalancer: {name: inside, preserveClientIP: true, additionalListeners: [{port: 8443}], ingressRules: [{protocol: tcp, fromPort: 6443, toPort: 6443, cidrBlocks: [198.51.100.0/24], description: office}]}, "
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		w.mustCreate("cp-0", w.cluster.ControlPlane, "")
		follow := func(spec string) { w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", spec) }
		goesOn := func(when, told string) {
			w.Helper()
			if got := w.observe(); !got.Ready || !strings.Contains(strings.Join(got.Drift, "\n"), told) {
				w.Errorf("%s: ready %t: %s, drift %q, want %q", when, got.Ready, got.Message, got.Drift, told)
			}
		}
		ensure := func() { _ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster) }
		follow(strings.Replace(clusterSpec, "{", "{"+second, 1))
		goesOn("before", "create load balancer inside")
		w.cloud.Forget()
		end := w.cloud.Inject(awstest.Fault{Action: "CreateLoadBalancer", Times: 1, Cut: awstest.Before})
		ensure()
		end()
		goesOn("without an answer", "")
		if ensure(); w.asked("CreateLoadBalancer") != 1 {
			w.Errorf("it was asked for %d times", w.asked("CreateLoadBalancer"))
		}
		time.Sleep(settle)
		end = w.cloud.Inject(awstest.Fault{Action: "CreateTargetGroup", Status: http.StatusServiceUnavailable, Code: "Throttling"})
		ensure()
		end()
		goesOn("without target groups", "create target group")
		end = w.cloud.Inject(awstest.Fault{Action: "CreateListener", Status: http.StatusServiceUnavailable, Code: "Throttling"})
		ensure()
		end()
		goesOn("without listeners", "listen on port 8443")
		w.settle()
		for role, want := range map[string][]string{
			"apiserver-lb": {"6443 198.51.100.0/24", "6443 10.0.0.0/16", "8443 10.0.0.0/16"}, "controlplane": {"6443 198.51.100.0/24", "8443 sg-"},
		} {
			for _, rule := range want {
				if got := w.letsIn(role); !slices.ContainsFunc(got, func(r string) bool { return strings.HasPrefix(r, rule) }) {
					w.Errorf("%s lets in %q, and not %q", role, got, rule)
				}
			}
		}
		of := func(k awstest.Kind, part string) string {
			all := w.cloud.Things(k)
			return all[slices.IndexFunc(all, func(x awstest.Thing) bool { return strings.HasPrefix(x.Tags["fairlead.dev/part"], part) })].ID
		}
		inside, targets := of(awstest.Balancers, "apiserver-secondary"), of(awstest.TargetGroups, "secondary-targets-")
		w.cloud.Edit(inside, func(b *awstest.Thing) { b.Attr["state"] = "failed" })
		goesOn("failed", "")
		follow(strings.Replace(clusterSpec, "{", "{"+strings.Replace(second, "inside", "another", 1), 1))
		goesOn("with another name", "load balancer inside cannot get the name another")
		follow(strings.Replace(clusterSpec, "{", "{"+second, 1))
		tags := make(map[string]string)
		w.cloud.Edit(targets, func(g *awstest.Thing) { maps.Copy(tags, g.Tags); clear(g.Tags) })
		goesOn("with a target group of others", "there is one of that name without the tags of the cluster")
		w.cloud.Edit(targets, func(g *awstest.Thing) { g.Tags = tags })
		follow(clusterSpec)
		time.Sleep(2 * tick)
		end = w.cloud.Inject(awstest.Fault{Action: "DeleteLoadBalancer", Status: http.StatusServiceUnavailable, Code: "Throttling"})
		if ensure(); w.asked("DeleteTargetGroup") > 0 {
			w.Error("target groups are deleted while the load balancer leads to them")
		}
		end()
		w.settle()
	})
}

// TestNoPublicSubnet: that a given VPC has no public subnet for the load balancer is told.
func TestNoPublicSubnet(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		vpc, _, private := w.cloud.AddVPC("10.7.0.0/16")
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.Replace(clusterSpec, "{region", "{network: {vpc: {id: "+vpc+"}, subnets: [{id: "+private[0]+"}]}, region", 1))
		if got := w.observe(); !strings.Contains(got.Message, "the VPC has no public subnet (set controlPlaneLoadBalancer.scheme: internal") {
			w.Errorf("it says %q", got.Message)
		}
	})
}

// TestListenerComesLast: clients are led to servers only once the attributes of what leads there are as Git says, also if
// they could not be set at first.
func TestListenerComesLast(t *testing.T) {
	for _, action := range []string{"", "ModifyLoadBalancerAttributes", "ModifyTargetGroupAttributes"} {
		inBubble(t, strings.Replace(clusterSpec, "nlb", "nlb, crossZoneLoadBalancing: true", 1), machineSpec, func(w *world) {
			n := 0
			w.cloud.Inject(awstest.Fault{Action: "CreateListener", Do: func(awstest.Call) {
				n++
				for _, g := range w.cloud.Things(awstest.TargetGroups) {
					if g.Attr["preserve_client_ip.enabled"] != "false" {
						w.Errorf("a listener is made, and %s has %q", g.Attr["name"], g.Attr["preserve_client_ip.enabled"])
					}
				}
				if b := w.cloud.Things(awstest.Balancers)[0]; b.Attr["load_balancing.cross_zone.enabled"] != "true" {
					w.Errorf("a listener is made before the load balancer is set up")
				}
			}})
			if action != "" {
				w.cloud.Inject(awstest.Fault{Action: action, Times: 1, Status: http.StatusServiceUnavailable, Code: "Throttling"})
			}
			if w.settle(); n == 0 {
				w.Error("no listener was made")
			}
		})
	}
}

// TestUnreadAttributes: an agent that may not read attributes goes on, and nothing of a cluster with machines differs: a policy
// of before these rights is good for it. `fairlead check` says what it lacks.
func TestUnreadAttributes(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.cloud.Deny("DescribeTargetGroupAttributes", true)
		for range 40 {
			if w.observe().Ready {
				break
			}
			_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
		}
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		for _, g := range w.cloud.Things(awstest.TargetGroups) {
			if g.Attr["preserve_client_ip.enabled"] != "false" {
				w.Errorf("%s was not set up", g.Attr["name"])
			}
		}
		time.Sleep(11 * time.Minute)
		got := w.observe()
		if !got.Ready || len(got.Drift) > 0 {
			w.Errorf("ready %t, drift %q", got.Ready, got.Drift)
		}
		found, err := w.provider.Check(w.Context(), []*fleet.Cluster{&w.cluster})
		if said := fmt.Sprint(found, err); !strings.Contains(said, "allow elasticloadbalancing:DescribeTargetGroupAttributes in the policy") {
			w.Errorf("check says %s", said)
		}
	})
}

// TestFilledInPath: a path that AWS fills in is no difference from Git.
func TestFilledInPath(t *testing.T) {
	inBubble(t, `{region: eu-central-1, controlPlaneLoadBalancer: {loadBalancerType: nlb, additionalListeners: [{port: 8443, healthCheck: {protocol: HTTP}}]}}`, machineSpec, func(w *world) {
		if got := w.settle(); len(got.Drift) > 0 {
			w.Errorf("drift is %q", got.Drift)
		}
	})
}

// TestTagsOfOneThing: a tag that Git gives to the VPC or to a subnet alone comes before that of the cluster.
func TestTagsOfOneThing(t *testing.T) {
	spec := `{additionalTags: {owner: team}, region: eu-central-1, network: {vpc: {tags: {owner: net}}, subnets: [` +
		`{id: public, cidrBlock: 10.0.0.0/24, availabilityZone: eu-central-1a, isPublic: true, tags: {owner: sub}}, {id: private, cidrBlock: 10.0.1.0/24, availabilityZone: eu-central-1a, tags: {owner: sub}}]}}`
	inBubble(t, spec, machineSpec, func(w *world) {
		w.settle()
		time.Sleep(settle)
		if got := w.observe(); len(got.Drift) > 0 {
			w.Errorf("drift: %q", got.Drift)
		}
		for k, want := range map[awstest.Kind]string{awstest.VPCs: "net", awstest.Subnets: "sub"} {
			for _, v := range w.cloud.Things(k) {
				if v.Tags["owner"] != want {
					w.Errorf("%s is of %q", v.ID, v.Tags["owner"])
				}
			}
		}
	})
}

// TestTagsOfWhatStays: copies of machines, and NAT gateways that go, get no tags.
func TestTagsOfWhatStays(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		copied := w.copies()
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		*copied = w.cloud.AddInstance("a-copy")
		was := w.instances()["m-0"]
		w.cloud.Edit(*copied, func(i *awstest.Thing) { i.Tags = maps.Clone(was.Tags) })
		nat := w.cloud.Things(awstest.NATs)[0].ID
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.Replace(clusterSpec, "{", "{additionalTags: {team: a}, ", 1))
		time.Sleep(2 * tick)
		w.cloud.Edit(nat, func(n *awstest.Thing) { n.Attr["state"], n.Gone = "deleting", time.Now() })
		w.cloud.Forget()
		if err := w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster); err != nil {
			w.Error(err)
		}
		for _, c := range w.cloud.Calls() {
			for _, ids := range c.Form {
				if c.Action == "CreateTags" && (slices.Contains(ids, nat) || slices.Contains(ids, *copied)) {
					w.Errorf("%v gets tags", ids)
				}
			}
		}
		if n := w.asked("CreateTags"); n != 1 {
			w.Errorf("tags were set %d times", n)
		}
	})
}

// TestDeniedSettings: settings that AWS denies, as with the policy of a former version, are told, asked for once in a while,
// and hold up nothing else.
func TestDeniedSettings(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		denied := []string{"CreateTags", "AddTags", "ModifyTargetGroup"}
		for _, action := range denied {
			w.cloud.Deny(action, true)
		}
		const after = `{additionalTags: {team: a}, region: eu-central-1, network: {nodePortIngressRuleCidrBlocks: [203.0.113.0/24]}, controlPlaneLoadBalancer: {loadBalancerType: nlb, healthCheckProtocol: TCP}}`
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", after)
		w.cloud.Forget()
		var got fleet.Infrastructure
		for range 60 {
			_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
			time.Sleep(20 * time.Second)
			got = w.observe()
		}
		asked := make(map[string]int)
		for _, c := range w.cloud.Calls() {
			asked[c.Action]++
		}
		for _, action := range denied { // in half an hour, of some things
			if n := asked[action]; n < 3 || n > 16 {
				w.Errorf("%s was asked for %d times", action, n)
			}
		}
		err := w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
		for _, right := range []string{"ec2:CreateTags", "elasticloadbalancing:AddTags", "elasticloadbalancing:ModifyTargetGroup"} {
			if told := "allow " + right + " in the policy"; !strings.Contains(strings.Join(got.Drift, "\n"), told) || !strings.Contains(fmt.Sprint(err), told) {
				w.Errorf("%q is not told: %q, %v", told, got.Drift, err)
			}
		}
		if rules := w.rulesOf("node"); !got.Ready || !strings.Contains(rules, "30000 32767 203.0.113.0/24") || strings.Contains(rules, "30000 32767 0.0.0.0/0") {
			w.Errorf("ready %t, and nodes let in\n%s", got.Ready, rules)
		}
		for _, action := range denied {
			w.cloud.Deny(action, false)
		}
		time.Sleep(10 * time.Minute)
		w.settle()
	})
}

// TestClientAddresses: servers let in clients before they see their addresses, and for as long as they do.
func TestClientAddresses(t *testing.T) {
	with := strings.Replace(clusterSpec, "nlb", "nlb, preserveClientIP: true", 1)
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		w.mustCreate("cp-0", w.cluster.ControlPlane, "")
		w.settle()
		letsIn := func() bool { return slices.Contains(w.letsIn("controlplane"), "6443 0.0.0.0/0") }
		seen := func() bool {
			return w.cloud.Things(awstest.TargetGroups)[0].Attr["preserve_client_ip.enabled"] == "true"
		}
		w.cloud.Inject(awstest.Fault{Action: "ModifyTargetGroupAttributes", Do: func(awstest.Call) {
			if !letsIn() {
				w.Error("addresses of clients are kept, or not, while servers do not let them in")
			}
		}})
		w.cloud.Inject(awstest.Fault{Action: "RevokeSecurityGroupIngress", Do: func(awstest.Call) {
			if seen() {
				w.Error("servers no longer let in clients whose addresses they see")
			}
		}})
		w.cloud.Inject(awstest.Fault{Action: "AuthorizeSecurityGroupIngress", Times: 1, Status: http.StatusServiceUnavailable, Code: "RequestLimitExceeded"})
		for i, spec := range []string{with, clusterSpec} {
			w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", spec)
			if w.settle(); letsIn() != (i == 0) || seen() != (i == 0) {
				w.Errorf("with %s servers let in clients: %t, and see their addresses: %t", spec, letsIn(), seen())
			}
		}
	})
}
