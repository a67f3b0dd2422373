package api

// What is refused of EKS, and what to do about it.
const (
	noRoles        = "roles of IAM are not made: make it, with its policies, and name it in roleName"
	groupsOfEKS    = "EKS makes the security group of the cluster, and lets its machines talk to each other: leave it out, and change that group in AWS"
	noPlaneBastion = "no bastion is made: make one in the VPC, outside of the cluster"
	noEndpoint     = "EKS gives the endpoint: leave it out"
	endpointOfEKS  = "written by controllers: EKS gives the endpoint"
)

// refusedOfManagedControlPlane are the refused fields of an AWSManagedControlPlane, below at.
func refusedOfManagedControlPlane(at string) map[string]string {
	out := map[string]string{
		at + "roleAdditionalPolicies":  noRoles,
		at + "rolePermissionsBoundary": noRoles,
		at + "secondaryCidrBlock":      "a VPC that is made has one range yet: leave it out, or give a VPC of your own by its id",

		at + "network.additionalControlPlaneIngressRules": groupsOfEKS,
		at + "network.additionalNodeIngressRules":         groupsOfEKS,
		at + "network.nodePortIngressRuleCidrBlocks":      groupsOfEKS,
		at + "network.securityGroupOverrides":             groupsOfEKS,
	}
	for path, why := range refusedOfCluster(at) {
		if len(path) > len(at+"network.") && path[:len(at+"network.")] == at+"network." {
			out[path] = why
		}
	}
	out[at+"network.vpc.privateDnsHostnameTypeOnLaunch"] = "subnets are not told what instances are called: leave it out"
	return out
}

// limitedOfManagedControlPlane are those that are honoured in part.
func limitedOfManagedControlPlane(at string) map[string]string {
	const own = "of machines of MachineDeployments: node groups have what their AWSManagedMachinePool says"
	return map[string]string{
		at + "imageLookupBaseOS": own, at + "imageLookupFormat": own, at + "imageLookupOrg": own, at + "sshKeyName": own,
		at + "iamAuthenticatorConfig": "rows are merged into the ConfigMap aws-auth, which accessConfig.authenticationMode " + AccessByAPI + " does not read: those of EKS and of people stay",
		at + "addons.version":         "one that EKS has for the minor version of Kubernetes",
		at + "version":                "the minor version; AWS decides about patches",
		at + "tokenMethod":            "what the kubeconfig for people runs: aws-cli, the default, or iam-authenticator; the agent makes its tokens itself",
		at + "roleName":               "a role that exists; by default that of clusterawsadm, " + ServiceRole,
		at + "network.vpc.emptyRoutesDefaultVPCSecurityGroup": emptiedGroup,
		at + "network.subnets.zoneType":                       limitedOfCluster(at)[at+"network.subnets.zoneType"],
		at + "network.subnets.isIpv6":                         limitedOfCluster(at)[at+"network.subnets.isIpv6"],
		at + "network.vpc.ipv6":                               "of a new cluster: Pods and Services have IPv6 alone, machines both families; EKS chooses the range of Services",
		at + "network.cni":                                    "the rules of Calico, which upstream's webhook writes, or none, and they do nothing: in the security group that EKS makes, machines reach each other",
		at + "endpointAccess.publicCIDRs":                     "0.0.0.0/0 alone is everybody, also of IPv6",
	}
}

// unusedOfManagedControlPlane are those that may be there and do nothing.
func unusedOfManagedControlPlane(at string) map[string]string {
	out := map[string]string{
		at + "bastion":              "upstream's webhook writes it; with enabled: true it is refused, since no bastion is made",
		at + "controlPlaneEndpoint": endpointOfEKS,
		at + "partition":            "the region says which partition it is",
	}
	for _, name := range []string{"subnets.resourceID", "subnets.natGatewayId", "subnets.routeTableId", "vpc.internetGatewayId", "vpc.carrierGatewayId", "vpc.ipv6.egressOnlyInternetGatewayId"} {
		out[at+"network."+name] = unusedOfCluster(at)[at+"network."+name]
	}
	return out
}

// refusedOfManagedPool are the refused fields of an AWSManagedMachinePool.
func refusedOfManagedPool() map[string]string {
	const noLookup = "name the image in ami.id, or leave it out: then EKS chooses one by amiType and version"
	return map[string]string{
		"spec.awsLaunchTemplate.ami.eksLookupType":  "name an image of EKS in amiType of this object, or one of your own in ami.id",
		"spec.awsLaunchTemplate.enclaveOptions":     "instances get no enclaves: leave it out",
		"spec.awsLaunchTemplate.iamInstanceProfile": "EKS takes none in a launch template, and makes that of roleName: leave it out",
		"spec.awsLaunchTemplate.imageLookupBaseOS":  noLookup,
		"spec.awsLaunchTemplate.imageLookupFormat":  noLookup,
		"spec.awsLaunchTemplate.imageLookupOrg":     noLookup,
		"spec.awsLaunchTemplate.spotMarketOptions":  "EKS takes no market in a launch template: leave it out, and set capacityType: " + SpotNodes,

		"spec.lifecycleHooks":          "no hooks are put into the auto scaling group that EKS makes: leave them out",
		"spec.roleAdditionalPolicies":  noRoles,
		"spec.rolePermissionsBoundary": noRoles,
	}
}

// limitedOfManagedPool are those that are honoured in part.
func limitedOfManagedPool() map[string]string {
	const fixed = "of a new node group: EKS changes it of none that is there"
	return map[string]string{
		"spec.amiType": fixed + "; empty: what EKS chooses, and with awsLaunchTemplate.ami.id CUSTOM", "spec.availabilityZones": fixed, "spec.availabilityZoneSubnetType": fixed, "spec.capacityType": fixed,
		"spec.diskSize": fixed, "spec.eksNodegroupName": fixed, "spec.instanceType": fixed, "spec.remoteAccess": fixed, "spec.subnetIDs": fixed,
		"spec.roleName": "a role that exists; by default that of clusterawsadm, " + NodeServiceRole, "spec.rolePath": fixed,
		"spec.awsLaunchTemplate":                          "a change makes another version, and EKS replaces the machines; a node group that was made without one gets none",
		"spec.awsLaunchTemplate.additionalSecurityGroups": "beside that of the cluster; filters are looked up when a version is made",
		"spec.awsLaunchTemplate.ami.id":                   "an image with nodeadm, and a NodeadmConfig in bootstrap.configRef of the MachinePool; it says which version of Kubernetes the machines have",
		"spec.awsLaunchTemplate.marketType":               OnDemand + "; for spot instances set capacityType",
		"spec.awsLaunchTemplate.name":                     fixed + "; by default it follows from the names of the cluster and the pool",
		"spec.awsLaunchTemplate.rootVolume.deviceName":    "without ami.id, by default /dev/xvda; otherwise the image says it",
		"spec.awsLaunchTemplate.sshKeyName":               "without it machines have no key pair",

		"spec.scaling": "bounds for people and for programs in the cluster; an autoscaler decides the number with the annotations of the MachinePool alone",
	}
}

// unusedOfManagedPool are those that may be there and do nothing.
func unusedOfManagedPool() map[string]string {
	return map[string]string{"spec.awsLaunchTemplate.versionNumber": writtenBack, "spec.providerIDList": writtenBack}
}
