package preview

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/agent/plans/document"
	"fairlead.dev/agent/plans/scope"
	"fairlead.dev/fleet"
	"fairlead.dev/fleet/window"
	"fairlead.dev/sources/status"
)

// schedule returns when a window is open.
func schedule(t *testing.T, duration string) *window.Window {
	t.Helper()
	w, err := window.New(window.Rule{Cron: "0 22 * * *", Duration: duration})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// fill sets v to a value that is not zero, the same each time; other sets another one.
func fill(t *testing.T, v reflect.Value, other bool) {
	t.Helper()
	n := int64(3)
	word := "a"
	if other {
		n, word = 7, "b"
	}
	switch v.Type() {
	case reflect.TypeFor[labels.Selector]():
		v.Set(reflect.ValueOf(labels.SelectorFromSet(labels.Set{"x": word})))
		return
	case reflect.TypeFor[fleet.Schedule]():
		v.Set(reflect.ValueOf(schedule(t, map[bool]string{false: "2h", true: "3h"}[other])))
		return
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1_800_000_000+n*86400, 0).UTC()))
		return
	case reflect.TypeFor[intstr.IntOrString]():
		v.Set(reflect.ValueOf(intstr.FromInt32(int32(n))))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(word)
	case reflect.Bool:
		v.SetBool(!other)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(n)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(n))
	case reflect.Float64:
		v.SetFloat(float64(n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), other)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), other)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, other)
		fill(t, value, other)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i), other)
			}
		}
	default:
		t.Fatalf("a %s is not filled: teach the test", v.Type())
	}
}

// leaves calls each with every value in v that has no parts, and its path.
func leaves(at string, v reflect.Value, each func(path string, leaf reflect.Value)) {
	switch _, words := spoken(v); {
	case words:
		each(at, v)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				leaves(joined(at, f.Name), v.Field(i), each)
			}
		}
	case v.Kind() == reflect.Slice && v.Len() > 0:
		leaves(at+"[]", v.Index(0), each)
	default:
		each(at, v)
	}
}

// TestEachFieldOfFleetYAMLIsTold: what a revision changes of fleet.yaml is in its plan, whatever field
// it is, how deep it lies, and whether it was there before.
func TestEachFieldOfFleetYAMLIsTold(t *testing.T) {
	t.Parallel()
	full := func() *fleet.Config {
		c := &fleet.Config{}
		fill(t, reflect.ValueOf(c).Elem(), false)
		return c
	}
	var paths []string
	leaves("", reflect.ValueOf(full()).Elem(), func(path string, _ reflect.Value) { paths = append(paths, path) })
	if len(paths) < 50 {
		t.Fatalf("only %q are walked", paths)
	}
	for i, path := range paths {
		was, is := full(), full()
		n := 0
		leaves("", reflect.ValueOf(is).Elem(), func(_ string, leaf reflect.Value) {
			if n == i {
				fill(t, leaf, true)
			}
			n++
		})
		if told := settings(was, is); len(told) == 0 {
			t.Errorf("a plan tells nothing of %s, which changes", path)
		}
	}
	for i := range reflect.TypeFor[fleet.Config]().NumField() {
		was, is := &fleet.Config{}, &fleet.Config{}
		fill(t, reflect.ValueOf(is).Elem().Field(i), false)
		for _, told := range [][]Change{settings(was, is), settings(is, was)} {
			if len(told) == 0 {
				t.Errorf("a plan tells nothing of %s, which comes or goes", reflect.TypeFor[fleet.Config]().Field(i).Name)
			}
		}
	}
	if told := settings(full(), full()); len(told) > 0 {
		t.Errorf("of two equal files a plan tells %+v", told)
	}
}

// pair is a cluster before and after.
func pair(change func(c *fleet.Cluster)) (before, after fleet.Cluster) {
	make1 := func() fleet.Cluster {
		return fleet.Cluster{
			Key: fleet.Key{Namespace: "prod", Name: "a"}, Digest: "1", Labels: map[string]string{"ring": "prod"},
			HealthChecks: []clusterv1.MachineHealthCheck{{}}, ControlPlane: fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane},
			Workers: []fleet.Pool{{Name: "md", Role: fleet.RoleWorker, MaxRemediations: -1}},
		}
	}
	before, after = make1(), make1()
	change(&after)
	return before, after
}

// told returns what a plan without any change of machines tells.
func told(was, is fleet.Config, before, after fleet.Cluster) []Change {
	after.Digest = "2"
	p := New(Options{Fleet: fleet.Fleet{Config: is, Clusters: []fleet.Cluster{after}}, Scope: scope.All})
	p.Compare(fleet.Fleet{Config: was, Clusters: []fleet.Cluster{before}}, nil)
	return p.Changes
}

// TestEachFieldOfAClusterIsTold: each field of a cluster and of a pool that changes is in the plan, or
// there is a reason why it need not be.
func TestEachFieldOfAClusterIsTold(t *testing.T) {
	t.Parallel()
	check := func(of reflect.Type, at func(c *fleet.Cluster) reflect.Value) {
		for i := range of.NumField() {
			name := of.Field(i).Name
			before, after := pair(func(c *fleet.Cluster) { fill(t, at(c).Field(i), false) })
			after.Key = before.Key
			got := told(fleet.Config{}, fleet.Config{}, before, after)
			if why := ofGit(lowerFirst(name)); (why != "") != (len(got) == 0) {
				t.Errorf("%s.%s changes: the plan tells %+v, and has a reason to tell nothing: %q", of.Name(), name, got, why)
			}
		}
	}
	check(reflect.TypeFor[fleet.Cluster](), func(c *fleet.Cluster) reflect.Value { return reflect.ValueOf(c).Elem() })
	check(reflect.TypeFor[fleet.Pool](), func(c *fleet.Cluster) reflect.Value { return reflect.ValueOf(&c.Workers[0]).Elem() })
	before, after := pair(func(*fleet.Cluster) {})
	if got := told(fleet.Config{}, fleet.Config{}, before, after); len(got) > 0 {
		t.Errorf("of two equal definitions a plan tells %+v", got)
	}
}

// TestWhatEndsAPromise: what ends a promise has a name, and comes first.
func TestWhatEndsAPromise(t *testing.T) {
	t.Parallel()
	frozen := fleet.Waves{Freezes: []fleet.Freeze{{Select: labels.SelectorFromSet(labels.Set{"ring": "prod"}), Reason: "sales"}}}
	for name, c := range map[string]struct {
		was, is fleet.Config
		change  func(c *fleet.Cluster)
		want    string
	}{
		"a recipient of the escrow": {is: fleet.Config{Escrow: fleet.Escrow{Recipients: []string{"age1x"}}}, want: document.ShareSecrets},
		"the escrow is elsewhere": {
			was:  fleet.Config{Escrow: fleet.Escrow{Recipients: []string{"age1x"}, Repository: "https://git.example.com/x"}},
			is:   fleet.Config{Escrow: fleet.Escrow{Recipients: []string{"age1x"}, Repository: "https://evil.example.com/x"}},
			want: document.ShareSecrets,
		},
		"another home":                  {is: fleet.Config{Home: fleet.Home{Cluster: fleet.Key{Namespace: "prod", Name: "a"}}}, want: document.ShareSecrets},
		"a freeze is lifted":            {was: fleet.Config{Waves: frozen}, want: document.LoosenRollout},
		"a freeze is added":             {is: fleet.Config{Waves: frozen}, want: document.ChangeSetting},
		"a stage goes":                  {was: fleet.Config{Waves: fleet.Waves{Stages: []fleet.Stage{{Name: "canary", Select: labels.Everything()}}}}, want: document.LoosenRollout},
		"less soak":                     {was: staged(fleet.Stage{Soak: time.Hour}), is: staged(fleet.Stage{Soak: time.Minute}), want: document.LoosenRollout},
		"more soak":                     {was: staged(fleet.Stage{Soak: time.Minute}), is: staged(fleet.Stage{Soak: time.Hour}), want: document.ChangeSetting},
		"no approval any more":          {was: staged(fleet.Stage{Approval: true}), is: staged(fleet.Stage{}), want: document.LoosenRollout},
		"fewer approvals":               {was: staged(fleet.Stage{Approvals: 2}), is: staged(fleet.Stage{Approvals: 1}), want: document.LoosenRollout},
		"more approvals":                {was: staged(fleet.Stage{}), is: staged(fleet.Stage{Approvals: 2}), want: document.ChangeSetting},
		"one more reviewer":             {was: staged(fleet.Stage{}), is: staged(fleet.Stage{Reviewers: []string{"mallory"}}), want: document.LoosenRollout},
		"all at once":                   {was: staged(fleet.Stage{AtOnce: 1}), is: staged(fleet.Stage{}), want: document.LoosenRollout},
		"clusters that vanish go":       {is: fleet.Config{Prune: fleet.Prune{Enabled: true}}, want: document.EndProtection},
		"drift stays":                   {is: fleet.Config{Drift: fleet.DriftIgnore}, want: document.ReduceRepairs},
		"deleted clusters pass":         {was: fleet.Config{PullRequests: fleet.PullRequests{Fail: fleet.PlanPolicy{DeletedClusters: true}}}, want: document.WeakenPolicy},
		"forks are planned":             {is: fleet.Config{PullRequests: fleet.PullRequests{Forks: true}}, want: document.WeakenPolicy},
		"more machines":                 {was: limited(5), is: limited(50), want: document.WeakenPolicy},
		"fewer machines":                {was: limited(50), is: limited(5), want: document.ChangeSetting},
		"abandoned":                     {change: func(c *fleet.Cluster) { c.Abandon = true }, want: document.AbandonCluster},
		"paused":                        {change: func(c *fleet.Cluster) { c.Paused = true }, want: document.StopManaging},
		"suspended":                     {change: func(c *fleet.Cluster) { c.Suspension = &fleet.Suspension{} }, want: document.StopManaging},
		"a pool is paused":              {change: func(c *fleet.Cluster) { c.Workers[0].Paused = true }, want: document.StopManaging},
		"kube-proxy is somebody else's": {change: func(c *fleet.Cluster) { c.ControlPlane.SkipKubeProxy = true }, want: document.StopManaging},
		"places are forgotten":          {change: func(c *fleet.Cluster) { c.ForgetPlaces = []string{"x"} }, want: document.StopManaging},
		"a health check goes":           {change: func(c *fleet.Cluster) { c.HealthChecks = nil }, want: document.ReduceRepairs},
		"fewer remediations":            {change: func(c *fleet.Cluster) { c.Workers[0].MaxRemediations = 0 }, want: document.ReduceRepairs},
		"a version may be skipped":      {change: func(c *fleet.Cluster) { c.AllowVersion = "v1.40.0" }, want: document.EndProtection},
		"released":                      {change: func(c *fleet.Cluster) { c.RolloutRelease = fleet.ReleaseNow }, want: document.LoosenRollout},
		"relabelled out of a freeze":    {was: fleet.Config{Waves: frozen}, is: fleet.Config{Waves: frozen}, change: func(c *fleet.Cluster) { c.Labels = nil }, want: document.LoosenRollout},
		"another label":                 {change: func(c *fleet.Cluster) { c.Labels = map[string]string{"ring": "prod", "x": "y"} }, want: document.ChangeSetting},
		"a bound of drains":             {change: func(c *fleet.Cluster) { c.Workers[0].NodeDrainTimeoutSeconds = 1 }, want: document.ChangeSetting},
		"taints of a pool without nodes": {change: func(c *fleet.Cluster) {
			c.Workers[0].Taints = []clusterv1.MachineTaint{{Effect: corev1.TaintEffectNoExecute}}
		}, want: document.ChangeSetting},
	} {
		if c.change == nil {
			c.change = func(*fleet.Cluster) {}
		}
		before, after := pair(c.change)
		got := told(c.was, c.is, before, after)
		if len(got) != 1 || got[0].Change != c.want || got[0].Reason == "" {
			t.Errorf("%s: the plan tells %+v, want %q", name, got, c.want)
		}
		if words := (&Plan{Changes: got}).summary(); words == "nothing to do" {
			t.Errorf("%s: the headline is %q", name, words)
		}
	}
	before, after := pair(func(c *fleet.Cluster) { c.Protect = false })
	before.Protect = true
	if got := told(fleet.Config{}, fleet.Config{}, before, after); len(got) != 1 || got[0].Change != document.EndProtection {
		t.Errorf("protection ends: the plan tells %+v", got)
	}
}

// TestPartsThatArePaused: that a part of a cluster is no longer kept as Git says is told by its name, also if the
// cluster has other changes.
func TestPartsThatArePaused(t *testing.T) {
	t.Parallel()
	ref := fleet.ReleaseRef{Namespace: "kube-system", Name: "cilium"}
	whole := fleet.Cluster{
		Key: fleet.Key{Namespace: "prod", Name: "a"}, KeptPools: []fleet.KeptPool{{Name: "spot", Count: 3}},
		ResourceSets: []fleet.ResourceSet{{Name: "cni", Strategy: fleet.ReconcileStrategy}},
		Releases:     []fleet.Release{{ReleaseRef: ref, Proxy: "cilium", Strategy: fleet.Continuous}},
	}
	for name, c := range map[string]struct {
		change func(c *fleet.Cluster)
		kind   string
		field  string
	}{
		"a pool of the cloud":      {func(c *fleet.Cluster) { c.KeptPools = []fleet.KeptPool{{Name: "spot", Count: 3, Paused: true}} }, document.StopManaging, "keptPools[spot].paused"},
		"manifests":                {func(c *fleet.Cluster) { c.ResourceSets[0].Paused = true }, document.StopManaging, "resourceSets[cni].paused"},
		"manifests applied once":   {func(c *fleet.Cluster) { c.ResourceSets[0].Strategy = fleet.ApplyOnce }, document.ReduceRepairs, "resourceSets[cni].strategy"},
		"a chart":                  {func(c *fleet.Cluster) { c.Releases[0].Paused = true }, document.StopManaging, "releases[kube-system/cilium].paused"},
		"a chart installed once":   {func(c *fleet.Cluster) { c.Releases[0].Strategy = fleet.InstallOnce }, document.ReduceRepairs, "releases[kube-system/cilium].strategy"},
		"manifests, another order": {func(c *fleet.Cluster) { c.ResourceSets = append([]fleet.ResourceSet{{Name: "a"}}, c.ResourceSets...) }, "", ""},
	} {
		after := whole
		after.ResourceSets, after.Releases = slices.Clone(whole.ResourceSets), slices.Clone(whole.Releases)
		c.change(&after)
		others := []Change{{Cluster: "prod/a", Change: "replace machine", Pool: "md"}}
		var got []Change
		for _, one := range terms(&whole, &after, &fleet.Config{}, &fleet.Config{}, others, false) {
			if one.Change != document.ChangeSetting {
				got = append(got, one)
			}
		}
		switch {
		case c.kind == "" && len(got) == 0:
		case len(got) != 1 || got[0].Change != c.kind || !strings.Contains(got[0].Reason, c.field):
			t.Errorf("%s: the plan tells %+v, want %q of %s", name, got, c.kind, c.field)
		}
		back := terms(&after, &whole, &fleet.Config{}, &fleet.Config{}, others, false)
		if slices.ContainsFunc(back, func(c Change) bool { return c.Change != document.ChangeSetting }) {
			t.Errorf("%s, the other way: the plan tells %+v", name, back)
		}
	}
}

func staged(s fleet.Stage) fleet.Config {
	s.Name, s.Select = "canary", labels.Everything()
	return fleet.Config{Waves: fleet.Waves{Stages: []fleet.Stage{s}}}
}

func limited(n int) fleet.Config {
	return fleet.Config{PullRequests: fleet.PullRequests{Fail: fleet.PlanPolicy{Machines: n}}}
}

// TestSecretsAreNotShown: that a Secret changes is told, and not to what.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	before, after := pair(func(c *fleet.Cluster) {
		c.Secrets = map[string]fleet.SecretData{"cloud": {"password": fleet.NewSecret([]byte("hunter2"))}}
		c.ConfigMaps = map[string]map[string]string{"cloud": {"token": "hunter2"}}
		c.Workers[0].Bootstrap = fleet.Bootstrap{Kind: "hunter2"}
	})
	got := told(fleet.Config{}, fleet.Config{}, before, after)
	if len(got) != 2 || slices.ContainsFunc(got, func(c Change) bool { return strings.Contains(c.Reason, "hunter2") }) {
		t.Errorf("the plan tells %+v", got)
	}
}

// TestClustersThatNobodyLooksAfter: one that vanishes from Git, and one that is abandoned, are changes
// until the agent went by it.
func TestClustersThatNobodyLooksAfter(t *testing.T) {
	t.Parallel()
	k := func(name string) fleet.Key { return fleet.Key{Namespace: "prod", Name: name} }
	report := func(name string, phase fleet.Phase) status.Cluster {
		return status.Cluster{Report: fleet.Report{Cluster: k(name), Overlay: "clusters/" + name, Phase: phase}}
	}
	s := status.Status{Clusters: []status.Cluster{
		report("forgotten", fleet.PhaseAbandoned), report("gone", fleet.PhaseProvisioned), report("left", fleet.PhaseProvisioned), report("old", fleet.PhaseProvisioned),
	}}
	s.Fleet.Orphans = []fleet.Key{k("old")}
	give := func(name string) fleet.Cluster {
		return fleet.Cluster{Key: k(name), Overlay: "clusters/" + name, Digest: name, Abandon: true}
	}
	p := New(Options{Fleet: fleet.Fleet{Clusters: []fleet.Cluster{give("forgotten"), give("left")}}, Status: s, Scope: scope.All})
	if err := p.Look(t.Context(), nothing{}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range p.Changes {
		got = append(got, c.Change+" "+c.Cluster)
	}
	if want := []string{"abandon cluster prod/left", "leave cluster alone prod/gone"}; !slices.Equal(got, want) {
		t.Errorf("the plan tells %q, want %q", got, want)
	}
}

// nothing is there, wherever it looks.
type nothing struct{}

func (nothing) Look(context.Context, *fleet.Cluster) (fleet.Observed, error) {
	return fleet.Observed{}, nil
}
