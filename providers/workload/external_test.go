package workload_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
)

func serviceOf(name string, kind corev1.ServiceType) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       corev1.ServiceSpec{Type: kind},
	}
}

// volume is bound to a claim of its name, which is made too.
func volume(name, provisioner string, policy corev1.PersistentVolumeReclaimPolicy) (*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	p := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + name},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: policy, ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: name},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
	if provisioner != "" {
		p.Annotations = map[string]string{"pv.kubernetes.io/provisioned-by": provisioner}
	}
	return p, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

// user is a pod that mounts claim, of a set where there is one.
func user(name, claim, set string) *corev1.Pod {
	yes := true
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}},
	}
	if set != "" {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set, UID: "1", Controller: &yes}}
	}
	return p
}

func TestExternalResources(t *testing.T) {
	c := start(t)
	put := func(p *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) { c.put(t, p, claim) }
	c.put(t, serviceOf("web", corev1.ServiceTypeLoadBalancer), serviceOf("inside", corev1.ServiceTypeClusterIP))
	put(volume("data-0", "cinder.csi.openstack.org", corev1.PersistentVolumeReclaimDelete))
	put(volume("kept", "cinder.csi.openstack.org", corev1.PersistentVolumeReclaimRetain))
	put(volume("by-hand", "", corev1.PersistentVolumeReclaimDelete))
	released, claim := volume("released", "cinder.csi.openstack.org", corev1.PersistentVolumeReclaimDelete)
	released.Status.Phase = corev1.VolumeReleased
	put(released, claim)
	c.put(t, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"}},
		user("db-0", "data-0", "db"), user("other", "kept", ""))

	w, err := c.Observe(t.Context(), c.access)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.External) > 0 {
		t.Errorf("not asked for: got %v", w.External)
	}
	c.access.External = true
	look := func() []fleet.ExternalResource {
		t.Helper()
		w, err := c.Observe(t.Context(), c.access)
		if err != nil {
			t.Fatal(err)
		}
		return w.External
	}
	found := look()
	want := []fleet.ExternalResource{
		{
			Object: fleet.ObjectRef{Kind: "PersistentVolume", Name: "pvc-data-0"},
			Claim:  fleet.ObjectRef{Kind: "PersistentVolumeClaim", Namespace: "default", Name: "data-0"},
		},
		{Object: fleet.ObjectRef{Kind: "PersistentVolume", Name: "pvc-released"}}, // its driver is at it
		{Object: fleet.ObjectRef{Kind: "Service", Namespace: "default", Name: "web"}},
	}
	if d := cmp.Diff(want, found); d != "" {
		t.Fatalf("found (-want +got):\n%s", d)
	}
	for range 2 { // the second finds nothing to do
		if err := c.DeleteExternalResources(t.Context(), c.access, found); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []struct{ kind, name string }{{"Service", "web"}, {"PersistentVolumeClaim", "data-0"}, {"Pod", "db-0"}} {
		if c.has(o.kind, "default", o.name) {
			t.Errorf("%s %s is still there", o.kind, o.name)
		}
	}
	if _, ok := c.Get(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, "default", "db"); ok {
		t.Error("the StatefulSet, which would claim anew, is still there")
	}
	for _, o := range []struct{ kind, name string }{
		{"Service", "inside"},
		{"PersistentVolumeClaim", "kept"},
		{"PersistentVolumeClaim", "by-hand"},
		{"PersistentVolumeClaim", "released"},
		{"Pod", "other"},
	} {
		if !c.has(o.kind, "default", o.name) {
			t.Errorf("%s %s is gone", o.kind, o.name)
		}
	}
	if left := look(); !slices.ContainsFunc(left, func(r fleet.ExternalResource) bool { return r.Object.Name == "pvc-data-0" }) {
		t.Errorf("a volume that its driver has not removed yet: got %v", left)
	}
}
