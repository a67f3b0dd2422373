package adopt_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/agent/ownership/adopt"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/inmemory"
)

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
	m.Helper()
	return newRunningOf(m, strings.ReplaceAll(manifests, "metadata: {name:", "metadata: {namespace: "+m.ns+", name:"))
}

// newRunningOf is newRunningOn of a cluster that manifests define in the namespace of m.
func newRunningOf(m *management, manifests string) *world {
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
	c := w.old.desired(manifests)
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
