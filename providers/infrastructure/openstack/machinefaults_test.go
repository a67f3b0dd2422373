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

// A server that ends in ERROR says why, and its parts go with it.
func TestFailedServer(t *testing.T) {
	spec := machineSpec()
	spec.RootVolume = &api.RootVolume{SizeGiB: 30}
	inBubble(t, clusterSpec(), spec, func(w *world) {
		w.cloud.Set(func(o *ost.Options) {
			o.FailServer = func(ost.Object) string { return "No valid host was found. There are not enough hosts available." }
		})
		w.settle()
		w.mustCreate(0)
		m := w.await(0, fleet.MachineFailed)
		if !strings.HasPrefix(m.Message, "No valid host was found. There are not enough hosts available. (no hypervisor has room") {
			w.Errorf("message %q, want Nova's words and a next step", m.Message)
		}
		w.delete(0)
		w.calm()
		w.wantParts(0)
	})
}

// What an agent that died left of a machine shows as pending while its server
// may appear, stays while the machine may be created again, and goes then.
func TestLeftovers(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		w.cloud.Inject(ost.Fault{Service: "compute", Method: http.MethodPost, Path: "/servers", Times: 1, Cut: ost.Before})
		w.wantError("CreateMachine", w.create(0), fleet.Unanswered)
		w.wantParts(0, "ports")
		w.restart()
		time.Sleep(2 * tick)
		got := w.observe()
		if len(got.Machines) != 1 || got.Machines[0].State != fleet.MachinePending || got.Machines[0].Pool != "eu-1-md-0" || got.Machines[0].Name != w.name(0) || len(got.Drift) != 0 {
			w.Fatalf("before the settle window: %+v", got)
		}
		if err := w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster); err != nil {
			w.Fatal(err)
		}
		w.wantParts(0, "ports")
		time.Sleep(settle + tick)
		if got = w.observe(); len(got.Machines) != 0 || len(got.Drift) != 0 {
			w.Fatalf("after the settle window: %+v, want the machine missing, and its parts kept for it", got)
		}
		w.settle()
		w.wantParts(0, "ports")
		time.Sleep(settle + tick)
		got = w.observe()
		if want := "left over of " + string(w.name(0)) + ": port " + string(w.name(0)) + "-0"; len(got.Machines) != 0 || len(got.Drift) != 1 || got.Drift[0] != want {
			w.Fatalf("after another one: %+v", got)
		}
		w.settle()
		w.wantParts(0)
	})
}

// A request that is repeated before the server shows makes no second one, and
// does no harm to the first.
func TestRepeatedBeforeItShows(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		w.mustCreate(0)
		time.Sleep(4 * tick)
		w.restart()
		id := w.cloud.Objects(ost.Servers)[0].ID()
		hide := func(project string) {
			w.cloud.Edit(ost.Servers, id, func(o ost.Object) { o["project_id"] = w.cloud.ProjectID(project) })
		}
		hide("beta") // listings leave it out
		w.wantError("CreateMachine again", w.create(0), fleet.Conflict, "which was not seen yet")
		hide("alpha")
		time.Sleep(2 * tick)
		w.await(0, fleet.MachineRunning)
		w.wantParts(0, "ports", "servers")
	})
}

// So does one that Nova refuses since the port got its server by now.
func TestRefusedForAPortInUse(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		w.cloud.Inject(ost.Fault{
			Service: "compute", Method: http.MethodPost, Path: "/servers", Times: 1, Status: http.StatusConflict,
			Body: `{"conflictingRequest": {"code": 409, "message": "Port 1 is still in use."}}`,
		})
		w.wantError("CreateMachine", w.create(0), fleet.Conflict, "Port 1 is still in use.")
		w.wantParts(0, "ports")
	})
}

// A server that somebody stopped is not running, one that somebody deleted is gone.
func TestBehindOurBack(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		w.mustCreate(0)
		w.await(0, fleet.MachineRunning)
		id := w.cloud.Objects(ost.Servers)[0].ID()
		w.cloud.Edit(ost.Servers, id, func(o ost.Object) { o["status"] = "SHUTOFF" })
		time.Sleep(2 * tick)
		if m := w.await(0, fleet.MachinePending); !strings.Contains(m.Message, "server is SHUTOFF") {
			w.Errorf("message %q", m.Message)
		}
		w.cloud.Remove(ost.Servers, id)
		time.Sleep(2 * tick)
		got := w.observe()
		if len(got.Machines) != 0 || len(got.Drift) != 1 {
			w.Errorf("after its deletion: %+v, want its port left over", got)
		}
		w.settle()
		w.wantParts(0)
	})
}

func TestFloatingIPPool(t *testing.T) {
	for policy, kept := range map[api.ReclaimPolicy]bool{api.ReclaimDelete: false, api.ReclaimRetain: true} {
		spec := machineSpec()
		spec.FloatingIPPoolRef = &corev1.TypedLocalObjectReference{Kind: "OpenStackFloatingIPPool", Name: "web"}
		inBubble(t, clusterSpec(), spec, func(w *world) {
			w.settle()
			w.cloud.Set(func(o *ost.Options) { o.Delays.Listing = 0 }) // as Neutron is
			external := w.cloud.Objects(ost.Networks)[0].ID()
			given := w.cloud.Add("alpha", ost.FloatingIPs, ost.Object{"floating_network_id": external, "floating_ip_address": "198.18.0.200"})
			w.cluster.Companions = []fleet.Object{object(w, "OpenStackFloatingIPPool", "web", nil, api.OpenStackFloatingIPPoolSpec{
				IdentityRef: identity(), ReclaimPolicy: policy, PreAllocatedFloatingIPs: []string{"198.18.0.200"}, MaxIPs: ptr(2),
			})}
			time.Sleep(2 * tick)
			w.mustCreate(0)
			w.mustCreate(1)
			w.wantError("a third of two", w.create(2), fleet.Exhausted, "all 2 of maxIPs are in use")
			w.wantParts(2)
			if m := w.await(0, fleet.MachineRunning); !slices.Contains(m.Addresses, "198.18.0.200") {
				w.Errorf("addresses %q, want the one that is given", m.Addresses)
			}
			m := w.await(1, fleet.MachineRunning)
			made := m.Addresses[len(m.Addresses)-1]
			for n := range 2 {
				w.delete(n)
			}
			w.calm()
			w.wantParts(0)
			w.wantParts(1)
			if _, ok := w.cloud.Object(ost.FloatingIPs, given); !ok {
				w.Errorf("%s: the floating IP of the user is gone", policy)
			}
			is := slices.ContainsFunc(w.cloud.Objects(ost.FloatingIPs), func(o ost.Object) bool { return o.String("floating_ip_address") == made })
			if is != kept {
				w.Errorf("%s: the floating IP that was made is kept: %v", policy, is)
			}
			if kept {
				w.mustCreate(3)
				w.mustCreate(4)
				if m := w.await(4, fleet.MachineRunning); !slices.Contains(m.Addresses, made) {
					w.Errorf("addresses %q, want the kept one, %s", m.Addresses, made)
				}
				w.delete(4)
				w.calm()
			}
			w.remove()
			if left := w.mine(); len(left) > 0 {
				w.Errorf("%s: left: %q", policy, left)
			}
		})
	}
}

// What a quota refuses after volumes were made leaves none of them, whether the machine
// is asked for again or not, and what comes is made once there is room.
func TestQuotaWithVolumes(t *testing.T) {
	disks := func() *api.OpenStackMachineSpec {
		s := diskSpec()
		s.AdditionalBlockDevices = []api.AdditionalBlockDevice{{Name: "etcd", SizeGiB: 5, Storage: api.BlockDeviceStorage{Type: api.VolumeBlockDevice}}}
		return s
	}
	for resource, tc := range map[string]struct {
		limit int
		words string
		made  int // volumes, in three tries
	}{
		"instances": {0, "Quota exceeded for instances: Requested 1, but already used 0 of 0 instances", 0},
		"cores":     {1, "Quota exceeded for cores: Requested 2, but already used 0 of 1 cores", 0},
		"ram":       {1024, "Quota exceeded for ram", 0},
		"volumes":   {1, "Maximum number of volumes allowed (1) exceeded", 3},
		"port":      {-1, "Quota exceeded for resources: ['port']", 0},
	} {
		t.Run(resource, func(t *testing.T) {
			inBubble(t, clusterSpec(), disks(), func(w *world) {
				w.settle()
				if resource == "port" {
					tc.limit = 0
				}
				w.cloud.SetQuota("alpha", resource, tc.limit)
				made := func() (n int) {
					for _, c := range w.cloud.Calls() {
						if c.Method == "POST" && c.Service == "block-storage" && strings.HasSuffix(c.Path, "/volumes") && c.Status < 300 {
							n++
						}
					}
					return n
				}
				for range 3 {
					w.wantError("CreateMachine", w.create(0), fleet.Exhausted, tc.words)
					time.Sleep(time.Minute)
				}
				if n := made(); n > tc.made {
					t.Errorf("%d volumes were made for what is refused, want %d", n, tc.made)
				}
				for range 12 {
					w.calm()
				}
				w.wantParts(0)
				w.cloud.SetQuota("alpha", resource, -1)
				w.mustCreate(0)
				w.await(0, fleet.MachineRunning)
				w.wantParts(0, "ports", "servers", "volumes", "volumes")
			})
		})
	}
}
