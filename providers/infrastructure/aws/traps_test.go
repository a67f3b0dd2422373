package aws_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/aws"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// The specs of the other types of load balancers.
const (
	classicSpec  = `{region: eu-central-1}`
	disabledSpec = `{region: eu-central-1, controlPlaneLoadBalancer: {loadBalancerType: disabled}, controlPlaneEndpoint: {host: api.example.com, port: 6443}}`
)

// answering is a cloud whose answers get what the double leaves out.
type answering struct {
	http.RoundTripper
	more func(text string) string
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(strings.NewReader(a.more(string(data))))
	return resp, err
}

// answer has the cloud answer with more.
func (w *world) answer(more func(text string) string) {
	w.provider = aws.New(aws.Options{Cloud: cloud.Options{Tick: tick, Base: answering{w.cloud.Client(), more}, Own: own()}, Settle: settle})
}

// copies has the cloud tell with which tokens instances were asked for: all but the one that is returned by Fairlead.
func (w *world) copies() (copied *string) {
	copied = new("none")
	id := regexp.MustCompile(`<instanceId>i-[0-9a-f]+</instanceId>`)
	w.answer(func(text string) string {
		return id.ReplaceAllStringFunc(text, func(s string) string {
			if strings.Contains(s, *copied) {
				return s + "<clientToken>9f0e7a4e-1c5b-4b8f-9d39-0d3a7f0c1d2e</clientToken>"
			}
			return s + "<clientToken>" + strings.Repeat("0f", 32) + "</clientToken>"
		})
	})
	return copied
}

// serve creates a server that listens at a port; 0: it is not known where.
func (w *world) serve(name fleet.MachineName, port int32) error {
	err := w.provider.CreateMachine(w.Context(), fleet.OperationID("op-"+name), providers.MachineRequest{
		Cluster: &w.cluster, Pool: w.cluster.ControlPlane, Name: name, APIPort: port,
		UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("#cloud-config\n"))},
	})
	time.Sleep(settle)
	return err
}

// letsIn returns where the security group of a role lets in TCP, as "port source".
func (w *world) letsIn(role string) (out []string) {
	for _, g := range w.cloud.Things(awstest.Groups) {
		for _, r := range g.Sets["rules"] {
			if p := strings.Split(r, "\x00"); g.Tags["fairlead.dev/part"] == "group-"+role && p[0] == "tcp" && p[1] == p[2] {
				out = append(out, p[1]+" "+p[3])
			}
		}
	}
	return out
}

// TestPortOfServers: another port in Git changes nothing for servers that are there, also if they were made before their
// port was a tag. One that would listen where the load balancer does not lead is refused.
func TestPortOfServers(t *testing.T) {
	for name, spec := range map[string]string{"nlb": clusterSpec, "classic": classicSpec, "disabled": disabledSpec} {
		for _, tagged := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, tagged %t", name, tagged), func(t *testing.T) {
				inBubble(t, spec, machineSpec, func(w *world) {
					w.answer(func(text string) string {
						return strings.ReplaceAll(text, "<HealthCheck><Target>", "<ListenerDescriptions><member><Listener><InstancePort>6443</InstancePort></Listener></member></ListenerDescriptions><HealthCheck><Target>")
					})
					if tagged {
						w.provider = newProvider(w.cloud.Client())
					}
					w.settle()
					if err := w.serve("cp-0", map[bool]int32{true: 6443}[tagged]); err != nil {
						t.Fatal(err)
					}
					w.settle()
					before := w.letsIn("controlplane")
					w.cluster.ControlPlane.APIPort, w.cluster.ControlPlane.JoinedAPIPort = 7443, 7443
					if got := w.observe(); name != "disabled" && len(got.Drift) > 0 {
						t.Errorf("drift %q", got.Drift)
					}
					w.settle()
					after := w.letsIn("controlplane")
					if lost := slices.DeleteFunc(before, func(r string) bool { return slices.Contains(after, r) }); len(lost) > 0 {
						t.Errorf("servers are not let in at %q any more", lost)
					}
					err := w.serve("cp-1", 7443)
					if name != "disabled" {
						wantKind(t, "CreateMachine", err, fleet.Invalid, "set bindPort to 6443")
						return
					}
					if err != nil {
						t.Error(err)
					}
					w.cluster.ControlPlane.APIPort, w.cluster.ControlPlane.JoinedAPIPort = 8443, 8443
					w.settle()
					if after := fmt.Sprint(w.letsIn("controlplane")); !strings.Contains(after, "6443 ") || !strings.Contains(after, "7443 ") || !strings.Contains(after, "8443 ") {
						t.Errorf("servers are let in at %s", after)
					}
				})
			})
		}
	}
}

// TestPorts: the load balancer and the security groups let in the ports of the control plane beside that of the API
// server, from wherever that is let in from.
func TestPorts(t *testing.T) {
	for name, spec := range map[string]string{"nlb": strings.Replace(clusterSpec, "nlb", "nlb, preserveClientIP: true, ingressRules: [{protocol: tcp, fromPort: 6443, toPort: 6443, cidrBlocks: [203.0.113.0/24], description: office}]", 1), "classic": classicSpec} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, spec, machineSpec, func(w *world) {
				w.cluster.ControlPlane.Ports = []int32{9345}
				w.settle()
				if err := w.serve("cp-0", 6443); err != nil {
					t.Fatal(err)
				}
				w.settle()
				source := map[string]string{"nlb": "203.0.113.0/24", "classic": "0.0.0.0/0"}[name]
				if got := w.letsIn("apiserver-lb"); !slices.Contains(got, "9345 "+source) || name == "nlb" && slices.Contains(got, "9345 0.0.0.0/0") {
					t.Errorf("the load balancer lets in %q", got)
				}
				if got := fmt.Sprint(w.letsIn("controlplane")); strings.Count(got, "9345 sg-") != 3 || name == "nlb" && !strings.Contains(got, "9345 "+source) {
					t.Errorf("servers let in %s", got)
				}
				if name == "classic" {
					if !slices.ContainsFunc(w.cloud.Calls(), func(c awstest.Call) bool {
						return slices.Equal(c.Form["Listeners.member.2.InstancePort"], []string{"9345"})
					}) {
						t.Error("the load balancer does not listen at 9345")
					}
					return
				}
				i := slices.IndexFunc(w.cloud.Things(awstest.Listeners), func(l awstest.Thing) bool { return l.Attr["port"] == "9345" })
				if i < 0 {
					t.Fatal("the load balancer does not listen at 9345")
				}
				group, _ := w.cloud.Thing(w.cloud.Things(awstest.Listeners)[i].Attr["group"])
				if group.Attr["port"] != "9345" || !slices.Equal(group.Sets["targets"], []string{w.instances()["cp-0"].ID}) {
					t.Errorf("it leads to %+v", group)
				}
			})
		})
	}
}

// TestSharedListing: a listing that others have too stays as it was listed while its things are changed.
func TestSharedListing(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		w.mustCreate("cp-0", w.cluster.ControlPlane, "")
		w.settle()
		for _, r := range w.cloud.Things(awstest.RouteTables) {
			w.cloud.Edit(r.ID, func(r *awstest.Thing) { r.Sets["routes"] = []string{"0.0.0.0/0 igw-gone"} })
		}
		before := fmt.Sprint(w.observe().Drift)
		seen := 0
		w.cloud.Inject(awstest.Fault{Changes: true, Do: func(awstest.Call) {
			seen++
			got, err := w.provider.Observe(w.Context(), &w.cluster)
			if err != nil || fmt.Sprint(got.Drift) != before {
				t.Errorf("at change %d: %v, drift\n%s\nwant\n%s", seen, err, got.Drift, before)
			}
		}})
		if err := w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster); err != nil {
			t.Error(err)
		}
		if seen < 4 {
			t.Errorf("%d changes, want those of the tables", seen)
		}
	})
}

// TestCopies: what people copied with the tags of a part or of a machine is not taken for it, and stays.
func TestCopies(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		copied := w.copies()
		w.settle()
		w.mustCreate("cp-0", w.cluster.ControlPlane, "")
		w.settle()
		was := w.instances()["cp-0"]
		*copied = w.cloud.AddInstance("a-copy")
		w.cloud.Edit(*copied, func(i *awstest.Thing) {
			i.Tags = maps.Clone(was.Tags)
			i.Attr["subnetId"], i.Attr["vpcId"] = was.Attr["subnetId"], was.Attr["vpcId"]
		})
		time.Sleep(settle)
		if got := w.observe(); len(got.Drift) > 0 {
			t.Errorf("drift %q", got.Drift)
		}
		if behind := fmt.Sprint(w.cloud.Things(awstest.TargetGroups)); strings.Contains(behind, *copied) || !strings.Contains(behind, was.ID) {
			t.Errorf("the load balancer leads to %s", behind)
		}
		wantKind(t, "DeleteMachine", w.provider.DeleteMachine(w.Context(), "op", &w.cluster, "cp-0", fleet.ProviderID("aws:///eu-central-1a/"+*copied)), fleet.Conflict, "made by somebody else")
	})
}

// TestCopiedGroup: a security group that people copied with its tags is not used in its place, and stays. The deletion of
// the cluster says that it is in the way.
func TestCopiedGroup(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		var copies []string
		for _, g := range w.cloud.Things(awstest.Groups) {
			if tags := g.Tags; tags["fairlead.dev/part"] == "group-node" || tags["fairlead.dev/part"] == "group-controlplane" {
				name := g.ID[len(g.ID)-4:]
				w.cloud.AddServiceBalancer(g.Attr["vpcId"], name, tags)
				w.cloud.Remove("classic/" + name)
				w.cloud.Remove(g.ID)
			}
		}
		for _, g := range w.cloud.Things(awstest.Groups) {
			if strings.HasPrefix(g.Attr["groupName"], "k8s-elb-") {
				copies = append(copies, g.ID)
			}
		}
		for _, i := range w.cloud.Things(awstest.Interfaces) {
			if strings.HasPrefix(i.Attr["balancer"], "classic/") {
				w.cloud.Remove(i.ID)
			}
		}
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		for _, g := range w.instances()["m-0"].Sets["groups"] {
			if slices.Contains(copies, g) {
				t.Errorf("the machine is in group %s, a copy", g)
			}
		}
		w.cluster.Delete = true
		if err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, "m-0", ""); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			time.Sleep(settle)
			if err := w.provider.DeleteInfrastructure(w.Context(), "op", &w.cluster); err != nil {
				t.Error(err)
			}
		}
		got := w.observe()
		for _, id := range copies {
			if _, ok := w.cloud.Thing(id); !ok || !strings.Contains(got.Message, id) {
				t.Errorf("copy %s is there %t: %q", id, ok, got.Message)
			}
			w.cloud.Remove(id)
		}
		w.dismantle()
	})
}

// TestGroupOfAnotherVPC: a security group that people copied into another VPC is not used.
func TestGroupOfAnotherVPC(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		vpc, _, _ := w.cloud.AddVPC("10.7.0.0/16")
		for _, g := range w.cloud.Things(awstest.Groups) {
			if g.Tags["fairlead.dev/part"] == "group-node" {
				w.cloud.AddServiceBalancer(vpc, "a", g.Tags)
				w.cloud.Remove("classic/a")
				w.cloud.Remove(g.ID)
				for _, c := range w.cloud.Things(awstest.Groups) {
					if c.Attr["groupName"] == "k8s-elb-a" {
						w.cloud.Edit(c.ID, func(c *awstest.Thing) { c.Attr["groupName"] = g.Attr["groupName"] })
					}
				}
			}
		}
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		for _, id := range w.instances()["m-0"].Sets["groups"] {
			if g, _ := w.cloud.Thing(id); g.Attr["vpcId"] == vpc {
				t.Errorf("the machine is in group %s of %s", id, vpc)
			}
		}
	})
}

// TestTagsOfTargets: a target group that lost its tags is told, and nothing answers in its place.
func TestTagsOfTargets(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		id := w.cloud.Things(awstest.TargetGroups)[0].ID
		w.cloud.Edit(id, func(g *awstest.Thing) { clear(g.Tags) })
		time.Sleep(settle)
		wantKind(t, "EnsureInfrastructure", w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster), fleet.Conflict, "put its tags right")
		if got := w.observe(); got.Ready {
			t.Error("it is ready")
		}
	})
}

// TestCopyElsewhere: an instance that was restored in another VPC does not move the cluster.
func TestCopyElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := slowly()
		vpc, _, private := c.AddVPC("10.7.0.0/16")
		w := &world{T: t, cloud: c, cluster: newCluster(t, strings.Replace(clusterSpec, "{region", "{network: {vpc: {id: "+vpc+"}}, region", 1), machineSpec)}
		w.copies()
		w.settle()
		w.mustCreate("cp-0", w.cluster.ControlPlane, "")
		w.settle()
		was := w.instances()["cp-0"]
		copied := "i-00000000000000000" // listed first
		w.answer(func(text string) string {
			return strings.Replace(text, "<reservationSet>", "<reservationSet><item><instancesSet><item><instanceId>"+copied+"</instanceId><clientToken>restored</clientToken><vpcId>vpc-theirs</vpcId><subnetId>"+private[0]+"</subnetId><instanceState><name>running</name></instanceState><tagSet><item><key>fairlead.dev/fleet</key><value>fleet-a</value></item><item><key>fairlead.dev/cluster</key><value>prod/eu-1</value></item><item><key>fairlead.dev/machine</key><value>cp-0</value></item></tagSet></item></instancesSet></item>", 1)
		})
		if got := w.observe(); !got.Ready || len(got.Machines) != 2 {
			t.Errorf("beside a copy of %s it is ready %t: %s, machines %+v", was.ID, got.Ready, got.Message, got.Machines)
		}
		if err := w.create("m-0", w.cluster.Workers[0], ""); err != nil {
			t.Error(err)
		}
	})
}

// TestRoutesOfPeople: people may lead subnets out through a transit gateway. It stays, and keeps no machine from being made.
// Once that is gone, the way out is that of the cluster again.
func TestRoutesOfPeople(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		state := "active"
		w.answer(func(text string) string {
			return strings.ReplaceAll(text, "<gatewayId>tgw-theirs</gatewayId><state>active", "<transitGatewayId>tgw-theirs</transitGatewayId><state>"+state)
		})
		w.settle()
		var table string
		for _, r := range w.cloud.Things(awstest.RouteTables) {
			if r.Tags["fairlead.dev/part"] == "private-routes-eu-central-1a" {
				table = r.ID
				w.cloud.Edit(r.ID, func(r *awstest.Thing) { r.Sets["routes"] = []string{"0.0.0.0/0 tgw-theirs"} })
			}
		}
		time.Sleep(settle)
		if got := w.settle(); !got.Ready {
			t.Errorf("it is not ready: %s", got.Message)
		}
		if r, _ := w.cloud.Thing(table); !slices.Equal(r.Sets["routes"], []string{"0.0.0.0/0 tgw-theirs"}) {
			t.Errorf("routes %q", r.Sets["routes"])
		}
		state = "blackhole"
		w.settle()
		if r, _ := w.cloud.Thing(table); !strings.HasPrefix(fmt.Sprint(r.Sets["routes"]), "[0.0.0.0/0 nat-") {
			t.Errorf("routes %q", r.Sets["routes"])
		}
	})
}

// TestTerminationProtection: an instance that people protect stays, and the error says what protects it.
func TestTerminationProtection(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		w.cloud.Inject(awstest.Fault{Action: "TerminateInstances", Status: 400, Code: "OperationNotPermitted", Message: "The instance may not be terminated. Modify its 'disableApiTermination' instance attribute and try again."})
		wantKind(t, "DeleteMachine", w.provider.DeleteMachine(w.Context(), "op", &w.cluster, "m-0", ""), fleet.Conflict, "disableApiTermination")
	})
}

// TestTagsOfBalancer: a load balancer that lost its tags is told, and is not taken for gone.
func TestTagsOfBalancer(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		at := w.settle().Endpoint
		w.mustCreate("cp-0", w.cluster.ControlPlane, "")
		w.cluster.Residence = fleet.Residence{Provider: "aws", ControlPlane: fleet.InitializedOnce, Endpoint: at}
		w.cloud.Edit(w.cloud.Things(awstest.Balancers)[0].ID, func(b *awstest.Thing) { clear(b.Tags) })
		time.Sleep(2 * settle)
		wantKind(t, "EnsureInfrastructure", w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster), fleet.Conflict, "put its tags right")
	})
}

// TestFullLater: a zone in which an instance ended for lack of room is asked after the others, and later as before.
func TestFullLater(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		w.cloud.FailInstances("Server.InsufficientInstanceCapacity: There was insufficient capacity")
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		w.cloud.FailInstances("")
		w.mustCreate("m-1", w.cluster.Workers[0], "")
		if zone := w.instances()["m-1"].Attr["zone"]; zone == "eu-central-1a" {
			t.Errorf("m-1 is in %s, which had no room for m-0", zone)
		}
		time.Sleep(10 * time.Minute)
		w.mustCreate("m-2", w.cluster.Workers[0], "")
		if zone := w.instances()["m-2"].Attr["zone"]; zone != "eu-central-1a" {
			t.Errorf("m-2 is in %s", zone)
		}
	})
}

// TestWaitingDeletion: a deletion says what of others it waits for.
func TestWaitingDeletion(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		first := w.cluster
		w.cluster.Key.Name = "eu-2"
		w.settle()
		of := func(k awstest.Kind, key fleet.Key) (out []awstest.Thing) {
			return slices.DeleteFunc(w.cloud.Things(k), func(x awstest.Thing) bool { return x.Tags["fairlead.dev/cluster"] != key.String() })
		}
		theirs := of(awstest.Balancers, w.cluster.Key)[0]
		w.cluster = first
		listener := of(awstest.Listeners, first.Key)[0]
		w.cloud.Edit(listener.ID, func(l *awstest.Thing) { l.Attr["balancer"] = theirs.ID })
		address := of(awstest.Addresses, first.Key)[0]
		vpc := of(awstest.VPCs, first.Key)[0].ID
		busy := w.cloud.AddInterface(vpc, "theirs")
		w.cloud.Edit(busy, func(i *awstest.Thing) { i.Attr["subnetId"] = "subnet-theirs" })
		end := w.cloud.Inject(awstest.Fault{Action: "ReleaseAddress", Do: func(awstest.Call) {
			w.cloud.Edit(address.ID, func(a *awstest.Thing) { a.Attr["natGateway"] = "theirs" })
		}})
		w.cluster.Delete = true
		for range 20 {
			time.Sleep(settle)
			_ = w.provider.DeleteInfrastructure(w.Context(), "op", &w.cluster) // the message tells
		}
		got := w.observe()
		for _, want := range []string{"is used by load balancer " + theirs.Attr["name"], "is still in use (disassociate it)", busy + " (theirs)"} {
			if !strings.Contains(got.Message, want) {
				t.Errorf("the message does not say %q: %q", want, got.Message)
			}
		}
		end()
		w.cloud.Edit(address.ID, func(a *awstest.Thing) { delete(a.Attr, "natGateway") })
		w.cloud.Remove(listener.ID)
		w.cloud.Remove(busy)
		w.dismantle()
	})
}
