package metrics

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// totals count all clusters of a fleet, however many of them have series of their own.
type totals struct {
	clusters   map[placed]int
	machines   map[placed]int
	versions   map[string]int
	conditions map[stated]int
	expiries   map[string]time.Time
	failing, paused, unhealthy,
	drift, shown int
}

// placed is a phase of what is in a namespace.
type placed struct{ namespace, phase string }

// stated is a condition with a status.
type stated struct{ kind, status string }

// totalsOf counts clusters, of which so many are unhealthy, and so many have series of their own.
func totalsOf(clusters []*clusterState, unhealthy, shown int) totals {
	t := totals{
		clusters: make(map[placed]int), machines: make(map[placed]int), versions: make(map[string]int),
		conditions: make(map[stated]int), expiries: make(map[string]time.Time), unhealthy: unhealthy, shown: shown,
	}
	count := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	for _, s := range clusters {
		namespace := s.report.Cluster.Namespace
		t.clusters[placed{namespace, string(s.report.Phase)}]++
		for _, m := range s.report.Machines {
			t.machines[placed{namespace, string(m.Phase)}]++
		}
		t.versions[s.report.Version]++
		for _, c := range s.report.Conditions {
			t.conditions[stated{c.Type, string(c.Status)}]++
		}
		for certificate, at := range s.pass.NotAfter {
			if first, ok := t.expiries[certificate]; !at.IsZero() && (!ok || at.Before(first)) {
				t.expiries[certificate] = at
			}
		}
		count(&t.failing, s.pass.Err != nil)
		count(&t.paused, s.paused())
		t.drift += s.pass.Drift
	}
	return t
}

// families are the series of t.
func (t totals) families() []family {
	one := func(name, help string, n int) family {
		return family{name, help, nil, func(show emit) { show(float64(n)) }}
	}
	byPhase := func(name, help string, of map[placed]int) family {
		return family{name, help, []string{"namespace", "phase"}, func(show emit) {
			for _, p := range slices.SortedFunc(maps.Keys(of), func(a, b placed) int {
				return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.phase, b.phase))
			}) {
				show(float64(of[p]), p.namespace, p.phase)
			}
		}}
	}
	return []family{
		byPhase("fairlead_clusters", "Clusters by their phase.", t.clusters),
		{"fairlead_clusters_certificate_expiry_timestamp_seconds", "When the first certificate of that kind expires in any cluster.", []string{"certificate"}, func(show emit) {
			for _, c := range slices.Sorted(maps.Keys(t.expiries)) {
				show(seconds(t.expiries[c]), c)
			}
		}},
		{"fairlead_clusters_condition", "Clusters that have a condition with that status.", []string{"type", "status"}, func(show emit) {
			for _, c := range slices.SortedFunc(maps.Keys(t.conditions), func(a, b stated) int {
				return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.status, b.status))
			}) {
				show(float64(t.conditions[c]), c.kind, c.status)
			}
		}},
		one("fairlead_clusters_drift", "Differences between the shared infrastructure of all clusters and Git.", t.drift),
		one("fairlead_clusters_failing", "Clusters whose last reconciliation failed, entirely or in part.", t.failing),
		one("fairlead_clusters_paused", "Clusters that are paused or suspended.", t.paused),
		one("fairlead_clusters_shown", "Clusters with series of their own.", t.shown),
		one("fairlead_clusters_unhealthy", "Clusters that are being changed or have a problem.", t.unhealthy),
		{"fairlead_clusters_version", "Clusters by the Kubernetes version in Git.", []string{"version"}, func(show emit) {
			for _, v := range slices.Sorted(maps.Keys(t.versions)) {
				show(float64(t.versions[v]), v)
			}
		}},
		byPhase("fairlead_machines", "Machines by their phase.", t.machines),
	}
}
