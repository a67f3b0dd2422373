package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/test/run/kindstest"
)

const minimalCluster = `
identityRef: {name: cloud-config, cloudName: openstack}
managedSubnets: [{cidr: 10.6.0.0/24}]
`

const minimalMachine = `
flavor: {filter: {name: m1.small}}
image: {filter: {name: ubuntu}}
`

func TestDefaults(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, kind, in, want string
	}{
		"minimal cluster": {
			reason: "a reference to credentials is to a Secret",
			kind:   "OpenStackCluster", in: minimalCluster,
			want: `
identityRef: {type: Secret, name: cloud-config, cloudName: openstack}
managedSubnets: [{cidr: 10.6.0.0/24}]`,
		},
		"load balancer": {
			reason: "what is there is enabled, the monitor has upstream's numbers, an address is a range of one",
			kind:   "OpenStackCluster", in: minimalCluster + `
apiServer: {managedLoadBalancer: {allowedCIDRs: [203.0.113.9, "10.0.0.77/8", "2001:DB8::/32"], additionalPorts: [9000, 8132], monitor: {timeout: 3}}}`,
			want: `
identityRef: {type: Secret, name: cloud-config, cloudName: openstack}
managedSubnets: [{cidr: 10.6.0.0/24}]
apiServer:
  managedLoadBalancer:
    enabled: true
    allowedCIDRs: [10.0.0.0/8, "2001:db8::/32", 203.0.113.9/32]
    additionalPorts: [8132, 9000]
    monitor: {delay: 10, timeout: 3, maxRetries: 5, maxRetriesDown: 3}`,
		},
		"bastion and rules": {
			reason: "a bastion is enabled, rules are for IPv4 unless their remote is not, sets are sorted",
			kind:   "OpenStackCluster", in: minimalCluster + `
tags: [b, a]
controlPlaneAvailabilityZones: [az2, az1]
controlPlaneEndpoint: {}
bastion: {spec: {flavor: {id: "1"}, image: {imageRef: {name: ubuntu}}}}
managedSecurityGroups:
  clusterNodesSecurityGroupRules:
  - {name: a, direction: ingress, protocol: "", remoteManagedGroups: [worker, bastion]}
  - {name: b, direction: egress, remoteIPPrefix: "2001:db8::1"}`,
			want: `
identityRef: {type: Secret, name: cloud-config, cloudName: openstack}
managedSubnets: [{cidr: 10.6.0.0/24}]
tags: [a, b]
controlPlaneAvailabilityZones: [az1, az2]
bastion: {enabled: true, spec: {flavor: {id: "1"}, image: {filter: {name: ubuntu}}}}
managedSecurityGroups:
  clusterNodesSecurityGroupRules:
  - {name: a, direction: ingress, etherType: IPv4, remoteManagedGroups: [bastion, worker]}
  - {name: b, direction: egress, etherType: IPv6, remoteIPPrefix: "2001:db8::1/128"}`,
		},
		"machine": {
			reason: "lists whose order says nothing are sorted, so that a new order rolls nothing",
			kind:   "OpenStackMachineTemplate", in: minimalMachine + `
tags: [b, a]
trunk: false
serverMetadata: [{key: z, value: "1"}, {key: a, value: "2"}]
rootVolume: {sizeGiB: 20, availabilityZone: {name: nova}}
additionalBlockDevices: [{name: z, sizeGiB: 1, storage: {type: Local}}, {name: a, sizeGiB: 2, storage: {type: Volume, volume: {availabilityZone: {from: Machine}}}}]
floatingIPPoolRef: {kind: OpenStackFloatingIPPool, name: pool}
identityRef: {name: other, cloudName: c}
schedulerHintAdditionalProperties: [{name: z, value: {type: Bool, bool: false}}, {name: a, value: {type: Number, number: 0}}]
ports:
- tags: [d, c]
  valueSpecs: [{name: z, key: k1, value: v}, {name: a, key: k2, value: v}]
  securityGroups: [{filter: {tags: [v, u]}}]`,
			want: `
flavor: {filter: {name: m1.small}}
image: {filter: {name: ubuntu}}
tags: [a, b]
serverMetadata: [{key: a, value: "2"}, {key: z, value: "1"}]
rootVolume: {sizeGiB: 20, availabilityZone: {from: Name, name: nova}}
additionalBlockDevices: [{name: z, sizeGiB: 1, storage: {type: Local}}, {name: a, sizeGiB: 2, storage: {type: Volume, volume: {availabilityZone: {from: Machine}}}}]
floatingIPPoolRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackFloatingIPPool, name: pool}
identityRef: {type: Secret, name: other, cloudName: c}
schedulerHintAdditionalProperties: [{name: a, value: {type: Number, number: 0}}, {name: z, value: {type: Bool, bool: false}}]
ports:
- tags: [c, d]
  valueSpecs: [{name: a, key: k2, value: v}, {name: z, key: k1, value: v}]
  securityGroups: [{filter: {tags: [u, v]}}]`,
		},
		"image of the resource controller": {
			reason: "the controller calls an image like its object",
			kind:   "OpenStackMachineTemplate", in: `{flavor: {id: "1"}, image: {imageRef: {name: node-image}}}`,
			want: `{flavor: {id: "1"}, image: {filter: {name: node-image}}}`,
		},
		"cluster template": {
			reason: "it is normalised as the cluster that is made from it",
			kind:   "OpenStackClusterTemplate", in: minimalCluster,
			want: `
identityRef: {type: Secret, name: cloud-config, cloudName: openstack}
managedSubnets: [{cidr: 10.6.0.0/24}]`,
		},
		"pool": {
			reason: "the credentials are in a Secret, the addresses are a set",
			kind:   "OpenStackFloatingIPPool", in: `{identityRef: {name: a, cloudName: b}, reclaimPolicy: Retain, maxIPs: 0, preAllocatedFloatingIPs: [203.0.113.9, 203.0.113.10]}`,
			want: `{identityRef: {type: Secret, name: a, cloudName: b}, reclaimPolicy: Retain, maxIPs: 0, preAllocatedFloatingIPs: [203.0.113.10, 203.0.113.9]}`,
		},
		"identity": {
			reason: "nothing is filled in",
			kind:   "OpenStackClusterIdentity", in: `{secretRef: {name: a, namespace: b}, namespaceSelector: {matchLabels: {team: blue}}}`,
			want: `{secretRef: {name: a, namespace: b}, namespaceSelector: {matchLabels: {team: blue}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			version := kindstest.Kind(t, Kinds(), tc.kind).Versions[0]
			spec, errs := normalised(t, tc.kind, version, tc.in)
			if len(errs) > 0 {
				t.Fatalf("%s: %v", tc.reason, errs)
			}
			if d := cmp.Diff(canonical(t, tc.want), kindstest.YAML(t, spec)); d != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, d)
			}
			again, errs := normalised(t, tc.kind, version, kindstest.YAML(t, spec))
			if len(errs) > 0 {
				t.Fatalf("what was normalised is not right: %v", errs)
			}
			if d := cmp.Diff(kindstest.YAML(t, spec), kindstest.YAML(t, again)); d != "" {
				t.Errorf("what was normalised is normalised otherwise: %s", d)
			}
		})
	}
}

func TestSecrets(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, spec string
		want       []fleet.Key
	}{
		"cluster":             {"OpenStackCluster", minimalCluster, []fleet.Key{{Namespace: "prod", Name: "cloud-config"}}},
		"cluster template":    {"OpenStackClusterTemplate", minimalCluster, []fleet.Key{{Namespace: "prod", Name: "cloud-config"}}},
		"cluster by identity": {"OpenStackCluster", `{identityRef: {type: ClusterIdentity, name: shared, cloudName: c}, managedSubnets: [{cidr: 10.6.0.0/24}]}`, nil},
		"machine":             {"OpenStackMachineTemplate", minimalMachine + `identityRef: {name: other, cloudName: c}`, []fleet.Key{{Namespace: "prod", Name: "other"}}},
		"machine without":     {"OpenStackMachineTemplate", minimalMachine, nil},
		"pool":                {"OpenStackFloatingIPPool", `{identityRef: {name: a, cloudName: b}, reclaimPolicy: Delete}`, []fleet.Key{{Namespace: "prod", Name: "a"}}},
		"identity":            {"OpenStackClusterIdentity", `{secretRef: {name: a, namespace: vault}}`, []fleet.Key{{Namespace: "vault", Name: "a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			k := kindstest.Kind(t, Kinds(), tc.kind)
			spec, errs := normalised(t, tc.kind, k.Versions[0], tc.spec)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if d := cmp.Diff(tc.want, k.Secrets(spec, "prod")); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}
