package api

// What is refused, and what to do about it, begins with these.
const (
	writtenBack  = "written by the controller of Cluster API, not a setting"
	emptiedGroup = "of a VPC that is made; rules that were removed stay so"
	familyOfNLB  = "of an nlb. With network.vpc.ipv6 it is ipv6, unless a subnet of machines has IPv4 alone; it stays so"
)

// refusedOfCluster are the refused fields of a cluster whose spec is at a path.
func refusedOfCluster(at string) map[string]string {
	out := map[string]string{
		at + "network.subnets.parentZoneName": "local and wavelength zones are not supported: leave it out",
	}
	return out
}

// limitedOfCluster are those that are honoured in part.
func limitedOfCluster(at string) map[string]string {
	return map[string]string{
		at + "controlPlaneLoadBalancer.targetGroupIPType":                              familyOfNLB,
		at + "controlPlaneLoadBalancer.additionalListeners.targetGroupIPType":          familyOfNLB,
		at + "secondaryControlPlaneLoadBalancer.targetGroupIPType":                     familyOfNLB,
		at + "secondaryControlPlaneLoadBalancer.additionalListeners.targetGroupIPType": familyOfNLB,
		at + "secondaryControlPlaneLoadBalancer.loadBalancerType":                      "nlb, the default here",
		at + "secondaryControlPlaneLoadBalancer.scheme":                                "internal, the default here",
		at + "controlPlaneLoadBalancer.loadBalancerType":                               "nlb, classic and disabled: elb and alb take no TCP",
		at + "network.vpc.ipv6":                                                        "beside IPv4. Each subnet of a VPC that is made has both; of a given VPC nothing is changed. Machines and load balancers have addresses of both, where their subnets have",
		at + "network.subnets.isIpv6":                                                  "true only with network.vpc.ipv6, and beside a cidrBlock: subnets of IPv6 alone are not made",
		at + "network.subnets.zoneType":                                                "availability-zone: local and wavelength zones are not supported",
		at + "network.vpc.emptyRoutesDefaultVPCSecurityGroup":                          emptiedGroup,
		at + "network.vpc.privateDnsHostnameTypeOnLaunch":                              "what machines get whose template has no privateDnsName.hostnameType; subnets are not changed",
	}
}

// unusedOfCluster are those that may be there and do nothing.
func unusedOfCluster(at string) map[string]string {
	return map[string]string{
		at + "controlPlaneLoadBalancer.disableHostsRewrite":          "no code of Cluster API reads it either: machines have no entry of the endpoint in /etc/hosts",
		at + "controlPlaneLoadBalancer.dnsResolutionCheck":           "the name of a load balancer is not looked up here",
		at + "secondaryControlPlaneLoadBalancer.disableHostsRewrite": "as in controlPlaneLoadBalancer",
		at + "secondaryControlPlaneLoadBalancer.dnsResolutionCheck":  "as in controlPlaneLoadBalancer",
		at + "network.subnets.resourceID":                            writtenBack,
		at + "network.subnets.natGatewayId":                          writtenBack,
		at + "network.subnets.routeTableId":                          writtenBack,
		at + "network.vpc.internetGatewayId":                         writtenBack,
		at + "network.vpc.ipv6.egressOnlyInternetGatewayId":          writtenBack,
		at + "network.vpc.carrierGatewayId":                          writtenBack + "; wavelength zones are not supported",
	}
}

// refusedOfMachine are the refused fields of a machine whose spec is at a path.
func refusedOfMachine(at string) map[string]string {
	return map[string]string{
		at + "providerID":                   "AWS gives each instance its own id: leave the field out",
		at + "instanceID":                   "AWS gives each instance its own id: leave the field out",
		at + "failureDomain":                "write failureDomain into the MachineDeployment or the Machine",
		at + "additionalSecurityGroups.arn": "name the security group by its id or by filters",
		at + "subnet.arn":                   "name the subnet by its id or by filters",
		at + "cloudInit.secretPrefix":       "the secret is named by fleet, cluster and machine: leave it out",
		at + "dynamicHostAllocation":        "dedicated hosts are not allocated here: allocate one, and name it in hostID",
		at + "elasticIpPool":                "addresses are not taken from pools yet: with publicIP the machine has an address of Amazon",
	}
}

// limitedOfMachine are those that are honoured in part.
func limitedOfMachine(at string) map[string]string {
	return map[string]string{
		at + "ami.eksLookupType": "AmazonLinux2023 and AmazonLinux2023GPU, of machines that join a control plane of EKS: the newest image for the minor version when a machine is made; Amazon Linux 2 has no nodeadm",
		at + "networkInterfaces": "two at most, as upstream. A machine has interfaces of its own: a pool with them has one machine, and a rollout takes maxSurge: 0. Their security groups stay, and those of the machine are added",
		at + "assignPrimaryIPv6": "enabled only in a subnet with IPv6, where it is the default",
	}
}

// unusedOfMachine are those that may be there and do nothing.
func unusedOfMachine(at string) map[string]string {
	return map[string]string{
		at + "rootVolume.deviceName": "the image says which device is the root, and the controller of Cluster API writes it here",
		at + "cloudInit.secretCount": writtenBack,
		at + "ignition.version":      "the distribution writes the version that its configuration has",
	}
}
