package sweep_test

import (
	"fmt"
	"maps"
	"os"
	"testing"

	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
	"fairlead.dev/test/run/short"
)

// Whatever call to vCenter a program ends at, before it or after it: in the end there is what a
// life without trouble has, no machine and no address is there twice at any time, nothing is
// left over, and what is of others is as it was.
func TestSweep(t *testing.T) {
	calls, changes := 0, 0
	t.Run("in peace", func(t *testing.T) {
		w := newWorld(t)
		p := newPilot(t, w, w.cluster(t, vspheretest.Administrator, vspheretest.Password))
		p.live(nil)
		for _, err := range p.errors {
			t.Errorf("without any trouble: %v", err)
		}
		for _, c := range w.Calls() {
			if calls++; c.Changes() {
				changes++
			}
		}
	})
	if changes < 60 {
		t.Fatalf("a life has %d calls, %d of them changes: too few to be one", calls, changes)
	}
	crashes, sample := 0, calls
	if os.Getenv("FAIRLEAD_SWEEP") != "all" {
		sample = short.Number(t, 4, 20)
	}
	for n := 1; n <= calls; n++ {
		for _, before := range []bool{true, false} {
			if every := calls / sample; sample < calls && (n%every != 0 || before != (n/every%2 == 0)) {
				continue
			}
			crashes++
			name := fmt.Sprintf("%d %s", n, map[bool]string{true: "before", false: "after"}[before])
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				crash(t, n, before)
			})
		}
	}
	t.Logf("a life has %d calls to vCenter, of which %d change something; programs end at %d", calls, changes, crashes)
}

// crash leads a cluster through a life in which the program ends at the nth call.
func crash(t *testing.T, n int, before bool) {
	w := newWorld(t)
	other := w.AddMachine("/DC0/vm", "eu-1-cp-of-others")
	w.SetExtraConfig(other.Ref, map[string]string{"fairlead.dev/tags": `{"fairlead.dev/fleet":"fleet-b","fairlead.dev/cluster":"prod/eu-1"}`})
	others := func() map[string]string {
		m, _ := w.Machine(other.Path)
		return m.ExtraConfig
	}
	was := others()
	p := newPilot(t, w, w.cluster(t, vspheretest.Administrator, vspheretest.Password))
	p.dieAt(n, before)
	p.live(nil)
	if !maps.Equal(others(), was) {
		t.Errorf("the VM of another fleet has %v, had %v", others(), was)
	}
	if !p.trouble {
		t.Logf("this life had fewer than %d calls", n)
	}
	if t.Failed() {
		t.Logf("errors on the way: %v", p.errors)
	}
}
