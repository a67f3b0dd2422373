package autoscaler_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"fairlead.dev/agent/inputs/autoscaler"
	"fairlead.dev/agent/inputs/autoscaler/externalgrpc"
	"fairlead.dev/fleet"
)

// TestWhoMayScale: a certificate names one cluster, and nobody scales another.
func TestWhoMayScale(t *testing.T) {
	connect := serve(t, prod())
	stranger, _ := issue(t, nil)
	call := func(c externalgrpc.CloudProviderClient) error {
		_, err := c.NodeGroups(t.Context(), &externalgrpc.NodeGroupsRequest{})
		return err
	}
	if err := call(connect(nil, "spiffe://x/y", "fairlead://prod/eu-1")); err != nil {
		t.Errorf("the cluster's own: %v", err)
	}
	fails(t, "another cluster", call(connect(nil, "fairlead://prod/eu-2")), codes.NotFound, "no cluster prod/eu-2")
	fails(t, "no cluster", call(connect(nil)), codes.PermissionDenied, "must name one cluster")
	fails(t, "two clusters", call(connect(nil, "fairlead://prod/eu-1", "fairlead://prod/eu-2")), codes.PermissionDenied, "it has 2")
	fails(t, "not a cluster", call(connect(nil, "fairlead://prod")), codes.PermissionDenied, "names no cluster")
	fails(t, "signed by somebody else", call(connect(stranger, "fairlead://prod/eu-1")), codes.Unavailable, "")
}

// TestGroups tells of pools that Git leaves to be scaled, and of their machines.
func TestGroups(t *testing.T) {
	f := prod()
	c := serve(t, f)(nil, "fairlead://prod/eu-1")
	groups, err := c.NodeGroups(t.Context(), &externalgrpc.NodeGroupsRequest{})
	if err != nil || len(groups.NodeGroups) != 1 || groups.NodeGroups[0].Id != "md-0" || groups.NodeGroups[0].MinSize != 2 || groups.NodeGroups[0].MaxSize != 6 {
		t.Errorf("groups %v, %v", groups, err)
	}
	for node, want := range map[[2]string]string{
		{"n1", "openstack:///m1"}:                     "md-0",
		{"n3", "openstack://region/m3"}:               "md-0",
		{"openstack:///m2", "openstack:///m2"}:        "md-0", // not registered: the autoscaler calls it by its id
		{"on1", "openstack:///o1"}:                    "",
		{"cpn1", "openstack:///cp1"}:                  "",
		{"foreign", "openstack:///foreign"}:           "",
		{"n1", ""}:                                    "md-0",
		{"foreign", ""}:                               "",
		{"n3-by-another-name", "openstack:///m3"}:     "md-0",
		{"n1-by-another-name", "openstack:///m1-not"}: "",
	} {
		got, err := c.NodeGroupForNode(t.Context(), &externalgrpc.NodeGroupForNodeRequest{Node: &externalgrpc.ExternalGrpcNode{Name: node[0], ProviderID: node[1]}})
		if err != nil || got.GetNodeGroup().GetId() != want {
			t.Errorf("node %v is of %q, %v; want %q", node, got.GetNodeGroup().GetId(), err, want)
		}
	}
	nodes, err := c.NodeGroupNodes(t.Context(), &externalgrpc.NodeGroupNodesRequest{Id: "md-0"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, i := range nodes.Instances {
		got[i.Id] = i.Status.InstanceState.String() + " " + i.Status.ErrorInfo.GetErrorMessage()
	}
	if diff := cmp.Diff(map[string]string{
		"openstack:///m1": "instanceRunning ", "openstack:///m2": "instanceCreating ", "openstack://region/m3": "instanceRunning ",
		"openstack:///m4": "instanceCreating No valid host", "openstack:///m5": "instanceDeleting ",
	}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	_, err = c.NodeGroupNodes(t.Context(), &externalgrpc.NodeGroupNodesRequest{Id: "md-1"})
	fails(t, "a pool that Git numbers", err, codes.NotFound, `no pool "md-1" that an autoscaler may scale`)
	if _, err := c.GPULabel(t.Context(), &externalgrpc.GPULabelRequest{}); err != nil {
		t.Error(err)
	}
	_, err = c.PricingNodePrice(t.Context(), &externalgrpc.PricingNodePriceRequest{})
	fails(t, "prices", err, codes.Unimplemented, "")

	deleted := *f.c.Cluster
	deleted.Delete = true
	f.c.Cluster = &deleted
	if groups, err := c.NodeGroups(t.Context(), &externalgrpc.NodeGroupsRequest{}); err != nil || len(groups.NodeGroups) > 0 {
		t.Errorf("a cluster that is being deleted has groups %v, %v", groups, err)
	}
	f.err = fleet.Errorf(fleet.Unavailable, "scale", "not looked at yet")
	_, err = c.Refresh(t.Context(), &externalgrpc.RefreshRequest{})
	fails(t, "nothing is known", err, codes.Unavailable, "not looked at yet")
}

// TestBadFiles are refused before anything is served.
func TestBadFiles(t *testing.T) {
	if _, err := autoscaler.New(prod(), autoscaler.Files{Certificate: "none", Key: "none", ClientCA: "none"}, registered, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "certificate and key") {
		t.Errorf("files that are not there gave %v", err)
	}
}
