package metal3_test

import (
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
	"fairlead.dev/test/run/short"
	"fairlead.dev/test/run/waits"
)

// TestSweep: whatever change an agent ends at, before Ironic has it or when the answer is on its
// way, one that knows nothing goes on to where a life without trouble comes. No machine is on two
// hosts at any time, what is wished for stays, and in the end every host is off, empty and enrolled.
func TestSweep(t *testing.T) {
	t.Parallel()
	for name, pooled := range map[string]bool{"plain": false, "with addresses of a pool": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sweep(t, pooled)
		})
	}
}

func sweep(t *testing.T, pooled bool) {
	t.Helper()
	changes := 0
	t.Run("in peace", func(t *testing.T) {
		s := newSwept(t, pooled)
		s.live()
		for _, c := range s.Calls() {
			if c.Changes() {
				changes++
			}
		}
	})
	if changes < 40 {
		t.Fatalf("a life has %d changes: too few to be one", changes)
	}
	deaths, sample := 0, changes
	if os.Getenv("FAIRLEAD_SWEEP") != "all" {
		sample = short.Number(t, 2, 8)
	}
	for n := 1; n <= changes; n++ {
		for _, before := range []bool{true, false} {
			if every := changes / sample; sample < changes && (n%every != 0 || before != (n/every%2 == 0)) {
				continue
			}
			deaths++
			t.Run(fmt.Sprintf("%d %s", n, map[bool]string{true: "before", false: "after"}[before]), func(t *testing.T) {
				t.Parallel()
				s := newSwept(t, pooled)
				s.dieAt(n, before)
				s.live()
				if !s.died && n < changes/2 { // of what is asked for at one time the number may differ
					t.Errorf("this life had fewer than %d changes", n)
				}
			})
		}
	}
	t.Logf("a life asks Ironic for %d changes; agents end at %d", changes, deaths)
}

// A swept is the life of a cluster on three hosts that are inspected and cleaned.
type swept struct {
	*history
	dead atomic.Bool // the agent ended
	died bool        // one did
	cut  *metal3test.Injected
}

func newSwept(t *testing.T, pooled bool) *swept {
	t.Helper()
	s := &swept{history: newHistory(t, 0)}
	s.clusters, s.agents = s.clusters[:1], s.agents[:1]
	c := s.clusters[0]
	c.Companions = c.Companions[:3]
	for i, o := range c.Companions {
		spec, err := api.ReadHost(o)
		if err != nil {
			t.Fatal(err)
		}
		spec.AutomatedCleaningMode, spec.InspectionMode = api.CleaningMetadata, api.InspectFast
		c.Companions[i] = newObject(t, "metal3.io", "BareMetalHost", o.Namespace, o.Name, spec)
		c.Companions[i].Labels, c.Companions[i].Secrets = o.Labels, o.Secrets
	}
	if pooled {
		s.pooled(c, "10.0.0.12")
	}
	return s
}

// dieAt ends the agent at its nth change. Nothing of it reaches Ironic after that.
func (s *swept) dieAt(n int, before bool) {
	s.FailCalls(metal3test.CallFault{Changes: true, Skip: n - 1, Times: 1, Cut: before, Lose: !before, Do: func(metal3test.Call) {
		s.cut = s.FailCalls(metal3test.CallFault{Cut: true})
		s.dead.Store(true)
	}})
}

// wants has a machine wished for, or not any more.
func (s *swept) wants(name fleet.MachineName, want bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wishes[name] == nil {
		s.wishes[name] = new(wish)
	}
	s.wishes[name].gone = !want
}

// reach tends the cluster until it is as it is wished for, and as is says.
func (s *swept) reach(what string, is func(fleet.Infrastructure) bool) fleet.Infrastructure {
	s.Helper()
	var got fleet.Infrastructure
	for deadline := time.Now().Add(waits.Limit); time.Now().Before(deadline); s.pause() {
		var rest bool
		got, rest = s.tend(0)
		if s.dead.CompareAndSwap(true, false) {
			s.died = true
			s.agents[0].Close()
			s.cut.End()
			s.agents[0] = s.provider()
			continue
		}
		s.check()
		if rest && is(got) {
			return got
		}
	}
	s.Fatalf("not %s: %+v\nwishes %s", what, got, s.wished())
	return got
}

// diskOf returns that of the host that a machine is on.
func (s *swept) diskOf(name fleet.MachineName) *metal3test.Disk {
	s.Helper()
	w := s.wishes[name]
	if w.host == "" {
		s.Fatalf("machine %s ran nowhere", name)
	}
	return s.hosts[w.host].State().Disk
}

// live: two machines are made, one is rebooted, Ironic loses its database, the other goes and
// another one comes, all go.
func (s *swept) live() {
	s.Helper()
	const a, b, c = fleet.MachineName("eu-1-md-0-a"), fleet.MachineName("eu-1-md-0-b"), fleet.MachineName("eu-1-md-0-c")
	s.wants(a, true)
	s.wants(b, true)
	got := s.reach("made", func(fleet.Infrastructure) bool { return true })

	git := s.clusters[0]
	for _, to := range []fleet.HostPower{fleet.HostOff, fleet.HostOn} {
		git.Rebooting = []fleet.Reboot{{Machine: b, ProviderID: machineOf(got, b).ProviderID, Off: to == fleet.HostOff}}
		got = s.reach(string(to), func(i fleet.Infrastructure) bool {
			m := machineOf(i, b)
			if m.Power == to {
				return true
			}
			_ = s.agents[0].SwitchMachine(s.Context(), "op-switch", git, b, m.ProviderID, to) // asked for again
			return false
		})
	}
	git.Rebooting = nil

	disks := []*metal3test.Disk{s.diskOf(a), s.diskOf(b)}
	if err := s.LoseDatabase(s.Context()); err != nil {
		s.Fatal(err)
	}
	s.reach("known again", func(i fleet.Infrastructure) bool {
		return len(i.Hosts) == len(api.Hosts(git.Companions)) && !machineOf(i, a).Silent && !machineOf(i, b).Silent
	})
	if now := []*metal3test.Disk{s.diskOf(a), s.diskOf(b)}; !slices.Equal(now, disks) {
		s.Errorf("machines have the disks %+v after the database was lost, and had %+v", now, disks)
	}

	s.wants(a, false)
	s.wants(c, true)
	s.reach("one replaced", func(i fleet.Infrastructure) bool { return machineOf(i, a).Name == "" })
	s.shown()
	s.wants(b, false)
	s.wants(c, false)
	got = s.reach("deleted", func(i fleet.Infrastructure) bool { return len(i.Machines) == 0 && allFree(i) })
	if len(got.Hosts) != len(api.Hosts(git.Companions)) {
		s.Errorf("there are the hosts %+v", got.Hosts)
	}
	for _, o := range api.Hosts(git.Companions) {
		if h := s.hosts[o.Name].State(); h.On || h.Disk != nil {
			s.Errorf("host %s: %+v", o.Name, h)
		}
	}
}
