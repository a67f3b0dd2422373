package decode

import "maps"

// The answers of private endpoints and of outbound load balancers.
const (
	keepsService = "in place where one is added or removed; one that is there keeps its service and its subnet"
	outbound     = "in place: addresses are added, and idleTimeoutInMinutes changes; new machines are behind a load balancer that is added, and one that went stays until the cluster goes"
)

// reviewedAnswers says, by "Kind path", what happens when fields change that no
// test changes here: of the provider's kinds that are no machines, and of what is in
// the cluster. For OpenStackCluster the tests of package network hold it, TestStays
// and TestDrift.
func reviewedAnswers() map[string]string {
	out := metal3Answers()
	maps.Copy(out, otherAnswers())
	maps.Copy(out, eksAnswers())
	maps.Copy(out, aksAnswers())
	return out
}

// eksAnswers are those of EKS. TestManagedTraps, TestAccessEntries, TestAddons, TestTrust, TestFargate, TestFargateStays, TestImagesOfWorkers, TestNodegroups, TestLaunchTemplate and TestFixedLaunchTemplate of package aws hold them.
func eksAnswers() map[string]string {
	const (
		own   = "in place"
		stays = "refused: the cluster keeps it, and reports it"
		keeps = "refused: the node group keeps it, and the cluster reports it; use a pool with another name"
		nodes = "in place: EKS gives it to the Nodes"
	)
	return map[string]string{
		"NodeadmConfig":                                               answerTo("TemplateMachine", ""),
		"NodeadmConfigTemplate":                                       replaces,
		"AWSMachinePool spec.availabilityZones":                       "next machine",
		"AWSMachinePool spec.availabilityZoneSubnetType":              "next machine",
		"AWSMachinePool spec.refreshPreferences":                      own,
		"AWSMachinePool spec.subnets":                                 "next machine",
		"AWSManagedControlPlane metadata":                             "nothing: no annotation of this kind does anything",
		"AWSManagedControlPlane spec.accessConfig.authenticationMode": "in place from config_map by way of api_and_config_map to api; refused on the way back",
		"AWSManagedControlPlane spec.accessConfig.bootstrapClusterCreatorAdminPermissions": "next cluster",
		"AWSManagedControlPlane spec.accessEntries":                                        own,
		"AWSManagedControlPlane spec.accessEntries.type":                                   "refused: EKS changes it of no entry, and the cluster reports it",
		"AWSManagedControlPlane spec.disableVPCCNI":                                        "in place, once: nothing brings back what was deleted",
		"AWSManagedControlPlane spec.kubeProxy":                                            "in place, once: nothing brings back what was deleted",
		"AWSManagedControlPlane spec.vpcCni":                                               "in place, once: nothing brings back what was deleted",
		"AWSManagedControlPlane spec.vpcCni.env":                                           "in place: variables that leave Git stay",
		"AWSManagedControlPlane spec.iamAuthenticatorConfig":                               "the ConfigMap aws-auth of the cluster changes",
		"AWSManagedControlPlane spec.additionalTags":                                       "in place: tags are added and changed; others stay",
		"AWSManagedControlPlane spec.oidcIdentityProviderConfig":                           "in place: EKS disassociates it, and associates it again",
		"AWSManagedControlPlane spec.associateOIDCProvider":                                "in place: the OIDC provider is made, or deleted",
		"AWSManagedControlPlane spec.addons":                                               own,
		"AWSManagedControlPlane spec.addons.conflictResolution":                            "in place: with the next change of the addon",
		"AWSManagedControlPlane spec.addons.name":                                          "in place: the addon of the old name is deleted, and one of the new name installed",
		"AWSManagedControlPlane spec.bootstrapSelfManagedAddons":                           "next cluster",
		"AWSManagedControlPlane spec.eksClusterName":                                       stays,
		"AWSManagedControlPlane spec.encryptionConfig":                                     "in place for a cluster without; else refused: the cluster keeps its key, and reports it",
		"AWSManagedControlPlane spec.endpointAccess":                                       own,
		"AWSManagedControlPlane spec.identityRef":                                          "in place: with the next look; refused if it leads to another account",
		"AWSManagedControlPlane spec.imageLookupBaseOS":                                    "next machine",
		"AWSManagedControlPlane spec.imageLookupFormat":                                    "next machine",
		"AWSManagedControlPlane spec.imageLookupOrg":                                       "next machine",
		"AWSManagedControlPlane spec.sshKeyName":                                           "next machine",
		"AWSManagedControlPlane spec.logging":                                              own,
		"AWSManagedControlPlane spec.network":                                              "as that of an AWSCluster",
		"AWSManagedControlPlane spec.network.subnets":                                      "in place: EKS gets other subnets of the VPC",
		"AWSManagedControlPlane spec.region":                                               "refused: the cluster is in it, and reports it",
		"AWSManagedControlPlane spec.restrictPrivateSubnets":                               "next cluster, and in place where Git names subnets",
		"AWSManagedControlPlane spec.roleName":                                             stays,
		"AWSManagedControlPlane spec.rolePath":                                             stays,
		"AWSManagedControlPlane spec.tokenMethod":                                          "in place: the kubeconfig for people changes",
		"AWSManagedControlPlane spec.upgradePolicy":                                        own,
		"AWSManagedControlPlane spec.version":                                              "in place, by one minor version at a time; refused on the way back",

		"AWSFargateProfile spec":                       "refused: the profile keeps it, and the cluster reports it; set another profileName",
		"AWSFargateProfile spec.additionalTags":        "in place: tags are added and changed; others stay",
		"AWSFargateProfile spec.clusterName":           "in place: the profile of the old cluster is deleted, and one of the other cluster made",
		"AWSFargateProfile spec.profileName":           "in place: a profile of the new name is made, and that of the old name deleted",
		"AWSManagedMachinePool spec":                   keeps,
		"AWSManagedMachinePool spec.additionalTags":    "in place: tags are added and changed; others stay; with a launch template EKS replaces the machines",
		"AWSManagedMachinePool spec.amiVersion":        "in place: EKS replaces the machines",
		"AWSManagedMachinePool spec.awsLaunchTemplate": "in place: another version, by which EKS replaces the machines; its name, and whether there is one, stay",
		"AWSManagedMachinePool spec.labels":            nodes,
		"AWSManagedMachinePool spec.nodeRepairConfig":  own,
		"AWSManagedMachinePool spec.scaling":           own,
		"AWSManagedMachinePool spec.taints":            nodes,
		"AWSManagedMachinePool spec.updateConfig":      own,
	}
}

// aksAnswers are those of AKS. TestManagedPlane, TestManagedChanges and TestAgentPools of package azure hold them.
func aksAnswers() map[string]string {
	const (
		own   = "in place"
		adds  = "in place; what Git no longer names stays"
		stays = "refused: the cluster keeps it, and reports it"
		keeps = "refused: the agent pool keeps it, and the cluster reports it; use a pool with another name"
	)
	return map[string]string{
		"AzureMachinePool spec.location":                                            "refused: no machine is created until it is that of the cluster",
		"AzureMachinePool spec.platformFaultDomainCount":                            "next availability set: one that exists keeps it",
		"AzureMachinePool spec.template.terminateNotificationTimeout":               "next machines",
		"AzureMachinePool spec.zoneBalance":                                         "nothing: only false is possible",
		"AzureMachinePool spec.strategy":                                            own,
		"AzureManagedControlPlane metadata":                                         "nothing: no annotation of this kind does anything",
		"AzureManagedControlPlane spec":                                             adds,
		"AzureManagedControlPlane spec.additionalTags":                              "in place: tags are added and changed; others stay",
		"AzureManagedControlPlane spec.apiServerAccessProfile.enablePrivateCluster": stays,
		"AzureManagedControlPlane spec.apiServerAccessProfile.privateDNSZone":       stays,
		"AzureManagedControlPlane spec.azureEnvironment":                            stays,
		"AzureManagedControlPlane spec.disableLocalAccounts":                        "nothing: only false is possible",
		"AzureManagedControlPlane spec.dnsPrefix":                                   stays,
		"AzureManagedControlPlane spec.dnsServiceIP":                                stays,
		"AzureManagedControlPlane spec.enablePreviewFeatures":                       "nothing: only false is possible",
		"AzureManagedControlPlane spec.extensions.aksAssignedIdentityType":          stays,
		"AzureManagedControlPlane spec.extensions.extensionType":                    stays,
		"AzureManagedControlPlane spec.extensions.identity":                         stays,
		"AzureManagedControlPlane spec.extensions.plan":                             stays,
		"AzureManagedControlPlane spec.extensions.scope":                            stays,
		"AzureManagedControlPlane spec.fleetsMember":                                "in place: the group follows Git; another name or fleet is another membership, and the former one stays",
		"AzureManagedControlPlane spec.identityRef":                                 "in place: with the next look; it has to be for the same subscription",
		"AzureManagedControlPlane spec.kubeletUserAssignedIdentity":                 stays,
		"AzureManagedControlPlane spec.loadBalancerSKU":                             "nothing: only Standard is possible",
		"AzureManagedControlPlane spec.location":                                    stays,
		"AzureManagedControlPlane spec.networkPlugin":                               stays,
		"AzureManagedControlPlane spec.networkPolicy":                               stays,
		"AzureManagedControlPlane spec.nodeResourceGroupName":                       stays,
		"AzureManagedControlPlane spec.oidcIssuerProfile.enabled":                   "in place from false to true; refused on the way back",
		"AzureManagedControlPlane spec.resourceGroupName":                           stays,
		"AzureManagedControlPlane spec.sshPublicKey":                                stays,
		"AzureManagedControlPlane spec.subscriptionID":                              stays,
		"AzureManagedControlPlane spec.version":                                     "in place, by one minor version at a time; refused on the way back",
		"AzureManagedControlPlane spec.virtualNetwork":                              stays,
		"AzureManagedControlPlane spec.virtualNetwork.subnet.privateEndpoints":      keepsService,
		"AzureManagedControlPlane spec.virtualNetwork.subnet.serviceEndpoints":      "next cluster: a subnet keeps what it was made with",
		"AzureManagedMachinePool spec":                                              keeps,
		"AzureManagedMachinePool spec.additionalTags":                               "in place: tags are added and changed; others stay",
		"AzureManagedMachinePool spec.mode":                                         own,
		"AzureManagedMachinePool spec.nodeLabels":                                   "in place: AKS gives them to the Nodes",
		"AzureManagedMachinePool spec.scaleDownMode":                                own,
		"AzureManagedMachinePool spec.scaling":                                      "in place: AKS decides the number of machines within the bounds; without them, Git",
		"AzureManagedMachinePool spec.taints":                                       "in place: AKS gives them to the Nodes",
	}
}

// metal3Answers are those of Metal3. The tests of package metal3 and of the packages below it hold
// them: TestMovedBeneathMachine, TestSecondLook and those of package host.
func metal3Answers() map[string]string {
	const (
		nextOnHost = "next machines on the host"
		prepared   = "in place once no machine has the host: it is prepared again; while one has, the host is held and says what waits"
		serviced   = "in place once no machine has the host, or by servicing while people keep the machine off; else the host is held and says what waits"
		told       = "in place: Ironic is updated"
	)
	return map[string]string{
		"Metal3Cluster spec.controlPlaneEndpoint": answerTo("Cluster.Endpoint", ""),
		"Metal3Cluster spec.cloudProviderEnabled": "nothing: no machine and no Node depends on it",
		"Metal3Cluster spec.noCloudProvider":      "nothing: no machine and no Node depends on it",
		"Metal3Cluster spec.failureDomains":       "next machines",
		"Metal3Cluster spec.virtualIP":            "next machines of the control plane",
		"Metal3DataTemplate spec":                 "replaces machines that have it",
		"IPPool spec":                             "next machines that take an address",

		"BareMetalHost spec.bmc.address":                        "in place for the protocol, and while the BMC never answered; else refused: the host is held and says so, and a machine on it runs on",
		"BareMetalHost spec.bmc.credentialsName":                told,
		"BareMetalHost spec.bmc.disableCertificateVerification": told,
		"BareMetalHost spec.bootMACAddress":                     "refused: the host is held and says so, and a machine on it runs on",
		"BareMetalHost spec.raid":                               prepared,
		"BareMetalHost spec.rootDeviceHints":                    nextOnHost,
		"BareMetalHost spec.bootMode":                           nextOnHost,
		"BareMetalHost spec.architecture":                       nextOnHost,
		"BareMetalHost spec.online":                             "in place: the host is switched on or off, and a machine on it with it",
		"BareMetalHost spec.externallyProvisioned":              "in place for a host that Ironic has deployed nothing on",
		"BareMetalHost spec.automatedCleaningMode":              "in place: when a machine goes",
		"BareMetalHost spec.inspectionMode":                     "in place: when the host is inspected",
		"HostFirmwareSettings spec":                             serviced,
		"HostFirmwareComponents spec":                           serviced,
	}
}

// otherAnswers are those of all other kinds.
func otherAnswers() map[string]string {
	const (
		stays     = "refused: the machines are on it, the cluster reports it and does not change"
		known     = "refused: the machines know the API server by it, the cluster reports it and does not change"
		nextLook  = "in place: with the next look"
		placed    = "next machines"
		nextFloat = "next machines that take an address"
		servers   = "next machines of the control plane"
		cloud     = "in place: Nodes get it; a cloud that keeps the pool gives it to Nodes in its own way"
		own       = "in place"
	)
	return map[string]string{
		// What reconcile/plan does with a pool that a cloud keeps: TestKeptPools. What the in-memory cloud
		// does with one: TestPoolIsChanged. One whose machines Fairlead creates is as a MachineDeployment.
		"MachinePool metadata.annotations":                                    "in place: others or Git decide the number of machines, or the pool is paused",
		"MachinePool spec.clusterName":                                        "refused where it does not fit the rest",
		"MachinePool spec.replicas":                                           "in place: machines are created and deleted",
		"MachinePool spec.failureDomains":                                     "next machines; refused for a pool that a cloud keeps: it stays in its zones, the cluster reports it; use a pool with another name",
		"MachinePool spec.minReadySeconds":                                    "in place: counts Nodes later or earlier",
		"MachinePool spec.template.metadata.labels":                           cloud,
		"MachinePool spec.template.metadata.annotations":                      own,
		"MachinePool spec.template.spec.bootstrap.configRef":                  "replaces machines; an object with another name and the same content changes nothing",
		"MachinePool spec.template.spec.deletion":                             own,
		"MachinePool spec.template.spec.nodeDrainTimeout":                     own,
		"MachinePool spec.template.spec.nodeVolumeDetachTimeout":              own,
		"MachinePool spec.template.spec.readinessGates":                       own,
		"MachinePool spec.template.spec.clusterName":                          "refused where it does not fit the rest",
		"MachinePool spec.template.spec.infrastructureRef":                    "replaces machines, or, where a cloud keeps the pool, refused if the cloud cannot change it; an object with another name and the same content changes nothing",
		"MachinePool spec.template.spec.minReadySeconds":                      "in place: counts Nodes later or earlier",
		"MachinePool spec.template.spec.taints":                               cloud,
		"MachinePool spec.template.spec.version":                              "replaces machines, once the control plane has the version; a cloud that keeps the pool replaces them, and never goes back",
		"DevMachinePool spec.backend.inMemory":                                "next machines",
		"DevMachinePool spec.backend.inMemory.instanceType":                   "refused: the pool keeps it, the cluster reports it; use a pool with another name",
		"OpenStackCluster spec.managedSubnets.cidr":                           "in place where a range is added: its subnet is made; one that changed or went is refused, as the machines are on it",
		"OpenStackCluster spec.managedSubnets.dnsNameservers":                 inPlace,
		"OpenStackCluster spec.managedSubnets.allocationPools":                inPlace,
		"OpenStackCluster spec.managedRouter":                                 inPlace,
		"OpenStackCluster spec.externalRouterIPs":                             inPlace,
		"OpenStackCluster spec.managedNetwork":                                stays,
		"OpenStackCluster spec.networkMTU":                                    stays,
		"OpenStackCluster spec.disablePortSecurity":                           stays,
		"OpenStackCluster spec.network":                                       stays,
		"OpenStackCluster spec.subnets":                                       "next machines, where subnets are added; refused if the machines have no addresses in them",
		"OpenStackCluster spec.primarySubnet":                                 stays,
		"OpenStackCluster spec.router":                                        "refused for a managed network, which is connected to another; in place for one that exists: the addresses that allowedCIDRs lets in",
		"OpenStackCluster spec.externalNetwork":                               stays,
		"OpenStackCluster spec.enableExternalNetwork":                         stays,
		"OpenStackCluster spec.disableExternalNetwork":                        stays,
		"OpenStackCluster spec.apiServer":                                     known,
		"OpenStackCluster spec.apiServer.port":                                known,
		"OpenStackCluster spec.apiServer.fixedIP":                             known,
		"OpenStackCluster spec.apiServerPort":                                 known,
		"OpenStackCluster spec.apiServerFixedIP":                              known,
		"OpenStackCluster spec.apiServerFloatingIP":                           known,
		"OpenStackCluster spec.disableAPIServerFloatingIP":                    known,
		"OpenStackCluster spec.apiServerLoadBalancer":                         known,
		"OpenStackCluster spec.apiServerLoadBalancer.additionalPorts":         inPlace,
		"OpenStackCluster spec.apiServerLoadBalancer.allowedCIDRs":            inPlace,
		"OpenStackCluster spec.apiServerLoadBalancer.monitor":                 inPlace,
		"OpenStackCluster spec.apiServer.managedLoadBalancer.additionalPorts": inPlace,
		"OpenStackCluster spec.apiServer.managedLoadBalancer.allowedCIDRs":    inPlace,
		"OpenStackCluster spec.apiServer.managedLoadBalancer.monitor":         inPlace,
		"OpenStackCluster spec.managedSecurityGroups":                         "in place; to have them, or none, is refused where machines were made otherwise",
		"OpenStackCluster spec.tags":                                          "in place for what Neutron has; next machines and load balancers",
		"OpenStackCluster spec.controlPlaneEndpoint":                          answerTo("Cluster.Endpoint", ""),
		"OpenStackCluster spec.controlPlaneAvailabilityZones":                 "next machines; a zone that Nova does not have is refused",
		"OpenStackCluster spec.controlPlaneOmitAvailabilityZone":              placed,
		"OpenStackCluster spec.bastion":                                       "in place: the bastion is recreated, or removed",
		"OpenStackCluster spec.identityRef":                                   "in place: with the next look; it has to be for the same project",
		"OpenStackClusterIdentity spec":                                       nextLook,
		"OpenStackFloatingIPPool spec":                                        nextFloat,
		"OpenStackFloatingIPPool spec.reclaimPolicy":                          "in place: when a machine goes",
		"Image spec.managementPolicy":                                         "replaces machines that boot from it",
		"Image spec.import":                                                   "replaces machines that boot from it",
		"Image spec.resource":                                                 "next machines: another image is made, and the former one goes when no server boots from it",
		"Image spec.resource.content":                                         "replaces machines that boot from it: another image is made",
		"Image spec.resource.properties":                                      "replaces machines that boot from it: another image is made",
		"Image spec.managedOptions":                                           "in place: when no cluster uses the image any more",
		"Image spec.cloudCredentialsRef":                                      "in place: with the next look; it has to be for the same project",

		// TestDaemonRestarts of package docker holds the first of these.
		"DockerCluster spec.controlPlaneEndpoint":       known,
		"DockerCluster spec.failureDomains":             placed,
		"DockerCluster spec.loadBalancer":               "next cluster: a load balancer keeps the image that it was made with",
		"DevCluster spec.backend.docker.failureDomains": placed,
		"DevCluster spec.backend.docker.loadBalancer":   "next cluster: a load balancer keeps the image that it was made with",

		"AWSCluster spec.additionalTags":                                           "in place: tags are added and changed; others stay, and so do those of volumes, network interfaces and listeners",
		"AWSCluster spec.bastion":                                                  "in place where it is enabled or disabled; one that is there stays as it was made",
		"AWSCluster spec.bastion.allowedCIDRBlocks":                                inPlace,
		"AWSCluster spec.bastion.disableIngressRules":                              inPlace,
		"AWSCluster spec.controlPlaneEndpoint":                                     answerTo("Cluster.Endpoint", ""),
		"AWSCluster spec.controlPlaneLoadBalancer":                                 "next cluster: a load balancer keeps what it was made with",
		"AWSCluster spec.controlPlaneLoadBalancer.additionalListeners":             "in place where one is added, and its health check; one that went stays until the cluster goes",
		"AWSCluster spec.controlPlaneLoadBalancer.crossZoneLoadBalancing":          inPlace,
		"AWSCluster spec.controlPlaneLoadBalancer.healthCheck":                     inPlace,
		"AWSCluster spec.controlPlaneLoadBalancer.healthCheckProtocol":             inPlace,
		"AWSCluster spec.controlPlaneLoadBalancer.ingressRules":                    inPlace,
		"AWSCluster spec.controlPlaneLoadBalancer.loadBalancerType":                known,
		"AWSCluster spec.controlPlaneLoadBalancer.preserveClientIP":                inPlace,
		"AWSCluster spec.controlPlaneLoadBalancer.scheme":                          known,
		"AWSCluster spec.identityRef":                                              "in place: with the next look; it has to be for the same account",
		"AWSCluster spec.imageLookupBaseOS":                                        placed,
		"AWSCluster spec.imageLookupFormat":                                        placed,
		"AWSCluster spec.imageLookupOrg":                                           placed,
		"AWSCluster spec.network.additionalControlPlaneIngressRules":               inPlace,
		"AWSCluster spec.network.additionalNodeIngressRules":                       inPlace,
		"AWSCluster spec.network.cni":                                              inPlace,
		"AWSCluster spec.network.nodePortIngressRuleCidrBlocks":                    inPlace,
		"AWSCluster spec.network.securityGroupOverrides":                           placed,
		"AWSCluster spec.network.subnets":                                          "in place where one is added; of one that is there only tags may change, which does nothing; one that went stays until the cluster goes",
		"AWSCluster spec.network.vpc":                                              stays,
		"AWSCluster spec.network.vpc.availabilityZoneSelection":                    "next cluster: one that has machines keeps its zones",
		"AWSCluster spec.network.vpc.availabilityZoneUsageLimit":                   "next cluster: one that has machines keeps its zones",
		"AWSCluster spec.network.vpc.elasticIpPool":                                "next cluster: a NAT gateway keeps its address",
		"AWSCluster spec.network.vpc.emptyRoutesDefaultVPCSecurityGroup":           "in place; rules that were removed stay so",
		"AWSCluster spec.network.vpc.ipamPool":                                     "next cluster: a VPC keeps the range that a pool gave it",
		"AWSCluster spec.network.vpc.privateDnsHostnameTypeOnLaunch":               placed,
		"AWSCluster spec.network.vpc.secondaryCidrBlocks":                          "in place where one is added; one that went stays until the cluster goes",
		"AWSCluster spec.network.vpc.tags":                                         "next cluster: a VPC keeps the tags that it was made with",
		"AWSCluster spec.partition":                                                "nothing: the region says it",
		"AWSCluster spec.region":                                                   stays,
		"AWSCluster spec.s3Bucket":                                                 "in place: the policy of a bucket that was made follows",
		"AWSCluster spec.s3Bucket.bestEffortDeleteObjects":                         "in place: when an object is deleted",
		"AWSCluster spec.s3Bucket.name":                                            "next machines; a bucket that was made for the cluster stays when Git names another one",
		"AWSCluster spec.s3Bucket.presignedURLDuration":                            "next machines; the policy of a bucket that was made follows",
		"AWSCluster spec.secondaryControlPlaneLoadBalancer":                        "in place where it is added and removed; else it keeps what it was made with",
		"AWSCluster spec.secondaryControlPlaneLoadBalancer.additionalListeners":    "in place where one is added, and its health check; one that went stays until the load balancer goes",
		"AWSCluster spec.secondaryControlPlaneLoadBalancer.crossZoneLoadBalancing": inPlace,
		"AWSCluster spec.secondaryControlPlaneLoadBalancer.healthCheck":            inPlace,
		"AWSCluster spec.secondaryControlPlaneLoadBalancer.healthCheckProtocol":    inPlace,
		"AWSCluster spec.secondaryControlPlaneLoadBalancer.ingressRules":           inPlace,
		"AWSCluster spec.secondaryControlPlaneLoadBalancer.preserveClientIP":       inPlace,
		"AWSCluster spec.sshKeyName":                                               placed,
		"AzureCluster spec.additionalTags":                                         "next machines, and what else is made from then on",
		"AzureCluster spec.azureEnvironment":                                       stays,
		"AzureCluster spec.bastionSpec":                                            "in place where it is added or removed; one that is there keeps its settings until people delete it, and then it is created again",
		"AzureCluster spec.cloudProviderConfigOverrides":                           "next machines",
		"AzureCluster spec.networkSpec.subnets.natGateway.ip.dnsName":              inPlace,
		"AzureCluster spec.controlPlaneEnabled":                                    "nothing: only true is possible",
		"AzureCluster spec.controlPlaneEndpoint":                                   answerTo("Cluster.Endpoint", ""),
		"AzureCluster spec.failureDomains":                                         placed,
		"AzureCluster spec.identityRef":                                            "in place: with the next look; it has to be for the same subscription",
		"AzureCluster spec.location":                                               stays,
		"AzureCluster spec.networkSpec.additionalAPIServerLBPorts":                 inPlace,
		"AzureCluster spec.networkSpec.apiServerLB":                                "next cluster: a load balancer keeps what it was made with",
		"AzureCluster spec.networkSpec.apiServerLB.frontendIPs":                    known,
		"AzureCluster spec.networkSpec.apiServerLB.frontendIPsCount":               "nothing: only 1 is possible",
		"AzureCluster spec.networkSpec.apiServerLB.idleTimeoutInMinutes":           inPlace,
		"AzureCluster spec.networkSpec.apiServerLB.sku":                            "nothing: only Standard is possible",
		"AzureCluster spec.networkSpec.apiServerLB.type":                           known,
		"AzureCluster spec.networkSpec.controlPlaneOutboundLB":                     outbound,
		"AzureCluster spec.networkSpec.nodeOutboundLB":                             outbound,
		"AzureCluster spec.extendedLocation":                                       "refused: the VNet is in it, and the cluster reports it",
		"AzureCluster spec.networkSpec.privateDNSZone":                             known,
		"AzureCluster spec.networkSpec.privateDNSZoneName":                         known,
		"AzureCluster spec.networkSpec.privateDNSZoneResourceGroup":                "refused: the zone stays where it is, and the cluster reports it",
		"AzureCluster spec.networkSpec.subnets":                                    "in place where one is added; one that is there stays as it was made; one that went stays until the cluster goes",
		"AzureCluster spec.networkSpec.subnets.natGateway.name":                    "in place: the subnet gets another one, and the former stays until the cluster goes",
		"AzureCluster spec.networkSpec.subnets.privateEndpoints":                   keepsService,
		"AzureCluster spec.networkSpec.subnets.securityGroup.name":                 "in place: the subnet gets another one, and the former stays until the cluster goes",
		"AzureCluster spec.networkSpec.subnets.securityGroup.securityRules":        inPlace,
		"AzureCluster spec.networkSpec.vnet":                                       stays,
		"AzureCluster spec.networkSpec.vnet.tags":                                  "next cluster: a VNet keeps the tags that it was made with",
		"AzureCluster spec.resourceGroup":                                          stays,
		"AzureCluster spec.subscriptionID":                                         stays,
		"AzureClusterIdentity spec":                                                nextLook,
		"AWSClusterRoleIdentity spec":                                              nextLook,
		"AWSClusterStaticIdentity spec":                                            nextLook,
		"AWSClusterControllerIdentity spec":                                        nextLook,

		"InClusterIPPool spec":       nextFloat,
		"GlobalInClusterIPPool spec": nextFloat,

		"MaasCluster spec.controlPlaneEndpoint": answerTo("Cluster.Endpoint", "") + ", and a name of the cluster leads to its servers until it is deleted",
		"MaasCluster spec.dnsDomain":            "next cluster: one that has a name keeps it",
		"MaasCluster spec.failureDomains":       placed,
		"MaasCluster spec.lxdConfig":            "nothing: only false is accepted",
		"MaasCluster spec.virtualIP":            servers,

		"HostCluster spec.controlPlaneEndpoint":      answerTo("Cluster.Endpoint", "") + "; refused while the load balancer on a host serves them there",
		"HostCluster spec.loadBalancer":              "in place: the load balancer moves to the host, and the former one is released when that one runs; refused while machines know the API server by the address of the former host",
		"HostCluster spec.virtualIP":                 servers,
		"HostPool spec":                              nextLook,
		"HostPool spec.hosts.labels":                 placed,
		"HostPool spec.hosts.failureDomain":          placed,
		"HostPool spec.hosts.unschedulable":          placed,
		"Host spec":                                  nextLook,
		"Host spec.failureDomain":                    placed,
		"Host spec.unschedulable":                    placed,
		"DevCluster spec":                            answerTo("Cluster.Endpoint", ""),
		"DevCluster spec.backend.inMemory.virtualIP": servers,

		"VSphereCluster spec.server":                                                "next machines: a vCenter that has some is remembered, and looked at as long as it has",
		"VSphereCluster spec.thumbprint":                                            nextLook,
		"VSphereCluster spec.identityRef":                                           nextLook,
		"VSphereCluster spec.controlPlaneEndpoint":                                  answerTo("Cluster.Endpoint", ""),
		"VSphereCluster spec.disableClusterModule":                                  "next machines; a rule that is there stays until the cluster goes",
		"VSphereCluster spec.failureDomainSelector":                                 placed,
		"VSphereCluster spec.virtualIP":                                             servers,
		"VSphereCluster spec.virtualIP.addressFromPool":                             "next cluster: one that has machines keeps the address that they know",
		"VSphereMachineTemplate spec.template.spec.thumbprint":                      nextLook,
		"VSphereMachineTemplate spec.template.spec.powerOffMode":                    "in place: when a machine goes",
		"VSphereMachineTemplate spec.template.spec.guestSoftPowerOffTimeout":        "in place: when a machine goes",
		"VSphereMachineTemplate spec.template.spec.guestSoftPowerOffTimeoutSeconds": "in place: when a machine goes",
		"VSphereMachine spec.thumbprint":                                            nextLook,
		"VSphereMachine spec.powerOffMode":                                          "in place: when the machine goes",
		"VSphereMachine spec.guestSoftPowerOffTimeout":                              "in place: when the machine goes",
		"VSphereMachine spec.guestSoftPowerOffTimeoutSeconds":                       "in place: when the machine goes",
		"VSphereClusterIdentity spec":                                               nextLook,
		"VSphereFailureDomain spec":                                                 placed,
		"VSphereDeploymentZone spec":                                                placed,

		"ExternalControlPlane metadata": "nothing: no annotation of this kind does anything",

		"HelmChartProxy ": "in place: the release is upgraded, or as reconcileStrategy says; elsewhere it is installed again",
		"ConfigMap ":      "in place: what names it is applied again",
		"Secret ":         "in place for credentials and what is applied to the cluster; next machines for their files",
		"Namespace ":      inPlace,
	}
}
