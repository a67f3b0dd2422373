package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/reconcile/plan"
)

// TestReleases: what is done about HelmChartProxies, and what is told of them, by
// what Git has, what the labels of releases say, and what the agent itself began.
func TestReleases(t *testing.T) {
	w, err := rested(cluster(1))
	if err != nil {
		t.Fatal(err)
	}
	now := w.clock()
	ref := fleet.ReleaseRef{Namespace: "net", Name: "cni"}
	release := func(change func(*fleet.Release)) []fleet.Release {
		r := fleet.Release{ReleaseRef: ref, Proxy: "p", Strategy: fleet.Continuous, Prune: true, Digest: "new"}
		if change != nil {
			change(&r)
		}
		return []fleet.Release{r}
	}
	state := func(status, digest string, change func(*fleet.ReleaseState)) []fleet.ReleaseState {
		s := fleet.ReleaseState{
			ReleaseRef: ref, Proxy: "p", Revision: 2, Status: status, Digest: digest, Ours: true, Strategy: fleet.Continuous, Prune: true,
			Deployed: status == "deployed", Changed: now.Add(-time.Hour),
		}
		if change != nil {
			change(&s)
		}
		return []fleet.ReleaseState{s}
	}
	failed := func(digest string, kind fleet.ErrorKind, since, tried time.Duration) []fleet.ReleaseTry {
		return []fleet.ReleaseTry{{ReleaseRef: ref, Digest: digest, Since: now.Add(-since), Tried: now.Add(-tried), Failure: kind, Message: "no room"}}
	}
	running := func(digest string) []fleet.ReleaseTry {
		return []fleet.ReleaseTry{{ReleaseRef: ref, Digest: digest, Running: true, Since: now}}
	}
	once := func(r *fleet.Release) { r.Strategy, r.Prune = fleet.InstallOnce, false }
	wasOnce := func(s *fleet.ReleaseState) { s.Strategy, s.Prune = fleet.InstallOnce, false }
	just := func(s *fleet.ReleaseState) { s.Changed = now.Add(-30 * time.Second) }
	const install, remove = "InstallRelease net/cni p: ", "UninstallRelease net/cni p: Git does not have it any more for this cluster"
	const pending, bad = "False HelmReleasePending net/cni is being installed: ", "False HelmInstallOrUpgradeFailed net/cni: "
	for name, c := range map[string]struct {
		releases []fleet.Release
		states   []fleet.ReleaseState
		tries    []fleet.ReleaseTry
		edit     func(*plan.Input)
		want     string // the action
		waits    string
		told     string // the condition
	}{
		"nothing":             {},
		"new":                 {releases: release(nil), want: install + "the cluster does not have it", told: pending + "the cluster does not have it"},
		"installed":           {releases: release(nil), states: state("deployed", "new", nil), told: "True Ready "},
		"changed":             {releases: release(nil), states: state("deployed", "old", nil), want: install + "its chart, values or options changed", told: pending + "its chart, values or options changed"},
		"Helm is at work":     {releases: release(nil), tries: running("new"), waits: "release net/cni: Helm is at work on it", told: pending + "the cluster does not have it"},
		"at work, and seen":   {releases: release(nil), states: state("pending-install", "new", nil), tries: running("new"), waits: "release net/cni: Helm is at work on it", told: pending + "changing it was cut off"},
		"cut off just now":    {releases: release(nil), states: state("pending-upgrade", "new", just), waits: "release net/cni: somebody is at work on it, or was cut off", told: pending + "changing it was cut off"},
		"cut off":             {releases: release(nil), states: state("pending-upgrade", "new", nil), want: install + "changing it was cut off", told: pending + "changing it was cut off"},
		"removal cut off":     {releases: release(nil), states: state("uninstalling", "new", nil), want: install + "changing it was cut off", told: pending + "changing it was cut off"},
		"somebody's upgrade":  {releases: release(nil), states: state("pending-upgrade", "new", func(s *fleet.ReleaseState) { s.Ours, s.Changed = false, now.Add(-14*time.Minute) }), waits: "release net/cni: somebody is at work on it, or was cut off", told: pending + "changing it was cut off"},
		"somebody's, cut off": {releases: release(nil), states: state("pending-upgrade", "new", func(s *fleet.ReleaseState) { s.Ours, s.Changed = false, now.Add(-16*time.Minute) }), want: install + "changing it was cut off", told: pending + "changing it was cut off"},
		"somebody upgraded":   {releases: release(nil), states: state("deployed", "new", func(s *fleet.ReleaseState) { s.Ours = false }), want: install + "somebody else changed it", told: pending + "somebody else changed it"},
		"somebody upgraded, drift stays": {
			releases: release(nil), states: state("deployed", "new", func(s *fleet.ReleaseState) { s.Ours = false }), told: "True Ready ",
			edit: func(in *plan.Input) { in.Desired.Drift = fleet.DriftReport },
		},
		"history of one that went": {releases: release(nil), states: state("uninstalled", "new", nil), want: install + "the cluster does not have it", told: pending + "the cluster does not have it"},
		"failed, not by us":        {releases: release(nil), states: state("failed", "new", nil), want: install + "its last change failed", told: bad + "its last change failed"},
		"failed just now":          {releases: release(nil), states: state("failed", "new", nil), tries: failed("new", fleet.Invalid, 2*time.Second, 2*time.Second), told: bad + "no room"},
		"failed a while ago":       {releases: release(nil), tries: failed("new", fleet.Invalid, 6*time.Second, 6*time.Second), want: install + "the cluster does not have it", told: bad + "no room"},
		"refused for long":         {releases: release(nil), tries: failed("new", fleet.NotFound, time.Hour, 9*time.Minute), told: bad + "no room"},
		"away for long":            {releases: release(nil), tries: failed("new", fleet.Unavailable, time.Hour, 2*time.Minute), want: install + "the cluster does not have it", told: bad + "no room"},
		"failed, and Git changed":  {releases: release(nil), tries: failed("old", fleet.Invalid, time.Hour, time.Second), want: install + "the cluster does not have it", told: pending + "the cluster does not have it"},
		"once":                     {releases: release(once), states: state("deployed", "old", wasOnce), told: "True Ready "},
		"once, and failed since":   {releases: release(once), states: state("failed", "old", func(s *fleet.ReleaseState) { wasOnce(s); s.Deployed = true }), told: "True Ready "},
		"once, never deployed":     {releases: release(once), states: state("failed", "new", wasOnce), want: install + "its last change failed", told: bad + "its last change failed"},
		"once, continuous before":  {releases: release(once), states: state("deployed", "old", nil), want: install + "its strategy changed", told: pending + "its strategy changed"},
		"paused":                   {releases: release(func(r *fleet.Release) { r.Paused = true }), told: "True Ready net/cni is paused"},
		"gone":                     {states: state("deployed", "old", nil), want: remove, told: "False HelmReleasePending net/cni is being removed"},
		"gone while pending":       {states: state("pending-install", "old", just), waits: "release net/cni: somebody is at work on it, or was cut off", told: "False HelmReleasePending net/cni is being removed"},
		"gone, Helm is at work":    {states: state("uninstalling", "old", nil), tries: running(""), waits: "release net/cni: Helm is at work on it", told: "False HelmReleasePending net/cni is being removed"},
		"gone, removal failed":     {states: state("uninstalling", "old", nil), tries: failed("", fleet.Invalid, time.Second, time.Second), told: "False HelmReleaseDeletionFailed net/cni: no room"},
		"gone, install failed":     {states: state("failed", "old", nil), tries: failed("old", fleet.Invalid, time.Hour, time.Second), want: remove, told: "False HelmReleasePending net/cni is being removed"},
		"gone, history stays":      {states: state("uninstalled", "old", nil), told: "True Ready "},
		"gone, installed once":     {states: state("deployed", "old", wasOnce), told: "True Ready net/cni is not in Git any more for this cluster, and stays"},
		"gone, once from now on":   {states: state("deployed", "old", func(s *fleet.ReleaseState) { s.Strategy = fleet.InstallOnce }), told: "True Ready net/cni is not in Git any more for this cluster, and stays"},
		"gone, not to be pruned":   {states: state("deployed", "old", func(s *fleet.ReleaseState) { s.Prune = false }), told: "True Ready net/cni is not in Git any more for this cluster, and stays"},
		"the API server is silent": {releases: release(nil), edit: func(in *plan.Input) {
			in.Observed.Workload = fleet.Workload{}
			in.Observed.Infrastructure.Machines = append(in.Observed.Infrastructure.Machines, in.Observed.Infrastructure.Machines...)
		}, told: "Unknown ConnectionDown The API server does not answer"},
		"no machine has a Node": {releases: release(nil), edit: func(in *plan.Input) { in.Observed.Workload.Nodes = nil }, told: "False PreparingToHelmInstall Control plane not yet initialized"},
		"the cluster goes":      {states: state("deployed", "old", nil), edit: func(in *plan.Input) { in.Desired.Delete = true }},
	} {
		t.Run(name, func(t *testing.T) {
			in := w.input(true)
			in.Desired = change(in.Desired, func(d *fleet.Cluster) { d.Releases = c.releases })
			in.Observed.Workload.Releases, in.Observed.Workload.ReleaseTries = c.states, c.tries
			if c.edit != nil {
				c.edit(&in)
			}
			p := plan.Compute(in)
			var got []string
			for _, action := range p.Actions {
				if action.Release != (fleet.ReleaseRef{}) {
					got = append(got, fmt.Sprintf("%s %s: %s", action, action.Addon, action.Reason))
				}
			}
			if strings.Join(got, "\n") != c.want {
				t.Errorf("actions %q, want %q", got, c.want)
			}
			waits := ""
			for _, text := range p.Waiting {
				if strings.HasPrefix(text, "release ") {
					waits += text
				}
			}
			if waits != c.waits {
				t.Errorf("it waits for %q, want %q", waits, c.waits)
			}
			told := ""
			for _, condition := range p.Conditions {
				if condition.Type == "HelmReleaseReady" {
					told = strings.Join([]string{string(condition.Status), condition.Reason, condition.Message}, " ")
				}
			}
			if told != c.told {
				t.Errorf("condition %q, want %q", told, c.told)
			}
			if wakes := c.want == "" && (strings.Contains(c.told, "no room") || strings.Contains(c.waits, "somebody")); wakes && p.After == 0 {
				t.Error("nobody looks again when it is time")
			}
		})
	}
}

// TestReleasePreview tells before what will be installed, upgraded and removed.
func TestReleasePreview(t *testing.T) {
	w, err := rested(cluster(1))
	if err != nil {
		t.Fatal(err)
	}
	release := func(name string) fleet.Release {
		return fleet.Release{
			ReleaseRef: fleet.ReleaseRef{Namespace: "net", Name: name}, Proxy: name, Strategy: fleet.Continuous, Digest: "new",
			Chart: fleet.Chart{Repository: "https://helm.example.com", Name: name, Version: "1.0.0"},
		}
	}
	state := func(name string) fleet.ReleaseState {
		return fleet.ReleaseState{
			ReleaseRef: fleet.ReleaseRef{Namespace: "net", Name: name}, Proxy: name, Strategy: fleet.Continuous, Prune: true,
			Status: "deployed", Deployed: true, Ours: true, Digest: "old",
		}
	}
	in := w.input(true)
	in.Desired = change(in.Desired, func(d *fleet.Cluster) { d.Releases = []fleet.Release{release("a"), release("b")} })
	in.Observed.Workload.Releases = []fleet.ReleaseState{state("b"), state("c")}
	var got []string
	for _, c := range forecast.Of(in).Changes {
		got = append(got, fmt.Sprintf("%s %s: %s", c.Kind, c.Addon, c.Reason))
	}
	want := []string{
		"install release net/a: a 1.0.0 of https://helm.example.com: the cluster does not have it",
		"upgrade release net/b: b 1.0.0 of https://helm.example.com: its chart, values or options changed",
		"remove release net/c: Git does not have it any more for this cluster",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("changes: -want +got\n%s", d)
	}
}
