package render

import (
	"fmt"
	"path"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/render/rules"
)

// PullRequestsManifest is spec.pullRequests of ConfigFile.
type PullRequestsManifest struct {
	Forks bool     `json:"forks,omitempty"`
	Refs  []string `json:"refs,omitempty"`
	// Revisions has pushed commits told what became of them.
	Revisions bool                `json:"revisions,omitempty"`
	Fail      *PlanPolicyManifest `json:"fail,omitempty"`
}

// PlanPolicyManifest is spec.pullRequests.fail of ConfigFile.
type PlanPolicyManifest struct {
	DeletedClusters       *bool `json:"deletedClusters,omitempty"`
	EndedPromises         *bool `json:"endedPromises,omitempty"`
	ReplacedControlPlanes *bool `json:"replacedControlPlanes,omitempty"`
	Problems              *bool `json:"problems,omitempty"`
	Machines              *int  `json:"machines,omitempty"`
	Clusters              *int  `json:"clusters,omitempty"`
	VersionSkew           *bool `json:"versionSkew,omitempty"`

	Groups []PlanGroupManifest `json:"groups,omitempty"`
	Rules  []PlanRuleManifest  `json:"rules,omitempty"`
}

// PlanGroupManifest is one of spec.pullRequests.fail.groups of ConfigFile.
type PlanGroupManifest struct {
	Name   string                `json:"name"`
	Select *metav1.LabelSelector `json:"select,omitempty"`
}

// PlanRuleManifest is one of spec.pullRequests.fail.rules of ConfigFile.
type PlanRuleManifest struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
	Message    string `json:"message,omitempty"`
}

const (
	// mostRefs is how many patterns of refs there may be.
	mostRefs = 20
	// mostRules is how many groups there may be, and rules.
	mostRules = 32
)

// checkedPullRequests returns what is said of pull requests. Without a word of them none is
// planned.
func checkedPullRequests(m *PullRequestsManifest, fail func(field, message, hint string)) fleet.PullRequests {
	if m == nil {
		return fleet.PullRequests{}
	}
	p := fleet.PullRequests{Planned: true, Forks: m.Forks, Refs: m.Refs, Revisions: m.Revisions, Fail: fleet.PlanPolicy{DeletedClusters: true, Problems: true}}
	if len(m.Refs) > mostRefs {
		fail("spec.pullRequests.refs", fmt.Sprintf("there are %d, and at most %d", len(m.Refs), mostRefs), "let one pattern match several refs")
	}
	for i, ref := range m.Refs {
		field := fmt.Sprintf("spec.pullRequests.refs[%d]", i)
		_, err := path.Match(ref, "")
		if err != nil || !strings.HasPrefix(ref, "refs/") || strings.HasPrefix(ref, "refs/tags/") || len(strings.Trim(ref, "/*?")) <= len("refs/") {
			fail(field, fmt.Sprintf("%q is no pattern of refs", ref), "write the full name, as in refs/heads/proposals/*; * and ? are within a segment, and tags are not planned")
			continue
		}
		if !m.Forks && !strings.HasPrefix(ref, "refs/heads/") {
			fail(field, fmt.Sprintf("%q matches refs that are no branches: Git providers let anyone with read access propose there", ref), "name branches, as in refs/heads/proposals/*, or set spec.pullRequests.forks to true to plan the changes of anyone")
		}
	}
	if m.Fail != nil {
		checkedPlanPolicy(&p.Fail, m.Fail, fail)
	}
	return p
}

// checkedPlanPolicy sets what m says in p.
func checkedPlanPolicy(p *fleet.PlanPolicy, m *PlanPolicyManifest, fail func(field, message, hint string)) {
	for _, f := range []struct {
		from *bool
		to   *bool
	}{
		{m.DeletedClusters, &p.DeletedClusters},
		{m.EndedPromises, &p.EndedPromises},
		{m.ReplacedControlPlanes, &p.ReplacedControlPlanes},
		{m.Problems, &p.Problems},
		{m.VersionSkew, &p.VersionSkew},
	} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	for _, f := range []struct {
		from *int
		to   *int
		name string
		hint string
	}{
		{m.Machines, &p.Machines, "machines", "it is how many machines a pull request may create, replace or delete; leave it out for any number"},
		{m.Clusters, &p.Clusters, "clusters", "it is of how many clusters a pull request may change something; leave it out for any number"},
	} {
		if f.from == nil {
			continue
		}
		if *f.to = *f.from; *f.from < 1 {
			fail("spec.pullRequests.fail."+f.name, fmt.Sprintf("%d is less than 1", *f.from), f.hint)
		}
	}
	p.Groups, p.Rules = checkedPlanGroups(m.Groups, fail), checkedPlanRules(m.Rules, fail)
}

// checkedPlanGroups returns groups of clusters, each with a name of its own.
func checkedPlanGroups(list []PlanGroupManifest, fail func(field, message, hint string)) []fleet.PlanGroup {
	const at = "spec.pullRequests.fail.groups"
	if len(list) > mostRules {
		fail(at, fmt.Sprintf("there are %d, and at most %d", len(list), mostRules), "let one group select more clusters")
	}
	var out []fleet.PlanGroup
	names := make(map[string]bool)
	for i, g := range list {
		field := fmt.Sprintf("%s[%d]", at, i)
		if g.Name == "" || names[g.Name] {
			fail(field+".name", fmt.Sprintf("missing or duplicate name %q", g.Name), "give each group a name of its own, which the plan shows")
		}
		names[g.Name] = true
		selector, err := metav1.LabelSelectorAsSelector(g.Select)
		switch {
		case err != nil:
			fail(field+".select", err.Error(), "it is a label selector, with matchLabels or matchExpressions")
			continue
		case g.Select == nil:
			fail(field+".select", "missing label selector", "select the clusters of the group by their labels; {} is all")
			continue
		}
		out = append(out, fleet.PlanGroup{Name: g.Name, Selector: selector.String()})
	}
	return out
}

// checkedPlanRules returns rules that can be decided, each with a name of its own.
func checkedPlanRules(list []PlanRuleManifest, fail func(field, message, hint string)) []fleet.PlanRule {
	const at = "spec.pullRequests.fail.rules"
	if len(list) > mostRules {
		fail(at, fmt.Sprintf("there are %d, and at most %d", len(list), mostRules), "join some with &&")
	}
	var out []fleet.PlanRule
	names := make(map[string]bool)
	for i, r := range list {
		field := fmt.Sprintf("%s[%d]", at, i)
		if r.Name == "" || names[r.Name] {
			fail(field+".name", fmt.Sprintf("missing or duplicate name %q", r.Name), "give each rule a name of its own, which the plan shows")
		}
		names[r.Name] = true
		if err := rules.Check(r.Expression); err != nil {
			fail(field+".expression", err.Error(), "write a CEL expression that is true if the plan may pass; docs/guides/fleet/pull-requests.md has its variables")
		}
		out = append(out, fleet.PlanRule{Name: r.Name, Expression: r.Expression, Message: r.Message})
	}
	return out
}
