package vm

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
	"fairlead.dev/test/lab/kubernetes/images"
)

const (
	name       = "vm-cp-0"
	providerID = "vm://1"
)

// endpoint is of the API server, in the machine and on its host.
var endpoint = fleet.Endpoint{Host: "127.0.0.1", Port: 6443}

// tree is a sources.Tree of files that do not change.
type tree struct{ fstest.MapFS }

// Digest implements sources.Tree.
func (t tree) Digest(name string) (string, error) {
	_, err := t.Stat(name)
	return name, err
}

// cluster returns the cluster that testdata defines.
func cluster(t *testing.T, version string) *fleet.Cluster {
	t.Helper()
	definition, err := os.ReadFile("testdata/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cni, err := os.ReadFile("../../../e2e/testdata/cni.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cni = bytes.ReplaceAll(cni, []byte("ENDPOINT"), []byte("127.0.0.1"))
	text := strings.NewReplacer("VERSION", version, "CNI\n", strings.ReplaceAll(string(cni), "\n", "\n        ")+"\n").Replace(string(definition))
	files := fstest.MapFS{
		"clusters/vm/kustomization.yaml": {Data: []byte("resources: [cluster.yaml]\n")},
		"clusters/vm/cluster.yaml":       {Data: []byte(text)},
	}
	f, err := render.New(render.Options{Decoder: decode.New("lab", api.Kinds())}).Render(t.Context(), fleet.Revision{Ref: "main", Digest: "sha1:0"}, tree{files})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Problems) > 0 || len(f.Clusters) != 1 {
		t.Fatalf("%d clusters are defined; problems: %v", len(f.Clusters), f.Problems)
	}
	return &f.Clusters[0]
}

// TestBoot: from the kernel to a node that is Ready, whose user data Fairlead made and
// cloud-init read from a disk.
func TestBoot(t *testing.T) {
	if os.Getenv("FAIRLEAD_TEST_VM") == "" {
		t.Skip("make lab-vm runs this")
	}
	vm, err := images.BuildVM(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	c, bootstrap := cluster(t, vm.Version), kubeadm.New(nil)
	authorities, err := bootstrap.NewSecrets(c, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	data, err := bootstrap.UserData(providers.BootstrapInput{
		Cluster: c, Pool: c.ControlPlane, Machine: name, Join: fleet.JoinInit, Endpoint: endpoint, Secrets: authorities,
	})
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{vm: vm, seed: filepath.Join(t.TempDir(), "seed.iso"), port: int(endpoint.Port), progress: os.Stderr}
	s := seed{
		userData:      data.Content.Reveal(),
		metaData:      []byte("instance-id: " + name + "\nlocal-hostname: " + name + "\nprovider_id: " + providerID + "\n"),
		networkConfig: []byte("version: 2\nethernets:\n  eth0: {dhcp4: true}\n"),
	}
	if err := s.write(t.Context(), m.seed); err != nil {
		t.Fatal(err)
	}
	accelerate := m.kvm(t.Context()) && os.Getenv("FAIRLEAD_TEST_VM") != "emulate"
	t.Logf("KVM: %v", accelerate)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.run(ctx, accelerate) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	admin, err := bootstrap.NewKubeconfig(c, endpoint, authorities, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(admin[fleet.KubeconfigKey].Reveal())
	if err != nil {
		t.Fatal(err)
	}
	config.Timeout = time.Minute
	client := kubernetes.NewForConfigOrDie(config)
	begin := time.Now()
	await := func(what string, done func() (string, error)) {
		t.Helper()
		said := ""
		for {
			now, err := done()
			if err != nil {
				now = err.Error()
			}
			if now == "" {
				t.Logf("%s after %.0f s", what, time.Since(begin).Seconds())
				return
			}
			// Words about connections name a port that is another each time.
			if begins, _, _ := strings.Cut(now, ":"); begins != said {
				t.Logf("waiting until %s: %s", what, now)
				said = begins
			}
			select {
			case err := <-ended:
				ended <- err
				t.Fatalf("waiting until %s: %v", what, err)
			case <-time.After(2 * time.Second):
			}
		}
	}
	await("the API server answers", func() (string, error) {
		_, err := client.Discovery().ServerVersion()
		return "", err
	})
	var node *corev1.Node
	await("the node is Ready", func() (string, error) {
		node, err = client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		for _, cond := range node.Status.Conditions {
			if cond.Type == corev1.NodeReady && cond.Status == corev1.ConditionTrue {
				return "", nil
			}
		}
		return "it is not", nil
	})
	if node.Spec.ProviderID != providerID {
		t.Errorf("the node has provider id %q, want %q, which the seed gives it", node.Spec.ProviderID, providerID)
	}
	await("all pods of kube-system are ready", func() (string, error) {
		pods, err := client.CoreV1().Pods("kube-system").List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", err
		}
		var not []string
		for _, p := range pods.Items {
			ready := false
			for _, cond := range p.Status.Conditions {
				ready = ready || cond.Type == corev1.PodReady && cond.Status == corev1.ConditionTrue
			}
			if !ready {
				not = append(not, p.Name)
			}
		}
		if len(pods.Items) < 7 {
			return "not all are there", nil
		}
		return strings.Join(not, ", "), nil
	})
	await("cloud-init has finished", func() (string, error) {
		if _, ok := m.heard()["finished at"]; !ok {
			return "", errors.New("it goes on")
		}
		return "", nil
	})
	heard := m.heard()
	for _, moment := range moments() {
		t.Logf("%6.1f s  %s", heard[moment].Seconds(), moment)
	}
}
