package metal3_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// readdress has Git give the host called name another address of its BMC, and the account of the host
// called account.
func (w *world) readdress(c *fleet.Cluster, name, address, account string) {
	w.Helper()
	w.rewrite(c, name, func(s *api.BareMetalHostSpec) { s.BMC.Address = address })
	for i := range c.Companions {
		if c.Companions[i].Name == name {
			c.Companions[i].Secrets = map[fleet.Key]fleet.SecretData{{Namespace: w.namespace, Name: name + "-bmc"}: secretOf(map[string]string{
				"username": metal3test.BMCUser, "password": w.hosts[account].Password(),
			})}
		}
	}
}

// tendHeld lets the planner's part be done a few times, and checks that a host is held with all of says
// and that no change was asked for.
func (w *world) tendHeld(c *fleet.Cluster, name string, says ...string) {
	w.Helper()
	w.pause()
	w.ResetCalls()
	for range 3 {
		if err := w.p.EnsureInfrastructure(w.Context(), "op-infra", c); err != nil {
			w.Error(err)
		}
		h := hostOf(w.observe(c), name)
		for _, s := range says {
			if !strings.Contains(h.Held, s) {
				w.Errorf("host %s is held: %q, want %q", name, h.Held, s)
			}
		}
		used := slices.ContainsFunc([]string{"something may run on it", "fairlead.dev/erase", "Git keeps it off"}, func(s string) bool { return strings.Contains(h.Held, s) })
		if want := !used; h.Refused != want {
			w.Errorf("host %s is refused: %t, want %t: %s", name, h.Refused, want, h.Held)
		}
		if h.Free() {
			w.Errorf("host %s is free", name)
		}
		w.pause()
	}
	if got := w.changes(); len(got) > 0 {
		w.Errorf("asked for: %q", got)
	}
}

// TestAddressOfAnother: a free host whose address becomes that of a host with a machine is held, and
// Ironic is not told: the next machine would be written over the one that runs.
func TestAddressOfAnother(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2")
	c := &w.c
	w.until(c, "available", allFree)
	w.create(c, worker) // on m1, the first in Git
	before := w.hosts["m1"].State()
	w.readdress(c, "m2", w.hosts["m1"].BMC(), "m1")
	w.tendHeld(c, "m2", "/systems/"+w.namespace+"-m1, and Ironic has ", "fairlead.dev/bmc-moved-from: ")
	w.annotate(c, "m2", "fairlead.dev/bmc-moved-from", w.hosts["m2"].BMC())
	w.tendHeld(c, "m2", "its BMC is that of node "+w.namespace+"~m1 of Ironic, too")
	wantKind(t, "CreateMachine", w.p.CreateMachine(t.Context(), "op", request(c, "eu-1-md-0-b2c")), fleet.Exhausted, "its BMC is that of node")
	if s := w.hosts["m1"].State(); s.Boots != before.Boots || s.Disk != before.Disk {
		t.Errorf("the host with the machine was %+v and is %+v", before, s)
	}
}

// TestMovedBeneathMachine: a host with a machine whose address becomes another's is told, the other
// computer is left alone, and the machine is released on the computer that it runs on.
func TestMovedBeneathMachine(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.create(c, worker)
	w.addHost("other", 1)
	w.readdress(c, "m1", w.hosts["other"].BMC(), "other")
	w.tendHeld(c, "m1", "-other, and Ironic has ")
	w.remove(c, worker)
	if s := w.hosts["m1"].State(); s.On {
		t.Errorf("its machine is told to be gone, and the host is %+v", s)
	}
	if s := w.hosts["other"].State(); s.Boots > 0 {
		t.Errorf("the other computer is %+v", s)
	}
	w.tendHeld(c, "m1", "-other, and Ironic has ")
}

// TestBMCMoved: Ironic is told another address where people say that it is of the same computer.
func TestBMCMoved(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.create(c, worker)
	before, old := w.hosts["m1"].State(), w.hosts["m1"].BMC()
	w.readdress(c, "m1", strings.Replace(old, "127.0.0.1", "localhost", 1), "m1") // the same by another name
	w.tendHeld(c, "m1", "and Ironic has 127.0.0.1:")
	w.annotate(c, "m1", "fairlead.dev/bmc-moved-from", old)
	w.until(c, "told", func(i fleet.Infrastructure) bool {
		info, _ := w.node("m1")["driver_info"].(map[string]any)
		return strings.HasPrefix(fmt.Sprint(info["redfish_address"]), "http://localhost:") && hostOf(i, "m1").Held == ""
	})
	if s := w.hosts["m1"].State(); s.Boots != before.Boots || s.Disk != before.Disk {
		t.Errorf("its machine was touched: %+v", s)
	}
}

// TestAddressOfAForeignNode: a node that somebody else enrolled, and whose BMC never answered, is held where
// Git says another BMC, and not removed from Ironic.
func TestAddressOfAForeignNode(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.Ask(t, http.MethodPost, "/v1/nodes", map[string]any{"name": w.namespace + "~m1", "driver": "redfish", "driver_info": w.hosts["m1"].DriverInfo()})
	before := w.node("m1")["uuid"]
	w.addHost("other", 1)
	w.readdress(c, "m1", w.hosts["other"].BMC(), "other")
	w.tendHeld(c, "m1", "-other, and Ironic has ")
	if after := w.node("m1")["uuid"]; after != before {
		t.Errorf("the node was %v and is %v", before, after)
	}
}

// TestOneBMCForTwo: of two hosts with one BMC none is enrolled, and one that comes later harms no
// machine.
func TestOneBMCForTwo(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2")
	c := &w.c
	own := w.hosts["m2"].BMC()
	w.readdress(c, "m2", w.hosts["m1"].BMC(), "m1")
	w.tendHeld(c, "m1", "its BMC is that of BareMetalHost "+w.namespace+"/m2, too")
	w.tendHeld(c, "m2", "its BMC is that of BareMetalHost "+w.namespace+"/m1, too")
	w.readdress(c, "m2", own, "m2")
	second := c.Companions[1]
	c.Companions = c.Companions[:1]
	m := w.create(c, worker)
	c.Companions = append(c.Companions, second)
	w.readdress(c, "m2", w.hosts["m1"].BMC(), "m1")
	w.tendHeld(c, "m2", "its BMC is that of node "+w.namespace+"~m1 of Ironic, too")
	if err := w.p.DeleteMachine(t.Context(), "op", c, worker, m.ProviderID); err != nil {
		t.Errorf("the machine that was there first cannot go: %v", err)
	}
}

// TestOneComputerForTwoMachines: where two nodes that manage one computer have machines, nobody knows
// whose it is: none of them is released, rebooted or taken for an orphan.
func TestOneComputerForTwoMachines(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2")
	c := &w.c
	w.until(c, "available", allFree)
	w.create(c, worker)
	w.create(c, "eu-1-md-0-b2c")
	before := w.hosts["m1"].State()
	info, _ := w.node("m2")["driver_info"].(map[string]any)
	info["redfish_system_id"] = strings.Replace(fmt.Sprint(info["redfish_system_id"]), "-m2", "-m1", 1)
	info["redfish_password"] = w.hosts["m1"].Password()
	w.set("m2", "driver_info", info)
	w.pause()
	w.ResetCalls()
	for _, m := range w.observe(c).Machines {
		wantKind(t, "DeleteMachine", w.p.DeleteMachine(t.Context(), "op", c, m.Name, m.ProviderID), fleet.Conflict, "its BMC is that of node")
		wantKind(t, "SwitchMachine", w.p.SwitchMachine(t.Context(), "op", c, m.Name, m.ProviderID, fleet.HostOff), fleet.Conflict, "its BMC is that of node")
	}
	other := *c
	other.Key.Name = "eu-2"
	orphans, err := w.p.Orphans(t.Context(), c.Fleet, []*fleet.Cluster{&other})
	if err != nil || len(orphans) != 2 {
		t.Fatalf("orphans %v, %v", orphans, err)
	}
	wantKind(t, "RemoveOrphan", w.p.RemoveOrphan(t.Context(), c.Fleet, []*fleet.Cluster{&other}, orphans[0]), fleet.Conflict, "its BMC is that of node")
	if got := w.changes(); len(got) > 0 {
		t.Errorf("asked for: %q", got)
	}
	if s := w.hosts["m1"].State(); s.Boots != before.Boots || s.Disk != before.Disk {
		t.Errorf("the host was %+v and is %+v", before, s)
	}
}

// TestAvailableAndOn: a free host that is on gets no machine.
func TestAvailableAndOn(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.until(c, "available", allFree)
	w.hosts["m1"].Press(true)
	w.until(c, "on", func(i fleet.Infrastructure) bool { return hostOf(i, "m1").Power == fleet.HostOn })
	w.tendHeld(c, "m1", "it is switched on, and something may run on it")
	wantKind(t, "CreateMachine", w.p.CreateMachine(t.Context(), "op", request(c, worker)), fleet.Exhausted, "it is switched on")
	w.hosts["m1"].Press(false)
	w.until(c, "free", allFree)
}

// TestEnrolledOtherwise: what Ironic was told of a host when it was enrolled, and Git says otherwise
// now, is told; when people remove its node it is enrolled again.
func TestEnrolledOtherwise(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(s *api.BareMetalHostSpec)
		want   string
	}{
		"network card": {func(s *api.BareMetalHostSpec) { s.BootMACAddress = "52:54:00:ff:ff:01" }, "Git says that bootMACAddress is 52:54:00:ff:ff:01, and Ironic enrolled it with 52:54:00:00:00:01"},
		"driver": {func(s *api.BareMetalHostSpec) {
			s.BMC.Address = strings.Replace(s.BMC.Address, "redfish-virtualmedia", "idrac-virtualmedia", 1)
		}, "Git says that the driver is idrac, and Ironic enrolled it with redfish"},
		"boot interface": {func(s *api.BareMetalHostSpec) {
			s.BMC.Address = strings.Replace(s.BMC.Address, "redfish-virtualmedia", "redfish", 1)
		}, "Git says that the boot interface is ipxe, and Ironic enrolled it with redfish-virtual-media"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := doubled(t, "m1")
			c := &w.c
			w.until(c, "available", allFree)
			w.rewrite(c, "m1", tc.change)
			w.tendHeld(c, "m1", tc.want)
			w.ask(http.MethodDelete, "m1", "", nil)
			w.until(c, "enrolled again", allFree)
		})
	}
}

// TestRenamed: a host that is renamed is not enrolled beside its old node, which is named.
func TestRenamed(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.until(c, "available", allFree)
	c.Companions[0].Name = "m9"
	w.tendHeld(c, "m9", "its BMC is that of node "+w.namespace+"~m1 of Ironic, too")
}

// TestOneCardForTwo: the host whose network card another node has is told which one.
func TestOneCardForTwo(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2")
	c := &w.c
	second := c.Companions[1]
	c.Companions = c.Companions[:1]
	w.until(c, "available", allFree)
	c.Companions = append(c.Companions, second)
	w.rewrite(c, "m2", func(s *api.BareMetalHostSpec) { s.BootMACAddress = w.hosts["m1"].MAC() })
	w.until(c, "told", func(i fleet.Infrastructure) bool {
		return strings.Contains(hostOf(i, "m2").Trouble, "its network card "+w.hosts["m1"].MAC()+" is that of node "+w.namespace+"~m1 of Ironic")
	})
	w.rewrite(c, "m2", func(s *api.BareMetalHostSpec) { s.BootMACAddress = w.hosts["m2"].MAC() })
	w.until(c, "corrected", allFree)
}

// TestTypoOfBMC: an address at which no BMC ever answered is corrected in Git alone.
func TestTypoOfBMC(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.readdress(c, "m1", w.hosts["m1"].BMC()+"0", "m1")
	w.until(c, "told", func(i fleet.Infrastructure) bool {
		return strings.Contains(hostOf(i, "m1").Trouble, "could not be found")
	})
	w.readdress(c, "m1", w.hosts["m1"].BMC(), "m1")
	w.until(c, "corrected", allFree)
}
