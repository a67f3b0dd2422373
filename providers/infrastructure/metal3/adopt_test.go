package metal3_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// theirs has the host called name run a worker that Cluster API's provider for Metal3 made, and
// returns it. Its Metal3Machine is called otherwise than its Machine, as those of old are.
func (w *world) theirs(name string) providers.AdoptedMachine {
	w.Helper()
	w.Deploy(w.TB, w.hosts[name], metal3test.Deployment{Node: w.namespace + "~" + name, Instance: uuid.NewString(), Drive: map[string]any{"user_data": "theirs"}})
	return providers.AdoptedMachine{
		Name: fleet.MachineName("eu-1-md-0-" + name), Pool: "md-0", ID: fleet.ProviderID("metal3://" + w.namespace + "/" + name + "/eu-1-template-" + name),
	}
}

// node is what Ironic has of a host, without what changes by itself.
func (w *world) node(name string) map[string]any {
	w.Helper()
	out := w.Ask(w.TB, http.MethodGet, "/v1/nodes/"+w.namespace+"~"+name, nil)
	for _, key := range []string{"updated_at", "reservation", "links", "ports", "portgroups", "states", "volume"} {
		delete(out, key)
	}
	return out
}

func (w *world) adopt(machines ...providers.AdoptedMachine) {
	w.Helper()
	if err := w.p.Adopt(w.Context(), &w.c, machines); err != nil {
		w.Fatalf("Adopt = %v", err)
	}
	w.pause()
}

// wantKind checks the kind of an error, and what it says.
func wantKind(t testing.TB, what string, err error, kind fleet.ErrorKind, says ...string) {
	t.Helper()
	if fleet.KindOf(err) != kind {
		t.Errorf("%s = %v, want kind %v", what, err, kind)
		return
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%s = %v, want %q", what, err, s)
		}
	}
}

// TestAdopt: a machine of another controller is the cluster's, with the id of its Node, without a
// change of its host, nothing is to be done to it, and it goes as others do.
func TestAdopt(t *testing.T) {
	t.Parallel()
	each(t, false, func(t *testing.T, w *world) {
		m := w.theirs("m1")
		before, node := w.hosts["m1"].State(), w.node("m1")
		w.ResetCalls()
		left, err := w.p.Adoptable(t.Context(), &w.c, []providers.AdoptedMachine{m})
		if d := cmp.Diff([]string{"host " + w.namespace + "/m1"}, left); d != "" || err != nil {
			t.Fatalf("Adoptable: %s, %v", d, err)
		}
		if got := w.changes(); len(got) > 0 {
			t.Errorf("looking changed something: %q", got)
		}
		w.adopt(m)
		if got := w.changes(); len(got) != 1 || !strings.HasPrefix(got[0], "PATCH ") {
			t.Errorf("it was adopted by %q, want one request", got)
		}
		w.ResetCalls()
		w.adopt(m)
		if got := w.changes(); len(got) > 0 {
			t.Errorf("to adopt again changed something: %q", got)
		}
		if left, err := w.p.Adoptable(t.Context(), &w.c, []providers.AdoptedMachine{m}); len(left) > 0 || err != nil {
			t.Errorf("Adoptable after it = %q, %v", left, err)
		}
		w.p = w.provider() // an agent that knows nothing yet
		got := w.observe(&w.c)
		if x := machineOf(got, m.Name); x.ProviderID != m.ID || x.State != fleet.MachineRunning || x.Template != "1-md" || x.Damaged != "" || x.FailureDomain != "rack-a" || x.Created.IsZero() {
			t.Errorf("machine %+v, want %+v", x, m)
		}
		if len(got.Upkeep)+len(got.Drift) > 0 || !got.Ready {
			t.Errorf("upkeep %q, drift %q, ready %t: %s", got.Upkeep, got.Drift, got.Ready, got.Message)
		}
		if d := cmp.Diff(before, w.hosts["m1"].State()); d != "" {
			t.Errorf("the host is another: %s", d)
		}
		if err := w.p.Release(t.Context(), &w.c, []providers.AdoptedMachine{m}); err != nil {
			t.Fatalf("Release = %v", err)
		}
		if d := cmp.Diff(node, w.node("m1")); d != "" {
			t.Errorf("released, its node is another: %s", d)
		}
		w.pause()
		w.adopt(m)
		w.remove(&w.c, m.Name)
		if s := w.hosts["m1"].State(); s.On {
			t.Errorf("after its release the host is %+v", s)
		}
		w.until(&w.c, "free", allFree)
		if x := w.create(&w.c, worker); x.ProviderID != fleet.ProviderID("metal3://"+w.namespace+"/m1/"+string(worker)) || x.Damaged != "" {
			t.Errorf("the next machine is %+v", x)
		}
	}, "m1")
}

// TestAdoptAfterALoss: a node that Metal3 adopted again, since its Ironic had lost its database, has
// no instance_uuid. It gets that of its machine, and loses it when that is released.
func TestAdoptAfterALoss(t *testing.T) {
	t.Parallel()
	each(t, false, func(t *testing.T, w *world) {
		m := w.theirs("m1")
		w.Ask(t, http.MethodPatch, "/v1/nodes/"+w.namespace+"~m1", []map[string]any{{"op": "remove", "path": "/instance_uuid"}})
		before, node := w.hosts["m1"].State(), w.node("m1")
		w.adopt(m)
		got := w.observe(&w.c)
		if x := machineOf(got, m.Name); x.ProviderID != m.ID || x.State != fleet.MachineRunning || x.Damaged != "" || len(got.Upkeep) > 0 {
			t.Errorf("machine %+v, upkeep %q", x, got.Upkeep)
		}
		if err := w.p.Release(t.Context(), &w.c, []providers.AdoptedMachine{m}); err != nil {
			t.Fatalf("Release = %v", err)
		}
		if d := cmp.Diff(node, w.node("m1")) + cmp.Diff(before, w.hosts["m1"].State()); d != "" {
			t.Errorf("released, it is another: %s", d)
		}
	}, "m1")
}

// TestAdoptedIsLost: an Ironic that lost its database knows the machine again, as it was adopted.
func TestAdoptedIsLost(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	m := w.theirs("m1")
	w.adopt(m)
	w.observe(&w.c)
	before := w.hosts["m1"].State()
	if err := w.LoseDatabase(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.p = w.provider()
	got := w.until(&w.c, "adopted again", func(i fleet.Infrastructure) bool {
		x := machineOf(i, m.Name)
		return x.State == fleet.MachineRunning && !x.Silent && hostOf(i, "m1").State == fleet.HostProvisioned
	})
	if x := machineOf(got, m.Name); x.ProviderID != m.ID || x.Damaged != "" {
		t.Errorf("machine %+v", x)
	}
	if d := cmp.Diff(before, w.hosts["m1"].State()); d != "" {
		t.Errorf("the host is another: %s", d)
	}
}

// TestAdoptedAddress: addresses and indexes that machines have stay theirs, and are given to no
// other.
func TestAdoptedAddress(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2", "m3")
	w.pooled(&w.c, "10.0.0.10")
	a, b := w.theirs("m1"), w.theirs("m2")
	both := []providers.AdoptedMachine{a, b}
	wantKind(t, "without its claim", w.p.Adopt(t.Context(), &w.c, both), fleet.NotFound, "no claim of it has one of IPPool/"+w.namespace+"/nodes")
	both[0].Addresses, both[0].Index = "IPPool/"+w.namespace+"/nodes=10.0.0.10", w.namespace+"/nodes/0"
	both[1].Addresses, both[1].Index = both[0].Addresses, w.namespace+"/nodes/1"
	wantKind(t, "one address for two", w.p.Adopt(t.Context(), &w.c, both), fleet.Conflict, "machine "+string(b.Name), "machine "+string(a.Name)+" has 10.0.0.10")
	other := both[1]
	other.Addresses, other.Index = "IPPool/"+w.namespace+"/nodes=10.0.0.11", both[0].Index
	wantKind(t, "one index for two", w.p.Adopt(t.Context(), &w.c, []providers.AdoptedMachine{both[0], other}), fleet.Conflict, "machine "+string(a.Name)+" is "+w.namespace+"/nodes/0 too")
	w.adopt(both[0])
	wantKind(t, "the address of another", w.p.Adopt(t.Context(), &w.c, both[1:]), fleet.Conflict, "another machine of a fleet has 10.0.0.10")
	wantKind(t, "the index of another", w.p.Adopt(t.Context(), &w.c, []providers.AdoptedMachine{other}), fleet.Conflict, "another machine of a fleet is "+w.namespace+"/nodes/0")
	other.Addresses += ",IPPool/" + w.namespace + "/nodes=10.0.0.12"
	wantKind(t, "an address of no use", w.p.Adopt(t.Context(), &w.c, []providers.AdoptedMachine{other}), fleet.Conflict, "it has 10.0.0.12", "does not name that pool")
	w.until(&w.c, "m3 is free", func(i fleet.Infrastructure) bool { return hostOf(i, "m3").Free() })
	wantKind(t, "the next machine", w.p.CreateMachine(t.Context(), "op", request(&w.c, worker)), fleet.Exhausted, "all of its 1 addresses are taken")
}

// TestAdoptRefuses: where one machine cannot be taken over, none is.
func TestAdoptRefuses(t *testing.T) {
	t.Parallel()
	mark := func(w *world, machine, operation, cluster, of string) {
		tags := map[string]string{
			"fairlead.dev/fleet": of, "fairlead.dev/cluster": cluster, "fairlead.dev/machine": machine, "fairlead.dev/operation": operation,
		}
		w.set("m2", "extra", map[string]any{"fairlead": map[string]any{"tags": tags}})
	}
	for reason, tc := range map[string]struct {
		change func(w *world, m *providers.AdoptedMachine)
		kind   fleet.ErrorKind
		want   string
	}{
		"of a cloud": {func(_ *world, m *providers.AdoptedMachine) { m.ID = "openstack:///1" }, fleet.Invalid, `its provider id "openstack:///1" is none of Metal3`},
		"not in Git": {func(w *world, _ *providers.AdoptedMachine) { w.c.Companions = w.c.Companions[:1] }, fleet.Invalid, "Git has no BareMetalHost"},
		"gone from Ironic": {func(w *world, _ *providers.AdoptedMachine) {
			w.set("m2", "name", "elsewhere")
		}, fleet.NotFound, "has no node"},
		"in maintenance": {func(w *world, _ *providers.AdoptedMachine) {
			w.ask(http.MethodPut, "m2", "/maintenance", map[string]string{"reason": "a new disk"})
		}, fleet.Conflict, "is in maintenance: a new disk"},
		"silent": {func(w *world, _ *providers.AdoptedMachine) {
			w.FailHosts(metal3test.HostFault{Host: w.hosts["m2"].Name(), At: metal3test.AtRequest})
			w.until(&w.c, "silent", func(i fleet.Infrastructure) bool { return hostOf(i, "m2").TroubleIn == fleet.HostPowerError })
		}, fleet.Unavailable, "the BMC of host"},
		"on its way out": {func(w *world, _ *providers.AdoptedMachine) {
			w.ask(http.MethodPut, "m2", "/states/provision", map[string]string{"target": "deleted"})
			w.until(&w.c, "released", func(i fleet.Infrastructure) bool { return hostOf(i, "m2").Power == fleet.HostOff })
		}, fleet.Conflict, "wait until Metal3 has finished"},
		"of another cluster": {func(w *world, m *providers.AdoptedMachine) {
			mark(w, string(m.Name), "op", w.namespace+"/eu-9", "acme")
		}, fleet.Conflict, "/eu-9 of fleet acme"},
		"of another fleet": {func(w *world, m *providers.AdoptedMachine) {
			mark(w, string(m.Name), "op", w.namespace+"/eu-1", "umbrella")
		}, fleet.Conflict, "/eu-1 of fleet umbrella"},
		"made here": {func(w *world, m *providers.AdoptedMachine) {
			mark(w, string(m.Name), "op", w.namespace+"/eu-1", "acme")
		}, fleet.Conflict, "was not adopted for it"},
		"on the host of the other": {func(w *world, m *providers.AdoptedMachine) {
			m.ID = fleet.ProviderID("metal3://" + w.namespace + "/m1/x")
		}, fleet.Conflict, "is that of machine eu-1-md-0-m1 too"},
		"of one computer": {func(w *world, _ *providers.AdoptedMachine) {
			info := w.hosts["m1"].DriverInfo()
			w.set("m2", "driver_info", info)
		}, fleet.Conflict, "its BMC is that of node "},
		"of no pool": {func(_ *world, m *providers.AdoptedMachine) { m.Pool = "md-9" }, fleet.Invalid, "no pool md-9"},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := doubled(t, "m1", "m2")
			machines := []providers.AdoptedMachine{w.theirs("m1"), w.theirs("m2")}
			tc.change(w, &machines[1])
			w.pause()
			w.ResetCalls()
			wantKind(t, "Adopt", w.p.Adopt(t.Context(), &w.c, machines), tc.kind, "machine eu-1-md-0-m2", tc.want)
			if got := w.changes(); len(got) > 0 {
				t.Errorf("something was changed: %q", got)
			}
		})
	}
}

// TestReleaseAdoptedRefuses: where one machine was made or changed since, none is released.
func TestReleaseAdoptedRefuses(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2", "m3")
	machines := []providers.AdoptedMachine{w.theirs("m1"), w.theirs("m2")}
	w.adopt(machines...)
	w.ResetCalls()
	wantKind(t, "one that is not known", w.p.Release(t.Context(), &w.c, machines[:1]), fleet.Conflict, "machine eu-1-md-0-m2 was made or changed since")
	w.until(&w.c, "m3 is free", func(i fleet.Infrastructure) bool { return hostOf(i, "m3").Free() })
	w.create(&w.c, worker)
	w.ResetCalls()
	wantKind(t, "one that was made", w.p.Release(t.Context(), &w.c, machines), fleet.Conflict, "machine "+string(worker)+" was made or changed since")
	if got := slices.DeleteFunc(w.changes(), func(s string) bool { return !strings.HasPrefix(s, "PATCH") }); len(got) > 0 {
		t.Errorf("something was changed: %q", got)
	}
}

// TestAdoptedAccount: the BMC of a host that others enrolled keeps the account that they gave, and
// the ramdisk that it boots; where it refuses, Ironic is told that of Git.
func TestAdoptedAccount(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	w.Deploy(t, w.hosts["m1"], metal3test.Deployment{Node: w.namespace + "~m1"})
	w.c.Infrastructure.Secrets[fleet.Key{Namespace: w.namespace, Name: "ironic"}] = secretOf(map[string]string{
		"endpoint": w.URL(), "username": metal3test.User, "password": metal3test.Password, "ca.crt": string(w.CA()),
	})
	if got := w.observe(&w.c); len(got.Upkeep) > 0 || !hostOf(got, "m1").Free() {
		t.Errorf("upkeep %q, the host is %+v", got.Upkeep, hostOf(got, "m1"))
	}
	w.hosts["m1"].SetPassword("another")
	w.c.Companions[0].Secrets = map[fleet.Key]fleet.SecretData{{Namespace: w.namespace, Name: "m1-bmc"}: secretOf(map[string]string{"username": metal3test.BMCUser, "password": "another"})}
	w.until(&w.c, "told", func(i fleet.Infrastructure) bool {
		info, _ := w.node("m1")["driver_info"].(map[string]any)
		return info["fairlead_account"] != nil && info["deploy_iso"] == w.RamdiskURL() && hostOf(i, "m1").Free()
	})
}

// TestAdoptPrepared: what Metal3 made of disks and firmware is not made anew, neither of hosts with
// machines nor of free ones, and what Git says since is.
func TestAdoptPrepared(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2", "own")
	c := &w.c
	m := w.theirs("m1")
	own := w.c
	own.Companions = c.Companions[2:]
	w.until(&own, "enrolled here", allFree)
	w.settings(c, "own", virtualization("Enabled"))
	w.Deploy(t, w.hosts["m2"], metal3test.Deployment{Node: w.namespace + "~m2"})
	for _, name := range []string{"m1", "m2"} {
		w.rewrite(c, name, raid("1"))
		w.settings(c, name, virtualization("Disabled"))
	}
	nodes := func() []any { return []any{w.node("m1"), w.node("m2")} }
	before := nodes()
	w.pause()
	want := []string{"host " + w.namespace + "/m1", "host " + w.namespace + "/m2"}
	if left, err := w.p.Adoptable(t.Context(), c, []providers.AdoptedMachine{m}); !cmp.Equal(want, left) || err != nil {
		t.Fatalf("Adoptable = %q, %v", left, err)
	}
	killed := w.FailCalls(metal3test.CallFault{Method: "PATCH /v1/nodes/*", Skip: 2, Times: 1, Cut: true})
	if err := w.p.Adopt(t.Context(), c, []providers.AdoptedMachine{m}); err == nil || killed.Done() != 1 {
		t.Fatalf("it was adopted: %v", err)
	}
	w.pause()
	if left, err := w.p.Adoptable(t.Context(), c, []providers.AdoptedMachine{m}); len(left) != 1 || err != nil {
		t.Errorf("Adoptable after a part of it = %q, %v", left, err)
	}
	w.adopt(m)
	w.p = w.provider()
	got := w.observe(c)
	if want := []string{"verify it: host " + w.namespace + "/own"}; !cmp.Equal(want, got.Upkeep) { // nobody prepared that one yet
		t.Errorf("upkeep %q, want %q", got.Upkeep, want)
	}
	if spare := hostOf(got, "m2"); hostOf(got, "m1").Held != "" || !spare.Free() {
		t.Errorf("hosts are %+v", got.Hosts)
	}
	if err := w.p.Release(t.Context(), c, []providers.AdoptedMachine{m}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, nodes()); d != "" {
		t.Errorf("released, nodes are others: %s", d)
	}
	w.pause()
	w.adopt(m)
	w.settings(c, "m2", virtualization("Enabled"))
	w.until(c, "prepared", func(fleet.Infrastructure) bool {
		return w.hosts["m2"].State().Settings["ProcVirtualization"] == "Enabled"
	})
	if s := w.hosts["m2"].State(); len(s.Volumes) > 0 {
		t.Errorf("the disks of a host were put together anew: %+v", s)
	}
}
