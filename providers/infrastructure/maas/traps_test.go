package maas_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/providers/infrastructure/maas"
	"fairlead.dev/providers/infrastructure/maas/api"
	"fairlead.dev/providers/infrastructure/maas/maastest"
)

// within runs a test in a bubble, with a region of so many hosts.
func within(t *testing.T, hosts int, test func(w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(newWorld(t, hosts)) })
}

// hostOf returns the machine of MAAS, and the hardware, that a machine has.
func (w *world) hostOf(m fleet.Machine) (maastest.Machine, maastest.Host) {
	return w.Machine(systemID(m.ProviderID))
}

// calls returns how many calls came whose method matches.
func (w *world) calls(method string) (n int) {
	for _, c := range w.Calls() {
		if strings.HasPrefix(c.Method, method) {
			n++
		}
	}
	return n
}

// fixed gives c an endpoint that somebody else serves.
func (w *world) fixed(c *fleet.Cluster) {
	w.shared(c, func(s *api.MaasClusterSpec) { s.ControlPlaneEndpoint.Host = "10.0.200.7" })
}

// server makes a server, and waits until it runs.
func (w *world) server(c *fleet.Cluster, name fleet.MachineName) fleet.Machine {
	w.Helper()
	r := request(c, name)
	r.Pool = c.ControlPlane
	if err := w.p.CreateMachine(w.Context(), "op-"+fleet.OperationID(name), r); err != nil {
		w.Fatal(err)
	}
	return machineOf(w.until(c, "running", func(i fleet.Infrastructure) bool {
		return machineOf(i, name).State == fleet.MachineRunning && len(i.Upkeep) == 0
	}), name)
}

// TestNoAdministrator (CAPMAAS #85): an account without rights makes and deletes machines. It cannot change
// DNS, and is told what to do.
func TestNoAdministrator(t *testing.T) {
	within(t, 1, func(w *world) {
		w.user = w.AddUser("plain", false)
		w.p = w.provider()
		err := w.p.EnsureInfrastructure(w.Context(), "op", &w.c)
		wantKind(w, "EnsureInfrastructure with a name", err, fleet.Unauthorized)
		if !strings.Contains(err.Error(), "controlPlaneEndpoint.host") {
			w.Errorf("%v does not say what to do", err)
		}
		w.fixed(&w.c)
		w.create(&w.c, "m-0")
		w.remove(&w.c, "m-0")
		if n := w.calls("PUT"); n > 0 {
			w.Errorf("there were %d PUTs", n)
		}
	})
}

// TestReleaseFails: MAAS cannot switch the host off. It is Deployed again without agent name and system, and
// what ran there runs on. It is the machine that it was, and is released once the BMC is back.
func TestReleaseFails(t *testing.T) {
	within(t, 2, func(w *world) {
		w.c.Workers[0].Infrastructure = w.template("md-0", func(s *api.MaasMachineSpec) { s.EraseDisks = api.EraseNever })
		m := w.create(&w.c, "m-0")
		host := systemID(m.ProviderID)
		w.Change(host, func(_ *maastest.Machine, h *maastest.Host) { h.NoBMC = true })
		if err := w.p.DeleteMachine(w.Context(), "op", &w.c, "m-0", ""); err != nil {
			w.Fatal(err)
		}
		time.Sleep(settle)
		w.Change(host, func(m *maastest.Machine, h *maastest.Host) {
			if m.Status != maastest.Deployed || m.Agent != "" || !h.On {
				w.Errorf("a release that failed leaves %+v", m)
			}
		})
		got := machineOf(w.observe(&w.c), "m-0")
		if got.State != fleet.MachineDeleting || !got.Interrupted || !got.Silent || got.ProviderID != m.ProviderID {
			w.Errorf("after a release that failed the machine is %+v", got)
		}
		if err := w.p.DeleteMachine(w.Context(), "op", &w.c, "m-0", ""); err != nil {
			w.Fatal(err)
		}
		if got := machineOf(w.observe(&w.c), "m-0"); got.State != fleet.MachineDeleting || got.Interrupted || !got.Silent || got.Message == "" {
			w.Errorf("while it is released again the machine is %+v", got)
		}
		wantKind(w, "CreateMachine of its name", w.p.CreateMachine(w.Context(), "op", request(&w.c, "m-0")), fleet.Conflict)
		w.Change(host, func(_ *maastest.Machine, h *maastest.Host) { h.NoBMC = false })
		w.remove(&w.c, "m-0")
		if _, h := w.Machine(host); h.On {
			w.Error("the host of a machine that is gone is on")
		}
	})
}

// TestReleaseOfADeploymentFails: the same, of a machine that is being deployed.
func TestReleaseOfADeploymentFails(t *testing.T) {
	within(t, 1, func(w *world) {
		w.c.Workers[0].Infrastructure = w.template("md-0", func(s *api.MaasMachineSpec) { s.EraseDisks = api.EraseNever })
		w.ready(&w.c)
		if err := w.p.CreateMachine(w.Context(), "op", request(&w.c, "m-0")); err != nil {
			w.Fatal(err)
		}
		w.each(func(h *maastest.Host) { h.NoBMC = true })
		if err := w.p.DeleteMachine(w.Context(), "op", &w.c, "m-0", ""); err != nil {
			w.Fatal(err)
		}
		time.Sleep(settle)
		if got := machineOf(w.observe(&w.c), "m-0"); got.State != fleet.MachineDeleting || !got.Interrupted {
			w.Errorf("after a release that failed the machine is %+v", got)
		}
		w.each(func(h *maastest.Host) { h.NoBMC = false })
		w.remove(&w.c, "m-0")
	})
}

// TestErasureFails: the machine stays in deletion, and is released when people changed how.
func TestErasureFails(t *testing.T) {
	within(t, 1, func(w *world) {
		m := w.create(&w.c, "m-0")
		w.each(func(h *maastest.Host) { h.NeverErases = true })
		if err := w.p.DeleteMachine(w.Context(), "op", &w.c, "m-0", ""); err != nil {
			w.Fatal(err)
		}
		time.Sleep(settle)
		if got := machineOf(w.observe(&w.c), "m-0"); got.State != fleet.MachineDeleting || !got.Interrupted || got.Silent || got.Message == "" {
			w.Errorf("after an erasure that failed the machine is %+v", got)
		}
		w.c.Workers[0].Infrastructure = w.template("md-0", func(s *api.MaasMachineSpec) { s.EraseDisks = api.EraseNever })
		w.remove(&w.c, "m-0")
		if now, _ := w.hostOf(m); now.Status != maastest.Ready && now.Status != maastest.Releasing {
			w.Errorf("its host is %+v", now)
		}
	})
}

// TestErasures (CAPMAAS #390): disks are erased as the pool says, and quickly if it says nothing.
func TestErasures(t *testing.T) {
	within(t, 1, func(w *world) {
		for erasure, want := range map[api.Erasure]string{
			"": "erase quick_erase", api.EraseQuick: "erase quick_erase", api.EraseSecure: "erase quick_erase secure_erase", api.EraseFull: "erase", api.EraseNever: "",
		} {
			w.c.Workers[0].Infrastructure = w.template("md-0", func(s *api.MaasMachineSpec) { s.EraseDisks = erasure })
			m := w.create(&w.c, "m-0")
			w.ResetCalls()
			w.remove(&w.c, "m-0")
			var got []string
			for _, c := range w.Calls() {
				for _, key := range []string{"erase", "quick_erase", "secure_erase"} {
					if strings.HasSuffix(c.Method, " release") && c.Form.Get(key) == "true" && !slices.Contains(got, key) {
						got = append(got, key)
					}
				}
			}
			if text := strings.Join(got, " "); text != want {
				w.Errorf("eraseDisks %s releases with %q, want %q", erasure, text, want)
			}
			if _, h := w.hostOf(m); (h.OnDisk == nil) == (erasure == api.EraseNever) {
				w.Errorf("eraseDisks %s leaves %q on the disk", erasure, h.OnDisk)
			}
			time.Sleep(settle)
		}
	})
}

// TestManualPower: MAAS cannot switch such a host off, so that no machine gets it.
func TestManualPower(t *testing.T) {
	within(t, 0, func(w *world) {
		w.Add(maastest.Machine{Hostname: "manual", PowerType: "manual"})
		w.ready(&w.c)
		err := w.p.CreateMachine(w.Context(), "op", request(&w.c, "m-0"))
		wantKind(w, "CreateMachine with a manual host alone", err, fleet.Exhausted)
		if !strings.Contains(err.Error(), "manual has power that MAAS cannot switch") {
			w.Error(err)
		}
	})
}

// TestPower (CAPMAAS #379): a host that is off is switched on. One whose BMC does not answer is left alone:
// switching on is a power cycle.
func TestPower(t *testing.T) {
	within(t, 1, func(w *world) {
		m := w.create(&w.c, "m-0")
		host := systemID(m.ProviderID)
		for _, state := range []string{"error", "unknown"} {
			w.Change(host, func(m *maastest.Machine, h *maastest.Host) { m.Power = state })
			time.Sleep(settle)
			if got := w.observe(&w.c); len(got.Upkeep) > 0 || machineOf(got, "m-0").Power != fleet.HostPowerUnknown {
				w.Errorf("with power %s it is %+v", state, got)
			}
		}
		w.Change(host, func(m *maastest.Machine, h *maastest.Host) { m.Power = "off" }) // it is on: MAAS knows it in five minutes
		time.Sleep(settle)
		w.ResetCalls()
		if err := w.p.EnsureInfrastructure(w.Context(), "op", &w.c); err != nil {
			w.Error(err)
		}
		if n := w.calls("POST machines/" + host + "/ power_on"); n > 0 {
			w.Error("a host that is on was switched on")
		}
		w.Change(host, func(m *maastest.Machine, h *maastest.Host) { m.Power, h.On = "off", false })
		w.until(&w.c, "on", func(i fleet.Infrastructure) bool { return machineOf(i, "m-0").Power == fleet.HostOn })
		if _, h := w.Machine(host); !h.On {
			w.Error("the host is off")
		}
	})
}

// TestNameLeadsNowhere: MAAS keeps rows of addresses in a name. The name of a cluster does not lead to the
// next machine of a host that was its server's.
func TestNameLeadsNowhere(t *testing.T) {
	within(t, 2, func(w *world) {
		w.ready(&w.c)
		first := w.server(&w.c, "cp-0")
		w.server(&w.c, "cp-1")
		name := w.observe(&w.c).Endpoint.Host
		if got, _, _ := w.Lookup(name); len(got) != 2 {
			w.Errorf("the name leads to %v, want two servers", got)
		}
		end := w.Inject(maastest.Fault{Method: "POST machines/*/ release", Times: 1, Do: func(maastest.Call) {
			if got, _, _ := w.Lookup(name); slices.Contains(got, first.Addresses[0]) {
				w.Errorf("the name leads to %v when the host of cp-0 is released", got)
			}
		}})
		w.remove(&w.c, "cp-0")
		if end() != 1 {
			w.Error("no host was released")
		}
		time.Sleep(settle)
		w.until(&w.c, "rid of it", func(i fleet.Infrastructure) bool { return len(i.Machines) == 1 })
		m := w.create(&w.c, "m-0")
		if systemID(m.ProviderID) != systemID(first.ProviderID) {
			w.Fatalf("the worker has %s, and is to have the host of the server, %s", m.ProviderID, first.ProviderID)
		}
		if got, _, _ := w.Lookup(name); slices.Contains(got, m.Addresses[0]) || len(got) != 1 {
			w.Errorf("the name leads to %v, and %s is a worker", got, m.Addresses[0])
		}
		w.remove(&w.c, "m-0")
		w.remove(&w.c, "cp-1")
		if err := w.p.DeleteInfrastructure(w.Context(), "op", &w.c); err != nil {
			w.Error(err)
		}
		if names := w.Names(); len(names) > 0 {
			w.Errorf("the deletion leaves the names %v", names)
		}
	})
}

// TestNameOfOthers: a name without the record of the cluster is not changed. If Git names it, it is served by
// somebody else.
func TestNameOfOthers(t *testing.T) {
	within(t, 1, func(w *world) {
		name := w.ready(&w.c).Endpoint.Host
		if err := w.p.DeleteInfrastructure(w.Context(), "op", &w.c); err != nil {
			w.Fatal(err)
		}
		if err := w.AddName(name, "10.9.9.9"); err != nil {
			w.Fatal(err)
		}
		time.Sleep(settle)
		wantKind(w, "EnsureInfrastructure with a name of somebody else", w.p.EnsureInfrastructure(w.Context(), "op", &w.c), fleet.Conflict)
		w.shared(&w.c, func(s *api.MaasClusterSpec) { s.ControlPlaneEndpoint.Host = name })
		w.ready(&w.c)
		w.server(&w.c, "cp-0")
		if got, _, _ := w.Lookup(name); !slices.Equal(got, []string{"10.9.9.9"}) {
			w.Errorf("the name leads to %v", got)
		}
	})
}

// TestAnotherDomain: a cluster keeps its name if Git has another domain.
func TestAnotherDomain(t *testing.T) {
	within(t, 1, func(w *world) {
		w.AddDomain("example.com")
		first := w.ready(&w.c).Endpoint
		w.shared(&w.c, func(s *api.MaasClusterSpec) { s.DNSDomain = "example.com" })
		if got := w.ready(&w.c).Endpoint; got != first {
			w.Errorf("the endpoint is %v, and was %v", got, first)
		}
		w.server(&w.c, "cp-0")
		w.c.Residence.ControlPlane, w.c.Residence.Endpoint = fleet.InitializedOnce, first
		if got, err := w.p.Observe(w.Context(), &w.c); err != nil || got.Endpoint != first || !got.Ready {
			w.Errorf("the cluster that knows its endpoint is %+v, %v", got, err)
		}
		if err := w.p.LeaveEndpoint(w.Context(), &w.c, "cp-0", ""); err != nil {
			w.Error(err)
		}
		if got, _, _ := w.Lookup(first.Host); len(got) != 1 {
			w.Errorf("the name leads to %v", got)
		}
	})
}

// TestNamedInDomain: a name that Git has in the domain, and that nobody made, is made.
func TestNamedInDomain(t *testing.T) {
	within(t, 1, func(w *world) {
		w.shared(&w.c, func(s *api.MaasClusterSpec) { s.ControlPlaneEndpoint.Host = "api.maas" })
		if got := w.ready(&w.c).Endpoint; got.Host != "api.maas" {
			w.Errorf("the endpoint is %v", got)
		}
		m := w.server(&w.c, "cp-0")
		if got, _, _ := w.Lookup("api.maas"); !slices.Equal(got, m.Addresses) {
			w.Errorf("the name leads to %v, want %v", got, m.Addresses)
		}
	})
}

// TestVirtualIPOfAMachine: servers do not announce the address of a machine. A cluster that has servers goes on.
func TestVirtualIPOfAMachine(t *testing.T) {
	within(t, 2, func(w *world) {
		other := w.cluster()
		other.Key.Name = "eu-2"
		w.ready(&other)
		taken := w.server(&other, "eu-2-cp-0").Addresses[0]
		w.shared(&w.c, func(s *api.MaasClusterSpec) { s.ControlPlaneEndpoint.Host, s.VirtualIP = taken, &endpoint.VirtualIP{} })
		if err := w.p.EnsureInfrastructure(w.Context(), "op", &w.c); err != nil {
			w.Error(err)
		}
		time.Sleep(settle)
		if got := w.observe(&w.c); got.Ready || !strings.Contains(got.Message, "the endpoint "+taken+" is an address of host m0") {
			w.Errorf("the cluster is ready: %t, %q", got.Ready, got.Message)
		}
		w.shared(&w.c, func(s *api.MaasClusterSpec) { s.VirtualIP = nil }) // it may be a load balancer
		w.server(&w.c, "cp-0")
		w.shared(&w.c, func(s *api.MaasClusterSpec) { s.VirtualIP = &endpoint.VirtualIP{} })
		if got := w.observe(&w.c); !got.Ready {
			w.Errorf("the cluster with a server is not ready: %s", got.Message)
		}
	})
}

// TestFormerName: machines know the API server by a name that Git does not name any more. It leads to servers as
// they come and go, and is deleted with the cluster.
func TestFormerName(t *testing.T) {
	for reason, change := range map[string]func(*api.MaasClusterSpec){
		"a host elsewhere":           func(s *api.MaasClusterSpec) { s.ControlPlaneEndpoint.Host = "api.example.com" },
		"another name of the domain": func(s *api.MaasClusterSpec) { s.ControlPlaneEndpoint.Host = "api.maas" },
		"a virtual IP": func(s *api.MaasClusterSpec) {
			s.ControlPlaneEndpoint.Host, s.VirtualIP = "10.0.200.1", &endpoint.VirtualIP{}
		},
	} {
		t.Run(reason, func(t *testing.T) {
			within(t, 2, func(w *world) {
				known := w.ready(&w.c).Endpoint.Host
				first := w.server(&w.c, "cp-0")
				w.shared(&w.c, change)
				w.ready(&w.c)
				if got := w.observe(&w.c).Endpoint.Host; got == known {
					w.Errorf("the endpoint is %s, want that of Git", got)
				}
				second := w.server(&w.c, "cp-1")
				if got, _, _ := w.Lookup(known); !slices.Equal(got, slices.Concat(first.Addresses, second.Addresses)) {
					w.Errorf("%s leads to %v, want both servers", known, got)
				}
				if err := w.p.LeaveEndpoint(w.Context(), &w.c, "cp-0", first.ProviderID); err != nil {
					w.Error(err)
				}
				if got, _, _ := w.Lookup(known); !slices.Equal(got, second.Addresses) {
					w.Errorf("%s leads to %v, want the server that stays", known, got)
				}
				for _, name := range []fleet.MachineName{"cp-0", "cp-1"} {
					w.remove(&w.c, name)
				}
				time.Sleep(settle)
				w.until(&w.c, "rid of its machines", func(i fleet.Infrastructure) bool { return len(i.Machines) == 0 })
				if err := w.p.DeleteInfrastructure(w.Context(), "op", &w.c); err != nil {
					w.Error(err)
				}
				if names := w.Names(); len(names) > 0 {
					w.Errorf("the deletion leaves the names %v", names)
				}
			})
		})
	}
}

// TestUnansweredClaim (terraform-provider-maas 288, 329): MAAS answers 503 after it gave a host. The machine
// is there, and no other host is taken for it.
func TestUnansweredClaim(t *testing.T) {
	within(t, 3, func(w *world) {
		w.ready(&w.c)
		end := w.Inject(maastest.Fault{Method: "POST machines/ allocate", Times: 1, Status: http.StatusServiceUnavailable, After: true})
		wantKind(w, "CreateMachine", w.p.CreateMachine(w.Context(), "op", request(&w.c, "m-0")), fleet.Unanswered)
		if end() != 1 {
			w.Fatal("nothing was lost")
		}
		if got := machineOf(w.observe(&w.c), "m-0"); got.State != fleet.MachinePending || got.Pool != "md-0" || got.Damaged != "" {
			w.Errorf("the claim is seen as %+v", got)
		}
		if err := w.p.CreateMachine(w.Context(), "op", request(&w.c, "m-0")); err != nil {
			w.Error(err)
		}
		time.Sleep(2 * settle)
		got := machineOf(w.observe(&w.c), "m-0")
		if got.State != fleet.MachineFailed || got.Message == "" {
			w.Errorf("a claim without a deployment is seen as %+v", got)
		}
		w.ResetCalls()
		w.remove(&w.c, "m-0")
		for _, c := range w.Calls() {
			if c.Form.Has("erase") {
				w.Error("a host on which nothing was deployed is erased")
			}
		}
		for _, m := range w.Machines() {
			if m.Owner != "" {
				w.Errorf("host %s is kept", m.Hostname)
			}
		}
	})
}

// TestBadHostGoesLast (terraform-provider-maas of negronjl, 6): a host on which a deployment failed is tried last.
func TestBadHostGoesLast(t *testing.T) {
	within(t, 2, func(w *world) {
		w.ready(&w.c)
		w.Change("m00", func(_ *maastest.Machine, h *maastest.Host) { h.BadDisk = true })
		if err := w.p.CreateMachine(w.Context(), "op", request(&w.c, "m-0")); err != nil {
			w.Fatal(err)
		}
		got := w.until(&w.c, "failed", func(i fleet.Infrastructure) bool { return machineOf(i, "m-0").State == fleet.MachineFailed })
		if m := machineOf(got, "m-0"); !strings.Contains(m.Message, "no disk") {
			w.Errorf("it says %q", m.Message)
		}
		w.remove(&w.c, "m-0")
		time.Sleep(settle)
		if m, _ := w.hostOf(w.create(&w.c, "m-0")); m.Hostname != "m01" {
			w.Errorf("the next machine has host %s", m.Hostname)
		}
	})
}

// TestSilentBMCGoesLast: a host whose BMC did not answer MAAS is asked only if no other host fits.
func TestSilentBMCGoesLast(t *testing.T) {
	within(t, 2, func(w *world) {
		w.Change("m00", func(m *maastest.Machine, h *maastest.Host) { m.Power, h.NoBMC = "error", true })
		if m, _ := w.hostOf(w.create(&w.c, "m-0")); m.Hostname != "m01" {
			w.Errorf("the machine has host %s", m.Hostname)
		}
		if m, _ := w.Machine("m00"); slices.ContainsFunc(w.Calls(), func(c maastest.Call) bool {
			return strings.Contains(c.Method, m.SystemID)
		}) {
			w.Error("the BMC of m00 was asked")
		}
		wantKind(w, "CreateMachine without another host", w.p.CreateMachine(w.Context(), "op", request(&w.c, "m-1")), fleet.Exhausted)
		if m, _ := w.Machine("m00"); m.Owner != "" {
			w.Errorf("the host without a BMC is %+v", m)
		}
	})
}

// TestPeople: people lock, rescue, break and release hosts.
func TestPeople(t *testing.T) {
	within(t, 2, func(w *world) {
		m := w.create(&w.c, "m-0")
		host := systemID(m.ProviderID)
		set := func(change func(m *maastest.Machine)) {
			w.Change(host, func(m *maastest.Machine, _ *maastest.Host) { change(m) })
			time.Sleep(settle)
		}
		set(func(m *maastest.Machine) { m.Locked = true })
		wantKind(w, "DeleteMachine on a locked host", w.p.DeleteMachine(w.Context(), "op", &w.c, "m-0", ""), fleet.Conflict)
		set(func(m *maastest.Machine) { m.Locked, m.Status = false, maastest.RescueMode })
		if got := machineOf(w.observe(&w.c), "m-0"); !got.Silent || got.State != fleet.MachineRunning || !strings.Contains(got.Message, "Rescue mode") {
			w.Errorf("a machine in rescue mode is %+v", got)
		}
		wantKind(w, "DeleteMachine on a host in rescue mode", w.p.DeleteMachine(w.Context(), "op", &w.c, "m-0", ""), fleet.Conflict)
		set(func(m *maastest.Machine) { m.Status, m.ErrorText = maastest.Broken, "smoke" })
		if got := machineOf(w.observe(&w.c), "m-0"); got.State != fleet.MachineFailed || got.Message != "smoke" {
			w.Errorf("a machine on a broken host is %+v", got)
		}
		w.remove(&w.c, "m-0")
		m = w.create(&w.c, "m-1")
		w.Change(systemID(m.ProviderID), func(m *maastest.Machine, h *maastest.Host) { // released by hand
			m.Status, m.Owner, m.Annotations, m.Agent, m.IP, m.Power, h.On = maastest.Ready, "", nil, "", "", "off", false
		})
		time.Sleep(settle)
		if got := machineOf(w.observe(&w.c), "m-1"); got.Name != "" {
			w.Errorf("a machine whose host was released by hand is %+v", got)
		}
	})
}

// TestConstraints: a machine gets a host that has what it requires, or is told what is in the way of each.
func TestConstraints(t *testing.T) {
	within(t, 0, func(w *world) {
		w.Add(maastest.Machine{Hostname: "small", Zone: "a", Pool: "prod", Tags: []string{"ssd"}})
		w.Add(maastest.Machine{Hostname: "large", CPU: 64, Memory: 1 << 18, Disk: 2000, Zone: "b", Pool: "prod", Tags: []string{"ssd", "gpu"}})
		w.ready(&w.c)
		for reason, tc := range map[string]struct {
			change func(*api.MaasMachineSpec)
			want   string // a host, or a part of the error
			kind   fleet.ErrorKind
		}{
			"any":           {func(*api.MaasMachineSpec) {}, "large", ""}, // in the order of names
			"a tag":         {func(s *api.MaasMachineSpec) { s.Tags = []string{"gpu", "ssd"} }, "large", ""},
			"a zone":        {func(s *api.MaasMachineSpec) { s.FailureDomain = "a" }, "small", ""},
			"a disk":        {func(s *api.MaasMachineSpec) { s.MinDiskSizeInGB = new(int64(1000)) }, "large", ""},
			"CPUs":          {func(s *api.MaasMachineSpec) { s.MinCPU = new(int64(65)) }, "large has 64 CPUs; small has 8 CPUs", fleet.Exhausted},
			"memory":        {func(s *api.MaasMachineSpec) { s.MinMemoryInMB = new(int64(1 << 20)) }, "large has 262144 MiB of memory", fleet.Exhausted},
			"a larger disk": {func(s *api.MaasMachineSpec) { s.MinDiskSizeInGB = new(int64(5000)) }, "large has no boot disk of 5000 GB", fleet.Exhausted},
			"another tag":   {func(s *api.MaasMachineSpec) { s.Tags = []string{"nvme"} }, "has no tag nvme", fleet.Exhausted},
			"no pool":       {func(s *api.MaasMachineSpec) { s.ResourcePool = "test" }, "No such pool(s): test.", fleet.Invalid},
			"no zone":       {func(s *api.MaasMachineSpec) { s.FailureDomain = "c" }, "No such zone(s): c.", fleet.Invalid},
			"no image":      {func(s *api.MaasMachineSpec) { s.Image = "custom/x" }, `MAAS has no image "custom/x"`, fleet.Invalid},
		} {
			w.c.Workers[0].Infrastructure = w.template("md-0", tc.change)
			err := w.p.CreateMachine(w.Context(), "op", request(&w.c, "m-0"))
			if tc.kind != "" {
				if fleet.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.want) {
					w.Errorf("%s: %v (kind %s), want %q", reason, err, fleet.KindOf(err), tc.want)
				}
				continue
			}
			if err != nil {
				w.Errorf("%s: %v", reason, err)
				continue
			}
			if m, _ := w.hostOf(machineOf(w.observe(&w.c), "m-0")); m.Hostname != tc.want {
				w.Errorf("%s: it has host %s, want %s", reason, m.Hostname, tc.want)
			}
			w.remove(&w.c, "m-0")
			time.Sleep(2 * settle)
		}
		for _, m := range w.Machines() {
			if m.Owner != "" {
				w.Errorf("host %s was taken, and nobody wanted it", m.Hostname)
			}
		}
	})
}

// TestDeployment: a host gets the image, the user data with its zone, and runs in memory if that is wished for.
func TestDeployment(t *testing.T) {
	within(t, 1, func(w *world) {
		w.c.Workers[0].Infrastructure = w.template("md-0", func(s *api.MaasMachineSpec) { s.DeployInMemory, s.Image = new(true), "ubuntu/jammy" })
		w.ready(&w.c)
		r := request(&w.c, "m-0")
		r.UserData.Content = fleet.NewSecret([]byte("#cloud-config\n# " + w.p.NodeID() + "\n"))
		if err := w.p.CreateMachine(w.Context(), "op", r); err != nil {
			w.Fatal(err)
		}
		got := machineOf(w.observe(&w.c), "m-0")
		m, _ := w.hostOf(got)
		id := strings.Replace(string(got.ProviderID), m.SystemID, "{{ v1.instance_id }}", 1)
		if m.OSystem != "ubuntu" || m.Series != "jammy" || !m.Ephemeral || string(m.UserData) != "#cloud-config\n# "+id+"\n" {
			w.Errorf("deployed is %s/%s, in memory %t, with %q; the provider id is %s", m.OSystem, m.Series, m.Ephemeral, m.UserData, got.ProviderID)
		}
		r.UserData.Format = "ignition"
		r.Name = "m-1"
		wantKind(w, "CreateMachine with Ignition", w.p.CreateMachine(w.Context(), "op", r), fleet.Invalid)
	})
}

// TestNoAddress: MAAS has no address for a further host. The host is given back.
func TestNoAddress(t *testing.T) {
	within(t, 2, func(w *world) {
		w.create(&w.c, "m-0")
		w.SetAddresses(1)
		wantKind(w, "CreateMachine without an address", w.p.CreateMachine(w.Context(), "op", request(&w.c, "m-1")), fleet.Exhausted)
		if m, _ := w.Machine("m01"); m.Status != maastest.Ready {
			w.Errorf("the host is %+v", m)
		}
	})
}

// TestOneListing (terraform-provider-maas 239): all clusters of a region share a listing, of the machines of the
// account. It is made again if events of MAAS say that something happened, or after a long time.
func TestOneListing(t *testing.T) {
	within(t, 3, func(w *world) {
		w.create(&w.c, "m-0")
		w.p = w.providerOf(maas.Options{Relist: time.Hour})
		other := w.cluster()
		other.Key.Name = "eu-2"
		both := func() {
			time.Sleep(2 * tick)
			w.observe(&w.c)
			w.observe(&other)
		}
		w.ResetCalls()
		both()
		if n := w.calls("GET machines/"); n != 1 {
			w.Errorf("two clusters list machines %d times, want once", n)
		}
		for _, c := range w.Calls() {
			if c.Method == "GET machines/" && c.Query.Get("owner") != "fleet" {
				w.Errorf("the listing is of %v, want those of the account", c.Query)
			}
		}
		w.ResetCalls()
		for range 10 {
			both()
		}
		if n := w.calls("GET machines/"); n != 0 {
			w.Errorf("without events machines are listed %d times", n)
		}
		if n := w.calls("GET events/"); n != 10 {
			w.Errorf("events are asked for %d times, want 10", n)
		}
		w.p.DeleteMachine(w.Context(), "op", &w.c, "m-0", "")
		if got := machineOf(w.observe(&w.c), "m-0"); got.State != fleet.MachineDeleting {
			w.Errorf("a change of its own is seen as %+v", got)
		}
		time.Sleep(2 * settle) // the rest are events
		if got := machineOf(w.observe(&w.c), "m-0"); got.Name != "" {
			w.Errorf("after its release the machine is %+v", got)
		}
	})
}

// TestDamage: a deployed machine that lost its tags is found by its provider id, and nothing happens to it.
func TestDamage(t *testing.T) {
	within(t, 1, func(w *world) {
		m := w.create(&w.c, "m-0")
		w.annotate(systemID(m.ProviderID), nil)
		time.Sleep(settle)
		got, err := w.p.Untagged(w.Context(), &w.c, []fleet.ProviderID{m.ProviderID, "maas:///a/none", "x"})
		if err != nil || len(got) != 1 || got[0].ProviderID != m.ProviderID || got[0].Damaged == "" {
			w.Errorf("Untagged = %+v, %v", got, err)
		}
	})
}

// TestNextMachineOfAHost: between the listing and the second look, people released the host, and another agent
// has it for another machine of the cluster.
func TestNextMachineOfAHost(t *testing.T) {
	within(t, 1, func(w *world) {
		m := w.create(&w.c, "m-0")
		time.Sleep(settle)
		w.Inject(maastest.Fault{Method: "GET machines/" + systemID(m.ProviderID) + "/", Times: 1, Do: func(maastest.Call) {
			w.retag(w, m.ProviderID, func(tags map[string]string) {
				tags[fleet.TagMachine], tags["fairlead.dev/created"] = "m-9", "2026-11-28T12:00:00Z"
			})
		}})
		if err := w.p.DeleteMachine(w.Context(), "op", &w.c, "m-0", ""); err != nil {
			w.Error(err)
		}
		if now, h := w.hostOf(m); now.Status != maastest.Deployed || !h.On {
			w.Errorf("the next machine of the host was released: %+v", now)
		}
	})
}

// TestRestoredDatabase: MAAS knows nothing of a machine that runs. It is shown as one that cannot be reached,
// and its host goes to no other machine. When the host is off, the machine is gone.
func TestRestoredDatabase(t *testing.T) {
	within(t, 2, func(w *world) {
		w.ready(&w.c)
		backup := w.Backup()
		m := w.create(&w.c, "m-0")
		w.observe(&w.c)
		w.Restore(backup)
		w.p = w.provider()
		got := machineOf(w.observe(&w.c), "m-0")
		if !got.Silent || got.State != fleet.MachineRunning || got.ProviderID != m.ProviderID || got.Template != m.Template || !strings.Contains(got.Message, "Ready") {
			w.Errorf("after the database was restored the machine is %+v", got)
		}
		wantKind(w, "DeleteMachine", w.p.DeleteMachine(w.Context(), "op", &w.c, "m-0", ""), fleet.Conflict)
		wantKind(w, "DeleteInfrastructure", w.p.DeleteInfrastructure(w.Context(), "op", &w.c), fleet.Conflict)
		if other := w.create(&w.c, "m-1"); systemID(other.ProviderID) == systemID(m.ProviderID) {
			w.Error("another machine has its host")
		}
		if _, h := w.hostOf(m); !h.On {
			w.Error("its host is off")
		}
		w.Change(systemID(m.ProviderID), func(m *maastest.Machine, h *maastest.Host) { m.Power, h.On = "off", false })
		time.Sleep(settle)
		if got := machineOf(w.observe(&w.c), "m-0"); got.Name != "" {
			w.Errorf("with its host off the machine is %+v", got)
		}
	})
}

// TestNameOfALostServer: the name of a cluster leads to a server that runs and that MAAS does not know any more.
func TestNameOfALostServer(t *testing.T) {
	within(t, 2, func(w *world) {
		name := w.ready(&w.c).Endpoint.Host
		m := w.server(&w.c, "cp-0")
		w.observe(&w.c)
		w.Change(systemID(m.ProviderID), func(m *maastest.Machine, _ *maastest.Host) {
			m.Status, m.Owner, m.Annotations, m.IP = maastest.Ready, "", nil, ""
		})
		w.Point(name, m.Addresses...) // in the backup it had them
		time.Sleep(settle)
		if got := w.observe(&w.c); !machineOf(got, "cp-0").Silent || len(got.Upkeep) > 0 {
			w.Errorf("the cluster is %+v", got)
		}
		if err := w.p.EnsureInfrastructure(w.Context(), "op", &w.c); err != nil {
			w.Error(err)
		}
		if got, _, _ := w.Lookup(name); !slices.Equal(got, m.Addresses) {
			w.Errorf("the name leads to %v, want %v", got, m.Addresses)
		}
		next := w.server(&w.c, "cp-1")
		if got, _, _ := w.Lookup(name); !slices.Equal(got, slices.Concat(m.Addresses, next.Addresses)) {
			w.Errorf("the name leads to %v, want %v and %v", got, m.Addresses, next.Addresses)
		}
	})
}

// TestLostDatabase: MAAS has no machines any more. Those that ran are shown until people say that they are gone.
func TestLostDatabase(t *testing.T) {
	within(t, 1, func(w *world) {
		w.create(&w.c, "m-0")
		w.observe(&w.c)
		w.Restore(nil)
		time.Sleep(settle)
		got := w.observe(&w.c)
		if m := machineOf(got, "m-0"); !m.Silent || len(got.Places) != 2 || !strings.Contains(m.Message, got.Places[1].ID) {
			w.Errorf("after the database was lost the cluster is %+v", got)
		}
		w.c.ForgetPlaces = []string{got.Places[1].ID}
		if got := w.observe(&w.c); len(got.Machines) > 0 {
			w.Errorf("machines that people say are gone: %+v", got.Machines)
		}
	})
}

// TestCheck: people are told what lacks before anything is made.
func TestCheck(t *testing.T) {
	within(t, 1, func(w *world) {
		check := func(want ...string) {
			w.Helper()
			time.Sleep(settle)
			found, err := w.p.Check(w.Context(), []*fleet.Cluster{&w.c})
			if err != nil {
				w.Fatal(err)
			}
			var got []string
			for _, f := range found {
				if f.Err != nil {
					got = append(got, f.What+": "+string(fleet.KindOf(f.Err)))
				}
			}
			if !slices.Equal(got, want) {
				w.Errorf("Check finds %q, want %q: %+v", got, want, found)
			}
		}
		check("hosts: Exhausted") // one for the server, none for the worker
		last := w.Add(maastest.Machine{})
		on := func(yes bool) { w.Change(last.SystemID, func(_ *maastest.Machine, h *maastest.Host) { h.On = yes }) }
		on(true) // MAAS does not know it yet
		check("hosts: Exhausted")
		on(false)
		w.Change(last.SystemID, func(m *maastest.Machine, _ *maastest.Host) { m.Power = "off" })
		check()
		w.shared(&w.c, func(s *api.MaasClusterSpec) { s.DNSDomain, s.FailureDomains = "maas.test", []string{"a", "x"} })
		w.c.Workers[0].Infrastructure = w.template("md-0", func(s *api.MaasMachineSpec) { s.Image, s.Tags = "custom/none", []string{"none"} })
		check("endpoint: Invalid", "zone: Invalid", "image: Invalid", "hosts: Exhausted")
		w.c = w.cluster()
		w.user = w.AddUser("plain", false)
		w.p = w.provider()
		check("endpoint: Unauthorized")
		if n := len(w.Calls()); n == 0 || slices.ContainsFunc(w.Calls(), maastest.Call.Changes) {
			w.Error("Check changes something")
		}
	})
}

// TestAdopt: a cluster of CAPMAAS is marked, and then nothing is to be done. Release takes the marks off.
func TestAdopt(t *testing.T) {
	within(t, 2, func(w *world) {
		w.p = w.providerOf(maas.Options{Relist: time.Hour}) // annotations are no events
		name := "eu-1-x7k2p9.maas"
		w.shared(&w.c, func(s *api.MaasClusterSpec) { s.ControlPlaneEndpoint.Host = name })
		var list []providers.AdoptedMachine
		var addresses []string
		for i, host := range []string{"m00", "m01"} {
			w.Change(host, func(m *maastest.Machine, h *maastest.Host) {
				m.Status, m.Owner, m.Power, m.OSystem, m.IP, h.On = maastest.Deployed, w.user.Name, "on", "custom", "10.0.9."+host[2:], true
				pool := []fleet.PoolName{w.c.ControlPlane.Name, "md-0"}[i]
				list = append(list, providers.AdoptedMachine{Name: fleet.MachineName("eu-1-" + host), Pool: pool, ID: fleet.ProviderID("maas:///" + m.Zone + "/" + m.SystemID)})
				addresses = append(addresses, m.IP)
			})
		}
		if err := w.AddName(name, addresses[0]); err != nil {
			w.Fatal(err)
		}
		found, err := w.p.Adoptable(w.Context(), &w.c, list)
		if want := []string{"host m00", "host m01", "name " + name}; err != nil || !slices.Equal(found, want) {
			w.Errorf("Adoptable = %v, %v, want %v", found, err, want)
		}
		w.ResetCalls()
		for range 2 {
			if err := w.p.Adopt(w.Context(), &w.c, list); err != nil {
				w.Fatal(err)
			}
			time.Sleep(settle)
		}
		if n := w.calls("POST"); n != 3 {
			w.Errorf("Adopt makes %d changes, want 3: %v", n, w.Calls())
		}
		got := w.observe(&w.c)
		if !got.Ready || len(got.Drift) > 0 || len(got.Machines) != 2 || got.Endpoint.Host != name {
			w.Errorf("after Adopt the cluster is %+v", got)
		}
		for i, m := range got.Machines {
			if m.ProviderID != list[i].ID || m.Damaged != "" || m.Template == "" || m.Created.IsZero() || m.State != fleet.MachineRunning {
				w.Errorf("an adopted machine is %+v", m)
			}
		}
		if found, err := w.p.Adoptable(w.Context(), &w.c, list); err != nil || len(found) > 0 {
			w.Errorf("Adoptable = %v, %v, want nothing", found, err)
		}
		other := w.cluster()
		other.Key.Name = "eu-2"
		wantKind(w, "Adopt by another cluster", w.p.Adopt(w.Context(), &other, list), fleet.Conflict)
		if err := w.p.Release(w.Context(), &w.c, list); err != nil {
			w.Fatal(err)
		}
		_, texts, _ := w.Lookup(name)
		for _, m := range w.Machines() {
			if len(m.Annotations) > 0 || m.Status != maastest.Deployed || len(texts) > 0 {
				w.Errorf("Release leaves %+v, and records %v", m, texts)
			}
		}
		w.user = w.AddUser("another", true)
		w.p = w.provider()
		wantKind(w, "Adopt with another account", w.p.Adopt(w.Context(), &w.c, list), fleet.NotFound)
	})
}

// TestSlowAgent: one agent stands still between its listing and its claim, while another creates the machine.
// Whichever hosts they choose, one host has the machine in the end.
func TestSlowAgent(t *testing.T) {
	for reason, tc := range map[string]struct {
		at    string // what the slow agent asks for next
		prefs bool   // the agents prefer different hosts
	}{
		"before it lists free hosts": {"GET boot-resources/", false},
		"before its claim":           {"POST machines/ allocate", false},
		"before its annotation":      {"POST machines/*/ set_workload_annotations", false},
		"before its deployment":      {"POST machines/*/ deploy", false},
		"with other preferences":     {"POST machines/ allocate", true},
	} {
		t.Run(reason, func(t *testing.T) {
			within(t, 4, func(w *world) {
				w.ready(&w.c)
				other := w.provider()
				if tc.prefs {
					w.Change("m00", func(m *maastest.Machine, _ *maastest.Host) { m.Locked = true })
				}
				w.Inject(maastest.Fault{Method: tc.at, Times: 1, Do: func(maastest.Call) {
					if tc.prefs {
						w.Change("m00", func(m *maastest.Machine, _ *maastest.Host) { m.Locked = false })
					}
					if err := other.CreateMachine(w.Context(), "op", request(&w.c, "m-0")); err != nil {
						w.Logf("the other agent: %v", err)
					}
				}})
				if err := w.p.CreateMachine(w.Context(), "op", request(&w.c, "m-0")); err != nil {
					w.Logf("the slow agent: %v", err)
				}
				time.Sleep(2 * settle)
				allocated := 0
				for _, c := range w.Calls() {
					if strings.HasSuffix(c.Method, " allocate") && c.Status == http.StatusOK {
						allocated++
					}
				}
				if allocated > 1 && !tc.prefs {
					w.Errorf("%d hosts were taken, and nobody wanted the second", allocated)
				}
				var has []string
				for _, m := range w.Machines() {
					if _, h := w.Machine(m.SystemID); h.On || m.Owner != "" {
						has = append(has, m.Hostname)
					}
				}
				if len(has) > 1 {
					w.Errorf("the machine is on %v", has)
				}
			})
		})
	}
}

// TestPowerOfABackup: a restored database has the power of the time of the backup, until MAAS asks the BMC
// again. A host is off if its BMC says so.
func TestPowerOfABackup(t *testing.T) {
	for name, is := range map[string]string{"off then": "off", "never asked": "unknown"} {
		t.Run(name, func(t *testing.T) {
			within(t, 1, func(w *world) {
				w.ready(&w.c)
				backup := w.Backup()
				m := w.create(&w.c, "m-0")
				w.observe(&w.c)
				_, before := w.hostOf(m)
				other := w.cluster()
				other.Key.Name = "eu-2"
				w.Restore(backup)
				w.Change(systemID(m.ProviderID), func(m *maastest.Machine, _ *maastest.Host) { m.Power = is })
				w.p = w.provider()
				if got := machineOf(w.observe(&w.c), "m-0"); !got.Silent || got.State != fleet.MachineRunning {
					w.Errorf("after the database was restored the machine is %+v", got)
				}
				w.ready(&other)
				for _, c := range []*fleet.Cluster{&w.c, &other} {
					w.Change(systemID(m.ProviderID), func(m *maastest.Machine, _ *maastest.Host) { m.Power = is })
					time.Sleep(settle)
					wantKind(w, "CreateMachine of "+c.Key.Name, w.p.CreateMachine(w.Context(), "op", request(c, "m-1")), fleet.Exhausted)
				}
				if now, h := w.hostOf(m); now.Owner != "" || !h.On || string(h.Runs) != string(before.Runs) {
					w.Errorf("the host of the machine that runs is %+v, %+v", now, h)
				}
			})
		})
	}
}

// TestRescuedAndRestored: a machine whose host people rescue is remembered, too.
func TestRescuedAndRestored(t *testing.T) {
	within(t, 1, func(w *world) {
		w.ready(&w.c)
		backup := w.Backup()
		m := w.create(&w.c, "m-0")
		w.Change(systemID(m.ProviderID), func(m *maastest.Machine, _ *maastest.Host) { m.Status = maastest.RescueMode })
		time.Sleep(settle)
		w.observe(&w.c)
		w.Restore(backup)
		w.p = w.provider()
		if got := machineOf(w.observe(&w.c), "m-0"); !got.Silent || got.State != fleet.MachineRunning {
			w.Errorf("after the database was restored the machine is %+v", got)
		}
	})
}

// TestKeyOfAnotherUser: people give Fairlead the key of another administrator, who sees the machines and does
// not have them. They run, and are shown until they are released.
func TestKeyOfAnotherUser(t *testing.T) {
	within(t, 2, func(w *world) {
		m := w.create(&w.c, "m-0")
		w.observe(&w.c)
		w.user = w.AddUser("successor", true)
		w.p = w.provider()
		for range 2 {
			got := machineOf(w.observe(&w.c), "m-0")
			if !got.Silent || got.State != fleet.MachineRunning || got.ProviderID != m.ProviderID || !strings.Contains(got.Message, "user fleet") {
				w.Errorf("with the key of another user the machine is %+v", got)
			}
		}
		wantKind(w, "DeleteMachine", w.p.DeleteMachine(w.Context(), "op", &w.c, "m-0", ""), fleet.Conflict)
		w.Change(systemID(m.ProviderID), func(m *maastest.Machine, _ *maastest.Host) { m.Annotations = nil }) // given to somebody else
		if got := machineOf(w.observe(&w.c), "m-0"); got.Name != "" {
			w.Errorf("with its host given to somebody else the machine is %+v", got)
		}
	})
}

// TestServersInDoubt: the name leads to servers that run, also if people removed or damaged their tags. New servers
// are added.
func TestServersInDoubt(t *testing.T) {
	for name, doubt := range map[string]func(w *world, m fleet.Machine){
		"tags are removed": func(w *world, m fleet.Machine) { w.annotate(systemID(m.ProviderID), nil) },
		"tags are damaged": func(w *world, m fleet.Machine) {
			w.retag(w, m.ProviderID, func(tags map[string]string) { delete(tags, fleet.TagRole) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			within(t, 3, func(w *world) {
				name := w.ready(&w.c).Endpoint.Host
				first, second := w.server(&w.c, "cp-0"), w.server(&w.c, "cp-1")
				want := slices.Concat(first.Addresses, second.Addresses)
				leads := func() {
					w.Helper()
					for range 3 {
						time.Sleep(settle)
						w.observe(&w.c)
						if err := w.p.EnsureInfrastructure(w.Context(), "op", &w.c); err != nil {
							w.Error(err)
						}
					}
					if got, _, _ := w.Lookup(name); !slices.Equal(got, want) {
						w.Errorf("the name leads to %v, want %v", got, want)
					}
				}
				w.observe(&w.c)
				for _, m := range []fleet.Machine{first, second} {
					doubt(w, m)
					leads()
				}
				want = append(want, w.server(&w.c, "cp-2").Addresses...)
				leads()
			})
		})
	}
}
