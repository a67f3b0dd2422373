package workload_test

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
)

// TestSecretsAreNotQuoted: what the API server says of a manifest that is secret
// does not reach the status branch.
func TestSecretsAreNotQuoted(t *testing.T) {
	c := start(t)
	r := manifestsIn(t, "x", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: hunter2}")
	for name, quoted := range map[string]bool{"ConfigMap/x": true, "Secret/x": false} {
		r.Name = name
		set := fleet.ResourceSet{Name: "x", Strategy: fleet.ReconcileStrategy, Resources: []fleet.Resource{r}}
		if err := c.ApplyResources(t.Context(), c.access, set, []string{name}); err != nil {
			t.Fatal(err)
		}
		w, err := c.Observe(t.Context(), c.access)
		if err != nil || len(w.ResourceSets) != 1 || len(w.ResourceSets[0].Failures) != 1 {
			t.Fatalf("inventories %+v, %v", w.ResourceSets, err)
		}
		if f := w.ResourceSets[0].Failures[0]; strings.Contains(f.Message, "hunter2") != quoted || f.Kind != fleet.NotFound {
			t.Errorf("of %s it is told %q, of kind %s", name, f.Message, f.Kind)
		}
	}
}

// TestResourcesInMemory: the simulated API server takes what a real one does,
// kinds that the set itself defines included.
func TestResourcesInMemory(t *testing.T) {
	c := start(t)
	set := fleet.ResourceSet{Name: "cni", Strategy: fleet.ReconcileStrategy, Resources: []fleet.Resource{
		manifestsIn(t, "net", crontab, note("net", "a", "one"), crontabs, "apiVersion: v1\nkind: Namespace\nmetadata: {name: net}",
			"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: p, namespace: net}\nspec: {podSelector: {}}",
			"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 10"),
		manifestsIn(t, "odd", "apiVersion: test.fairlead.dev/v1\nkind: Odd\nmetadata: {name: x}"),
	}}
	state := func() fleet.ResourceSetState {
		t.Helper()
		w, err := c.Observe(t.Context(), c.access)
		if err != nil || len(w.ResourceSets) != 1 {
			t.Fatalf("inventories %+v, %v", w.ResourceSets, err)
		}
		return w.ResourceSets[0]
	}
	if err := c.ApplyResources(t.Context(), c.access, set, []string{"ConfigMap/net", "ConfigMap/odd"}); err != nil {
		t.Fatal(err)
	}
	s := state()
	if len(s.Objects) != 7 || !s.Resources["ConfigMap/net"].Applied || s.Resources["ConfigMap/odd"].Applied || !s.Applied.IsZero() {
		t.Errorf("inventory %+v", s)
	}
	if len(s.Failures) != 1 || s.Failures[0].Object.Kind != "Odd" || s.Failures[0].Kind != fleet.Unavailable {
		t.Errorf("failures %+v, want that a kind is not served", s.Failures)
	}
	if !slices.Equal(set.Pending(s), []string{"ConfigMap/odd"}) {
		t.Errorf("to be applied: %v", set.Pending(s))
	}
	job := fleet.ObjectRef{Group: "test.fairlead.dev", Kind: "CronTab", Namespace: "net", Name: "nightly"}
	set.Resources = set.Resources[:1]
	set.Resources[0].Objects = slices.DeleteFunc(set.Resources[0].Objects, func(m fleet.Manifest) bool { return m.ObjectRef == job })
	if err := c.PruneResources(t.Context(), c.access, set, []fleet.ObjectRef{job}); err != nil {
		t.Fatal(err)
	}
	if s := state(); len(s.Objects) != 5 || slices.Contains(s.Objects, job) {
		t.Errorf("inventory after pruning %+v", s)
	}
	if err := c.PruneResources(t.Context(), c.access, fleet.ResourceSet{Name: "cni"}, s.Objects); err != nil {
		t.Fatal(err)
	}
	if w, err := c.Observe(t.Context(), c.access); err != nil || len(w.ResourceSets) != 0 {
		t.Errorf("inventories after all went: %+v, %v", w.ResourceSets, err)
	}
	if c.has("ConfigMap", "net", "a") {
		t.Error("an object is still there")
	}
}
