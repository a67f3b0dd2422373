package sites_test

import (
	"fmt"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"github.com/google/go-cmp/cmp"
)

// live takes a cluster of two sites through its life: made, scaled, upgraded, with one site
// away, with a site that leaves Git, and deleted.
func (w *world) live(wait time.Duration) {
	t := w.t
	count := func(when string, want map[string]int) {
		t.Helper()
		if diff := cmp.Diff(w.with(want), w.machines()); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", when, diff)
		}
	}
	far := w.guest.name
	git := clusterSpec{near: 1, far: 1, version: "v1.33.5"}
	w.reach(git, wait)
	count("made", map[string]int{"": 1, far: 1})
	for _, m := range w.last.Report.Machines {
		if m.Machine.Provider == far && (m.NodeID != "" || !strings.Contains(string(m.Machine.ProviderID), "://")) {
			t.Errorf("the Node of %s has the id %q", m.Machine.ProviderID, m.NodeID)
		}
	}
	git.far = 2
	w.reach(git, wait)
	count("scaled", map[string]int{"": 1, far: 2})
	git.version = "v1.34.1"
	w.reach(git, wait)
	count("upgraded", map[string]int{"": 1, far: 2})
	for _, m := range w.last.Report.Machines {
		if m.Version != git.version {
			t.Errorf("machine %s has kubelet %s", m.Machine.Name, m.Version)
		}
	}
	w.stayAway(git, wait)
	w.firstAway(git, wait)
	w.leave(git, wait)
	git = clusterSpec{near: 1, far: 1, version: "v1.34.1"}
	w.reach(git, wait)
	count("back", map[string]int{"": 1, far: 1})
	w.done = nil
	git.gone = true
	w.reach(git, wait)
	count("deleted", map[string]int{})
	if !w.did("DeleteInfrastructure "+far) && w.guest.name != "hosts" || !w.did("DeleteInfrastructure ") {
		t.Errorf("deleted with %q", w.done)
	}
	w.empty("deleted")
}

// with returns workers with the servers that are beside those of the first site.
func (w *world) with(workers map[string]int) map[string]int {
	if _, near := workers[""]; near {
		workers[""] += w.guest.servers()
	}
	return workers
}

// empty makes sure that nothing of the cluster is on the other site.
func (w *world) empty(when string) {
	w.t.Helper()
	c := w.git(clusterSpec{near: 1, far: 1, version: "v1.34.1"}).WithResidence(fleet.Residence{Endpoint: fleet.Endpoint{Host: "127.0.0.1", Port: 6443}})
	got, err := w.boots.Observe(w.t.Context(), c.At(w.guest.name))
	if err != nil {
		w.t.Fatal(err)
	}
	if len(got.Machines) > 0 || got.Exists {
		w.t.Errorf("%s: there still is %+v", when, got)
	}
}

// stayAway has the other site away: what is there stays, and the rest goes on.
func (w *world) stayAway(git clusterSpec, wait time.Duration) {
	t, far := w.t, w.guest.name
	w.boots.goAway(true)
	w.done = nil
	git.near, git.far = 2, 3
	c := w.git(git)
	for range 300 {
		if w.pass(c, wait); w.machines()[""] == 2+w.guest.servers() && len(w.last.Plan.Actions) == 0 {
			break
		}
	}
	if diff := cmp.Diff(w.with(map[string]int{"": 2, far: 2}), w.machines()); diff != "" {
		t.Errorf("with %s away (-want +got):\n%s", far, diff)
	}
	for _, a := range w.done {
		if strings.HasSuffix(a, " "+far) || strings.HasPrefix(a, "DeleteNode") || strings.HasPrefix(a, "DrainNode") {
			t.Errorf("with %s away: %s", far, a)
		}
	}
	told := false
	for _, c := range w.last.Report.Conditions {
		told = told || c.Type == "SitesReady" && c.Status == fleet.False && strings.Contains(c.Message, "no route to host")
	}
	if !told || !strings.Contains(w.last.Report.Failure, "no route to host") {
		t.Errorf("nobody tells that %s is away: %v, %s", far, w.last.Report.Conditions, w.last.Report.Failure)
	}
	w.boots.goAway(false)
	w.reach(git, wait)
	if diff := cmp.Diff(w.with(map[string]int{"": 2, far: 3}), w.machines()); diff != "" {
		t.Errorf("with %s back (-want +got):\n%s", far, diff)
	}
}

// firstAway has the first site away: workers elsewhere come and go, and nothing else does.
func (w *world) firstAway(git clusterSpec, wait time.Duration) {
	t, far := w.t, w.guest.name
	git.near, git.far = 3, 2
	w.near.away = true
	w.done = nil
	c := w.git(git)
	for range 300 {
		if w.pass(c, wait); w.machines()[far] == 2 && len(w.last.Plan.Actions) == 0 {
			break
		}
	}
	if diff := cmp.Diff(w.with(map[string]int{"": 2, far: 2}), w.machines()); diff != "" {
		t.Errorf("with the first site away (-want +got):\n%s", diff)
	}
	for _, a := range w.done {
		if strings.HasSuffix(a, "Machine ") || strings.HasPrefix(a, "DeleteNode") || strings.HasSuffix(a, "Infrastructure ") {
			t.Errorf("with the first site away: %s", a)
		}
	}
	w.near.away = false
	w.reach(git, wait)
	if diff := cmp.Diff(w.with(map[string]int{"": 3, far: 2}), w.machines()); diff != "" {
		t.Errorf("with the first site back (-want +got):\n%s", diff)
	}
}

// leave takes the other site out of Git: what is there goes, also where nobody can look at
// first.
func (w *world) leave(git clusterSpec, wait time.Duration) {
	t, far := w.t, w.guest.name
	git.near, git.left = 1, true
	w.boots.goAway(true)
	c := w.git(git)
	for range 3 {
		w.pass(c, wait)
	}
	if len(w.memory.Residence.Guests) != 1 || w.machines()[far] != 2 {
		t.Errorf("with %s away and not in Git, %d guests are remembered, and machines are %v", far, len(w.memory.Residence.Guests), w.machines())
	}
	w.boots.goAway(false)
	w.done = nil
	w.reach(git, wait)
	if diff := cmp.Diff(w.with(map[string]int{"": 1}), w.machines()); diff != "" {
		t.Errorf("after %s left (-want +got):\n%s", far, diff)
	}
	for _, a := range []string{"DrainNode ", "DeleteMachine " + far, "DeleteNode "} {
		if !w.did(a) {
			t.Errorf("%s left without %s: %q", far, a, w.done)
		}
	}
	for range 50 { // what was asked for last may show for a settle window
		if w.pass(c, wait); len(w.memory.Residence.Guests) == 0 {
			break
		}
	}
	if len(w.memory.Residence.Guests) > 0 {
		t.Errorf("%s is empty, and is remembered: %+v", far, w.memory.Residence.Guests)
	}
	w.empty("after it left")
}

// planeStays makes sure that a control plane of somebody else is there after all, and that
// of machines that are gone nothing is in it.
func (w *world) planeStays() {
	w.t.Helper()
	if !w.guest.hosted {
		return
	}
	e := w.plane.Endpoint
	if nodes, ok := w.cloud.Facts().Planes[fmt.Sprintf("%s:%d", e.Host, e.Port)]; !ok || len(nodes) > 0 {
		w.t.Errorf("the control plane is there: %v, with the nodes %v", ok, nodes)
	}
}
