package adopt_test

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
