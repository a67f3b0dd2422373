package adopt_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// An adoption that fails after the pause says that the cluster stays paused. The next one
// says that it goes on, or why it cannot.
func TestUnfinishedAdoptionIsReported(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.call = func(call string, m inmemory.Moment) {
		if strings.HasPrefix(call, "set tags") && m == inmemory.After {
			cancel()
		}
	}
	const stays = "stays paused in the management cluster, and no one manages it: run the command again, or undo it with --undo"
	r := w.adoption(nil).Run(ctx, []fleet.Key{w.key()})[0]
	w.call = nil
	if r.Err == nil || !strings.Contains(r.Err.Error(), stays) || !w.paused() {
		t.Fatalf("interrupted: %v, paused there %t", r.Err, w.paused())
	}

	busy := func(n int64) {
		w.change(kind("MachineDeployment"), "eu-1-md-0", true, func(o map[string]any) {
			_ = unstructured.SetNestedField(o, n, "status", "upToDateReplicas")
		})
	}
	busy(1)
	r = w.adoption(nil).Run(t.Context(), []fleet.Key{w.key()})[0]
	if last := len(r.Problems) - 1; last < 1 || !strings.Contains(r.Problems[last].String(), "is paused for an adoption that was begun, and no one manages it (give it back with --undo") {
		t.Errorf("refused once it was begun: %v", r.Problems)
	}
	busy(2)
	w.output = nil
	w.adopt()
	if !slices.Contains(w.output, "note: its adoption was begun and not finished: it goes on") {
		t.Errorf("said %q, want that it goes on", w.output)
	}
}

// A change in Git after the adoption does not make the adoption fail.
func TestAdoptedAndChangedSince(t *testing.T) {
	w := newWorld(t)
	w.adopt()
	file := filepath.Join(w.folder, "clusters", w.ns, "eu-1", "eu-1-md-0.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), "preKubeadmCommands", "postKubeadmCommands", 1)
	text = strings.Replace(text, "criSocket: unix:///run/containerd/containerd.sock", "criSocket: unix:///run/crio/crio.sock", 1)
	if text == string(data) {
		t.Fatalf("nothing to change in %s", text)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	newOperator(t, newFleet, w.store, w.provider()).run(w.inFleet())
	w.output = nil
	w.adopt()
	if len(w.output) != 2 || !strings.Contains(w.output[1], "is adopted already") {
		t.Errorf("said %q, want that it is adopted already", w.output)
	}
}
