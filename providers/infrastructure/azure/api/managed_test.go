package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
	"fairlead.dev/test/run/kindstest"
)

// normalised returns what the decoder makes of a spec of an object called name, and what is wrong with it.
func normalised(t *testing.T, k fleet.Kind, name, spec string) (any, string) {
	t.Helper()
	o := kindstest.Object(t, k, "v1beta1", `{"metadata":{"name":"`+name+`","namespace":"prod"},"spec":`+spec+`}`)
	if _, ok := o.(metav1.Object); !ok {
		t.Fatalf("%T has no metadata", o)
	}
	out, errs := k.Normalise(o)
	return out, kindstest.Text(errs)
}

// leastOfAKS is the least of an AzureManagedControlPlane.
const leastOfAKS = `"location":"West Europe","resourceGroupName":"rg","subscriptionID":"0F5A6C1E-8F0B-4C0E-9D64-0D8B6F0A2F11","identityRef":{"name":"fleet"}`

// TestManagedControlPlane: what is filled in, and what is refused.
func TestManagedControlPlane(t *testing.T) {
	k := api.ControlPlaneKinds()[0]
	const key = "/subscriptions/a/resourceGroups/b/providers/Microsoft.ManagedIdentity/userAssignedIdentities/c"
	for name, tc := range map[string]struct{ name, spec, want string }{
		"the least":             {"eu-1", ``, ""},
		"no patch":              {"eu-1", `"version":"v1.34",`, "with its patch"},
		"a name with a dot":     {"eu.1", ``, "metadata.name"},
		"Entra ID alone":        {"eu-1", `"disableLocalAccounts":true,`, "spec.disableLocalAccounts"},
		"previews":              {"eu-1", `"enablePreviewFeatures":true,`, "spec.enablePreviewFeatures"},
		"no previews":           {"eu-1", `"enablePreviewFeatures":false,"disableLocalAccounts":false,`, ""},
		"its own node group":    {"eu-1", `"nodeResourceGroupName":"RG",`, "other than resourceGroupName"},
		"an identity unnamed":   {"eu-1", `"identity":{"type":"UserAssigned"},`, "spec.identity.userAssignedIdentityResourceID"},
		"an identity too much":  {"eu-1", `"identity":{"userAssignedIdentityResourceID":"` + key + `"},`, "set type: UserAssigned"},
		"that of kubelets":      {"eu-1", `"kubeletUserAssignedIdentity":"` + key + `",`, "only beside identity.type: UserAssigned"},
		"a basic load balancer": {"eu-1", `"loadBalancerSKU":"Basic",`, "has retired Basic"},
		"overlay of kubenet":    {"eu-1", `"networkPlugin":"kubenet","networkPluginMode":"overlay",`, "needs networkPlugin: azure"},
		"cilium by half":        {"eu-1", `"networkPolicy":"cilium",`, "needs networkDataplane: cilium"},
		"a subnet outside":      {"eu-1", `"virtualNetwork":{"name":"a","cidrBlock":"10.0.0.0/16","subnet":{"name":"b","cidrBlock":"10.1.0.0/16"}},`, "must be within 10.0.0.0/16"},
		"two outbound ways":     {"eu-1", `"loadBalancerProfile":{"managedOutboundIPs":1,"outboundIPs":["/subscriptions/a"]},`, "at most one of"},
		"ranges, and private":   {"eu-1", `"apiServerAccessProfile":{"enablePrivateCluster":true,"authorizedIPRanges":["192.0.2.0/24"]},`, "reached through the VNet"},
		"no range":              {"eu-1", `"apiServerAccessProfile":{"authorizedIPRanges":["a"]},`, "must be an address or a range"},
		"a zone without":        {"eu-1", `"apiServerAccessProfile":{"privateDNSZone":"System"},`, "needs enablePrivateCluster"},
		"no issuer":             {"eu-1", `"securityProfile":{"workloadIdentity":{"enabled":true}},`, "needs oidcIssuerProfile.enabled: true"},
		"an add-on twice":       {"eu-1", `"addonProfiles":[{"name":"azurepolicy","enabled":true},{"name":"AzurePolicy","enabled":true}],`, "addonProfiles[1].name"},
		"a key that is no key":  {"eu-1", `"sshPublicKey":"a",`, "spec.sshPublicKey"},
		"an extension":          {"eu-1", `"extensions":[{"name":"flux"}],`, "extensions[0].extensionType"},
		"one without a name":    {"eu-1", `"extensions":[{"extensionType":"microsoft.flux"}],`, "extensions[0].name"},
		"one twice":             {"eu-1", `"extensions":[{"name":"a","extensionType":"b"},{"name":"A","extensionType":"b"}],`, "extensions[1].name"},
		"a version that moves":  {"eu-1", `"extensions":[{"name":"a","extensionType":"b","version":"1.0.0"}],`, "extensions[0].version"},
		"a train that stands":   {"eu-1", `"extensions":[{"name":"a","extensionType":"b","releaseTrain":"Stable","autoUpgradeMinorVersion":false}],`, "extensions[0].releaseTrain"},
		"no scope":              {"eu-1", `"extensions":[{"name":"a","extensionType":"b","scope":{"scopeType":"Pod"}}],`, "scope.scopeType"},
		"a scope without place": {"eu-1", `"extensions":[{"name":"a","extensionType":"b","scope":{"scopeType":"Cluster"}}],`, "scope.releaseNamespace"},
		"a scope of a cluster":  {"eu-1", `"extensions":[{"name":"a","extensionType":"b","scope":{"scopeType":"Cluster","releaseNamespace":"c","targetNamespace":"d"}}],`, "scope.targetNamespace"},
		"a scope of none":       {"eu-1", `"extensions":[{"name":"a","extensionType":"b","scope":{"scopeType":"Namespace"}}],`, "scope.targetNamespace"},
		"a scope of a space":    {"eu-1", `"extensions":[{"name":"a","extensionType":"b","scope":{"scopeType":"Namespace","releaseNamespace":"c","targetNamespace":"d"}}],`, "scope.releaseNamespace"},
		"an odd identity":       {"eu-1", `"extensions":[{"name":"a","extensionType":"b","identity":"UserAssigned"}],`, "extensions[0].identity"},
		"an odd one of AKS":     {"eu-1", `"extensions":[{"name":"a","extensionType":"b","aksAssignedIdentityType":"None"}],`, "aksAssignedIdentityType"},
		"no name of a member":   {"eu-1", `"fleetsMember":{"managerName":"f","managerResourceGroup":"g"},`, "fleetsMember.name"},
		"an odd name of one":    {"eu-1", `"fleetsMember":{"name":"A","managerName":"f","managerResourceGroup":"g"},`, "fleetsMember.name"},
		"a member of nothing":   {"eu-1", `"fleetsMember":{"name":"a","managerResourceGroup":"g"},`, "fleetsMember.managerName"},
		"a member nowhere":      {"eu-1", `"fleetsMember":{"name":"a","managerName":"f"},`, "fleetsMember.managerResourceGroup"},
		"a group that is none":  {"eu-1", `"fleetsMember":{"name":"a","managerName":"f","managerResourceGroup":"a/b"},`, "fleetsMember.managerResourceGroup"},
		"unmanaged":             {"eu-1", `"aadProfile":{"managed":false,"adminGroupObjectIDs":["a"]},`, "spec.aadProfile.managed"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := `{` + tc.spec + leastOfAKS + `}`
			if !strings.Contains(spec, `"version"`) {
				spec = strings.Replace(spec, "{", `{"version":"1.34.1",`, 1)
			}
			out, errs := normalised(t, k, tc.name, spec)
			if (tc.want == "") != (errs == "") || !strings.Contains(errs, tc.want) {
				t.Fatalf("%q, want %q", errs, tc.want)
			}
			if tc.want != "" {
				return
			}
			m := out.(*fleet.HostedManifest)
			const want = `dnsPrefix: eu-1
identityRef:
  kind: AzureClusterIdentity
  name: fleet
azureEnvironment: AzurePublicCloud
loadBalancerSKU: Standard
location: westeurope
networkPlugin: azure
resourceGroupName: rg
subscriptionID: 0f5a6c1e-8f0b-4c0e-9d64-0d8b6f0a2f11
version: 1.34.1
virtualNetwork:
  cidrBlock: 10.0.0.0/8
  name: eu-1
  subnet:
    cidrBlock: 10.240.0.0/16
    name: eu-1
`
			sorted := func(s string) []string { return slices.Sorted(strings.SplitSeq(s, "\n")) }
			if d := gocmp.Diff(sorted(want), sorted(kindstest.YAML(t, m.Spec))); d != "" || m.Version != "v1.34.1" {
				t.Errorf("%s (-want +got):\n%s", m.Version, d)
			}
		})
	}
	for field, spec := range map[string]string{
		"spec.location":          `{"version":"1.34.1","resourceGroupName":"rg","subscriptionID":"0f5a6c1e-8f0b-4c0e-9d64-0d8b6f0a2f11","identityRef":{"name":"fleet"}}`,
		"spec.subscriptionID":    `{"version":"1.34.1","resourceGroupName":"rg","location":"westeurope","identityRef":{"name":"fleet"}}`,
		"spec.identityRef":       `{"version":"1.34.1","resourceGroupName":"rg","location":"westeurope","subscriptionID":"0f5a6c1e-8f0b-4c0e-9d64-0d8b6f0a2f11"}`,
		"spec.version":           `{` + leastOfAKS + `}`,
		"spec.resourceGroupName": `{"version":"1.34.1","location":"westeurope","subscriptionID":"0f5a6c1e-8f0b-4c0e-9d64-0d8b6f0a2f11","identityRef":{"name":"fleet"}}`,
	} {
		if _, errs := normalised(t, k, "eu-1", spec); !strings.Contains(errs, field+": Required") {
			t.Errorf("without %s: %q", field, errs)
		}
	}
}

// TestManagedPool: what is filled in, and what is refused.
func TestManagedPool(t *testing.T) {
	k := kindstest.Kind(t, api.Kinds(), "AzureManagedMachinePool")
	for name, tc := range map[string]struct{ name, spec, want string }{
		"the least":               {"pool0", `{"mode":"System","sku":"Standard_D4s_v5"}`, ""},
		"a name of its own":       {"eu-1-pool0", `{"mode":"System","sku":"Standard_D4s_v5","name":"pool0"}`, ""},
		"no name that AKS takes":  {"eu-1-pool0", `{"mode":"System","sku":"Standard_D4s_v5"}`, "spec.name"},
		"a name that is too long": {"a", `{"mode":"User","sku":"Standard_D4s_v5","name":"abcdefghijklm"}`, "at most 12"},
		"one of Windows":          {"abcdefg", `{"mode":"User","sku":"Standard_D4s_v5","osType":"Windows"}`, "at most 6"},
		"a System pool of it":     {"a", `{"mode":"System","sku":"Standard_D4s_v5","osType":"Windows"}`, "has Linux"},
		"no size":                 {"a", `{"mode":"System"}`, "spec.sku"},
		"no mode":                 {"a", `{"sku":"a"}`, "spec.mode"},
		"a zone":                  {"a", `{"mode":"User","sku":"a","availabilityZones":["4"]}`, "availabilityZones[0]"},
		"spot":                    {"a", `{"mode":"System","sku":"a","scaleSetPriority":"Spot"}`, "no spot machines"},
		"a price for nothing":     {"a", `{"mode":"User","sku":"a","spotMaxPrice":"1"}`, "needs scaleSetPriority: Spot"},
		"swap":                    {"a", `{"mode":"User","sku":"a","linuxOSConfig":{"swapFileSizeMB":1}}`, "needs kubeletConfig.failSwapOn: false"},
		"a label of AKS":          {"a", `{"mode":"User","sku":"a","nodeLabels":{"kubernetes.azure.com/a":"b"}}`, "are set by AKS"},
		"a taint without effect":  {"a", `{"mode":"User","sku":"a","taints":[{"key":"a","value":"b","effect":"None"}]}`, "taints[0].effect"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs := normalised(t, k, tc.name, tc.spec)
			if (tc.want == "") != (errs == "") || !strings.Contains(errs, tc.want) {
				t.Fatalf("%q, want %q", errs, tc.want)
			}
			if tc.want != "" {
				return
			}
			const want = "mode: System\nname: pool0\nosDiskType: Managed\nosType: Linux\nscaleDownMode: Delete\nscaleSetPriority: Regular\nsku: Standard_D4s_v5\n"
			if d := gocmp.Diff(want, kindstest.YAML(t, out)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// aksOverlay is a cluster of AKS with one pool.
const aksOverlay = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu-1, namespace: prod}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureManagedCluster, name: eu-1}
  controlPlaneRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureManagedControlPlane, name: aks-1}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureManagedCluster
metadata: {name: eu-1, namespace: prod}
spec: {}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureManagedControlPlane
metadata: {name: aks-1, namespace: prod}
spec: {version: v1.34.1, resourceGroupName: rg, location: westeurope, subscriptionID: 0f5a6c1e-8f0b-4c0e-9d64-0d8b6f0a2f11, identityRef: {name: fleet}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureClusterIdentity
metadata: {name: fleet, namespace: prod}
spec: {type: ServicePrincipal, tenantID: t, clientID: c, clientSecret: {name: principal}, allowedNamespaces: {}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: {name: eu-1-pool0, namespace: prod}
spec:
  clusterName: eu-1
  replicas: 2
  template:
    spec:
      clusterName: eu-1
      bootstrap: {dataSecretName: ""}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureManagedMachinePool, name: eu-1-pool0}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureManagedMachinePool
metadata: {name: eu-1-pool0, namespace: prod}
spec: {mode: System, name: pool0, sku: Standard_D4s_v5}
`

// decoded returns the clusters of an overlay, and what is wrong with it.
func decoded(text string) ([]fleet.Cluster, string) {
	var objects []render.Object
	for part := range strings.SplitSeq(text, "\n---\n") {
		objects = append(objects, render.Object{File: "f.yaml", YAML: []byte(part)})
	}
	clusters, problems := decode.New("f", slices.Concat(api.Kinds(), api.ControlPlaneKinds())).Decode("overlay", objects)
	return clusters, fmt.Sprint(problems)
}

// TestScaling: an agent pool whose object has scaling is one whose number AKS decides, with or without the annotations that say the
// same. Others are refused.
func TestScaling(t *testing.T) {
	const min, max = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size", "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
	for name, tc := range map[string]struct {
		notes, replicas, want string
		count                 int
	}{
		"alone":                {"", "replicas: 2", "", 3},
		"no number":            {"", "minReadySeconds: 0", "", 3},
		"more machines":        {"", "replicas: 9", "", 5},
		"by whom, as CAPZ has": {`cluster.x-k8s.io/replicas-managed-by: aks`, "replicas: 4", "", 4},
		"the same bounds":      {`cluster.x-k8s.io/replicas-managed-by: aks, ` + min + `: "3", ` + max + `: "5"`, "replicas: 4", "", 4},
		"other bounds":         {`cluster.x-k8s.io/replicas-managed-by: aks, ` + min + `: "3", ` + max + `: "6"`, "replicas: 4", "bounds the number of machines from 3 to 6, and the AzureManagedMachinePool from 3 to 5", 4},
		"Git decides":          {`cluster.x-k8s.io/replicas-managed-by: "false"`, "replicas: 4", "has the cloud decide the number of machines, from 3 to 5", 4},
	} {
		text := strings.NewReplacer("{name: eu-1-pool0, namespace: prod}\nspec:\n", "{name: eu-1-pool0, namespace: prod, annotations: {"+tc.notes+"}}\nspec:\n", "replicas: 2", tc.replicas, "mode: System, name", "scaling: {minSize: 3, maxSize: 5}, mode: System, name").Replace(aksOverlay)
		clusters, problems := decoded(strings.Replace(text, "minReadySeconds: 0", "", 1))
		if (tc.want == "") != (problems == "[]") || !strings.Contains(problems, tc.want) {
			t.Errorf("%s: problems %s, want %q", name, problems, tc.want)
		}
		if tc.want != "" {
			continue
		}
		if p := clusters[0].KeptPools[0]; p.Range == nil || *p.Range != (fleet.PoolRange{Min: 3, Max: 5}) || p.Count != tc.count {
			t.Errorf("%s: %d machines in %v", name, p.Count, p.Range)
		}
	}
}

// TestManagedClusterInGit: what a cluster of AKS is in Git, and what is refused of it, empty or not.
func TestManagedClusterInGit(t *testing.T) {
	clusters, problems := decoded(aksOverlay)
	if len(clusters) != 1 || problems != "[]" {
		t.Fatalf("%d clusters, problems %s", len(clusters), problems)
	}
	written, problems := decoded(strings.NewReplacer("spec: {}", "spec: {controlPlaneEndpoint: {host: a, port: 443}}", "version: v1.34.1, resource", "version: v1.34.1, controlPlaneEndpoint: {host: a, port: 443}, resource").Replace(aksOverlay)) // by controllers
	if d := gocmp.Diff(clusters, written); d != "" || problems != "[]" {
		t.Errorf("an endpoint has an effect: %s, %s", d, problems)
	}
	c := clusters[0]
	spec, name, err := api.ReadControlPlane(&c)
	if err != nil {
		t.Fatal(err)
	}
	if c.Provider != "azure" || c.Hosted.Version != "v1.34.1" || name != "aks-1" || spec.DNSPrefix != "aks-1" || len(c.KeptPools) != 1 || c.KeptPools[0].Version != "v1.34.1" || len(c.Companions) != 1 {
		t.Errorf("the cluster is %+v, pools %+v, %d companions", c.Hosted, c.KeptPools, len(c.Companions))
	}
	for _, change := range []string{"version: v1.34.1, resource>version: v1.34.1, controlPlaneEndpoint: {host: a, port: 443}, resource", "spec: {}>spec: {controlPlaneEndpoint: {host: a, port: 443}}"} {
		old, with, _ := strings.Cut(change, ">") // as controllers write it
		same, problems := decoded(strings.Replace(aksOverlay, old, with, 1))
		if problems != fmt.Sprint([]fleet.Problem(nil)) || len(same) != 1 || same[0].Endpoint != c.Endpoint || string(same[0].Hosted.Object.Spec) != string(c.Hosted.Object.Spec) || string(same[0].Infrastructure.Spec) != string(c.Infrastructure.Spec) {
			t.Errorf("with %s it is %+v, %s", with, same, problems)
		}
	}
	for change, want := range map[string]string{
		"version: v1.34.1, resource>version: v1.34.1, asoManagedClusterPatches: [], resource":           "no objects of Azure Service Operator",
		"version: v1.34.1, resource>version: v1.34.1, autoscalerProfile: {scanInterval: 10m}, resource": "a number of seconds",
		"version: v1.34.1, resource>version: v1.34.1, fieldOfTomorrow: {}, resource":                    "fieldOfTomorrow",
		"mode: System, name>scaling: {}, mode: System, name":                                            "minSize and maxSize",
		"mode: System, name>scaling: {minSize: 3, maxSize: 2}, mode: System, name":                      "spec.scaling.maxSize",
		"mode: System, name>scaling: {minSize: -1, maxSize: 2}, mode: System, name":                     "spec.scaling.minSize",
		"mode: System, name>scaling: {minSize: 0, maxSize: 0}, mode: System, name":                      "spec.scaling.maxSize",
		"mode: System, name>linuxOSConfig: {sysctls: {fsNrOpen: 1}}, mode: System, name":                "8192",
		"kind: AzureManagedControlPlane, name: aks-1>kind: KubeadmControlPlane, name: aks-1":            "is for a control plane that AKS keeps",
	} {
		old, with, _ := strings.Cut(change, ">")
		if text := strings.Replace(aksOverlay, old, with, 1); text == aksOverlay {
			t.Errorf("%s changes nothing", change)
		} else if _, problems := decoded(text); !strings.Contains(problems, want) {
			t.Errorf("%s: %s, want %q", with, problems, want)
		}
	}
	c.Infrastructure.GVK.Kind = "AzureCluster"
	if _, _, err := api.ReadControlPlane(&c); err == nil || !strings.Contains(err.Error(), "needs an AzureManagedCluster") {
		t.Errorf("beside an AzureCluster: %v", err)
	}
}
