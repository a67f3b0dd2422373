package api

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/test/run/kindstest"
)

// TestFieldsOfCRDs: the Go types have the fields of CAPZ's resource definitions. Those of some templates lack
// fields that the objects have, and both are one type here.
func TestFieldsOfCRDs(t *testing.T) {
	wider := []string{"AzureClusterTemplate", "AzureManagedControlPlaneTemplate", "AzureManagedMachinePoolTemplate"}
	all := slices.DeleteFunc(slices.Concat(Kinds(), ControlPlaneKinds()), func(k fleet.Kind) bool { return slices.Contains(wider, k.Kind) })
	kindstest.Definitions{Project: "capz", Group: group, Missing: []string{
		"AzureASOManagedCluster", "AzureASOManagedClusterTemplate", "AzureASOManagedControlPlane", "AzureASOManagedControlPlaneTemplate",
		"AzureASOManagedMachinePool", "AzureASOManagedMachinePoolTemplate", "AzureClusterTemplate", "AzureMachinePoolMachine",
		"AzureManagedControlPlaneTemplate", "AzureManagedMachinePoolTemplate",
	}}.Compare(t, all)
}

// TestKindsOfOthers: what is not made of AKS, and what controllers write, are refused with the way out.
func TestKindsOfOthers(t *testing.T) {
	const version = "infrastructure.cluster.x-k8s.io/v1beta1"
	kindstest.Refused(t, Kinds(),
		[3]string{"infrastructure.cluster.x-k8s.io/v1alpha1", "AzureASOManagedCluster", "use an AzureManagedControlPlane"},
		[3]string{version, "AzureMachinePoolMachine", "remove it from the overlay"},
	)
}

const (
	id      = "0f5a6c1e-8f0b-4c0e-9d64-0d8b6f0a2f11"
	cluster = "location: westeurope\nsubscriptionID: " + id + "\nidentityRef: {name: fleet}\n"
	machine = "vmSize: Standard_D4s_v5\n"
)

func endpoint(spec string) string {
	return "networkSpec: {subnets: [{role: cluster, privateEndpoints: [" + spec + "]}]}"
}

// TestClusters: what is written is normalised, or refused with the field.
func TestClusters(t *testing.T) {
	for reason, tc := range map[string]struct{ spec, wrong string }{
		"the least":                         {cluster, ""},
		"a name of a region as people say":  {"location: West Europe\nsubscriptionID: " + id + "\nidentityRef: {name: a}", ""},
		"no location":                       {"subscriptionID: " + id + "\nidentityRef: {name: a}", "spec.location"},
		"no subscription":                   {"location: westeurope\nidentityRef: {name: a}", "spec.subscriptionID"},
		"no UUID":                           {"location: westeurope\nsubscriptionID: a\nidentityRef: {name: a}", "spec.subscriptionID"},
		"no identity":                       {"location: westeurope\nsubscriptionID: " + id, "spec.identityRef"},
		"another kind of identity":          {"location: westeurope\nsubscriptionID: " + id + "\nidentityRef: {kind: Secret, name: a}", "spec.identityRef.kind"},
		"another cloud":                     {cluster + "azureEnvironment: AzureGermanCloud", "spec.azureEnvironment"},
		"a control plane that is off":       {cluster + "controlPlaneEnabled: false", "spec.controlPlaneEnabled"},
		"a control plane that is on":        {cluster + "controlPlaneEnabled: true", ""},
		"no such zone":                      {cluster + "failureDomains: {'4': {}}", "spec.failureDomains[4]"},
		"an internal load balancer":         {cluster + "networkSpec: {apiServerLB: {type: Internal}}", ""},
		"a private address of a public one": {cluster + "networkSpec: {apiServerLB: {frontendIPs: [{privateIP: 10.0.0.9}]}}", "frontendIPs[0].privateIP"},
		"a public one of an internal one":   {cluster + "networkSpec: {apiServerLB: {type: Internal, frontendIPs: [{publicIP: {name: a}}]}}", "frontendIPs[0].publicIP"},
		"two subnets without names":         {cluster + "networkSpec: {subnets: [{role: control-plane}, {role: node}, {role: node}]}", "subnets[2].name"},
		"two names of one case":             {cluster + "networkSpec: {subnets: [{role: control-plane}, {role: node, name: a}, {role: node, name: A}]}", "subnets[2].name"},
		"two rules of one case":             {cluster + "networkSpec: {subnets: [{role: control-plane}, {role: node, securityGroup: {securityRules: [{name: a, protocol: Tcp, priority: 300}, {name: A, protocol: Tcp, priority: 301}]}}]}", "securityRules[1].name"},
		"two addresses":                     {cluster + "networkSpec: {apiServerLB: {frontendIPs: [{}, {}]}}", "apiServerLB.frontendIPs"},
		"a basic load balancer":             {cluster + "networkSpec: {apiServerLB: {sku: Basic}}", "apiServerLB.sku"},
		"a private zone of a public one":    {cluster + "networkSpec: {privateDNSZoneName: a.b}", "networkSpec.privateDNSZoneName"},
		"a private zone elsewhere":          {cluster + "networkSpec: {apiServerLB: {type: Internal}, privateDNSZoneName: a.b, privateDNSZoneResourceGroup: dns}", ""},
		"one elsewhere without a name":      {cluster + "networkSpec: {apiServerLB: {type: Internal}, privateDNSZoneResourceGroup: dns}", "networkSpec.privateDNSZoneResourceGroup"},
		"one elsewhere that is none":        {cluster + "networkSpec: {apiServerLB: {type: Internal}, privateDNSZone: None, privateDNSZoneName: a.b, privateDNSZoneResourceGroup: dns}", "networkSpec.privateDNSZoneResourceGroup"},
		"one elsewhere of a public one":     {cluster + "networkSpec: {privateDNSZoneResourceGroup: dns}", "networkSpec.privateDNSZoneResourceGroup"},
		"one in no group":                   {cluster + "networkSpec: {apiServerLB: {type: Internal}, privateDNSZoneName: a.b, privateDNSZoneResourceGroup: 'a/b'}", "networkSpec.privateDNSZoneResourceGroup"},
		"a tag of an address":               {cluster + "networkSpec: {subnets: [{role: cluster, natGateway: {ip: {name: a, dnsName: a.b.c, ipTags: [{type: RoutingPreference, tag: Internet}]}}}]}", ""},
		"half a tag of an address":          {cluster + "networkSpec: {apiServerLB: {frontendIPs: [{publicIP: {ipTags: [{type: RoutingPreference}]}}]}}", "publicIP.ipTags[0].tag"},
		"outbound load balancers":           {cluster + "networkSpec: {apiServerLB: {type: Internal}, nodeOutboundLB: {frontendIPsCount: 2, idleTimeoutInMinutes: 100}, controlPlaneOutboundLB: {frontendIPs: [{publicIP: {name: a}}]}}", ""},
		"one of a public control plane":     {cluster + "networkSpec: {controlPlaneOutboundLB: {}}", "networkSpec.controlPlaneOutboundLB"},
		"one that is internal":              {cluster + "networkSpec: {nodeOutboundLB: {type: Internal}}", "nodeOutboundLB.type"},
		"one without an address":            {cluster + "networkSpec: {nodeOutboundLB: {frontendIPsCount: 0}}", "nodeOutboundLB.frontendIPsCount"},
		"one with many addresses":           {cluster + "networkSpec: {nodeOutboundLB: {frontendIPsCount: 17}}", "nodeOutboundLB.frontendIPsCount"},
		"one with more than it says":        {cluster + "networkSpec: {nodeOutboundLB: {frontendIPsCount: 1, frontendIPs: [{}, {}]}}", "nodeOutboundLB.frontendIPs"},
		"one with a private address":        {cluster + "networkSpec: {nodeOutboundLB: {frontendIPs: [{privateIP: 10.0.0.9}]}}", "nodeOutboundLB.frontendIPs[0].privateIP"},
		"one that waits long":               {cluster + "networkSpec: {nodeOutboundLB: {idleTimeoutInMinutes: 101}}", "nodeOutboundLB.idleTimeoutInMinutes"},
		"overrides":                         {cluster + "cloudProviderConfigOverrides: {backOffs: {cloudProviderBackoffRetries: 3}, rateLimits: [{name: defaultRateLimit, config: {cloudProviderRateLimitQPS: '1.5'}}]}", ""},
		"a limit of nothing":                {cluster + "cloudProviderConfigOverrides: {rateLimits: [{name: a}]}", "rateLimits[0].name"},
		"a limit twice":                     {cluster + "cloudProviderConfigOverrides: {rateLimits: [{name: diskRateLimit}, {name: diskRateLimit}]}", "rateLimits[1].name"},
		"less than no limit":                {cluster + "cloudProviderConfigOverrides: {rateLimits: [{name: diskRateLimit, config: {cloudProviderRateLimitQPSWrite: -1}}]}", "cloudProviderRateLimitQPSWrite"},
		"a bucket below the bottom":         {cluster + "cloudProviderConfigOverrides: {rateLimits: [{name: diskRateLimit, config: {cloudProviderRateLimitBucket: -1}}]}", "cloudProviderRateLimitBucket"},
		"less than no retries":              {cluster + "cloudProviderConfigOverrides: {backOffs: {cloudProviderBackoffRetries: -1}}", "cloudProviderBackoffRetries"},
		"less than no jitter":               {cluster + "cloudProviderConfigOverrides: {backOffs: {cloudProviderBackoffJitter: '-1'}}", "cloudProviderBackoffJitter"},
		"dual stack":                        {cluster + "networkSpec: {vnet: {cidrBlocks: ['2001:db8::/56', 10.0.0.0/8]}, subnets: [{role: cluster, cidrBlocks: ['2001:db8::/64', 10.0.0.0/16]}]}", ""},
		"a bastion in dual stack":           {cluster + "networkSpec: {vnet: {cidrBlocks: ['2001:db8::/56', 10.0.0.0/8]}}\nbastionSpec: {azureBastion: {}}", ""},
		"IPv6 alone":                        {cluster + "networkSpec: {vnet: {cidrBlocks: ['2001:db8::/56']}}", "vnet.cidrBlocks"},
		"a subnet of IPv6 alone":            {cluster + "networkSpec: {vnet: {cidrBlocks: [10.0.0.0/8, '2001:db8::/56']}, subnets: [{role: cluster, cidrBlocks: ['2001:db8::/64']}]}", "subnets[0].cidrBlocks"},
		"two ranges of IPv6":                {cluster + "networkSpec: {vnet: {cidrBlocks: [10.0.0.0/8, '2001:db8::/56', '2001:db9::/56']}}", "vnet.cidrBlocks[2]"},
		"two ranges of IPv4":                {cluster + "networkSpec: {vnet: {cidrBlocks: [10.0.0.0/8, 11.0.0.0/8]}}", "vnet.cidrBlocks[1]"},
		"a subnet of IPv6 that is large":    {cluster + "networkSpec: {vnet: {cidrBlocks: [10.0.0.0/8, '2001:db8::/56']}, subnets: [{role: cluster, cidrBlocks: [10.0.0.0/16, '2001:db8::/60']}]}", "subnets[0].cidrBlocks[1]"},
		"IPv6 of a subnet alone":            {cluster + "networkSpec: {subnets: [{role: cluster, cidrBlocks: [10.0.0.0/16, '2001:db8::/64']}]}", "subnets[0].cidrBlocks[1]"},
		"IPv6 out of the VNet":              {cluster + "networkSpec: {vnet: {cidrBlocks: [10.0.0.0/8, '2001:db8::/56']}, subnets: [{role: cluster, cidrBlocks: [10.0.0.0/16, '2001:db9::/64']}]}", "subnets[0].cidrBlocks[1]"},
		"IPv6 of a bastion":                 {cluster + "bastionSpec: {azureBastion: {subnet: {cidrBlocks: ['2001:db8::/64']}}}", "azureBastion.subnet.cidrBlocks[0]"},
		"a subnet out of the VNet":          {cluster + "networkSpec: {vnet: {cidrBlocks: [10.0.0.0/16]}, subnets: [{role: cluster, cidrBlocks: [10.1.0.0/16]}]}", "subnets[0].cidrBlocks[0]"},
		"one subnet for all":                {cluster + "networkSpec: {subnets: [{role: cluster}]}", ""},
		"no subnet of nodes":                {cluster + "networkSpec: {subnets: [{role: control-plane}]}", "networkSpec.subnets"},
		"a subnet of a bastion":             {cluster + "networkSpec: {subnets: [{role: cluster}, {role: bastion}]}", "subnets[1].role"},
		"an edge zone":                      {cluster + "extendedLocation: {name: microsoftlosangeles1, type: EdgeZone}", ""},
		"an edge zone without a name":       {cluster + "extendedLocation: {type: EdgeZone}", "spec.extendedLocation.name"},
		"another location":                  {cluster + "extendedLocation: {name: a, type: CustomLocation}", "spec.extendedLocation.type"},
		"zones of an edge zone":             {cluster + "extendedLocation: {name: a, type: EdgeZone}\nfailureDomains: {'1': {}}", "spec.failureDomains"},
		"a bastion":                         {cluster + "bastionSpec: {azureBastion: {}}", ""},
		"tunnels of a basic bastion":        {cluster + "bastionSpec: {azureBastion: {enableTunneling: true}}", "azureBastion.enableTunneling"},
		"an offer that is none":             {cluster + "bastionSpec: {azureBastion: {sku: Premium}}", "azureBastion.sku"},
		"another name of its subnet":        {cluster + "bastionSpec: {azureBastion: {subnet: {name: bastion}}}", "azureBastion.subnet.name"},
		"what its subnet reaches":           {cluster + "bastionSpec: {azureBastion: {subnet: {serviceEndpoints: [{service: Microsoft.Storage}], natGateway: {name: a}}}}", ""},
		"an endpoint of no service":         {cluster + "bastionSpec: {azureBastion: {subnet: {serviceEndpoints: [{locations: ['*']}]}}}", "subnet.serviceEndpoints[0].service"},
		"a bastion out of the VNet":         {cluster + "networkSpec: {vnet: {cidrBlocks: [10.0.0.0/15]}}\nbastionSpec: {azureBastion: {}}", "azureBastion.subnet.cidrBlocks[0]"},
		"a private endpoint":                {cluster + endpoint("{name: a, privateLinkServiceConnections: [{privateLinkServiceID: /subscriptions/a/b}]}"), ""},
		"a private endpoint elsewhere":      {cluster + endpoint("{name: a, location: northeurope, privateLinkServiceConnections: [{privateLinkServiceID: /subscriptions/a/b}]}"), "privateEndpoints[0].location"},
		"a private endpoint as people say":  {"location: West Europe\nsubscriptionID: " + id + "\nidentityRef: {name: a}\n" + endpoint("{name: a, location: West Europe, privateLinkServiceConnections: [{privateLinkServiceID: /subscriptions/a/b}]}"), ""},
		"a private endpoint of nothing":     {cluster + endpoint("{name: a}"), "privateEndpoints[0].privateLinkServiceConnections"},
		"a private endpoint without name":   {cluster + endpoint("{privateLinkServiceConnections: [{privateLinkServiceID: /subscriptions/a/b}]}"), "privateEndpoints[0].name"},
		"no id of a service":                {cluster + endpoint("{name: a, privateLinkServiceConnections: [{privateLinkServiceID: b}]}"), "privateLinkServiceConnections[0].privateLinkServiceID"},
		"a message that nothing reads":      {cluster + endpoint("{name: a, privateLinkServiceConnections: [{privateLinkServiceID: /subscriptions/a/b, requestMessage: m}]}"), "requestMessage"},
		"an address of an endpoint":         {cluster + endpoint("{name: a, privateIPAddresses: [10.0.0.9], privateLinkServiceConnections: [{privateLinkServiceID: /subscriptions/a/b}]}"), ""},
		"no address of an endpoint":         {cluster + endpoint("{name: a, privateIPAddresses: [10.0.0], privateLinkServiceConnections: [{privateLinkServiceID: /subscriptions/a/b}]}"), "privateEndpoints[0].privateIPAddresses[0]"},
		"an address of an endpoint twice":   {cluster + endpoint("{name: a, privateIPAddresses: [10.0.0.9, 10.0.0.9], privateLinkServiceConnections: [{privateLinkServiceID: /subscriptions/a/b}]}"), "privateEndpoints[0].privateIPAddresses[1]"},
		"a group that is no id":             {cluster + endpoint("{name: a, applicationSecurityGroups: [b], privateLinkServiceConnections: [{privateLinkServiceID: /subscriptions/a/b}]}"), "applicationSecurityGroups[0]"},
		"two private endpoints of one name": {cluster + "networkSpec: {subnets: [{role: control-plane, privateEndpoints: [{name: a, privateLinkServiceConnections: [{privateLinkServiceID: /subscriptions/a/b}]}]}, {role: node, privateEndpoints: [{name: A, privateLinkServiceConnections: [{privateLinkServiceID: /subscriptions/a/b}]}]}]}", "subnets[1].privateEndpoints[0].name"},
		"a rule of the cloud controller":    {cluster + "networkSpec: {subnets: [{role: cluster, securityGroup: {securityRules: [{name: k8s-a, protocol: Tcp, priority: 200}]}}]}", "securityRules[0].name"},
		"no priority":                       {cluster + "networkSpec: {subnets: [{role: cluster, securityGroup: {securityRules: [{name: a, protocol: Tcp}]}}]}", "securityRules[0].priority"},
		"no ports":                          {cluster + "networkSpec: {subnets: [{role: cluster, securityGroup: {securityRules: [{name: a, protocol: Tcp, priority: 200, destinationPorts: http}]}}]}", "securityRules[0].destinationPorts"},
		"a tag of Fairlead":                 {cluster + "additionalTags: {Fairlead.dev_fleet: a}", "spec.additionalTags[Fairlead.dev_fleet]"},
		"a tag that Azure refuses":          {cluster + "additionalTags: {a/b: c}", "spec.additionalTags[a/b]"},
		"a route table without a name":      {cluster + "networkSpec: {subnets: [{role: cluster, routeTable: {name: '?'}}]}", "subnets[0].routeTable.name"},
		"a tag twice":                       {cluster + "additionalTags: {a: c, A: d}", "spec.additionalTags[a]"},
	} {
		_, errs := kindstest.Normalised(t, kindstest.Kind(t, Kinds(), "AzureCluster"), "v1beta1", tc.spec, nil)
		kindstest.Check(t, kindstest.Text(errs), tc.wrong, reason)
	}
	spec, errs := kindstest.Normalised(t, kindstest.Kind(t, Kinds(), "AzureCluster"), "v1beta1", cluster, nil)
	const want = "azureEnvironment: AzurePublicCloud\nidentityRef:\n  kind: AzureClusterIdentity\n  name: fleet\nlocation: westeurope\nnetworkSpec:\n  apiServerLB:\n    frontendIPs:\n    - publicIP: {}\n    idleTimeoutInMinutes: 4\n    sku: Standard\n    type: Public\n  subnets:\n  - cidrBlocks:\n    - 10.0.0.0/16\n    role: control-plane\n  - cidrBlocks:\n    - 10.1.0.0/16\n    role: node\n  vnet:\n    cidrBlocks:\n    - 10.0.0.0/8\nsubscriptionID: " + id + "\n"
	if got := kindstest.YAML(t, spec); len(errs) > 0 || got != want {
		t.Errorf("the least is normalised to %v\n%s", errs, got)
	}
	written := strings.Replace(cluster, "{name: fleet}", "{name: fleet, apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, uid: a, resourceVersion: '1', fieldPath: spec}", 1) // by controllers
	spec, errs = kindstest.Normalised(t, kindstest.Kind(t, Kinds(), "AzureCluster"), "v1beta1", written, nil)
	if got := kindstest.YAML(t, spec); len(errs) > 0 || got != want {
		t.Errorf("what controllers write is normalised to %v\n%s", errs, got)
	}
}

// TestMachines: the same of machines.
func TestMachines(t *testing.T) {
	for reason, tc := range map[string]struct{ spec, wrong string }{
		"the least":                 {machine, ""},
		"no size":                   {"{}", "spec.template.spec.vmSize"},
		"a key that is no key":      {machine + "sshPublicKey: ssh-rsa", "sshPublicKey"},
		"an identity with id":       {machine + "identity: UserAssigned\nuserAssignedIdentities: [{providerID: 'azure:///subscriptions/a/b'}]", ""},
		"identities without saying": {machine + "userAssignedIdentities: [{providerID: 'azure:///subscriptions/a/b'}]", "userAssignedIdentities"},
		"no identities":             {machine + "identity: UserAssigned", "userAssignedIdentities"},
		"an identity of its own":    {machine + "identity: SystemAssigned", "spec.template.spec.identity"},
		"a scale set":               {machine + "virtualMachineScaleSetID: azure:///subscriptions/a/resourceGroups/b/providers/Microsoft.Compute/virtualMachineScaleSets/c", ""},
		"no scale set":              {machine + "virtualMachineScaleSetID: /subscriptions/a/resourceGroups/b/providers/Microsoft.Compute/availabilitySets/c", "virtualMachineScaleSetID"},
		"an extension":              {machine + "vmExtensions: [{name: CustomScript, publisher: p, version: '2.1', settings: {a: b}, protectedSettings: {c: d}}]", ""},
		"an extension twice":        {machine + "vmExtensions: [{name: a, publisher: p, version: '2.1'}, {name: A, publisher: p, version: '2.1'}]", "vmExtensions[1].name"},
		"one without a name":        {machine + "vmExtensions: [{publisher: p, version: '2.1'}]", "vmExtensions[0].name"},
		"one with a path":           {machine + "vmExtensions: [{name: a/b, publisher: p, version: '2.1'}]", "vmExtensions[0].name"},
		"one of nobody":             {machine + "vmExtensions: [{name: a, version: '2.1'}]", "vmExtensions[0].publisher"},
		"one of no version":         {machine + "vmExtensions: [{name: a, publisher: p}]", "vmExtensions[0].version"},
		"one that is kept out":      {machine + "disableExtensionOperations: true\nvmExtensions: [{name: a, publisher: p, version: '2.1'}]", "spec.vmExtensions"},
		"Windows":                   {machine + "osDisk: {osType: Windows}", "osDisk.osType"},
		"spot":                      {machine + "spotVMOptions: {maxPrice: '0.3'}", ""},
		"a spot that sleeps":        {machine + "spotVMOptions: {evictionPolicy: Deallocate}", "spotVMOptions.evictionPolicy"},
		"disks":                     {machine + "dataDisks: [{nameSuffix: etcd, diskSizeGB: 256, lun: 0}]", ""},
		"a disk without a number":   {machine + "dataDisks: [{nameSuffix: etcd, diskSizeGB: 256}]", "dataDisks[0].lun"},
		"a number twice":            {machine + "dataDisks: [{nameSuffix: a, diskSizeGB: 1, lun: 0}, {nameSuffix: b, diskSizeGB: 1, lun: 0}]", "dataDisks[1].lun"},
		"two images":                {machine + "image: {id: /a, marketplace: {publisher: a, offer: b, sku: c, version: d}}", "spec.template.spec.image"},
		"an image of the community": {machine + "image: {computeGallery: {gallery: a, name: b, version: c}}", ""},
		"half of a name":            {machine + "image: {computeGallery: {gallery: a, name: b}}", "image.computeGallery.version"},
		"an ephemeral disk":         {machine + "osDisk: {cachingType: ReadOnly, diffDiskSettings: {option: Local}, diskSizeGB: 50}", ""},
		"a public address":          {machine + "allocatePublicIP: true\ndnsServers: [10.0.0.10, '2001:db8::1']", ""},
		"a name as a DNS server":    {machine + "dnsServers: [dns.example.org]", "spec.template.spec.dnsServers[0]"},
		"several addresses":         {machine + "networkInterfaces: [{privateIPConfigs: 2}]", "networkInterfaces[0].privateIPConfigs"},
		"two places for a subnet":   {machine + "subnetName: a\nnetworkInterfaces: [{subnetName: b}]", "spec.template.spec.subnetName"},
	} {
		_, errs := kindstest.Normalised(t, kindstest.Kind(t, Kinds(), "AzureMachineTemplate"), "v1beta1", tc.spec, nil)
		kindstest.Check(t, kindstest.Text(errs), tc.wrong, reason)
	}
}

// TestPools: the same of pools of machines.
func TestPools(t *testing.T) {
	const least = "location: westeurope\ntemplate: {vmSize: Standard_D4s_v5}\n"
	for reason, tc := range map[string]struct{ spec, wrong string }{
		"the least":                     {least, ""},
		"no size":                       {"{}", "spec.template.vmSize"},
		"an identity with id":           {least + "identity: UserAssigned\nuserAssignedIdentities: [{providerID: 'azure:///subscriptions/a/b'}]", ""},
		"no identities":                 {least + "identity: UserAssigned", "spec.userAssignedIdentities"},
		"an identity of its own":        {least + "identity: SystemAssigned", "spec.identity"},
		"a tag of Fairlead":             {least + "additionalTags: {fairlead.dev_fleet: a}", "spec.additionalTags[fairlead.dev_fleet]"},
		"a disk without a number":       {"template: {vmSize: a, dataDisks: [{nameSuffix: a, diskSizeGB: 1}]}", "spec.template.dataDisks[0].lun"},
		"what controllers write":        {least + "providerID: a\nproviderIDList: [b]\norchestrationMode: Flexible", ""},
		"a share":                       {least + "strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 1, deletePolicy: Newest}}", ""},
		"no share":                      {least + "strategy: {rollingUpdate: {maxSurge: some}}", "spec.strategy.rollingUpdate.maxSurge"},
		"less than none":                {least + "strategy: {rollingUpdate: {maxUnavailable: -1}}", "spec.strategy.rollingUpdate.maxUnavailable"},
		"none may go":                   {least + "strategy: {rollingUpdate: {maxSurge: 0}}", "spec.strategy.rollingUpdate"},
		"an order that nothing has":     {least + "strategy: {rollingUpdate: {deletePolicy: Largest}}", "spec.strategy.rollingUpdate.deletePolicy"},
		"a strategy that nothing has":   {least + "strategy: {type: OnDelete}", "spec.strategy.type"},
		"fault domains":                 {least + "platformFaultDomainCount: 2", ""},
		"no fault domains":              {least + "platformFaultDomainCount: 0", "spec.platformFaultDomainCount"},
		"many fault domains":            {least + "platformFaultDomainCount: 4", "spec.platformFaultDomainCount"},
		"a notice":                      {"template: {vmSize: a, terminateNotificationTimeout: 10}", ""},
		"a notice that is short":        {"template: {vmSize: a, terminateNotificationTimeout: 4}", "spec.template.terminateNotificationTimeout"},
		"a notice that is long":         {"template: {vmSize: a, terminateNotificationTimeout: 16}", "spec.template.terminateNotificationTimeout"},
		"no balance":                    {least + "zoneBalance: false", ""},
		"a balance":                     {least + "zoneBalance: true", "spec.zoneBalance"},
		"a spot that sleeps, in a pool": {"template: {vmSize: a, spotVMOptions: {evictionPolicy: Deallocate}}", "spec.template.spotVMOptions.evictionPolicy"},
	} {
		_, errs := kindstest.Normalised(t, kindstest.Kind(t, Kinds(), "AzureMachinePool"), "v1beta1", tc.spec, nil)
		kindstest.Check(t, kindstest.Text(errs), tc.wrong, reason)
	}
}

// TestIdentities: all types of CAPZ are honoured, each with its own fields.
func TestIdentities(t *testing.T) {
	const ids, secret = "tenantID: t, clientID: c, ", "clientSecret: {name: s}"
	for spec, wrong := range map[string]string{
		"{type: ServicePrincipal, " + ids + secret + "}":                                                                                             "",
		"{type: ManualServicePrincipal, " + ids + secret + "}":                                                                                       "",
		"{type: ServicePrincipal, tenantID: t, clientID: c}":                                                                                         "spec.clientSecret.name",
		"{type: ServicePrincipal, clientID: c, clientSecret: {name: s}}":                                                                             "spec.tenantID",
		"{type: ServicePrincipal, tenantID: t, clientSecret: {name: s}}":                                                                             "spec.clientID",
		"{type: ServicePrincipal, tenantID: a/b, clientID: c, clientSecret: {name: s}}":                                                              "spec.tenantID",
		"{type: ServicePrincipal, certPath: /a, " + ids + secret + "}":                                                                               "spec.certPath",
		"{type: ServicePrincipal, resourceID: /a, " + ids + secret + "}":                                                                             "",
		"{type: WorkloadIdentity, tenantID: t, clientID: c}":                                                                                         "",
		"{type: WorkloadIdentity, " + ids + secret + "}":                                                                                             "reads no Secret here",
		"{type: UserAssignedMSI, tenantID: t, clientID: c}":                                                                                          "",
		"{type: UserAssignedMSI, tenantID: t}":                                                                                                       "spec.clientID",
		"{type: UserAssignedIdentityCredential, tenantID: t, clientID: c}":                                                                           "spec.userAssignedIdentityCredentialsPath",
		"{type: UserAssignedIdentityCredential, " + ids + "userAssignedIdentityCredentialsPath: /a}":                                                 "",
		"{type: UserAssignedIdentityCredential, " + ids + "userAssignedIdentityCredentialsPath: /a, userAssignedIdentityCredentialsCloudType: moon}": "spec.userAssignedIdentityCredentialsCloudType",
		"{type: WorkloadIdentity, " + ids + "userAssignedIdentityCredentialsPath: /a}":                                                               "spec.userAssignedIdentityCredentialsPath",
		"{type: WorkloadIdentity, " + ids + "userAssignedIdentityCredentialsCloudType: china}":                                                       "spec.userAssignedIdentityCredentialsCloudType",
		"{type: ServicePrincipalCertificate, " + ids + secret + "}":                                                                                  "",
		"{type: ServicePrincipalCertificate, " + ids + "certPath: /a}":                                                                               "",
		"{type: ServicePrincipalCertificate, " + ids + "certPath: /a, " + secret + "}":                                                               "spec.clientSecret.name",
		"{type: ServicePrincipalCertificate, tenantID: t, clientID: c}":                                                                              "spec.clientSecret.name",
		"{type: Password}": "spec.type",
	} {
		_, errs := kindstest.Normalised(t, kindstest.Kind(t, Kinds(), "AzureClusterIdentity"), "v1beta1", spec, nil)
		kindstest.Check(t, kindstest.Text(errs), wrong, spec)
	}
}

// TestEmptyInterface: an interface that people wrote counts in the hash of machines, as ever.
func TestEmptyInterface(t *testing.T) {
	normal, errs := kindstest.Normalised(t, kindstest.Kind(t, Kinds(), "AzureMachineTemplate"), "v1beta1", machine+"networkInterfaces: [{}]", nil)
	if got := kindstest.YAML(t, normal); len(errs) > 0 || !strings.Contains(got, "networkInterfaces:\n- {}") {
		t.Errorf("%v\n%s", errs, got)
	}
}

// TestWrittenByWebhooks: what webhooks and controllers of Cluster API write into objects says nothing that the same without it
// does not say: they can be adopted.
func TestWrittenByWebhooks(t *testing.T) {
	for kind, specs := range map[string][2]string{
		"AzureCluster": {
			cluster + "networkSpec: {subnets: [{role: control-plane}, {role: node, natGateway: {name: a, ip: {name: b}}, routeTable: {name: c}}]}",
			cluster + "bastionSpec: {}\ncontrolPlaneEnabled: true\nnetworkSpec: {subnets: [{role: control-plane, id: /a, natGateway: {name: '', ip: {name: ''}}, routeTable: {name: ''}}, {role: node, natGateway: {id: /b, name: a, ip: {name: b}}, routeTable: {id: /c, name: c}}]}",
		},
		"AzureCluster of a bastion": {
			cluster + "bastionSpec: {azureBastion: {}}",
			cluster + "bastionSpec: {azureBastion: {enableTunneling: false, sku: Basic, publicIP: {name: ''}, subnet: {id: /a, name: AzureBastionSubnet, role: bastion, natGateway: {name: '', ip: {name: ''}}, routeTable: {name: ''}, securityGroup: {name: ''}}}}",
		},
		"AzureClusterTemplate": {
			"location: westeurope\nnetworkSpec: {subnets: [{role: control-plane}, {role: node}]}",
			"location: westeurope\nnetworkSpec: {subnets: [{role: control-plane, natGateway: {name: ''}}, {role: node, natGateway: {name: ''}}]}",
		},
		"AzureMachineTemplate": {machine, machine + "networkInterfaces: [{privateIPConfigs: 1}]"},
		"AzureMachine":         {machine + "networkInterfaces: [{subnetName: a}, {}]", machine + "networkInterfaces: [{subnetName: a, privateIPConfigs: 1}, {privateIPConfigs: 1}]"},
		"AzureMachinePool":     {"template: {vmSize: a}", "template: {vmSize: a, networkInterfaces: [{privateIPConfigs: 1}]}"},
	} {
		var got [2]string
		for i, spec := range specs {
			normal, errs := kindstest.Normalised(t, kindstest.Kind(t, Kinds(), strings.Fields(kind)[0]), "v1beta1", spec, nil)
			if len(errs) > 0 {
				t.Errorf("%s: %v", kind, errs)
				continue
			}
			got[i] = kindstest.YAML(t, normal)
		}
		if strings.Contains(got[1], "privateIPConfigs") || got[0] != got[1] {
			t.Errorf("%s: without what is written\n%s\nwith it\n%s", kind, got[0], got[1])
		}
	}
}
