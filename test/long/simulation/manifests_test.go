package simulation

import (
	"fmt"
	"slices"
	"strings"
)

// files returns the fleet repository, with a class of that template, whose clusters are
// changed in waves where there are some.
func files(wishes []wish, class int, w *waves) map[string]string {
	out := map[string]string{
		"fleet.yaml":                 "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata: {name: " + theFleet + "}\nspec:\n  clusters: {include: [\"clusters/**\", \"classes/**\"]}\n" + w.config(),
		"classes/kustomization.yaml": "resources: [class.yaml]\n",
		"classes/class.yaml":         fmt.Sprintf(classManifest, class),
	}
	for i, w := range wishes {
		if w.gone {
			continue
		}
		folder := "clusters/" + key(i).Name
		out[folder+"/kustomization.yaml"] = "resources: [cluster.yaml]\n"
		out[folder+"/cluster.yaml"] = w.manifests(key(i).Name, key(i).Namespace)
	}
	return out
}

// manifests returns those of the cluster, with what is not of its class.
func (w wish) manifests(name, namespace string) string {
	text := w.cluster(name, namespace) + w.besides(name, namespace)
	if w.addresses == 0 {
		return text
	}
	const ref = ", addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: %s}]}"
	return strings.ReplaceAll(text, timing, strings.TrimSuffix(timing, "}")+fmt.Sprintf(ref, name)) + fmt.Sprintf(addressesManifest, name, namespace, 10+w.addresses-1)
}

// besides returns the Machine that stands alone, and the addons.
func (w wish) besides(name, namespace string) string {
	var b strings.Builder
	if w.lone > 0 {
		fmt.Fprintf(&b, w.flavour.lone, name, namespace, w.release(), w.lone, w.registration())
	}
	if w.addons > 0 {
		fmt.Fprintf(&b, addonsManifest, name, namespace)
		for _, a := range w.objects() {
			fmt.Fprintf(&b, objectManifest, a, w.addons)
		}
	}
	return b.String()
}

// objects names the ConfigMaps of the addons: one more in odd versions.
func (w wish) objects() []string {
	if w.addons%2 == 1 {
		return []string{"always", "odd"}
	}
	return []string{"always"}
}

func (w wish) cluster(name, namespace string) string {
	var b strings.Builder
	replicas := fmt.Sprint(w.controlPlanes)
	if w.broken {
		replicas = "many"
	}
	if w.flavour.hosted { // it has no number of machines
		replicas = ""
		if w.broken {
			replicas = "\n  replicas: many"
		}
	}
	fmt.Fprintf(&b, headManifest, name, namespace, w.deleted, w.protected, w.paused, w.ring)
	if w.classy {
		fmt.Fprintf(&b, topologyManifest, w.release(), replicas, w.template)
		for _, p := range w.inGit() {
			fmt.Fprintf(&b, topologyPoolManifest, p.name, p.annotations(), p.replicas, p.strategy(), p.template)
		}
		return b.String()
	}
	fmt.Fprintf(&b, w.flavour.cluster, name, namespace, replicas, w.surge, w.release(), w.template, w.registration())
	for _, p := range w.inGit() {
		fmt.Fprintf(&b, w.flavour.pool, name, namespace, p.name, p.annotations(), p.replicas, p.strategy(), w.release(), p.template, w.registration())
	}
	return b.String()
}

// inGit returns the pools that have not left Git.
func (w wish) inGit() []poolWish {
	return slices.DeleteFunc(slices.Clone(w.pools), func(p poolWish) bool { return p.away })
}

// registration says how the Nodes of the cluster are called.
func (w wish) registration() string {
	if w.renamed {
		return "{nodeRegistration: {name: 'node-{{ ds.meta_data.local_hostname }}.example.org'}}"
	}
	return "{}"
}

func (p poolWish) annotations() string {
	if !p.scaled {
		return "{}"
	}
	return `{cluster.x-k8s.io/replicas-managed-by: "autoscaler"}`
}

func (p poolWish) strategy() string {
	if p.onDelete {
		return "{type: OnDelete}"
	}
	return fmt.Sprintf("{type: RollingUpdate, rollingUpdate: {maxSurge: %d, maxUnavailable: %d}}", p.surge, p.unavailable)
}

// headManifest begins a Cluster of either kind.
const headManifest = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: %[1]s
  namespace: %[2]s
  labels: {addons: %[1]s, ring: "%[6]s"}
  annotations: {fairlead.dev/delete: "%[3]v", fairlead.dev/protect: "%[4]v"}
spec:
  paused: %[5]v
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}, services: {cidrBlocks: [10.96.0.0/12]}}
`

const clusterManifest = `  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: %[1]s-cp}
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
  replicas: %[3]s
  version: %[5]s
  rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: %[4]d}}}
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: %[1]s-m}}}
  kubeadmConfigSpec:
    clusterConfiguration: {encryptionAlgorithm: ECDSA-P256}
    initConfiguration: %[7]s
    joinConfiguration: %[7]s
    preKubeadmCommands: ["echo template %[6]d"]
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: %[1]s-all, namespace: %[2]s}
spec:
  clusterName: %[1]s
  selector: {matchLabels: {cluster.x-k8s.io/cluster-name: %[1]s}}
  checks: ` + checks + `
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: %[1]s-m, namespace: %[2]s}
spec: {template: {spec: {backend: {inMemory: ` + timing + `}}}}
`

// timing is how long machines take.
const timing = `{vm: {provisioning: {startupDuration: "10s", startupJitter: "0.5"}}, ` +
	`node: {provisioning: {startupDuration: "5s", startupJitter: "0.5"}}, ` +
	`apiServer: {provisioning: {startupDuration: "2s"}}, etcd: {provisioning: {startupDuration: "2s"}}}`

// addressesManifest is a pool of addresses, which are those of the pool of each cluster.
const addressesManifest = `---
apiVersion: ipam.cluster.x-k8s.io/v1alpha2
kind: InClusterIPPool
metadata: {name: %[1]s, namespace: %[2]s}
spec: {addresses: [10.77.0.10-10.77.0.%[3]d], prefix: 24, gateway: 10.77.0.1}
`

// checks are of health.
const checks = `{nodeStartupTimeoutSeconds: 600, unhealthyNodeConditions: ` +
	`[{type: Ready, status: Unknown, timeoutSeconds: 300}, {type: Ready, status: "False", timeoutSeconds: 300}], ` +
	`unhealthyMachineConditions: [{type: InfrastructureReady, status: "False", timeoutSeconds: 600}, {type: NodeReady, status: Unknown, timeoutSeconds: 400}]}`

const poolManifest = `---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: %[1]s-%[3]s, namespace: %[2]s, annotations: %[4]s}
spec:
  clusterName: %[1]s
  replicas: %[5]d
  rollout: {strategy: %[6]s}
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
spec: {template: {spec: {joinConfiguration: %[9]s, preKubeadmCommands: ["echo template %[8]d"]}}}
`

const loneManifest = `---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: %[1]s-lone, namespace: %[2]s}
spec:
  clusterName: %[1]s
  version: %[3]s
  bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfig, name: %[1]s-lone}}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachine, name: %[1]s-lone}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfig
metadata: {name: %[1]s-lone, namespace: %[2]s}
spec: {joinConfiguration: %[5]s, preKubeadmCommands: ["echo template %[4]d"]}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachine
metadata: {name: %[1]s-lone, namespace: %[2]s}
spec: {backend: {inMemory: ` + timing + `}}
`

const addonsManifest = `---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: %[1]s-addons, namespace: %[2]s}
spec:
  clusterSelector: {matchLabels: {addons: %[1]s}}
  strategy: Reconcile
  resources: [{kind: ConfigMap, name: %[1]s-addons}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: %[1]s-addons, namespace: %[2]s}
data:
`

const objectManifest = `  %[1]s.yaml: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: %[1]s, namespace: kube-system}
    data: {version: "%[2]d"}
`

// topologyManifest goes on where a Cluster is of the class.
const topologyManifest = `  topology:
    classRef: {name: class, namespace: classes}
    version: %[1]s
    controlPlane: {replicas: %[2]s}
    variables: [{name: template, value: %[3]d}]
    workers:
      machineDeployments:
`

const topologyPoolManifest = `      - class: worker
        name: %[1]s
        metadata: {annotations: %[2]s}
        replicas: %[3]d
        rollout: {strategy: %[4]s}
        variables: {overrides: [{name: template, value: %[5]d}]}
`

const classManifest = `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: class, namespace: classes}
spec:
  kubernetesVersions: [` + older + `, ` + newer + `]
  infrastructure:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevClusterTemplate, name: class}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: class}
    machineInfrastructure:
      templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: class}
    naming: {template: "{{ .cluster.name }}-cp"}
    healthCheck: {checks: ` + checks + `}
  workers:
    machineDeployments:
      - class: worker
        bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: class}}
        infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: class}}
        naming: {template: "{{ .cluster.name }}-{{ .machineDeployment.topologyName }}"}
        healthCheck: {checks: ` + checks + `}
  variables:
    - name: template
      schema: {openAPIV3Schema: {type: integer, default: 0}}
  patches:
    - name: template
      definitions:
        - selector: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, matchResources: {controlPlane: true}}
          jsonPatches:
            - {op: add, path: /spec/template/spec/kubeadmConfigSpec/preKubeadmCommands, valueFrom: {template: "[\"echo template {{ .template }}\"]"}}
        - selector: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, matchResources: {machineDeploymentClass: {names: [worker]}}}
          jsonPatches:
            - {op: add, path: /spec/template/spec/preKubeadmCommands, valueFrom: {template: "[\"echo template {{ .template }}\"]"}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevClusterTemplate
metadata: {name: class, namespace: classes}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: class, namespace: classes}
spec: {template: {spec: {backend: {inMemory: ` + timing + `}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {name: class, namespace: classes}
spec: {template: {spec: {kubeadmConfigSpec: {clusterConfiguration: {encryptionAlgorithm: ECDSA-P256}, postKubeadmCommands: ["echo class %[1]d"]}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: class, namespace: classes}
spec: {template: {spec: {postKubeadmCommands: ["echo class %[1]d"]}}}
`
