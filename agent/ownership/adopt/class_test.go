package adopt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/ownership/adopt"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

const class = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevClusterTemplate
metadata: {name: dev}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: dev}
spec: {template: {spec: {backend: {inMemory: {vm: {provisioning: {startupDuration: "1ms"}}}}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {name: dev}
spec: {template: {spec: {kubeadmConfigSpec: {preKubeadmCommands: ['echo "${HOSTNAME}" $$']}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: dev}
spec: {template: {spec: {joinConfiguration: {nodeRegistration: {criSocket: unix:///run/containerd/containerd.sock}}}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: dev}
spec:
  infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevClusterTemplate, name: dev}}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: dev}
    machineInfrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: dev}}
  workers:
    machineDeployments:
      - class: worker
        bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: dev}}
        infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: dev}}
`

// withClass makes the cluster one of a class, as its topology controller does: the objects
// that the class made carry its labels.
func (w *world) withClass() {
	w.Helper()
	w.withClassOf(class)
}

// withClassOf is withClass for a class and what it names.
func (w *world) withClassOf(class string) {
	w.Helper()
	for _, o := range objects(w.T, class) {
		o.SetNamespace(w.ns)
		w.create(o)
	}
	w.change(kind("Cluster"), "eu-1", false, func(o map[string]any) {
		o["spec"].(map[string]any)["topology"] = map[string]any{
			"classRef": map[string]any{"name": "dev"}, "version": "v1.34.1", "controlPlane": map[string]any{"replicas": int64(1)},
			"workers": map[string]any{"machineDeployments": []any{map[string]any{
				"class": "worker", "name": "md-0", "replicas": int64(2),
				"metadata": map[string]any{"labels": map[string]any{"node-role.kubernetes.io/web": ""}},
			}}},
		}
	})
	topology := func(o map[string]any) {
		labels := o["metadata"].(map[string]any)["labels"].(map[string]any)
		labels["topology.cluster.x-k8s.io/owned"], labels["topology.cluster.x-k8s.io/deployment-name"] = "", "md-0"
	}
	w.change(kind("MachineDeployment"), "eu-1-md-0", false, topology)
	for _, m := range w.machines {
		if m.Pool == "eu-1-md-0" {
			w.change(kind("Machine"), string(m.Name), false, topology)
		}
	}
}

// A class is adopted as a library, or expanded to what it made. Neither replaces a machine.
func TestClasses(t *testing.T) {
	w := newWorld(t)
	w.withClass()
	folder := filepath.Join(w.folder, "clusters", w.ns)
	for _, classes := range []adopt.Classes{adopt.KeepClasses, adopt.ExpandClasses} {
		w.output = nil
		edit := func(o *adopt.Options) { o.Classes = classes }
		w.done(w.adoption(edit).Run(t.Context(), []fleet.Key{w.key()}))
		data, err := os.ReadFile(filepath.Join(folder, "eu-1", "cluster.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = os.Stat(filepath.Join(folder, "classes", "dev", "class.yaml"))
		keep := classes == adopt.KeepClasses
		if strings.Contains(string(data), "topology:") != keep || (err == nil) != keep {
			t.Errorf("classes %s: library %v, Cluster %s", classes, err, data)
		}
		if c := w.inFleet(); c == nil || c.Paused || w.tagged() != 3 {
			t.Errorf("classes %s: in the fleet %v, %d marked", classes, c, w.tagged())
		}
		w.done(w.adoption(edit).Undo(t.Context(), []fleet.Key{w.key()}))
		w.reset()
	}
	// A class that was changed since makes other machines. Cluster API's machines are kept.
	gvk := kind("KubeadmConfigTemplate")
	w.change(gvk, "dev", false, func(o map[string]any) {
		o["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["preKubeadmCommands"] = []any{"true"}
	})
	r := w.adoption(nil).Run(t.Context(), []fleet.Key{w.key()})[0]
	if r.Done || len(r.Problems) == 0 || !strings.Contains(r.Problems[0].String(), "makes other machines here than Cluster API made for pool eu-1-md-0 (adopt it with --classes expand)") {
		t.Errorf("got %+v, want that the class makes other machines", r)
	}
}

// TestMetal3Class: the same on bare metal, where a machine's template names its data template.
func TestMetal3Class(t *testing.T) {
	s := newMStack(t, true, metal3test.Options{})
	s.withClassOf(strings.NewReplacer(
		"kind: DevClusterTemplate\nmetadata: {name: dev}\nspec: {template: {spec: {backend: {inMemory: {}}}}}",
		fmt.Sprintf("kind: Metal3ClusterTemplate\nmetadata: {name: dev}\nspec: {template: {spec: {cloudProviderEnabled: false, controlPlaneEndpoint: {host: %s, port: %d}}}}", s.endpoint.Host, s.endpoint.Port),
		"kind: DevMachineTemplate\nmetadata: {name: dev}\nspec: {template: {spec: {backend: {inMemory: {vm: {provisioning: {startupDuration: \"1ms\"}}}}}}}",
		strings.TrimPrefix(strings.Replace(metal3MachineTemplate, "name: eu-1", "name: dev", 1), "\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\n"),
		"kind: DevClusterTemplate", "kind: Metal3ClusterTemplate", "kind: DevMachineTemplate", "kind: Metal3MachineTemplate",
	).Replace(class))
	s.setIronic()
	s.serveGit()
	states := s.states()
	for _, classes := range []adopt.Classes{adopt.KeepClasses, adopt.ExpandClasses} {
		s.fairlead(0, s.command("--classes", string(classes))...)
		s.fairlead(0, append([]string{"plan", s.folder}, s.flags()...)...) // exit code 2 would say that there are changes
		if _, marks := s.nodes(); len(marks) != len(s.machines) {
			t.Errorf("classes %s: %d machines carry the mark", classes, len(marks))
		}
		s.fairlead(0, s.command("--classes", string(classes), "--undo")...)
		if err := os.RemoveAll(filepath.Join(s.folder, "clusters", s.ns)); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(states, s.states()); d != "" {
		t.Errorf("the hosts are others: %s", d)
	}
}
