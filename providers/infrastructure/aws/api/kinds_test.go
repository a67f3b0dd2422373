package api_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/managed/eks"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/render/decode"
	"fairlead.dev/test/run/kindstest"
	"fairlead.dev/test/run/needs"
)

// TestFieldsOfCRDs: the Go types have the fields of upstream's resource definitions, of the same JSON
// types, and no others.
func TestFieldsOfCRDs(t *testing.T) {
	kindstest.Definitions{Project: "capa", Group: "infrastructure.cluster.x-k8s.io", Missing: []string{
		"ROSACluster", "ROSAMachinePool", "ROSANetwork", "ROSARoleConfig",
	}}.Compare(t, api.Kinds())
	kindstest.Definitions{Project: "capa", Group: "controlplane.cluster.x-k8s.io", Missing: []string{"ROSAControlPlane"}}.Compare(t, api.ControlPlaneKinds())
}

// kinds are those of clusters of both sorts.
func kinds() []fleet.Kind { return slices.Concat(api.Kinds(), api.ControlPlaneKinds(), eks.Kinds()) }

// TestKindsOfOthers: what is not made of EKS, and what OpenShift makes, are refused with the way out.
func TestKindsOfOthers(t *testing.T) {
	const infrastructure, controlPlane, bootstrap = "infrastructure.cluster.x-k8s.io/v1beta2", "controlplane.cluster.x-k8s.io/v1beta2", "bootstrap.cluster.x-k8s.io/v1beta2"
	kindstest.Refused(t, kinds(),
		[3]string{infrastructure, "ROSACluster", "rosa command line"},
		[3]string{controlPlane, "ROSAControlPlane", "rosa command line"},
		[3]string{bootstrap, "EKSConfig", "NodeadmConfigTemplate"},
	)
}

// TestCoverage: each field is honoured, refused or without effect, and the last two are few.
func TestCoverage(t *testing.T) {
	count := map[string]int{}
	for _, f := range kindstest.Coverage(t, kinds()) {
		if !strings.HasPrefix(f.Kind, "AWS") {
			continue
		}
		count[f.Status]++
	}
	if count["honoured"] < 400 {
		t.Errorf("fields are %v: are all kinds there?", count)
	}
	t.Logf("fields are %v", count)
}

// values are those that upstream's guides give the variables of its templates.
func values() map[string]string {
	return map[string]string{
		"CLUSTER_NAME": "capa", "KUBERNETES_VERSION": "v1.34.1", "CONTROL_PLANE_MACHINE_COUNT": "3", "WORKER_MACHINE_COUNT": "2",
		"AWS_REGION": "eu-central-1", "AWS_SSH_KEY_NAME": "ops", "AWS_CONTROL_PLANE_MACHINE_TYPE": "m6i.large", "AWS_NODE_MACHINE_TYPE": "m6i.xlarge",
		"AWS_S3_BUCKET_NAME": "capa-user-data", "CNI_RESOURCES": `{"cni.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: cni, namespace: kube-system}}"}`, "AWS_ACCOUNT_ID": "123456789012", "BASTION_ENABLED": "false", "VPC_AZ_USAGE_LIMIT": "2",
		"MULTI_TENANCY_JUMP_IDENTITY_NAME": "jump", "MULTI_TENANCY_NESTED_IDENTITY_NAME": "nested",
		"MULTI_TENANCY_JUMP_ROLE_ARN": "arn:aws:iam::123456789012:role/jump", "MULTI_TENANCY_NESTED_ROLE_ARN": "arn:aws:iam::210987654321:role/nested",
		"EKS_KUBERNETES_VERSION": "v1.34.1", "OPENSHIFT_VERSION": "4.19.0", "CNI_IPV6_RESOURCES": "{}",
		"CLUSTER_CLASS_NAME": "eks", "AWS_AVAILABILITY_ZONE": "eu-central-1a", "OPERATOR_ROLES_PREFIX": "capa", "ACCOUNT_ROLES_PREFIX": "capa", "OIDC_CONFIG_ID": "1",
		"PUBLIC_SUBNET_ID": "subnet-1", "PRIVATE_SUBNET_ID": "subnet-2", "ROSA_NETWORK_NAME": "rosa", "AVAILABILITY_ZONE_COUNT": "1", "CIDR_BLOCK": "10.0.0.0/16",
	}
}

// TestCorpus: each template that upstream ships gives a cluster, or is refused with reasons.
func TestCorpus(t *testing.T) {
	root := needs.Corpus(t)
	files, err := filepath.Glob(filepath.Join(root, "capa", "templates", "*.yaml"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	refused := map[string][]string{
		"cluster-template-eks-ipv6":                      {"spec.vpcCni.env"},
		"cluster-template-eks-managedmachinepool":        {"the cloud sets up the machines by itself"},
		"cluster-template-eks-managedmachinepool-gpu":    {"the cloud sets up the machines by itself"},
		"cluster-template-eks-managedmachinepool-vpccni": {"the cloud sets up the machines by itself"},
		// The class replaces a field that its template does not have; upstream's API server adds it.
		"cluster-template-multitenancy-clusterclass": {"cannot replace /spec/template/spec/bastion/enabled"},
		"cluster-template-rosa":                      {"ROSAControlPlane is not supported"},
		"cluster-template-rosa-machinepool":          {"ROSAMachinePool is not supported"},
		"cluster-template-rosa-role-config":          {"ROSARoleConfig is not supported"},
		"rosa-network":                               {"ROSANetwork is not supported"},
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text = bytes.ReplaceAll(text, []byte("${CLUSTER_NAME:0:54}"), []byte("${CLUSTER_NAME}")) // an expression of clusterctl alone
			if name == "cluster-template-eks-clusterclass" {                                         // it has no Cluster
				text = append(text, "\n---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: eks-1}\nspec: {topology: {classRef: {name: eks}, version: v1.34.1, workers: {machineDeployments: [{class: default-worker, name: md-0}]}}}\n"...)
			}
			clusters, problems := decode.New("f", kinds()).Decode(name, kindstest.Render(t, fstest.MapFS{"capa.yaml": {Data: text}}, values(), "capa.yaml"))
			var said strings.Builder
			for _, p := range problems {
				fmt.Fprintln(&said, p, p.Hint)
			}
			for _, want := range refused[name] {
				if !strings.Contains(said.String(), want) {
					t.Errorf("want a problem with %q, got\n%s", want, &said)
				}
			}
			if refused[name] != nil {
				return
			}
			if len(problems) > 0 || len(clusters) != 1 {
				t.Fatalf("%d clusters, want one; problems:\n%s", len(clusters), &said)
			}
			if c := &clusters[0]; api.IsManaged(c) {
				plane, err := api.ReadControlPlane(c)
				if err != nil {
					t.Fatal(err)
				}
				if name == "cluster-template-eks-fargate" {
					if all, err := api.FargateProfiles(c); err != nil || len(all) != 1 || all[0].ProfileName != "default_capa-fargate-0" || plane.Version != "1.34" {
						t.Errorf("the cluster is %+v with the profiles %+v, %v", plane, all, err)
					}
					return
				}
				worker, err := api.ReadMachine(c.Workers[0].Infrastructure)
				if err != nil || plane.Version != "1.34" || worker.AMI.EKSLookupType != "AmazonLinux2023" || c.Workers[0].Bootstrap.Kind != "NodeadmConfig" {
					t.Errorf("the cluster is %+v with machines %+v, %v", plane, worker, err)
				}
				return
			}
			spec, err := api.ReadCluster(clusters[0].Infrastructure)
			if err != nil {
				t.Fatal(err)
			}
			worker, err := api.ReadMachine(clusters[0].Workers[0].Infrastructure)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{clusters[0].Provider, spec.Region, spec.ControlPlaneLoadBalancer.LoadBalancerType, spec.Network.VPC.CIDRBlock, worker.InstanceMetadataOptions.HTTPTokens}
			want := []string{"aws", "eu-central-1", "nlb", "10.0.0.0/16", "required"}
			if name != "cluster-template" {
				got[1], want[1] = "", "" // the class has its own
			}
			if d := gocmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// TestNormalise checks specs and what is filled in.
func TestNormalise(t *testing.T) {
	for name, tc := range map[string]struct{ reason, kind, version, spec, want string }{
		"region":              {"nothing can be made without one", "AWSCluster", "v1beta2", `{}`, "spec.region: Required value: the region of the cluster, such as eu-central-1"},
		"gateway balancer":    {"elb makes a gateway load balancer", "AWSCluster", "v1beta2", `{region: eu-central-1, controlPlaneLoadBalancer: {loadBalancerType: elb}}`, `spec.controlPlaneLoadBalancer.loadBalancerType: Invalid value: "elb": takes no TCP, so no API server can be behind it: use nlb`},
		"disabled":            {"nothing of what is not made", "AWSCluster", "v1beta2", `{region: eu-central-1, controlPlaneLoadBalancer: {loadBalancerType: disabled, name: x}}`, "spec.controlPlaneLoadBalancer.name: Forbidden: no load balancer is made: leave it out"},
		"a given VPC's group": {"a given VPC is not changed", "AWSCluster", "v1beta2", `{region: eu-central-1, network: {vpc: {id: vpc-1, emptyRoutesDefaultVPCSecurityGroup: true}}}`, `spec.network.vpc.emptyRoutesDefaultVPCSecurityGroup: Forbidden: is for a VPC that is made: leave it out`},
		"subnets to make":     {"a given VPC is not changed", "AWSCluster", "v1beta2", `{region: eu-central-1, network: {vpc: {id: vpc-1}, subnets: [{id: a, cidrBlock: 10.0.0.0/24}]}}`, `spec.network.subnets[0].id: Invalid value: "a": must be the id of a subnet of the VPC: no subnets are made in a given VPC`},
		"subnets given":       {"of no VPC", "AWSCluster", "v1beta2", `{region: eu-central-1, network: {subnets: [{id: subnet-1, cidrBlock: 10.0.0.0/24, availabilityZone: eu-central-1a, isPublic: true}]}}`, `spec.network.subnets[0].id: Invalid value: "subnet-1": is a subnet that exists: name its VPC in network.vpc.id`},
		"made upstream":       {"Cluster API's provider writes them", "AWSCluster", "v1beta2", `{region: eu-central-1, network: {vpc: {id: vpc-1, cidrBlock: 10.0.0.0/16, ipamPool: {name: a}, emptyRoutesDefaultVPCSecurityGroup: true, tags: {sigs.k8s.io/cluster-api-provider-aws/cluster/a: owned}}, subnets: [{id: a-subnet-public, resourceID: subnet-1, cidrBlock: 10.0.0.0/24, availabilityZone: eu-central-1a, isPublic: true}]}}`, ""},
		"made, without zone":  {"that provider writes it", "AWSCluster", "v1beta2", `{region: eu-central-1, network: {vpc: {id: vpc-1, tags: {sigs.k8s.io/cluster-api-provider-aws/cluster/a: owned}}, subnets: [{id: subnet-1}]}}`, `spec.network.subnets[0].availabilityZone: Required value: the zone of the subnet; spec.network.subnets[0].cidrBlock: Required value: the range of the subnet`},
		"shared upstream":     {"it is people's", "AWSCluster", "v1beta2", `{region: eu-central-1, network: {vpc: {id: vpc-1, tags: {sigs.k8s.io/cluster-api-provider-aws/cluster/a: shared}}, subnets: [{id: a}]}}`, `spec.network.subnets[0].id: Invalid value: "a": must be the id of a subnet of the VPC: no subnets are made in a given VPC`},
		"IPv6 of Amazon":      {"as upstream", "AWSCluster", "v1beta1", `{region: eu-central-1, network: {vpc: {ipv6: {}}}}`, ""},
		"IPv6 of others":      {"each has one", "AWSCluster", "v1beta2", `{region: eu-central-1, network: {vpc: {ipv6: {cidrBlock: 10.0.0.0/8, ipamPool: {netmaskLength: 57}}}}}`, `spec.network.vpc.ipv6.cidrBlock: Invalid value: "10.0.0.0/8": must be a range of IPv6; spec.network.vpc.ipv6.ipamPool.netmaskLength: Invalid value: 57: must be 44, 48, 52, 56 or 60; spec.network.vpc.ipv6.ipamPool: Forbidden: cidrBlock is the range: leave one of both out; spec.network.vpc.ipv6.ipamPool: Invalid value: "": needs the id of a pool or the tag Name of one, and not both; spec.network.vpc.ipv6.poolId: Required value: the pool of the account that has the range; without cidrBlock it is one of Amazon`},
		"IPv6 of no pool":     {"a pool has no range alone", "AWSCluster", "v1beta2", `{region: eu-central-1, network: {vpc: {ipv6: {poolId: p}}}}`, "spec.network.vpc.ipv6.poolId: Forbidden: only with cidrBlock"},
		"IPv6 given":          {"a given VPC has its range", "AWSCluster", "v1beta2", `{region: eu-central-1, network: {vpc: {id: vpc-1, ipv6: {cidrBlock: "2001:db8::/56"}}}}`, ""},
		"IPv6 of a pool":      {"a given VPC is not changed", "AWSCluster", "v1beta2", `{region: eu-central-1, network: {vpc: {id: vpc-1, ipv6: {ipamPool: {id: ipam-pool-1}}}}}`, "spec.network.vpc.ipv6.ipamPool: Forbidden: is for a VPC that is made: a given one has its range"},
		"IPv6 of subnets":     {"the VPC has none", "AWSCluster", "v1beta2", `{region: eu-central-1, controlPlaneLoadBalancer: {loadBalancerType: nlb, targetGroupIPType: ipv6}, network: {subnets: [{id: a, cidrBlock: 10.0.0.0/24, availabilityZone: eu-central-1a, isPublic: true, ipv6CidrBlock: "2001:db8::/56"}]}}`, `spec.controlPlaneLoadBalancer.targetGroupIPType: Forbidden: the VPC has no IPv6: add network.vpc.ipv6; spec.network.subnets[0].ipv6CidrBlock: Invalid value: "2001:db8::/56": must be a range of IPv6 with /64; spec.network.subnets[0].isIpv6: Forbidden: the VPC has no IPv6: add network.vpc.ipv6`},
		"IPv6 alone":          {"machines need IPv4 here", "AWSCluster", "v1beta2", `{region: eu-central-1, network: {vpc: {ipv6: {}}, subnets: [{id: a, availabilityZone: eu-central-1a, isPublic: true, isIpv6: true}]}}`, "spec.network.subnets[0].cidrBlock: Required value: the range of a subnet that is made"},
		"IPv6 behind classic": {"it has no target groups", "AWSCluster", "v1beta2", `{region: eu-central-1, network: {vpc: {ipv6: {}}}, controlPlaneLoadBalancer: {targetGroupIPType: ipv6}}`, "spec.controlPlaneLoadBalancer.targetGroupIPType: Forbidden: a classic load balancer has no target groups: leave it out"},
		"mixed rule":          {"as upstream", "AWSCluster", "v1beta2", `{region: eu-central-1, network: {additionalNodeIngressRules: [{description: x, protocol: tcp, fromPort: 1, toPort: 2, cidrBlocks: [10.0.0.0/8], sourceSecurityGroupRoles: [node]}]}}`, `spec.network.additionalNodeIngressRules[0]: Invalid value: "": has ranges and security groups: write two rules`},
		"tag of ours":         {"they say whose a thing is", "AWSCluster", "v1beta1", `{region: eu-central-1, additionalTags: {fairlead.dev/fleet: x}}`, `spec.additionalTags[fairlead.dev/fleet]: Invalid value: "fairlead.dev/fleet": tags that begin with fairlead.dev/ say whose a thing is, and are set by Fairlead alone`},
		"older":               {"the same fields", "AWSCluster", "v1beta1", `{region: eu-central-1, network: {vpc: {cidrBlock: 10.1.2.3/16}}}`, ""},
		"spot reserved":       {"there is no such", "AWSMachine", "v1beta2", `{instanceType: m6i.large, spotMarketOptions: {}, capacityReservationId: cr-1}`, "spec.capacityReservationId: Forbidden: a spot instance has no reservation"},
		"provisioned":         {"as upstream", "AWSMachine", "v1beta2", `{instanceType: m6i.large, rootVolume: {size: 8, type: io1}}`, "spec.rootVolume.iops: Required value: a volume of type io1 says how many it has"},
		"fetches nothing":     {"its configuration is its user data", "AWSMachine", "v1beta2", `{instanceType: m6i.large, ignition: {storageType: UnencryptedUserData, proxy: {httpProxy: "http://p"}, tls: {certificateAuthorities: ["data:,ca"]}}}`, "spec.ignition.proxy: Forbidden: only with storageType: ClusterObjectStore: an instance that has its configuration as user data fetches nothing; spec.ignition.tls: Forbidden: only with storageType: ClusterObjectStore: an instance that has its configuration as user data fetches nothing"},
		"bucket":              {"somebody has to read", "AWSCluster", "v1beta1", `{region: eu-central-1, s3Bucket: {name: User_data, controlPlaneIAMInstanceProfile: "", nodesIAMInstanceProfiles: [""]}}`, `spec.s3Bucket.controlPlaneIAMInstanceProfile: Required value: the instance profile whose role reads what is stored (or set presignedURLDuration); spec.s3Bucket.name: Invalid value: "User_data": must have 3 to 63 lower-case letters, digits, hyphens and dots, begin and end with a letter or a digit, and be no address; spec.s3Bucket.nodesIAMInstanceProfiles[0]: Required value: the instance profile whose role reads what is stored (or set presignedURLDuration)`},
		"long URL":            {"the limit of AWS", "AWSCluster", "v1beta2", `{region: eu-central-1, s3Bucket: {name: user-data, presignedURLDuration: 169h}}`, `spec.s3Bucket.presignedURLDuration: Invalid value: "169h": must be between 1s and 168h, such as 1h`},
		"presigned":           {"nobody else has to read", "AWSCluster", "v1beta2", `{region: eu-central-1, s3Bucket: {name: user-data, presignedURLDuration: 1h}}`, ""},
		"Amazon Linux 2":      {"it has no nodeadm", "AWSMachine", "v1beta2", `{instanceType: m6i.large, ami: {eksLookupType: AmazonLinux}}`, `spec.ami.eksLookupType: Invalid value: "AmazonLinux": Amazon Linux 2 has no nodeadm, and EKS has no images of it from Kubernetes 1.33 on: use AmazonLinux2023`},
		"two images":          {"one is enough", "AWSMachine", "v1beta2", `{instanceType: m6i.large, ami: {id: ami-1, eksLookupType: AmazonLinux2023}}`, `spec.ami.eksLookupType: Forbidden: id names the image: leave one of both out`},
		"host":                {"as upstream", "AWSMachine", "v1beta2", `{instanceType: m6i.large, hostAffinity: host}`, "spec.hostAffinity: Forbidden: only with tenancy: host; spec.hostID: Required value: with hostAffinity: host an instance is on one dedicated host"},
		"interfaces twice":    {"each has its subnet", "AWSMachine", "v1beta1", `{instanceType: m6i.large, publicIP: true, subnet: {id: subnet-1}, networkInterfaces: [eni-1, eni-1, subnet-2]}`, `spec.networkInterfaces[1]: Duplicate value: "eni-1"; spec.networkInterfaces[2]: Invalid value: "subnet-2": must be an id that begins with eni-; spec.publicIP: Forbidden: AWS gives no public address to a network interface that is there: associate one with the interface; spec.subnet: Forbidden: that is a property of the network interfaces in networkInterfaces: leave one of both out`},
		"interfaces":          {"they are given", "AWSMachine", "v1beta2", `{instanceType: m6i.large, networkInterfaces: [eni-1, eni-2]}`, ""},
		"type of interfaces":  {"they have one", "AWSMachine", "v1beta2", `{instanceType: m6i.large, networkInterfaceType: efa, networkInterfaces: [eni-1]}`, "spec.networkInterfaceType: Forbidden: that is a property of the network interfaces in networkInterfaces: leave one of both out"},
		"chain":               {"AWS limits it", "AWSClusterRoleIdentity", "v1beta2", `{roleARN: "arn:aws:iam::1:role/a", durationSeconds: 7200, sourceIdentityRef: {kind: AWSClusterRoleIdentity, name: b}}`, "spec.durationSeconds: Invalid value: 7200: credentials of a role that another role assumes are valid for an hour at most"},
		"no source":           {"as upstream", "AWSClusterRoleIdentity", "v1beta1", `{roleARN: "arn:aws:iam::1:role/a"}`, "spec.sourceIdentityRef: Required value: the identity that assumes the role"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := kindstest.Normalised(t, kindstest.Kind(t, api.Kinds(), tc.kind), tc.version, tc.spec, nil)
			var got []string
			for _, e := range errs {
				got = append(got, e.Error())
			}
			slices.Sort(got)
			if d := gocmp.Diff(tc.want, strings.Join(got, "; ")); d != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, d)
			}
		})
	}
}

// TestLetsIn: whose clusters an identity is for.
func TestLetsIn(t *testing.T) {
	c := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, NamespaceLabels: map[string]string{"stage": "prod"}}
	for name, tc := range map[string]struct {
		in   *api.AllowedNamespaces
		want bool
	}{
		"nobody":        {nil, false},
		"all":           {ptr.To(api.AllowedNamespaces{}), true},
		"listed":        {&api.AllowedNamespaces{List: []string{"test", "prod"}}, true},
		"others listed": {&api.AllowedNamespaces{List: []string{"test"}}, false},
	} {
		if got, err := tc.in.LetsIn(c); got != tc.want || err != nil {
			t.Errorf("%s: %t, %v, want %t", name, got, err, tc.want)
		}
	}
}
