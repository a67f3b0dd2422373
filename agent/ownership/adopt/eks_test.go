package adopt_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/test/lab/doubles/aws/eks"
	"fairlead.dev/test/lab/kube"
)

// eksManifests are a cluster of EKS as the webhooks and controllers of Cluster API's provider leave it.
const eksManifests = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu-1}
spec:
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: AWSManagedControlPlane, name: eu-1-control-plane}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSManagedCluster, name: eu-1}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedCluster
metadata: {name: eu-1, finalizers: [awsmanagedcluster.infrastructure.cluster.x-k8s.io]}
spec: {}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterControllerIdentity
metadata: {name: default}
spec: {allowedNamespaces: {}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: AWSManagedControlPlane
metadata: {name: eu-1-control-plane, finalizers: [awsmanagedcontrolplane.controlplane.cluster.x-k8s.io]}
spec:
  region: eu-central-1
  version: v%s
  eksClusterName: %s
  identityRef: {kind: AWSClusterControllerIdentity, name: default}
  roleName: eks-controlplane.cluster-api-provider-aws.sigs.k8s.io
  bastion: {enabled: false, allowedCIDRBlocks: [0.0.0.0/0, "::/0"]}
  accessConfig: {authenticationMode: api_and_config_map}
  accessEntries: [{principalARN: "arn:aws:iam::123456789012:user/fairlead", accessPolicies: [{policyARN: "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy", accessScope: {type: cluster}}]}]
  endpointAccess: {public: true, private: false}
  controlPlaneEndpoint: {host: %s, port: 443}
  network:
    cni: {cniIngressRules: [{description: bgp (calico), protocol: tcp, fromPort: 179, toPort: 179}, {description: IP-in-IP (calico), protocol: "4", fromPort: -1, toPort: 65535}]}
    vpc: {id: %s, cidrBlock: 10.0.0.0/16, internetGatewayId: igw-1, availabilityZoneUsageLimit: 3, tags: {Name: eu-1-vpc, sigs.k8s.io/cluster-api-provider-aws/cluster/eu-1: owned, sigs.k8s.io/cluster-api-provider-aws/role: common}}
    subnets: [%s]
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: {name: eu-1-pool}
spec:
  clusterName: eu-1
  replicas: 2
  providerIDList: ["aws:///eu-central-1a/i-1", "aws:///eu-central-1b/i-2"]
  template:
    spec:
      clusterName: eu-1
      bootstrap: {dataSecretName: ""}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSManagedMachinePool, name: eu-1-pool}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedMachinePool
metadata: {name: eu-1-pool, finalizers: [awsmanagedmachinepools.infrastructure.cluster.x-k8s.io]}
spec:
  eksNodegroupName: %s
  roleName: eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io
  labels: {tier: web}
  scaling: {minSize: 1, maxSize: 3}
  updateConfig: {maxUnavailable: 1}
  providerIDList: ["aws:///eu-central-1a/i-1", "aws:///eu-central-1b/i-2"]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSFargateProfile
metadata: {name: batch}
spec: {clusterName: eu-1, profileName: batch, roleName: eks-fargate.cluster-api-provider-aws.sigs.k8s.io, selectors: [{namespace: batch}]}
`

// newEKSStack returns a cluster of EKS that Cluster API and its provider for AWS run, with an API server that is real, a node
// group of two machines and a Fargate profile.
func newEKSStack(t *testing.T) *awsStack {
	t.Helper()
	m := newManagement(t)
	w := &world{upstream: &upstream{management: m, cluster: "eu-1", infra: "AWSMachine"}, folder: filepath.Join(t.TempDir(), "fleet")}
	if err := os.Mkdir(w.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	planes, err := eks.New(func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	s := &awsStack{
		stack:   &stack{world: w, secrets: filepath.Join(t.TempDir(), "secrets")},
		account: awstest.New(awstest.Options{Planes: planes, Delays: awstest.Delays{Update: 100 * time.Millisecond}}),
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var kept sync.WaitGroup
	kept.Go(func() {
		if err := planes.Serve(ctx, s.account); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); kept.Wait() })
	server := httptest.NewServer(s.account)
	t.Cleanup(server.Close)
	s.url = server.URL
	t.Setenv("AWS_ACCESS_KEY_ID", awstest.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", awstest.SecretKey)

	minor := strings.Join(strings.Split(kube.Version(), ".")[:2], ".")
	name := m.ns + "_eu-1"
	s.left = s.account.AddCAPA(awstest.CAPA{Name: "eu-1", Managed: name, More: map[string]any{
		"version": minor, "accessConfig": map[string]any{"authenticationMode": "API_AND_CONFIG_MAP"},
	}})
	active := func(k awstest.Kind) {
		t.Helper()
		s.until(string(k)+" is active", func() bool {
			s.account.Contents() // lets time pass
			all := s.account.Things(k)
			return len(all) == 1 && all[0].Attr["status"] == "ACTIVE"
		})
	}
	active(awstest.ManagedClusters)
	var private []any
	for _, x := range s.account.Things(awstest.Subnets) {
		if x.Tags["sigs.k8s.io/cluster-api-provider-aws/role"] == "private" {
			private = append(private, x.ID)
		}
	}
	do := func(action string, body map[string]any) {
		t.Helper()
		body["clusterName"], body["tags"] = name, map[string]any{"kubernetes.io/cluster/" + name: "owned"}
		if err := s.account.Do(action, body); err != nil {
			t.Fatalf("%s: %v", action, err)
		}
	}
	const role = "arn:aws:iam::123456789012:role/"
	do("CreateAccessEntry", map[string]any{"principalArn": "arn:aws:iam::123456789012:user/fairlead"})
	do("AssociateAccessPolicy", map[string]any{
		"principalArn": "arn:aws:iam::123456789012:user/fairlead", "policyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy", "accessScope": map[string]any{"type": "cluster"},
	})
	do("CreateNodegroup", map[string]any{
		"nodegroupName": m.ns + "_eu-1-pool", "nodeRole": role + "eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io", "subnets": private, "labels": map[string]any{"tier": "web"},
		"amiType": "AL2_x86_64", "scalingConfig": map[string]any{"minSize": 1.0, "maxSize": 3.0, "desiredSize": 2.0}, "updateConfig": map[string]any{"maxUnavailable": 1.0},
	})
	active(awstest.Nodegroups)
	do("CreateFargateProfile", map[string]any{
		"fargateProfileName": "batch", "podExecutionRoleArn": role + "eks-fargate.cluster-api-provider-aws.sigs.k8s.io", "subnets": private, "selectors": []any{map[string]any{"namespace": "batch"}},
	})
	active(awstest.FargateProfiles)
	x := s.account.Things(awstest.ManagedClusters)[0]
	s.endpoint = fleet.Endpoint{Host: strings.TrimPrefix(x.Attr["endpoint"], "https://"), Port: 443}
	s.createAll(fmt.Sprintf(eksManifests, minor, name, s.endpoint.Host, s.left.VPC, strings.Join(s.left.Subnets, ", "), m.ns+"_eu-1-pool"))
	return s
}

// TestAdoptEKS adopts a cluster of EKS. Then Git scales its node group.
func TestAdoptEKS(t *testing.T) {
	s := newEKSStack(t)
	before, _ := s.contents()
	s.adopts(func(command func(...string) []string) {
		s.golden("testdata/eks.golden")
		s.differs(command)
	})
	nodes := func(want int) {
		t.Helper()
		var r fleet.Report
		defer func() {
			if t.Failed() {
				t.Logf("at last: %+v", r)
			}
		}()
		s.until(fmt.Sprintf("the pool has %d Nodes and nothing is to do", want), func() bool {
			r = s.report()
			return r.Phase == fleet.PhaseProvisioned && len(r.Pools) > 0 && r.Pools[len(r.Pools)-1].Ready == want && r.Pools[len(r.Pools)-1].Desired == want && len(r.Waiting) == 0 && r.Failure == ""
		})
	}
	nodes(2)
	s.wantNoChange("the agent")
	if after, _ := s.contents(); cmp.Diff(before, after) != "" {
		t.Errorf("with an agent: %s", cmp.Diff(before, after))
	}
	s.edits("eu-1-pool.yaml", "replicas: 2", "replicas: 3")
	nodes(3)
}

// differs checks that an adoption stops where AWS, or the folder of the cluster, says something else than the management cluster.
func (s *awsStack) differs(command func(...string) []string) {
	s.Helper()
	only := func(k awstest.Kind, change func(attr map[string]string)) {
		for _, x := range s.account.Things(k) {
			s.account.Edit(x.ID, func(x *awstest.Thing) { change(x.Attr) })
		}
	}
	says := func(out string, want ...string) {
		s.Helper()
		for _, text := range want {
			if !strings.Contains(out, text) {
				s.Errorf("%q is not said: %s", text, out)
			}
		}
	}
	only(awstest.ManagedClusters, func(attr map[string]string) {
		attr["logging"] = `{"clusterLogging":[{"types":["api"],"enabled":true}]}`
	})
	only(awstest.Nodegroups, func(attr map[string]string) { attr["labels"], attr["market"] = `{"tier":"db"}`, "SPOT" })
	says(s.fairlead(1, command()...), "the plan is not empty", "Fairlead would logging [api] → [] (--accept-drift lets it)",
		"Fairlead would change pool eu-1-pool: labels of its nodes differ (--accept-drift lets it)", "pool eu-1-pool cannot become what Git says: ")
	s.fairlead(0, command("--undo")...)
	only(awstest.Nodegroups, func(attr map[string]string) { attr["market"] = "ON_DEMAND" })
	says(s.fairlead(0, command("--accept-drift")...), "Fairlead will then logging [api] → []", "Fairlead will then change pool eu-1-pool: labels of its nodes differ")
	s.fairlead(0, command("--undo")...)
	only(awstest.ManagedClusters, func(attr map[string]string) { attr["logging"] = "{}" })
	only(awstest.Nodegroups, func(attr map[string]string) { attr["labels"] = `{"tier":"web"}` })

	folder := filepath.Join(s.folder, "clusters", s.ns, "eu-1")
	for file, edit := range map[string][2]string{"eu-1-pool.yaml": {"tier: web", "tier: db"}, "control-plane.yaml": {"region: eu-central-1", "region: eu-central-1\n  upgradePolicy: standard"}} {
		was, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			s.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, file), []byte(strings.Replace(string(was), edit[0], edit[1], 1)), 0o600); err != nil {
			s.Fatal(err)
		}
		part := map[string]string{"eu-1-pool.yaml": "pool eu-1-pool", "control-plane.yaml": "the control plane"}[file]
		says(s.fairlead(1, command("--dry-run")...), "says something else of "+part+" than the management cluster (make them equal, or remove the folder and run this again)")
		if err := os.WriteFile(filepath.Join(folder, file), was, 0o600); err != nil {
			s.Fatal(err)
		}
	}
}
