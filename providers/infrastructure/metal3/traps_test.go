package metal3_test

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// turns are for tests of the real Ironic, which takes much of the processors.
var turns = make(chan struct{}, 2)

// each runs a test on a real Ironic and on the double, with hosts called names. own: it needs an
// Ironic that no other test uses.
func each(t *testing.T, own bool, test func(t *testing.T, w *world), names ...string) {
	t.Helper()
	t.Run("double", func(t *testing.T) {
		t.Parallel()
		test(t, doubled(t, names...))
	})
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("a real Ironic takes a minute")
		}
		if own && os.Getenv("FAIRLEAD_TEST_LAB") == "" {
			t.Skip("an Ironic of its own takes minutes: set FAIRLEAD_TEST_LAB=1")
		}
		if own {
			test(t, worldOf(t, metal3test.New(t, metal3test.Options{}), names...))
			return
		}
		turns <- struct{}{}
		defer func() { <-turns }()
		test(t, newWorld(t, names...))
	})
}

func doubled(t testing.TB, names ...string) *world {
	t.Helper()
	return worldOf(t, metal3test.New(t, metal3test.Options{Double: true}), names...)
}

const worker = fleet.MachineName("eu-1-md-0-x7k")

// create makes a worker and waits until it runs. A host that is free sooner than a claim of it
// settles is asked for again, as the planner does.
func (w *world) create(c *fleet.Cluster, name fleet.MachineName) fleet.Machine {
	w.Helper()
	w.until(c, "available", func(i fleet.Infrastructure) bool {
		if !i.Ready {
			return false
		}
		err := w.p.CreateMachine(w.Context(), "op-1", request(c, name))
		if err != nil && fleet.KindOf(err) != fleet.Exhausted {
			w.Fatal(err)
		}
		return err == nil
	})
	return machineOf(w.until(c, "running", func(i fleet.Infrastructure) bool { return machineOf(i, name).State == fleet.MachineRunning }), name)
}

// remove deletes a machine, as often as the planner does, until it is gone.
func (w *world) remove(c *fleet.Cluster, name fleet.MachineName) {
	w.Helper()
	asked := false
	w.until(c, "without "+string(name), func(i fleet.Infrastructure) bool {
		m := machineOf(i, name)
		if m.Name == "" || m.State == fleet.MachineReleased {
			return true
		}
		if !asked || m.Interrupted {
			asked = true
			if err := w.p.DeleteMachine(w.Context(), "op-2", c, name, m.ProviderID); err != nil {
				w.Logf("DeleteMachine: %v", err)
				asked = false
			}
		}
		return false
	})
}

// TestLostDatabase: an Ironic that lost its database is no proof that a machine is gone. It is
// shown, and its host is enrolled and adopted as it runs.
func TestLostDatabase(t *testing.T) {
	t.Parallel()
	each(t, true, func(t *testing.T, w *world) {
		c := &w.c
		w.create(c, worker)
		before := w.hosts["m1"].State()
		if err := w.LoseDatabase(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.pause()
		w.p = w.provider() // another agent, which knows the status branch alone
		got := w.observe(c)
		if m := machineOf(got, worker); m.State != fleet.MachineRunning || !m.Silent || m.Template != "1-md" || !strings.Contains(m.Message, "may have lost its database") {
			t.Errorf("the machine is %+v", m)
		}
		if err := w.p.DeleteMachine(t.Context(), "op", c, worker, ""); fleet.KindOf(err) != fleet.Conflict {
			t.Fatalf("DeleteMachine = %v, want kind Conflict", err)
		}
		if err := w.p.DeleteInfrastructure(t.Context(), "op", c); fleet.KindOf(err) != fleet.Conflict {
			t.Errorf("DeleteInfrastructure = %v, want kind Conflict", err)
		}
		got = w.until(c, "adopted", func(i fleet.Infrastructure) bool {
			m := machineOf(i, worker)
			return m.State == fleet.MachineRunning && !m.Silent && hostOf(i, "m1").State == fleet.HostProvisioned
		})
		if m := machineOf(got, worker); m.Damaged != "" || m.Template != "1-md" || m.Operation != "op-1" {
			t.Errorf("adopted: %+v", m)
		}
		if diff := cmp.Diff(before, w.hosts["m1"].State()); diff != "" {
			t.Errorf("the machine was touched (-before +after):\n%s", diff)
		}
		w.remove(c, worker)
	}, "m1")
}

// TestFailedRelease: Ironic forgets whose a host is whose release failed, while the machine runs
// on. It is a machine of the cluster until it is released.
func TestFailedRelease(t *testing.T) {
	t.Parallel()
	each(t, false, func(t *testing.T, w *world) {
		c := &w.c
		id := w.create(c, worker).ProviderID
		silent := w.FailHosts(metal3test.HostFault{Host: w.hosts["m1"].Name(), At: metal3test.AtRequest})
		defer silent.End()
		if err := w.p.DeleteMachine(t.Context(), "op", c, worker, id); err != nil {
			t.Fatal(err)
		}
		got := w.until(c, "in error", func(i fleet.Infrastructure) bool {
			return hostOf(i, "m1").TroubleIn == fleet.HostDeprovisioningError || machineOf(i, worker).Silent
		})
		if m := machineOf(got, worker); m.State != fleet.MachineDeleting || m.ProviderID != id {
			t.Errorf("while its release failed the machine is %+v", m)
		}
		if s := w.hosts["m1"].State(); s.Running != metal3test.OnDisk {
			t.Errorf("the machine runs on, and the host is %+v", s)
		}
		silent.End()
		w.remove(c, worker)
		if s := w.hosts["m1"].State(); s.On {
			t.Errorf("the host is %+v", s)
		}
	}, "m1")
}

// TestSilentBMC: a host whose BMC is silent is not released, and its machine is on its way out
// until it is back.
func TestSilentBMC(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.create(c, worker)
	silent := w.FailHosts(metal3test.HostFault{Host: w.hosts["m1"].Name(), At: metal3test.AtRequest})
	w.until(c, "silent", func(i fleet.Infrastructure) bool { return machineOf(i, worker).Silent })
	w.ResetCalls()
	for range 2 {
		if err := w.p.DeleteMachine(t.Context(), "op", c, worker, ""); err != nil {
			t.Fatal(err)
		}
	}
	if m := machineOf(w.observe(c), worker); m.State != fleet.MachineDeleting || !m.Silent || m.Interrupted {
		t.Errorf("the machine is %+v", m)
	}
	for _, call := range w.Calls() {
		if call.Changes() {
			t.Errorf("asked for while the BMC is silent: %s", call.Method)
		}
	}
	silent.End()
	got := w.until(c, "heard again", func(i fleet.Infrastructure) bool { return !machineOf(i, worker).Silent })
	if m := machineOf(got, worker); m.State != fleet.MachineDeleting || !m.Interrupted {
		t.Errorf("the machine is %+v", m)
	}
	w.remove(c, worker)
}

// TestRace: of two agents that ask for one host at once one gets it, and the other is told who.
func TestRace(t *testing.T) {
	t.Parallel()
	each(t, false, func(t *testing.T, w *world) {
		w.until(&w.c, "available", allFree)
		var all sync.WaitGroup
		errs := make([]error, 2)
		for n := range errs {
			c := w.c
			c.Key.Name = []string{"eu-1", "eu-2"}[n]
			p := w.provider()
			if err := p.EnsureInfrastructure(t.Context(), "op", &c); err != nil {
				t.Fatal(err)
			}
			all.Go(func() { errs[n] = p.CreateMachine(t.Context(), "op", request(&c, worker)) })
		}
		all.Wait()
		won := 0
		for _, err := range errs {
			switch {
			case err == nil:
				won++
			case fleet.KindOf(err) != fleet.Exhausted || !strings.Contains(err.Error(), "m1 "):
				t.Errorf("the other is told %v, of kind %s", err, fleet.KindOf(err))
			}
		}
		if won != 1 {
			t.Errorf("%d agents have the host", won)
		}
	}, "m1")
}

// TestCredentials: an account that is wrong, or that changes, is told, and Git's new one is used.
func TestCredentials(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c, h := &w.c, w.hosts["m1"]
	account := func(password string) {
		c.Companions[0].Secrets = map[fleet.Key]fleet.SecretData{{Namespace: w.namespace, Name: "m1-bmc"}: secretOf(map[string]string{"username": metal3test.BMCUser, "password": password})}
	}
	account("wrong")
	got := w.until(c, "refused", func(i fleet.Infrastructure) bool { return hostOf(i, "m1").Trouble != "" })
	if h := hostOf(got, "m1"); h.TroubleIn != fleet.HostRegistrationError || !strings.Contains(h.Trouble, "401") || h.State != fleet.HostRegistering {
		t.Errorf("the host is %+v", h)
	}
	account(h.Password())
	w.until(c, "available", allFree)
	w.create(c, worker)
	h.SetPassword("another")
	w.until(c, "silent", func(i fleet.Infrastructure) bool { return machineOf(i, worker).Silent })
	account("another")
	got = w.until(c, "heard again", func(i fleet.Infrastructure) bool { return !machineOf(i, worker).Silent })
	if m := machineOf(got, worker); m.State != fleet.MachineRunning {
		t.Errorf("the machine is %+v", m)
	}
}

// TestDeployFails: a machine whose image cannot be written failed, with Ironic's words, and the
// next one gets another host.
func TestDeployFails(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2")
	c := &w.c
	w.until(c, "available", allFree)
	fault := w.FailHosts(metal3test.HostFault{Host: w.hosts["m1"].Name(), At: metal3test.AtWrite, Message: "no space left on device"})
	if err := w.p.CreateMachine(t.Context(), "op", request(c, worker)); err != nil {
		t.Fatal(err)
	}
	got := w.until(c, "failed", func(i fleet.Infrastructure) bool { return machineOf(i, worker).State == fleet.MachineFailed })
	if m := machineOf(got, worker); !strings.Contains(m.Message, "no space left on device") || !strings.HasPrefix(m.Message, "cannot deploy host") {
		t.Errorf("the machine failed: %s", m.Message)
	}
	w.remove(c, worker)
	fault.End()
	w.until(c, "available", allFree)
	if m := w.create(c, worker); !strings.Contains(string(m.ProviderID), "/m2/") {
		t.Errorf("the next one is %s", m.ProviderID)
	}
}

// TestHostLeavesGit: a host that leaves Git stays as it is, with its machine, which can go.
func TestHostLeavesGit(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.create(c, worker)
	c.Companions = nil
	w.ResetCalls()
	got := w.observe(c)
	if err := w.p.EnsureInfrastructure(t.Context(), "op", c); err != nil {
		t.Fatal(err)
	}
	h := hostOf(got, "m1")
	if m := machineOf(got, worker); m.State != fleet.MachineRunning || !h.Gone || !strings.Contains(h.Held, "Git no longer has it") {
		t.Errorf("the machine is %+v, its host %+v", m, h)
	}
	w.remove(c, worker)
	got = w.until(c, "free", func(i fleet.Infrastructure) bool { return hostOf(i, "m1").State == fleet.HostAvailable })
	if err := w.p.CreateMachine(t.Context(), "op", request(c, worker)); fleet.KindOf(err) != fleet.Exhausted || !strings.Contains(err.Error(), "m1 left Git") {
		t.Errorf("CreateMachine = %v", err)
	}
	if hostOf(got, "m1").Held == "" {
		t.Errorf("the host is %+v", hostOf(got, "m1"))
	}
}

// TestInUse: a host that is on when it is enrolled may be at work, and is held until people say.
func TestInUse(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c, h := &w.c, w.hosts["m1"]
	h.Install(metal3test.Disk{ID: "old"})
	before := h.State()
	got := w.until(c, "held", func(i fleet.Infrastructure) bool { return hostOf(i, "m1").Held != "" })
	if !strings.Contains(hostOf(got, "m1").Held, "switched on") || len(got.Upkeep) > 0 {
		t.Errorf("the host is %+v, upkeep %q", hostOf(got, "m1"), got.Upkeep)
	}
	if err := w.p.CreateMachine(t.Context(), "op", request(c, worker)); fleet.KindOf(err) != fleet.Exhausted || !strings.Contains(err.Error(), "switched on") {
		t.Errorf("CreateMachine = %v", err)
	}
	if diff := cmp.Diff(before, h.State()); diff != "" {
		t.Errorf("what ran on it was touched:\n%s", diff)
	}
	c.Companions[0].Annotations = map[string]string{"fairlead.dev/erase": time.Now().UTC().Format(time.RFC3339Nano)}
	w.until(c, "available", allFree)
}

// TestEnrolmentIsInterrupted: whichever answer is lost, a host is enrolled once and gets
// available.
func TestEnrolmentIsInterrupted(t *testing.T) {
	t.Parallel()
	for nth := range 6 { // a node, its port, both once more, manage, provide
		w := doubled(t, "m1")
		lost := w.FailCalls(metal3test.CallFault{Changes: true, Skip: nth, Times: 1, Lose: true})
		w.until(&w.c, "available", allFree)
		if lost.Done() != 1 {
			t.Errorf("answer %d was not lost", nth)
		}
		ports := w.hosts["m1"].MAC()
		if !slices.ContainsFunc(w.Calls(), func(c metal3test.Call) bool { return c.Method == "POST /v1/ports" && c.Contains(ports) }) {
			t.Errorf("answer %d was lost, and the card %s is not known", nth, ports)
		}
	}
}

// TestHalfMade: what one agent claimed another one deploys, with what the machine boots with.
func TestHalfMade(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.until(c, "available", allFree)
	cut := w.FailCalls(metal3test.CallFault{Method: "PUT /v1/nodes/*/states/provision", Cut: true})
	if err := w.p.CreateMachine(t.Context(), "op-1", request(c, worker)); err == nil {
		t.Fatal("the deployment was not cut off")
	}
	cut.End()
	w.p = w.provider()
	got := w.observe(c)
	want := []string{"deploy it: host " + w.namespace + "/m1 of machine " + string(worker)}
	if m := machineOf(got, worker); m.State != fleet.MachinePending || cmp.Diff(want, got.Upkeep) != "" {
		t.Errorf("the machine is %+v, upkeep %q", m, got.Upkeep)
	}
	w.until(c, "running", func(i fleet.Infrastructure) bool { return machineOf(i, worker).State == fleet.MachineRunning })
	if d := w.hosts["m1"].State().Disk; d == nil || d.Drive["user_data"] != "#cloud-config\n{}\n" {
		t.Errorf("the disk is %+v", d)
	}
}

// TestOneAddress: of two machines that were given one address at once, one is deployed, and the
// other is given back before it ever ran.
func TestOneAddress(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2")
	c := &w.c
	w.pooled(c, "10.0.0.10")
	w.until(c, "available", allFree)
	slow := metal3.New(metal3.Options{Ironic: ironic.Options{Rate: 10_000}, Tick: time.Hour, Settle: settle, Retry: retry})
	t.Cleanup(slow.Close)
	if err := slow.EnsureInfrastructure(t.Context(), "op", c); err != nil { // it looks, and not again
		t.Fatal(err)
	}
	first := request(c, worker)
	if err := w.p.CreateMachine(t.Context(), "op-1", first); err != nil {
		t.Fatal(err)
	}
	if w.hosts["m1"].State().On || w.hosts["m2"].State().On {
		t.Error("a machine was deployed before a look showed its address once")
	}
	if err := slow.CreateMachine(t.Context(), "op-2", request(c, "eu-1-md-0-b2c")); err != nil {
		t.Fatal(err)
	}
	got := w.observe(c)
	if a, b := machineOf(got, worker).Addresses, machineOf(got, "eu-1-md-0-b2c").Addresses; len(a) != 1 || cmp.Diff(a, b) != "" {
		t.Fatalf("the machines have %q and %q: one address was to be given twice", a, b)
	}
	got = w.until(c, "one runs", func(i fleet.Infrastructure) bool {
		return len(i.Machines) == 1 && i.Machines[0].State == fleet.MachineRunning
	})
	boots := w.hosts["m1"].State().Boots + w.hosts["m2"].State().Boots
	if boots != 1 {
		t.Errorf("%d boots of machines %+v", boots, got.Machines)
	}
}
