package api

// What is refused of AKS, and what to do about it.
const (
	noEndpoint     = "AKS gives the endpoint: leave it out"
	endpointOfAKS  = "AKS gives the endpoint, and the controller of Cluster API writes it"
	noPatches      = "no objects of Azure Service Operator are made: leave it out, and use the fields of this object"
	ofAKS          = "of a new agent pool: AKS changes it of none that is there"
	ofNewCluster   = "of a new cluster: AKS changes it of none that is there"
	ofNewExtension = "of a new extension: Azure changes it of none that is there"
	notUnset       = "what Git no longer names stays: name what it is to be"
)

// refusedOfManagedControlPlane are the refused fields of an AzureManagedControlPlane whose spec is at a path.
func refusedOfManagedControlPlane(at string) map[string]string {
	return map[string]string{
		at + "asoManagedClusterPatches": noPatches,
	}
}

// limitedOfManagedControlPlane are those that are honoured in part.
func limitedOfManagedControlPlane(at string) map[string]string {
	return map[string]string{
		at + "aadProfile":                                      "people of these groups are let in beside the agent, which has the admin credential; " + notUnset,
		at + "aadProfile.managed":                              "only true",
		at + "addonProfiles":                                   notUnset + ", such as enabled: false",
		at + "autoscalerProfile":                               notUnset,
		at + "azureEnvironment":                                limitedOfCluster("")["azureEnvironment"],
		at + "disableLocalAccounts":                            "only false: the agent logs in with the admin credential of the cluster, and not with Microsoft Entra ID yet",
		at + "dnsPrefix":                                       ofNewCluster,
		at + "dnsServiceIP":                                    ofNewCluster,
		at + "enablePreviewFeatures":                           "only false: what is in preview is not asked for",
		at + "extensions":                                      notUnset,
		at + "extensions.aksAssignedIdentityType":              ofNewExtension,
		at + "extensions.extensionType":                        ofNewExtension,
		at + "extensions.identity":                             ofNewExtension,
		at + "extensions.plan":                                 ofNewExtension,
		at + "extensions.scope":                                ofNewExtension,
		at + "fleetsMember":                                    "the membership goes with the cluster; one that Git no longer names stays",
		at + "identityRef.kind":                                IdentityKind,
		at + "kubeletUserAssignedIdentity":                     ofNewCluster,
		at + "loadBalancerSKU":                                 "Standard: Azure has retired Basic",
		at + "networkPlugin":                                   ofNewCluster,
		at + "networkPolicy":                                   ofNewCluster,
		at + "nodeResourceGroupName":                           ofNewCluster,
		at + "oidcIssuerProfile.enabled":                       "AKS does not turn it off",
		at + "sshPublicKey":                                    ofNewCluster + "; empty: no key, so that no login is possible",
		at + "virtualNetwork.cidrBlock":                        oneRangeOfFour,
		at + "virtualNetwork.subnet.privateEndpoints":          newEndpoint,
		at + "virtualNetwork.subnet.privateEndpoints.location": ofTheCluster,
		at + "virtualNetwork.subnet.cidrBlock":                 oneRangeOfFour,
	}
}

// unusedOfManagedControlPlane are those that may be there and do nothing.
func unusedOfManagedControlPlane(at string) map[string]string {
	return map[string]string{
		at + "identityRef.apiVersion":      "the kind says what it is",
		at + "identityRef.fieldPath":       ofReference,
		at + "identityRef.resourceVersion": ofReference,
		at + "identityRef.uid":             ofReference,
		at + "controlPlaneEndpoint":        endpointOfAKS,
		at + "machineTemplate":             "a control plane of AKS has no machines",
	}
}

// refusedOfManagedPool are the refused fields of an AzureManagedMachinePool whose spec is at a path.
func refusedOfManagedPool(at string) map[string]string {
	return map[string]string{
		at + "asoManagedClustersAgentPoolPatches": noPatches,
	}
}

// limitedOfManagedPool are those that are honoured in part.
func limitedOfManagedPool(at string) map[string]string {
	out := map[string]string{
		at + "name":       "of a new agent pool; by default the name of the object",
		at + "nodeLabels": "those of kubernetes.azure.com are set by AKS",
	}
	for _, name := range []string{
		"availabilityZones", "enableEncryptionAtHost", "enableFIPS", "enableNodePublicIP", "enableUltraSSD", "kubeletConfig", "kubeletDiskType", "linuxOSConfig", "maxPods",
		"nodePublicIPPrefixID", "osDiskSizeGB", "osDiskType", "osType", "scaleSetPriority", "sku", "spotMaxPrice", "subnetName",
	} {
		out[at+name] = ofAKS
	}
	return out
}

// unusedOfManagedPool are those that may be there and do nothing.
func unusedOfManagedPool(at string) map[string]string {
	return map[string]string{at + "providerIDList": writtenBack}
}
