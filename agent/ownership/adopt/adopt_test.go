package adopt_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/agent/ownership/adopt"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
)

type (
	nodeList = corev1.NodeList
	node     = corev1.Node
)

func TestAdopt(t *testing.T) {
	w := newWorld(t)
	before := w.vms()
	w.done(w.adoption(func(o *adopt.Options) { o.DryRun = true }).Run(t.Context(), []fleet.Key{w.key()}))
	if entries, _ := os.ReadDir(w.folder); len(entries) > 0 || w.paused() || w.tagged() > 0 {
		t.Errorf("a dry run left %v, paused %t, marked %d", entries, w.paused(), w.tagged())
	}
	if _, err := w.store.Get(t.Context(), w.key(), fleet.ClusterCA); fleet.KindOf(err) != fleet.NotFound {
		t.Errorf("a dry run stored a secret: %v", err)
	}
	for _, step := range []string{"check", "write", "secrets", "pause", "mark", "plan", "release"} {
		if !slices.ContainsFunc(w.output, func(s string) bool { return strings.HasPrefix(s, step+": ") }) {
			t.Errorf("the dry run said nothing of %s: %q", step, w.output)
		}
	}

	w.adopt()
	c := w.inFleet()
	if c == nil || c.Paused || !w.paused() || w.tagged() != 3 {
		t.Fatalf("in the fleet %v, paused there %t, marked %d", c, w.paused(), w.tagged())
	}
	for _, name := range append(fleet.Authorities(), fleet.Kubeconfig) {
		d, err := w.store.Get(t.Context(), w.key(), name)
		if err != nil || len(d) == 0 {
			t.Errorf("secret %s is not in the store: %v", name, err)
		}
	}
	w.golden("testdata/eu-1.txt")

	// An agent that follows the fleet now makes and removes nothing.
	agent := newOperator(t, newFleet, w.store, inmemory.NewProvider(w.cloud, 0))
	agent.run(c)
	w.unchanged(before)
	w.output = nil
	w.adopt() // a second adoption does nothing
	if len(w.output) != 2 || !strings.Contains(w.output[1], "is adopted already") {
		t.Errorf("said %q, want that it is adopted already", w.output)
	}

	// The agent scales the cluster.
	more := *c
	more.Workers = slices.Clone(c.Workers)
	more.Workers[0].Replicas = 3
	agent.run(&more)
	after := w.vms()
	kept := 0
	for _, v := range after {
		if slices.ContainsFunc(before, func(b inmemory.VM) bool { return b.ID == v.ID }) {
			kept++
		}
	}
	if len(after) != 4 || kept != 3 {
		t.Errorf("%d machines, %d of them from before, want 4 and 3", len(after), kept)
	}
	w.adopt() // machines that Fairlead made since do not hide that the adoption is finished
	r := w.adoption(nil).Undo(t.Context(), []fleet.Key{w.key()})
	if r[0].Done || fleet.KindOf(r[0].Err) != fleet.Conflict {
		t.Errorf("undo after Fairlead acted: %v, want the kind Conflict", r[0].Err)
	}
}
