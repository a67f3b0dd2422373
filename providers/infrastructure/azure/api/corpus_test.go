package api_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/render/decode"
	"fairlead.dev/test/run/kindstest"
	"fairlead.dev/test/run/needs"
)

// values are what people give the variables of CAPZ's templates.
func values() map[string]string {
	const id = "0f5a6c1e-8f0b-4c0e-9d64-0d8b6f0a2f11"
	return map[string]string{
		"CLUSTER_NAME": "capz", "NAMESPACE": "default", "KUBERNETES_VERSION": "v1.34.1", "CONTROL_PLANE_MACHINE_COUNT": "3", "WORKER_MACHINE_COUNT": "2",
		"CLUSTER_IDENTITY_NAME": "fleet", "CLUSTER_CLASS_NAME": "class", "AZURE_LOCATION": "westeurope", "AZURE_SUBSCRIPTION_ID": id, "AZURE_TENANT_ID": id,
		"AZURE_CLIENT_ID_USER_ASSIGNED_IDENTITY": id, "AZURE_CONTROL_PLANE_MACHINE_TYPE": "Standard_D4s_v5", "AZURE_NODE_MACHINE_TYPE": "Standard_D2s_v5",
		"AZURE_INTERNAL_LB_PRIVATE_IP": "30.0.0.100", "APISERVER_LB_DNS_SUFFIX": "x", "AZURE_EXTENDEDLOCATION_NAME": "losangeles", "AZURE_EXTENDEDLOCATION_TYPE": "EdgeZone",
		"FLATCAR_VERSION": "4152.2.0", "AZURE_SERVER_APP_ID": id, "AZURE_CLIENT_APP_ID": id, "AZURE_RESOURCE_GROUP": "capz", "AZURE_VNET_NAME": "capz-vnet", "CI_RG": "capz-ci",
		"USER_IDENTITY": "nodes", "AZURE_SSH_PUBLIC_KEY_B64": "", "AZURE_SSH_PUBLIC_KEY": "", "ASO_CREDENTIAL_SECRET_NAME": "aso", "WINDOWS_SERVER_VERSION": "windows-2022",
	}
}

// TestCorpus: what CAPZ ships gives a cluster, or is refused for what is not honoured. It refers to Secrets that CAPZ's controller writes, and that the provider answers.
func TestCorpus(t *testing.T) {
	want := map[string]string{
		"cluster-template":                      "default/capz: 3 servers, 1 pools",
		"cluster-template-aad":                  "default/capz: 3 servers, 1 pools",
		"cluster-template-aks":                  "default/capz: AKS v1.34.1, 2 pools",
		"cluster-template-aks-aso":              "AzureASOManagedCluster is not supported\nAzureASOManagedControlPlane is not supported\nAzureASOManagedMachinePool is not supported",
		"cluster-template-aks-aso-clusterclass": "AzureASOManagedClusterTemplate is not supported\nAzureASOManagedControlPlaneTemplate is not supported\nAzureASOManagedMachinePoolTemplate is not supported",
		"cluster-template-aks-aso-maintenance":  "AzureASOManagedCluster is not supported\nAzureASOManagedControlPlane is not supported\nAzureASOManagedMachinePool is not supported",
		"cluster-template-aks-aso-topology":     "AzureASOManagedClusterTemplate is not supported\nAzureASOManagedControlPlaneTemplate is not supported\nAzureASOManagedMachinePoolTemplate is not supported",
		"cluster-template-aks-clusterclass":     "",
		"cluster-template-aks-topology":         "default/capz: AKS v1.34.1, 2 pools",
		"cluster-template-apiserver-ilb":        "spec.networkSpec.apiServerLB.frontendIPs: Invalid value: 2: the load balancer has one addr",
		"cluster-template-azure-bastion":        "default/capz: 3 servers, 1 pools",
		"cluster-template-azure-cni-v1":         "spec.kubeadmConfigSpec.files[0].contentFrom.secret: refers to Secret default/capz-control-\nspec.template.spec.files[0].contentFrom.secret: refers to Secret default/capz-md-0-azure-j\nspec.template.spec.networkInterfaces[0].privateIPConfigs: Invalid value: 110: an interface",
		"cluster-template-clusterclass":         "",
		"cluster-template-clusterclass-rke2":    "RKE2ConfigTemplate is not supported\nRKE2ControlPlaneTemplate is not supported",
		"cluster-template-dual-stack":           "default/capz: 3 servers, 1 pools",
		"cluster-template-edgezone":             "default/capz: 3 servers, 1 pools",
		"cluster-template-ephemeral":            "default/capz: 3 servers, 1 pools",
		"cluster-template-flatcar":              "default/capz: 3 servers, 1 pools",
		"cluster-template-ipv6":                 "default/capz: 3 servers, 1 pools",
		"cluster-template-machinepool":          "default/capz: 3 servers, 1 pools",
		"cluster-template-machinepool-windows":  "spec.template.osDisk.osType: Invalid value: \"Windows\": machines with Windows are not suppo\nspec.users[0].sshAuthorizedKeys[0]: must not be empty",
		"cluster-template-nvidia-gpu":           "default/capz: 3 servers, 1 pools",
		"cluster-template-private":              "default/capz: 3 servers, 1 pools",
		"cluster-template-topology":             "default/capz: 3 servers, 1 pools",
		"cluster-template-windows":              "spec.template.metadata: is not supported: a machine of this provider has no labels and ann\nspec.template.spec.users[0].sshAuthorizedKeys[0]: must not be empty",
	}
	files, err := filepath.Glob(filepath.Join(needs.Corpus(t, "capz"), "templates", "cluster-template*.yaml"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	got := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if class, ok := strings.CutSuffix(file, "-topology.yaml"); ok { // a class comes with it
			more, err := os.ReadFile(class + "-clusterclass.yaml")
			if err != nil {
				t.Fatal(err)
			}
			data = append(append(data, "\n---\n"...), more...)
		}
		text := string(data)
		objects := kindstest.Render(t, fstest.MapFS{"f.yaml": {Data: []byte(text)}}, values(), "f.yaml")
		clusters, problems := decode.New("f", slices.Concat(api.Kinds(), api.ControlPlaneKinds())).Decode("o", objects)
		var out []string
		for _, c := range clusters {
			if c.Hosted != nil {
				out = append(out, fmt.Sprintf("%s: AKS %s, %d pools", c.Key, c.Hosted.Version, len(c.KeptPools)))
				continue
			}
			out = append(out, fmt.Sprintf("%s: %d servers, %d pools", c.Key, c.ControlPlane.Replicas, len(c.Workers)))
		}
		for _, p := range problems {
			text := strings.TrimPrefix(p.Field+": "+p.Message, ": ")
			out = append(out, text[:min(len(text), 90)])
		}
		slices.Sort(out)
		got[strings.TrimSuffix(filepath.Base(file), ".yaml")] = strings.Join(slices.Compact(out), "\n")
	}
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
