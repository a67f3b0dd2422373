package status_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// TestUpgrade: how long the last change of a cluster's version took is known from what was
// written before, and from nothing else.
func TestUpgrade(t *testing.T) {
	start := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	at := func(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }
	report := func(version string, phase fleet.Phase, upToDate int, machines ...string) fleet.Report {
		r := fleet.Report{Cluster: fleet.Key{Namespace: "prod", Name: "eu-1"}, Version: version, Phase: phase}
		r.Pools = []fleet.PoolReport{{Name: "cp", Desired: 2, Current: 2, Ready: 2, UpToDate: upToDate}}
		for i, v := range machines {
			r.Machines = append(r.Machines, fleet.MachineReport{Machine: fleet.Machine{Name: fleet.MachineName(rune('a' + i)), ProviderID: fleet.ProviderID(rune('a' + i)), Version: v}})
		}
		return r
	}
	const one, two, three = "v1.35.0", "v1.36.0", "v1.37.0"
	for name, c := range map[string]struct {
		reports []fleet.Report
		want    status.Upgrade
	}{
		"a new cluster": {[]fleet.Report{report(one, fleet.PhaseProvisioned, 2, one, one)}, status.Upgrade{}},
		"on its way":    {[]fleet.Report{report(one, fleet.PhaseProvisioned, 2, one, one), report(two, fleet.PhaseControlPlane, 1, one, two)}, status.Upgrade{From: one, To: two, Began: at(1)}},
		"whole": {
			[]fleet.Report{report(one, fleet.PhaseProvisioned, 2, one, one), report(two, fleet.PhaseControlPlane, 1, one, two), report(two, fleet.PhaseProvisioned, 2, two, two), report(two, fleet.PhaseProvisioned, 2, two, two)},
			status.Upgrade{From: one, To: two, Began: at(1), Ended: at(2)},
		},
		"a pool waits for its turn": {[]fleet.Report{report(one, fleet.PhaseProvisioned, 2, one, one), report(two, fleet.PhaseProvisioned, 2, two, one)}, status.Upgrade{From: one, To: two, Began: at(1)}},
		"not up to date":            {[]fleet.Report{report(one, fleet.PhaseProvisioned, 2, one, one), report(two, fleet.PhaseProvisioned, 1, two, two)}, status.Upgrade{From: one, To: two, Began: at(1)}},
		"goes on":                   {[]fleet.Report{report(one, fleet.PhaseProvisioned, 2, one, one), report(two, fleet.PhaseWorkers, 1, one, two), report(three, fleet.PhaseWorkers, 1, one, two)}, status.Upgrade{From: one, To: three, Began: at(1)}},
		"taken back":                {[]fleet.Report{report(one, fleet.PhaseProvisioned, 2, one, one), report(two, fleet.PhaseWorkers, 1, one, two), report(one, fleet.PhaseWorkers, 1, one, two)}, status.Upgrade{}},
		"the next one": {
			[]fleet.Report{report(one, fleet.PhaseProvisioned, 2, one, one), report(two, fleet.PhaseProvisioned, 2, two, two), report(two, fleet.PhaseProvisioned, 2, two, two), report(three, fleet.PhaseWorkers, 1, two, two)},
			status.Upgrade{From: two, To: three, Began: at(3)},
		},
	} {
		var last status.Cluster
		for i, r := range c.reports {
			var err error
			if last, err = status.ClusterOf(r, last, at(i)); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(c.want, last.Upgrade); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if took := (status.Upgrade{Began: at(0), Ended: at(7)}).Took(); took != 7*time.Minute {
		t.Errorf("it took %s", took)
	}
}
