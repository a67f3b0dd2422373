package metrics

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/fleet"
)

// objects returns what m has series of: clusters, pools and machines, each with
// how many, and fails where two series are one.
func objects(t *rapid.T, m *Metrics) map[string]int {
	families, err := m.Gather()
	if err != nil {
		t.Fatalf("a scrape fails: %v", err)
	}
	out := make(map[string]int)
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "fairlead_clusters") || strings.HasPrefix(f.GetName(), "fairlead_machines") {
			continue // totals
		}
		for _, series := range f.GetMetric() {
			labels := make(map[string]string)
			for _, l := range series.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["namespace"] == "" {
				continue
			}
			kind := "cluster"
			switch {
			case strings.HasPrefix(f.GetName(), "capi_machine_"):
				kind = "machine"
			case strings.HasPrefix(f.GetName(), "capi_machinedeployment_"), strings.HasPrefix(f.GetName(), "capi_machinepool_"), strings.HasPrefix(f.GetName(), "capi_kubeadmcontrolplane_"):
				kind = "pool"
			}
			out[fmt.Sprintf("%s %s/%s/%s", kind, labels["namespace"], labels["cluster_name"], labels["name"])]++
		}
	}
	return out
}

// TestSeriesFollowObjects lets clusters, pools and machines come and go, passes
// fail, and the fleet change hands: there are series of exactly what the last
// pass over each cluster saw, and of each thing no more than docs/operations/monitoring.md
// promises.
func TestSeriesFollowObjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := everything()
		want := make(map[fleet.Key][]string)
		revision := 0
		key := func() fleet.Key {
			return fleet.Key{Namespace: "prod", Name: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "cluster")}
		}
		t.Repeat(map[string]func(*rapid.T){
			"pass": func(t *rapid.T) {
				k := key()
				revision++
				p := passing{Cluster: &fleet.Cluster{Key: k, ControlPlane: fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane}}}
				p.Report = fleet.Report{
					Cluster: k, Phase: rapid.SampledFrom([]fleet.Phase{fleet.PhaseInfrastructure, fleet.PhaseWorkers, fleet.PhaseProvisioned, fleet.PhaseDeleting}).Draw(t, "phase"), Version: fmt.Sprint("v1.", revision),
					Revision:   fleet.Revision{Ref: "main", Digest: fmt.Sprint("sha1:", revision)},
					Conditions: []fleet.Condition{{Type: "Available", Status: rapid.SampledFrom([]fleet.ConditionStatus{fleet.True, fleet.False, fleet.StatusUnknown}).Draw(t, "status")}},
				}
				objects := []string{"cluster prod//" + k.Name}
				for i := range rapid.IntRange(0, 3).Draw(t, "pools") {
					r := fleet.PoolReport{Name: fleet.PoolName(fmt.Sprint("pool-", i)), Role: fleet.RoleWorker, Desired: i}
					if i == 0 {
						r.Role = fleet.RoleControlPlane
					}
					p.Report.Pools = append(p.Report.Pools, r)
					objects = append(objects, fmt.Sprintf("pool prod/%s/%s", k.Name, r.Name))
				}
				for _, name := range rapid.SliceOfN(rapid.StringMatching("m-[0-5]"), 0, 5).Draw(t, "machines") { // names may repeat
					p.Report.Machines = append(p.Report.Machines, fleet.MachineReport{
						Machine: fleet.Machine{Name: fleet.MachineName(name), ProviderID: fleet.ProviderID(fmt.Sprint("id-", revision)), Created: noon},
						Phase:   fleet.MachinePhaseRunning, Node: fmt.Sprint(name, "-", revision),
						Conditions: []fleet.Condition{{Type: "Ready", Status: fleet.True}},
					})
					objects = append(objects, fmt.Sprintf("machine prod/%s/%s", k.Name, name))
				}
				if rapid.Bool().Draw(t, "seen") {
					p.NotAfter = map[string]time.Time{"ca": noon, "apiserver": noon}
				}
				if rapid.Bool().Draw(t, "fails") {
					p.Err = fmt.Errorf("error %d", revision)
				}
				m.pass(t.Context(), p)
				slices.Sort(objects)
				want[k] = slices.Compact(objects)
			},
			"forget": func(t *rapid.T) {
				k := key()
				m.forget(k)
				delete(want, k)
			},
			"resign": func(*rapid.T) {
				m.SetOwner(fleet.Owner{})
				clear(want)
			},
			"own": func(*rapid.T) { m.SetOwner(fleet.Owner{Agent: "me", Epoch: 1}) },
			"": func(t *rapid.T) {
				all := slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(want))...)))
				have := objects(t, m)
				if diff := cmp.Diff(all, slices.Sorted(maps.Keys(have))); diff != "" {
					t.Fatalf("series are not of what is there (-there +series):\n%s", diff)
				}
				for object, n := range have {
					if most := map[bool]int{true: 120, false: 40}[strings.HasPrefix(object, "cluster ")]; n > most {
						t.Fatalf("%s has %d series, %d are promised", object, n, most)
					}
				}
			},
		})
	})
}
