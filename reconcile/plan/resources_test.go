package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/reconcile/plan"
)

func objectRef(kind, name string) fleet.ObjectRef {
	return fleet.ObjectRef{Kind: kind, Namespace: "net", Name: name}
}

// cni is a set of one resource.
func cni(change func(*fleet.ResourceSet), objects ...fleet.ObjectRef) fleet.ResourceSet {
	s := fleet.ResourceSet{Name: "cni", Strategy: fleet.ReconcileStrategy, Resources: []fleet.Resource{{Name: "ConfigMap/cni", Digest: "new"}}}
	for _, o := range objects {
		s.Resources[0].Objects = append(s.Resources[0].Objects, fleet.Manifest{ObjectRef: o})
	}
	if change != nil {
		change(&s)
	}
	return s
}

// TestResourceSets: what is done about ClusterResourceSets, and what is told of
// them, by what Git has and what the inventory in the cluster says.
func TestResourceSets(t *testing.T) {
	w, err := rested(cluster(1))
	if err != nil {
		t.Fatal(err)
	}
	now := w.clock()
	a, b, namespace := objectRef("ConfigMap", "a"), objectRef("ConfigMap", "b"), fleet.ObjectRef{Kind: "Namespace", Name: "net"}
	state := func(digest string, applied bool, change func(*fleet.ResourceSetState), objects ...fleet.ObjectRef) fleet.ResourceSetState {
		s := fleet.ResourceSetState{
			Name: "cni", Strategy: fleet.ReconcileStrategy, Objects: objects, Since: now.Add(-time.Minute), Tried: now.Add(-time.Minute), Applied: now.Add(-time.Minute),
			Resources: map[string]fleet.ResourceState{"ConfigMap/cni": {Digest: digest, Applied: applied}},
		}
		if change != nil {
			change(&s)
		}
		return s
	}
	failed := func(kind fleet.ErrorKind, since, tried time.Duration) func(*fleet.ResourceSetState) {
		return func(s *fleet.ResourceSetState) {
			s.Since, s.Tried = now.Add(-since), now.Add(-tried)
			s.Failures = []fleet.ResourceFailure{{Object: a, Kind: kind, Message: "no room"}}
		}
	}
	once := func(s *fleet.ResourceSet) { s.Strategy = fleet.ApplyOnce }
	wasOnce := func(s *fleet.ResourceSetState) { s.Strategy = fleet.ApplyOnce }
	for name, c := range map[string]struct {
		sets   []fleet.ResourceSet
		states []fleet.ResourceSetState
		edit   func(*plan.Input)
		want   []string // actions
		told   string   // the condition, of which a message may be more
	}{
		"nothing":        {},
		"new":            {sets: []fleet.ResourceSet{cni(nil, a)}, want: []string{"ApplyResources cni [ConfigMap/cni] []: the cluster does not have its 1 object"}, told: "False NotApplied cni is being applied"},
		"applied":        {sets: []fleet.ResourceSet{cni(nil, a)}, states: []fleet.ResourceSetState{state("new", true, nil, a)}, told: "True Applied "},
		"changed":        {sets: []fleet.ResourceSet{cni(nil, a)}, states: []fleet.ResourceSetState{state("old", true, nil, a)}, want: []string{"ApplyResources cni [ConfigMap/cni] []: ConfigMap/cni changed"}, told: "False NotApplied cni is being applied"},
		"cut off":        {sets: []fleet.ResourceSet{cni(nil, a)}, states: []fleet.ResourceSetState{state("new", false, nil, a)}, want: []string{"ApplyResources cni [ConfigMap/cni] []: applying it was cut off"}, told: "False NotApplied cni is being applied"},
		"once, changed":  {sets: []fleet.ResourceSet{cni(once, a)}, states: []fleet.ResourceSetState{state("old", true, wasOnce, a, b)}, told: "True Applied "},
		"other strategy": {sets: []fleet.ResourceSet{cni(nil, a)}, states: []fleet.ResourceSetState{state("new", true, wasOnce, a)}, want: []string{"ApplyResources cni [ConfigMap/cni] []: ConfigMap/cni changed"}, told: "False NotApplied cni is being applied"},
		"to be pruned":   {sets: []fleet.ResourceSet{cni(func(s *fleet.ResourceSet) { s.Prune = true }, a)}, states: []fleet.ResourceSetState{state("new", true, nil, a)}, want: []string{"ApplyResources cni [] []: its strategy has to be known after it left Git"}, told: "True Applied "},
		"an object left": {sets: []fleet.ResourceSet{cni(nil, a)}, states: []fleet.ResourceSetState{state("new", true, nil, a, b)}, want: []string{"PruneResources cni [] [ConfigMap net/b]: they were removed from Git: ConfigMap net/b"}, told: "True Applied "},
		"one left, not all is applied": {
			sets: []fleet.ResourceSet{cni(nil, a)}, states: []fleet.ResourceSetState{state("old", true, nil, a, b)},
			want: []string{"ApplyResources cni [ConfigMap/cni] []: ConfigMap/cni changed"}, told: "False NotApplied cni is being applied",
		},
		"a namespace left": {sets: []fleet.ResourceSet{cni(nil, a)}, states: []fleet.ResourceSetState{state("new", true, nil, a, namespace)}, want: []string{"PruneResources cni [] []: they were removed from Git"}, told: "True Applied "},
		"one left for another set": {
			sets: []fleet.ResourceSet{cni(nil, a), {Name: "other", Strategy: fleet.ApplyOnce, Paused: true, Resources: []fleet.Resource{{Objects: []fleet.Manifest{{ObjectRef: b}}}}}}, states: []fleet.ResourceSetState{state("new", true, nil, a, b)},
			want: []string{"PruneResources cni [] []: they were removed from Git"}, told: "True Applied other is paused",
		},
		"gone":               {states: []fleet.ResourceSetState{state("new", true, nil, a, b)}, told: "True Applied cni is not in Git any more for this cluster, which keeps its 2 objects"},
		"gone, applied once": {states: []fleet.ResourceSetState{state("new", true, wasOnce, a)}, want: []string{"PruneResources cni [] []: it is not in Git any more for this cluster"}, told: "True Applied "},
		"gone with what it applied": {
			states: []fleet.ResourceSetState{state("new", true, func(s *fleet.ResourceSetState) { s.Prune = true }, a, namespace)},
			want:   []string{"PruneResources cni [] [ConfigMap net/a]: it is not in Git any more for this cluster: ConfigMap net/a"}, told: "True Applied ",
		},
		"an hour later":                  {sets: []fleet.ResourceSet{cni(nil, a)}, states: []fleet.ResourceSetState{state("new", true, func(s *fleet.ResourceSetState) { s.Applied = now.Add(-time.Hour) }, a)}, want: []string{"ApplyResources cni [ConfigMap/cni] []: somebody may have changed what it applied"}, told: "True Applied "},
		"an hour later, drift stays":     {sets: []fleet.ResourceSet{cni(nil, a)}, states: []fleet.ResourceSetState{state("new", true, func(s *fleet.ResourceSetState) { s.Applied = now.Add(-time.Hour) }, a)}, edit: func(in *plan.Input) { in.Desired.Drift = fleet.DriftReport }, told: "True Applied "},
		"an hour later, drift is mended": {sets: []fleet.ResourceSet{cni(nil, a)}, states: []fleet.ResourceSetState{state("new", true, func(s *fleet.ResourceSetState) { s.Applied = now.Add(-time.Hour) }, a)}, edit: func(in *plan.Input) { in.Desired.Drift = fleet.DriftCorrect }, want: []string{"ApplyResources cni [ConfigMap/cni] []: somebody may have changed what it applied"}, told: "True Applied "},
		"gone, refused just now": {states: []fleet.ResourceSetState{state("new", true, func(s *fleet.ResourceSetState) {
			failed(fleet.Invalid, time.Hour, time.Second)(s)
			s.Prune = true
		}, a)}, told: "False NotApplied cni: ConfigMap net/a: no room"},
		"refused just now":         {sets: []fleet.ResourceSet{cni(nil, a)}, states: []fleet.ResourceSetState{state("new", false, failed(fleet.Invalid, 2*time.Second, 2*time.Second), a)}, told: "False NotApplied cni: ConfigMap net/a: no room"},
		"refused a while ago":      {sets: []fleet.ResourceSet{cni(nil, a)}, states: []fleet.ResourceSetState{state("new", false, failed(fleet.Invalid, 6*time.Second, 6*time.Second), a)}, want: []string{"ApplyResources cni [ConfigMap/cni] []: not all of it could be applied before"}, told: "False NotApplied cni: ConfigMap net/a: no room"},
		"refused for long":         {sets: []fleet.ResourceSet{cni(nil, a)}, states: []fleet.ResourceSetState{state("new", false, failed(fleet.Invalid, time.Hour, 9*time.Minute), a)}, told: "False NotApplied cni: ConfigMap net/a: no room"},
		"not served for long":      {sets: []fleet.ResourceSet{cni(nil, a)}, states: []fleet.ResourceSetState{state("new", false, failed(fleet.Unavailable, time.Hour, 2*time.Minute), a)}, want: []string{"ApplyResources cni [ConfigMap/cni] []: not all of it could be applied before"}, told: "False NotApplied cni: ConfigMap net/a: no room"},
		"refused, and Git changed": {sets: []fleet.ResourceSet{cni(nil, a)}, states: []fleet.ResourceSetState{state("old", false, failed(fleet.Invalid, time.Hour, time.Second), a)}, want: []string{"ApplyResources cni [ConfigMap/cni] []: ConfigMap/cni changed"}, told: "False NotApplied cni: ConfigMap net/a: no room"},
		"paused":                   {sets: []fleet.ResourceSet{cni(func(s *fleet.ResourceSet) { s.Paused = true }, a)}, states: []fleet.ResourceSetState{state("old", true, nil, a, b)}, told: "True Applied cni is paused"},
		"the API server is silent": {sets: []fleet.ResourceSet{cni(nil, a)}, edit: func(in *plan.Input) {
			in.Observed.Workload = fleet.Workload{}
			in.Observed.Infrastructure.Machines = append(in.Observed.Infrastructure.Machines, in.Observed.Infrastructure.Machines...)
		}, told: "Unknown ConnectionDown The API server does not answer"},
		"no machine has a Node": {sets: []fleet.ResourceSet{cni(nil, a)}, edit: func(in *plan.Input) { in.Observed.Workload.Nodes = nil }, told: "False NotApplied Control plane not yet initialized"},
		"the cluster goes":      {states: []fleet.ResourceSetState{state("new", true, func(s *fleet.ResourceSetState) { s.Prune = true }, a)}, edit: func(in *plan.Input) { in.Desired.Delete = true }},
	} {
		t.Run(name, func(t *testing.T) {
			in := w.input(true)
			in.Desired = change(in.Desired, func(d *fleet.Cluster) { d.ResourceSets = c.sets })
			in.Observed.Workload.ResourceSets = c.states
			if c.edit != nil {
				c.edit(&in)
			}
			p := plan.Compute(in)
			var got []string
			for _, action := range p.Actions {
				if action.Addon != "" {
					got = append(got, fmt.Sprintf("%s %v %v: %s", action, action.Resources, action.Objects, action.Reason))
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("actions: -want +got\n%s", d)
			}
			told := ""
			for _, condition := range p.Conditions {
				if condition.Type == "ResourcesApplied" {
					told = strings.Join([]string{string(condition.Status), condition.Reason, condition.Message}, " ")
				}
			}
			if told != c.told {
				t.Errorf("condition %q, want %q", told, c.told)
			}
		})
	}
}

// TestResourcePreview tells before what will be applied and deleted.
func TestResourcePreview(t *testing.T) {
	w, err := rested(cluster(1))
	if err != nil {
		t.Fatal(err)
	}
	preview := func(in plan.Input) []string {
		var out []string
		for _, c := range forecast.Of(in).Changes {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s%s: %s", c.Kind, c.Addon, c.Pool, c.Reason)))
		}
		return out
	}
	in := w.input(true)
	a, b := objectRef("ConfigMap", "a"), objectRef("ConfigMap", "b")
	in.Desired = change(in.Desired, func(d *fleet.Cluster) { d.ResourceSets = []fleet.ResourceSet{cni(nil, a)} })
	in.Observed.Workload.ResourceSets = []fleet.ResourceSetState{
		{Name: "cni", Strategy: fleet.ReconcileStrategy, Objects: []fleet.ObjectRef{a, b}, Resources: map[string]fleet.ResourceState{"ConfigMap/cni": {Digest: "old", Applied: true}}},
		{Name: "gone", Strategy: fleet.ReconcileStrategy, Prune: true, Objects: []fleet.ObjectRef{a, objectRef("Secret", "c")}},
		{Name: "stays", Strategy: fleet.ReconcileStrategy, Objects: []fleet.ObjectRef{b}},
	}
	tried := slices.Clone(in.Observed.Workload.ResourceSets)
	tried[0].Resources = map[string]fleet.ResourceState{"ConfigMap/cni": {Digest: cni(nil, a).Resources[0].Digest}}
	tried[0].Failures = []fleet.ResourceFailure{{Object: a, Kind: fleet.Unavailable, Message: "no"}}
	tried[0].Since, tried[0].Tried = in.Now.Add(-time.Hour), in.Now
	lately := in
	lately.Observed.Workload.ResourceSets = tried[:1]
	want := []string{"apply resources cni: not all of it could be applied before", "prune resources cni: they were removed from Git: ConfigMap net/b"}
	if d := cmp.Diff(want, preview(lately)); d != "" {
		t.Errorf("changes after a failure: -want +got\n%s", d)
	}
	want = []string{
		"apply resources cni: ConfigMap/cni changed", "prune resources cni: they were removed from Git: ConfigMap net/b",
		"prune resources gone: it is not in Git any more for this cluster: Secret net/c",
	}
	if d := cmp.Diff(want, preview(in)); d != "" {
		t.Errorf("changes: -want +got\n%s", d)
	}
	in.Observed = fleet.Observed{At: in.Now}
	in.Observed.Secrets.Missing = fleet.Authorities()
	in.Memory.Residence = fleet.Residence{}
	want = []string{"create cluster : the cluster has no infrastructure", "create eu-1-cp: first machine of the control plane", "apply resources cni: the cluster does not have its 1 object"}
	if d := cmp.Diff(want, preview(in)); d != "" {
		t.Errorf("changes of a new cluster: -want +got\n%s", d)
	}
}
