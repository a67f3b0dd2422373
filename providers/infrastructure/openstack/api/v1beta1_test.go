package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/test/run/kindstest"
)

// everyClusterField is a cluster with each field of v1beta1 that another cluster
// may have besides, and the same in v1beta2.
const (
	oldManaged = `
identityRef: {type: Secret, name: cloud-config, cloudName: openstack, region: fra}
managedSubnets: [{cidr: 10.6.0.0/24, dnsNameservers: [10.0.0.1], allocationPools: [{start: 10.6.0.10, end: 10.6.0.200}]}]
networkMTU: 1400
disablePortSecurity: false
externalRouterIPs: [{fixedIP: 203.0.113.4, subnet: {filter: {name: public}}}]
externalNetwork: {filter: {tags: [public]}}
disableExternalNetwork: false
disableAPIServerFloatingIP: false
apiServerFloatingIP: 203.0.113.7
apiServerFixedIP: 10.6.0.5
apiServerPort: 6444
apiServerLoadBalancer: {enabled: true, provider: ovn, flavor: small, availabilityZone: az1, additionalPorts: [8132], allowedCIDRs: [10.0.0.0/8],
  network: {id: 1c31f4ad-8ac1-4b65-9c3a-7b7d1a3a6f01}, subnets: [{filter: {name: s}}], monitor: {delay: 20, timeout: 6, maxRetries: 2, maxRetriesDown: 4}}
managedSecurityGroups:
  allowAllInClusterTraffic: true
  allNodesSecurityGroupRules: [{name: a, direction: ingress, etherType: IPv4, protocol: "4"}]
  controlPlaneNodesSecurityGroupRules: [{name: b, direction: ingress, etherType: IPv4, protocol: tcp, portRangeMin: 1, portRangeMax: 2}]
  workerNodesSecurityGroupRules: [{name: c, direction: egress, etherType: IPv4, remoteGroupID: g}]
tags: [t]
controlPlaneEndpoint: {host: api.example.org, port: 443}
controlPlaneAvailabilityZones: [az1]
controlPlaneOmitAvailabilityZone: false
bastion: {enabled: true, availabilityZone: az1, floatingIP: 203.0.113.8, spec: {flavor: tiny, image: {id: 1c31f4ad-8ac1-4b65-9c3a-7b7d1a3a6f02}}}`
	newManaged = `
identityRef: {type: Secret, name: cloud-config, cloudName: openstack, region: fra}
managedSubnets: [{cidr: 10.6.0.0/24, dnsNameservers: [10.0.0.1], allocationPools: [{start: 10.6.0.10, end: 10.6.0.200}]}]
managedNetwork: {mtu: 1400, enablePortSecurity: true}
managedRouter: {externalIPs: [{fixedIP: 203.0.113.4, subnet: {filter: {name: public}}}]}
externalNetwork: {filter: {tags: [public]}}
enableExternalNetwork: true
apiServer:
  enableFloatingIP: true
  floatingIP: 203.0.113.7
  fixedIP: 10.6.0.5
  port: 6444
  managedLoadBalancer: {enabled: true, provider: ovn, flavor: small, availabilityZone: az1, additionalPorts: [8132], allowedCIDRs: [10.0.0.0/8],
    network: {id: 1c31f4ad-8ac1-4b65-9c3a-7b7d1a3a6f01}, subnets: [{filter: {name: s}}], monitor: {delay: 20, timeout: 6, maxRetries: 2, maxRetriesDown: 4}}
managedSecurityGroups:
  allowAllInClusterTraffic: true
  clusterNodesSecurityGroupRules: [{name: a, direction: ingress, etherType: IPv4, protocol: "4"}]
  controlPlaneNodesSecurityGroupRules: [{name: b, direction: ingress, etherType: IPv4, protocol: tcp, portRangeMin: 1, portRangeMax: 2}]
  workerNodesSecurityGroupRules: [{name: c, direction: egress, etherType: IPv4, remoteGroupID: g}]
tags: [t]
controlPlaneEndpoint: {host: api.example.org, port: 443}
controlPlaneAvailabilityZones: [az1]
controlPlaneOmitAvailabilityZone: false
bastion: {enabled: true, availabilityZone: az1, floatingIP: 203.0.113.8, spec: {flavor: {filter: {name: tiny}}, image: {id: 1c31f4ad-8ac1-4b65-9c3a-7b7d1a3a6f02}}}`

	existing = `
identityRef: {type: ClusterIdentity, name: shared, cloudName: c}
network: {filter: {name: net, description: d, projectID: p, tags: [a], tagsAny: [b], notTags: [c], notTagsAny: [d]}}
subnets: [{filter: {name: net, ipVersion: 4, gatewayIP: 10.0.0.1, cidr: 10.0.0.0/24}}, {filter: {ipVersion: 6, ipv6AddressMode: slaac, ipv6RAMode: slaac}}]
primarySubnet: {filter: {name: net}}
router: {filter: {name: r}}`

	machineParts = `
image: {filter: {name: i, tags: [x]}}
sshKeyName: k
securityGroups: [{filter: {name: g}}]
trunk: true
tags: [t]
serverMetadata: [{key: a, value: b}]
configDrive: true
rootVolume: {sizeGiB: 10, type: fast, availabilityZone: {from: Machine}}
additionalBlockDevices: [{name: data, sizeGiB: 5, storage: {type: Volume, volume: {type: slow, availabilityZone: {from: Name, name: z}}}}]
serverGroup: {filter: {name: sg}}
identityRef: {type: Secret, name: s, cloudName: c}
floatingIPPoolRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackFloatingIPPool, name: p}
schedulerHintAdditionalProperties: [{name: h, value: {type: String, string: s}}]`
	portParts = `network: {filter: {name: net}}, description: d, nameSuffix: s, fixedIPs: [{subnet: {filter: {name: s}}, ipAddress: 10.0.0.9}],
    securityGroups: [{filter: {name: g}}], tags: [t], trunk: false, adminStateUp: false, macAddress: "fa:16:3e:00:00:01",
    allowedAddressPairs: [{ipAddress: 10.0.0.0/24, macAddress: "fa:16:3e:00:00:02"}], hostID: h, vnicType: direct,
    profile: {ovsHWOffload: true, trustedVF: true}, propagateUplinkStatus: true, valueSpecs: [{name: net, key: k, value: v}]`
)

func TestV1Beta1IsTheSame(t *testing.T) {
	for name, tc := range map[string]struct{ kind, old, new string }{
		"all that is made": {"OpenStackCluster", oldManaged, newManaged},
		"template":         {"OpenStackClusterTemplate", oldManaged, newManaged},
		"all that exists":  {"OpenStackCluster", existing, existing},
		"no load balancer": {"OpenStackCluster", minimalCluster + "apiServerPort: 443", minimalCluster + "apiServer: {port: 443}"},
		"no external": {
			"OpenStackCluster", minimalCluster + "disableExternalNetwork: true\ndisableAPIServerFloatingIP: true\napiServerFixedIP: 10.6.0.4",
			minimalCluster + "enableExternalNetwork: false\napiServer: {enableFloatingIP: false, fixedIP: 10.6.0.4}",
		},
		"port security off": {"OpenStackCluster", minimalCluster + "disablePortSecurity: true", minimalCluster + "managedNetwork: {enablePortSecurity: false}"},
		"machine": {
			"OpenStackMachineTemplate",
			machineParts + "\nflavor: f\nports: [{" + portParts + ", disablePortSecurity: false}]",
			machineParts + "\nflavor: {filter: {name: f}}\nports: [{" + portParts + ", enablePortSecurity: true}]",
		},
		"flavor by id": {
			"OpenStackMachineTemplate", "{flavorID: f, image: {filter: {name: i}}, ports: [{disablePortSecurity: true}]}",
			"{flavor: {id: f}, image: {filter: {name: i}}, ports: [{enablePortSecurity: false}]}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			old, errs := normalised(t, tc.kind, "v1beta1", tc.old)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			want, errs := normalised(t, tc.kind, "v1beta2", tc.new)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if d := cmp.Diff(kindstest.YAML(t, want), kindstest.YAML(t, old)); d != "" {
				t.Errorf("-v1beta2 +v1beta1:\n%s", d)
			}
			if d := cmp.Diff(canonical(t, tc.new), kindstest.YAML(t, want)); d != "" && name == "all that is made" {
				t.Errorf("v1beta2 is changed: %s", d)
			}
		})
	}
}

// TestV1Beta1Paths: a message names the field that people wrote.
func TestV1Beta1Paths(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, spec string
		want       []string
	}{
		"load balancer": {
			"OpenStackCluster", minimalCluster + "apiServerLoadBalancer: {enabled: true, allowedCIDRs: [x]}",
			[]string{"spec.apiServerLoadBalancer.allowedCIDRs[0]"},
		},
		"endpoint": {
			"OpenStackCluster", minimalCluster + "apiServerFloatingIP: a\napiServerFixedIP: b\napiServerPort: 0",
			[]string{"spec.apiServerFixedIP", "spec.apiServerFloatingIP", "spec.apiServerPort"},
		},
		"external": {
			"OpenStackCluster", minimalCluster + "disableExternalNetwork: true", []string{"spec.disableAPIServerFloatingIP"},
		},
		"what is made, with nothing to make": {
			"OpenStackCluster", `
identityRef: {name: a, cloudName: b}
network: {filter: {name: net}}
networkMTU: 1400
disablePortSecurity: true
externalRouterIPs: [{subnet: {filter: {name: s}}}]`,
			[]string{"spec.disablePortSecurity", "spec.externalRouterIPs", "spec.networkMTU"},
		},
		"router and rules": {
			"OpenStackCluster", minimalCluster + `
networkMTU: 1
externalRouterIPs: [{subnet: {}}]
managedSecurityGroups: {allowAllInClusterTraffic: false, allNodesSecurityGroupRules: [{name: a, direction: in}]}`,
			[]string{"spec.externalRouterIPs[0].subnet", "spec.managedSecurityGroups.allNodesSecurityGroupRules[0].direction", "spec.networkMTU"},
		},
		"no flavor":    {"OpenStackMachineTemplate", "image: {filter: {name: i}}", []string{"spec.template.spec.flavor"}},
		"empty flavor": {"OpenStackMachineTemplate", "{flavor: '', image: {filter: {name: i}}}", []string{"spec.template.spec.flavor"}},
		"empty id":     {"OpenStackMachineTemplate", "{flavorID: '', image: {filter: {name: i}}}", []string{"spec.template.spec.flavorID"}},
		"two flavors":  {"OpenStackMachineTemplate", "{flavor: f, flavorID: g, image: {filter: {name: i}}}", []string{"spec.template.spec.flavor"}},
		"bastion": {
			"OpenStackCluster", minimalCluster + "bastion: {spec: {flavorID: '', image: {filter: {name: i}}}}", []string{"spec.bastion.spec.flavorID"},
		},
		"template": {
			"OpenStackClusterTemplate", minimalCluster + "apiServerPort: 0", []string{"spec.template.spec.apiServerPort"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := normalised(t, tc.kind, "v1beta1", tc.spec)
			if d := cmp.Diff(tc.want, fieldsOf(errs)); d != "" {
				t.Errorf("-want +got:\n%s\n%v", d, errs)
			}
		})
	}
}
