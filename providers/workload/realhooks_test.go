package workload_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fleet"
)

// TestRealHooks marks a node with a pre-drain hook, and leaves it alone until
// somebody takes the hook away.
func TestRealHooks(t *testing.T) {
	c := startReal(t)
	ns := c.server.Namespace()
	c.node(node("h-1", corev1.ConditionTrue, nil))
	c.pod(ns, pod(ns, "web", "h-1", immediately(nil)))
	const hook = "pre-drain.delete.hook.machine.cluster.x-k8s.io/migrate"
	p := fleet.Pool{Name: "md", Role: fleet.RoleWorker, Annotations: map[string]string{hook: "storage", "other": ""}}
	sync := func() map[string]string {
		t.Helper()
		if err := c.SyncNode(t.Context(), c.access, "h-1", "h-1", p); err != nil {
			t.Fatal(err)
		}
		_, n := c.observe("h-1")
		return n.Annotations
	}
	if a := sync(); a[hook] != "storage" || slices.Contains(slices.Collect(maps.Keys(a)), "other") {
		t.Errorf("annotations of the node %v; want the hook, and no other of the machine", a)
	}
	if err := c.Drain(t.Context(), c.access, "h-1", nil); err != nil {
		t.Fatal(err)
	}
	if _, n := c.observe("h-1"); !n.Draining || n.Unschedulable || !n.DrainStarted.IsZero() || len(c.pods(ns)) != 1 {
		t.Errorf("with a hook: draining %v, unschedulable %v, begun %s, pods %q", n.Draining, n.Unschedulable, n.DrainStarted, c.pods(ns))
	}
	patch := []byte(`{"metadata":{"annotations":{"` + hook + `":null}}}`)
	if _, err := c.admin.CoreV1().Nodes().Patch(t.Context(), "h-1", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	p.NodeLabels = map[string]string{"node-role.kubernetes.io/gpu": ""} // a reason to sync
	if a := sync(); slices.Contains(slices.Collect(maps.Keys(a)), hook) {
		t.Error("a hook that was taken away is back")
	}
	if n := c.step("h-1", nil); time.Since(n.DrainStarted) > time.Minute || len(c.pods(ns)) != 0 {
		t.Errorf("without the hook: begun %s, pods %q", n.DrainStarted, c.pods(ns))
	}
}

// TestRealVolumes observes what is attached to a node that is drained, and whose
// it is.
func TestRealVolumes(t *testing.T) {
	c := startReal(t)
	ns := c.server.Namespace()
	for _, name := range []string{"v-1", "v-2"} {
		n := node(name, corev1.ConditionTrue, nil)
		n.Annotations = map[string]string{fleet.DrainingAnnotation: "2026-01-01T00:00:00Z", fleet.DrainedAnnotation: "2026-01-01T00:01:00Z"}
		c.node(n)
	}
	c.daemonSet(ns, "a")
	c.pod(ns, pod(ns, "agent", "v-1", func(p *corev1.Pod) {
		ofDaemonSet("a")(p)
		p.Spec.Volumes = []corev1.Volume{
			{Name: "logs", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "logs"}}},
			{Name: "tmp", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
				},
			}}}},
		}
	}))
	attach := func(volume, claim, node string, attached bool) {
		t.Helper()
		pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volume}, Spec: corev1.PersistentVolumeSpec{
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: volume}},
		}}
		if claim != "" {
			pv.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: ns, Name: claim, UID: "x"}
		}
		if _, err := c.admin.CoreV1().PersistentVolumes().Create(t.Context(), pv, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		attachments := c.admin.StorageV1().VolumeAttachments()
		a, err := attachments.Create(t.Context(), &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: "att-" + volume},
			Spec:       storagev1.VolumeAttachmentSpec{Attacher: "d", NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		a.Status.Attached = attached
		if _, err := attachments.UpdateStatus(t.Context(), a, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	attach("pv-2", "logs", "v-1", true)
	attach("pv-1", "data", "v-1", true)
	attach("pv-3", "", "v-1", false)
	attach("pv-4", "", "v-2", true)
	_, first := c.observe("v-1")
	_, second := c.observe("v-2")
	if d := cmp.Diff([]fleet.Volume{{Name: "pv-1", Claim: ns + "/data"}, {Name: "pv-2", Claim: ns + "/logs"}}, first.Volumes); d != "" {
		t.Errorf("volumes (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]fleet.Volume{{Name: "pv-4"}}, second.Volumes); d != "" {
		t.Errorf("volumes (-want +got):\n%s", d)
	}
	if len(first.Pods) != 1 || !first.Pods[0].Fixed || !slices.Equal(first.Pods[0].Claims, []string{"agent-tmp", "logs"}) {
		t.Errorf("pods %+v; want the one of the DaemonSet with its claims", first.Pods)
	}
	if want := time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC); !first.Drained.Equal(want) {
		t.Errorf("drained at %s, want %s", first.Drained, want)
	}
}
