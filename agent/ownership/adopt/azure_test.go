package adopt_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
)

// An azureStack is a cluster that Cluster API and its provider for Azure run. The in-memory cloud runs what is in the VMs.
type azureStack struct {
	*stack
	cloud *azuretest.Cloud
	left  azuretest.LeftByCAPZ
}

func newAzureStack(t *testing.T, o azuretest.CAPZ) *azureStack {
	t.Helper()
	s := &azureStack{
		stack: &stack{world: newRunning(t), secrets: filepath.Join(t.TempDir(), "secrets")},
		cloud: azuretest.New(azuretest.Options{Fast: true}),
	}
	o.Name, o.Group, o.Servers, o.Workers = "eu-1", "capz", 1, 2
	slices.SortStableFunc(s.machines, func(a, b providers.AdoptedMachine) int { return cmp.Compare(a.Pool, b.Pool) })
	for _, m := range s.machines { // those of the control plane first
		o.Names = append(o.Names, string(m.Name))
	}
	o.Host = s.endpoint.Host // an address that leads to the API server
	s.left = s.cloud.AddCAPZ(o)
	s.answer()
	for i, id := range slices.Concat(s.left.Servers, s.left.Workers) {
		m := &s.machines[i]
		m.ID = fleet.ProviderID("azure://" + id)
		s.renameNode(string(m.Name), m.ID)
	}
	s.infra = "AzureMachine"
	s.secret("principal", "Opaque", nil, fleet.SecretData{"clientSecret": fleet.NewSecret([]byte(azuretest.Password))}, nil)
	lb, nat := fmt.Sprintf(azurePublic, s.left.Host), `{ip: {name: ""}, name: ""}`
	if o.Internal {
		lb, nat = azureInternal, "{ip: {name: pip-eu-1-node-natgw}, name: eu-1-node-natgw}"
	}
	docs := strings.Split(strings.ReplaceAll(manifests, "DevCluster", "AzureCluster"), "\n---\n")
	for i, d := range docs {
		switch {
		case strings.Contains(d, "kind: AzureCluster\n"):
			docs[i] = strings.NewReplacer("SUBSCRIPTION", azuretest.Subscription, "TENANT", azuretest.Tenant, "CLIENT", azuretest.ClientID, "NAMESPACE", s.ns, "BALANCER", lb, "GATEWAY", nat).Replace(azureCluster)
		case strings.Contains(d, "kind: DevMachineTemplate\n"):
			docs[i] = azureMachineTemplate
		case strings.Contains(d, "kind: KubeadmControlPlane\n"):
			docs[i] = strings.Replace(d, "kubeadmConfigSpec: {", "kubeadmConfigSpec: {files: [{path: /etc/kubernetes/azure.json, contentFrom: {secret: {name: eu-1-azure-json, key: control-plane-azure.json}}}], ", 1)
		}
	}
	s.createAll(strings.ReplaceAll(strings.Join(docs, "\n---\n"), "DevMachineTemplate", "AzureMachineTemplate"))
	template, err := s.resource(schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: "AzureMachineTemplate"}, s.ns).Get(t.Context(), "eu-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.secret("eu-1-azure-json", "Opaque", nil, fleet.SecretData{
		"control-plane-azure.json": fleet.NewSecret([]byte(`{"aadClientSecret": "former"}`)), "worker-node-azure.json": fleet.NewSecret([]byte("{}")),
	}, template)
	return s
}

// answer has the double answer at the names of Azure.
func (s *azureStack) answer() {
	server := httptest.NewTLSServer(s.cloud)
	s.Cleanup(server.Close)
	was := http.DefaultTransport
	direct := was.(*http.Transport).Clone()
	direct.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		d := &tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12}}
		if host, _, _ := net.SplitHostPort(address); host == "management.azure.com" || host == "login.microsoftonline.com" {
			address, d.Config.InsecureSkipVerify = server.Listener.Addr().String(), true //nolint:gosec // it is the double
		}
		return d.DialContext(ctx, network, address)
	}
	http.DefaultTransport = direct
	s.Cleanup(func() { http.DefaultTransport = was })
}

// azureCluster is an AzureCluster as its webhook and its controller leave it.
// Source: CAPZ, internal/api/v1beta1/azurecluster_default.go, azure/scope/cluster.go.
const azureCluster = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureCluster
metadata: {name: eu-1}
spec:
  azureEnvironment: AzurePublicCloud
  bastionSpec: {}
  controlPlaneEnabled: true
  identityRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, name: fleet, namespace: NAMESPACE}
  location: westeurope
  resourceGroup: capz
  subscriptionID: SUBSCRIPTION
  networkSpec:
    apiServerLB: BALANCER
    subnets:
    - cidrBlocks: [10.0.0.0/16]
      id: /subscriptions/SUBSCRIPTION/resourceGroups/capz/providers/Microsoft.Network/virtualNetworks/eu-1-vnet/subnets/eu-1-controlplane-subnet
      name: eu-1-controlplane-subnet
      natGateway: GATEWAY
      role: control-plane
      routeTable: {name: eu-1-node-routetable}
      securityGroup:
        name: eu-1-controlplane-nsg
        securityRules:
        - {action: Allow, description: Allow SSH, destination: '*', destinationPorts: "22", direction: Inbound, name: allow_ssh, priority: 2200, protocol: Tcp, source: '*', sourcePorts: '*'}
        - {action: Allow, description: Allow K8s API Server, destination: '*', destinationPorts: "6443", direction: Inbound, name: allow_apiserver, priority: 2201, protocol: Tcp, source: '*', sourcePorts: '*'}
    - cidrBlocks: [10.1.0.0/16]
      id: /subscriptions/SUBSCRIPTION/resourceGroups/capz/providers/Microsoft.Network/virtualNetworks/eu-1-vnet/subnets/eu-1-node-subnet
      name: eu-1-node-subnet
      natGateway:
        id: /subscriptions/SUBSCRIPTION/resourceGroups/capz/providers/Microsoft.Network/natGateways/eu-1-node-natgw
        ip: {name: pip-eu-1-node-natgw}
        name: eu-1-node-natgw
      role: node
      routeTable: {name: eu-1-node-routetable}
      securityGroup: {name: eu-1-node-nsg}
    vnet:
      cidrBlocks: [10.0.0.0/8]
      id: /subscriptions/SUBSCRIPTION/resourceGroups/capz/providers/Microsoft.Network/virtualNetworks/eu-1-vnet
      name: eu-1-vnet
      resourceGroup: capz
      tags: {Name: eu-1-vnet, sigs.k8s.io_cluster-api-provider-azure_cluster_eu-1: owned, sigs.k8s.io_cluster-api-provider-azure_role: common}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureClusterIdentity
metadata: {name: fleet}
spec: {type: ServicePrincipal, tenantID: TENANT, clientID: CLIENT, clientSecret: {name: principal, namespace: NAMESPACE}, allowedNamespaces: {list: [NAMESPACE]}}
`

const (
	azurePublic = `{backendPool: {name: eu-1-public-lb-backendPool}, frontendIPs: [{name: eu-1-public-lb-frontEnd, publicIP: {dnsName: %s, name: pip-eu-1-apiserver}}], idleTimeoutInMinutes: 4, name: eu-1-public-lb, sku: Standard, type: Public}`

	azureInternal = `{backendPool: {name: eu-1-internal-lb-backendPool}, frontendIPs: [{name: eu-1-internal-lb-frontEnd, privateIP: 10.0.0.100}], idleTimeoutInMinutes: 4, name: eu-1-internal-lb, sku: Standard, type: Internal}`
)

// azureMachineTemplate is an AzureMachineTemplate as its webhook leaves it.
// Source: CAPZ, internal/webhooks/azuremachinetemplate_webhook.go.
const azureMachineTemplate = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureMachineTemplate
metadata: {name: eu-1}
spec:
  template:
    metadata: {}
    spec:
      networkInterfaces: [{privateIPConfigs: 1}]
      osDisk: {diskSizeGB: 64, osType: Linux}
      dataDisks: [{cachingType: ReadWrite, diskSizeGB: 128, lun: 0, nameSuffix: etcddisk}]
      sshPublicKey: c3NoLWVkMjU1MTkgQUFBQQ==
      vmSize: Standard_D4s_v5
`

// azureMachine creates the infrastructure of a Machine, which is ready.
func (u *upstream) azureMachine(of *unstructured.Unstructured, m providers.AdoptedMachine) {
	u.Helper()
	o := objects(u.T, azureMachineTemplate)[0]
	spec, _, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
	spec["providerID"] = string(m.ID)
	o.SetKind("AzureMachine")
	o.SetName(string(m.Name))
	o.SetNamespace(u.ns)
	o.SetFinalizers([]string{"azuremachine.infrastructure.cluster.x-k8s.io"})
	note(o, "cluster.x-k8s.io/cloned-from-name", u.cluster)
	o.Object["spec"] = spec
	o.Object["status"] = map[string]any{"ready": true, "vmState": "Succeeded"}
	u.create(u.owned(o, of))
}

// contents returns all resources without the tags of Fairlead, and the ids of those that have some.
func (s *azureStack) contents() (things map[string]string, marked []string) {
	things = make(map[string]string)
	for _, r := range s.cloud.Resources("") {
		n := len(r.Tags)
		maps.DeleteFunc(r.Tags, func(k, _ string) bool { return strings.HasPrefix(k, "fairlead.dev_") })
		if len(r.Tags) < n {
			marked = append(marked, r.ID)
		}
		delete(r.Body, "tags")
		delete(r.Body, "etag")
		data, err := json.Marshal(r.Body)
		if err != nil {
			s.Fatal(err)
		}
		things[r.ID] = fmt.Sprint(r.Tags, string(data))
	}
	return things, marked
}

// wantNoChange fails the test if something was called that changes the subscription.
func (s *azureStack) wantNoChange(what string) {
	s.Helper()
	if i := slices.IndexFunc(s.cloud.Calls(), azuretest.Call.Changes); i >= 0 {
		s.Errorf("%s called %+v", what, s.cloud.Calls()[i])
	}
}

// TestAzure adopts clusters on Azure with the program, plans, runs an agent, and gives them back. Things get tags, and nothing
// else changes.
func TestAzure(t *testing.T) {
	for name, o := range map[string]azuretest.CAPZ{"public": {}, "internal": {Internal: true}, "availability sets": {Sets: true}} {
		t.Run(name, func(t *testing.T) {
			s := newAzureStack(t, o)
			s.serveGit()
			flags := []string{"--secrets", s.secrets, "--azure-tick", "50ms", "--azure-settle", "300ms"}
			before, _ := s.contents()
			command := func(more ...string) []string {
				return slices.Concat([]string{"adopt", "--kubeconfig", s.management.kube.Kubeconfig, "--into", s.folder, "-n", s.ns, "--source", s.source}, flags, more)
			}
			s.cloud.ResetCalls()
			if out := s.fairlead(0, command("--dry-run")...); !strings.Contains(out, "1 of 1 cluster: ready to be adopted") {
				t.Fatalf("dry run: %s", out)
			}
			s.wantNoChange("the dry run")
			if out := s.fairlead(0, command()...); !strings.Contains(out, "1 of 1 cluster: adopted") || !s.paused() {
				t.Fatalf("paused there %t: %s", s.paused(), out)
			}
			after, marked := s.contents()
			if d := gocmp.Diff(before, after); d != "" {
				t.Errorf("more changed than tags: %s", d)
			}
			for _, id := range s.left.All {
				if !slices.Contains(marked, id) {
					t.Errorf("%s has no tags of Fairlead", id)
				}
			}
			s.cloud.ResetCalls()
			s.fairlead(0, append([]string{"plan", s.folder}, flags...)...) // exit code 2 would say that there are changes
			s.wantNoChange("the plan")
			s.fairlead(0, command("--undo")...)
			after, marked = s.contents()
			if d := gocmp.Diff(before, after); d != "" || len(marked) > 0 || s.paused() {
				t.Errorf("given back: marked %q, paused there %t, changed: %s", marked, s.paused(), d)
			}
			s.fairlead(0, command()...)
			s.push("adopted")
			s.cloud.ResetCalls()
			s.agent(flags...)
			s.waitProvisioned(3)
			s.wantNoChange("the agent")
			if after, _ = s.contents(); gocmp.Diff(before, after) != "" {
				t.Errorf("with an agent: %s", gocmp.Diff(before, after))
			}
		})
	}
}

// TestAzureOwnJSON: azure.json that people made goes to Git, as each Secret that manifests refer to.
func TestAzureOwnJSON(t *testing.T) {
	s := newAzureStack(t, azuretest.CAPZ{})
	secrets := s.resource(schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, s.ns)
	o, err := secrets.Get(t.Context(), "eu-1-azure-json", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o.SetOwnerReferences(nil)
	if _, err := secrets.Update(t.Context(), o, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	out := s.fairlead(1, "adopt", "--kubeconfig", s.management.kube.Kubeconfig, "--into", s.folder, "-n", s.ns, "--fleet-id", "fleet-a", "--secrets", s.secrets, "--dry-run")
	if !strings.Contains(out, "Secret "+s.ns+"/eu-1-azure-json: has to go to Git") {
		t.Error(out)
	}
}
