package azure_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFieldsOfAKS: each field of Git is in the request for a cluster of AKS and its first pool, with the name that Azure has
// for it, and shows no difference afterwards.
func TestFieldsOfAKS(t *testing.T) {
	const identity = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i"
	spec := strings.Replace(planeSpec, "version: v1.33.5", `version: v1.33.5, additionalTags: {team: web}, nodeResourceGroupName: nodes, dnsPrefix: api, networkPlugin: azure, networkPluginMode: overlay,
		networkPolicy: cilium, networkDataplane: cilium, outboundType: loadBalancer, loadBalancerProfile: {managedOutboundIPs: 2, idleTimeoutInMinutes: 10, allocatedOutboundPorts: 64},
		aadProfile: {managed: true, adminGroupObjectIDs: [b, a]}, addonProfiles: [{name: azurepolicy, enabled: true, config: {a: b}}],
		apiServerAccessProfile: {enablePrivateCluster: true, privateDNSZone: System, enablePrivateClusterPublicFQDN: false}, autoscalerProfile: {expander: random, maxEmptyBulkDelete: "5"},
		autoUpgradeProfile: {upgradeChannel: node-image}, httpProxyConfig: {httpProxy: "http://p", noProxy: [a], trustedCa: x}, identity: {type: UserAssigned, userAssignedIdentityResourceID: `+identity+`},
		kubeletUserAssignedIdentity: `+identity+`, oidcIssuerProfile: {enabled: true}, sku: {tier: Paid}, sshPublicKey: c3NoLWVkMjU1MTkgQUFBQQ==,
		securityProfile: {workloadIdentity: {enabled: true}, imageCleaner: {enabled: true, intervalHours: 48}, azureKeyVaultKms: {enabled: true, keyID: k, keyVaultResourceID: v}, defender: {logAnalyticsWorkspaceResourceID: w, securityMonitoring: {enabled: true}}}`, 1)
	const pool = `{name: system, mode: System, sku: Standard_D4s_v5, osDiskSizeGB: 64, osDiskType: Ephemeral, availabilityZones: ["2", "1"], maxPods: 50, enableFIPS: true, enableUltraSSD: true, enableEncryptionAtHost: true,
		enableNodePublicIP: true, nodePublicIPPrefixID: /subscriptions/s/p, kubeletDiskType: OS, scaleDownMode: Deallocate, additionalTags: {team: web},
		kubeletConfig: {cpuManagerPolicy: static, failSwapOn: false, imageGcHighThreshold: 80}, linuxOSConfig: {swapFileSizeMB: 1500, sysctls: {netIpv4TCPKeepaliveTime: 60, netIpv4IPLocalPortRange: "1024 65000", fsNrOpen: 9000}, transparentHugePageEnabled: never}}`
	inAKS(t, spec, func(w *managedWorld) {
		w.c.Network.Services.CIDRBlocks, w.c.Network.Pods.CIDRBlocks = []string{"172.16.0.0/16"}, []string{"192.168.0.0/16"}
		w.c.KeptPools[0].Infrastructure = object(t, "AzureManagedMachinePool", "system", pool)
		w.rest()
		body := w.puts("PUT managedclusters")[0].Body
		p := body["properties"].(map[string]any)
		first := p["agentPoolProfiles"].([]any)[0].(map[string]any)
		delete(p, "agentPoolProfiles")
		for _, in := range []map[string]any{first, body} {
			if in["tags"].(map[string]any)["team"] != "web" {
				t.Errorf("tags are %v", in["tags"])
			}
			delete(in, "tags")
		}
		if !strings.HasSuffix(first["vnetSubnetID"].(string), "/virtualNetworks/aks-1/subnets/aks-1") {
			t.Errorf("the subnet is %v", first["vnetSubnetID"])
		}
		delete(first, "vnetSubnetID")
		const want = `{"identity": {"type": "UserAssigned", "userAssignedIdentities": {"` + identity + `": {}}}, "location": "westeurope", "sku": {"name": "Base", "tier": "Standard"}, "properties": {
			"aadProfile": {"managed": true, "adminGroupObjectIDs": ["a", "b"]}, "addonProfiles": {"azurepolicy": {"enabled": true, "config": {"a": "b"}}},
			"apiServerAccessProfile": {"enablePrivateCluster": true, "privateDNSZone": "System", "enablePrivateClusterPublicFQDN": false}, "autoScalerProfile": {"expander": "random", "max-empty-bulk-delete": "5"},
			"autoUpgradeProfile": {"upgradeChannel": "node-image"}, "dnsPrefix": "api", "enableRBAC": true, "httpProxyConfig": {"httpProxy": "http://p", "noProxy": ["a"], "trustedCa": "x"},
			"identityProfile": {"kubeletidentity": {"resourceId": "` + identity + `"}}, "kubernetesVersion": "1.33.5", "linuxProfile": {"adminUsername": "azureuser", "ssh": {"publicKeys": [{"keyData": "ssh-ed25519 AAAA"}]}},
			"networkProfile": {"networkPlugin": "azure", "networkPluginMode": "overlay", "networkPolicy": "cilium", "networkDataplane": "cilium", "outboundType": "loadBalancer", "loadBalancerSku": "standard",
				"serviceCidr": "172.16.0.0/16", "dnsServiceIP": "172.16.0.10", "podCidr": "192.168.0.0/16", "loadBalancerProfile": {"managedOutboundIPs": {"count": 2}, "idleTimeoutInMinutes": 10, "allocatedOutboundPorts": 64}},
			"nodeResourceGroup": "nodes", "oidcIssuerProfile": {"enabled": true}, "securityProfile": {"workloadIdentity": {"enabled": true}, "imageCleaner": {"enabled": true, "intervalHours": 48},
				"azureKeyVaultKms": {"enabled": true, "keyId": "k", "keyVaultNetworkAccess": "Public", "keyVaultResourceId": "v"}, "defender": {"logAnalyticsWorkspaceResourceId": "w", "securityMonitoring": {"enabled": true}}}}}`
		const wantFirst = `{"name": "system", "mode": "System", "vmSize": "Standard_D4s_v5", "osDiskSizeGB": 64, "osDiskType": "Ephemeral", "osType": "Linux", "availabilityZones": ["1", "2"], "maxPods": 50, "enableFIPS": true, "enableUltraSSD": true,
			"enableEncryptionAtHost": true, "enableNodePublicIP": true, "nodePublicIPPrefixID": "/subscriptions/s/p", "kubeletDiskType": "OS", "scaleDownMode": "Deallocate", "scaleSetPriority": "Regular", "type": "VirtualMachineScaleSets",
			"kubeletConfig": {"cpuManagerPolicy": "static", "failSwapOn": false, "imageGcHighThreshold": 80}, "linuxOSConfig": {"swapFileSizeMB": 1500, "sysctls": {"netIpv4TcpKeepaliveTime": 60, "netIpv4IpLocalPortRange": "1024 65000", "fsNrOpen": 9000}, "transparentHugePageEnabled": "never"},
			"count": 1, "enableAutoScaling": false, "orchestratorVersion": "1.33.5"}`
		for text, got := range map[string]map[string]any{want: body, wantFirst: first} {
			var is map[string]any
			if err := json.Unmarshal([]byte(text), &is); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(is, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		}
		if s, i := w.look(); len(s.Drift) > 0 || len(i.Pools[0].Drift)+len(i.Pools[0].Fixed) > 0 || !strings.Contains(s.Endpoint.Host, ".privatelink.") {
			t.Errorf("%+v, %+v", s, i.Pools)
		}
	})
}
