package openstack_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

func TestOrphans(t *testing.T) {
	inBubble(t, withBastion(func(*api.Bastion) {}), machineSpec(), func(w *world) {
		w.settle()
		w.mustCreate(0)
		w.mustCreate(1)
		w.await(1, fleet.MachineRunning)
		csi := func(name, cluster string) string {
			return w.cloud.Add("alpha", ost.Volumes, ost.Object{"name": name, "size": 1, "status": "available", "metadata": ost.Object{"cinder.csi.openstack.org/cluster": cluster}})
		}
		csi("pvc-of-eu-1", "fleet-a/prod/eu-1")
		gone := csi("pvc-of-gone", "fleet-a/prod/gone")
		csi("pvc-of-others", "fleet-b/prod/gone")
		csi("pvc-of-nobody", "kubernetes")
		used := csi("pvc-in-use", "fleet-a/prod/gone")
		w.cloud.Edit(ost.Volumes, used, func(o ost.Object) {
			o["attachments"] = []ost.Object{{"server_id": "1", "attachment_id": "2", "volume_id": used}}
		})
		time.Sleep(2 * tick)
		kinds := func(id fleet.ID, clusters ...*fleet.Cluster) []string {
			all, err := w.provider.Orphans(w.Context(), id, clusters)
			if err != nil {
				w.Fatal(err)
			}
			var out []string
			for _, o := range all {
				out = append(out, o.Kind+" "+o.Name)
				if o.Provider != "openstack" || o.Place == "" || o.Reason == "" || o.ID == "" {
					w.Errorf("orphan %+v lacks something", o)
				}
			}
			slices.Sort(out)
			return out
		}
		if got := kinds("fleet-a", &w.cluster); !slices.Equal(got, []string{"volume pvc-of-gone"}) {
			w.Errorf("orphans beside a cluster that is there: %q", got)
		}
		other := w.cluster
		other.Key.Name = "eu-2"
		got := kinds("fleet-a", &other)
		for _, want := range []string{"server " + string(w.name(0)), "server eu-1-bastion", "port " + string(w.name(1)) + "-0", "volume pvc-of-gone", "volume pvc-of-eu-1", "network prod-eu-1", "load balancer prod-eu-1"} {
			if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) }) {
				w.Errorf("orphans of a cluster that is gone: %q, want %s among them", got, want)
			}
		}
		if got := kinds("fleet-b", &other); !slices.Equal(got, []string{"volume pvc-of-others"}) {
			w.Errorf("orphans of another fleet: %q", got)
		}
		for range 30 {
			all, err := w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&other})
			if err != nil {
				w.Fatal(err)
			}
			for _, o := range all {
				_ = w.provider.RemoveOrphan(w.Context(), "fleet-a", []*fleet.Cluster{&other}, o) // what others hang on comes later
			}
			time.Sleep(2 * tick)
		}
		if left := w.mine(); len(left) > 0 {
			w.Errorf("left: %q", left)
		}
		if _, ok := w.cloud.Object(ost.Volumes, gone); ok {
			w.Error("the volume of the CSI driver is there")
		}
		if n := len(w.cloud.Objects(ost.Volumes)); n != 3 {
			w.Errorf("%d volumes, want those of others and the one in use", n)
		}
	})
}

// What only a name says to be of a cluster that was deleted is listed, and not removed.
func TestOrphansByName(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.cloud.Add("alpha", ost.LoadBalancers, ost.Object{"name": "kube_service_eu-1_default_web", "provisioning_status": "ACTIVE", "vip_network_id": "shared"})
		time.Sleep(2 * tick)
		other := w.cluster
		other.Key.Name = "eu-2"
		for deleted, want := range map[bool]int{false: 0, true: 1} {
			c := w.cluster
			c.Delete = deleted
			clusters := []*fleet.Cluster{&c, &other}
			all, err := w.provider.Orphans(w.Context(), "fleet-a", clusters)
			if err != nil || len(all) != want {
				w.Fatalf("deleted %v: %v, %v, want %d", deleted, all, err, want)
			}
			for _, o := range all {
				w.wantError("RemoveOrphan", w.provider.RemoveOrphan(w.Context(), "fleet-a", clusters, o), fleet.Conflict, "remove it yourself")
			}
		}
		if n := len(w.cloud.Objects(ost.LoadBalancers)); n != 1 {
			w.Errorf("%d load balancers, want it to stay", n)
		}
	})
}

// What is no orphan is not removed, whoever asks.
func TestRemoveOrphanThatIsNone(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		w.mustCreate(0)
		w.await(0, fleet.MachineRunning)
		other := w.cluster
		other.Key.Name = "eu-2"
		all, err := w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&other})
		if err != nil || len(all) == 0 {
			w.Fatal(all, err)
		}
		before := w.mine()
		for _, o := range all {
			if err := w.provider.RemoveOrphan(w.Context(), "fleet-a", []*fleet.Cluster{&w.cluster}, o); err != nil {
				w.Errorf("RemoveOrphan(%s) = %v, want no error", o.Kind, err)
			}
		}
		time.Sleep(2 * tick)
		if after := w.mine(); !slices.Equal(before, after) {
			w.Errorf("things %q, want %q", after, before)
		}
	})
}
