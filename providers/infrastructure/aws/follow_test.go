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
				w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.Replace(spec, "{region", "{additionalTags: {team: b, cost: two, env: prod, Name: x}, region", 1))
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
						if !slices.Equal(got, want) || x.Tags["Name"] == "x" {
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

// TestListenerComesLast: clients are led to servers only once the attributes of what leads there are as Git says.
func TestListenerComesLast(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		n := 0
		w.cloud.Inject(awstest.Fault{Action: "CreateListener", Do: func(awstest.Call) {
			n++
			for _, g := range w.cloud.Things(awstest.TargetGroups) {
				if g.Attr["preserve_client_ip.enabled"] != "false" {
					w.Errorf("a listener is made, and %s has %q", g.Attr["name"], g.Attr["preserve_client_ip.enabled"])
				}
			}
			if b := w.cloud.Things(awstest.Balancers)[0]; b.Attr["load_balancing.cross_zone.enabled"] != "false" {
				w.Errorf("a listener is made before the load balancer is set up")
			}
		}})
		w.settle()
		if n == 0 {
			w.Error("no listener was made")
		}
	})
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

// TestTagsOfOneThing: a tag that Git gives to the VPC alone comes before that of the cluster.
func TestTagsOfOneThing(t *testing.T) {
	spec := "{additionalTags: {owner: team}, network: {vpc: {tags: {owner: net}}}, region: eu-central-1}"
	inBubble(t, spec, machineSpec, func(w *world) {
		w.settle()
		time.Sleep(settle)
		if got := w.observe(); len(got.Drift) > 0 {
			w.Errorf("drift: %q", got.Drift)
		}
		for _, v := range w.cloud.Things(awstest.VPCs) {
			if v.Tags["owner"] != "net" {
				w.Errorf("the VPC is of %q", v.Tags["owner"])
			}
		}
	})
}
