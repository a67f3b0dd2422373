package api

// What is refused of AKS, and what to do about it.
const (
	endpointOfAKS = "AKS gives the endpoint: leave it out"
	noPatches     = "no objects of Azure Service Operator are made: leave it out, and use the fields of this object"
	ofAKS         = "of a new agent pool: AKS changes it of none that is there"
	ofNewCluster  = "of a new cluster: AKS changes it of none that is there"
	notUnset      = "what Git no longer names stays: name what it is to be"
)

// refusedOfManagedControlPlane are the refused fields of an AzureManagedControlPlane.
func refusedOfManagedControlPlane() map[string]string {
	return map[string]string{
		"spec.asoManagedClusterPatches": noPatches,
		"spec.controlPlaneEndpoint":     endpointOfAKS,
		"spec.extensions":               "extensions are not installed yet: leave it out, and use addonProfiles, a ClusterResourceSet or a HelmChartProxy",
		"spec.fleetsMember":             "Git decides when a cluster is upgraded: leave it out",

		"spec.identityRef.fieldPath": ofReference, "spec.identityRef.resourceVersion": ofReference, "spec.identityRef.uid": ofReference,

		"spec.virtualNetwork.subnet.privateEndpoints": noEndpoints,
	}
}

// limitedOfManagedControlPlane are those that are honoured in part.
func limitedOfManagedControlPlane() map[string]string {
	return map[string]string{
		"spec.aadProfile":                      "people of these groups are let in beside the agent, which has the admin credential; " + notUnset,
		"spec.aadProfile.managed":              "only true",
		"spec.addonProfiles":                   notUnset + ", such as enabled: false",
		"spec.autoscalerProfile":               notUnset,
		"spec.azureEnvironment":                limitedOfCluster("spec.")["spec.azureEnvironment"],
		"spec.disableLocalAccounts":            "only false: the agent logs in with the admin credential of the cluster, and not with Microsoft Entra ID yet",
		"spec.dnsPrefix":                       ofNewCluster,
		"spec.dnsServiceIP":                    ofNewCluster,
		"spec.enablePreviewFeatures":           "only false: what is in preview is not asked for",
		"spec.identityRef.kind":                IdentityKind,
		"spec.kubeletUserAssignedIdentity":     ofNewCluster,
		"spec.loadBalancerSKU":                 "Standard: Azure has retired Basic",
		"spec.networkPlugin":                   ofNewCluster,
		"spec.networkPolicy":                   ofNewCluster,
		"spec.nodeResourceGroupName":           ofNewCluster,
		"spec.oidcIssuerProfile.enabled":       "AKS does not turn it off",
		"spec.sshPublicKey":                    ofNewCluster + "; empty: no key, so that no login is possible",
		"spec.virtualNetwork.cidrBlock":        "one range of IPv4: dual stack and IPv6 are not supported yet",
		"spec.virtualNetwork.subnet.cidrBlock": "one range of IPv4: dual stack and IPv6 are not supported yet",
	}
}

// unusedOfManagedControlPlane are those that may be there and do nothing.
func unusedOfManagedControlPlane() map[string]string {
	return map[string]string{
		"spec.identityRef.apiVersion": "the kind says what it is",
		"spec.machineTemplate":        "a control plane of AKS has no machines",
	}
}

// refusedOfManagedPool are the refused fields of an AzureManagedMachinePool.
func refusedOfManagedPool() map[string]string {
	return map[string]string{
		"spec.asoManagedClustersAgentPoolPatches": noPatches,
		"spec.scaling": "the MachinePool says who decides the number: give it the annotation cluster.x-k8s.io/replicas-managed-by, and the bounds as cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size and -max-size",
	}
}

// limitedOfManagedPool are those that are honoured in part.
func limitedOfManagedPool() map[string]string {
	out := map[string]string{
		"spec.name":       "of a new agent pool; by default the name of the object",
		"spec.nodeLabels": "those of kubernetes.azure.com are set by AKS",
	}
	for _, name := range []string{
		"availabilityZones", "enableEncryptionAtHost", "enableFIPS", "enableNodePublicIP", "enableUltraSSD", "kubeletConfig", "kubeletDiskType", "linuxOSConfig", "maxPods",
		"nodePublicIPPrefixID", "osDiskSizeGB", "osDiskType", "osType", "scaleSetPriority", "sku", "spotMaxPrice", "subnetName",
	} {
		out["spec."+name] = ofAKS
	}
	return out
}

// unusedOfManagedPool are those that may be there and do nothing.
func unusedOfManagedPool() map[string]string {
	return map[string]string{"spec.providerIDList": writtenBack}
}
