package preview_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/agent/plans/preview"
	"fairlead.dev/agent/plans/scope"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

// A pull request upgrades a frozen cluster and has its identity assume another role. The upgrade waits, and the role comes
// with the merge, which the plan tells.
func TestIdentityBesideAnUpgrade(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	for _, upgrade := range []bool{false, true} {
		world := &future{now: now.Add(-time.Hour), there: map[fleet.Key]thing{}, fleets: map[fleet.Revision]*fleet.Fleet{}}
		define := func(rev, role string, s spec) fleet.Fleet {
			r := repository{specs: map[string]spec{"a": s}}
			r.config.Waves.Freezes = []fleet.Freeze{{Select: labels.Everything(), From: now.Add(-time.Minute), Until: now.Add(1000 * time.Hour), Reason: "sales"}}
			f := r.fleet(rev)
			f.Clusters[0].Companions = []fleet.Object{{GVK: schema.GroupVersionKind{Kind: "AWSClusterRoleIdentity"}, Name: "login", Spec: []byte(`"` + role + `"`)}}
			f.Clusters[0].Digest += role
			return f
		}
		s := spec{Version: "v1.34.1", Ring: "prod", Pool: true, Replicas: 1}
		before := define("1", "arn:aws:iam::111:role/a", s)
		world.push(before)
		world.pass()
		world.pass()
		world.now = now
		world.decide(rollout.Input{})
		if upgrade {
			s.Version = "v1.35.0"
		}
		after := define("2", "arn:aws:iam::222:role/b", s)
		st := world.recorded(nil)
		plans := [2]*preview.Plan{}
		for i, f := range []fleet.Fleet{before, after} {
			plans[i] = preview.New(preview.Options{Fleet: f, Status: st, Scope: scope.All})
			if err := plans[i].Look(t.Context(), looker{world}); err != nil {
				t.Fatal(err)
			}
		}
		plans[1].Compare(before, plans[0])
		since := plans[1].Since(plans[0])
		held := world.held(fleet.Key{Namespace: "prod", Name: "a"})
		world.push(after)
		if now := world.held(fleet.Key{Namespace: "prod", Name: "a"}); !strings.Contains(now, "222") || strings.Contains(now, "v1.35.0") || held == now {
			t.Fatalf("it is not used at once: %s", now)
		}
		told := false
		for _, c := range since.Added {
			told = told || strings.Contains(c.Reason, "companions") && !c.Waits
		}
		if !told {
			t.Errorf("upgrade %t: the plan does not tell that the identity changes", upgrade)
		}
	}
}
