package openstack_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// plugged counts the ports that servers have, and volumes that are attached.
func (w *world) plugged() int {
	n := 0
	for _, p := range w.cloud.Objects(ost.Ports) {
		if strings.HasPrefix(p.String("device_owner"), "compute:") {
			n++
		}
	}
	for _, v := range w.cloud.Objects(ost.Volumes) {
		n += len(v.Objects("attachments"))
	}
	return n
}

// server returns the nth machine's.
func (w *world) server(n int) ost.Object {
	w.Helper()
	return w.serverNamed(w.name(n))
}

func (w *world) serverNamed(name fleet.MachineName) ost.Object {
	w.Helper()
	for _, s := range w.cloud.Objects(ost.Servers) {
		if s.String("name") == string(name) {
			return s
		}
	}
	w.Fatalf("machine %s has no server", name)
	return nil
}

// meddle does all that may remove a part, as a planner that believes what it sees.
func (w *world) meddle() {
	w.Helper()
	for range 6 {
		time.Sleep(settle / 2)
		_, _ = w.provider.Observe(w.Context(), &w.cluster)
		_ = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
	}
}

// nova is the compute API as a user of the project has it.
func (w *world) nova() *gophercloud.ServiceClient {
	w.Helper()
	p, err := cloud.NewSessions(cloud.Options{Rate: -1, Base: w.cloud.Client()}).Project(openstackauth.Credential{
		Secret: fleet.SecretData{openstackauth.CloudsYAMLKey: fleet.NewSecret(w.cloud.CloudsYAML(ost.URL, "alice"))}, Cloud: "openstack",
	})
	if err != nil {
		w.Fatal(err)
	}
	c, err := p.Compute(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return c
}

func diskSpec() *api.OpenStackMachineSpec {
	s := machineSpec()
	s.RootVolume = &api.RootVolume{SizeGiB: 30}
	return s
}

// A machine that a listing of Nova lacks is asked for by its id: it is there, with
// all its parts, and nothing of it goes.
func TestListingLacksServers(t *testing.T) {
	for reason, spoil := range map[string]func(w *world){
		"one listing is empty": func(w *world) {
			w.cloud.Inject(ost.Fault{Service: "compute", Method: http.MethodGet, Path: "/servers/detail", Times: 1, Status: http.StatusOK, Body: `{"servers": []}`})
		},
		"every listing is empty": func(w *world) {
			w.cloud.Inject(ost.Fault{Service: "compute", Method: http.MethodGet, Path: "/servers/detail", Status: http.StatusOK, Body: `{"servers": []}`})
		},
	} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, clusterSpec(), diskSpec(), func(w *world) {
				w.settle()
				for n := range 3 {
					w.mustCreate(n)
				}
				for n := range 3 {
					w.await(n, fleet.MachineRunning)
				}
				time.Sleep(2 * tick)
				spoil(w)
				got := w.observe()
				if len(got.Machines) != 3 || len(got.Drift) != 0 {
					w.Errorf("machines %v, drift %q, want the three that are there", got.Machines, got.Drift)
				}
				w.meddle()
				if n := w.plugged(); n != 6 {
					w.Errorf("%d ports and volumes have a server, want 6", n)
				}
			})
		})
	}
}

// A cell that is down is not seen where servers are listed by page. Then nothing is
// known of the cluster, and nothing of it goes.
func TestCellDown(t *testing.T) {
	for reason, page := range map[string]int{"listed at once": 1000, "listed by page": 2} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, clusterSpec(), diskSpec(), func(w *world) {
				w.settle()
				for n := range 3 {
					w.mustCreate(n)
				}
				for n := range 3 {
					w.await(n, fleet.MachineRunning)
				}
				down := w.server(0).ID()
				w.cloud.Set(func(o *ost.Options) {
					o.PageSize, o.CellDown = page, func(s ost.Object) bool { return s.ID() == down }
				})
				time.Sleep(2 * tick)
				_, err := w.provider.Observe(w.Context(), &w.cluster)
				w.wantError("Observe", err, fleet.Unavailable, "a cell of Nova is down: nothing is known of server "+down)
				w.meddle()
				w.cloud.Set(func(o *ost.Options) { o.CellDown = nil })
				w.meddle()
				if got := w.observe(); len(got.Machines) != 3 || len(got.Drift) != 0 || w.plugged() != 6 {
					w.Errorf("machines %v, drift %q, %d ports and volumes with a server, want all as it was", got.Machines, got.Drift, w.plugged())
				}
			})
		})
	}
}

// orphansGone removes what is listed as an orphan of a fleet in which Git has only
// another cluster of the project: nothing of the server with id may go.
func (w *world) orphansGone(id string) {
	w.Helper()
	other := w.cluster
	other.Key.Name = "eu-3"
	clusters := []*fleet.Cluster{&other, &w.cluster}
	for _, of := range []fleet.ID{"fleet-a", "fleet-b"} {
		all, err := w.provider.Orphans(w.Context(), of, clusters)
		if err != nil {
			w.Fatal(err)
		}
		for _, o := range all {
			_ = w.provider.RemoveOrphan(w.Context(), of, clusters, o)
		}
	}
	all, err := w.provider.Orphans(w.Context(), "fleet-a", clusters[:1])
	if err != nil {
		w.Fatal(err)
	}
	for _, o := range all {
		if slices.Contains([]string{"port", "volume"}, o.Kind) && strings.HasPrefix(o.Name, string(w.controlPlaneName(0))) {
			err := w.provider.RemoveOrphan(w.Context(), "fleet-a", clusters[:1], o)
			w.wantError("RemoveOrphan", err, fleet.Conflict, "it is that of server")
		}
		if o.Kind == "server" && o.ID == id && o.Cluster != w.cluster.Key {
			w.Errorf("orphan %+v", o)
		}
	}
}

// A server that somebody deleted and that Nova keeps is on its way out, with its
// parts, until Nova reclaims it. It may be restored until then.
func TestSoftDeleted(t *testing.T) {
	inBubble(t, clusterSpec(), diskSpec(), func(w *world) {
		const reclaim = time.Hour
		w.cloud.Set(func(o *ost.Options) { o.Reclaim = reclaim })
		w.settle()
		w.mustCreate(0)
		w.await(0, fleet.MachineRunning)
		id := w.server(0).ID()
		if err := servers.Delete(w.Context(), w.nova(), id).ExtractErr(); err != nil {
			w.Fatal(err)
		}
		time.Sleep(4 * tick)
		if m := w.await(0, fleet.MachineDeleting); !strings.Contains(m.Message, "Nova keeps it") {
			w.Errorf("message %q, want it to say who keeps it", m.Message)
		}
		w.meddle()
		if n := w.plugged(); n != 2 {
			w.Errorf("%d ports and volumes have a server, want 2", n)
		}
		w.cloud.Edit(ost.Servers, id, func(o ost.Object) { o["status"], o["OS-EXT-STS:vm_state"] = "ACTIVE", "active" })
		time.Sleep(2 * tick)
		w.await(0, fleet.MachineRunning)
		if err := servers.Delete(w.Context(), w.nova(), id).ExtractErr(); err != nil {
			w.Fatal(err)
		}
		time.Sleep(reclaim + 4*tick)
		w.calm()
		w.wantParts(0)
	})
}

// A server that Fairlead deletes and that Nova keeps goes for good, whether one
// machine goes or all. Where Nova does not allow that, it goes when it is reclaimed.
func TestDeletedForGood(t *testing.T) {
	for reason, tc := range map[string]struct {
		all, forbidden bool
	}{"one machine": {}, "all": {all: true}, "one, forbidden": {forbidden: true}, "all, forbidden": {true, true}} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, clusterSpec(), diskSpec(), func(w *world) {
				const reclaim = 30 * time.Minute
				w.cloud.Set(func(o *ost.Options) { o.Reclaim = reclaim })
				w.settle()
				w.mustCreate(0)
				w.await(0, fleet.MachineRunning)
				if tc.forbidden {
					w.cloud.Inject(ost.Fault{Service: "compute", Method: http.MethodPost, Path: "/servers/*/action", Status: http.StatusForbidden, Body: `{"forbidden": {"code": 403, "message": "Policy doesn't allow os_compute_api:os-deferred-delete:force to be performed."}}`})
				}
				began := time.Now()
				if tc.all {
					for w.removeOnce(); len(w.mine()) > 0 && time.Since(began) < 2*reclaim; w.removeOnce() {
						time.Sleep(10 * time.Second)
					}
				} else {
					w.delete(0)
					for len(w.parts(0)) > 0 && time.Since(began) < 2*reclaim {
						w.calm()
					}
				}
				if w.wantParts(0); time.Since(began) < reclaim == tc.forbidden {
					w.Errorf("it took %s with a time of %s to be reclaimed", time.Since(began), reclaim)
				}
			})
		})
	}
}

// TestRestoredServerStays: people restore a server after a look showed that Nova keeps it. It is not
// deleted for good on what that look showed, whether one machine goes or all.
func TestRestoredServerStays(t *testing.T) {
	for reason, all := range map[string]bool{"one machine": false, "all": true} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, clusterSpec(), diskSpec(), func(w *world) {
				w.cloud.Set(func(o *ost.Options) { o.Reclaim = time.Hour })
				w.settle()
				w.mustCreate(0)
				w.await(0, fleet.MachineRunning)
				id := w.server(0).ID()
				w.cluster.Delete = all
				w.delete(0)
				time.Sleep(2 * tick)
				w.observe() // Nova keeps it
				restored := false
				for _, path := range []string{"/servers/" + id, "/servers/" + id + "/action"} { // whichever is called first
					w.cloud.Inject(ost.Fault{Path: path, Times: 1, Do: func(ost.Call) {
						restored = w.cloud.Edit(ost.Servers, id, func(o ost.Object) { o["status"], o["OS-EXT-STS:vm_state"] = "ACTIVE", "active" })
					}})
				}
				if all {
					w.delete(0)
				} else if err := w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster); err != nil {
					w.Fatal(err)
				}
				time.Sleep(2 * tick)
				if v, there := w.cloud.Object(ost.Servers, id); !restored || !there || v.String("status") != "ACTIVE" {
					w.Errorf("restored %t: there is %t, %v, want the server that people restored", restored, there, v["status"])
				}
			})
		})
	}
}
