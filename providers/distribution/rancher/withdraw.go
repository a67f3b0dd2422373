package rancher

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/workload"
)

// askedAnnotation of a Node says that Fairlead asked for the removal of its member, and not
// somebody else.
const askedAnnotation = "fairlead.dev/member-removal-asked"

// keepMember begins the name of the step that withdraws the request to remove the member on a
// Node, whose name ends it. Servers try again for as long as it stands: where etcd refused
// it, for its quorum, they would do it when no plan has it any more.
const keepMember = "KeepMember/"

// withdrawals returns a step for each Node whose member Fairlead asked to have removed, and
// that is still a member.
func (d Distribution) withdrawals(w *fleet.Workload) []fleet.Step {
	var out []fleet.Step
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if n.ControlPlane && d.asked(n.Annotations) {
			out = append(out, fleet.Step{Name: keepMember + n.Name, When: fleet.UnlessLeaving, Node: n.Name, Reason: "its etcd member was asked to leave, and is to stay"})
		}
	}
	return out
}

// asked reports whether notes, of a Node, hold a request of Fairlead's that was not met yet.
func (d Distribution) asked(notes map[string]string) bool {
	return notes[d.annotation("remove")] == "true" && notes[askedAnnotation] == "true" && notes[d.annotation("removed-node-name")] == ""
}

// Apply implements providers.Distribution.
func (d Distribution) Apply(ctx context.Context, a providers.Access, c *fleet.Cluster, _ fleet.Endpoint, name string) error {
	node, ok := strings.CutPrefix(name, keepMember)
	if !ok {
		return fleet.Errorf(fleet.Invalid, "apply to cluster "+c.Key.String(), "%s has no step %q", d.program.Name, name)
	}
	return d.clusters.Call(ctx, a, "withdraw the removal of the etcd member on "+node, func(ctx context.Context, n *workload.Conn) error {
		var live corev1.Node
		switch err := n.Get(ctx, nodesPath+"/"+node, &live); {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		case !d.asked(live.Annotations):
			return nil
		}
		return n.MergePatch(ctx, nodesPath+"/"+node, map[string]any{"metadata": map[string]any{
			"resourceVersion": live.ResourceVersion, // servers may just have met it
			"annotations":     map[string]any{d.annotation("remove"): nil, askedAnnotation: nil},
		}})
	})
}
