package vsphere_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// retag takes a tag off an object, or assigns it; a tag that is not there yet is made, in a category.
func (b *bench) retag(path, category, tag string, on bool) {
	b.t.Helper()
	ctx := b.t.Context()
	c, err := b.w.REST(ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = c.Logout(context.WithoutCancel(ctx)) }()
	m := tags.NewManager(c)
	if _, err := m.GetCategory(ctx, category); err != nil {
		if _, err := m.CreateCategory(ctx, &tags.Category{Name: category, Cardinality: "MULTIPLE"}); err != nil {
			b.t.Fatal(err)
		}
	}
	t, err := m.GetTagForCategory(ctx, tag, category)
	if err != nil {
		in, err := m.GetCategory(ctx, category)
		if err != nil {
			b.t.Fatal(err)
		}
		id, err := m.CreateTag(ctx, &tags.Tag{Name: tag, CategoryID: in.ID})
		if err != nil {
			b.t.Fatal(err)
		}
		t = &tags.Tag{ID: id}
	}
	if on {
		err = m.AttachTag(ctx, t.ID, b.w.Ref(path))
	} else {
		err = m.DetachTag(ctx, t.ID, b.w.Ref(path))
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// TestZoneTags: a zone whose objects have not the tags that its failure domain names is told before
// anything is made there, with the object and the tag; a cluster that runs goes on.
func TestZoneTags(t *testing.T) {
	t.Parallel()
	const cluster = "/DC0/host/DC0_C1"
	for reason, tc := range map[string]struct {
		change func(b *bench)
		want   string // empty: nothing is wrong
	}{
		"as it should be": {func(*bench) {}, ""},
		"no tag of the region": {
			func(b *bench) { b.retag("/DC0", "k8s-region", "region-0", false) },
			"data center /DC0 has no tag region-0 of category k8s-region (assign it",
		},
		"no tag of the zone": {
			func(b *bench) { b.retag(cluster, "k8s-zone", "zone-0-1", false) },
			"tell the zone zone-1: cluster or host " + cluster + " has no tag zone-0-1 of category k8s-zone",
		},
		"of another category": {func(b *bench) {
			b.retag(cluster, "k8s-zone", "zone-0-1", false)
			b.retag(cluster, "of-others", "zone-0-1", true)
		}, "has no tag zone-0-1 of category k8s-zone"},
		"nobody may read tags": {func(b *bench) {
			b.w.FailCalls(vspheretest.CallFault{Method: "*tag-association*", Status: 503})
		}, "read the tags of"},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, vspheretest.Options{Datacenters: 1})
			c := w.selecting(t, w.zoned(t))
			var log bytes.Buffer
			b := &bench{t, w, newProvider(t, func(o *vsphere.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) }), &c}
			tc.change(b)
			err := b.p.EnsureInfrastructure(t.Context(), "op", &c)
			if (tc.want == "") != (err == nil) || !strings.Contains(told(err), tc.want) || strings.Contains(log.String(), "failure domain") {
				t.Errorf("EnsureInfrastructure = %v, want %q; the log has %s", err, tc.want, &log)
			}
			b.adopt(b.theirs("eu-1-md-0-abcde")) // the cluster has a machine
			log.Reset()
			if err := b.p.EnsureInfrastructure(t.Context(), "op", &c); err != nil {
				t.Errorf("of a cluster with machines EnsureInfrastructure = %v", err)
			}
			if got := log.String(); strings.Contains(got, "failure domain does not match its tags") != (tc.want != "") {
				t.Errorf("the log of a cluster with machines has %s", got)
			}
		})
	}
}

// TestZoneTagsOfHosts: where the zone is a group of hosts, each of them has the tag.
func TestZoneTagsOfHosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, vspheretest.Options{Datacenters: 1})
	c := w.cluster(t, nil)
	c.Workers[0].FailureDomain = "rack"
	c.Companions = []fleet.Object{
		newObject(t, "VSphereFailureDomain", "rack", &api.VSphereFailureDomainSpec{
			Zone:     api.FailureDomain{Name: "rack-1", Type: api.HostGroupFailureDomain, TagCategory: "racks"},
			Topology: api.Topology{Datacenter: "DC0", ComputeCluster: "DC0_C0", Hosts: api.FailureDomainHosts{VMGroupName: "vms", HostGroupName: "hosts"}},
		}),
		newObject(t, "VSphereDeploymentZone", "rack", &api.VSphereDeploymentZoneSpec{Server: w.Server(), FailureDomain: "rack"}),
	}
	b := &bench{t, w, newProvider(t, nil), &c}
	const path = "/DC0/host/DC0_C0"
	hosts := []types.ManagedObjectReference{w.Ref(path + "/DC0_C0_H0"), w.Ref(path + "/DC0_C0_H1")}
	add := types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}
	b.reconfigure(path, &types.ClusterConfigSpecEx{
		GroupSpec: []types.ClusterGroupSpec{
			{ArrayUpdateSpec: add, Info: &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "vms"}}},
			{ArrayUpdateSpec: add, Info: &types.ClusterHostGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "hosts"}, Host: hosts}},
		},
		RulesSpec: []types.ClusterRuleSpec{{ArrayUpdateSpec: add, Info: &types.ClusterVmHostRuleInfo{
			ClusterRuleInfo: types.ClusterRuleInfo{Name: "rack", Enabled: types.NewBool(true)}, VmGroupName: "vms", AffineHostGroupName: "hosts",
		}}},
	})
	b.retag(path+"/DC0_C0_H0", "racks", "rack-1", true)
	wantKind(t, "one host without the tag", b.p.EnsureInfrastructure(t.Context(), "op", &c), fleet.Invalid, "host "+path+"/DC0_C0_H1 has no tag rack-1 of category racks")
	b.retag(path+"/DC0_C0_H1", "racks", "rack-1", true)
	b.ensure()
}
