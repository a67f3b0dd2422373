package openstack_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// lost takes the server of machine 0 away, and leaves its root volume as change has it.
func (w *world) lost(change func(o ost.Object)) (volume string) {
	w.Helper()
	w.settle()
	w.mustCreate(0)
	w.await(0, fleet.MachineRunning)
	server := w.server(0).ID()
	w.cloud.Remove(ost.Servers, server)
	for _, p := range w.cloud.Objects(ost.Ports) {
		if p.String("device_id") == server {
			w.cloud.Edit(ost.Ports, p.ID(), func(o ost.Object) { o["device_id"], o["device_owner"] = "", "" })
		}
	}
	volume = w.cloud.Objects(ost.Volumes)[0].ID()
	w.cloud.Edit(ost.Volumes, volume, func(o ost.Object) { o["attachments"] = []ost.Object{}; change(o) })
	time.Sleep(2 * tick)
	w.observe()
	return volume
}

// A volume that Cinder could not delete, or left reserved, keeps no machine from being made
// in the place of the one that it was of. The next one tells of it.
func TestVolumeInTheWay(t *testing.T) {
	for _, status := range []string{"error_deleting", "reserved", "error", "in-use", "backing-up"} {
		t.Run(status, func(t *testing.T) {
			inBubble(t, clusterSpec(), diskSpec(), func(w *world) {
				w.lost(func(o ost.Object) { o["status"] = status })
				w.mustCreate(0)
				m := w.await(0, fleet.MachineRunning)
				if told := strings.Contains(m.Message, status); told != slices.Contains([]string{"error_deleting", "reserved", "backing-up"}, status) {
					t.Errorf("the machine tells %q of a volume that is %s", m.Message, status)
				}
			})
		})
	}
}

// What keeps the deletion of a cluster waiting is named, by the look and by the call.
func TestVolumeKeepsDeletion(t *testing.T) {
	inBubble(t, clusterSpec(), diskSpec(), func(w *world) {
		volume := w.lost(func(o ost.Object) { o["status"] = "error_deleting" })
		var err error
		for range 20 {
			_, err = w.removeOnce()
			time.Sleep(5 * time.Second)
		}
		w.wantError("DeleteInfrastructure", err, fleet.Conflict, volume, "error_deleting")
		if got := w.observe(); !got.Exists || !strings.Contains(got.Message, volume+") is error_deleting") {
			t.Errorf("exists %v, message %q", got.Exists, got.Message)
		}
		w.cloud.Edit(ost.Volumes, volume, func(o ost.Object) { o["status"] = "error" })
		w.remove()
	})
}

// A machine that keeps its name with another template gets nothing that was made from the
// former one: that goes first.
func TestPartsOfFormerTemplate(t *testing.T) {
	for reason, tc := range map[string]struct {
		spec   *api.OpenStackMachineSpec
		change func(w *world)
		part   ost.Kind
	}{
		"volume": {diskSpec(), func(w *world) {
			for _, v := range w.cloud.Objects(ost.Volumes) {
				w.cloud.Edit(ost.Volumes, v.ID(), func(o ost.Object) { o.Object("metadata")["fairlead.dev:template"] = "1-former" })
			}
		}, ost.Volumes},
		"network of a port": {machineSpec(), func(w *world) {
			other := w.cloud.Add("alpha", ost.Networks, ost.Object{"name": "former"})
			for _, p := range w.cloud.Objects(ost.Ports) {
				if strings.Contains(p.String("description"), "machine=") {
					w.cloud.Edit(ost.Ports, p.ID(), func(o ost.Object) { o["network_id"] = other })
				}
			}
		}, ost.Ports},
		"security group of a port": {machineSpec(), func(w *world) {
			for _, p := range w.cloud.Objects(ost.Ports) {
				if strings.Contains(p.String("description"), "machine=") {
					w.cloud.Edit(ost.Ports, p.ID(), func(o ost.Object) { o["security_groups"] = []string{} })
				}
			}
		}, ost.Ports},
	} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, clusterSpec(), tc.spec, func(w *world) {
				w.settle()
				end := w.cloud.Inject(ost.Fault{Service: "compute", Method: http.MethodPost, Path: "/servers", Times: 1, Status: http.StatusConflict})
				_ = w.create(0) // its parts are made, and stay for the next try
				end()
				former := w.partIDs(tc.part)
				if len(former) == 0 {
					t.Fatal("no part is there")
				}
				tc.change(w)
				time.Sleep(2 * tick)
				w.wantError("CreateMachine", w.create(0), fleet.Conflict, "removed first")
				var err error
				for range 20 {
					time.Sleep(2 * tick)
					w.observe()
					_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
					if err = w.create(0); err == nil {
						break
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				w.await(0, fleet.MachineRunning)
				for _, id := range w.partIDs(tc.part) {
					if slices.Contains(former, id) {
						t.Errorf("%s %s of the former template is still there", tc.part, id)
					}
				}
			})
		})
	}
}

// partIDs returns the ids of the parts of machine 0 of a kind.
func (w *world) partIDs(k ost.Kind) (out []string) {
	for _, o := range w.cloud.Objects(k) {
		if strings.HasSuffix(o.String("description"), " machine="+string(w.name(0))+"]") ||
			o.Object("metadata") != nil && o.Object("metadata")["fairlead.dev:machine"] == string(w.name(0)) {
			out = append(out, o.ID())
		}
	}
	return out
}

// What is left over of machines goes, whatever is wrong with the load balancer.
func TestLeftoversGoWithoutEndpoint(t *testing.T) {
	inBubble(t, clusterSpec(), diskSpec(), func(w *world) {
		w.lost(func(o ost.Object) { o["status"] = "available" })
		w.cloud.Edit(ost.LoadBalancers, w.cloud.Objects(ost.LoadBalancers)[0].ID(), func(o ost.Object) { o["provisioning_status"] = "ERROR" })
		for range 5 {
			time.Sleep(2 * tick)
			w.observe()
			_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
		}
		if got := w.observe(); got.Ready || len(w.parts(0)) > 0 {
			t.Errorf("ready %v, left over %q", got.Ready, w.parts(0))
		}
	})
}

// The address of a pool that Git does not have any more is kept, as Retain had it, and is
// an orphan that people remove. With the pool back it is given out again.
func TestPoolLeftGit(t *testing.T) {
	spec := machineSpec()
	spec.FloatingIPPoolRef = &corev1.TypedLocalObjectReference{Kind: "OpenStackFloatingIPPool", Name: "web"}
	inBubble(t, clusterSpec(), spec, func(w *world) {
		w.settle()
		pool := []fleet.Object{object(w, "OpenStackFloatingIPPool", "web", nil, api.OpenStackFloatingIPPoolSpec{IdentityRef: identity(), ReclaimPolicy: api.ReclaimRetain})}
		w.cluster.Companions = pool
		time.Sleep(2 * tick)
		w.mustCreate(0)
		m := w.await(0, fleet.MachineRunning)
		address := m.Addresses[len(m.Addresses)-1]
		orphans := func() (out []string) {
			t.Helper()
			time.Sleep(2 * tick)
			all, err := w.provider.Orphans(w.Context(), w.cluster.Fleet, []*fleet.Cluster{&w.cluster})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range all {
				out = append(out, o.Kind+" "+o.Name+": "+o.Reason)
			}
			return out
		}
		w.cluster.Companions = nil
		if got := orphans(); len(got) > 0 {
			t.Errorf("orphans while the machine has the address: %q", got)
		}
		w.delete(0)
		w.calm()
		if got := orphans(); !slices.Equal(got, []string{"floating IP " + address + ": OpenStackFloatingIPPool web is not in Git"}) {
			t.Errorf("orphans = %q, want the address %s", got, address)
		}
		w.cluster.Companions = pool
		if got := orphans(); len(got) > 0 {
			t.Errorf("orphans with the pool back: %q", got)
		}
		w.mustCreate(1)
		w.await(1, fleet.MachineRunning)
		if n := len(w.cloud.Objects(ost.FloatingIPs)); n != 2 { // and that of the API server
			t.Errorf("%d floating IPs, want the retained one to be used", n)
		}
	})
}

// TestFloatingIPThatGotAnotherUse: people give the address of a machine that is gone to something else
// after a look showed that nothing has it. It stays, whether the machine or the cluster goes.
func TestFloatingIPThatGotAnotherUse(t *testing.T) {
	for policy, all := range map[api.ReclaimPolicy]bool{api.ReclaimDelete: false, api.ReclaimRetain: true} {
		spec := machineSpec()
		spec.FloatingIPPoolRef = &corev1.TypedLocalObjectReference{Kind: "OpenStackFloatingIPPool", Name: "web"}
		inBubble(t, clusterSpec(), spec, func(w *world) {
			w.settle()
			w.cluster.Companions = []fleet.Object{object(w, "OpenStackFloatingIPPool", "web", nil, api.OpenStackFloatingIPPoolSpec{IdentityRef: identity(), ReclaimPolicy: policy})}
			time.Sleep(2 * tick)
			w.mustCreate(0)
			m := w.await(0, fleet.MachineRunning)
			address := m.Addresses[len(m.Addresses)-1]
			i := slices.IndexFunc(w.cloud.Objects(ost.FloatingIPs), func(o ost.Object) bool { return o.String("floating_ip_address") == address })
			id := w.cloud.Objects(ost.FloatingIPs)[i].ID()
			if all {
				w.delete(0)
				w.calm() // the pool keeps the address
			}
			moved := false
			w.cloud.Inject(ost.Fault{Path: "/floatingips/" + id, Times: 1, Do: func(ost.Call) {
				moved = w.cloud.Edit(ost.FloatingIPs, id, func(o ost.Object) { o["port_id"] = "of-somebody" })
			}})
			if all {
				w.cluster.Delete = true
				for range 10 {
					_, _ = w.removeOnce() // it waits for the address
					time.Sleep(2 * tick)
				}
			} else {
				w.delete(0)
				w.calm()
			}
			if f, there := w.cloud.Object(ost.FloatingIPs, id); !moved || !there || f.String("port_id") != "of-somebody" {
				w.Errorf("%s: moved %t, there %t: %v, want it where people put it", policy, moved, there, f["port_id"])
			}
		})
	}
}

// TestDeletionOfParts: a machine that never got its server is deleted with the parts that it has, and
// its parts keep no other one.
func TestDeletionOfParts(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		w.cloud.Inject(ost.Fault{Service: "compute", Method: http.MethodPost, Path: "/servers", Times: 1, Status: http.StatusConflict})
		_ = w.create(0)
		w.mustCreate(1)
		time.Sleep(2 * tick)
		if len(w.parts(0)) == 0 {
			t.Fatal("no part is there")
		}
		w.delete(0)
		if left := w.parts(0); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
		w.wantParts(1, "ports", "servers")
	})
}
