package network_test

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/network"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// Nothing that machines need goes before they are gone; what is under way is
// waited for without an error.
func TestDeleteWaits(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		w.settle()
		w.server("cp-0", fleet.RoleControlPlane, 0)
		w.settle()
		want := w.things()
		remove := func() error { return network.Delete(w.Context(), w.project, w.snapshot(), w.owner()) }
		if err := remove(); fleet.KindOf(err) != fleet.Conflict {
			t.Errorf("with a machine: %v", err)
		}
		same(t, "left with a machine", w.things(), want)
		for _, s := range w.cloud.Objects(ost.Servers) {
			w.cloud.Remove(ost.Servers, s.ID())
		}
		for range 10 { // the port of the machine is still there
			if err := remove(); err != nil {
				t.Errorf("with a part of a machine: %v", err)
			}
		}
		for _, k := range []ost.Kind{ost.Networks, ost.Subnets, ost.Routers} {
			if w.things()[k] != 1 {
				t.Errorf("%d %s left with a part of a machine", w.things()[k], k)
			}
		}
		w.cloud.Remove(ost.Ports, w.one(ost.Ports, named("cp-0-0")).ID())
		w.remove()
	})
	inBubble(t, managed(), func(w *world) {
		w.settle()
		for range 3 {
			if err := network.Delete(w.Context(), w.project, w.snapshot(), w.owner()); err != nil {
				t.Errorf("while the load balancer goes: %v", err)
			}
		}
	})
}

// A machine whose server lost its mark, or its role, stays in the load balancer, and
// nothing goes that it needs.
func TestServerWithoutMark(t *testing.T) {
	for reason, wipe := range map[string]func(m ost.Object){
		"all of it":             func(m ost.Object) { clear(m) },
		"the role":              func(m ost.Object) { delete(m, "fairlead.dev:role") },
		"the name":              func(m ost.Object) { delete(m, "fairlead.dev:machine") },
		"another role":          func(m ost.Object) { m["fairlead.dev:role"] = "worker" },
		"another role and pool": func(m ost.Object) { m["fairlead.dev:role"], m["fairlead.dev:pool"] = "worker", "md" },
		"the role of a bastion": func(m ost.Object) { m["fairlead.dev:role"] = "bastion" },
		"another name":          func(m ost.Object) { m["fairlead.dev:machine"] = "cp-9" },
	} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, managed(), func(w *world) {
				w.settle()
				w.server("cp-0", fleet.RoleControlPlane, 0)
				w.settle()
				want := w.things()
				w.cloud.Edit(ost.Servers, w.one(ost.Servers, named("cp-0")).ID(), func(o ost.Object) {
					m := ost.Object{}
					for k, v := range o["metadata"].(map[string]string) {
						m[k] = v
					}
					wipe(m)
					o["metadata"] = m
				})
				w.work()
				lb := w.one(ost.LoadBalancers, all).ID()
				w.cloud.Edit(ost.LoadBalancers, lb, func(o ost.Object) { o["provisioning_status"] = "ERROR" })
				time.Sleep(2 * time.Minute)
				_ = w.ensure()
				time.Sleep(10 * time.Second)
				if err := network.Delete(w.Context(), w.project, w.snapshot(), w.owner()); fleet.KindOf(err) != fleet.Conflict {
					t.Errorf("Delete = %v, want kind Conflict", err)
				}
				same(t, "left with a machine that lost its mark", w.things(), want)
			})
		})
	}
}

// A server that says that it is of another cluster, and has a port of a machine of this
// one, gets nothing of the other's endpoint.
func TestServerOfAnother(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		w.settle()
		w.server("cp-0", fleet.RoleControlPlane, 0)
		w.settle()
		w.cloud.Edit(ost.Servers, w.one(ost.Servers, named("cp-0")).ID(), func(o ost.Object) {
			o["metadata"] = cloud.Metadata(cluster("eu-2").MachineTags(fleet.Pool{Name: "pool", Role: fleet.RoleControlPlane}, "cp-0", "op"))
		})
		w.cluster = cluster("eu-2")
		w.work()
		if members := w.cloud.Objects(ost.Members); len(members) != 1 {
			t.Errorf("members %v, want that of cluster eu-1", members)
		}
	})
}

// The endpoint stays on a machine whose role somebody changed, where there is no load
// balancer, and a worker that says that it is of the control plane gets nothing of it.
func TestRoleChanged(t *testing.T) {
	retag := func(w *world, name, role string) {
		w.cloud.Edit(ost.Servers, w.one(ost.Servers, named(name)).ID(), func(o ost.Object) {
			m := ost.Object{}
			for k, v := range o["metadata"].(map[string]string) {
				m[k] = v
			}
			m["fairlead.dev:role"] = role
			o["metadata"] = m
		})
	}
	for reason, asked := range map[string]*string{"its own floating IP": nil, "one that Git names": ptr("198.18.0.99")} {
		t.Run(reason, func(t *testing.T) {
			spec := managed()
			spec.APIServer = &api.APIServer{FloatingIP: asked}
			inBubble(t, spec, func(w *world) {
				if asked != nil {
					w.cloud.Add("alpha", ost.FloatingIPs, ost.Object{
						"floating_ip_address": *asked, "floating_network_id": w.one(ost.Networks, named(ost.External)).ID(),
					})
				}
				w.settle()
				first := w.server("cp-0", fleet.RoleControlPlane, 0)
				w.settle()
				w.server("cp-1", fleet.RoleControlPlane, 1)
				w.settle()
				retag(w, "cp-0", "worker")
				if st, errs := w.work(); !st.Ready || len(errs) > 0 || w.one(ost.FloatingIPs, all).String("fixed_ip_address") != first {
					t.Errorf("ready %v (%s), errors %v, floating IP on %s, want it on %s", st.Ready, st.Message, errs, w.one(ost.FloatingIPs, all).String("fixed_ip_address"), first)
				}
			})
		})
	}
	t.Run("a worker as heir", func(t *testing.T) {
		spec := managed()
		spec.APIServer = nil
		inBubble(t, spec, func(w *world) {
			w.cluster.Workers = []fleet.Pool{{Name: "md", Role: fleet.RoleWorker}}
			w.settle()
			w.server("cp-0", fleet.RoleControlPlane, 0)
			w.settle()
			w.server("md-0", fleet.RoleWorker, 1)
			heir := w.server("cp-1", fleet.RoleControlPlane, 2)
			retag(w, "md-0", "control-plane")
			w.unserve("cp-0")
			if w.work(); w.one(ost.FloatingIPs, all).String("fixed_ip_address") != heir {
				t.Errorf("floating IP on %s, want it on %s", w.one(ost.FloatingIPs, all).String("fixed_ip_address"), heir)
			}
		})
	})
	t.Run("a worker", func(t *testing.T) {
		inBubble(t, managed(), func(w *world) {
			w.cluster.Workers = []fleet.Pool{{Name: "md", Role: fleet.RoleWorker}}
			w.settle()
			w.server("cp-0", fleet.RoleControlPlane, 0)
			w.server("md-0", fleet.RoleWorker, 1)
			w.settle()
			want := w.things()
			retag(w, "md-0", "control-plane")
			w.work()
			same(t, "with a worker that says that it is of the control plane", w.things(), want)
		})
	})
}

// Members that others made stay, whoever they are.
func TestForeignMember(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		w.settle()
		pool := w.one(ost.Pools, all).ID()
		other := snapshot.Owner{Fleet: "fleet-b", Cluster: w.cluster.Key, Machine: "cp-9"}
		for i, tags := range [][]string{{}, {"mine"}, {cloud.FormatOwner("", other)}} {
			w.cloud.Add("alpha", ost.Members, ost.Object{"name": "m", "address": "192.0.2." + string(rune('1'+i)), "protocol_port": 6443, "pool": pool, "tags": tags})
		}
		w.server("cp-0", fleet.RoleControlPlane, 0)
		w.settle()
		if n := len(w.cloud.Objects(ost.Members)); n != 4 {
			t.Errorf("%d members, want 4", n)
		}
	})
}

// Before the first machine everything has to be there; later a rule that is
// missing holds up nothing.
func TestBeforeFirst(t *testing.T) {
	inBubble(t, managed(), func(w *world) {
		w.settle()
		for _, r := range w.cloud.Objects(ost.SecurityGroupRules) {
			w.cloud.Remove(ost.SecurityGroupRules, r.ID())
		}
		if st := w.observe(); st.Ready || !strings.Contains(st.Message, "still to do: add to security group") {
			t.Errorf("ready %v: %q", st.Ready, st.Message)
		}
		w.server("cp-0", fleet.RoleControlPlane, 0)
		if st := w.observe(); !st.Ready {
			t.Errorf("with a machine: %q", st.Message)
		}
	})
}

// After a call without an answer nothing more is done before somebody looked; a
// refused one holds up only what depends on it.
func TestUnanswered(t *testing.T) {
	changes := func(w *world) (n int) {
		for _, c := range w.client.Calls() {
			if c.Changes() {
				n++
			}
		}
		return n
	}
	inBubble(t, managed(), func(w *world) {
		w.cloud.Inject(ost.Fault{Service: "network", Method: "POST", Path: "/networks", Cut: ost.After, Times: 1})
		if err := w.ensure(); fleet.KindOf(err) != fleet.Unanswered || changes(w) != 1 {
			t.Errorf("%d changes, error %v", changes(w), err)
		}
		w.settle()
	})
	inBubble(t, managed(), func(w *world) {
		w.cloud.SetQuota("alpha", "network", 0)
		err := w.ensure()
		if fleet.KindOf(err) != fleet.Exhausted || !strings.Contains(err.Error(), "Quota exceeded") {
			t.Errorf("error %v", err)
		}
		if n := w.things()[ost.SecurityGroups]; n != 2 {
			t.Errorf("%d security groups, want them in spite of the network", n)
		}
	})
}
