package adopt_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
)

// aksManifests are a cluster of AKS as the webhooks and controllers of Cluster API's provider leave it.
// Source: CAPZ, internal/api/v1beta1/azuremanagedcontrolplane_default.go and azuremanagedmachinepool_default.go.
const aksManifests = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu-1}
spec:
  controlPlaneRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureManagedControlPlane, name: aks-1}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureManagedCluster, name: eu-1}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureManagedCluster
metadata: {name: eu-1, finalizers: [azurecluster.infrastructure.cluster.x-k8s.io]}
spec: {}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureClusterIdentity
metadata: {name: fleet}
spec:
  allowedNamespaces: {}
  clientID: CLIENT
  clientSecret: {name: principal, namespace: NAMESPACE}
  tenantID: TENANT
  type: ServicePrincipal
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureManagedControlPlane
metadata: {name: aks-1, finalizers: [azuremanagedcontrolplane.infrastructure.cluster.x-k8s.io]}
spec:
  controlPlaneEndpoint: {host: aks-1-0f5a6c1e.hcp.westeurope.azmk8s.io, port: 443}
  dnsPrefix: aks-1
  identityRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, name: fleet, namespace: NAMESPACE}
  location: westeurope
  nodeResourceGroupName: MC_rg_aks-1_westeurope
  oidcIssuerProfile: {}
  resourceGroupName: rg
  sku: {tier: Free}
  subscriptionID: SUBSCRIPTION
  version: v1.33.5
  virtualNetwork: {cidrBlock: 10.0.0.0/8, name: aks-1, resourceGroup: rg, subnet: {cidrBlock: 10.240.0.0/16, name: aks-1}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: {name: pool0}
spec:
  clusterName: eu-1
  replicas: 1
  providerIDList: ["azure:///subscriptions/SUBSCRIPTION/resourceGroups/mc_rg_aks-1_westeurope/providers/Microsoft.Compute/virtualMachineScaleSets/aks-pool0-1-vmss/virtualMachines/0"]
  template:
    spec:
      clusterName: eu-1
      version: v1.33.5
      bootstrap: {dataSecretName: ""}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureManagedMachinePool, name: pool0}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureManagedMachinePool
metadata: {name: pool0, finalizers: [azuremanagedmachinepool.infrastructure.cluster.x-k8s.io]}
spec:
  mode: System
  name: pool0
  osType: Linux
  sku: Standard_D4s_v5
  providerIDList: ["azure:///subscriptions/SUBSCRIPTION/resourceGroups/mc_rg_aks-1_westeurope/providers/Microsoft.Compute/virtualMachineScaleSets/aks-pool0-1-vmss/virtualMachines/0"]
`

// TestAdoptAKS finds out that a cluster of AKS can be adopted, with what webhooks write, and changes nothing. What is then changed is tested
// with the provider.
func TestAdoptAKS(t *testing.T) {
	m := newManagement(t)
	w := &world{upstream: &upstream{management: m, cluster: "eu-1", endpoint: fleet.Endpoint{Host: "aks-1-0f5a6c1e.hcp.westeurope.azmk8s.io", Port: 443}}, folder: filepath.Join(t.TempDir(), "fleet")}
	if err := os.Mkdir(w.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &azureStack{stack: &stack{world: w, secrets: filepath.Join(t.TempDir(), "secrets")}, cloud: azuretest.New(azuretest.Options{Fast: true})}
	s.answer()
	const group = "/subscriptions/" + azuretest.Subscription + "/resourceGroups/rg"
	const plane, vnet = group + "/providers/Microsoft.ContainerService/managedClusters/aks-1", group + "/providers/Microsoft.Network/virtualNetworks/aks-1"
	theirs := map[string]any{"sigs.k8s.io_cluster-api-provider-azure_cluster_eu-1": "owned", "sigs.k8s.io_cluster-api-provider-azure_role": "common"}
	s.cloud.Put(group, map[string]any{"location": azuretest.Location, "tags": theirs})
	s.cloud.Put(vnet, map[string]any{"location": azuretest.Location, "tags": theirs, "properties": map[string]any{"addressSpace": map[string]any{"addressPrefixes": []any{"10.0.0.0/8"}}}})
	s.cloud.Put(vnet+"/subnets/aks-1", map[string]any{"properties": map[string]any{"addressPrefix": "10.240.0.0/16"}})
	pool := map[string]any{"name": "pool0", "count": 1, "mode": "System", "vmSize": "Standard_D4s_v5", "vnetSubnetID": vnet + "/subnets/aks-1", "provisioningState": "Succeeded"}
	s.cloud.Put(plane, map[string]any{"location": azuretest.Location, "tags": theirs, "properties": map[string]any{"kubernetesVersion": "1.33.5", "agentPoolProfiles": []any{pool}}})
	s.cloud.Put(plane+"/agentPools/pool0", map[string]any{"properties": pool})
	s.secret("principal", "Opaque", nil, fleet.SecretData{"clientSecret": fleet.NewSecret([]byte(azuretest.Password))}, nil)
	s.createAll(strings.NewReplacer("SUBSCRIPTION", azuretest.Subscription, "TENANT", azuretest.Tenant, "CLIENT", azuretest.ClientID, "NAMESPACE", s.ns).Replace(aksManifests))

	s.cloud.ResetCalls()
	out := s.fairlead(0, "adopt", "--kubeconfig", s.management.kube.Kubeconfig, "--into", s.folder, "-n", s.ns, "--source", s.folder, "--secrets", s.secrets, "--azure-tick", "50ms", "--fleet-id", "harbour", "--dry-run")
	for _, want := range []string{"1 of 1 cluster: ready to be adopted", "mark     cluster aks-1 of AKS", "mark     agent pool pool0", "mark     VNet aks-1", "mark     resource group rg"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not said: %s", want, out)
		}
	}
	if i := slices.IndexFunc(s.cloud.Calls(), azuretest.Call.Changes); i >= 0 {
		t.Errorf("the dry run called %+v", s.cloud.Calls()[i])
	}
}
