package pullrequests

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/version"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/plans/document"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/render/rules"
	"fairlead.dev/sources/status"
)

// A judge says what of a plan the policy does not allow.
type judge struct {
	policy fleet.PlanPolicy
	plan   status.Plan
	before map[string]*fleet.Cluster
	after  map[string]*fleet.Cluster

	out  []string
	seen map[string]bool
}

// failures says what of p the policy does not allow.
func failures(ctx context.Context, policy fleet.PlanPolicy, p status.Plan, before, after fleet.Fleet) []string {
	j := &judge{policy: policy, plan: p, before: byName(before), after: byName(after), seen: make(map[string]bool)}
	j.changes()
	j.groups()
	if policy.VersionSkew {
		j.versions()
	}
	if policy.Problems && len(p.Problems) > 0 {
		j.add("it has " + output.Count(len(p.Problems), "problem"))
	}
	j.rules(ctx)
	return j.out
}

func byName(f fleet.Fleet) map[string]*fleet.Cluster {
	out := make(map[string]*fleet.Cluster, len(f.Clusters))
	for i := range f.Clusters {
		out[f.Clusters[i].Key.String()] = &f.Clusters[i]
	}
	return out
}

// add adds a failure, once.
func (j *judge) add(text string) {
	if !j.seen[text] {
		j.seen[text] = true
		j.out = append(j.out, text)
	}
}

// changes judges what is done, and how much.
func (j *judge) changes() {
	machines, clusters := 0, make(map[string]bool)
	for _, c := range j.plan.Changes {
		if c.Cluster != "" {
			clusters[c.Cluster] = true
		}
		if j.policy.EndedPromises && document.EndsPromise(c.Change) {
			j.add("it ends a promise: " + strings.TrimSpace(c.Change+" "+c.Cluster))
		}
		switch forecast.ChangeKind(c.Change) {
		case forecast.DeleteCluster:
			if j.policy.DeletedClusters {
				j.add("it deletes cluster " + c.Cluster)
			}
		case document.AbandonCluster, document.LeaveCluster:
			if j.policy.DeletedClusters {
				j.add("it stops managing cluster " + c.Cluster)
			}
		case forecast.ReplaceMachine, forecast.DeleteMachine:
			machines++
			after := j.after[c.Cluster]
			if j.policy.ReplacedControlPlanes && after != nil && c.Pool != "" && c.Pool == string(after.ControlPlane.Name) {
				j.add("it replaces the control plane of " + c.Cluster)
			}
		case forecast.CreateMachine:
			machines++
		case forecast.CreatePool, forecast.UpdatePool, forecast.DeletePool:
			machines += max(keptIn(j.before[c.Cluster], c.Pool), keptIn(j.after[c.Cluster], c.Pool))
		default:
		}
	}
	if j.policy.Machines > 0 && machines > j.policy.Machines {
		j.add(fmt.Sprintf("it changes %d machines, more than %d", machines, j.policy.Machines))
	}
	if j.policy.Clusters > 0 && len(clusters) > j.policy.Clusters {
		j.add(fmt.Sprintf("it changes %d clusters, more than %d", len(clusters), j.policy.Clusters))
	}
}

// keptIn is the most machines that the cloud keeps of a pool of c.
func keptIn(c *fleet.Cluster, pool string) int {
	if c == nil {
		return 0
	}
	p, _ := c.KeptPool(fleet.PoolName(pool))
	if p.Range != nil {
		return p.Range.Max
	}
	return p.Count
}

// groups judges whose clusters are changed: by what they are as well as by what they would be,
// so that a label that a pull request takes away is no way around.
func (j *judge) groups() {
	for _, g := range j.policy.Groups {
		selector, err := labels.Parse(g.Selector)
		if err != nil { // fleet.yaml was checked
			j.add("group " + g.Name + " cannot be read")
			continue
		}
		for _, c := range j.plan.Changes {
			for _, is := range []*fleet.Cluster{j.before[c.Cluster], j.after[c.Cluster]} {
				if is != nil && selector.Matches(labels.Set(is.Labels)) {
					j.add("it changes " + c.Cluster + " of group " + g.Name)
				}
			}
		}
	}
}

// versions judges steps of Kubernetes. That nodes fit to their control plane is a rule of each
// definition.
// Source: Kubernetes, version skew policy.
func (j *judge) versions() {
	for _, k := range j.plan.Clusters {
		before, after := j.before[k.String()], j.after[k.String()]
		if before == nil || after == nil {
			continue
		}
		from, to := before.ControlPlane.Version, after.ControlPlane.Version
		was, bad := version.ParseSemantic(from)
		next, worse := version.ParseSemantic(to)
		switch {
		case bad != nil || worse != nil: // a control plane that somebody else keeps
		case next.LessThan(was):
			j.add(fmt.Sprintf("it takes %s back from %s to %s", k, from, to))
		case next.Major() != was.Major() || next.Minor() > was.Minor()+1:
			j.add(fmt.Sprintf("it takes %s from %s to %s, which skips a minor version", k, from, to))
		}
	}
}

// rules judges by what fleet.yaml says in CEL. What cannot be decided fails.
func (j *judge) rules(ctx context.Context) {
	if len(j.policy.Rules) == 0 {
		return
	}
	plan := rules.Plan{Problems: slices.Clone(j.plan.Problems)}
	for _, c := range j.plan.Changes {
		plan.Changes = append(plan.Changes, rules.Change{Change: c.Change, Cluster: c.Cluster, Pool: c.Pool, Machine: c.Machine, Addon: c.Addon, Reason: c.Reason})
	}
	for _, k := range j.plan.Clusters {
		c := rules.Cluster{Name: k.String(), Namespace: k.Namespace}
		if before := j.before[k.String()]; before != nil {
			c.Labels, c.Is = before.Labels, before.ControlPlane.Version
		}
		if after := j.after[k.String()]; after != nil {
			c.Labels, c.WillBe = after.Labels, after.ControlPlane.Version
		}
		plan.Clusters = append(plan.Clusters, c)
	}
	for _, r := range j.policy.Rules {
		holds, err := rules.Holds(ctx, r.Expression, plan)
		switch {
		case err != nil:
			j.add("rule " + r.Name + " cannot be decided: " + fleet.OneLine(err))
		case !holds && r.Message != "":
			j.add("rule " + r.Name + ": " + r.Message)
		case !holds:
			j.add("rule " + r.Name + " does not hold")
		}
	}
}
