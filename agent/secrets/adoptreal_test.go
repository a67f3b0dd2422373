package secrets

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
)

// What Cluster API made and owns is the fleet's own after Take: a garbage
// collector has nothing to follow, and another fleet cannot have it.
func TestRealTake(t *testing.T) {
	s := openReal(t)
	ctx, c := t.Context(), fleet.Key{Namespace: s.server.Namespace(), Name: "eu-1"}
	yes := true
	others := metav1.OwnerReference{APIVersion: "external-secrets.io/v1", Kind: "ExternalSecret", Name: "eu-1", UID: "3"}
	owners := []metav1.OwnerReference{
		{APIVersion: "controlplane.cluster.x-k8s.io/v1beta2", Kind: "KubeadmControlPlane", Name: "eu-1-cp", UID: "1", Controller: &yes},
		{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Cluster", Name: "eu-1", UID: "2"},
		others,
	}
	made := func(name string, labels map[string]string) {
		s.put(t, c.Namespace, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, OwnerReferences: owners},
			Type:       "cluster.x-k8s.io/secret", Data: map[string][]byte{"tls.crt": []byte("x"), "tls.key": []byte("y"), "value": []byte("z")},
		})
	}
	made("eu-1-ca", map[string]string{"cluster.x-k8s.io/cluster-name": "eu-1"})
	made("eu-1-sa", nil)
	made("cloud-config", nil)
	ours := s.Of("ours").(*Kubernetes)
	for range 2 {
		for _, name := range []fleet.SecretName{fleet.ClusterCA, fleet.ServiceAccount} {
			if err := ours.Adopt(ctx, c, name); err != nil {
				t.Fatal(err)
			}
		}
		if err := ours.AdoptSecret(ctx, fleet.Key{Namespace: c.Namespace, Name: "cloud-config"}); err != nil {
			t.Fatal(err)
		}
	}
	for name, label := range map[string]string{"eu-1-ca": "ours", "eu-1-sa": "ours", "cloud-config": ""} {
		got := s.get(t, c.Namespace, name)
		if d := cmp.Diff([]metav1.OwnerReference{others}, got.OwnerReferences); d != "" || got.Labels["fairlead.dev/fleet"] != label || string(got.Data["tls.key"]) != "y" {
			t.Errorf("%s has the labels %v and the owners: -want +got:\n%s", name, got.Labels, d)
		}
	}
	if err := s.Of("theirs").(*Kubernetes).Adopt(ctx, c, fleet.ClusterCA); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("another fleet takes it: %v, want the kind Conflict", err)
	}
	if err := ours.Adopt(ctx, c, fleet.EtcdCA); fleet.KindOf(err) != fleet.NotFound {
		t.Errorf("what is not there: %v, want the kind NotFound", err)
	}
	if err := ours.Release(ctx, c, fleet.EtcdCA); err != nil {
		t.Errorf("leave what is not there: %v", err)
	}
	if err := s.Of("theirs").(*Kubernetes).Release(ctx, c, fleet.ClusterCA); err != nil || s.get(t, c.Namespace, "eu-1-ca").Labels["fairlead.dev/fleet"] != "ours" {
		t.Errorf("another fleet leaves it: %v, labels %v", err, s.get(t, c.Namespace, "eu-1-ca").Labels)
	}
	if err := ours.Release(ctx, c, fleet.ClusterCA); err != nil {
		t.Fatal(err)
	}
	if got := s.get(t, c.Namespace, "eu-1-ca").Labels; got["fairlead.dev/fleet"] != "" || got["cluster.x-k8s.io/cluster-name"] != "eu-1" {
		t.Errorf("after leaving it: labels %v", got)
	}
}
