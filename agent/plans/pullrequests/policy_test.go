package pullrequests

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/plans/preview"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

func TestPolicy(t *testing.T) {
	a, c := fleet.Key{Namespace: "prod", Name: "a"}, fleet.Key{Namespace: "prod", Name: "c"}
	cluster := func(k fleet.Key, version, ring string) fleet.Cluster {
		return fleet.Cluster{Key: k, Labels: map[string]string{"ring": ring}, ControlPlane: fleet.Pool{Name: "cp", Version: version}}
	}
	of := func(list ...fleet.Cluster) fleet.Fleet { return fleet.Fleet{Clusters: list} }
	before := of(cluster(a, "v1.33.5", "gold"), cluster(c, "v1.33.5", "lab"))
	after := of(cluster(a, "v1.34.1", "lab"))
	all := compared(status.Plan{}, &preview.Plan{}, &preview.Plan{Changes: sample}, false, "")
	problem := status.Plan{Problems: []string{"clusters/x: it is broken"}}
	rule := func(expression, message string) fleet.PlanPolicy {
		return fleet.PlanPolicy{Rules: []fleet.PlanRule{{Name: "r", Expression: expression, Message: message}}}
	}
	group := func(name, selector string) fleet.PlanPolicy {
		return fleet.PlanPolicy{Groups: []fleet.PlanGroup{{Name: name, Selector: selector}}}
	}
	for name, c := range map[string]struct {
		policy fleet.PlanPolicy
		plan   status.Plan
		after  fleet.Fleet
		want   []string
	}{
		"nothing asked":          {fleet.PlanPolicy{}, all, after, nil},
		"deleted clusters":       {fleet.PlanPolicy{DeletedClusters: true}, all, after, []string{"it deletes cluster prod/c"}},
		"control planes":         {fleet.PlanPolicy{ReplacedControlPlanes: true}, all, after, []string{"it replaces the control plane of prod/a"}},
		"as many":                {fleet.PlanPolicy{Machines: 3}, all, after, nil},
		"too many":               {fleet.PlanPolicy{Machines: 2}, all, after, []string{"it changes 3 machines, more than 2"}},
		"as many clusters":       {fleet.PlanPolicy{Clusters: 4}, all, after, nil},
		"too many clusters":      {fleet.PlanPolicy{Clusters: 3}, all, after, []string{"it changes 4 clusters, more than 3"}},
		"a problem":              {fleet.PlanPolicy{Problems: true}, problem, after, []string{"it has 1 problem"}},
		"problems allowed":       {fleet.PlanPolicy{DeletedClusters: true}, problem, after, nil},
		"a group, as it is":      {group("gold", "ring=gold"), all, after, []string{"it changes prod/a of group gold"}},
		"a group, as it will be": {group("lab", "ring in (lab)"), all, after, []string{"it changes prod/c of group lab", "it changes prod/a of group lab"}},
		"no group of theirs":     {group("x", "ring=none"), all, after, nil},
		"one minor":              {fleet.PlanPolicy{VersionSkew: true}, all, after, nil},
		"two minors":             {fleet.PlanPolicy{VersionSkew: true}, all, of(cluster(a, "v1.35.0", "")), []string{"it takes prod/a from v1.33.5 to v1.35.0, which skips a minor version"}},
		"back":                   {fleet.PlanPolicy{VersionSkew: true}, all, of(cluster(a, "v1.33.4", "")), []string{"it takes prod/a back from v1.33.5 to v1.33.4"}},
		"a rule that holds":      {rule("plan.changes.size() == 5", ""), all, after, nil},
		"a rule that does not":   {rule("plan.clusters.all(c, c.willBe != '')", ""), all, after, []string{"rule r does not hold"}},
		"in words":               {rule("plan.clusters.all(c, c.is == c.willBe)", "no upgrades in December"), all, after, []string{"rule r: no upgrades in December"}},
		"cannot be decided":      {rule("plan.changes[99].pool == ''", ""), all, after, []string{"rule r cannot be decided: cannot decide by an expression: index out of bounds: 99"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.plan.Clusters = []fleet.Key{a, {Namespace: "prod", Name: "c"}}
			got := failures(t.Context(), c.policy, c.plan, before, c.after)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
