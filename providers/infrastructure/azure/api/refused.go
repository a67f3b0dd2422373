package api

// What is refused or has no effect, and what to do about it.
const (
	writtenBack    = "written by the controller of Cluster API, not a setting"
	noLabels       = "a machine of this provider has no labels and annotations of its own: put them into the machine template of the MachineDeployment or KubeadmControlPlane"
	newEndpoint    = "of a new private endpoint: one that exists keeps it"
	ofTheCluster   = "that of the cluster"
	oneRangeOfFour = "one range of IPv4"
	ofReference    = "has no meaning here, as in Cluster API"
	oneAddress     = "an interface has one address: leave the field out, and use a network plugin with addresses of its own"
	noRoles        = "roles are not assigned to machines, since that takes the right to give rights: use identity UserAssigned, with an identity that has its roles"
)

// refusedOfCluster are the refused fields of a cluster whose spec is at a path.
func refusedOfCluster(at string) map[string]string {
	const plain = "the subnet of a bastion has nothing else: leave the field out"
	bastion := at + "bastionSpec.azureBastion."
	return map[string]string{
		bastion + "subnet.privateEndpoints": plain,
		bastion + "subnet.routeTable":       plain,
		bastion + "subnet.securityGroup":    plain,
	}
}

// limitedOfCluster are those that are honoured in part.
func limitedOfCluster(at string) map[string]string {
	net, bastion := at+"networkSpec.", at+"bastionSpec.azureBastion."
	const both = "one range of IPv4, and one of IPv6 beside it"
	return map[string]string{
		at + "azureEnvironment":                   "AzurePublicCloud, AzureUSGovernmentCloud and AzureChinaCloud",
		at + "controlPlaneEnabled":                "only true: a cluster whose control plane is elsewhere has a control plane object that says so",
		at + "extendedLocation.type":              edgeZone,
		at + "identityRef.kind":                   IdentityKind,
		net + "apiServerLB.sku":                   "Standard",
		net + "privateDNSZoneResourceGroup":       "a resource group that exists, with privateDNSZoneName",
		net + "apiServerLB.frontendIPs":           "one address",
		net + "apiServerLB.frontendIPsCount":      "1",
		net + "vnet.cidrBlocks":                   both,
		net + "subnets.cidrBlocks":                both,
		net + "subnets.role":                      "control-plane, node and cluster: that of a bastion is in bastionSpec",
		net + "nodeOutboundLB.sku":                "Standard",
		net + "nodeOutboundLB.type":               Public,
		net + "controlPlaneOutboundLB":            "with an internal load balancer",
		net + "controlPlaneOutboundLB.sku":        "Standard",
		net + "controlPlaneOutboundLB.type":       Public,
		net + "subnets.privateEndpoints":          newEndpoint,
		net + "subnets.privateEndpoints.location": ofTheCluster,

		bastion + "enableTunneling":   "of a new bastion",
		bastion + "sku":               "Basic and Standard, of a new bastion",
		bastion + "subnet.cidrBlocks": oneRangeOfFour,
		bastion + "subnet.name":       BastionSubnetName + ": Azure takes no other",
		bastion + "subnet.role":       BastionSubnet,
	}
}

// unusedOfCluster are those that may be there and do nothing.
func unusedOfCluster(at string) map[string]string {
	net := at + "networkSpec."
	return map[string]string{
		at + "identityRef.apiVersion":             "the kind says what it is",
		at + "identityRef.fieldPath":              ofReference,
		at + "identityRef.resourceVersion":        ofReference,
		at + "identityRef.uid":                    ofReference,
		net + "vnet.id":                           writtenBack,
		net + "subnets.id":                        writtenBack,
		at + "bastionSpec.azureBastion.subnet.id": writtenBack,

		at + "bastionSpec.azureBastion.subnet.natGateway": "a bastion reaches the internet by its own address, as in Cluster API",

		net + "subnets.securityGroup.id":  writtenBack,
		net + "subnets.natGateway.id":     writtenBack,
		net + "subnets.routeTable.id":     writtenBack,
		net + "apiServerLB.id":            writtenBack,
		net + "nodeOutboundLB.id":         writtenBack,
		net + "controlPlaneOutboundLB.id": writtenBack,
	}
}

// refusedOfMachine are the refused fields of a machine whose spec is at a path.
func refusedOfMachine(at string) map[string]string {
	return map[string]string{
		at + "providerID":                 "Azure gives each VM its id: leave the field out",
		at + "roleAssignmentName":         noRoles,
		at + "systemAssignedIdentityRole": noRoles,
	}
}

// limitedOfMachine are those that are honoured in part.
func limitedOfMachine(at string) map[string]string {
	return map[string]string{
		at + "identity": "None and UserAssigned: " + noRoles,
		at + "networkInterfaces.privateIPConfigs": "1: an interface has one address",
		at + "osDisk.osType":                      "Linux: machines with Windows are not supported yet",
		at + "spotVMOptions.evictionPolicy":       "Delete, which is the default here: a machine that was deallocated does not come back by itself",
	}
}

// unusedOfMachine are those that may be there and do nothing.
func unusedOfMachine(at string) map[string]string {
	return map[string]string{
		at + "disableVMBootstrapExtension": "no such extension is installed",
	}
}

// refusedOfPool are the refused fields of a pool whose spec is at a path.
func refusedOfPool(at string) map[string]string {
	return map[string]string{
		at + "roleAssignmentName":         noRoles,
		at + "systemAssignedIdentityRole": noRoles,
	}
}

// limitedOfPool are those that are honoured in part.
func limitedOfPool(at string) map[string]string {
	of := limitedOfMachine(at)
	below := limitedOfMachine(at + "template.")
	return map[string]string{
		at + "identity":                 of[at+"identity"],
		at + "location":                 ofTheCluster,
		at + "platformFaultDomainCount": "of a new availability set, in a location without zones",
		at + "zoneBalance":              "only false: new machines are spread over zones, and where one has no capacity another is used",
		at + "template.networkInterfaces.privateIPConfigs": below[at+"template.networkInterfaces.privateIPConfigs"],
		at + "template.osDisk.osType":                      below[at+"template.osDisk.osType"],
		at + "template.spotVMOptions.evictionPolicy":       below[at+"template.spotVMOptions.evictionPolicy"],
	}
}

// unusedOfPool are those that may be there and do nothing.
func unusedOfPool(at string) map[string]string {
	return map[string]string{
		at + "orchestrationMode":                    "no scale set is made: Fairlead creates, replaces and deletes each VM itself",
		at + "providerID":                           writtenBack,
		at + "providerIDList":                       writtenBack,
		at + "template.disableVMBootstrapExtension": "no such extension is installed",
	}
}

// limitedOfIdentity are the fields of an identity that are honoured in part.
func limitedOfIdentity() map[string]string {
	const folder = "a file on the agent's machine, in the folder of the agent's setting --azure-credential-files"
	return map[string]string{
		"spec.type":         "WorkloadIdentity needs the agent's setting --azure-workload-identity-token, and UserAssignedMSI --azure-managed-identity",
		"spec.certPath":     folder,
		"spec.clientSecret": "certificates as PEM, or as PKCS #12 without a password, with an RSA key",
		"spec.userAssignedIdentityCredentialsPath": folder,
	}
}

// unusedOfIdentity are those that may be there and do nothing.
func unusedOfIdentity() map[string]string {
	return map[string]string{"spec.resourceID": "a managed identity is found by clientID, as CAPZ does"}
}
