package network_test

import (
	"fmt"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
	"fairlead.dev/test/run/short"
)

// grow makes a cluster with two machines of the control plane.
func grow(w *world) {
	w.settle()
	w.server("cp-0", fleet.RoleControlPlane, 0)
	w.server("cp-1", fleet.RoleControlPlane, 1)
	w.settle()
}

// shrink removes it.
func shrink(w *world) {
	w.unserve("cp-0")
	w.unserve("cp-1")
	w.remove()
}

// The program dies at each call that changes something, before or after its
// effect. The next one makes exactly what one that lived makes, and leaves as
// little; what others have, called the same, stays.
func TestCrashAtEveryCall(t *testing.T) {
	quick := func(t *testing.T, f func(w *world)) {
		inBubble(t, managed(), func(w *world) {
			w.cloud.Set(func(o *ost.Options) { o.Delays.LoadBalancer = 100 * time.Millisecond })
			f(w)
		})
	}
	var made map[ost.Kind]int
	var calls []int // by number, without those for tokens
	quick(t, func(w *world) {
		neighbor(w)
		grow(w)
		made = w.things()
		shrink(w)
		n := 0
		for _, c := range w.client.Calls() {
			if c.Service == "identity" {
				continue
			}
			if n++; c.Changes() {
				calls = append(calls, n)
			}
		}
	})
	if len(calls) < 20 {
		t.Fatalf("%d calls changed something", len(calls))
	}
	for _, at := range short.Of(t, 6, calls) {
		for _, moment := range []ost.Moment{ost.Before, ost.After} {
			t.Run(fmt.Sprint(at, moment), func(t *testing.T) {
				quick(t, func(w *world) {
					before := neighbor(w)
					w.client.DieAt(at, moment)
					grow(w)
					same(t, "made", w.things(), made)
					shrink(w)
					same(t, "left", w.things(), before)
				})
			})
		}
	}
}

// neighbor puts things of others into the project that are called as the
// cluster's own: of a fleet with clusters of the same names, of one whose mark
// only looks alike, and of nobody. It returns how many they are.
func neighbor(w *world) map[ost.Kind]int {
	other := snapshot.Owner{Fleet: "fleet-b", Cluster: w.cluster.Key}
	for _, text := range []string{
		cloud.FormatOwner("nodes", other), cloud.FormatOwner("nodes", w.owner()) + " copied", "",
	} {
		w.cloud.Add("alpha", ost.Networks, ost.Object{"name": "prod-eu-1", "description": text})
		w.cloud.Add("alpha", ost.Routers, ost.Object{"name": "prod-eu-1", "description": text})
	}
	for _, text := range []string{cloud.FormatOwner("API server", other), ""} {
		w.cloud.Add("alpha", ost.LoadBalancers, ost.Object{
			"name": "prod-eu-1-kubeapi", "description": text, "provisioning_status": "ACTIVE", "operating_status": "ONLINE",
		})
		w.cloud.Add("alpha", ost.FloatingIPs, ost.Object{"description": text, "floating_ip_address": "203.0.113.200", "floating_network_id": "x"})
	}
	w.cloud.Add("alpha", ost.SecurityGroups, ost.Object{"name": "prod-eu-1-controlplane", "description": cloud.FormatOwner("controlplane", other)})
	return w.things()
}
