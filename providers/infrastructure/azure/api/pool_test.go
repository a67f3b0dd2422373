package api_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/render/decode"
	"fairlead.dev/test/run/kindstest"
)

// poolOfMachines is a cluster of machines with a pool of CAPZ.
const poolOfMachines = `apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: eu-1, namespace: prod}
spec:
  controlPlaneRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: cp}
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureCluster, name: eu-1}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureCluster
metadata: {name: eu-1, namespace: prod}
spec: {location: westeurope, subscriptionID: 0f5a6c1e-8f0b-4c0e-9d64-0d8b6f0a2f11, identityRef: {kind: AzureClusterIdentity, name: fleet}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: cp, namespace: prod}
spec:
  replicas: 1
  version: v1.34.1
  kubeadmConfigSpec: {}
  machineTemplate: {infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureMachineTemplate, name: cp}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureMachineTemplate
metadata: {name: cp, namespace: prod}
spec: {template: {spec: {vmSize: Standard_D4s_v5, osDisk: {osType: Linux}}}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: mp, namespace: prod}
spec:
  clusterName: eu-1
  replicas: 8
  failureDomains: ["1", "2"]
  template:
    spec:
      clusterName: eu-1
      version: v1.34.1
      bootstrap: {configRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfig, name: mp}}
      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureMachinePool, name: mp}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureMachinePool
metadata: {name: mp, namespace: prod}
spec:
  location: westeurope
  strategy: {type: RollingUpdate, rollingUpdate: {deletePolicy: Oldest, maxSurge: 25%, maxUnavailable: 1}}
  template: {vmSize: Standard_D2s_v5, osDisk: {osType: Linux}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfig
metadata: {name: mp, namespace: prod}
spec:
  files:
  - {path: /etc/kubernetes/azure.json, contentFrom: {secret: {name: mp-azure-json, key: worker-node-azure.json}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureClusterIdentity
metadata: {name: fleet, namespace: prod}
spec: {type: ServicePrincipal, tenantID: t, clientID: c, clientSecret: {name: principal}, allowedNamespaces: {}}
`

// TestPoolOfMachines: a MachinePool of an AzureMachinePool is a pool of machines that are replaced as its strategy says. The
// strategy and the location replace no machine, what a machine is made of does.
func TestPoolOfMachines(t *testing.T) {
	decoded := func(old, with string) fleet.Pool {
		t.Helper()
		text := strings.Replace(poolOfMachines, old, with, 1)
		if old != with && text == poolOfMachines {
			t.Fatalf("there is no %q", old)
		}
		objects := kindstest.Render(t, fstest.MapFS{"f.yaml": {Data: []byte(text)}}, nil, "f.yaml")
		clusters, problems := decode.New("f", slices.Concat(api.Kinds(), api.ControlPlaneKinds())).Decode("o", objects)
		if len(problems) > 0 || len(clusters) != 1 || len(clusters[0].Workers) != 1 || len(clusters[0].KeptPools) > 0 {
			t.Fatalf("%d clusters, %v", len(clusters), problems)
		}
		return clusters[0].Workers[0]
	}
	is := decoded("", "")
	if is.MaxSurge != 2 || is.MaxUnavailable != 1 || is.DeletionOrder != "Oldest" || is.Replicas != 8 || !slices.Equal(is.FailureDomains, []string{"1", "2"}) || is.Kind != fleet.MachinePoolKind {
		t.Errorf("%+v", is)
	}
	if m, err := api.ReadMachine(is.Infrastructure); err != nil || m.VMSize != "Standard_D2s_v5" {
		t.Errorf("machines are of %+v, %v", m, err)
	}
	const strategy = "  strategy: {type: RollingUpdate, rollingUpdate: {deletePolicy: Oldest, maxSurge: 25%, maxUnavailable: 1}}\n"
	p := decoded(strategy, "")
	if p.MaxSurge != 1 || p.MaxUnavailable != 0 || p.DeletionOrder != "Oldest" || p.Template != is.Template {
		t.Errorf("without a strategy: %+v", p)
	}
	if p = decoded("deletePolicy: Oldest, maxSurge: 25%", "deletePolicy: Newest, maxSurge: 3"); p.MaxSurge != 3 || p.DeletionOrder != "Newest" || p.Template != is.Template {
		t.Errorf("another strategy: %+v", p)
	}
	if p = decoded("  location: westeurope\n  strategy", "  location: northeurope\n  strategy"); p.Template != is.Template {
		t.Error("another location replaces machines")
	}
	for _, with := range []string{"vmSize: Standard_D4s_v5, sshPublicKey: \"\"", "vmSize: Standard_D2s_v5, dataDisks: [{nameSuffix: a, diskSizeGB: 1, lun: 0}]", "vmSize: Standard_D2s_v5, vmExtensions: [{name: a, publisher: p, version: '2.1'}]"} {
		if p = decoded("vmSize: Standard_D2s_v5", with); p.Template == is.Template {
			t.Errorf("%s replaces no machine", with)
		}
	}
}
