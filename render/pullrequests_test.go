package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

func TestPullRequestsConfig(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		want fleet.PullRequests
		bad  string
	}{
		"none":     {"{}", fleet.PullRequests{}, ""},
		"planned":  {"{pullRequests: {}}", fleet.PullRequests{Planned: true, Fail: fleet.PlanPolicy{DeletedClusters: true, Problems: true}}, ""},
		"all said": {"{pullRequests: {forks: true, fail: {deletedClusters: false, problems: false, replacedControlPlanes: true, machines: 5}}}", fleet.PullRequests{Planned: true, Forks: true, Fail: fleet.PlanPolicy{ReplacedControlPlanes: true, Machines: 5}}, ""},
		"more policy": {
			"{pullRequests: {refs: [refs/heads/p/*], revisions: true, fail: {clusters: 3, versionSkew: true, groups: [{name: prod, select: {matchLabels: {ring: prod}}}], rules: [{name: few, expression: 'plan.changes.size() < 9', message: so}]}}}",
			fleet.PullRequests{Planned: true, Refs: []string{"refs/heads/p/*"}, Revisions: true, Fail: fleet.PlanPolicy{
				DeletedClusters: true, Problems: true, Clusters: 3, VersionSkew: true,
				Groups: []fleet.PlanGroup{{Name: "prod", Selector: "ring=prod"}}, Rules: []fleet.PlanRule{{Name: "few", Expression: "plan.changes.size() < 9", Message: "so"}},
			}},
			"",
		},
		"no clusters":   {"{pullRequests: {fail: {clusters: -1}}}", fleet.PullRequests{}, "spec.pullRequests.fail.clusters: -1 is less than 1"},
		"a short ref":   {"{pullRequests: {refs: ['proposals/*']}}", fleet.PullRequests{}, "spec.pullRequests.refs[0]: \"proposals/*\" is no pattern of refs"},
		"every ref":     {"{pullRequests: {refs: ['refs/*']}}", fleet.PullRequests{}, "is no pattern of refs"},
		"pull requests": {"{pullRequests: {refs: ['refs/heads/p', 'refs/pull/*/head']}}", fleet.PullRequests{}, "spec.pullRequests.refs[1]: \"refs/pull/*/head\" matches refs that are no branches"},
		"any kind":      {"{pullRequests: {refs: ['refs/*/1/head']}}", fleet.PullRequests{}, "refs that are no branches"},
		"of strangers": {
			"{pullRequests: {forks: true, refs: ['refs/pull/*/head']}}",
			fleet.PullRequests{Planned: true, Forks: true, Refs: []string{"refs/pull/*/head"}, Fail: fleet.PlanPolicy{DeletedClusters: true, Problems: true}},
			"",
		},
		"tags":        {"{pullRequests: {refs: ['refs/tags/*']}}", fleet.PullRequests{}, "is no pattern of refs"},
		"no selector": {"{pullRequests: {fail: {groups: [{name: a}]}}}", fleet.PullRequests{}, "spec.pullRequests.fail.groups[0].select: missing label selector"},
		"same names":  {"{pullRequests: {fail: {groups: [{name: a, select: {}}, {name: a, select: {}}]}}}", fleet.PullRequests{}, "groups[1].name: missing or duplicate name \"a\""},
		"no CEL":      {"{pullRequests: {fail: {rules: [{name: a, expression: 'plan.x == 1'}]}}}", fleet.PullRequests{}, "rules[0].expression: cannot read an expression: ERROR"},
		"no number":   {"{pullRequests: {fail: {machines: 0}}}", fleet.PullRequests{}, "spec.pullRequests.fail.machines: 0 is less than 1"},
		"unknown":     {"{pullRequests: {fail: {machine: 1}}}", fleet.PullRequests{}, "this field does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := parseManifest([]byte("apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec: " + c.spec + "\n"))
			var got config
			if err == nil {
				got, err = New(Options{}).checked(m)
			}
			switch {
			case c.bad == "" && err != nil, c.bad != "" && (err == nil || !strings.Contains(err.Error(), c.bad)):
				t.Fatalf("%v, want %q", err, c.bad)
			case err == nil:
				if d := cmp.Diff(c.want, got.PullRequests); d != "" {
					t.Error(d)
				}
			}
		})
	}
}
