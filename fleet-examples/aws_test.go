package examples_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	example "fairlead.dev/fleet-examples/aws"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/aws"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/providers/infrastructure/aws/cloud"
	"fairlead.dev/test/run/exampletest"
)

// TestAWSClusters: the overlays decide zones, numbers, types and addons.
func TestAWSClusters(t *testing.T) {
	got := make(map[string]string)
	for _, c := range exampletest.Render(t, example.Files(), api.Kinds()) {
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
// after, the infrastructure of both becomes ready, and a machine of each pool is made.
func TestAWSInfrastructure(t *testing.T) {
	clusters := exampletest.Render(t, example.Files(), api.Kinds())
	synctest.Test(t, func(t *testing.T) {
		double := awstest.New(awstest.Options{Delays: awstest.Delays{Lag: time.Second, Start: 5 * time.Second, NAT: 20 * time.Second, Balancer: 10 * time.Second}})
		p := aws.New(aws.Options{Cloud: cloud.Options{Base: double.Client(), Own: credentials.NewStaticCredentialsProvider(awstest.AccessKey, awstest.SecretKey, "")}})
		defer p.Close()
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
