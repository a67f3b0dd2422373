package preview_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/plans/preview"
	"fairlead.dev/agent/plans/scope"
	"fairlead.dev/fleet"
	"fairlead.dev/fleet/window"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/test/run/short"
)

// TestMain tries the same pairs each time: -rapid.seed=0 tries new ones. 10,000 pairs are the whole
// form.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.seed": "1", "rapid.checks": "10000", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	short.Flag("rapid.checks", "150")
	os.Exit(m.Run())
}

// A spec is all that a cluster of a random fleet is made from.
type spec struct {
	Version, Variant, Ring    string
	Replicas, Drain           int
	Taint, Check, Pool        bool
	Paused, Protect, Abandon  bool
	Delete, Broken, SkipProxy bool
	Kept, KeptPaused          bool // a pool that a cloud keeps
	KeptCount                 int
	Addon, Label              string
	Drift                     fleet.DriftPolicy
	Release                   fleet.ReleaseWay
}

func (s spec) cluster(k fleet.Key, rev fleet.Revision) fleet.Cluster {
	hash := fleet.TemplateHash("1-" + s.Version + s.Variant)
	c := fleet.Cluster{
		Fleet: "f", Key: k, Overlay: "clusters/" + k.Name, Revision: rev, Digest: fleet.DigestOf(s), Provider: "sim", Labels: map[string]string{"ring": s.Ring},
		Paused: s.Paused, Protect: s.Protect, Abandon: s.Abandon && !s.Protect, Delete: s.Delete && !s.Protect, DeletionRefused: s.Protect && (s.Delete || s.Abandon),
		Drift: s.Drift, RolloutRelease: s.Release,
		ControlPlane: fleet.Pool{
			Name: "cp", Role: fleet.RoleControlPlane, Replicas: 1, Version: s.Version, Template: hash, Strategy: fleet.RollingUpdate, MaxSurge: 1, MaxRemediations: -1,
			SkipKubeProxy: s.SkipProxy,
		},
	}
	if s.Pool {
		md := fleet.Pool{
			Name: "md", Role: fleet.RoleWorker, Replicas: s.Replicas, Version: s.Version, Template: hash, Strategy: fleet.RollingUpdate, MaxSurge: 1, MaxRemediations: -1,
			DeletionOrder: fleet.DeleteRandom, NodeDrainTimeoutSeconds: s.Drain,
		}
		if s.Taint {
			md.Taints = []clusterv1.MachineTaint{{Key: "x", Effect: corev1.TaintEffectNoSchedule, Propagation: clusterv1.MachineTaintPropagationAlways}}
		}
		c.Workers = []fleet.Pool{md}
	}
	if s.Kept {
		c.KeptPools = []fleet.KeptPool{{Name: "np", Count: s.KeptCount, Version: s.Version, Infrastructure: fleet.Object{Name: "np", Spec: []byte(`"` + s.Variant + `"`)}, Paused: s.KeptPaused}}
	}
	if s.Addon != "" {
		c.ResourceSets = []fleet.ResourceSet{{Name: "cni", Strategy: fleet.ReconcileStrategy, Resources: []fleet.Resource{{Name: "ConfigMap/cni", Digest: s.Addon}}}}
	}
	if s.Label != "" {
		c.Labels["team"] = s.Label
	}
	if s.Check {
		c.HealthChecks = []clusterv1.MachineHealthCheck{{ObjectMeta: metav1.ObjectMeta{Name: "all"}}}
	}
	return c
}

// A repository is what one revision of Git has.
type repository struct {
	config fleet.Config
	specs  map[string]spec
}

func (r repository) fleet(digest string) fleet.Fleet {
	f := fleet.Fleet{ID: "f", Revision: fleet.Revision{Ref: "main", Digest: "sha1:" + digest}, Config: r.config}
	for _, name := range slices.Sorted(maps.Keys(r.specs)) {
		k := fleet.Key{Namespace: "prod", Name: name}
		if r.specs[name].Broken {
			f.Problems = append(f.Problems, fleet.Problem{Overlay: "clusters/" + name, Cluster: k, Message: "it cannot be read"})
			continue
		}
		f.Clusters = append(f.Clusters, r.specs[name].cluster(k, f.Revision))
	}
	return f
}

// drawConfig draws one change of fleet.yaml.
func drawConfig(t *rapid.T, c *fleet.Config) {
	now := time.Now().UTC().Truncate(24 * time.Hour)
	everything, canary := labels.Everything(), labels.SelectorFromSet(labels.Set{"ring": "canary"})
	switch rapid.SampledFrom([]string{"freeze", "thaw", "stages", "approval", "no stages", "window", "no window", "prune", "drift", "escrow", "policy"}).Draw(t, "config") {
	case "freeze":
		until := rapid.SampledFrom([]time.Duration{72 * time.Hour, 1000 * time.Hour}).Draw(t, "until")
		c.Waves.Freezes = []fleet.Freeze{{Select: rapid.SampledFrom([]labels.Selector{everything, canary}).Draw(t, "frozen"), From: now, Until: now.Add(until), Reason: "sales"}}
	case "thaw":
		c.Waves.Freezes = nil
	case "stages":
		c.Waves.Stages = []fleet.Stage{{Name: "canary", Select: canary, AtOnce: 1, Soak: time.Hour}, {Name: "prod", Select: everything, AtOnce: rapid.IntRange(1, 2).Draw(t, "at once")}}
	case "approval":
		c.Waves.Stages = []fleet.Stage{{Name: "canary", Select: canary, AtOnce: 1}, {Name: "prod", Select: everything, AtOnce: 1, Approval: true}}
	case "no stages":
		c.Waves.Stages = nil
	case "window":
		w, err := window.New(window.Rule{Cron: "0 3 1 1 *", Duration: "2h"})
		if err != nil {
			t.Fatal(err)
		}
		c.Waves.Windows = []fleet.Window{{Name: "new year", Select: everything, Schedule: w}}
	case "no window":
		c.Waves.Windows = nil
	case "prune":
		c.Prune = fleet.Prune{Enabled: !c.Prune.Enabled, Limit: 1}
	case "drift":
		c.Drift = rapid.SampledFrom(append(fleet.DriftPolicies(), "")).Draw(t, "policy of the fleet")
	case "escrow":
		c.Escrow.Recipients = rapid.SampledFrom([][]string{nil, {"age1a"}, {"age1a", "age1b"}}).Draw(t, "recipients")
	case "policy":
		c.PullRequests.Fail.Machines = rapid.IntRange(0, 2).Draw(t, "machines")
	}
}

// mutated draws a revision that differs in up to three things.
func (r repository) mutated(t *rapid.T) repository {
	out := repository{config: r.config, specs: maps.Clone(r.specs)}
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		if rapid.IntRange(0, 2).Draw(t, "of fleet.yaml") == 0 {
			drawConfig(t, &out.config)
			continue
		}
		name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "cluster")
		s, ok := out.specs[name]
		if !ok {
			out.specs[name] = spec{Version: "v1.34.1", Ring: "prod"}
			continue
		}
		field := rapid.SampledFrom([]string{"version", "variant", "ring", "replicas", "drain", "taint", "check", "pool", "paused", "protect", "abandon", "delete", "broken", "proxy", "drift", "release", "gone", "kept", "kept count", "kept paused", "addon", "label"}).Draw(t, "field")
		if flag := map[string]*bool{
			"taint": &s.Taint, "check": &s.Check, "pool": &s.Pool, "paused": &s.Paused, "protect": &s.Protect, "abandon": &s.Abandon,
			"delete": &s.Delete, "broken": &s.Broken, "proxy": &s.SkipProxy, "kept paused": &s.KeptPaused,
		}[field]; flag != nil {
			*flag = !*flag
		}
		switch field {
		case "version":
			s.Version = rapid.SampledFrom([]string{"v1.34.1", "v1.35.0", "v1.36.0"}).Draw(t, "version")
		case "variant":
			s.Variant = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "variant")
		case "ring":
			s.Ring = rapid.SampledFrom([]string{"canary", "prod"}).Draw(t, "ring")
		case "replicas":
			s.Replicas = rapid.IntRange(0, 2).Draw(t, "replicas")
		case "drain":
			s.Drain = rapid.SampledFrom([]int{0, 600}).Draw(t, "drain")
		case "drift":
			s.Drift = rapid.SampledFrom(append(fleet.DriftPolicies(), "")).Draw(t, "drift")
		case "release":
			s.Release = rapid.SampledFrom([]fleet.ReleaseWay{"", fleet.ReleaseNow, fleet.ReleaseSkip}).Draw(t, "release")
		case "kept":
			s.Kept, s.KeptCount = !s.Kept, 1
		case "kept count":
			s.KeptCount = rapid.IntRange(0, 3).Draw(t, "kept count")
		case "addon":
			s.Addon = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "addon")
		case "label":
			s.Label = rapid.SampledFrom([]string{"", "payments"}).Draw(t, "label")
		case "gone":
			delete(out.specs, name)
			continue
		}
		out.specs[name] = s
	}
	return out
}

// TestAPlanIsWhatAMergeDoes decides on random pairs of revisions, with requests and what the status branch
// says, with and without the merge, runs both to rest and compares: what differs is in the plan, and what
// does not differ is not.
func TestAPlanIsWhatAMergeDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := repository{specs: map[string]spec{}}
		for _, name := range []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "clusters")] {
			ring := "prod"
			if name == "a" {
				ring = "canary"
			}
			first.specs[name] = spec{Version: "v1.34.1", Ring: ring, Pool: rapid.Bool().Draw(t, "pool"), Replicas: 1, Check: rapid.Bool().Draw(t, "check"), Kept: rapid.IntRange(0, 2).Draw(t, "kept") == 0, KeptCount: 2}
		}
		for range rapid.IntRange(0, 3).Draw(t, "settings") {
			drawConfig(t, &first.config)
		}
		base := first.mutated(t)
		merge := base.mutated(t)
		now := time.Now().UTC().Truncate(time.Second)
		world := &future{now: now.Add(-time.Hour), there: map[fleet.Key]thing{}, fleets: map[fleet.Revision]*fleet.Fleet{}}
		world.push(first.fleet("1"))
		world.pass()
		world.pass()
		var requests []fleet.Request
		if rapid.IntRange(0, 3).Draw(t, "suspended") == 0 {
			k := fleet.Key{Namespace: "prod", Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "of")}
			requests = []fleet.Request{{Kind: fleet.RequestSuspend, Cluster: k, At: world.now, Answer: fleet.Answer{State: fleet.RequestAccepted}}}
			world.decide(rollout.Input{Requests: &rollout.Requests{List: requests}})
		}
		world.now = now.Add(-time.Minute)
		before, after := base.fleet("2"), merge.fleet("3")
		world.push(before)
		for range rapid.IntRange(0, 2).Draw(t, "passes") {
			world.pass()
		}
		world.now = now
		world.decide(rollout.Input{})
		if waiting := world.state.Status().Rollout.Waiting; len(waiting) > 0 && rapid.IntRange(0, 1).Draw(t, "released") == 0 {
			w := waiting[0]
			requests = append(requests, fleet.Request{
				Kind: fleet.RequestRelease, Cluster: w.Cluster, Of: w.Digest, Release: rapid.SampledFrom([]fleet.ReleaseWay{fleet.ReleaseNow, fleet.ReleaseSkip}).Draw(t, "way"),
				At: world.now, Answer: fleet.Answer{State: fleet.RequestAccepted},
			})
			world.decide(rollout.Input{Requests: &rollout.Requests{List: requests}})
		}

		// The plan stands on what the status branch says.
		s := world.recorded(requests)
		plans := [2]*preview.Plan{}
		skip := func(c *fleet.Cluster) bool { return preview.Alike(plans[0], plans[1], c.Key) }
		for i, f := range []fleet.Fleet{before, after} {
			plans[i] = preview.New(preview.Options{Fleet: f, Status: s, Scope: scope.All, Skip: skip})
		}
		for _, p := range plans {
			if err := p.Look(t.Context(), looker{world}); err != nil {
				t.Fatal(err)
			}
		}
		plans[1].Compare(before, plans[0])
		since := plans[1].Since(plans[0])

		without, with := world.branch(), world.branch()
		with.push(after)
		waitsWithout, waitsWith := map[fleet.Key]bool{}, map[fleet.Key]bool{}
		heldWithout, heldWith := map[fleet.Key]string{}, map[fleet.Key]string{}
		all := slices.Concat(without.state.Keys(), with.state.Keys())
		slices.SortFunc(all, fleet.Key.Compare)
		all = slices.Compact(all)
		for _, k := range all {
			waitsWithout[k], waitsWith[k], heldWithout[k], heldWith[k] = without.waits(k), with.waits(k), without.held(k), with.held(k)
		}
		without.rest()
		with.rest()
		told := func(name string) bool {
			is := func(c preview.Change) bool { return c.Cluster == name }
			isProblem := func(p output.Problem) bool {
				return name != "" && p.Cluster == name && !slices.ContainsFunc(plans[0].Problems, func(o output.Problem) bool { return o.Unplaced() == p.Unplaced() })
			}
			return slices.ContainsFunc(since.Added, is) || slices.ContainsFunc(since.Withdrawn, is) || slices.ContainsFunc(plans[1].Problems, isProblem)
		}
		turn := func(name string) bool { // it comes at another time, which the plan has beside its changes
			of := func(p *preview.Plan) string {
				i := slices.IndexFunc(p.Turns, func(t preview.Turn) bool { return t.Cluster == name })
				if i < 0 {
					return ""
				}
				return p.Turns[i].String()
			}
			return of(plans[0]) != of(plans[1])
		}
		for _, k := range all {
			later := waitsWith[k] && !waitsWithout[k]
			differs := without.is(k) != with.is(k)
			// An agent that begins with the record may give a turn that the one that runs has not given yet.
			recorded := slices.ContainsFunc(plans[0].Turns, func(t preview.Turn) bool { return t.Cluster == k.String() && !t.Now })
			sooner := waitsWithout[k] && !waitsWith[k] && recorded
			// Fleet.yaml has clusters wait for longer, or not as long: that is told once, for all of them.
			delayed := without.wanted(k) == with.wanted(k) && told("")
			switch {
			case differs && !delayed && !told(k.String()) && !turn(k.String()):
				t.Fatalf("%s is otherwise after the merge, and the plan tells nothing\n%s\n%s", k, gocmp.Diff(without.is(k), with.is(k)), dump(first, base, merge, since))
			case sooner && heldWith[k] != heldWithout[k] && !told(k.String()):
				t.Fatalf("the turn of %s comes with the merge, and the plan tells nothing\n%s", k, dump(first, base, merge, since))
			case !differs && !later && heldWith[k] == heldWithout[k] && base.specs[k.Name] == merge.specs[k.Name] && told(k.String()):
				t.Fatalf("%s is the same after the merge, and the plan tells of it\n%s", k, dump(first, base, merge, since))
			}
		}
		if same := sameConfig(base.config, merge.config); same == told("") {
			t.Fatalf("fleet.yaml is the same: %t, and the plan tells otherwise\n%s", same, dump(first, base, merge, since))
		}
	})
}

// TestRefusedWhileChanging: a version that is refused while the cluster is being changed is a problem of the plan.
func TestRefusedWhileChanging(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	world := &future{now: now, there: map[fleet.Key]thing{}, fleets: map[fleet.Revision]*fleet.Fleet{}}
	r := repository{specs: map[string]spec{"a": {Version: "v1.34.1", Ring: "canary"}}}
	r.config.Waves.Stages = []fleet.Stage{{Name: "all", Select: labels.Everything(), AtOnce: 1}}
	world.push(r.fleet("1"))
	world.pass()
	r.specs["a"] = spec{Version: "v1.34.1", Ring: "canary", Variant: "a"}
	world.push(r.fleet("2"))
	r.specs["a"] = spec{Version: "v1.36.0", Ring: "canary", Variant: "a"}
	p := preview.New(preview.Options{Fleet: r.fleet("3"), Status: world.recorded(nil), Scope: scope.All})
	if len(p.Problems) != 1 || !strings.Contains(p.Problems[0].Message, "v1.36.0") || len(p.Desired()) != 0 {
		t.Errorf("problems %v, planned %v", p.Problems, p.Desired())
	}
}

func sameConfig(a, b fleet.Config) bool {
	of := func(c fleet.Config) string {
		text := fmt.Sprintf("%+v %+v %+v", c.Prune, c.Escrow, c.PullRequests)
		if c.Drift != "" {
			text += string(c.Drift)
		}
		for _, s := range c.Waves.Stages {
			text += fmt.Sprintf("%+v", s)
		}
		for _, f := range c.Waves.Freezes {
			text += fmt.Sprintf("%+v", f)
		}
		for _, w := range c.Waves.Windows {
			text += fmt.Sprint(w.Name, w.Select, w.Schedule)
		}
		return text
	}
	return of(a) == of(b)
}

func dump(first, base, merge repository, since preview.Difference) string {
	var b strings.Builder
	for i, r := range []repository{first, base, merge} {
		c := r.config
		fmt.Fprintf(&b, "%d: %+v %q %q %+v\n", i, c.Prune, c.Drift, c.Escrow.Recipients, c.Waves)
		for _, k := range slices.Sorted(maps.Keys(r.specs)) {
			if r.specs[k] != first.specs[k] {
				fmt.Fprintf(&b, "   %s %+v\n", k, r.specs[k])
			}
		}
	}
	fmt.Fprintf(&b, "added: %+v\npending: %+v\nwithdrawn: %+v\n", since.Added, since.Pending, since.Withdrawn)
	return b.String()
}
