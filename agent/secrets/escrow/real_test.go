package escrow_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"filippo.io/age"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/test/lab/kube"
)

// The Secrets of a real API server come back from a branch of a real Git server
// as they were, with Cluster API's names and types, once all of them are gone.
func TestRestoreOfAHome(t *testing.T) {
	server := kube.Start(t, kube.Own())
	api := kubernetes.NewForConfigOrDie(server.Config)
	open := func() *secrets.Kubernetes {
		k, err := secrets.OpenKubernetes(server.Kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	clusters := []fleet.Key{{Namespace: "prod", Name: "eu-1"}, {Namespace: "staging", Name: "eu-2"}}
	login := fleet.Key{Namespace: "prod", Name: "login"}
	store := open()
	for _, c := range clusters {
		for _, name := range append(fleet.Authorities(), fleet.Kubeconfig) {
			d := fleet.SecretData{fleet.TLSCertKey: text("certificate", c, name), fleet.TLSKeyKey: text("key", c, name)}
			if name == fleet.Kubeconfig {
				d = fleet.SecretData{fleet.KubeconfigKey: text("kubeconfig", c, name)}
			}
			if _, err := store.Create(t.Context(), c, name, d); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := store.SetSecret(t.Context(), login, fleet.SecretData{"clouds.yaml": fleet.NewSecret([]byte("clouds: {}\n"))}); err != nil {
		t.Fatal(err)
	}
	before := all(t, api)

	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	place := escrow.Branch("fairlead/escrow", branch(t))
	keeper, err := escrow.NewKeeper(place, store, escrow.Options{Fleet: "edge", Recipients: []string{identity.Recipient().String()}})
	if err != nil {
		t.Fatal(err)
	}
	if behind, err := keeper.Keep(t.Context(), clusters, nil); err != nil || len(behind) > 0 {
		t.Fatalf("behind with %v: %v", behind, err)
	}

	for name := range before {
		namespace, name, _ := strings.Cut(name, "/")
		if err := api.CoreV1().Secrets(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	e, err := escrow.Open(t.Context(), place, fleet.NewSecret([]byte(identity.String())))
	if err != nil || len(e.Problems()) > 0 {
		t.Fatal(err, e.Problems())
	}
	done, err := e.Restore(t.Context(), open())
	if err != nil || len(done) != len(before) {
		t.Fatalf("%d of %d secrets restored: %v", len(done), len(before), err)
	}
	after := all(t, api)
	for name, was := range before {
		if is, ok := after[name]; !ok || fmt.Sprint(is) != fmt.Sprint(was) {
			t.Errorf("%s came back as %v, and was %v", name, is, was)
		}
	}
	if s := after["prod/eu-1-ca"]; s.kind != "cluster.x-k8s.io/secret" || s.label != "eu-1" {
		t.Errorf("the authority is of type %q and of cluster %q, want those of Cluster API", s.kind, s.label)
	}
	if again, err := e.Restore(t.Context(), open()); err != nil || again[0].Result != escrow.ResultThere {
		t.Errorf("restoring twice: %v, %v", again, err)
	}
}

func text(what string, c fleet.Key, name fleet.SecretName) fleet.Secret {
	return fleet.NewSecret(fmt.Appendf(nil, "%s %s of %s", what, name, c))
}

// a thing is what matters of a Secret.
type thing struct {
	kind, label string
	data        map[string][]byte
}

// all returns the Secrets of the server, by namespace and name.
func all(t *testing.T, api kubernetes.Interface) map[string]thing {
	t.Helper()
	list, err := api.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]thing{}
	for _, s := range list.Items {
		if s.Type != corev1.SecretTypeServiceAccountToken && s.Namespace != metav1.NamespaceSystem {
			out[s.Namespace+"/"+s.Name] = thing{string(s.Type), s.Labels["cluster.x-k8s.io/cluster-name"], s.Data}
		}
	}
	return out
}

// branch is a branch of an empty repository on a Git server that asks for a
// password.
func branch(t *testing.T) *git.Branch {
	t.Helper()
	server, err := gitserver.New(t.TempDir(), gitserver.Options{Username: "agent", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Init("escrow.git"); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	r, err := git.New(git.Options{URL: web.URL + "/escrow.git", Auth: git.Auth{Username: "agent", Password: fleet.NewSecret([]byte("secret"))}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Branch("fairlead/escrow", git.BranchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
