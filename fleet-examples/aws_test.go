package examples_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	example "fairlead.dev/fleet-examples/aws"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/managed/eks"
	"fairlead.dev/providers/infrastructure/aws"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/providers/infrastructure/aws/cloud"
	"fairlead.dev/test/run/exampletest"
)

// awsKinds are those of clusters on EC2 and of EKS.
func awsKinds() []fleet.Kind { return slices.Concat(api.Kinds(), api.ControlPlaneKinds(), eks.Kinds()) }

// managedText tells of a cluster of EKS.
func managedText(t *testing.T, c *fleet.Cluster) string {
	t.Helper()
	spec, err := api.ReadControlPlane(c)
	if err != nil {
		t.Fatal(err)
	}
	out := fmt.Sprintf("%s %s in %s of %s, %s\n", spec.EKSClusterName, c.Hosted.Version, spec.Network.VPC.ID, spec.Region, spec.RoleName)
	for _, p := range c.Workers {
		m, err := api.ReadMachine(p.Infrastructure)
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprintf("%s: %d %s, %s, %s\n", p.Name, p.Replicas, p.Version, m.InstanceType, m.IAMInstanceProfile)
	}
	for _, p := range c.KeptPools {
		group, err := api.ReadPool(p.Infrastructure)
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprintf("%s: %d %s, %s, %s\n", group.EKSNodegroupName, p.Count, p.Version, group.InstanceType, group.RoleName)
	}
	return out
}

// TestAWSClusters: the overlays decide zones, numbers, types and addons.
func TestAWSClusters(t *testing.T) {
	got := make(map[string]string)
	for _, c := range exampletest.Render(t, example.Files(), awsKinds()) {
		if api.IsManaged(&c) {
			got[c.Key.String()] = managedText(t, &c)
			continue
		}
		spec, err := api.ReadCluster(c.Infrastructure)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s in %d zones of %s, %s\n", spec.Network.VPC.CIDRBlock, *spec.Network.VPC.AvailabilityZoneUsageLimit, spec.Region, spec.ControlPlaneLoadBalancer.LoadBalancerType)
		for _, p := range c.Pools() {
			m, err := api.ReadMachine(p.Infrastructure)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s: %d %s, %s, %s\n", p.Name, p.Replicas, p.Version, m.InstanceType, m.IAMInstanceProfile)
		}
		for _, r := range c.Releases {
			fmt.Fprintln(&b, r.Chart.String(), "in", r.Namespace)
		}
		got[c.Key.String()] = b.String()
	}
	want := map[string]string{
		"dev/small": `10.0.0.0/16 in 1 zones of eu-central-1, nlb
small-cp: 1 v1.34.1, m6i.large, fairlead-control-plane
small-md-0: 1 v1.34.1, m6i.large, fairlead-nodes
`,
		"prod/eks": `prod_eks v1.34.0 in vpc-0123456789abcdef0 of eu-central-1, eks-control-plane
prod_eks-nodes: 2 v1.34.0, m6i.large, eks-nodes
`,
		"prod/eks-own": `prod_eks-own v1.34.0 in vpc-0123456789abcdef0 of eu-central-1, eks-control-plane
eks-own-md-0: 2 v1.34.1, m6i.large, eks-nodes
`,
		"prod/ha": `10.1.0.0/16 in 3 zones of eu-central-1, nlb
ha-cp: 3 v1.34.1, m6i.large, fairlead-control-plane
ha-md-0: 3 v1.34.1, m6i.large, fairlead-nodes
aws-cloud-controller-manager 0.0.11 in kube-system
aws-ebs-csi-driver 2.52.1 in kube-system
`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestAWSInfrastructure: an account with nothing but AWS's own quotas has room for both clusters. Each check is good, before and
// after, the infrastructure of both becomes ready, and a machine of each pool is made. EKS makes the others in a VPC
// that exists, and machines join.
func TestAWSInfrastructure(t *testing.T) {
	clusters := exampletest.Render(t, example.Files(), awsKinds())
	synctest.Test(t, func(t *testing.T) {
		double := awstest.New(awstest.Options{Delays: awstest.Delays{Lag: time.Second, Start: 5 * time.Second, NAT: 20 * time.Second, Balancer: 10 * time.Second, Cluster: time.Minute, Nodegroup: time.Minute}})
		double.AddParameter("/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id", "ami-00000000000000002")
		vpc, _, _ := double.AddVPC("10.7.0.0/16")
		for i := range clusters {
			if h := clusters[i].Hosted; h != nil {
				h.Object.Spec = bytes.Replace(h.Object.Spec, []byte("vpc-0123456789abcdef0"), []byte(vpc), 1)
			}
		}
		p := aws.New(aws.Options{Cloud: cloud.Options{Base: double.Client(), Own: credentials.NewStaticCredentialsProvider(awstest.AccessKey, awstest.SecretKey, "")}})
		defer p.Close()
		plane := aws.NewControlPlane(aws.Options{Cloud: cloud.Options{Base: double.Client(), Own: credentials.NewStaticCredentialsProvider(awstest.AccessKey, awstest.SecretKey, "")}})
		check := func() {
			var all []*fleet.Cluster
			for i := range clusters {
				all = append(all, &clusters[i])
			}
			found, err := p.Check(t.Context(), all)
			if err != nil {
				t.Error(err)
			}
			for _, f := range found {
				if f.Err != nil {
					t.Errorf("%s: %v", f.What, f.Err)
				}
			}
		}
		check()
		for i := range clusters {
			c := &clusters[i]
			if api.IsManaged(c) {
				manage(t, double, plane, p, c)
				continue
			}
			var got fleet.Infrastructure
			var err error
			for range 60 {
				time.Sleep(30 * time.Second)
				if got, err = p.Observe(t.Context(), c); err != nil || got.Ready {
					break
				}
				err = p.EnsureInfrastructure(t.Context(), "op", c)
			}
			if !got.Ready {
				t.Fatalf("%s is not ready: %q, %v", c.Key, got.Message, err)
			}
			for _, pool := range c.Pools() {
				name := fleet.MachineName(pool.Name + "-a")
				if err := p.CreateMachine(t.Context(), fleet.OperationID("op-"+name), providers.MachineRequest{Cluster: c, Pool: pool, Name: name, UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("#cloud-config\n"))}}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		check()
	})
}

// manage has EKS make the control plane and the node group of c, and its machines.
func manage(t *testing.T, double *awstest.Cloud, plane *aws.ControlPlane, p *aws.Provider, c *fleet.Cluster) {
	t.Helper()
	for range 60 {
		time.Sleep(30 * time.Second)
		seen, err := plane.Observe(t.Context(), c, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !seen.State.Ready || len(seen.State.Drift) > 0 {
			if err := plane.Ensure(t.Context(), "op", c); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := p.Observe(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Pools) < len(c.KeptPools) {
			if err := p.EnsurePool(t.Context(), "op-pool", c, c.KeptPools[0]); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if len(got.Machines) < len(c.Workers) {
			join(t, double, p, c, &seen)
			return
		}
		if len(c.KeptPools) > 0 && got.Pools[0].State == fleet.KeptActive && len(got.Pools[0].Machines) == 2 && len(got.Pools[0].Drift) == 0 {
			return
		}
	}
	t.Errorf("EKS did not make %s", c.Key)
}

// join makes a machine of the first pool of c, which joins.
func join(t *testing.T, double *awstest.Cloud, p *aws.Provider, c *fleet.Cluster, seen *providers.HostedObservation) {
	t.Helper()
	pool := c.Workers[0]
	data, err := eks.Distribution{}.UserData(providers.BootstrapInput{Cluster: c, Pool: pool, Machine: "own", Join: fleet.JoinWorker, Endpoint: seen.State.Endpoint, Secrets: seen.Secrets, NodeID: p.NodeID()})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CreateMachine(t.Context(), "op-own", providers.MachineRequest{Cluster: c.ServedAt(seen.State.Endpoint), Pool: pool, Name: "own", UserData: data, Endpoint: seen.State.Endpoint}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(30 * time.Second)
	for _, i := range double.Things(awstest.Instances) {
		if i.Tags[fleet.TagMachine] == "own" {
			if err := double.Joined(i.ID); err != nil {
				t.Error(err)
			}
			return
		}
	}
	t.Error("no machine was made")
}
