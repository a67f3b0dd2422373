package api

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const base = `
identityRef: {name: a, cloudName: b}
`

// TestClusterProblems: each rule, by the fields that it names.
func TestClusterProblems(t *testing.T) {
	long := strings.Repeat("x", 256)
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"nothing":             {`{}`, []string{"identityRef.cloudName", "identityRef.name", "managedSubnets"}},
		"identity of no type": {`{identityRef: {type: File, name: a, cloudName: b}, managedSubnets: [{cidr: 10.6.0.0/24}]}`, []string{"identityRef.type"}},
		"identity's name":     {`{identityRef: {name: A_b, cloudName: b}, managedSubnets: [{cidr: 10.6.0.0/24}]}`, []string{"identityRef.name"}},
		"two subnets":         {base + `managedSubnets: [{cidr: 10.6.0.0/24}, {cidr: 10.7.0.0/24}]`, []string{"managedSubnets"}},
		"no range":            {base + `managedSubnets: [{}]`, []string{"managedSubnets[0].cidr"}},
		"an address":          {base + `managedSubnets: [{cidr: 10.6.0.0}]`, []string{"managedSubnets[0].cidr"}},
		"bits of a host":      {base + `managedSubnets: [{cidr: 10.6.0.1/24}]`, []string{"managedSubnets[0].cidr"}},
		"IPv6":                {base + `managedSubnets: [{cidr: "2001:db8::/64", dnsNameservers: ["2001:db8::1"]}]`, nil},
		"name servers":        {base + `managedSubnets: [{cidr: 10.6.0.0/24, dnsNameservers: [dns, "2001:db8::1"]}]`, []string{"managedSubnets[0].dnsNameservers[0]", "managedSubnets[0].dnsNameservers[1]"}},
		"pools": {
			base + `managedSubnets: [{cidr: 10.6.0.0/24, allocationPools: [{start: 10.5.0.1, end: 10.7.0.1}, {start: 10.6.0.9, end: 10.6.0.8}, {start: a}, {start: 10.6.0.1, end: 10.6.0.1}]}]`,
			[]string{
				"managedSubnets[0].allocationPools[0].end", "managedSubnets[0].allocationPools[0].start", "managedSubnets[0].allocationPools[1].end",
				"managedSubnets[0].allocationPools[2].end", "managedSubnets[0].allocationPools[2].start",
			},
		},
		"made and named":    {minimalCluster + "network: {filter: {name: net}}\nsubnets: [{filter: {name: s}}]\nprimarySubnet: {filter: {name: s}}", []string{"network", "primarySubnet", "subnets"}},
		"two routers":       {minimalCluster + "router: {filter: {name: net}}\nmanagedRouter: {externalIPs: [{subnet: {filter: {name: net}}}]}", []string{"managedRouter"}},
		"empty made things": {minimalCluster + "managedRouter: {}\nmanagedNetwork: {}", []string{"managedNetwork", "managedRouter.externalIPs"}},
		"MTU":               {minimalCluster + "managedNetwork: {mtu: 67}", []string{"managedNetwork.mtu"}},
		"router's address":  {minimalCluster + "managedRouter: {externalIPs: [{fixedIP: x, subnet: {}}]}", []string{"managedRouter.externalIPs[0].fixedIP", "managedRouter.externalIPs[0].subnet"}},
		"nothing to make":   {base + "subnets: [{filter: {name: s}}]\nmanagedNetwork: {mtu: 1400, enablePortSecurity: true}\nmanagedRouter: {externalIPs: [{subnet: {filter: {name: net}}}]}", []string{"managedNetwork.enablePortSecurity", "managedNetwork.mtu", "managedRouter"}},
		"filters": {
			base +
				"network: {}\nsubnets: [{id: x}, {filter: {}}, {id: 1c31f4ad-8ac1-4b65-9c3a-7b7d1a3a6f01, filter: {name: a}}, {filter: {ipVersion: 5, gatewayIP: a, cidr: b, ipv6AddressMode: c, ipv6RAMode: d}}]\nrouter: {filter: {tags: ['', 'a,b', c, c]}}",
			[]string{
				"network", "router.filter.tags[0]", "router.filter.tags[1]", "router.filter.tags[3]", "subnets[0].id", "subnets[1].filter", "subnets[2]",
				"subnets[3].filter.cidr", "subnets[3].filter.gatewayIP", "subnets[3].filter.ipVersion", "subnets[3].filter.ipv6AddressMode", "subnets[3].filter.ipv6RAMode",
			},
		},
		"parameters": {base + "subnets: [{filter: {name: a}}]\nprimarySubnet: {filter: {tags: ['']}}\nexternalNetwork: {filter: {notTags: ['']}}\nrouter: {}", []string{"externalNetwork.filter.notTags[0]", "primarySubnet.filter.tags[0]", "router"}},
		"external off": {
			minimalCluster + "enableExternalNetwork: false\nexternalNetwork: {filter: {name: net}}\nmanagedRouter: {externalIPs: [{subnet: {filter: {name: net}}}]}\nbastion: {enabled: false, floatingIP: 203.0.113.7}",
			[]string{"apiServer.enableFloatingIP", "bastion.floatingIP", "externalNetwork", "managedRouter"},
		},
		"external off, floating IP on": {minimalCluster + "enableExternalNetwork: false\napiServer: {enableFloatingIP: true}", []string{"apiServer.enableFloatingIP"}},
		"external off, right":          {minimalCluster + "enableExternalNetwork: false\napiServer: {enableFloatingIP: false, fixedIP: 10.6.0.4}", nil},
		"API server":                   {minimalCluster + "apiServer: {port: 0, fixedIP: a, floatingIP: '2001:db8::1', managedLoadBalancer: {}}", []string{"apiServer.fixedIP", "apiServer.floatingIP", "apiServer.port"}},
		"fixed IP of nothing":          {minimalCluster + "apiServer: {fixedIP: 10.6.0.4}", []string{"apiServer.fixedIP"}},
		"fixed IP, balancer off":       {minimalCluster + "apiServer: {fixedIP: 10.6.0.4, managedLoadBalancer: {enabled: false}}", []string{"apiServer.fixedIP"}},
		"floating IP off":              {minimalCluster + "apiServer: {enableFloatingIP: false, floatingIP: 203.0.113.7}", []string{"apiServer.floatingIP"}},
		"load balancer": {
			minimalCluster + "apiServer: {port: 6443, managedLoadBalancer: {additionalPorts: [0, 6443, 80, 80], allowedCIDRs: [a, 10.0.0.1, 10.0.0.1/32], network: {}, subnets: [{id: a}, {filter: {name: s}}], monitor: {delay: -1, timeout: -1, maxRetries: 11, maxRetriesDown: -1}}}",
			[]string{
				"apiServer.managedLoadBalancer.additionalPorts[0]", "apiServer.managedLoadBalancer.additionalPorts[1]", "apiServer.managedLoadBalancer.additionalPorts[3]",
				"apiServer.managedLoadBalancer.allowedCIDRs[0]", "apiServer.managedLoadBalancer.allowedCIDRs[2]",
				"apiServer.managedLoadBalancer.monitor.delay", "apiServer.managedLoadBalancer.monitor.maxRetries",
				"apiServer.managedLoadBalancer.monitor.maxRetriesDown", "apiServer.managedLoadBalancer.monitor.timeout",
				"apiServer.managedLoadBalancer.network", "apiServer.managedLoadBalancer.subnets", "apiServer.managedLoadBalancer.subnets[0].id",
			},
		},
		"endpoint without host": {minimalCluster + "controlPlaneEndpoint: {port: 443}", []string{"controlPlaneEndpoint.host"}},
		"endpoint's port":       {minimalCluster + "controlPlaneEndpoint: {host: a, port: 65536}", []string{"controlPlaneEndpoint.port"}},
		"endpoint's host":       {minimalCluster + "controlPlaneEndpoint: {host: " + long + long + long + "}", []string{"controlPlaneEndpoint.host"}},
		"zones":                 {minimalCluster + "controlPlaneAvailabilityZones: ['', a, a]\ncontrolPlaneOmitAvailabilityZone: true", []string{"controlPlaneAvailabilityZones[0]", "controlPlaneAvailabilityZones[2]", "controlPlaneOmitAvailabilityZone"}},
		"tags":                  {minimalCluster + "tags: ['', a/b, 'a,b', " + strings.Repeat("x", 61) + ", c, c]", []string{"tags[0]", "tags[1]", "tags[2]", "tags[3]", "tags[5]"}},
		"bastion without spec":  {minimalCluster + "bastion: {}", []string{"bastion.spec"}},
		"bastion off":           {minimalCluster + "bastion: {enabled: false}", nil},
		"bastion":               {minimalCluster + "bastion: {floatingIP: '2001:db8::1', spec: {flavor: {id: ''}, image: {id: x}}}", []string{"bastion.floatingIP", "bastion.spec.flavor.id", "bastion.spec.image.id"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := normalised(t, "OpenStackCluster", "v1beta2", tc.spec)
			if d := cmp.Diff(tc.want, trimmed(fieldsOf(errs), "spec.")); d != "" {
				t.Errorf("-want +got:\n%s\n%v", d, errs)
			}
		})
	}
}

func TestRuleProblems(t *testing.T) {
	for name, tc := range map[string]struct {
		rule string
		want []string
	}{
		"nothing":            {`{}`, []string{"direction", "name"}},
		"values":             {`{name: a, direction: in, etherType: ipv4, description: ` + strings.Repeat("x", 256) + `}`, []string{"description", "direction", "etherType"}},
		"protocol's number":  {`{name: a, direction: ingress, protocol: "256"}`, []string{"protocol"}},
		"ports, no protocol": {`{name: a, direction: ingress, portRangeMin: 1, portRangeMax: 2}`, []string{"portRangeMax", "portRangeMin"}},
		"one port":           {`{name: a, direction: ingress, protocol: tcp, portRangeMin: 1}`, []string{"portRangeMax"}},
		"other port":         {`{name: a, direction: ingress, protocol: tcp, portRangeMax: 1}`, []string{"portRangeMin"}},
		"port range":         {`{name: a, direction: ingress, protocol: tcp, portRangeMin: 2, portRangeMax: 1}`, []string{"portRangeMax"}},
		"no port":            {`{name: a, direction: ingress, protocol: udp, portRangeMin: 0, portRangeMax: 65536}`, []string{"portRangeMax", "portRangeMin"}},
		"all ports":          {`{name: a, direction: ingress, protocol: udp}`, nil},
		"ICMP type":          {`{name: a, direction: ingress, protocol: icmp, portRangeMin: 8}`, nil},
		"ICMP type and code": {`{name: a, direction: ingress, protocol: "1", portRangeMin: 3, portRangeMax: 1}`, nil},
		"ICMP code alone":    {`{name: a, direction: ingress, protocol: icmpv6, portRangeMax: 1}`, []string{"portRangeMin"}},
		"ICMP out of range":  {`{name: a, direction: ingress, protocol: icmp, portRangeMin: 256, portRangeMax: 256}`, []string{"portRangeMax", "portRangeMin"}},
		"ICMP 0":             {`{name: a, direction: ingress, protocol: icmp, portRangeMin: 0, portRangeMax: 0}`, []string{"portRangeMax", "portRangeMin"}},
		"remote range":       {`{name: a, direction: ingress, remoteIPPrefix: x}`, []string{"remoteIPPrefix"}},
		"remote family":      {`{name: a, direction: ingress, etherType: IPv6, remoteIPPrefix: 10.0.0.0/8}`, []string{"remoteIPPrefix"}},
		"groups":             {`{name: a, direction: ingress, remoteManagedGroups: [worker, worker, workers, bastion]}`, []string{"remoteManagedGroups[1]", "remoteManagedGroups[2]", "remoteManagedGroups[3]"}},
		"group and range":    {`{name: a, direction: ingress, remoteGroupID: g, remoteIPPrefix: 10.0.0.0/8}`, []string{""}},
		"group and group":    {`{name: a, direction: ingress, remoteGroupID: g, remoteManagedGroups: [worker]}`, []string{""}},
		"range and group":    {`{name: a, direction: ingress, remoteIPPrefix: 10.0.0.0/8, remoteManagedGroups: [worker]}`, []string{""}},
		"name of another":    {`{name: taken, direction: ingress}`, []string{"name"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, list := range []string{"clusterNodesSecurityGroupRules", "controlPlaneNodesSecurityGroupRules", "workerNodesSecurityGroupRules"} {
				at := "spec.managedSecurityGroups." + list + "[1]"
				_, errs := normalised(t, "OpenStackCluster", "v1beta2",
					minimalCluster+"managedSecurityGroups: {"+list+": [{name: taken, direction: ingress}, "+tc.rule+"]}")
				var got []string
				for _, f := range fieldsOf(errs) {
					got = append(got, strings.TrimPrefix(strings.TrimPrefix(f, at), "."))
				}
				if d := cmp.Diff(tc.want, got); d != "" {
					t.Errorf("%s: -want +got:\n%s\n%v", list, d, errs)
				}
			}
		})
	}
}

func TestMachineProblems(t *testing.T) {
	const m = minimalMachine
	var tags []string
	for range 51 {
		tags = append(tags, "t"+strings.Repeat("x", len(tags)))
	}
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"nothing":        {`{}`, []string{"flavor", "image"}},
		"empty":          {`{flavor: {filter: {}}, image: {filter: {}}}`, []string{"flavor.filter", "image.filter"}},
		"empty names":    {`{flavor: {filter: {name: ""}}, image: {filter: {name: ""}}}`, []string{"flavor.filter", "image.filter"}},
		"both":           {`{flavor: {id: a, filter: {name: a}}, image: {id: 1c31f4ad-8ac1-4b65-9c3a-7b7d1a3a6f01, filter: {name: a}}}`, []string{"flavor", "image"}},
		"image and ref":  {`{flavor: {id: a}, image: {id: 1c31f4ad-8ac1-4b65-9c3a-7b7d1a3a6f01, imageRef: {name: a}}}`, []string{"image"}},
		"empty ref":      {`{flavor: {id: a}, image: {imageRef: {}}}`, []string{"image.imageRef.name"}},
		"image's tags":   {`{flavor: {id: a}, image: {filter: {tags: [a, a]}}}`, []string{"image.filter.tags[1]"}},
		"names":          {m + "sshKeyName: " + strings.Repeat("x", 256) + "\nserverGroup: {id: x}\nidentityRef: {}\nsecurityGroups: [{}, {id: x}]", []string{"identityRef.cloudName", "identityRef.name", "securityGroups[0]", "securityGroups[1].id", "serverGroup.id", "sshKeyName"}},
		"too many tags":  {m + "tags: [" + strings.Join(tags, ", ") + "]", []string{"tags"}},
		"metadata":       {m + "serverMetadata: [{}, {key: a/b, value: c}, {key: d, value: " + strings.Repeat("x", 256) + "}, {key: e, value: f}, {key: e, value: g}, {key: 'fairlead.dev:fleet', value: other}, {key: " + strings.Repeat("k", 256) + ", value: x}]", []string{"serverMetadata[0].key", "serverMetadata[0].value", "serverMetadata[1].key", "serverMetadata[2].value", "serverMetadata[4].key", "serverMetadata[5].key", "serverMetadata[6].key"}},
		"root volume":    {m + "rootVolume: {sizeGiB: 0, availabilityZone: {}}", []string{"rootVolume.availabilityZone.name", "rootVolume.sizeGiB"}},
		"zone of volume": {m + "rootVolume: {sizeGiB: 1, availabilityZone: {from: Machine, name: a}}", []string{"rootVolume.availabilityZone.name"}},
		"zone's name":    {m + "rootVolume: {sizeGiB: 1, availabilityZone: {from: Zone, name: 'a b'}}", []string{"rootVolume.availabilityZone.from", "rootVolume.availabilityZone.name"}},
		"disks": {
			m + "additionalBlockDevices: [{}, {name: root, sizeGiB: 1, storage: {type: Local, volume: {}}}, {name: a/b, sizeGiB: 1, storage: {type: Volume}}, {name: c, sizeGiB: 1, storage: {type: Volume}}, {name: c, sizeGiB: 1, storage: {type: Local}}]",
			[]string{"additionalBlockDevices[0].name", "additionalBlockDevices[0].sizeGiB", "additionalBlockDevices[0].storage.type", "additionalBlockDevices[1].name", "additionalBlockDevices[1].storage.volume", "additionalBlockDevices[2].name", "additionalBlockDevices[4].name"},
		},
		"hints": {
			m + "serverGroup: {filter: {name: g}}\nschedulerHintAdditionalProperties: [{}, {name: group, value: {type: String, string: g}}, {name: a, value: {type: Bool, number: 1}}, {name: b, value: {type: String, string: ''}}, {name: b, value: {type: Number, number: 1}}, {name: c, value: {type: String, string: " + strings.Repeat("x", 256) + "}}]",
			[]string{
				"schedulerHintAdditionalProperties[0].name", "schedulerHintAdditionalProperties[0].value.type", "schedulerHintAdditionalProperties[1].name",
				"schedulerHintAdditionalProperties[2].value.bool", "schedulerHintAdditionalProperties[2].value.number", "schedulerHintAdditionalProperties[3].value.string", "schedulerHintAdditionalProperties[4].name", "schedulerHintAdditionalProperties[5].value.string",
			},
		},
		"pool":         {m + "floatingIPPoolRef: {apiGroup: a, kind: b, name: ''}", []string{"floatingIPPoolRef.apiGroup", "floatingIPPoolRef.kind", "floatingIPPoolRef.name"}},
		"port's names": {m + "ports: [{nameSuffix: ''}, {nameSuffix: a, description: " + strings.Repeat("x", 81) + "}, {nameSuffix: a}, {nameSuffix: '4'}, {}, {nameSuffix: " + strings.Repeat("s", 129) + "}]", []string{"ports[0].nameSuffix", "ports[1].description", "ports[2].nameSuffix", "ports[4].nameSuffix", "ports[5].nameSuffix"}},
		"port": {
			m + "ports: [{network: {}, fixedIPs: [{}, {ipAddress: x}, {subnet: {}}], securityGroups: [{}], tags: [a/b, a, a], macAddress: x, allowedAddressPairs: [{}, {ipAddress: x, macAddress: q}]}]",
			[]string{
				"ports[0].allowedAddressPairs[0].ipAddress", "ports[0].allowedAddressPairs[1].ipAddress", "ports[0].allowedAddressPairs[1].macAddress",
				"ports[0].fixedIPs[0]", "ports[0].fixedIPs[1].ipAddress", "ports[0].fixedIPs[2].subnet", "ports[0].macAddress", "ports[0].network",
				"ports[0].securityGroups[0]", "ports[0].tags[2]",
			},
		},
		"no port security": {m + "ports: [{enablePortSecurity: false, securityGroups: [{filter: {name: a}}], allowedAddressPairs: [{ipAddress: 10.0.0.1}]}]", []string{"ports[0].allowedAddressPairs", "ports[0].securityGroups"}},
		"value specs":      {m + "ports: [{valueSpecs: [{}, {name: a, key: description, value: x}, {name: a, key: b, value: c}, {name: d, key: b, value: c}]}]", []string{"ports[0].valueSpecs[0].key", "ports[0].valueSpecs[0].name", "ports[0].valueSpecs[0].value", "ports[0].valueSpecs[1].key", "ports[0].valueSpecs[2].name", "ports[0].valueSpecs[3].key"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := normalised(t, "OpenStackMachineTemplate", "v1beta2", tc.spec)
			if d := cmp.Diff(tc.want, trimmed(fieldsOf(errs), "spec.template.spec.")); d != "" {
				t.Errorf("-want +got:\n%s\n%v", d, errs)
			}
		})
	}
}

func TestCompanionProblems(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, spec string
		want       []string
	}{
		"identity":          {"OpenStackClusterIdentity", `{}`, []string{"secretRef.name", "secretRef.namespace"}},
		"identity's secret": {"OpenStackClusterIdentity", `{secretRef: {name: A_b, namespace: a.b}}`, []string{"secretRef.name", "secretRef.namespace"}},
		"selector":          {"OpenStackClusterIdentity", `{secretRef: {name: a, namespace: b}, namespaceSelector: {matchExpressions: [{key: a, operator: Like}]}}`, []string{"namespaceSelector"}},
		"pool":              {"OpenStackFloatingIPPool", `{}`, []string{"identityRef.cloudName", "identityRef.name", "reclaimPolicy"}},
		"pool's values": {
			"OpenStackFloatingIPPool", `{identityRef: {name: a, cloudName: b}, reclaimPolicy: Recycle, maxIPs: -1, floatingIPNetwork: {}, preAllocatedFloatingIPs: [x, 203.0.113.7, 203.0.113.7]}`,
			[]string{"floatingIPNetwork", "maxIPs", "preAllocatedFloatingIPs[0]", "preAllocatedFloatingIPs[2]", "reclaimPolicy"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := normalised(t, tc.kind, "v1alpha1", tc.spec)
			if d := cmp.Diff(tc.want, trimmed(fieldsOf(errs), "spec.")); d != "" {
				t.Errorf("-want +got:\n%s\n%v", d, errs)
			}
		})
	}
}

func trimmed(fields []string, prefix string) []string {
	for i := range fields {
		fields[i] = strings.TrimPrefix(fields[i], prefix)
	}
	return fields
}
