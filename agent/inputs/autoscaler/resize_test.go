package autoscaler_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/agent/inputs/autoscaler/externalgrpc"
	"fairlead.dev/fleet"
)

// TestResize takes decisions, and refuses those that make no sense.
func TestResize(t *testing.T) {
	f := prod()
	c := serve(t, f)(nil, "fairlead://prod/eu-1")
	more := func(n int32) error {
		_, err := c.NodeGroupIncreaseSize(t.Context(), &externalgrpc.NodeGroupIncreaseSizeRequest{Id: "md-0", Delta: n})
		return err
	}
	fewer := func(n int32) error {
		_, err := c.NodeGroupDecreaseTargetSize(t.Context(), &externalgrpc.NodeGroupDecreaseTargetSizeRequest{Id: "md-0", Delta: n})
		return err
	}
	drop := func(ids ...string) error {
		in := &externalgrpc.NodeGroupDeleteNodesRequest{Id: "md-0"}
		for _, id := range ids {
			in.Nodes = append(in.Nodes, &externalgrpc.ExternalGrpcNode{Name: id, ProviderID: id})
		}
		_, err := c.NodeGroupDeleteNodes(t.Context(), in)
		return err
	}
	size := func() int {
		got, err := c.NodeGroupTargetSize(t.Context(), &externalgrpc.NodeGroupTargetSizeRequest{Id: "md-0"})
		if err != nil {
			t.Error(err)
		}
		return int(got.GetTargetSize())
	}
	wrote := func(n int, reason string, remove ...fleet.ProviderID) {
		t.Helper()
		want := fleet.Scale{Cluster: fleet.Key{Namespace: "prod", Name: "eu-1"}, Pool: "md-0", Replicas: n, Remove: remove, Reason: reason}
		if len(f.wrote) == 0 {
			t.Fatal("nothing was written")
		}
		if diff := cmp.Diff(want, f.wrote[len(f.wrote)-1]); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if size() != n {
			t.Errorf("the size is %d, want %d", size(), n)
		}
	}
	if err := more(2); err != nil {
		t.Fatal(err)
	}
	wrote(6, "cluster-autoscaler asked for 6 instead of 4")
	fails(t, "too many", more(1), codes.InvalidArgument, "at most 6 are allowed")
	fails(t, "none more", more(0), codes.InvalidArgument, "above 0")

	if err := fewer(-1); err != nil {
		t.Fatal(err)
	}
	wrote(5, "cluster-autoscaler reduced the expected size from 6 to 5")
	fails(t, "machines that are there", fewer(-2), codes.InvalidArgument, "has 4 machines: to have 3, name those to delete")
	fails(t, "none less", fewer(1), codes.InvalidArgument, "below 0")

	if err := drop("openstack://region/m3", "openstack:///m4", "openstack:///m4"); err != nil {
		t.Fatal(err)
	}
	wrote(3, "cluster-autoscaler removes 2 of 5", "openstack:///m3", "openstack:///m4")
	for _, again := range []string{"openstack://region/m3", "openstack:///m5"} { // asked for before, and leaving anyway
		if err := drop(again); err != nil {
			t.Fatal(err)
		}
		wrote(3, "cluster-autoscaler removes 2 of 5", "openstack:///m3", "openstack:///m4")
	}
	fails(t, "a node of another pool", drop("openstack:///o1"), codes.InvalidArgument, "is on no machine of pool md-0")
	fails(t, "too few", drop("openstack:///m1", "openstack:///m2"), codes.InvalidArgument, "at least 2 are needed")

	if err := more(1); err != nil {
		t.Fatal(err)
	}
	wrote(4, "cluster-autoscaler asked for 4 instead of 3", "openstack:///m3", "openstack:///m4")
	f.c.Machines = f.c.Machines[:3]
	if err := more(1); err != nil {
		t.Fatal(err)
	}
	wrote(5, "cluster-autoscaler asked for 5 instead of 4", "openstack:///m3") // m4 is gone

	paused := *f.c.Cluster
	paused.Suspension = &fleet.Suspension{Reason: "moving"}
	f.c.Cluster = &paused
	fails(t, "suspended", more(1), codes.FailedPrecondition, "the cluster is suspended: moving")
}

// TestTemplate says what a new node is like, for a pool that has none.
func TestTemplate(t *testing.T) {
	f := prod()
	c := serve(t, f)(nil, "fairlead://prod/eu-1")
	in := &externalgrpc.NodeGroupTemplateNodeInfoRequest{Id: "md-0"}
	got, err := c.NodeGroupTemplateNodeInfo(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"older": got.NodeInfo, "newer": got.NodeBytes} {
		n := &corev1.Node{}
		if err := n.Unmarshal(b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{
			"kubernetes.io/hostname": "md-0-template", "kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64", "topology.kubernetes.io/zone": "az1",
			"node-role.kubernetes.io/web": "", "disk": "ssd", "rack": "r1",
		}, n.Labels); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if n.Status.Allocatable.Cpu().String() != "4" || n.Status.Capacity.Pods().String() != "110" || len(n.Spec.Taints) != 1 || n.Spec.Taints[0].Key != "web" {
			t.Errorf("%s: %v, %v", name, n.Status.Allocatable, n.Spec.Taints)
		}
	}
	during := 3 * time.Minute
	scaling := f.c.Cluster.Workers[0].Scaling
	scaling.Options.UnneededTime = &during
	o, err := c.NodeGroupGetOptions(t.Context(), &externalgrpc.NodeGroupAutoscalingOptionsRequest{Id: "md-0", Defaults: &externalgrpc.NodeGroupAutoscalingOptions{ScaleDownUtilizationThreshold: 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	if p := o.NodeGroupAutoscalingOptions; p.ScaleDownUtilizationThreshold != 0.5 || p.ScaleDownUnneededDuration.AsDuration() != during || p.ScaleDownUnneededTime.Duration != int64(during) {
		t.Errorf("options %v", p)
	}
	scaling.Capacity = nil
	_, err = c.NodeGroupTemplateNodeInfo(t.Context(), in)
	fails(t, "a pool that does not say", err, codes.Unimplemented, "capacity.cluster-autoscaler.kubernetes.io/cpu")
}
