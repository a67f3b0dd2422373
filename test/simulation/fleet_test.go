package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"fairlead.dev/fleet"
)

// The versions of Kubernetes in use: one minor apart.
const (
	older = "v1.33.5"
	newer = "v1.34.1"
)

// theFleet is the name of the fleet.
const theFleet = "sim"

// A wish is what Git says of one cluster.
type wish struct {
	controlPlanes int
	surge         int // of the control plane
	version       string
	template      int // of the control plane; another number is another template
	pools         []poolWish
	paused        bool
	protected     bool
	broken        bool // its files make no sense
	deleted       bool // its deletion is wished
	gone          bool // its files are not there
}

type poolWish struct {
	name               string
	replicas           int
	surge, unavailable int
	template           int
}

func key(i int) fleet.Key { return fleet.Key{Namespace: "sim", Name: fmt.Sprintf("c%d", i)} }

// newWish returns a cluster as somebody might begin with.
func newWish(r *rand.Rand) wish {
	w := wish{controlPlanes: 1 + 2*r.IntN(2), surge: 1, version: older}
	for i := range 1 + r.IntN(2) {
		w.pools = append(w.pools, newPool(r, i))
	}
	return w
}

func newPool(r *rand.Rand, i int) poolWish {
	p := poolWish{name: fmt.Sprintf("md-%d", i), replicas: r.IntN(4)}
	p.roll(r)
	return p
}

// roll chooses how the pool is rolled out.
func (p *poolWish) roll(r *rand.Rand) {
	p.surge, p.unavailable = r.IntN(3), r.IntN(2)
	if p.surge == 0 {
		p.unavailable = 1
	}
}

// edit changes one thing about the cluster, and says what.
func (w *wish) edit(r *rand.Rand) string {
	switch n := r.IntN(20); {
	case w.gone:
		w.gone = false
		return "put back"
	case w.broken:
		w.broken = false
		return "repaired"
	case w.paused:
		w.paused = false
		return "resumed"
	case w.deleted && n < 8:
		w.deleted = false
		return "wished for again"
	case w.deleted && n < 14:
		w.gone = true
		return "removed while it is deleted"
	case w.deleted:
		w.protected = !w.protected
		return fmt.Sprintf("protected: %v", w.protected)
	case n < 7:
		p := &w.pools[r.IntN(len(w.pools))]
		p.replicas = r.IntN(5)
		return fmt.Sprintf("%s: %d replicas", p.name, p.replicas)
	case n < 9:
		p := &w.pools[r.IntN(len(w.pools))]
		p.template++
		p.roll(r)
		return fmt.Sprintf("%s: another template, surge %d, unavailable %d", p.name, p.surge, p.unavailable)
	case n < 10:
		w.template++
		return "another template of the control plane"
	case n < 12:
		w.controlPlanes = 4 - w.controlPlanes
		w.surge = 1
		return fmt.Sprintf("%d control planes", w.controlPlanes)
	case n < 14 && w.version == older:
		w.version = newer
		return "upgrade"
	case n < 15 && len(w.pools) == 1:
		w.pools = append(w.pools, newPool(r, 1))
		return "a second pool"
	case n < 15:
		w.pools = w.pools[:1]
		return "one pool less"
	case n < 16:
		w.paused = true
		return "paused"
	case n < 17:
		w.broken = true
		return "broken"
	case n < 18:
		w.deleted = true
		return "deleted"
	case n < 19:
		w.gone = true
		return "vanished"
	case w.controlPlanes == 3:
		w.surge, w.template = 1-w.surge, w.template+1
		return fmt.Sprintf("another template of the control plane, surge %d", w.surge)
	default:
		w.protected = !w.protected
		return fmt.Sprintf("protected: %v", w.protected)
	}
}

// copied returns w, sharing nothing with it.
func (w wish) copied() wish {
	w.pools = append([]poolWish(nil), w.pools...)
	return w
}

// files returns the fleet repository.
func files(wishes []wish) map[string]string {
	out := map[string]string{"fleet.yaml": "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata: {name: " + theFleet + "}\n"}
	for i, w := range wishes {
		if w.gone {
			continue
		}
		folder := "clusters/" + key(i).Name
		out[folder+"/kustomization.yaml"] = "resources: [cluster.yaml]\n"
		out[folder+"/cluster.yaml"] = w.manifests(key(i))
	}
	return out
}

func (w wish) manifests(k fleet.Key) string {
	var b strings.Builder
	replicas := fmt.Sprint(w.controlPlanes)
	if w.broken {
		replicas = "many"
	}
	fmt.Fprintf(&b, clusterManifest, k.Name, k.Namespace, w.deleted, w.protected, w.paused, replicas, w.surge, w.version, w.template)
	for _, p := range w.pools {
		fmt.Fprintf(&b, poolManifest, k.Name, k.Namespace, p.name, p.replicas, p.surge, p.unavailable, w.version, p.template)
	}
	return b.String()
}

const clusterManifest = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: %[1]s
  namespace: %[2]s
  annotations: {fairlead.dev/delete: "%[3]v", fairlead.dev/protect: "%[4]v"}
spec:
  paused: %[5]v
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}, services: {cidrBlocks: [10.96.0.0/12]}}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: %[1]s-cp}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: %[1]s}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: %[1]s, namespace: %[2]s}
spec: {backend: {inMemory: {}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: %[1]s-cp, namespace: %[2]s}
spec:
  replicas: %[6]s
  version: %[8]s
  rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: %[7]d}}}
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: %[1]s-m}}}
  kubeadmConfigSpec:
    clusterConfiguration: {encryptionAlgorithm: ECDSA-P256}
    preKubeadmCommands: ["echo template %[9]d"]
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: %[1]s-all, namespace: %[2]s}
spec:
  clusterName: %[1]s
  selector: {matchLabels: {cluster.x-k8s.io/cluster-name: %[1]s}}
  checks:
    nodeStartupTimeoutSeconds: 600
    unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}, {type: Ready, status: "False", timeoutSeconds: 300}]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: %[1]s-m, namespace: %[2]s}
spec:
  template:
    spec:
      backend:
        inMemory:
          vm: {provisioning: {startupDuration: "10s", startupJitter: "0.5"}}
          node: {provisioning: {startupDuration: "5s", startupJitter: "0.5"}}
          apiServer: {provisioning: {startupDuration: "2s"}}
          etcd: {provisioning: {startupDuration: "2s"}}
`

const poolManifest = `---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: %[1]s-%[3]s, namespace: %[2]s}
spec:
  clusterName: %[1]s
  replicas: %[4]d
  rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: %[5]d, maxUnavailable: %[6]d}}}
  template:
    spec:
      clusterName: %[1]s
      version: %[7]s
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: %[1]s-%[3]s}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: %[1]s-m}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: %[1]s-%[3]s, namespace: %[2]s}
spec: {template: {spec: {preKubeadmCommands: ["echo template %[8]d"]}}}
`
