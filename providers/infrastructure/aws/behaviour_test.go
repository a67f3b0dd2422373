package aws_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/aws"
	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// A world is a cloud, and a provider that keeps one cluster in it.
type world struct {
	*testing.T
	cloud    *awstest.Cloud
	provider *aws.Provider
	cluster  fleet.Cluster
}

// inBubble runs f on a cloud in which everything takes its time.
func inBubble(t *testing.T, cluster, machine string, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := slowly()
		f(&world{T: t, cloud: c, provider: newProvider(c.Client()), cluster: newCluster(t, cluster, machine)})
	})
}

func (w *world) observe() fleet.Infrastructure {
	w.Helper()
	time.Sleep(2 * tick)
	got, err := w.provider.Observe(w.Context(), &w.cluster)
	if err != nil {
		w.Fatal(err)
	}
	return got
}

// settle does what a planner does for the infrastructure until all is in order.
func (w *world) settle() fleet.Infrastructure {
	w.Helper()
	var got fleet.Infrastructure
	var err error
	for range 60 {
		if got = w.observe(); got.Ready && len(got.Drift) == 0 {
			return got
		}
		err = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
	}
	w.Fatalf("not in order: %q, drift %q, %v", got.Message, got.Drift, err)
	return got
}

func (w *world) create(name fleet.MachineName, pool fleet.Pool, domain string) error {
	w.Helper()
	return w.provider.CreateMachine(w.Context(), fleet.OperationID("op-"+name), providers.MachineRequest{
		Cluster: &w.cluster, Pool: pool, Name: name, FailureDomain: domain,
		UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("#cloud-config\n{secret: key}\n"))},
	})
}

func (w *world) mustCreate(name fleet.MachineName, pool fleet.Pool, domain string) {
	w.Helper()
	if err := w.create(name, pool, domain); err != nil {
		w.Fatal(err)
	}
	time.Sleep(settle)
}

// instances returns those that live, by machine.
func (w *world) instances() map[string]awstest.Thing {
	out := make(map[string]awstest.Thing)
	for _, i := range w.cloud.Things(awstest.Instances) {
		if s := i.Attr["state"]; s == "pending" || s == "running" {
			out[i.Tags["fairlead.dev/machine"]] = i
		}
	}
	return out
}

func wantKind(t testing.TB, what string, err error, kind fleet.ErrorKind, words ...string) {
	t.Helper()
	if fleet.KindOf(err) != kind {
		t.Errorf("%s: %v of kind %s, want %s", what, err, fleet.KindOf(err), kind)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %q does not say %q", what, err, word)
		}
	}
}

// TestNextZone: where a zone has no capacity, the machine is in the next one; where none has, the error names those
// that were tried; and where a worker has a failure domain, it stays there. That of a server is Fairlead's choice.
func TestNextZone(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		w.cloud.Fill("eu-central-1a", "m6i.large")
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		if zone := w.instances()["m-0"].Attr["zone"]; zone != "eu-central-1b" {
			t.Errorf("m-0 is in %q", zone)
		}
		wantKind(t, "a failure domain without capacity", w.create("m-1", w.cluster.Workers[0], "eu-central-1a"), fleet.Exhausted, "tried eu-central-1a;")
		for name, zone := range map[fleet.MachineName]string{"cp-0": "eu-central-1c", "cp-1": "eu-central-1a"} {
			w.mustCreate(name, w.cluster.ControlPlane, zone)
		}
		for name, want := range map[string]string{"cp-0": "eu-central-1c", "cp-1": "eu-central-1b"} {
			if zone := w.instances()[name].Attr["zone"]; zone != want {
				t.Errorf("%s is in %q, want %q", name, zone, want)
			}
		}
		w.cloud.Fill("eu-central-1b", "")
		w.cloud.Fill("eu-central-1c", "")
		wantKind(t, "no capacity", w.create("m-1", w.cluster.Workers[0], ""), fleet.Exhausted, "eu-central-1a, eu-central-1c, eu-central-1b")
		if n := len(w.cloud.Things(awstest.StoredSecrets)); n != 3 {
			t.Errorf("%d secrets, want those of the three machines alone", n)
		}
	})
}

// TestNoZoneAfterSilence: after a request without an answer no other zone is asked, though that zone has no capacity
// any more: the machine may be there.
func TestNoZoneAfterSilence(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		end := w.cloud.Inject(awstest.Fault{Action: "RunInstances", Times: 1, Cut: awstest.After})
		wantKind(t, "a lost answer", w.create("m-0", w.cluster.Workers[0], ""), fleet.Unanswered)
		end()
		w.cloud.Fill("eu-central-1a", "")
		if err := w.create("m-0", w.cluster.Workers[0], ""); err != nil {
			t.Errorf("the same request again: %v", err)
		}
		time.Sleep(settle)
		n := 0
		for _, i := range w.cloud.Things(awstest.Instances) {
			if i.Tags["fairlead.dev/machine"] == "m-0" {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d instances of one machine", n)
		}
	})
}

// TestRareType: a machine is only where its type is offered.
func TestRareType(t *testing.T) {
	inBubble(t, clusterSpec, strings.Replace(machineSpec, "m6i.large", awstest.RareType, 1), func(w *world) {
		w.settle()
		wantKind(t, "a zone without the type", w.create("m-0", w.cluster.Workers[0], "eu-central-1b"), fleet.Invalid, "is offered in eu-central-1a")
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		if zone := w.instances()["m-0"].Attr["zone"]; zone != "eu-central-1a" {
			t.Errorf("m-0 is in %q", zone)
		}
	})
}

// TestInstance: what an instance is made with.
func TestInstance(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		i := w.instances()["m-0"]
		image, _ := w.cloud.Thing(i.Attr["imageId"])
		data, _ := base64.StdEncoding.DecodeString(i.Attr["userData"])
		got := []string{
			image.Attr["name"], i.Attr["keyName"], i.Attr["profile"], i.Attr["httpTokens"], i.Attr["hopLimit"], i.Attr["rootSize"], i.Tags["Name"],
			i.Tags["kubernetes.io/cluster/eu-1"], fmt.Sprint(len(i.Sets["groups"])), fmt.Sprint(strings.Contains(string(data), "secret: key")),
		}
		want := []string{"capa-ami-ubuntu-24.04-v1.34.1-1760000000", "ops", "nodes", "required", "2", "30", "m-0", "owned", "2", "false"}
		if !slices.Equal(got, want) {
			t.Errorf("instance is made with %q, want %q", got, want)
		}
		for _, k := range []awstest.Kind{awstest.Interfaces, awstest.Volumes} {
			if !slices.ContainsFunc(w.cloud.Things(k), func(p awstest.Thing) bool { return p.Tags["fairlead.dev/machine"] == "m-0" }) {
				t.Errorf("no %s has the tags of the machine", k)
			}
		}
	})
}

// TestUserDataGoes: what was stored for a machine is there when it boots, and not half an hour later.
func TestUserDataGoes(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		w.settle()
		if n := len(w.cloud.Things(awstest.StoredSecrets)); n != 1 {
			t.Fatalf("%d secrets", n)
		}
		time.Sleep(31 * time.Minute)
		if up := w.observe().Upkeep; len(up) != 1 || !strings.HasPrefix(up[0], "user data of m-0, which runs") {
			t.Errorf("upkeep is %q", up)
		}
		w.settle()
		if n := len(w.cloud.Things(awstest.StoredSecrets)); n != 0 {
			t.Errorf("%d secrets of a machine that runs", n)
		}
		if _, ok := w.instances()["m-0"]; !ok {
			t.Error("the machine went with them")
		}
	})
}

// TestGivenVPC: of a given VPC nothing is changed, machines are in its private subnets, and nothing is left.
func TestGivenVPC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := slowly()
		vpc, public, private := c.AddVPC("10.7.0.0/16")
		w := &world{T: t, cloud: c, provider: newProvider(c.Client()), cluster: newCluster(t, strings.Replace(clusterSpec, "{region", "{network: {vpc: {id: "+vpc+"}}, region", 1), machineSpec)}
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		if s := w.instances()["m-0"].Attr["subnetId"]; !slices.Contains(private, s) {
			t.Errorf("m-0 is in %s", s)
		}
		if b := c.Things(awstest.Balancers); len(b) != 1 || !slices.Equal(slices.Sorted(slices.Values(b[0].Sets["subnets"])), slices.Sorted(slices.Values(public))) {
			t.Errorf("load balancers %+v", b)
		}
		for _, call := range c.Calls() {
			for _, never := range []string{"CreateVpc", "CreateSubnet", "CreateRouteTable", "CreateInternetGateway", "CreateTags", "ModifyVpcAttribute"} {
				if call.Action == never {
					t.Errorf("%s was called", never)
				}
			}
		}
		w.dismantle("m-0")
		if left := c.Contents(); len(left) > 0 {
			t.Errorf("left over: %q", left)
		}
	})
}

// dismantle deletes machines and what they share, as a planner does.
func (w *world) dismantle(names ...fleet.MachineName) {
	w.Helper()
	w.cluster.Delete = true
	for _, name := range names {
		if err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, name, ""); err != nil {
			w.Fatal(err)
		}
	}
	time.Sleep(settle)
	var got fleet.Infrastructure
	var err error
	for range 60 {
		if got = w.observe(); !got.Exists {
			return
		}
		err = w.provider.DeleteInfrastructure(w.Context(), "op", &w.cluster)
	}
	w.Fatalf("it is still there: %q, %v", got.Message, err)
}

// TestEndpointIsNotReplaced: where the load balancer is gone and machines are there, no other is made: it would have
// another name.
func TestEndpointIsNotReplaced(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		was := w.settle().Endpoint
		w.mustCreate("cp-0", w.cluster.ControlPlane, "")
		w.settle()
		w.cluster.Residence = fleet.Residence{Provider: "aws", ControlPlane: fleet.InitializedOnce, Endpoint: was}
		w.cloud.Remove(w.cloud.Things(awstest.Balancers)[0].ID)
		time.Sleep(settle)
		wantKind(t, "EnsureInfrastructure", w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster), fleet.Conflict, was.Host)
		if n := len(w.cloud.Things(awstest.Balancers)); n != 0 {
			t.Errorf("%d load balancers", n)
		}
		if got := w.observe(); got.Ready || !strings.Contains(got.Message, "is gone") {
			t.Errorf("it is ready %t: %q", got.Ready, got.Message)
		}
	})
}

// TestKnownLoadBalancerStays: a load balancer that machines know goes on where Git disables it, and its security
// groups keep the rules that followed from its settings.
func TestKnownLoadBalancerStays(t *testing.T) {
	const spec = `{region: eu-central-1, controlPlaneLoadBalancer: {loadBalancerType: nlb, ingressRules: [{protocol: tcp, fromPort: 6443, toPort: 6443, cidrBlocks: [203.0.113.0/24], description: office}]}}`
	inBubble(t, spec, machineSpec, func(w *world) {
		w.settle()
		w.mustCreate("cp-0", w.cluster.ControlPlane, "")
		lives := fleet.Residence{Provider: w.cluster.Provider, ControlPlane: fleet.InitializedOnce, Endpoint: w.settle().Endpoint}
		rules := func() string {
			var out []string
			for _, g := range w.cloud.Things(awstest.Groups) {
				out = append(out, fmt.Sprintf("%s %q", g.ID, g.Sets["rules"]))
			}
			slices.Sort(out)
			return strings.Join(out, "\n")
		}
		before := rules()
		w.cluster = newCluster(t, `{region: eu-central-1, controlPlaneLoadBalancer: {loadBalancerType: disabled}, controlPlaneEndpoint: {host: api.example.com, port: 6443}}`, machineSpec)
		w.cluster = *w.cluster.WithResidence(lives)
		wantKind(w, "EnsureInfrastructure", w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster), fleet.Invalid, "loadBalancerType", "put it back")
		if got := w.observe(); !got.Ready || got.Endpoint != lives.Endpoint || !strings.Contains(strings.Join(got.Drift, "\n"), "put it back") {
			w.Errorf("%+v, want the cluster to go on at %v, and that to be told", got, lives.Endpoint)
		}
		if after := rules(); after != before {
			w.Errorf("rules of security groups:\n%s\nwant those of before:\n%s", after, before)
		}
	})
}

// TestLeftByServices: the load balancer and the security group that a controller made in the VPC of the cluster go
// with it, and what belongs to somebody else is told.
func TestLeftByServices(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		vpc := w.cloud.Things(awstest.VPCs)[0].ID
		w.cloud.AddServiceBalancer(vpc, "a1b2c3", map[string]string{"kubernetes.io/cluster/eu-1": "owned"})
		theirs := w.cloud.AddInterface(vpc, "aws-K8S-i-0abc")
		w.cluster.Delete = true
		for range 20 {
			time.Sleep(settle)
			if err := w.provider.DeleteInfrastructure(w.Context(), "op", &w.cluster); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.observe(); !got.Exists || !strings.Contains(got.Message, theirs+" (of the CNI of an instance, aws-K8S-i-0abc)") {
			t.Errorf("it exists %t: %q", got.Exists, got.Message)
		}
		w.cloud.Remove(theirs)
		w.dismantle()
		if left := w.cloud.Contents(); len(left) > 0 {
			t.Errorf("left over: %q", left)
		}
	})
}

// TestInstancesOfOthers: instances of somebody else in the VPC of a cluster that is deleted keep their way to the internet.
func TestInstancesOfOthers(t *testing.T) {
	inBubble(t, sixSpec, machineSpec, func(w *world) {
		w.settle()
		theirs := w.cloud.AddInterface(w.cloud.Things(awstest.VPCs)[0].ID, "of a bastion")
		w.cloud.Edit(theirs, func(i *awstest.Thing) { i.Attr["instanceId"] = "i-theirs" })
		w.cluster.Delete = true
		for range 10 {
			time.Sleep(settle)
			if err := w.provider.DeleteInfrastructure(w.Context(), "op", &w.cluster); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range w.cloud.Things(awstest.NATs) {
			if n.Attr["state"] != "available" {
				t.Errorf("NAT gateway %s is %s", n.ID, n.Attr["state"])
			}
		}
		if n := len(w.cloud.Things(awstest.Egresses)); n != 1 {
			t.Errorf("%d egress-only internet gateways", n)
		}
		if got := w.observe(); !strings.Contains(got.Message, theirs+" (of instance i-theirs)") {
			t.Errorf("told %q", got.Message)
		}
		w.cloud.Remove(theirs)
		w.dismantle()
		if left := w.cloud.Contents(); len(left) > 0 {
			t.Errorf("left over: %q", left)
		}
	})
}

// TestSpot: a spot instance that AWS reclaims is gone, and no failure.
func TestSpot(t *testing.T) {
	inBubble(t, clusterSpec, strings.Replace(machineSpec, "{", "{spotMarketOptions: {}, ", 1), func(w *world) {
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		i := w.instances()["m-0"]
		if i.Attr["instanceLifecycle"] != "spot" {
			t.Errorf("it is %q", i.Attr["instanceLifecycle"])
		}
		w.cloud.Reclaim(i.ID, "Server.SpotInstanceTermination: Spot instance termination")
		if got := w.observe(); len(got.Machines)+len(got.Failures) > 0 {
			t.Errorf("machines %+v, failures %+v", got.Machines, got.Failures)
		}
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		if n := w.instances()["m-0"]; n.ID == "" || n.ID == i.ID {
			t.Errorf("it was not replaced: %+v", n)
		}
	})
}

// TestDrift: a rule that people added and one that they removed are put right, and those of the group that
// controllers use are theirs.
func TestDrift(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		w.settle()
		for _, g := range w.cloud.Things(awstest.Groups) {
			w.cloud.Edit(g.ID, func(g *awstest.Thing) {
				g.Sets["rules"] = append(g.Sets["rules"][min(1, len(g.Sets["rules"])):], "tcp\x0022\x0022\x000.0.0.0/0\x00")
			})
		}
		drift := strings.Join(w.observe().Drift, "\n")
		for _, want := range []string{"revoke from security group node: tcp 22 from 0.0.0.0/0", "add to security group controlplane: tcp 6443 from sg-"} {
			if !strings.Contains(drift, want) {
				t.Errorf("drift\n%s\ndoes not say %q", drift, want)
			}
		}
		if strings.Contains(drift, "security group lb") {
			t.Errorf("drift\n%s\nis about rules of controllers", drift)
		}
		w.settle()
	})
}

// TestIdentities: a role that another assumes, an access key, and who lets in whom.
func TestIdentities(t *testing.T) {
	const role = `{allowedNamespaces: {}, roleARN: "arn:aws:iam::123456789012:role/%s", sourceIdentityRef: {kind: %s, name: %s}}`
	for name, tc := range map[string]struct {
		ref        string
		companions map[string][2]string // kind and spec, by name
		kind       fleet.ErrorKind
		words      string
	}{
		"own":        {ref: "{kind: AWSClusterControllerIdentity, name: default}"},
		"own closed": {"{kind: AWSClusterControllerIdentity, name: default}", map[string][2]string{"default": {"AWSClusterControllerIdentity", "{}"}}, fleet.Unauthorized, "does not let in the namespace prod"},
		"missing":    {"{kind: AWSClusterRoleIdentity, name: a}", nil, fleet.Unauthorized, "Git has no AWSClusterRoleIdentity a"},
		"role":       {ref: "{kind: AWSClusterRoleIdentity, name: a}", companions: map[string][2]string{"a": {"AWSClusterRoleIdentity", fmt.Sprintf(role, "a", "AWSClusterControllerIdentity", "default")}}},
		"chain": {ref: "{kind: AWSClusterRoleIdentity, name: a}", companions: map[string][2]string{
			"a": {"AWSClusterRoleIdentity", fmt.Sprintf(role, "a", "AWSClusterRoleIdentity", "b")}, "b": {"AWSClusterRoleIdentity", fmt.Sprintf(role, "b", "AWSClusterControllerIdentity", "default")},
		}},
		"circle": {"{kind: AWSClusterRoleIdentity, name: a}", map[string][2]string{
			"a": {"AWSClusterRoleIdentity", fmt.Sprintf(role, "a", "AWSClusterRoleIdentity", "b")}, "b": {"AWSClusterRoleIdentity", fmt.Sprintf(role, "b", "AWSClusterRoleIdentity", "a")},
		}, fleet.Invalid, "is assumed by itself"},
		"refused":   {"{kind: AWSClusterRoleIdentity, name: a}", map[string][2]string{"a": {"AWSClusterRoleIdentity", fmt.Sprintf(role, "nobody", "AWSClusterControllerIdentity", "default")}}, fleet.Unauthorized, "assume role"},
		"no Secret": {"{kind: AWSClusterStaticIdentity, name: k}", map[string][2]string{"k": {"AWSClusterStaticIdentity", "{allowedNamespaces: {}, secretRef: key}"}}, fleet.Unauthorized, "capa-system/key"},
		"key":       {ref: "{kind: AWSClusterStaticIdentity, name: k2}", companions: map[string][2]string{"k2": {"AWSClusterStaticIdentity", "{allowedNamespaces: {list: [prod]}, secretRef: key2}"}}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, strings.Replace(clusterSpec, "{region", "{identityRef: "+tc.ref+", region", 1), machineSpec, func(w *world) {
				for name, c := range tc.companions {
					o := fleet.Object{GVK: schema.GroupVersionKind{Kind: c[0]}, Name: name, Spec: []byte(c[1])} // its name is checked, too
					if c[0] != "AWSClusterControllerIdentity" {
						o = object(w.T, c[0], name, c[1])
					}
					if name == "k2" {
						o.Secrets = map[fleet.Key]fleet.SecretData{{Namespace: "capa-system", Name: "key2"}: {
							"AccessKeyID": fleet.NewSecret([]byte(awstest.AccessKey)), "SecretAccessKey": fleet.NewSecret([]byte(awstest.SecretKey)),
						}}
					}
					w.cluster.Companions = append(w.cluster.Companions, o)
				}
				_, err := w.provider.Observe(w.Context(), &w.cluster)
				if tc.kind == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				wantKind(t, "Observe", err, tc.kind, tc.words)
			})
		})
	}
}

// TestRightsAreTold: what a policy lacks is told by its name, without what only AWS can read.
func TestRightsAreTold(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.cloud.Deny("CreateSubnet", true)
		var err error
		for range 3 {
			err = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
			time.Sleep(settle)
		}
		wantKind(t, "EnsureInfrastructure", err, fleet.Unauthorized, "allow ec2:CreateSubnet in the policy")
		if strings.Contains(err.Error(), "x9Kq") {
			t.Errorf("the encoded message is told: %v", err)
		}
		w.cloud.Deny("CreateSubnet", false)
		w.settle()
	})
}

// TestCheck tells what clusters need.
func TestCheck(t *testing.T) {
	inBubble(t, clusterSpec, strings.Replace(machineSpec, "sshKeyName: ops", "sshKeyName: missing", 1), func(w *world) {
		got, err := w.provider.Check(w.Context(), []*fleet.Cluster{&w.cluster})
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, f := range got {
			said += fmt.Sprintln(f.What, f.Text, f.Err)
		}
		for _, want := range []string{"account account 123456789012 in eu-central-1", "instance type m6i.large in eu-central-1a, eu-central-1b, eu-central-1c", "image ami-", "cannot find key pair missing"} {
			if !strings.Contains(said, want) {
				t.Errorf("findings\n%s\ndo not say %q", said, want)
			}
		}
		for _, c := range w.cloud.Calls() {
			if c.Changes() {
				t.Errorf("%s changes something", c.Action)
			}
		}
	})
}

// TestBuckets: a fleet that starts meets the bucket of RunInstances without an error.
func TestBuckets(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		w.cloud.Limit("RunInstances", 5, 2)
		for n := range 30 {
			if err := w.create(fleet.MachineName(fmt.Sprintf("m-%02d", n)), w.cluster.Workers[0], ""); err != nil {
				t.Errorf("machine %d: %v", n, err)
			}
		}
		time.Sleep(settle)
		if n := len(w.instances()); n != 30 {
			t.Errorf("%d instances", n)
		}
	})
}

// TestFailedGateway: a NAT gateway that fails is told, and another takes its place.
func TestFailedGateway(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		for len(w.cloud.Things(awstest.NATs)) == 0 {
			if err := w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster); err != nil {
				w.Fatal(err)
			}
			time.Sleep(tick)
		}
		failed := w.cloud.Things(awstest.NATs)[0].ID
		w.cloud.Edit(failed, func(n *awstest.Thing) {
			n.Attr["state"], n.Attr["failureMessage"] = "failed", "Network has no Internet gateway attached"
		})
		if got := w.observe(); !strings.Contains(got.Message, failed+" failed: Network has no Internet gateway attached") {
			t.Errorf("it says %q", got.Message)
		}
		w.settle()
		if n, ok := w.cloud.Thing(failed); ok && n.Attr["state"] != "deleted" {
			t.Errorf("the one that failed is %s", n.Attr["state"])
		}
	})
}

// TestAnotherAccount: a cluster that was seen in an account is looked for in no other.
func TestAnotherAccount(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		place := w.settle().Places[0].Place
		w.cluster.Residence = fleet.Residence{Provider: "aws", Places: []fleet.Place{place}}
		w.settle()
		w.cluster.Residence.Places = []fleet.Place{{ID: "account 210987654321 in eu-central-1"}}
		_, err := w.provider.Observe(w.Context(), &w.cluster)
		wantKind(t, "Observe", err, fleet.Unauthorized, "it is in account 210987654321 in eu-central-1")
	})
}

// TestSameName: clusters of one name in two fleets and two namespaces share nothing.
func TestSameName(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		mine := len(w.cloud.Contents())
		for _, other := range []struct {
			fleet     fleet.ID
			namespace string
		}{{"fleet-b", "prod"}, {"fleet-a", "test"}} {
			o := *w
			o.cluster.Fleet, o.cluster.Key.Namespace = other.fleet, other.namespace
			o.settle()
			o.mustCreate("m-0", o.cluster.Workers[0], "")
			o.dismantle("m-0")
		}
		if got := w.settle(); !got.Ready || len(w.cloud.Contents()) != mine {
			t.Errorf("ready %t, %d things, want %d as before", got.Ready, len(w.cloud.Contents()), mine)
		}
	})
}

// TestSameZoneAgain: a machine whose request got no answer is asked for in that zone again, though another has fewer
// machines by then.
func TestSameZoneAgain(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		end := w.cloud.Inject(awstest.Fault{Action: "RunInstances", Times: 1, Cut: awstest.Before})
		wantKind(t, "a lost request", w.create("m-0", w.cluster.Workers[0], ""), fleet.Unanswered)
		end()
		w.mustCreate("m-1", w.cluster.Workers[0], "")
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		if zone := w.instances()["m-0"].Attr["zone"]; zone != "eu-central-1a" {
			t.Errorf("m-0 is in %q", zone)
		}
	})
}

// TestTokenOfTheDead: a token that answers with an instance that ended makes no machine: another is asked for.
func TestTokenOfTheDead(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		end := w.cloud.Inject(awstest.Fault{Action: "RunInstances", Times: 1, Cut: awstest.After})
		wantKind(t, "a lost answer", w.create("m-0", w.cluster.Workers[0], ""), fleet.Unanswered)
		end()
		w.cloud.Reclaim(w.instances()["m-0"].ID, "Server.InternalError: Internal error on launch")
		w.mustCreate("m-0", w.cluster.Workers[0], "") // what ended does not show yet
		if w.instances()["m-0"].ID == "" {
			t.Error("there is no machine")
		}
	})
}

// TestDamagedIsKept: what is not certain to be the machine is not terminated.
func TestDamagedIsKept(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		w.cloud.Edit(w.instances()["m-0"].ID, func(i *awstest.Thing) { delete(i.Tags, "fairlead.dev/role") })
		time.Sleep(settle)
		wantKind(t, "DeleteMachine", w.provider.DeleteMachine(w.Context(), "op", &w.cluster, "m-0", ""), fleet.Conflict, "fairlead.dev/role is missing")
		if w.instances()["m-0"].ID == "" {
			t.Error("it was terminated")
		}
	})
}

// TestNothingTwice: what was asked for and does not show yet is not asked for again.
func TestNothingTwice(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		for range 5 {
			if err := w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster); err != nil {
				t.Errorf("EnsureInfrastructure: %v", err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		for kind, most := range map[awstest.Kind]int{awstest.VPCs: 1, awstest.Gateways: 1, awstest.Addresses: 3, awstest.Balancers: 1} {
			if n := len(w.cloud.Things(kind)); n > most {
				t.Errorf("%d of %s", n, kind)
			}
		}
		w.settle()
	})
}

// TestServicesOfOthers: in a given VPC, load balancers of Services stay: they may be those of another cluster of the
// same name.
func TestServicesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := slowly()
		vpc, _, _ := c.AddVPC("10.7.0.0/16")
		w := &world{T: t, cloud: c, provider: newProvider(c.Client()), cluster: newCluster(t, strings.Replace(clusterSpec, "{region", "{network: {vpc: {id: "+vpc+"}}, region", 1), machineSpec)}
		w.settle()
		c.AddServiceBalancer(vpc, "theirs", map[string]string{"kubernetes.io/cluster/eu-1": "owned"})
		w.dismantle()
		if n := len(c.Things(awstest.ClassicOnes)); n != 1 {
			t.Errorf("%d load balancers of Services, want that of somebody else", n)
		}
	})
}

// TestNothingIsLeftOverOfDoubt: while it is not certain what a machine is, what is stored is not said to be left over.
func TestNothingIsLeftOverOfDoubt(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		w.cloud.Edit(w.instances()["m-0"].ID, func(i *awstest.Thing) { delete(i.Tags, "fairlead.dev/machine") })
		time.Sleep(2 * settle)
		if got := w.observe(); len(got.Upkeep) > 0 {
			t.Errorf("upkeep is %q", got.Upkeep)
		}
	})
}

// TestVPCStays: a cluster cannot move to another VPC, and people are told.
func TestVPCStays(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		vpc, _, _ := w.cloud.AddVPC("10.7.0.0/16")
		w.cluster.Infrastructure = object(w.T, "AWSCluster", "eu-1", strings.Replace(clusterSpec, "{region", "{network: {vpc: {id: "+vpc+"}}, region", 1))
		time.Sleep(settle)
		wantKind(t, "EnsureInfrastructure", w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster), fleet.Invalid, "cannot move to "+vpc)
		if got := w.observe(); !got.Ready || got.Endpoint.Host == "" {
			t.Errorf("it is ready %t at %v", got.Ready, got.Endpoint)
		}
	})
}

// TestZonesStay: once there are machines, a cluster keeps its zones and its public and private subnets, whatever Git
// says later, and machines can be made. The blocks of more zones would overlap with those that are there.
func TestZonesStay(t *testing.T) {
	two := strings.Replace(clusterSpec, "{region", "{network: {vpc: {availabilityZoneUsageLimit: 2}}, region", 1)
	for name, spec := range map[string]string{
		"more zones":   strings.Replace(two, "Limit: 2", "Limit: 3", 1),
		"fewer zones":  strings.Replace(two, "Limit: 2", "Limit: 1", 1),
		"public first": strings.Replace(two, "Limit: 2", "Limit: 2, subnetSchema: PreferPublic", 1),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, two, machineSpec, func(w *world) {
				w.settle()
				w.mustCreate("m-0", w.cluster.Workers[0], "")
				before := w.cloud.Contents()
				w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", spec)
				got := w.observe()
				if !got.Ready {
					w.Fatalf("not ready: %s", got.Message)
				}
				if told := strings.Contains(strings.Join(got.Drift, " "), "and stays so"); told != (name == "public first") {
					w.Errorf("drift %q", got.Drift)
				}
				_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
				if after := w.cloud.Contents(); !slices.Equal(before, after) {
					w.Errorf("what is there was %q and is %q", before, after)
				}
				w.mustCreate("m-1", w.cluster.Workers[0], "")
			})
		})
	}
}

// TestLeaveBoth: a server that was to go stays after all, while the other one goes: the endpoint leads to it again before.
func TestLeaveBoth(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		w.mustCreate("cp-0", w.cluster.ControlPlane, "")
		w.mustCreate("cp-1", w.cluster.ControlPlane, "")
		w.settle()
		id := func(name fleet.MachineName) fleet.ProviderID {
			got := w.observe()
			i := slices.IndexFunc(got.Machines, func(m fleet.Machine) bool { return m.Name == name })
			if i < 0 {
				w.Fatalf("machine %s is not there: %+v", name, got.Machines)
			}
			return got.Machines[i].ProviderID
		}
		first, second := id("cp-0"), id("cp-1")
		if err := w.provider.LeaveEndpoint(w.Context(), &w.cluster, "cp-0", first); err != nil {
			w.Fatal(err)
		}
		time.Sleep(settle)
		if err := w.provider.LeaveEndpoint(w.Context(), &w.cluster, "cp-1", second); err != nil {
			w.Fatal(err)
		}
		behind := fmt.Sprint(w.cloud.Things(awstest.TargetGroups))
		if instance := string(first[strings.LastIndexByte(string(first), '/')+1:]); !strings.Contains(behind, instance) {
			w.Errorf("both left, and the load balancer leads to %s", behind)
		}
	})
}

// TestRanges: a VPC gets its further ranges before its subnets, which may be in them, and later ones, too.
func TestRanges(t *testing.T) {
	const spec = `{region: eu-central-1, controlPlaneLoadBalancer: {loadBalancerType: nlb}, network: {vpc: {privateDnsHostnameTypeOnLaunch: resource-name, secondaryCidrBlocks: [{ipv4CidrBlock: 100.64.0.0/16}]}, subnets: [` +
		`{id: public, cidrBlock: 10.0.0.0/24, availabilityZone: eu-central-1a, isPublic: true}, {id: private, cidrBlock: 100.64.1.0/24, availabilityZone: eu-central-1a}]}}`
	inBubble(t, spec, strings.Replace(machineSpec, "{", "{cpuOptions: {nestedVirtualization: enabled}, ", 1), func(w *world) {
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		i := w.instances()["m-0"]
		subnet, _ := w.cloud.Thing(i.Attr["subnetId"])
		if subnet.Attr["cidrBlock"] != "100.64.1.0/24" || i.Attr["hostnameType"] != "resource-name" || i.Attr["nested"] != "enabled" {
			w.Errorf("the instance is %+v in %+v", i.Attr, subnet.Attr)
		}
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.Replace(spec, "100.64.0.0/16}", "100.64.0.0/16}, {ipv4CidrBlock: 100.65.0.0/16}", 1))
		if got := w.observe(); !got.Ready || !strings.Contains(strings.Join(got.Drift, "\n"), "add range 100.65.0.0/16 to vpc-") {
			w.Errorf("ready %t, drift %q", got.Ready, got.Drift)
		}
		w.settle()
		if v := w.cloud.Things(awstest.VPCs)[0]; !slices.Equal(v.Sets["ranges"], []string{"100.64.0.0/16", "100.65.0.0/16"}) {
			w.Errorf("ranges are %q", v.Sets["ranges"])
		}
		w.dismantle("m-0")
		if left := w.cloud.Contents(); len(left) > 0 {
			w.Errorf("left over: %q", left)
		}
	})
}

// TestFailedRange: a range that AWS could not add is told, and added again once people removed it.
func TestFailedRange(t *testing.T) {
	inBubble(t, strings.Replace(clusterSpec, "{region", "{network: {vpc: {secondaryCidrBlocks: [{ipv4CidrBlock: 100.64.0.0/16}]}}, region", 1), machineSpec, func(w *world) {
		end := w.cloud.Inject(awstest.Fault{Action: "AssociateVpcCidrBlock", Times: 1, Status: 400, Code: "x", Do: func(c awstest.Call) {
			w.cloud.Edit(c.Form["VpcId"][0], func(v *awstest.Thing) { v.Sets["otherRanges"] = []string{"100.64.0.0/16 failed"} })
		}})
		for range 20 {
			_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
			time.Sleep(settle)
		}
		end()
		if got := w.observe(); got.Ready || !strings.Contains(got.Message, "AWS could not: The CIDR is in use by a peering (remove the range") {
			w.Errorf("ready %t: %s", got.Ready, got.Message)
		}
		state := func(some ...string) {
			w.cloud.Edit(w.cloud.Things(awstest.VPCs)[0].ID, func(v *awstest.Thing) { v.Sets["otherRanges"] = some })
		}
		state("100.64.0.0/16 associating")
		w.cloud.Forget()
		_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
		if got := w.observe(); got.Ready || !strings.Contains(got.Message, "range 100.64.0.0/16 of vpc-00000000000000007 is associating") || w.asked("CreateSubnet")+w.asked("AssociateVpcCidrBlock") > 0 {
			w.Errorf("ready %t: %s", got.Ready, got.Message)
		}
		state("100.64.0.0/16 disassociated")
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		state("100.64.0.0/16 failed")
		if got := w.observe(); !got.Ready || len(got.Drift) > 0 { // an earlier try of a range that is there
			w.Errorf("ready %t, drift %q", got.Ready, got.Drift)
		}
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.Replace(clusterSpec, "{region", "{network: {vpc: {secondaryCidrBlocks: [{ipv4CidrBlock: 100.65.0.0/16}]}}, region", 1))
		w.cloud.Deny("AssociateVpcCidrBlock", true)
		_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
		if got := w.observe(); !got.Ready { // a later range is in the way of nothing
			w.Errorf("it is not ready: %s", got.Message)
		}
		w.mustCreate("m-1", w.cluster.Workers[0], "")
	})
}

// TestDefaultGroup: the default security group of a VPC that is made has no rules, if Git says so, also once people gave it
// some. That of a given VPC stays as it is.
func TestDefaultGroup(t *testing.T) {
	inBubble(t, strings.Replace(clusterSpec, "{region", "{network: {vpc: {emptyRoutesDefaultVPCSecurityGroup: true}}, region", 1), machineSpec, func(w *world) {
		other, _, _ := w.cloud.AddVPC("10.7.0.0/16")
		w.settle()
		w.mustCreate("m-0", w.cluster.Workers[0], "")
		mine := w.cloud.Things(awstest.VPCs)[0].ID
		for vpc, want := range map[string]int{mine: 0, other: 1} {
			if g := w.cloud.DefaultGroup(vpc); g.ID == "" || len(g.Sets["rules"]) != want || len(g.Sets["egress"]) != want {
				w.Errorf("the group of %s has %q", vpc, g.Sets)
			}
		}
		w.cloud.Edit(w.cloud.DefaultGroup(mine).ID, func(g *awstest.Thing) { g.Sets["rules"] = []string{"tcp\x0022\x0022\x000.0.0.0/0\x00"} })
		if got := w.observe(); !got.Ready || !slices.Equal(got.Drift, []string{"have the default security group of " + mine + " let in nothing"}) {
			w.Errorf("ready %t, drift %q", got.Ready, got.Drift)
		}
		w.settle()
		w.dismantle("m-0")
	})
}

// asked returns how often an action was asked for.
func (w *world) asked(action string) (n int) {
	for _, c := range w.cloud.Calls() {
		if c.Action == action {
			n++
		}
	}
	return n
}

// TestPools: addresses of NAT gateways are of the pool that Git names, and of Amazon if that has none and Git says so.
func TestPools(t *testing.T) {
	for name, tc := range map[string]struct{ pool, told, used string }{
		"pool":     {"publicIpv4Pool: ipv4pool-ec2-1", "", "ipv4pool-ec2-1"},
		"fallback": {"publicIpv4Pool: ipv4pool-ec2-empty, publicIpv4PoolFallbackOrder: amazon-pool", "", ""},
		"empty":    {"publicIpv4Pool: ipv4pool-ec2-empty", "InsufficientAddressCapacity", ""},
		"missing":  {"publicIpv4Pool: ipv4pool-ec2-missing, publicIpv4PoolFallbackOrder: amazon-pool", "name one that exists, in Git", ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, strings.Replace(clusterSpec, "{region", "{network: {vpc: {availabilityZoneUsageLimit: 1, elasticIpPool: {"+tc.pool+"}}}, region", 1), machineSpec, func(w *world) {
				var err error
				for range 20 {
					if err = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster); err != nil {
						break
					}
					time.Sleep(settle)
				}
				all := w.cloud.Things(awstest.Addresses)
				if tc.told != "" {
					if err == nil || !strings.Contains(err.Error(), tc.told) || len(all) > 0 {
						w.Errorf("%v with %d addresses, want %q", err, len(all), tc.told)
					}
					return
				}
				if err != nil || len(all) != 1 || all[0].Attr["pool"] != tc.used {
					w.Errorf("%v, addresses %+v", err, all)
				}
			})
		})
	}
}

// TestIPAM: a VPC has the range that a pool gives it, and its subnets are in there.
func TestIPAM(t *testing.T) {
	for name, tc := range map[string]struct{ pool, told string }{
		"by name": {"name: machines, netmaskLength: 20", ""},
		"by id":   {"id: ipam-pool-00000000000000007, netmaskLength: 20", ""},
		"two":     {"name: twice", "2 pools in eu-central-1 have that tag Name"},
		"missing": {"id: ipam-pool-0", "name one that exists, in Git"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, strings.Replace(clusterSpec, "{region", "{network: {vpc: {ipamPool: {"+tc.pool+"}}}, region", 1), machineSpec, func(w *world) {
				if id := w.cloud.AddPool("machines", "10.20.0.0"); id != "ipam-pool-00000000000000007" {
					w.Fatalf("the pool is %s", id)
				}
				w.cloud.AddPool("twice", "10.30.0.0")
				w.cloud.AddPool("twice", "10.40.0.0")
				if tc.told != "" {
					wantKind(w, "EnsureInfrastructure", w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster), fleet.Invalid, tc.told)
					return
				}
				w.settle()
				w.mustCreate("m-0", w.cluster.Workers[0], "")
				if v := w.cloud.Things(awstest.VPCs)[0]; v.Attr["cidrBlock"] != "10.20.0.0/20" {
					w.Errorf("the VPC has %s", v.Attr["cidrBlock"])
				}
				if got := w.observe(); !got.Ready || len(got.Drift) > 0 || len(got.FailureDomains) != 3 {
					w.Errorf("ready %t, drift %q, failure domains %v", got.Ready, got.Drift, got.FailureDomains)
				}
				w.dismantle("m-0")
			})
		})
	}
}
