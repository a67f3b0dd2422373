// Package pagetest makes fleets for tests of the page: many clusters, some of which change,
// fail, or wait for people.
package pagetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/agent/console/page"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// Start is the time at which all fleets are looked at.
func Start() time.Time { return time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC) }

// Revision is the newest of all fleets.
func Revision() fleet.Revision {
	return fleet.Revision{Ref: "main", Digest: "sha1:72c6fb6d1f2d4c6b8a9e0f1d2c3b4a5968778695"}
}

// Fleet returns the news of a fleet of n clusters, each with workers machines beside its
// control plane. Of a hundred clusters, some are not as they should be.
func Fleet(n, workers int) page.News {
	rev := Revision()
	news := page.News{
		Head: fleet.Revision{Ref: "fairlead/status", Digest: "sha1:5b3c7e0a1f2d4c6b8a9e0f1d2c3b4a5968778695"},
		Status: status.Status{
			Owner: fleet.Owner{Agent: "agent-a", Epoch: 3, Place: "kubernetes:fairlead"},
			Fleet: sources.FleetStatus{Fleet: "edge", Revision: rev, Applied: rev, Broken: true},
		},
		Facts: []page.Fact{{Name: "Version", Value: "v1.0.0"}, {Name: "Last poll", At: Start().Add(-20 * time.Second)}},
	}
	for i := range n {
		r := Report(i, workers)
		news.Status.Clusters = append(news.Status.Clusters, clusterOf(r, Start().Add(-time.Duration(i%90+3)*time.Minute)))
		news.Status.Fleet.Problems = append(news.Status.Fleet.Problems, r.Problems...)
		if r.Phase == fleet.PhaseWorkers {
			news.Status.Fleet.Behind = append(news.Status.Fleet.Behind, r.Cluster)
		}
	}
	news.History = history(news.Status.Clusters)
	news.Requests = []fleet.Request{
		{Kind: fleet.RequestSuspend, Cluster: Key(7), Reason: "its network is being moved", By: "Ada <ada@example.com>", At: Start().Add(-time.Hour), Until: Start().Add(3 * time.Hour), Answer: fleet.Answer{State: fleet.RequestAccepted, At: Start()}},
		{Kind: fleet.RequestReconcile, Cluster: Key(1), By: "Bob <bob@example.com>", At: Start().Add(-2 * time.Hour), Answer: fleet.Answer{State: fleet.RequestDone, Message: "looked at", At: Start()}},
	}
	news.Plans, news.Status.Fleet.Rollout = plans(), rollout()
	slices.SortFunc(news.Status.Clusters, func(a, b status.Cluster) int { return a.Report.Cluster.Compare(b.Report.Cluster) })
	return news
}

// rollout is that of a change that is halted in one stage, and waits in another.
func rollout() fleet.RolloutStatus {
	return fleet.RolloutStatus{
		Stages: []fleet.StageStatus{
			{Name: "canary", State: fleet.StageDone, Clusters: 3},
			{Name: "half", State: fleet.StageHalted, Why: "1 of 10 clusters failed, more than 0", Since: Start().Add(-2 * time.Hour), Clusters: 10, Changing: 1, Waiting: 4, Digest: "0123", Failed: []fleet.FailedCluster{{Cluster: Key(3), Why: "No valid host was found"}}},
			{Name: "rest", State: fleet.StageWaiting, Why: "stage half is halted", Since: Start().Add(-2 * time.Hour), Clusters: 20, Waiting: 20, Digest: "4567"},
		},
		Waiting: []fleet.Wait{{Cluster: Key(8), Stage: "rest", Revision: Revision(), Digest: "4567", Why: "stage half is halted", Until: Start().Add(9 * time.Hour), Since: Start().Add(-2 * time.Hour)}},
	}
}

// plans are those of two pull requests: one that passes, and one whose changes its reviewers
// have to accept.
func plans() []status.Plan {
	head := func(n int) string { return strings.Repeat(fmt.Sprintf("%04x", n*40503%65536), 10) }
	return []status.Plan{
		{Number: 12, Head: head(12), Base: Revision().String(), Tree: "sha1:" + head(3), Look: "01234567", Verdict: "success", Summary: "nothing to do", Headline: "nothing to do"},
		{
			Number: 14, Head: head(14), Base: Revision().String(), Tree: "sha1:" + head(4), Look: "01234567", Verdict: "failure",
			Summary: "fails: it deletes cluster " + Key(2).String(), Clusters: []fleet.Key{Key(2), Key(4)},
			Changes: []status.PlannedChange{
				{Change: "delete cluster", Cluster: Key(2).String(), Reason: "fairlead.dev/delete says so"},
				{Change: "replace", Cluster: Key(4).String(), Pool: "cp", Machine: "gru-0004-cp-1", By: "gru-0004-cp-2", Reason: "spec.version: v1.35.4 → v1.36.0"},
			},
			Headline: "delete 1 cluster, replace 1 machine", Failures: []string{"it deletes cluster " + Key(2).String()},
		},
	}
}

// clusterOf returns what the status branch says of r, whose conditions changed at one time.
func clusterOf(r fleet.Report, at time.Time) status.Cluster {
	conditions := func(list []fleet.Condition) []metav1.Condition {
		var out []metav1.Condition
		for _, c := range list {
			out = append(out, metav1.Condition{Type: c.Type, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message, LastTransitionTime: metav1.NewTime(at)})
		}
		return out
	}
	c := status.Cluster{Report: r, Cluster: clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Labels: r.Labels}, Status: clusterv1.ClusterStatus{Conditions: conditions(r.Conditions)}}}
	c.Upgrade = status.Upgrade{From: "v1.34.1", To: "v1.35.4", Began: Start().Add(-30 * time.Hour), Ended: Start().Add(-30*time.Hour + 47*time.Minute)}
	if r.Phase == fleet.PhaseWorkers {
		c.Upgrade = status.Upgrade{From: "v1.35.4", To: r.Version, Began: Start().Add(-26 * time.Minute)}
	}
	for _, a := range r.Addons {
		c.Addons = append(c.Addons, status.Addon{AddonReport: a, Since: at})
	}
	for _, m := range r.Machines {
		c.Machines = append(c.Machines, clusterv1.Machine{Status: clusterv1.MachineStatus{Conditions: conditions(m.Conditions)}})
	}
	return c
}

// Key returns the name of cluster i.
func Key(i int) fleet.Key {
	return fleet.Key{Namespace: []string{"prod", "stage", "dev"}[i%3], Name: fmt.Sprintf("%s-%04d", places()[i%len(places())], i)}
}

func places() []string {
	return []string{"ams", "cdg", "dub", "fra", "gru", "iad", "lhr", "nrt", "sin", "syd"}
}

// Report returns how cluster i is.
func Report(i, workers int) fleet.Report {
	k := Key(i)
	began := Start().Add(-48 * time.Hour)
	r := fleet.Report{
		Cluster: k, Revision: Revision(), Overlay: "clusters/" + k.Namespace + "/" + k.Name, Phase: fleet.PhaseProvisioned, Provider: "openstack",
		Version: "v1.35.4", Labels: map[string]string{"env": k.Namespace, "example.com/tier": []string{"gold", "silver"}[i%2]}, Endpoint: fleet.Endpoint{Host: "192.0.2.10", Port: 6443},
		Certificates: map[string]time.Time{"ca": Start().AddDate(9, 0, 0), "apiserver": Start().AddDate(0, 3, 0)},
		Conditions:   []fleet.Condition{{Type: "Available", Status: fleet.True, Reason: "Available"}, {Type: "Paused", Status: fleet.False, Reason: "NotPaused"}},
		Memory: fleet.Memory{Milestones: fleet.Milestones{
			Began: began, Infrastructure: began.Add(57 * time.Second), ControlPlane: began.Add(148 * time.Second), Provisioned: began.Add(291 * time.Second),
		}},
	}
	pool(&r, k.Name+"-cp", fleet.RoleControlPlane, 3)
	pool(&r, k.Name+"-md-0", fleet.RoleWorker, workers)
	trouble(&r, i)
	return r
}

// trouble makes some clusters be other than they should.
func trouble(r *fleet.Report, i int) {
	last := &r.Machines[len(r.Machines)-1]
	switch i % 100 {
	case 3:
		r.Failure = string(last.Machine.Name) + ": No valid host was found. There are not enough hosts available."
		last.Phase, last.Node, last.Machine.Message = fleet.MachinePhaseFailed, "", "Fault 500: No valid host was found."
		r.Pools[1].Ready--
		r.Conditions[0] = fleet.Condition{Type: "Available", Status: fleet.False, Reason: "NotAvailable", Message: "a machine has failed"}
	case 5:
		r.Problems = []fleet.Problem{{
			Overlay: r.Overlay, Cluster: r.Cluster, File: r.Overlay + "/values.yaml", Line: 17, Object: "MachineDeployment " + r.Cluster.String() + "-md-0", Field: "spec.replicas",
			Message: `must be a whole number, is the string "many"`, Hint: "${WORKER_MACHINE_COUNT} is set in " + r.Overlay + "/values.yaml",
		}}
	case 7:
		r.Conditions[1] = fleet.Condition{Type: "Paused", Status: fleet.True, Reason: "Paused"}
		r.Waiting = []string{"the end of its suspension: its network is being moved"}
	case 11, 12, 13, 47:
		r.Phase, r.Version = fleet.PhaseWorkers, "v1.36.0"
		for j := range r.Machines {
			if m := &r.Machines[j]; m.Machine.Role == fleet.RoleWorker && j%4 != 0 {
				m.UpToDate = false
			} else {
				m.Machine.Version, m.Version = "v1.36.0", "v1.36.0"
			}
		}
		r.Pools[1].UpToDate = len(r.Machines) / 4
		last.Phase, last.Node, last.UpToDate, last.Machine.Message = fleet.MachinePhaseProvisioned, "", true, "kubeadm join has begun"
		r.Waiting = []string{"machine " + string(last.Machine.Name) + " to become a Node", "90 more of pool " + string(last.Machine.Pool)}
		r.Conditions = append(r.Conditions, fleet.Condition{Type: "RollingOut", Status: fleet.True, Reason: "RollingOut", Message: "version v1.35.4 → v1.36.0"})
		r.Addons = addons(fleet.AddonReady, "")
	case 17:
		r.Addons = addons(fleet.AddonFailed, "Deployment kube-system/csi-controller: denied by a policy")
	case 21:
		r.Phase = fleet.PhaseDeleting
		r.Waiting = []string{"its machines to go"}
	}
}

// addons are a chart that is installed, and a set of manifests in a state.
func addons(state fleet.AddonState, why string) []fleet.AddonReport {
	return []fleet.AddonReport{
		{Kind: fleet.KindResourceSet, Name: "csi", State: state, Message: why, Revision: Revision()},
		{Kind: fleet.KindChartProxy, Name: "cilium", State: fleet.AddonReady, Chart: "cilium 1.18.2", Release: "kube-system/cilium", HelmRevision: 3, Revision: Revision()},
	}
}

// pool adds a pool of n machines to r.
func pool(r *fleet.Report, name string, role fleet.Role, n int) {
	r.Pools = append(r.Pools, fleet.PoolReport{Name: fleet.PoolName(name), Role: role, Version: r.Version, Desired: n, Current: n, UpToDate: n, Ready: n, Available: n})
	for i := range n {
		m := fleet.MachineReport{
			Machine: fleet.Machine{
				Name: fleet.MachineName(fmt.Sprintf("%s-%08x", name, (i+1)*7919)), ProviderID: fleet.ProviderID(fmt.Sprintf("openstack:///%s-%d", name, i)),
				Pool: fleet.PoolName(name), Role: role, Version: r.Version, FailureDomain: "nova-" + string(rune('a'+i%3)), State: fleet.MachineRunning, Created: Start().Add(-48 * time.Hour),
			},
			Phase: fleet.MachinePhaseRunning, Version: r.Version, UpToDate: true, Joined: Start().Add(-47 * time.Hour),
			Conditions: []fleet.Condition{{Type: "Ready", Status: fleet.True, Reason: "Ready"}},
		}
		m.Node = string(m.Machine.Name)
		r.Machines = append(r.Machines, m)
	}
}

func history(list []status.Cluster) []sources.Entry {
	var out []sources.Entry
	for i := range 6 {
		k := Key(47)
		of := func(n int) string { return fmt.Sprintf("%s-md-0-%08x", k.Name, (n+1)*7919) }
		out = append(out, sources.Entry{
			Commit: strings.Repeat(fmt.Sprintf("%04x", (i+7)*40503%65536), 10), By: "Fairlead <fairlead@fairlead.dev>", At: Start().Add(-time.Duration(i*5+1) * time.Minute),
			Message: fmt.Sprintf("%s: CreateMachine %s: outdated: version v1.35.4 → v1.36.0\n\n%s: DrainNode %s: its machine is replaced\n\nFairlead-Agent: agent-a\n", k, of(97-i), k, of(i)),
		})
	}
	for i, c := range list[:min(len(list), 40)] {
		k := c.Report.Cluster.String()
		m := c.Report.Machines[0].Machine.Name
		out = append(out, sources.Entry{
			Commit: strings.Repeat(fmt.Sprintf("%04x", i*2654435761%65536), 10), By: "Fairlead <fairlead@fairlead.dev>", At: Start().Add(-time.Duration(i) * 3 * time.Minute),
			Message: fmt.Sprintf("%s: Workers → Provisioned\n\n%s: CreateMachine %s: outdated: version v1.34.1 → v1.35.4\n%s: DrainNode %s: its machine is replaced\n\nFairlead-Agent: agent-a\n", k, k, m, k, m),
		})
	}
	return out
}
