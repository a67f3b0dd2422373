package adopt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/agent/ownership/adopt"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// TestProblems tries clusters that cannot be adopted. Each problem names its object and
// field, and nothing is changed.
func TestProblems(t *testing.T) {
	w := newWorld(t)
	edit := func(object, name string, status bool, v any, path ...string) func() {
		t.Helper()
		var before any
		var was bool
		w.change(kind(object), name, status, func(o map[string]any) {
			before, was, _ = unstructured.NestedFieldCopy(o, path...)
			if v == nil {
				unstructured.RemoveNestedField(o, path...)
				return
			}
			_ = unstructured.SetNestedField(o, v, path...)
		})
		w.observed(object, name, status)
		return func() {
			defer w.observed(object, name, status)
			w.change(kind(object), name, status, func(o map[string]any) {
				if !was {
					unstructured.RemoveNestedField(o, path...)
					return
				}
				_ = unstructured.SetNestedField(o, before, path...)
			})
		}
	}
	machine := string(w.machines[0].Name)
	for _, m := range w.machines {
		if m.Pool == "eu-1-md-0" {
			machine = string(m.Name)
		}
	}
	for name, tc := range map[string]struct {
		prepare func() (restore func())
		want    string
	}{
		"a rollout is under way": {func() func() {
			return edit("KubeadmControlPlane", "eu-1-cp", true, int64(0), "status", "upToDateReplicas")
		}, "KubeadmControlPlane NS/eu-1-cp: status.upToDateReplicas: 0 of its 1 machines are of the newest template"},
		"a change that nobody saw": {func() func() {
			return edit("MachineDeployment", "eu-1-md-0", true, int64(99), "status", "observedGeneration")
		}, "MachineDeployment NS/eu-1-md-0: status.observedGeneration: was changed"},
		"a machine without infrastructure": {func() func() {
			return edit("Machine", machine, false, nil, "spec", "providerID")
		}, "spec.providerID: has no infrastructure yet"},
		"a machine without Node": {func() func() {
			return edit("Machine", machine, true, nil, "status", "nodeRef")
		}, "status.nodeRef: has no Node"},
		"a machine of nobody": {func() func() {
			return edit("Machine", machine, false, nil, "metadata", "ownerReferences")
		}, "metadata.ownerReferences: belongs to no KubeadmControlPlane or MachineDeployment"},
		"fewer machines than asked for": {func() func() {
			return edit("MachineDeployment", "eu-1-md-0", false, int64(3), "spec", "replicas")
		}, "spec.replicas: asks for 3 machines and has 2"},
		"a field that Fairlead refuses": {func() func() {
			return edit("MachineDeployment", "eu-1-md-0", false, map[string]any{"template": "{{ .machineDeployment.name }}-{{ .random }}"}, "spec", "machineNaming")
		}, "clusters/NS/eu-1/eu-1-md-0.yaml: MachineDeployment NS/eu-1-md-0: spec.machineNaming"},
		"another kind of control plane": {func() func() {
			return edit("Cluster", "eu-1", false, map[string]any{"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "K3sControlPlane", "name": "x"}, "spec", "controlPlaneRef")
		}, `spec.controlPlaneRef: the control plane is "K3sControlPlane"`},
		"another infrastructure": {func() func() {
			return edit("Cluster", "eu-1", false, map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "FooCluster", "name": "x"}, "spec", "infrastructureRef")
		}, "spec.infrastructureRef: is a FooCluster, and Fairlead has no provider for it"},
		"another fleet's": {func() func() {
			return edit("Cluster", "eu-1", false, map[string]any{"fairlead.dev/adopted-by": "other"}, "metadata", "annotations")
		}, "fleet other adopted it"},
		"a MachinePool": {func() func() {
			o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
				"clusterName": "eu-1", "template": map[string]any{"spec": map[string]any{
					"clusterName": "eu-1", "bootstrap": map[string]any{"dataSecretName": "x"},
					"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachinePool", "name": "x"},
				}},
			}}}
			o.SetGroupVersionKind(kind("MachinePool"))
			o.SetName("mp")
			o.SetNamespace(w.ns)
			w.create(o)
			return func() {
				if err := w.resource(kind("MachinePool"), w.ns).Delete(t.Context(), "mp", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
		}, "MachinePool NS/mp: spec.template.spec.infrastructureRef: no DevMachinePool can be adopted"},
		"another cluster's authority in the store": {func() func() {
			if _, err := w.store.Create(t.Context(), w.key(), fleet.EtcdCA, fleet.SecretData{"tls.crt": fleet.NewSecret([]byte("x"))}); err != nil {
				t.Fatal(err)
			}
			return func() { w.store = memory() }
		}, "the secret store has another etcd"},
		"a machine that is not in the cloud": {func() func() {
			return edit("Machine", machine, false, "inmemory:///gone", "spec", "providerID")
		}, "there is no server inmemory:///gone"},
		"in the fleet and not paused": {func() func() {
			folder := filepath.Join(w.folder, "clusters", "mine")
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{
				"kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: " + w.ns + "\nresources: [all.yaml]\n",
				"all.yaml":           strings.Replace(manifests, "preKubeadmCommands: ['echo \"${HOSTNAME}\" $$']", "", 1),
			} {
				if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			return func() { _ = os.RemoveAll(filepath.Join(w.folder, "clusters")) }
		}, "is in the fleet already, in clusters/mine, and not paused"},
	} {
		t.Run(name, func(t *testing.T) {
			restore := tc.prepare()
			defer restore()
			r := w.adoption(nil).Run(t.Context(), []fleet.Key{w.key()})[0]
			var told []string
			for _, p := range r.Problems {
				told = append(told, strings.ReplaceAll(p.String(), w.ns, "NS"))
			}
			if r.Done || !strings.Contains(strings.Join(told, "\n"), tc.want) {
				t.Errorf("got %q, %v, want %q", told, r.Err, tc.want)
			}
			if there, _ := os.ReadDir(filepath.Join(w.folder, "clusters", w.ns)); len(there) > 0 || w.paused() || w.tagged() > 0 {
				t.Errorf("it left %v, paused %t, marked %d", there, w.paused(), w.tagged())
			}
		})
	}
}

// TestProviderThatAdoptsNothing: the first problem of a cluster of such a provider is that, with the way out, also if
// its objects differ from what Fairlead supports.
func TestProviderThatAdoptsNothing(t *testing.T) {
	w := newWorld(t)
	w.change(kind("MachineDeployment"), "eu-1-md-0", false, func(o map[string]any) {
		_ = unstructured.SetNestedField(o, "x", "spec", "machineNaming", "template")
	})
	w.observed("MachineDeployment", "eu-1-md-0", false)
	a := w.adoption(func(o *adopt.Options) {
		o.Infrastructure = func(string) (providers.Infrastructure, error) {
			return struct{ providers.Infrastructure }{inmemory.NewProvider(w.cloud, 0)}, nil
		}
	})
	r := a.Run(t.Context(), []fleet.Key{w.key()})[0]
	if r.Done || r.Err != nil || len(r.Problems) != 1 ||
		!strings.HasSuffix(r.Problems[0].String(), "spec.infrastructureRef: the provider inmemory cannot mark what it did not create (create a new cluster with Fairlead, move the workloads, and delete this one with Cluster API)") {
		t.Errorf("problems %v, error %v", r.Problems, r.Err)
	}
}

// observed acts as the controller of a pool that has seen a change of its spec.
func (w *world) observed(object, name string, status bool) {
	w.Helper()
	if status || object != "MachineDeployment" {
		return
	}
	w.change(kind(object), name, true, func(o map[string]any) {
		generation, _, _ := unstructured.NestedInt64(o, "metadata", "generation")
		_ = unstructured.SetNestedField(o, generation, "status", "observedGeneration")
	})
}

// A cluster that cannot be adopted does not stop the others.
func TestAFailureStopsNoOther(t *testing.T) {
	w := newWorld(t)
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"controlPlaneRef":   map[string]any{"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "K3sControlPlane", "name": "x"},
		"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevCluster", "name": "eu-1"},
	}}}
	o.SetGroupVersionKind(kind("Cluster"))
	o.SetName("a-first")
	o.SetNamespace(w.ns)
	note(o, "argocd.argoproj.io/tracking-id", "fleet:cluster")
	w.create(o)
	all, err := w.open.Clusters(t.Context(), []string{w.ns}, nil)
	if err != nil || len(all) != 2 {
		t.Fatalf("found %v, %v", all, err)
	}
	r := w.adoption(nil).Run(t.Context(), all)
	if r[0].Done || !r[1].Done {
		t.Errorf("got %+v", r)
	}
	if _, err := w.open.Clusters(t.Context(), nil, []string{w.ns + "/gone"}); fleet.KindOf(err) != fleet.NotFound {
		t.Errorf("a name that is not there: %v, want the kind NotFound", err)
	}
	if got, err := w.open.Clusters(t.Context(), nil, []string{w.ns + "/eu-1"}); err != nil || len(got) != 1 {
		t.Errorf("by name: %v, %v", got, err)
	}
}

// Manifests that people wrote into the fleet are used as they are, if they define the same
// cluster and are paused.
func TestOwnManifests(t *testing.T) {
	w := newWorld(t)
	folder := filepath.Join(w.folder, "clusters", "mine")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: "+w.ns+"\nresources: [all.yaml]\n")
	text := strings.NewReplacer("'echo \"${HOSTNAME}\" $$'", "'echo \"$${HOSTNAME}\" $$$$'", "spec:\n  clusterNetwork", "spec:\n  paused: true\n  clusterNetwork").Replace(manifests)
	put("all.yaml", strings.Replace(text, "v1.34.1", "v1.34.2", 1))
	r := w.adoption(nil).Run(t.Context(), []fleet.Key{w.key()})[0]
	if r.Done || len(r.Problems) == 0 || !strings.Contains(r.Problems[0].Message, "says something else of pool eu-1-cp") {
		t.Errorf("another version: %+v", r)
	}
	put("all.yaml", text)
	w.output = nil
	w.adopt()
	if last := w.output[len(w.output)-1]; !strings.Contains(last, "take spec.paused out of its Cluster in clusters/mine") || w.tagged() != 3 {
		t.Errorf("said %q with %d marked", last, w.tagged())
	}
	put("all.yaml", strings.Replace(text, "  paused: true\n", "", 1))
	w.output = nil
	w.adopt()
	if last := w.output[len(w.output)-1]; !strings.Contains(last, "is adopted already") {
		t.Errorf("without the pause: said %q", last)
	}
}
