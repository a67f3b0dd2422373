package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// frozenUntilJanuary freezes the clusters of ring prod.
func frozenUntilJanuary() fleet.Waves {
	return fleet.Waves{Freezes: []fleet.Freeze{{
		Select: labels.SelectorFromSet(labels.Set{"ring": "prod"}), Reason: "sales",
		From: time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC), Until: time.Date(2027, 1, 8, 0, 0, 0, 0, time.UTC),
	}}}
}

// A canary that cannot be rendered has not tried the revision: the stages after it wait.
func TestBrokenCanaryHoldsLaterStages(t *testing.T) {
	w := provisioned(4)
	f := wavyFleet("2", "v2", 4, wavesOf())
	canary := f.Clusters[0]
	f.Clusters = f.Clusters[1:]
	f.Problems = []fleet.Problem{{Cluster: canary.Key, Overlay: canary.Overlay, Message: "a patch does not apply"}}
	w.push(f)
	w.want(t, "the canary is broken", "v1 v1 v1 v1")
	if got := w.stage(t, "canary"); got.State != fleet.StageWaiting || !strings.Contains(got.Why, "prod/c0") {
		t.Errorf("stage canary is %s: %q", got.State, got.Why)
	}
	w.push(wavyFleet("3", "v2", 4, wavesOf()))
	w.want(t, "the canary is repaired", "v2 v1 v1 v1")
}

// After a restart nothing begins in later stages until the definition of a broken canary, and so
// its stage, is known.
func TestBrokenCanaryAfterRestart(t *testing.T) {
	w := provisioned(4)
	old, f := wavyFleet("1", "v1", 4, wavesOf()), wavyFleet("2", "v2", 4, wavesOf())
	canary := f.Clusters[0]
	f.Clusters = f.Clusters[1:]
	f.Problems = []fleet.Problem{{Cluster: canary.Key, Overlay: canary.Overlay, Message: "a patch does not apply"}}
	w.push(f)
	w.restart(old, f)
	w.want(t, "the canary is still broken", "v1 v1 v1 v1")
}

// The last good definition of a broken canary is refused, as with a key that was withdrawn: nothing is known
// of the canary, and it is not done. Once the newest revision is repaired it has its turn.
func TestBrokenCanaryWithoutADefinition(t *testing.T) {
	w := provisioned(3)
	f := withoutCanary("2", "v2", wavesOf())
	f.Problems = []fleet.Problem{{Cluster: keyOf("c0"), Overlay: "clusters/c0", Message: "a patch does not apply"}}
	w.push(f)
	w.reborn([]*fleet.Fleet{f}) // which lacks revision 1
	w.decide(Input{Older: []Revision{{Revision: revision("1"), Refused: "no trusted key signed it"}}})
	for _, k := range w.s.Keys() {
		got, _ := w.s.Target(k)
		if got.Definition != nil || k != keyOf("c0") && !strings.Contains(got.Wait.Why, "prod/c0") {
			t.Errorf("%s is held to %v: %q", k, got.Definition, got.Wait.Why)
		}
	}
	frozen := frozenUntilJanuary()
	frozen.Freezes[0].Select = labels.Everything()
	w.push(wavyFleet("3", "v2", 3, frozen))
	if got, _ := w.s.Target(keyOf("c0")); got.Definition != nil || !strings.Contains(got.Wait.Why, "frozen") {
		t.Errorf("it is repaired in a freeze: %q", got.Wait.Why)
	}
	w.push(wavyFleet("4", "v2", 3, wavesOf()))
	if got, _ := w.s.Target(keyOf("c0")); got.Definition == nil || w.stage(t, "canary").State != fleet.StageChanging {
		t.Errorf("it is repaired: %q; %+v", got.Wait.Why, w.s.Rollout().Stages)
	}
}

// People remove a file of a cluster that nobody can read: the cluster is one that is being made, and no
// stage is in its way.
func TestRemovedDamageDoesNotWait(t *testing.T) {
	w := onItsWay()
	k, f := keyOf("c1"), wavyFleet("3", "v3", 2, frozenUntilJanuary())
	w.s = Recorded(Record{Fleet: "f", Applied: revision("2"), Damaged: map[fleet.Key]string{k: "it is cut off"}})
	w.push(f)
	w.decide(Input{Repaired: map[fleet.Key]*fleet.Report{k: nil}})
	if got, _ := w.s.Target(k); got.Cluster == nil || got.Why != "" {
		t.Errorf("nothing is done: %q; %v", got.Why, got.Wait)
	}
}

// Stages are added while a change of a canary is on its way that began without any: it is of the stage that
// selects it.
func TestStagesAreAddedMeanwhile(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		w := provisioned(4)
		all := []*fleet.Fleet{wavyFleet("1", "v1", 4, wavesOf()), wavyFleet("2", "v2", 4, frozenUntilJanuary()), wavyFleet("3", "v2", 4, wavesOf())}
		w.push(all[1])
		w.want(t, "the others are frozen", "v2 v1 v1 v1")
		if restarted {
			w.reborn(all)
		} else {
			w.push(all[2])
		}
		w.want(t, "the canary is not done", "v2 v1 v1 v1")
		w.rest("c0")
		w.now = w.now.Add(time.Hour)
		w.decide(Input{})
		w.want(t, "it has soaked", "v2 v2 v2 v1")
	}
}

// The same commit upgrades a cluster and relabels it into the first stage: the cluster keeps its turn.
func TestLabelSkipsNoStage(t *testing.T) {
	w := provisioned(4)
	f := wavyFleet("2", "v2", 4, wavesOf())
	f.Clusters[3].Labels["ring"] = "canary"
	w.push(f)
	w.want(t, "c3 waits for the canary", "v2 v1 v1 v1")
	w.rest("c0")
	w.want(t, "c3 waits for the soak", "v2 v1 v1 v1")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	w.rest("c1", "c2")
	w.want(t, "its turn", "v2 v2 v2 v2")
}

// The same commit upgrades a cluster and relabels it out of a freeze, or into one: the cluster waits.
func TestLabelLeavesNoFreeze(t *testing.T) {
	for name, i := range map[string]int{"out of the freeze": 1, "into the freeze": 0} {
		t.Run(name, func(t *testing.T) {
			w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
			w.push(wavyFleet("1", "v1", 2, frozenUntilJanuary()))
			w.rest("c0", "c1")
			f := wavyFleet("2", "v2", 2, frozenUntilJanuary())
			f.Clusters[i].Labels["ring"] = map[string]string{"prod": "canary", "canary": "prod"}[f.Clusters[i].Labels["ring"]]
			w.push(f)
			k := f.Clusters[i].Key
			if got, _ := w.s.Target(k); got.Definition.ControlPlane.Version != "v1" || !strings.Contains(got.Wait.Why, "frozen") {
				t.Errorf("%s is held to %s: %q", k, got.Definition.ControlPlane.Version, got.Wait.Why)
			}
		})
	}
}

// A health check that does harm goes away while an upgrade waits. A new one waits with the upgrade.
func TestRemovedHealthCheckDoesNotWait(t *testing.T) {
	checks := func(names ...string) (out []clusterv1.MachineHealthCheck) {
		for _, name := range names {
			h := clusterv1.MachineHealthCheck{}
			h.Name = name
			out = append(out, h)
		}
		return out
	}
	w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
	push := func(rev, version string, remediations int, checks []clusterv1.MachineHealthCheck) {
		f := wavyFleet(rev, version, 2, frozenUntilJanuary())
		for i := range f.Clusters {
			c := &f.Clusters[i]
			c.HealthChecks, c.ControlPlane.MaxRemediations, c.Digest = checks, remediations, rev
		}
		w.push(f)
	}
	push("1", "v1", 3, checks("good", "harmful"))
	w.rest("c0", "c1")
	push("2", "v2", 3, checks("good", "harmful"))
	push("3", "v2", 1, checks("good", "new"))
	got, _ := w.s.Target(keyOf("c1"))
	switch c := got.Cluster; {
	case c.ControlPlane.Version != "v1":
		t.Errorf("the upgrade does not wait")
	case len(c.HealthChecks) != 1 || c.HealthChecks[0].Name != "good":
		t.Errorf("health checks while the upgrade waits: %+v", c.HealthChecks)
	case c.ControlPlane.MaxRemediations != 1:
		t.Errorf("at most %d remediations while the upgrade waits", c.ControlPlane.MaxRemediations)
	}
	push("4", "v2", 5, checks("good"))
	push("5", "v2", -1, checks("good"))
	if got, _ := w.s.Target(keyOf("c1")); got.Cluster.ControlPlane.MaxRemediations != 3 {
		t.Errorf("the limit of the present definition is lost: %d", got.Cluster.ControlPlane.MaxRemediations)
	}
}

// Credentials of the newest commit are used while an upgrade waits: one that was revoked would end all care until then.
// What the present definition alone has stays, and so do objects that may be of one piece with what waits.
func TestCredentialsDoNotWaitWithAnUpgrade(t *testing.T) {
	secret := func(name string) fleet.Key { return fleet.Key{Namespace: "prod", Name: name} }
	define := func(rev, version, content string, names ...string) *fleet.Fleet {
		f := wavyFleet(rev, version, 2, frozenUntilJanuary())
		c := &f.Clusters[1]
		c.Digest, c.NamespaceLabels = rev, map[string]string{"credential": content}
		refers := func(name string) fleet.Object {
			return fleet.Object{
				GVK: schema.GroupVersionKind{Kind: "Identity"}, Name: name, Spec: []byte(`"` + content + `"`),
				Secrets: map[fleet.Key]fleet.SecretData{secret(name): fleet.NewSecretData(map[string][]byte{"password": []byte(content)})},
			}
		}
		stored := refers("stored") // its Secret is not in Git
		stored.Secrets, stored.Stored = nil, []fleet.Key{secret("stored")}
		c.Companions = []fleet.Object{stored}
		for _, name := range names {
			c.Companions = append(c.Companions, refers(name))
		}
		slices.SortFunc(c.Companions, fleet.Object.Compare)
		c.Companions = append(c.Companions, fleet.Object{GVK: schema.GroupVersionKind{Kind: "Pool"}, Name: "addresses", Spec: []byte(`"` + content + `"`)})
		account := refers("shared")
		account.Spec = []byte(`"old"`)
		c.Infrastructure, c.ControlPlane.Infrastructure = account, refers("shared")
		c.Hosted = &fleet.HostedControlPlane{Object: account}
		c.Workers = []fleet.Pool{{Name: "md", Infrastructure: refers("shared")}}
		c.KeptPools = []fleet.KeptPool{{Name: "mp", Infrastructure: refers("shared")}}
		c.Guests = []fleet.Site{{Provider: "guest", Infrastructure: account, Companions: c.Companions}}
		return f
	}
	w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
	first, second := define("1", "v1", "old", "former", "shared"), define("2", "v2", "old", "former", "shared")
	third := define("3", "v2", "new", "shared", "young")
	w.push(first)
	w.rest("c0", "c1")
	w.push(second)
	d := w.decide(Input{Newest: &Revision{Revision: third.Revision, Fleet: third}})
	got, _ := w.s.Target(keyOf("c1"))
	c := got.Cluster
	if c.ControlPlane.Version != "v1" || got.Next == nil || !slices.Contains(d.Changed, keyOf("c1")) {
		t.Fatalf("the upgrade does not wait, or no pass is due: %s, %v", c.ControlPlane.Version, d.Changed)
	}
	said := func(o fleet.Object) string {
		return fmt.Sprintf("%s %s %s", o.Name, o.Spec, o.Secrets[secret(o.Name)]["password"].Reveal())
	}
	for where, list := range map[string][]fleet.Object{"the cluster": c.Companions, "a guest": c.Guests[0].Companions} {
		var have []string
		for _, o := range list {
			have = append(have, said(o))
		}
		if diff := cmp.Diff([]string{`former "old" old`, `shared "new" new`, `stored "new" `, `young "new" new`, `addresses "old" `}, have); diff != "" {
			t.Errorf("companions of %s (-want +got):\n%s", where, diff)
		}
	}
	for where, o := range map[string]fleet.Object{
		"infrastructure": c.Infrastructure, "control plane": c.ControlPlane.Infrastructure, "hosted": c.Hosted.Object, "workers": c.Workers[0].Infrastructure,
		"kept pool": c.KeptPools[0].Infrastructure, "guest": c.Guests[0].Infrastructure,
	} {
		if said(o) != `shared "old" new` {
			t.Errorf("%s: %s", where, said(o))
		}
	}
	if c.NamespaceLabels["credential"] != "new" {
		t.Errorf("labels of the namespace: %v", c.NamespaceLabels)
	}
	if is := first.Clusters[1]; said(is.Hosted.Object) != `shared "old" old` || said(is.Infrastructure) != `shared "old" old` || said(is.Companions[0]) != `former "old" old` || said(is.Guests[0].Companions[1]) != `shared "old" old` {
		t.Error("the definition itself was changed")
	}
}

// A frozen cluster whose present definition is lost has a problem until its turn, and no later
// commit ends its freeze.
func TestLostDefinitionIsAProblem(t *testing.T) {
	w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
	w.push(wavyFleet("1", "v1", 2, frozenUntilJanuary()))
	w.rest("c0", "c1")
	newest := wavyFleet("2", "v2", 2, frozenUntilJanuary())
	w.push(newest)
	k := keyOf("c1")
	target, _ := w.s.Target(k)
	r := fleet.Report{Cluster: k, Revision: target.Definition.Revision, Digest: target.Definition.Digest, Overlay: target.Definition.Overlay, Phase: fleet.PhaseProvisioned}
	w.s = Recorded(Record{Fleet: "f", Applied: newest.Revision, Reports: []fleet.Report{r}, Rollout: w.s.Rollout()})
	w.decide(Input{Newest: &Revision{Revision: newest.Revision, Fleet: newest}})
	w.decide(Input{Older: []Revision{{Revision: revision("1"), Refused: "there is no such commit"}}})
	lost := func(when string) {
		t.Helper()
		target, _ := w.s.Target(k)
		problems := w.s.Status().Problems
		if target.Cluster != nil || target.Next == nil || len(problems) != 1 || problems[0].Cluster != k {
			t.Errorf("%s: held to %v, next %v, problems %v", when, target.Cluster, target.Next, problems)
		}
	}
	lost("after the start")
	w.push(wavyFleet("3", "v3", 2, frozenUntilJanuary()))
	lost("after another commit")
	w.now = time.Date(2027, 1, 8, 0, 0, 0, 0, time.UTC)
	w.decide(Input{})
	if target, _ := w.s.Target(k); target.Cluster == nil || len(w.s.Status().Problems) > 0 {
		t.Errorf("after the freeze: held to %v, problems %v", target.Cluster, w.s.Status().Problems)
	}
}

// A deadline that passed without an agent halts a stage only once an agent has looked. Until then
// no other cluster begins.
func TestDeadlineWaitsForALook(t *testing.T) {
	w := provisioned(5)
	old, next := wavyFleet("1", "v1", 5, wavesOf()), wavyFleet("2", "v2", 5, wavesOf())
	w.push(next)
	w.rest("c0")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	w.want(t, "two are on their way", "v2 v2 v2 v1 v1")
	w.now = w.now.Add(3 * time.Hour)
	w.restart(old, next)
	if got := w.stage(t, "prod"); got.State == fleet.StageHalted || len(got.Failed) > 0 {
		t.Errorf("nobody looked, and stage prod is %s: %s", got.State, got.Why)
	}
	w.rest("c1")
	w.want(t, "c1 is done, and the agent has not looked at c2", "v2 v2 v2 v1 v1")
	k := keyOf("c2")
	target, _ := w.s.Target(k)
	w.decide(Input{Passes: []Pass{{Target: target, Report: fleet.Report{Cluster: k, Phase: fleet.PhaseProvisioned}}}})
	if got := w.stage(t, "prod"); got.State != fleet.StageHalted {
		t.Errorf("the agent looked at c2, which is late, and stage prod is %s: %s", got.State, got.Why)
	}
}

// What empties Nodes or has machines replaced waits as a version does.
func TestWhatMovesPodsWaits(t *testing.T) {
	for name, change := range map[string]func(c *fleet.Cluster){
		"a taint that evicts": func(c *fleet.Cluster) {
			c.Workers[0].Taints = []clusterv1.MachineTaint{{Key: "x", Effect: "NoExecute"}}
		},
		"certificates of control planes expire earlier": func(c *fleet.Cluster) { c.ControlPlane.CertificatesExpiryDays = 400 },
		"a health check is added":                       func(c *fleet.Cluster) { c.HealthChecks = []clusterv1.MachineHealthCheck{{}} },
		"kube-proxy is left to somebody else":           func(c *fleet.Cluster) { c.ControlPlane.SkipKubeProxy = true },
		"surge":                                         func(c *fleet.Cluster) { c.Workers[0].MaxSurge = 100 },
		"labels of Nodes":                               func(c *fleet.Cluster) { c.Workers[0].NodeLabels = map[string]string{"x": "y"} },
	} {
		t.Run(name, func(t *testing.T) {
			w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
			w.push(pooledFleet("1", nil))
			w.rest("c0")
			f := pooledFleet("2", change)
			w.push(f)
			if got, _ := w.s.Target(f.Clusters[0].Key); got.Next == nil {
				t.Error("it comes to all clusters at once, in a freeze")
			}
		})
	}
}

// pooledFleet has one frozen cluster with a pool of workers.
func pooledFleet(rev string, change func(c *fleet.Cluster)) *fleet.Fleet {
	f := wavyFleet(rev, "v1", 1, frozenUntilJanuary())
	c := &f.Clusters[0]
	c.Labels = map[string]string{"ring": "prod"}
	c.Workers = []fleet.Pool{{Name: "md", Role: fleet.RoleWorker, Version: "v1", Template: "1"}}
	if change != nil {
		c.Digest = "changed"
		change(c)
	}
	return f
}

// A standing of an agent that had other digests is no change: nothing is on its way after a restart,
// and what waited still waits.
func TestStandingsOfOtherDigests(t *testing.T) {
	taint := func(c *fleet.Cluster) {
		c.Workers[0].Taints = []clusterv1.MachineTaint{{Key: "x", Effect: "NoExecute"}}
	}
	for name, c := range map[string]struct {
		newest *fleet.Fleet
		waits  bool
	}{
		"nothing is new":                   {newest: pooledFleet("1", nil)},
		"a taint came while nobody looked": {newest: pooledFleet("2", taint), waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			first := pooledFleet("1", nil)
			is := &first.Clusters[0]
			at := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
			former := is.FormerRolloutDigest()
			w := &wavy{now: at.AddDate(0, 0, 1), s: Recorded(Record{
				Fleet: "f", Applied: first.Revision,
				Reports: []fleet.Report{{Cluster: is.Key, Overlay: is.Overlay, Revision: first.Revision, Digest: is.Digest, Phase: fleet.PhaseProvisioned}},
				Rollout: fleet.RolloutStatus{Standings: []fleet.Standing{{Cluster: is.Key, Digest: former, Arrived: former, Since: at, At: at}}},
			})}
			w.push(c.newest)
			w.decide(Input{Older: []Revision{{Revision: first.Revision, Fleet: first}}})
			got, _ := w.s.Target(is.Key)
			if got.Changing || (got.Next != nil) != c.waits || got.Cluster == nil || len(got.Cluster.Workers[0].Taints) > 0 {
				t.Errorf("changing: %t, waits: %t", got.Changing, got.Next != nil)
			}
			if s := w.s.Rollout().Standings[0]; s.Digest != is.RolloutDigest() || s.Arrived != s.Digest || !s.Since.Equal(at) {
				t.Errorf("its standing is %+v", s)
			}
		})
	}
}

// A canary that is paused or suspended has not tried the revision: the stages after it wait, until it has,
// or until a person goes on without it.
func TestPausedCanaryHoldsLaterStages(t *testing.T) {
	paused := func(rev, version string) *fleet.Fleet {
		f := wavyFleet(rev, version, 4, wavesOf())
		f.Clusters[0].Paused, f.Clusters[0].Digest = true, "paused "+version
		return f
	}
	w := provisioned(4)
	w.push(paused("2", "v1"))
	w.want(t, "nothing is new but the pause", "v1 v1 v1 v1")
	if got := w.stage(t, "canary"); got.State != fleet.StageDone {
		t.Errorf("nothing waits, and stage canary is %s: %q", got.State, got.Why)
	}
	w.push(paused("3", "v2"))
	w.want(t, "the canary is paused", "v1 v1 v1 v1")
	if got := w.stage(t, "canary"); got.State != fleet.StageWaiting || !strings.Contains(got.Why, "prod/c0") {
		t.Errorf("stage canary is %s: %q", got.State, got.Why)
	}
	skipped := paused("4", "v2")
	skipped.Clusters[0].RolloutRelease, skipped.Clusters[0].Digest = fleet.ReleaseSkip, "skipped"
	w.push(skipped)
	w.want(t, "a person goes on without it", "v1 v2 v2 v1")
}

// suspend has a person suspend a cluster.
func (w *wavy) suspend(name string) {
	r := fleet.Request{Kind: fleet.RequestSuspend, Cluster: keyOf(name), By: "Ada", At: w.now, Answer: fleet.Answer{State: fleet.RequestAccepted, At: w.now}}
	w.decide(Input{Requests: &Requests{List: []fleet.Request{r}}})
}

// Who suspends or pauses a canary on its way, in its soak, or after it failed, lets no later stage begin: that
// needs a release.
func TestSuspendedOnItsWayHoldsLaterStages(t *testing.T) {
	pause := func(w *wavy) {
		f := wavyFleet("3", "v2", 4, wavesOf())
		f.Clusters[0].Paused, f.Clusters[0].Digest = true, "paused v2"
		w.push(f)
	}
	suspend := func(w *wavy) { w.suspend("c0") }
	nothing := func(*wavy) {}
	done := func(w *wavy) { w.rest("c0") }
	lost := func(w *wavy) { w.lose("c0") }
	for name, c := range map[string]struct {
		before []func(w *wavy)
		stop   func(w *wavy)
		state  fleet.StageState
	}{
		"suspended on its way":            {[]func(w *wavy){nothing}, suspend, fleet.StageWaiting},
		"paused on its way":               {[]func(w *wavy){nothing}, pause, fleet.StageWaiting},
		"suspended in its soak":           {[]func(w *wavy){done}, suspend, fleet.StageSoaking},
		"suspended once it failed":        {[]func(w *wavy){lost}, suspend, fleet.StageHalted},
		"paused once it failed":           {[]func(w *wavy){lost}, pause, fleet.StageHalted},
		"suspended as it fails in a soak": {[]func(w *wavy){done, lost}, suspend, fleet.StageHalted},
	} {
		t.Run(name, func(t *testing.T) {
			w := provisioned(4)
			w.push(wavyFleet("2", "v2", 4, wavesOf()))
			for _, happens := range c.before {
				happens(w)
			}
			c.stop(w)
			w.want(t, name, "v2 v1 v1 v1")
			if got := w.stage(t, "canary"); got.State != c.state {
				t.Errorf("stage canary is %s: %q, want %s", got.State, got.Why, c.state)
			}
			if c.state == fleet.StageSoaking {
				w.now = w.now.Add(time.Hour)
				w.decide(Input{})
				w.want(t, "the soak is over", "v2 v2 v2 v1")
				return
			}
			w.ask(t, fleet.Request{Cluster: keyOf("c0"), Release: fleet.ReleaseSkip})
			w.want(t, "a person goes on without it", "v2 v2 v2 v1")
		})
	}
}

// A suspended canary that cannot be rendered holds the stages after it as one that is not suspended.
func TestSuspendedBrokenCanaryHoldsLaterStages(t *testing.T) {
	w := provisioned(4)
	w.suspend("c0")
	f := wavyFleet("2", "v2", 4, wavesOf())
	canary := f.Clusters[0]
	f.Clusters = f.Clusters[1:]
	f.Problems = []fleet.Problem{{Cluster: canary.Key, Overlay: canary.Overlay, Message: "a patch does not apply"}}
	w.push(f)
	w.want(t, "the canary is broken", "v1 v1 v1 v1")
	if got := w.stage(t, "canary"); got.State != fleet.StageWaiting || !strings.Contains(got.Why, "has a problem with cluster prod/c0") {
		t.Errorf("stage canary is %s: %q", got.State, got.Why)
	}
}

// No stage waits for a cluster that is being made, suspended or not.
func TestSuspendedNewClusterHoldsNothing(t *testing.T) {
	w := provisioned(4)
	f := wavyFleet("2", "v1", 4, wavesOf())
	made := clusterOf(fleet.Key{Namespace: "prod", Name: "made"}, "2", "v1")
	made.Labels = map[string]string{"ring": "canary"}
	f.Clusters = append(f.Clusters, made)
	w.push(f)
	w.suspend("made")
	f = wavyFleet("3", "v2", 4, wavesOf())
	f.Problems = []fleet.Problem{{Cluster: made.Key, Overlay: made.Overlay, Message: "a patch does not apply"}}
	w.push(f)
	w.rest("c0")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	if got := w.stage(t, "canary"); got.State != fleet.StageDone {
		t.Errorf("stage canary is %s: %q", got.State, got.Why)
	}
}
