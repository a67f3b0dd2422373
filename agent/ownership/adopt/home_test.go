package adopt_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"fairlead.dev/agent/ownership/adopt"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
)

// Where the store is the management cluster itself, the Secrets lose their owners of
// Cluster API: a garbage collector has nothing to remove when the old Cluster goes. Undo
// gives the Secrets back.
func TestStoreInTheManagementCluster(t *testing.T) {
	w := newWorld(t)
	store, err := secrets.OpenKubernetes(w.kube.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	w.store = store
	core := kubernetes.NewForConfigOrDie(w.kube.Config).CoreV1().Secrets(w.ns)
	get := func(name fleet.SecretName) *corev1.Secret {
		t.Helper()
		s, err := core.Get(t.Context(), "eu-1-"+string(name), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	all := append(fleet.Authorities(), fleet.Kubeconfig)
	owned := make(map[fleet.SecretName][]metav1.OwnerReference)
	for _, name := range all {
		if owned[name] = get(name).OwnerReferences; len(owned[name]) == 0 {
			t.Fatalf("the stage is not set: nobody owns %s", name)
		}
	}
	// A running controller makes itself the owner again until it is paused.
	reown := func(o *adopt.Options) {
		say := o.OnStep
		o.OnStep = func(k fleet.Key, step adopt.Step, text string) {
			if step == adopt.Pause {
				for _, name := range all {
					s := get(name)
					s.OwnerReferences = owned[name]
					if _, err := core.Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
						t.Fatal(err)
					}
				}
			}
			say(k, step, text)
		}
	}
	w.done(w.adoption(reown).Run(t.Context(), []fleet.Key{w.key()}))
	for _, name := range all {
		if s := get(name); len(s.OwnerReferences) > 0 || s.Labels["fairlead.dev/fleet"] != "harbour" {
			t.Errorf("%s has the owners %v and the labels %v, want none and the fleet's", name, s.OwnerReferences, s.Labels)
		}
	}
	w.done(w.adoption(nil).Undo(t.Context(), []fleet.Key{w.key()}))
	for _, name := range all {
		if s := get(name); s.Labels["fairlead.dev/fleet"] != "" {
			t.Errorf("given back, %s has the labels %v", name, s.Labels)
		}
	}
}
