package inmemory

import (
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// TestSlowPower: nobody can tell the power of a machine that was just switched.
func TestSlowPower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCloud(CloudOptions{Listen: NewPipeNetwork().Listen, Faults: Faults{SlowPower: time.Minute}})
		t.Cleanup(c.Close)
		p, cluster := NewProvider(c, 0), testCluster()
		if err := p.EnsureInfrastructure(t.Context(), "op", &cluster); err != nil {
			t.Fatal(err)
		}
		r := providers.MachineRequest{Cluster: &cluster, Pool: cluster.Workers[0], Name: "m-0", UserData: providers.UserData{Format: "cloud-config"}}
		if err := p.CreateMachine(t.Context(), "op", r); err != nil {
			t.Fatal(err)
		}
		shows := func(when string, want fleet.HostPower) fleet.Machine {
			t.Helper()
			got, err := p.Observe(t.Context(), &cluster)
			if err != nil || len(got.Machines) != 1 {
				t.Fatalf("%s: %+v, %v", when, got.Machines, err)
			}
			if power := got.Machines[0].Power; power != want {
				t.Errorf("%s: its power is %q, want %q", when, power, want)
			}
			return got.Machines[0]
		}
		time.Sleep(time.Hour)
		m := shows("it runs", fleet.HostOn)
		for _, to := range []fleet.HostPower{fleet.HostOff, fleet.HostOn} {
			if err := p.SwitchMachine(t.Context(), "op", &cluster, m.Name, m.ProviderID, to); err != nil {
				t.Fatal(err)
			}
			shows("switched "+string(to), fleet.HostPowerUnknown)
			time.Sleep(time.Minute)
			shows("a minute later", to)
		}
	})
}
