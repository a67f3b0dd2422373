package kubeadm_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/hosted/external"
	"fairlead.dev/providers/workload"
	"fairlead.dev/test/lab/kube"
)

// noSecrets is a secret store with nothing in it.
type noSecrets struct{}

func (noSecrets) Get(context.Context, fleet.Key, fleet.SecretName) (fleet.SecretData, error) {
	return nil, fleet.Errorf(fleet.NotFound, "get secret", "there is none")
}

// hostedOn returns a cluster whose control plane is server, and how that is reached with the
// kubeconfig that it gives.
func hostedOn(t *testing.T, server *kube.Server) (*fleet.Cluster, providers.Access) {
	t.Helper()
	text, err := os.ReadFile(server.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c := &fleet.Cluster{
		Key: fleet.Key{Namespace: "prod", Name: "edge"}, Hosted: &fleet.HostedControlPlane{Object: fleet.Object{Spec: json.RawMessage("{}")}},
		Secrets: map[string]fleet.SecretData{"edge-kubeconfig": {fleet.KubeconfigKey: fleet.NewSecret(text)}},
	}
	seen, err := external.New(nil).Observe(t.Context(), c, noSecrets{})
	if err != nil || !seen.State.Ready {
		t.Fatalf("the control plane is not ready: %s, %v", seen.State.Message, err)
	}
	if ca := seen.Secrets[fleet.ClusterCA][fleet.TLSCertKey].Reveal(); !slices.Equal(ca, server.Config.CAData) {
		t.Errorf("the authority is %s", ca)
	}
	return c, providers.Access{Cluster: c.Key, Kubeconfig: seen.Secrets[fleet.Kubeconfig][fleet.KubeconfigKey]}
}

// TestHostedObserve: a real API server says what version it serves, and what of that is
// missing which kubeadm join reads.
func TestHostedObserve(t *testing.T) {
	server := kube.Start(t)
	client := workload.New(workload.Options{})
	t.Cleanup(client.Close)
	_, access := hostedOn(t, server)
	admin := kubernetes.NewForConfigOrDie(server.Config)
	version, err := admin.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	for _, missing := range []string{"kube-system/kubeadm-config", "kube-system/kubelet-config", "kube-public/cluster-info", ""} {
		var w fleet.Workload
		// An API server that answers from memory may not know a ConfigMap that was just made.
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			w = fleet.Workload{}
			err := kubeadm.NewHosted(client).Observe(ctx, access, &w)
			return (missing == "") == (w.Closed == "") && strings.Contains(w.Closed, missing), err
		})
		if err != nil {
			t.Fatalf("without %q it is closed because of %q: %v", missing, w.Closed, err)
		}
		if w.Version != version.GitVersion {
			t.Errorf("the version is %q, want %q", w.Version, version.GitVersion)
		}
		if missing == "" {
			continue
		}
		if !strings.Contains(w.Closed, "has no ConfigMap "+missing+",") {
			t.Errorf("without %s: %q", missing, w.Closed)
		}
		namespace, name, _ := strings.Cut(missing, "/")
		configMap(t, admin, namespace, name)
	}
}

// configMap makes an empty ConfigMap that goes with the test.
func configMap(t *testing.T, admin kubernetes.Interface, namespace, name string) {
	t.Helper()
	_, err := admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	maps := admin.CoreV1().ConfigMaps(namespace)
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = maps.Delete(context.Background(), name, metav1.DeleteOptions{}) })
}

// TestHostedAdmit: a real API server takes the bearer of a machine's token for a node that
// kubeadm joins, until the token expires.
func TestHostedAdmit(t *testing.T) {
	server := kube.Start(t)
	client := workload.New(workload.Options{})
	t.Cleanup(client.Close)
	c, access := hostedOn(t, server)
	hosted := kubeadm.NewHosted(client)
	secrets, err := hosted.NewSecrets(c, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	secrets[fleet.ClusterCA] = fleet.SecretData{fleet.TLSCertKey: fleet.NewSecret(server.Config.CAData)}
	in := providers.BootstrapInput{Cluster: c, Machine: "edge-md-0-abcde", Join: fleet.JoinWorker, Secrets: secrets}
	began := time.Now()
	for range 2 { // it may be repeated
		if err := hosted.Admit(t.Context(), access, in, 15*time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	s := onlyToken(t, kubernetes.NewForConfigOrDie(server.Config))
	expires, err := time.Parse(time.RFC3339, string(s.Data["expiration"]))
	if err != nil || expires.Before(began.Add(14*time.Minute)) || expires.After(time.Now().Add(16*time.Minute)) {
		t.Errorf("the token expires at %s, %v", expires, err)
	}
	token := string(s.Data["token-id"]) + "." + string(s.Data["token-secret"])
	machine := kubernetes.NewForConfigOrDie(&rest.Config{Host: server.Config.Host, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: server.Config.CAData}})
	review, err := machine.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const group = "system:bootstrappers:kubeadm:default-node-token" // that kubeadm gives the right to join
	if who := review.Status.UserInfo; who.Username != "system:bootstrap:"+string(s.Data["token-id"]) || !slices.Contains(who.Groups, group) {
		t.Errorf("the bearer of the token is %s of %q", who.Username, who.Groups)
	}
}

// onlyToken returns the one bootstrap token of a cluster.
func onlyToken(t *testing.T, admin kubernetes.Interface) corev1.Secret {
	t.Helper()
	tokens, err := admin.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{FieldSelector: "type=" + string(corev1.SecretTypeBootstrapToken)})
	if err != nil || len(tokens.Items) != 1 {
		t.Fatalf("there are %d bootstrap tokens, and one machine: %v", len(tokens.Items), err)
	}
	return tokens.Items[0]
}
