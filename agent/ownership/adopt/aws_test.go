package adopt_test

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// An awsStack is a cluster that Cluster API and its provider for AWS run. The in-memory cloud runs what is in the instances.
type awsStack struct {
	*stack
	account *awstest.Cloud
	left    *awstest.LeftByCAPA
	url     string
}

func newAWSStack(t *testing.T, o awstest.CAPA) *awsStack {
	t.Helper()
	s := &awsStack{stack: &stack{world: newRunning(t), secrets: filepath.Join(t.TempDir(), "secrets")}, account: awstest.New(awstest.Options{})}
	server := httptest.NewServer(s.account)
	t.Cleanup(server.Close)
	s.url = server.URL
	t.Setenv("AWS_ACCESS_KEY_ID", awstest.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", awstest.SecretKey)
	o.Name, o.Servers, o.Workers = "eu-1", 1, 2
	s.left = s.account.AddCAPA(o)
	for _, id := range s.left.All { // an address that leads to the API server
		s.account.Edit(id, func(x *awstest.Thing) {
			if x.Kind == awstest.Balancers {
				x.Attr["dns"] = s.endpoint.Host
			}
		})
	}
	ids := map[fleet.PoolName][]string{"control-plane": s.left.Servers, "eu-1-md-0": s.left.Workers}
	for i := range s.machines {
		m := &s.machines[i]
		id := ids[m.Pool][0]
		ids[m.Pool] = ids[m.Pool][1:]
		m.ID, m.FailureDomain = fleet.ProviderID("aws:///"+s.left.Zones[id]+"/"+id), s.left.Zones[id]
		s.renameNode(string(m.Name), m.ID)
	}
	s.infra = "AWSMachine"
	six := ""
	if o.Six {
		six = "ipv6: {cidrBlock: '2a05:d014:7:1200::/56', poolId: Amazon, egressOnlyInternetGatewayId: eigw-1}, "
	}
	ports := ""
	if o.NodePorts != "" {
		ports = "nodePortIngressRuleCidrBlocks: [" + o.NodePorts + "]"
	}
	docs := strings.Split(strings.ReplaceAll(manifests, "DevCluster", "AWSCluster"), "\n---\n")
	for i, d := range docs {
		switch {
		case strings.Contains(d, "kind: AWSCluster\n"):
			docs[i] = fmt.Sprintf(awsCluster, six, s.left.VPC, strings.Join(s.left.Subnets, ", "), ports, s.left.Balancer)
		case strings.Contains(d, "kind: DevMachineTemplate\n"):
			docs[i] = awsMachineTemplate
		}
	}
	s.createAll(strings.ReplaceAll(strings.Join(docs, "\n---\n"), "DevMachineTemplate", "AWSMachineTemplate"))
	return s
}

// awsCluster is an AWSCluster as its controller leaves it.
const awsCluster = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSCluster
metadata: {name: eu-1}
spec:
  region: eu-central-1
  identityRef: {kind: AWSClusterControllerIdentity, name: default}
  network:
    vpc: {%sid: %s, cidrBlock: 10.0.0.0/16, internetGatewayId: igw-1, availabilityZoneUsageLimit: 3, tags: {Name: eu-1-vpc, sigs.k8s.io/cluster-api-provider-aws/cluster/eu-1: owned, sigs.k8s.io/cluster-api-provider-aws/role: common}}
    subnets: [%s]
    %s
  controlPlaneLoadBalancer: {loadBalancerType: nlb, scheme: internet-facing, name: %s}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterControllerIdentity
metadata: {name: default}
spec: {allowedNamespaces: {}}
`

const awsMachineTemplate = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachineTemplate
metadata: {name: eu-1}
spec: {template: {spec: {instanceType: m6i.large, iamInstanceProfile: nodes, sshKeyName: ops, rootVolume: {size: 30}}}}
`

// awsMachine creates the infrastructure of a Machine, which is ready.
func (u *upstream) awsMachine(of *unstructured.Unstructured, m providers.AdoptedMachine) {
	u.Helper()
	o := objects(u.T, awsMachineTemplate)[0]
	spec, _, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
	spec["providerID"], spec["instanceID"] = string(m.ID), string(m.ID)[strings.LastIndexByte(string(m.ID), '/')+1:]
	o.SetKind("AWSMachine")
	o.SetName(string(m.Name))
	o.SetNamespace(u.ns)
	o.SetFinalizers([]string{"awsmachine.infrastructure.cluster.x-k8s.io"})
	note(o, "cluster.x-k8s.io/cloned-from-name", u.cluster)
	o.Object["spec"] = spec
	o.Object["status"] = map[string]any{"ready": true, "instanceState": "running"}
	u.create(u.owned(o, of))
}

// contents returns all things in the account without the tags of Fairlead, and the ids of those that have some.
func (s *awsStack) contents() (things map[string]string, marked []string) {
	things = make(map[string]string)
	for _, line := range s.account.Contents() {
		_, id, _ := strings.Cut(line, " ")
		x, _ := s.account.Thing(id)
		n := len(x.Tags)
		maps.DeleteFunc(x.Tags, func(k, _ string) bool { return strings.HasPrefix(k, "fairlead.dev/") })
		delete(x.Sets, "balancers") // which a listing fills in
		delete(x.Attr, "key")       // of an instance that has asked for credentials
		if len(x.Tags) < n {
			marked = append(marked, id)
		}
		things[id] = fmt.Sprint(x.Tags, x.Attr, x.Sets)
	}
	return things, marked
}

// wantNoChange fails the test if something was called that changes the account.
func (s *awsStack) wantNoChange(what string) {
	s.Helper()
	if i := slices.IndexFunc(s.account.Calls(), awstest.Call.Changes); i >= 0 {
		s.Errorf("%s called %+v", what, s.account.Calls()[i])
	}
}

// adopts adopts the cluster with the program, plans, gives it back, adopts it again, and runs an agent. Things get tags, and nothing
// else changes. between is called while it is given back.
func (s *awsStack) adopts(between func(command func(...string) []string)) {
	s.Helper()
	s.serveGit()
	flags := []string{"--secrets", s.secrets, "--aws-endpoint", s.url, "--aws-tick", "50ms", "--aws-settle", "300ms"}
	before, _ := s.contents()
	command := func(more ...string) []string {
		return slices.Concat([]string{"adopt", "--kubeconfig", s.management.kube.Kubeconfig, "--into", s.folder, "-n", s.ns, "--source", s.source}, flags, more)
	}
	s.account.Forget()
	if out := s.fairlead(0, command("--dry-run")...); !strings.Contains(out, "1 of 1 cluster: ready to be adopted") {
		s.Fatalf("dry run: %s", out)
	}
	s.wantNoChange("the dry run")
	if out := s.fairlead(0, command()...); !strings.Contains(out, "1 of 1 cluster: adopted") || !s.paused() {
		s.Fatalf("paused there %t: %s", s.paused(), out)
	}
	after, marked := s.contents()
	if d := cmp.Diff(before, after); d != "" || len(marked) < 20 {
		s.Errorf("%d things are marked, and more changed: %s", len(marked), d)
	}
	for _, id := range s.left.All {
		if x, _ := s.account.Thing(id); x.Kind != awstest.Listeners && !slices.Contains(marked, id) {
			s.Errorf("%s has no tags of Fairlead: %v", id, x.Tags)
		}
	}
	s.account.Forget()
	s.fairlead(0, append([]string{"plan", s.folder}, flags...)...) // exit code 2 would say that there are changes
	s.wantNoChange("the plan")
	s.fairlead(0, command("--undo")...)
	between(command)
	after, marked = s.contents()
	if d := cmp.Diff(before, after); d != "" || len(marked) > 0 || s.paused() {
		s.Errorf("given back: marked %q, paused there %t, changed: %s", marked, s.paused(), d)
	}
	s.fairlead(0, command()...)
	s.push("adopted")
	s.account.Forget()
	s.agent(flags...)
}

// TestAWS adopts clusters on AWS.
func TestAWS(t *testing.T) {
	for name, o := range map[string]awstest.CAPA{"IPv4": {}, "both families": {Six: true, NodePorts: "192.0.2.0/24"}} {
		t.Run(name, func(t *testing.T) {
			s := newAWSStack(t, o)
			before, _ := s.contents()
			s.adopts(func(func(...string) []string) {})
			s.waitProvisioned(3)
			s.wantNoChange("the agent")
			if after, _ := s.contents(); cmp.Diff(before, after) != "" {
				t.Errorf("with an agent: %s", cmp.Diff(before, after))
			}
		})
	}
}
