package external_test

import (
	"os"
	"testing"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/hosted/external"
	"fairlead.dev/test/lab/kube"
)

// A store in a real Kubernetes refuses to replace what people gave under the names of the
// cluster's secrets. What is observed is what is there, so that nobody tries.
func TestGivenInKubernetes(t *testing.T) {
	server := kube.Start(t)
	text, err := os.ReadFile(server.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	store, err := secrets.OpenKubernetes(server.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	given := fleet.SecretData{fleet.KubeconfigKey: fleet.NewSecret(text)}
	if err := store.SetSecret(t.Context(), fleet.Key{Namespace: key.Namespace, Name: key.Name + "-kubeconfig"}, given); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		seen, err := external.New(store.GetSecret).Observe(t.Context(), cluster("{}", nil), store)
		if err != nil || !seen.State.Ready {
			t.Fatalf("not ready: %s, %v", seen.State.Message, err)
		}
		if !seen.Secrets[fleet.Kubeconfig].Equal(given) {
			t.Error("the kubeconfig would be replaced")
		}
		if err := store.Replace(t.Context(), key, fleet.Kubeconfig, seen.Secrets[fleet.Kubeconfig]); fleet.KindOf(err) != fleet.Conflict {
			t.Errorf("it could be replaced: %v", err)
		}
		if err := store.Replace(t.Context(), key, fleet.ClusterCA, seen.Secrets[fleet.ClusterCA]); err != nil {
			t.Error(err)
		}
	}
}
