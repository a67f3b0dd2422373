package adopt_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/agent/ownership/adopt"
	"fairlead.dev/fleet"
)

// only leaves v1beta1 as the one version of a CustomResourceDefinition that has it, as in a
// release of Cluster API before v1beta2.
func only(crd *unstructured.Unstructured) {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		v := v.(map[string]any)
		if v["name"] != "v1beta1" {
			continue
		}
		v["storage"], v["served"] = true, true
		delete(v, "deprecated")
		delete(v, "deprecationWarning")
		_ = unstructured.SetNestedSlice(crd.Object, []any{v}, "spec", "versions")
		unstructured.RemoveNestedField(crd.Object, "spec", "conversion")
	}
}

// older writes an object of v1beta2 as those releases do.
func older(o *unstructured.Unstructured) *unstructured.Unstructured {
	gvk := o.GroupVersionKind()
	if gvk.Version != "v1beta2" {
		return o
	}
	o = o.DeepCopy()
	gvk.Version = "v1beta1"
	o.SetGroupVersionKind(gvk)
	owners := o.GetOwnerReferences()
	for i := range owners {
		owners[i].APIVersion = strings.Replace(owners[i].APIVersion, "v1beta2", "v1beta1", 1)
	}
	o.SetOwnerReferences(owners)
	refer(o.Object["spec"], o.GetNamespace())
	move := func(from, to []string) {
		if v, ok, _ := unstructured.NestedFieldCopy(o.Object, from...); ok {
			unstructured.RemoveNestedField(o.Object, from...)
			set(o, v, to...)
		}
	}
	move([]string{"status", "upToDateReplicas"}, []string{"status", "updatedReplicas"})
	switch gvk.Kind {
	case "KubeadmControlPlane":
		move([]string{"spec", "machineTemplate", "spec", "infrastructureRef"}, []string{"spec", "machineTemplate", "infrastructureRef"})
		move([]string{"spec", "rollout", "strategy"}, []string{"spec", "rolloutStrategy"})
		unstructured.RemoveNestedField(o.Object, "spec", "machineTemplate", "spec")
		unstructured.RemoveNestedField(o.Object, "spec", "rollout")
	case "MachineDeployment", "MachineSet":
		move([]string{"spec", "rollout", "strategy"}, []string{"spec", "strategy"})
		unstructured.RemoveNestedField(o.Object, "spec", "rollout")
		unstructured.RemoveNestedField(o.Object, "spec", "template", "spec", "deletion")
		set(o, "10s", "spec", "template", "spec", "nodeDeletionTimeout")
		if gvk.Kind == "MachineDeployment" { // the webhook of that kind fills these in
			set(o, int64(600), "spec", "progressDeadlineSeconds")
			set(o, int64(1), "spec", "revisionHistoryLimit")
			set(o, int64(0), "spec", "minReadySeconds")
		}
	case "Machine":
		set(o, "v1", "status", "nodeRef", "apiVersion")
		set(o, "Node", "status", "nodeRef", "kind")
		set(o, true, "status", "infrastructureReady")
	case "OpenStackCluster":
		move([]string{"spec", "apiServer", "managedLoadBalancer"}, []string{"spec", "apiServerLoadBalancer"})
		unstructured.RemoveNestedField(o.Object, "spec", "apiServer")
		set(o, false, "spec", "managedSecurityGroups", "allowAllInClusterTraffic")
		delete(o.Object["spec"].(map[string]any)["identityRef"].(map[string]any), "type")
	case "VSphereFailureDomain": // the webhook of that kind fills these in
		set(o, false, "spec", "region", "autoConfigure")
		set(o, false, "spec", "zone", "autoConfigure")
	case "OpenStackMachineTemplate":
		olderMachine(o, "spec", "template", "spec")
	case "OpenStackMachine":
		olderMachine(o, "spec")
		o.Object["status"] = map[string]any{"ready": true}
	}
	return o
}

// olderMachine writes the spec of an OpenStackMachine as those releases do.
func olderMachine(o *unstructured.Unstructured, path ...string) {
	spec, _, _ := unstructured.NestedMap(o.Object, path...)
	delete(spec["identityRef"].(map[string]any), "type")
	spec["flavor"] = "m1.small"
	set(o, spec, path...)
}

// refer writes references as those releases do: with a version and a namespace.
func refer(v any, namespace string) {
	switch t := v.(type) {
	case map[string]any:
		group, ok := t["apiGroup"].(string)
		if ok && strings.HasSuffix(group, "cluster.x-k8s.io") {
			delete(t, "apiGroup")
			t["apiVersion"], t["namespace"] = group+"/v1beta1", namespace
		}
		for _, below := range t {
			refer(below, namespace)
		}
	case []any:
		for _, below := range t {
			refer(below, namespace)
		}
	}
}

// A management cluster that serves v1beta1 only is adopted like any other.
func TestOlder(t *testing.T) {
	m := newOlder(t)
	for name, test := range map[string]func(*management){
		"manifests stay in their version": olderStays, "the pause is awaited": olderPause, "on OpenStack": olderOpenStack,
		"on vSphere": olderVSphere,
	} {
		t.Run(name, func(t *testing.T) { test(m.of(t)) })
	}
}

func olderStays(m *management) {
	t, w := m.T, newRunningOn(m)
	w.createAll(manifests)
	before := w.vms()
	w.adopt()
	if c := w.inFleet(); c == nil || c.Paused || !w.paused() || w.tagged() != len(before) {
		t.Fatalf("in the fleet %v, paused there %t, marked %d", c, w.paused(), w.tagged())
	}
	for file, want := range map[string][]string{
		"cluster.yaml":       {"apiVersion: cluster.x-k8s.io/v1beta1\n", "kind: DevCluster"},
		"control-plane.yaml": {"apiVersion: controlplane.cluster.x-k8s.io/v1beta1\n"},
		"eu-1-md-0.yaml":     {"apiVersion: cluster.x-k8s.io/v1beta1\n"},
	} {
		data, err := os.ReadFile(filepath.Join(w.folder, "clusters", w.ns, "eu-1", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(string(data), part) {
				t.Errorf("%s lacks %q:\n%s", file, part, data)
			}
		}
		for _, filledIn := range []string{"nodeDeletionTimeout", "progressDeadlineSeconds", "rolloutStrategy", "revisionHistoryLimit"} {
			if strings.Contains(string(data), filledIn) {
				t.Errorf("%s has %s, which a webhook filled in:\n%s", file, filledIn, data)
			}
		}
	}
	newOperator(t, newFleet, w.store, w.provider()).run(w.inFleet())
	w.unchanged(before)
	w.done(w.adoption(nil).Undo(t.Context(), []fleet.Key{w.key()}))
	if w.paused() || w.tagged() > 0 {
		t.Errorf("after undo: paused %t, %d marked", w.paused(), w.tagged())
	}

	// A rollout under way is seen there too.
	w.change(kind("KubeadmControlPlane"), "eu-1-cp", true, func(o map[string]any) {
		_ = unstructured.SetNestedField(o, int64(0), "status", "updatedReplicas")
	})
	r := w.adoption(nil).Run(t.Context(), []fleet.Key{w.key()})[0]
	if r.Done || len(r.Problems) == 0 || !strings.Contains(r.Problems[0].String(), "status.updatedReplicas: 0 of its 1 machines are of the newest template") {
		t.Errorf("a rollout under way: %+v", r)
	}
}

// Controllers report in status.v1beta2 that they have paused where conditions are those of
// v1beta1.
func olderPause(m *management) {
	t, w := m.T, newRunningOn(m)
	w.createAll(manifests)
	say := func(status string) {
		w.change(kind("MachineDeployment"), "eu-1-md-0", true, func(o map[string]any) {
			_ = unstructured.SetNestedSlice(o, []any{map[string]any{
				"type": "Paused", "status": status, "reason": "Test", "lastTransitionTime": "2026-01-01T00:00:00Z", "message": "",
			}}, "status", "v1beta2", "conditions")
		})
	}
	say("False")
	r := w.adoption(func(o *adopt.Options) { o.Timeout = 1 }).Run(t.Context(), []fleet.Key{w.key()})[0]
	if r.Err == nil || !strings.Contains(r.Err.Error(), "MachineDeployment eu-1-md-0 have not paused yet") || w.tagged() > 0 {
		t.Fatalf("got %v with %d marked", r.Err, w.tagged())
	}
	say("True")
	w.adopt()
}

// OpenStack's kinds of v1beta1, too.
func olderOpenStack(m *management) {
	t, s := m.T, newStackOn(m)
	before := s.cloudObjects()
	adopt := append([]string{"adopt", "--kubeconfig", s.management.kube.Kubeconfig, "--into", s.folder, "-n", s.ns, "--fleet-id", "harbour"}, s.flags()...)
	if out := s.fairlead(0, adopt...); !strings.Contains(out, "1 of 1 cluster: adopted") || !s.paused() {
		t.Fatalf("paused there %t: %s", s.paused(), out)
	}
	if left := s.untagged(); len(left) > 0 {
		t.Errorf("%q carry no mark", left)
	}
	if now := s.cloudObjects(); !maps.Equal(before, now) {
		t.Errorf("there was %v, there is %v", before, now)
	}
	s.fairlead(0, append([]string{"plan", s.folder}, s.flags()...)...) // 2 if there were changes
}

// vSphere's kinds of v1beta1, too, with an account and zones.
func olderVSphere(m *management) {
	t, s := m.T, newVStackOn(newRunningOn(m))
	s.template = strings.NewReplacer(
		"addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: nodes}]", "dhcp4: true",
	).Replace(vSphereMachineTemplate)
	s.zoned()
	before, _ := s.vms()
	adopt := append([]string{"adopt", "--kubeconfig", s.management.kube.Kubeconfig, "--into", s.folder, "-n", s.ns, "--fleet-id", "harbour"}, s.flags()...)
	if out := s.fairlead(0, adopt...); !strings.Contains(out, "1 of 1 cluster: adopted") || !s.paused() {
		t.Fatalf("paused there %t: %s", s.paused(), out)
	}
	s.wroteZones()
	after, marks := s.vms()
	if d := cmp.Diff(before, after); d != "" || len(marks) != len(s.machines) {
		t.Errorf("%d carry the mark, the machines are others: %s", len(marks), d)
	}
	s.fairlead(0, append([]string{"plan", s.folder}, s.flags()...)...) // 2 if there were changes
}
