package adopt_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/agent/adopt"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/inmemory"
)

const manifests = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu-1, labels: {team: web}}
spec:
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}, services: {cidrBlocks: [10.96.0.0/12]}}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: eu-1-cp}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: eu-1}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: eu-1}
spec: {backend: {inMemory: {}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: eu-1}
spec: {template: {spec: {backend: {inMemory: {vm: {provisioning: {startupDuration: "1ms"}}}}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: eu-1-cp}
spec:
  replicas: 1
  version: v1.34.1
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: eu-1}}}
  kubeadmConfigSpec: {preKubeadmCommands: ['echo "${HOSTNAME}" $$']}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: eu-1-md-0}
spec: {template: {spec: {joinConfiguration: {nodeRegistration: {criSocket: unix:///run/containerd/containerd.sock}}}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: eu-1-md-0}
spec:
  clusterName: eu-1
  replicas: 2
  selector: {matchLabels: {}}
  template:
    metadata: {labels: {node-role.kubernetes.io/web: ""}}
    spec:
      clusterName: eu-1
      version: v1.34.1
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: eu-1-md-0}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: eu-1}
`

// A world is a cluster that Cluster API runs, in a cloud in memory.
type world struct {
	*upstream
	cloud  *inmemory.Cloud
	old    *operator
	folder string
	store  secrets.Store
	output []string
	call   func(string, inmemory.Moment) // is called with every call of the cloud
}

const newFleet = fleet.ID("harbour")

func newWorld(t *testing.T) *world {
	t.Helper()
	w := newRunning(t)
	w.createAll(manifests)
	return w
}

// newRunning returns a running cluster that the management cluster does not know yet.
func newRunning(t *testing.T) *world {
	t.Helper()
	return newRunningOn(newManagement(t))
}

// newRunningOn is newRunning with a given management cluster.
func newRunningOn(m *management) *world {
	t := m.T
	t.Helper()
	w := &world{store: memory(), folder: filepath.Join(t.TempDir(), "fleet")}
	cloud := inmemory.NewCloud(inmemory.CloudOptions{Hook: func(call string, m inmemory.Moment) {
		if w.call != nil {
			w.call(call, m)
		}
	}})
	t.Cleanup(cloud.Close)
	w.cloud = cloud
	if err := os.Mkdir(w.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	w.upstream = &upstream{management: m, cluster: "eu-1", infra: "DevMachine", secrets: map[fleet.SecretName]fleet.SecretData{}}
	w.old = newOperator(t, "old", memory(), inmemory.NewProvider(cloud, 0))
	c := w.old.desired(strings.ReplaceAll(manifests, "metadata: {name:", "metadata: {namespace: "+m.ns+", name:"))
	res := w.old.run(c)
	w.endpoint = res.Report.Endpoint
	for _, x := range res.Report.Machines {
		pool := x.Machine.Pool
		if x.Machine.Role == fleet.RoleControlPlane {
			pool = "control-plane"
		}
		w.machines = append(w.machines, providers.AdoptedMachine{Name: x.Machine.Name, Pool: pool, ID: x.Machine.ProviderID})
	}
	for _, name := range append(fleet.Authorities(), fleet.Kubeconfig) {
		d, err := w.old.store.Get(t.Context(), c.Key, name)
		if err != nil {
			t.Fatal(err)
		}
		w.secrets[name] = d
	}
	w.forget()
	return w
}

// forget removes every trace of Fairlead from the cluster: its tags, and what it wrote on
// Nodes where Cluster API writes something else.
func (w *world) forget() {
	w.Helper()
	ctx := w.Context()
	vms, err := w.cloud.VMs(ctx, nil)
	if err != nil {
		w.Fatal(err)
	}
	for _, v := range vms {
		if err := w.cloud.SetTags(ctx, v.ID, nil); err != nil {
			w.Fatal(err)
		}
	}
	networks, err := w.cloud.Networks(ctx, nil)
	if err != nil {
		w.Fatal(err)
	}
	for _, n := range networks {
		if err := w.cloud.SetTags(ctx, n.ID, nil); err != nil {
			w.Fatal(err)
		}
	}
	nodes := w.nodes()
	list, err := nodes.List(ctx, metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	for _, n := range list.Items {
		if n.Annotations["cluster.x-k8s.io/owner-kind"] == "MachineDeployment" {
			n.Annotations["cluster.x-k8s.io/owner-kind"] = "MachineSet"
			n.Annotations["cluster.x-k8s.io/owner-name"] += "-x7k2p"
		}
		delete(n.Annotations, "cluster.x-k8s.io/taints-from-machine")
		if _, err := nodes.Update(ctx, &n, metav1.UpdateOptions{}); err != nil {
			w.Fatal(err)
		}
	}
}

type (
	nodeList = corev1.NodeList
	node     = corev1.Node
)

type nodesAPI interface {
	List(context.Context, metav1.ListOptions) (*nodeList, error)
	Update(context.Context, *node, metav1.UpdateOptions) (*node, error)
}

// nodes returns the Nodes of the workload cluster.
func (w *world) nodes() nodesAPI {
	w.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(w.secrets[fleet.Kubeconfig][fleet.KubeconfigKey].Reveal())
	if err != nil {
		w.Fatal(err)
	}
	return kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()
}

// key is the key of the cluster.
func (w *world) key() fleet.Key { return fleet.Key{Namespace: w.ns, Name: w.cluster} }

// adoption returns an Adoption of the cluster. edit may change its options.
func (w *world) adoption(edit func(*adopt.Options)) *adopt.Adoption {
	w.Helper()
	overlay := adopt.NewOverlay(w.store, newFleet)
	s := newOperator(w.T, newFleet, w.store, inmemory.NewProvider(w.cloud, 0))
	decoder, kinds := decoderOf(w, newFleet)
	o := adopt.Options{
		Management: w.open, Fleet: newFleet, Folder: w.folder, Kinds: kinds, Decoder: decoder,
		Load: load(w.folder, newFleet), Look: s.reconciler(overlay).Look, Secrets: overlay,
		Infrastructure: func(string) (providers.Infrastructure, error) { return s.provider, nil },
		PollInterval:   time.Millisecond, Timeout: time.Minute,
		OnStep: func(_ fleet.Key, step adopt.Step, text string) {
			w.output = append(w.output, fmt.Sprintf("%s: %s", step, text))
		},
	}
	if edit != nil {
		edit(&o)
	}
	return adopt.New(o)
}

// adopt adopts the cluster, and fails the test where that does not succeed.
func (w *world) adopt() {
	w.Helper()
	w.done(w.adoption(nil).Run(w.Context(), []fleet.Key{w.key()}))
}

func (w *world) done(results []adopt.Result) {
	w.Helper()
	for _, r := range results {
		if !r.Done {
			w.Fatalf("%s: %v, problems %v\nsaid %s", r.Cluster, r.Err, r.Problems, strings.Join(w.output, "\n"))
		}
	}
}

// inFleet is the cluster as the fleet has it, or nil.
func (w *world) inFleet() *fleet.Cluster {
	w.Helper()
	f, err := load(w.folder, newFleet)(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for i := range f.Clusters {
		if f.Clusters[i].Key == w.key() {
			return &f.Clusters[i]
		}
	}
	return nil
}

// vms returns the machines that run, without their tags.
func (w *world) vms() []inmemory.VM {
	w.Helper()
	out, err := w.cloud.VMs(w.Context(), nil)
	if err != nil {
		w.Fatal(err)
	}
	for i := range out {
		out[i].Tags = nil
	}
	return out
}

// unchanged fails the test unless the machines are those in before.
func (w *world) unchanged(before []inmemory.VM) {
	w.Helper()
	if diff := cmp.Diff(before, w.vms()); diff != "" {
		w.Errorf("machines were touched: %s", diff)
	}
}

// provider is a new provider for the same cloud, without memory.
func (w *world) provider() *inmemory.Provider { return inmemory.NewProvider(w.cloud, 0) }

func (w *world) tagged() int {
	w.Helper()
	out, err := w.cloud.VMs(w.Context(), map[string]string{fleet.TagFleet: string(newFleet)})
	if err != nil {
		w.Fatal(err)
	}
	return len(out)
}

func (w *world) paused() bool {
	p, _, _ := unstructured.NestedBool(w.upstream.management.cluster("eu-1").Object, "spec", "paused")
	return p
}

func TestAdopt(t *testing.T) {
	w := newWorld(t)
	before := w.vms()
	w.done(w.adoption(func(o *adopt.Options) { o.DryRun = true }).Run(t.Context(), []fleet.Key{w.key()}))
	if entries, _ := os.ReadDir(w.folder); len(entries) > 0 || w.paused() || w.tagged() > 0 {
		t.Errorf("a dry run left %v, paused %t, marked %d", entries, w.paused(), w.tagged())
	}
	if _, err := w.store.Get(t.Context(), w.key(), fleet.ClusterCA); fleet.KindOf(err) != fleet.NotFound {
		t.Errorf("a dry run stored a secret: %v", err)
	}
	for _, step := range []string{"check", "write", "secrets", "pause", "mark", "plan", "release"} {
		if !slices.ContainsFunc(w.output, func(s string) bool { return strings.HasPrefix(s, step+": ") }) {
			t.Errorf("the dry run said nothing of %s: %q", step, w.output)
		}
	}

	w.adopt()
	c := w.inFleet()
	if c == nil || c.Paused || !w.paused() || w.tagged() != 3 {
		t.Fatalf("in the fleet %v, paused there %t, marked %d", c, w.paused(), w.tagged())
	}
	for _, name := range append(fleet.Authorities(), fleet.Kubeconfig) {
		d, err := w.store.Get(t.Context(), w.key(), name)
		if err != nil || len(d) == 0 {
			t.Errorf("secret %s is not in the store: %v", name, err)
		}
	}
	w.golden("testdata/eu-1.txt")

	// An agent that follows the fleet now makes and removes nothing.
	agent := newOperator(t, newFleet, w.store, inmemory.NewProvider(w.cloud, 0))
	agent.run(c)
	w.unchanged(before)
	w.output = nil
	w.adopt() // a second adoption does nothing
	if len(w.output) != 2 || !strings.Contains(w.output[1], "is adopted already") {
		t.Errorf("said %q, want that it is adopted already", w.output)
	}

	// The agent scales the cluster.
	more := *c
	more.Workers = slices.Clone(c.Workers)
	more.Workers[0].Replicas = 3
	agent.run(&more)
	after := w.vms()
	kept := 0
	for _, v := range after {
		if slices.ContainsFunc(before, func(b inmemory.VM) bool { return b.ID == v.ID }) {
			kept++
		}
	}
	if len(after) != 4 || kept != 3 {
		t.Errorf("%d machines, %d of them from before, want 4 and 3", len(after), kept)
	}
	w.adopt() // machines that Fairlead made since do not hide that the adoption is finished
	r := w.adoption(nil).Undo(t.Context(), []fleet.Key{w.key()})
	if r[0].Done || fleet.KindOf(r[0].Err) != fleet.Conflict {
		t.Errorf("undo after Fairlead acted: %v, want the kind Conflict", r[0].Err)
	}
}

// golden compares the files in the cluster's folder with a file.
func (w *world) golden(file string) {
	w.Helper()
	var b strings.Builder
	root := filepath.Join(w.folder, "clusters", w.ns, "eu-1")
	entries, err := os.ReadDir(root)
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(root, e.Name()))
		if err != nil {
			w.Fatal(err)
		}
		fmt.Fprintf(&b, "== %s\n%s", e.Name(), data)
	}
	got := strings.NewReplacer(w.ns, "NAMESPACE", w.endpoint.Host, "HOST").Replace(b.String())
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			w.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		w.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		w.Errorf("%s (UPDATE=1 writes it anew): %s", file, diff)
	}
}
