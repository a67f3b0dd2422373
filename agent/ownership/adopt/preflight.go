package adopt

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

const restHint = "wait until Cluster API has finished, then run this again"

// preflight adds a problem for everything that keeps the cluster from being adopted:
// controllers that are at work, and machines that Fairlead would not make from the same
// manifests.
func (f *existing) preflight(sets []Object) {
	if f.cluster.GetDeletionTimestamp() != nil {
		f.addProblem(f.cluster, "metadata.deletionTimestamp", "", "is being deleted")
	}
	counts := make(map[string]int64) // number of machines, by "Kind name" of the pool
	for _, m := range f.machines {
		owner := f.poolObject(m, sets)
		if owner == "" {
			f.addProblem(m, "metadata.ownerReferences", "replace it by a machine of a MachineDeployment", "belongs to no KubeadmControlPlane or MachineDeployment of the cluster")
		}
		counts[owner]++
		switch {
		case m.GetDeletionTimestamp() != nil:
			f.addProblem(m, "metadata.deletionTimestamp", restHint, "is being deleted")
		case text(m, "spec", "providerID") == "":
			f.addProblem(m, "spec.providerID", restHint, "has no infrastructure yet")
		case refAt(m, "status", "nodeRef").name == "":
			f.addProblem(m, "status.nodeRef", restHint, "has no Node")
		}
	}
	for _, p := range f.pools {
		f.preflightPool(p, counts[p.object.GetKind()+" "+p.object.GetName()])
	}
	for _, s := range sets {
		if n, _ := number(s, "spec", "replicas"); n > 0 && controller(s).Kind == "MachineDeployment" && older(s, sets) {
			f.addProblem(s, "spec.replicas", restHint, "still has %d machines of an older template", n)
		}
	}
}

func (f *existing) preflightPool(p pool, machines int64) {
	o := p.object
	if seen, ok := number(o, "status", "observedGeneration"); ok && seen != o.GetGeneration() {
		f.addProblem(o, "status.observedGeneration", restHint, "was changed, and its controller has not seen that yet")
	}
	if p.kept { // the cloud counts its machines, and the provider looks at them
		return
	}
	want, ok := number(o, "spec", "replicas")
	if ok && want != machines {
		f.addProblem(o, "spec.replicas", restHint, "asks for %d machines and has %d", want, machines)
	}
	for _, field := range []string{"upToDateReplicas", "updatedReplicas"} {
		if n, ok := number(o, "status", field); ok && n < machines {
			f.addProblem(o, "status."+field, restHint, "%d of its %d machines are of the newest template", n, machines)
			return
		}
	}
}

// poolObject returns "Kind name" of the pool that m belongs to. It is empty where there is
// none.
func (f *existing) poolObject(m Object, sets []Object) string {
	owner := controller(m)
	if owner.Kind == "MachineSet" {
		i := slices.IndexFunc(sets, func(s Object) bool { return s.GetName() == owner.Name })
		if i < 0 {
			return ""
		}
		owner = controller(sets[i])
	}
	for _, p := range f.pools {
		if p.object.GetKind() == owner.Kind && p.object.GetName() == owner.Name {
			return owner.Kind + " " + owner.Name
		}
	}
	return ""
}

// An owner is the object that a controller reference names.
type owner struct{ Kind, Name string }

func controller(o Object) owner {
	for _, r := range o.GetOwnerReferences() {
		if r.Controller != nil && *r.Controller {
			return owner{r.Kind, r.Name}
		}
	}
	return owner{}
}

// older reports whether a newer MachineSet of the same MachineDeployment has machines too.
func older(s Object, sets []Object) bool {
	return slices.ContainsFunc(sets, func(o Object) bool {
		n, _ := number(o, "spec", "replicas")
		a, b := o.GetCreationTimestamp(), s.GetCreationTimestamp()
		newer := b.Before(&a) || a.Equal(&b) && o.GetName() > s.GetName()
		return n > 0 && controller(o) == controller(s) && newer
	})
}

// readNotes adds what people should know before the management cluster is paused.
func (a *Adoption) readNotes(ctx context.Context, f *existing) error {
	for _, tool := range []struct{ name, mark string }{
		{"Flux (Kustomization)", "kustomize.toolkit.fluxcd.io/name"},
		{"Flux (HelmRelease)", "helm.toolkit.fluxcd.io/name"},
		{"Argo CD", "argocd.argoproj.io/instance"},
		{"Argo CD", "argocd.argoproj.io/tracking-id"},
	} {
		value, ok := f.cluster.GetLabels()[tool.mark]
		if !ok {
			value, ok = f.cluster.GetAnnotations()[tool.mark]
		}
		if ok {
			f.notes = append(f.notes, fmt.Sprintf("%s applies it (%s): suspend that, or it may undo the pause and revive what you remove", tool.name, value))
		}
	}
	binding := schema.GroupKind{Group: "addons." + coreGroup, Kind: "ClusterResourceSetBinding"}
	switch _, err := a.o.Management.get(ctx, binding, a.o.Kinds, f.key); {
	case err == nil:
		f.notes = append(f.notes, "a ClusterResourceSet applied things to it: they stay; commit it once the cluster is adopted, to go on with them")
	case fleet.KindOf(err) != fleet.NotFound && fleet.KindOf(err) != fleet.Invalid:
		return err
	}
	return nil
}

// paused reports whether an object asks its controllers not to act.
func paused(o Object) bool {
	p, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
	_, annotated := o.GetAnnotations()[clusterv1.PausedAnnotation]
	return p || annotated
}

// unpausedObjects names the objects whose controllers report that they are not paused yet.
func (f *existing) unpausedObjects() []string {
	return f.withPause(func(status string) bool { return status != "" && status != "True" })
}

// silentObjects names the objects whose controllers do not report whether they are paused, as those
// of older contracts. They follow the rule of Cluster API to read the Cluster before they act. What
// they began before the pause may still be under way.
func (f *existing) silentObjects() []string {
	return f.withPause(func(status string) bool { return status == "" })
}

// withPause names the objects whose condition Paused has a status that is one; empty: there is no
// such condition.
func (f *existing) withPause(is func(status string) bool) []string {
	all := []Object{f.cluster}
	if f.infra != nil {
		all = append(all, f.infra)
	}
	for _, p := range f.pools {
		if all = append(all, p.object); p.kept && len(p.templates) > 0 { // what keeps the pool has a controller of its own
			all = append(all, p.templates[0])
		}
	}
	var out []string
	for _, o := range append(all, f.machines...) {
		status := ""
		for _, path := range [][]string{{"status", "conditions"}, {"status", "v1beta2", "conditions"}} {
			list, _, _ := unstructured.NestedSlice(o.Object, path...)
			for _, item := range list {
				c, _ := item.(map[string]any)
				if s, _ := c["status"].(string); c["type"] == clusterv1.PausedCondition && (status == "" || status == "True") {
					status = cmp.Or(s, "Unknown")
				}
			}
		}
		if is(status) {
			out = append(out, strings.TrimSpace(o.GetKind()+" "+o.GetName()))
		}
	}
	return out
}
