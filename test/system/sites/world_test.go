package sites_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/hosted/external"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/workload"
	"fairlead.dev/reconcile"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// first is a cluster on the in-memory cloud, with a pool of its own.
const first = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu-1, namespace: prod, annotations: {fairlead.dev/delete: "DELETE"}}
spec:
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: eu-1-cp}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: eu-1}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: eu-1, namespace: prod}
spec: {backend: {inMemory: {}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: eu-1-cp, namespace: prod}
spec:
  replicas: 1
  version: VERSION
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: m}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: eu-1-md, namespace: prod}
spec:
  clusterName: eu-1
  replicas: NEAR
  template:
    spec:
      clusterName: eu-1
      version: VERSION
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: w}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: m}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: w, namespace: prod}
spec: {template: {spec: {joinConfiguration: {nodeRegistration: {criSocket: unix:///run/containerd/containerd.sock}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: m, namespace: prod}
spec: {template: {spec: {backend: {inMemory: {}}}}}`

// pool is a pool of the other site.
const pool = `
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: eu-1-edge, namespace: prod}
spec:
  clusterName: eu-1
  replicas: FAR
  template:
    spec:
      clusterName: eu-1
      version: VERSION
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: w}}
      infrastructureRef: TEMPLATE`

// A clusterSpec is what Git asks for.
type clusterSpec struct {
	near, far int // workers on the in-memory cloud and on the other site
	version   string
	left      bool // the other site is not in Git any more
	gone      bool // the cluster is to be deleted
}

// A guest is the other site.
type guest struct {
	name      string
	kinds     []fleet.Kind
	manifests string // but for its pools
	template  string // the reference of its pools
	provider  providers.Infrastructure
	nodeID    string // variables of user data that stand for the id of a machine
	hosted    bool   // somebody else keeps the control plane, so that there are no servers
}

// servers are how many machines are the control plane.
func (g guest) servers() int {
	if g.hosted {
		return 0
	}
	return 1
}

// A world is the in-memory cloud, another site, and an agent.
type world struct {
	t      *testing.T
	guest  guest
	cloud  *inmemory.Cloud
	r      *reconcile.Reconciler
	client *workload.Client
	boots  *boots
	near   *near
	plane  inmemory.Plane // where somebody else keeps the control plane
	memory fleet.Memory
	last   reconcile.Result
	done   []string // actions
}

func newWorld(t *testing.T, g guest) *world {
	t.Helper()
	pipes := inmemory.NewPipeNetwork()
	w := &world{t: t, guest: g, cloud: inmemory.NewCloud(inmemory.CloudOptions{ID: "near", Listen: pipes.Listen})}
	w.client = workload.New(workload.Options{Dial: pipes.DialContext, Log: slog.New(slog.DiscardHandler)})
	w.boots = &boots{Infrastructure: g.provider, nodeID: g.nodeID, cloud: w.cloud, data: map[fleet.MachineName]inmemory.VMSpec{}, on: map[string]bool{}}
	w.near = &near{Infrastructure: inmemory.NewProvider(w.cloud, time.Second)}
	store := secrets.NewMemory()
	if g.hosted {
		w.keepPlane(store)
	}
	w.r = reconcile.New(reconcile.Options{
		Infrastructure: func(name string) (providers.Infrastructure, error) {
			if name == g.name {
				return w.boots, nil
			}
			return w.near, nil
		},
		Workload:      w.client,
		Distributions: providers.Distributions{"KubeadmControlPlane": kubeadm.New(w.client), external.Kind: kubeadm.NewHosted(w.client)},
		ControlPlanes: providers.HostedControlPlanes{external.Kind: external.New(store.GetSecret)},
		Secrets:       store, Log: slog.New(slog.DiscardHandler),
	})
	return w
}

// keepPlane has somebody keep a control plane, and gives the agent the way in.
func (w *world) keepPlane(store *secrets.Memory) {
	w.t.Helper()
	var err error
	if w.plane, err = w.cloud.CreatePlane(w.t.Context(), inmemory.PlaneSpec{Version: "v1.34.1"}); err != nil {
		w.t.Fatal(err)
	}
	d := fleet.SecretData{fleet.KubeconfigKey: fleet.NewSecret(w.plane.Kubeconfig)}
	if err := store.SetSecret(w.t.Context(), fleet.Key{Namespace: "prod", Name: "eu-1-kubeconfig"}, d); err != nil {
		w.t.Fatal(err)
	}
}

// elsewhere returns text with the control plane of somebody else.
func (w *world) elsewhere(text string) string {
	before, rest, _ := strings.Cut(text, "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: KubeadmControlPlane\n")
	_, after, found := strings.Cut(rest, "\n---\n")
	if !found {
		w.t.Fatal("the manifests have no control plane")
	}
	before = strings.Replace(before, "{apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane,", "{apiGroup: fairlead.dev, kind: ExternalControlPlane,", 1)
	return before + fmt.Sprintf(`apiVersion: fairlead.dev/v1alpha1
kind: ExternalControlPlane
metadata: {name: eu-1-cp, namespace: prod}
spec: {controlPlaneEndpoint: {host: %s, port: %d}}
---
`, w.plane.Endpoint.Host, w.plane.Endpoint.Port) + after
}

func (w *world) close() {
	w.r.Close()
	w.client.Close()
	w.cloud.Close()
}

// git returns the cluster that Git asks for.
func (w *world) git(clusterSpec clusterSpec) *fleet.Cluster {
	w.t.Helper()
	text := first
	if w.guest.hosted {
		text = w.elsewhere(text)
	}
	if !clusterSpec.left {
		text += w.guest.manifests
		if clusterSpec.far > 0 {
			text += pool
		}
	}
	text = strings.NewReplacer("DELETE", fmt.Sprint(clusterSpec.gone), "VERSION", clusterSpec.version, "NEAR", fmt.Sprint(clusterSpec.near),
		"FAR", fmt.Sprint(clusterSpec.far), "TEMPLATE", w.guest.template).Replace(text)
	var objects []render.Object
	for doc := range strings.SplitSeq(text, "\n---\n") {
		objects = append(objects, render.Object{File: "all.yaml", YAML: []byte(doc)})
	}
	kinds := slices.Concat(inmemory.Kinds(), external.Kinds(), w.guest.kinds)
	clusters, problems := decode.New("test", kinds).Decode("clusters/eu-1", objects)
	if len(problems) > 0 || len(clusters) != 1 {
		w.t.Fatalf("decoded %d clusters with problems %v", len(clusters), problems)
	}
	return &clusters[0]
}

// pass makes one pass, and waits as it says, but not for long.
func (w *world) pass(c *fleet.Cluster, wait time.Duration) {
	w.t.Helper()
	w.last = w.r.Pass(w.t.Context(), c.WithResidence(w.memory.Residence), w.memory)
	if w.last.Report.Phase != "" {
		w.memory = w.last.Report.Memory
	}
	for _, a := range w.last.Plan.Actions {
		w.done = append(w.done, a.Name()+" "+a.Provider)
	}
	time.Sleep(wait)
}

// reach makes passes until nothing is to be done and the cluster is as it is to be.
func (w *world) reach(clusterSpec clusterSpec, wait time.Duration) {
	w.t.Helper()
	c, want := w.git(clusterSpec), fleet.PhaseProvisioned
	if clusterSpec.gone {
		want = fleet.PhaseDeleted
	}
	for range 2000 {
		w.pass(c, wait)
		if w.last.Plan.Phase == want && len(w.last.Plan.Actions) == 0 && w.last.Err == nil {
			return
		}
	}
	w.t.Fatalf("%+v is not reached: %s, %v, waiting %q, %v", clusterSpec, w.last.Plan.Phase, w.last.Plan.Actions, w.last.Report.Waiting, w.last.Err)
}

// machines counts those that the last pass found, by site, whose Nodes are ready.
func (w *world) machines() map[string]int {
	out := map[string]int{}
	for _, m := range w.last.Report.Machines {
		if m.Phase == fleet.MachinePhaseRunning {
			out[m.Machine.Provider]++
		}
	}
	return out
}

// did reports whether an action was carried out since the last call of forget.
func (w *world) did(action string) bool { return slices.Contains(w.done, action) }

// near is the first site, which may be away.
type near struct {
	providers.Infrastructure
	away bool
}

// Observe implements providers.Infrastructure.
func (n *near) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	if n.away {
		return fleet.Infrastructure{}, fleet.Errorf(fleet.Unavailable, "observe "+c.Key.String(), "%w", errNoRoute)
	}
	return n.Infrastructure.Observe(ctx, c)
}

var errNoRoute = errors.New("no route to host")
