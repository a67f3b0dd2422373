package api_test

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
	"fairlead.dev/test/run/kindstest"
)

// managed returns what the decoder makes of a spec of EKS, called prod/eu.1, and what is wrong with it.
func managed(t *testing.T, k fleet.Kind, version, spec string) (any, string) {
	t.Helper()
	o := kindstest.Object(t, k, version, `{"metadata":{"name":"eu.1","namespace":"prod"},"spec":`+spec+`}`)
	if _, ok := o.(metav1.Object); !ok {
		t.Fatalf("%T has no metadata", o)
	}
	out, errs := k.Normalise(o)
	return out, kindstest.Text(errs)
}

// TestOlderNetworkPlugin: disableVPCCNI of v1beta1 is vpcCni.disable.
func TestOlderNetworkPlugin(t *testing.T) {
	k := api.ControlPlaneKinds()[0]
	for text, want := range map[string]bool{`"disableVPCCNI":true,`: true, `"disableVPCCNI":true,"vpcCni":{},`: true, `"disableVPCCNI":false,`: false} {
		out, errs := managed(t, k, "v1beta1", `{`+text+`"region":"eu-central-1","version":"v1.34.1"}`)
		if errs != "" {
			t.Fatal(errs)
		}
		n := out.(*fleet.HostedManifest).Spec.(*api.AWSManagedControlPlaneSpec).VPCCNI
		if is := n != nil && n.Disable; is != want {
			t.Errorf("with %s it is %t", text, is)
		}
	}
}

// TestManagedControlPlane: what is filled in, and what is refused.
func TestManagedControlPlane(t *testing.T) {
	k := api.ControlPlaneKinds()[0]
	for name, tc := range map[string]struct{ version, spec, want string }{
		"version without patch":    {"v1beta2", `{"region":"eu-central-1","version":"1.34"}`, ""},
		"rows of aws-auth":         {"v1beta2", `{"region":"eu-central-1","version":"v1.34","iamAuthenticatorConfig":{"mapRoles":[{"rolearn":"arn:aws:iam::1:role/a","username":"a","groups":["g"]}],"mapUsers":[{"userarn":"arn:aws-cn:iam::1:user/x/b","username":"b","groups":["g"]}]}}`, ""},
		"rows that are not read":   {"v1beta2", `{"region":"eu-central-1","version":"v1.34","accessConfig":{"authenticationMode":"api"},"iamAuthenticatorConfig":{"mapRoles":[{"rolearn":"arn:aws:iam::1:role/a","username":"a","groups":["g"]}]}}`, "spec.iamAuthenticatorConfig: Forbidden: with accessConfig.authenticationMode api EKS does not read aws-auth: use accessEntries"},
		"a role with a path":       {"v1beta2", `{"region":"eu-central-1","version":"v1.34","iamAuthenticatorConfig":{"mapRoles":[{"rolearn":"arn:aws:iam::1:role/x/a","username":"a","groups":["g"]}]}}`, "spec.iamAuthenticatorConfig.mapRoles[0].rolearn: Invalid value"},
		"a user for a role":        {"v1beta2", `{"region":"eu-central-1","version":"v1.34","iamAuthenticatorConfig":{"mapUsers":[{"userarn":"arn:aws:iam::1:role/a","username":"a","groups":["g"]}]}}`, "spec.iamAuthenticatorConfig.mapUsers[0].userarn: Invalid value"},
		"two rows of a role":       {"v1beta2", `{"region":"eu-central-1","version":"v1.34","iamAuthenticatorConfig":{"mapRoles":[{"rolearn":"arn:aws:iam::1:role/a","username":"a","groups":["g"]},{"rolearn":"arn:aws:iam::1:role/a","username":"b","groups":["g"]}]}}`, "Duplicate value"},
		"a row without a name":     {"v1beta2", `{"region":"eu-central-1","version":"v1.34","iamAuthenticatorConfig":{"mapRoles":[{"rolearn":"arn:aws:iam::1:role/a","username":"","groups":["g"]}]}}`, "spec.iamAuthenticatorConfig.mapRoles[0].username: Required value"},
		"a row without groups":     {"v1beta2", `{"region":"eu-central-1","version":"v1.34","iamAuthenticatorConfig":{"mapRoles":[{"rolearn":"arn:aws:iam::1:role/a","username":"a","groups":[]}]}}`, "spec.iamAuthenticatorConfig.mapRoles[0].groups: Required value"},
		"nothing of EKS":           {"v1beta2", `{"region":"eu-central-1","version":"v1.34","kubeProxy":{"disable":true},"vpcCni":{"disable":true}}`, ""},
		"variables":                {"v1beta2", `{"region":"eu-central-1","version":"v1.34","vpcCni":{"env":[{"name":"A","value":"1"}]}}`, ""},
		"two variables of a name":  {"v1beta2", `{"region":"eu-central-1","version":"v1.34","vpcCni":{"env":[{"name":"A","value":"1"},{"name":"A"}]}}`, "spec.vpcCni.env[1].name: Duplicate value"},
		"an addon and no proxy":    {"v1beta2", `{"region":"eu-central-1","version":"v1.34","kubeProxy":{"disable":true},"addons":[{"name":"kube-proxy","version":"v1"}]}`, "spec.kubeProxy.disable: Forbidden: addons has kube-proxy: leave one of both out"},
		"an addon and no plugin":   {"v1beta2", `{"region":"eu-central-1","version":"v1.34","vpcCni":{"disable":true},"addons":[{"name":"vpc-cni","version":"v1"}]}`, "spec.vpcCni.disable: Forbidden: addons has vpc-cni: leave one of both out"},
		"an addon and variables":   {"v1beta2", `{"region":"eu-central-1","version":"v1.34","vpcCni":{"env":[{"name":"A"}]},"addons":[{"name":"vpc-cni","version":"v1"}]}`, "spec.vpcCni.env: Forbidden: addons has vpc-cni: set env in its configuration"},
		"variables of nothing":     {"v1beta2", `{"region":"eu-central-1","version":"v1.34","vpcCni":{"disable":true,"env":[{"name":"A"}]}}`, "spec.vpcCni.env: Forbidden: is for what vpcCni.disable removes"},
		"no bastion":               {"v1beta2", `{"region":"eu-central-1","version":"v1.34","bastion":{"enabled":false,"allowedCIDRBlocks":["0.0.0.0/0","::/0"]}}`, ""},
		"a bastion":                {"v1beta2", `{"region":"eu-central-1","version":"v1.34","bastion":{"enabled":true}}`, "spec.bastion.enabled: Forbidden: no bastion is made"},
		"an endpoint":              {"v1beta2", `{"region":"eu-central-1","version":"v1.34","controlPlaneEndpoint":{"host":"a","port":443}}`, ""},
		"rules of Calico":          {"v1beta2", `{"region":"eu-central-1","version":"v1.34","network":{"cni":{"cniIngressRules":[{"description":"bgp (calico)","protocol":"tcp","fromPort":179,"toPort":179},{"description":"IP-in-IP (calico)","protocol":"4","fromPort":-1,"toPort":65535}]}}}`, ""},
		"no rules of a plugin":     {"v1beta2", `{"region":"eu-central-1","version":"v1.34","network":{"cni":{}}}`, ""},
		"rules of another plugin":  {"v1beta2", `{"region":"eu-central-1","version":"v1.34","network":{"cni":{"cniIngressRules":[{"description":"vxlan","protocol":"udp","fromPort":4789,"toPort":4789}]}}}`, "spec.network.cni: Forbidden: EKS makes the security group"},
		"no version":               {"v1beta2", `{"region":"eu-central-1"}`, "spec.version"},
		"no region":                {"v1beta2", `{"version":"v1.34.1"}`, "spec.region"},
		"older":                    {"v1beta1", `{"region":"eu-central-1","version":"v1.34.1"}`, ""},
		"no way in":                {"v1beta2", `{"region":"eu-central-1","version":"v1.34","endpointAccess":{"public":false}}`, "has to be reached"},
		"entries by ConfigMap":     {"v1beta2", `{"region":"eu-central-1","version":"v1.34","accessEntries":[{"principalARN":"arn:aws:iam::1:role/a"}]}`, "api_and_config_map"},
		"nobody":                   {"v1beta2", `{"region":"eu-central-1","version":"v1.34","accessConfig":{"bootstrapClusterCreatorAdminPermissions":false}}`, "let the agent in"},
		"machines with groups":     {"v1beta2", `{"region":"eu-central-1","version":"v1.34","accessConfig":{"authenticationMode":"api"},"accessEntries":[{"principalARN":"arn:a","type":"ec2_linux","kubernetesGroups":["a"]}]}`, "has the groups of EKS"},
		"other encryption":         {"v1beta2", `{"region":"eu-central-1","version":"v1.34","encryptionConfig":{"provider":"arn:k","resources":["all"]}}`, "must be [secrets]"},
		"one zone":                 {"v1beta2", `{"region":"eu-central-1","version":"v1.34","network":{"vpc":{"availabilityZoneUsageLimit":1}}}`, "two zones"},
		"an addon without version": {"v1beta2", `{"region":"eu-central-1","version":"v1.34","addons":[{"name":"coredns"}]}`, "spec.addons[0].version"},
		"two addons of a name":     {"v1beta2", `{"region":"eu-central-1","version":"v1.34","addons":[{"name":"coredns","version":"v1"},{"name":"coredns","version":"v2"}]}`, "spec.addons[1].name: Duplicate value"},
		"an addon's values":        {"v1beta2", `{"region":"eu-central-1","version":"v1.34","addons":[{"name":"coredns","version":"v1","configuration":"[1]"}]}`, "must be an object of JSON or YAML"},
		"an addon's conflicts":     {"v1beta2", `{"region":"eu-central-1","version":"v1.34","addons":[{"name":"coredns","version":"v1","conflictResolution":"never"}]}`, "conflictResolution"},
		"an addon's name":          {"v1beta2", `{"region":"eu-central-1","version":"v1.34","addons":[{"name":"a","version":"v1"}]}`, "must be the name of an addon"},
		"an addon's role":          {"v1beta2", `{"region":"eu-central-1","version":"v1.34","addons":[{"name":"coredns","version":"v1","serviceAccountRoleARN":"dns"}]}`, "must be the ARN of a role"},
		"a name":                   {"v1beta2", `{"region":"eu-central-1","version":"v1.34","eksClusterName":"_a"}`, "must begin with a letter"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs := managed(t, k, tc.version, tc.spec)
			if (tc.want == "") != (errs == "") || !strings.Contains(errs, tc.want) {
				t.Fatalf("%q, want %q", errs, tc.want)
			}
			if tc.want != "" {
				return
			}
			m := out.(*fleet.HostedManifest)
			spec := m.Spec.(*api.AWSManagedControlPlaneSpec)
			got := []string{m.Version, spec.Version, spec.EKSClusterName, spec.RoleName, spec.RolePath, spec.AccessConfig.AuthenticationMode, strings.Join(spec.EndpointAccess.PublicCIDRs, ","), spec.TokenMethod, spec.IdentityRef.Name}
			want := []string{"v1.34.0", "1.34", "prod_eu-1", "eks-controlplane.cluster-api-provider-aws.sigs.k8s.io", "/", "config_map", "0.0.0.0/0", "aws-cli", "default"}
			if d := gocmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// TestConflictsOfAddons: what becomes of fields that something else set, by default, differs between the versions.
func TestConflictsOfAddons(t *testing.T) {
	for version, want := range map[string]string{"v1beta2": "overwrite", "v1beta1": "none"} {
		out, errs := managed(t, api.ControlPlaneKinds()[0], version, `{"region":"eu-central-1","version":"v1.34","addons":[{"name":"coredns","version":"v1"}]}`)
		if errs != "" {
			t.Fatal(errs)
		}
		if got := out.(*fleet.HostedManifest).Spec.(*api.AWSManagedControlPlaneSpec).Addons[0].ConflictResolution; got != want {
			t.Errorf("of %s: %s, want %s", version, got, want)
		}
	}
}

// TestManagedPool: what is filled in, and what is refused.
func TestManagedPool(t *testing.T) {
	k := kindstest.Kind(t, api.Kinds(), "AWSManagedMachinePool")
	for name, tc := range map[string]struct{ version, spec, want string }{
		"empty":          {"v1beta2", `{}`, ""},
		"older":          {"v1beta1", `{"updateConfig":{"maxUnavailablePrecentage":30}}`, ""},
		"own image":      {"v1beta2", `{"amiType":"CUSTOM"}`, "spec.awsLaunchTemplate.ami.id: Required value"},
		"both":           {"v1beta2", `{"updateConfig":{"maxUnavailable":1,"maxUnavailablePercentage":1}}`, "must have one of"},
		"bounds":         {"v1beta2", `{"scaling":{"minSize":3,"maxSize":2}}`, "minSize ≤ maxSize"},
		"two ways":       {"v1beta2", `{"subnetIDs":["subnet-1"],"availabilityZones":["a"]}`, "leave one of both out"},
		"open by itself": {"v1beta2", `{"remoteAccess":{"sshKeyName":"ops"}}`, "public: true says"},
		"no key":         {"v1beta2", `{"remoteAccess":{"public":true}}`, "key pair"},
		"taints":         {"v1beta2", `{"taints":[{"key":"a","value":"b","effect":"no-schedule"},{"key":"a","value":"c","effect":"no-schedule"}]}`, "Duplicate"},
		"path":           {"v1beta2", `{"rolePath":"a"}`, "begin and end with /"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs := managed(t, k, tc.version, tc.spec)
			if (tc.want == "") != (errs == "") || !strings.Contains(errs, tc.want) {
				t.Fatalf("%q, want %q", errs, tc.want)
			}
			if tc.want != "" {
				return
			}
			spec := out.(*api.AWSManagedMachinePoolSpec)
			if spec.EKSNodegroupName != "prod_eu-1" || spec.CapacityType != "onDemand" || spec.AvailabilityZoneSubnetType != "private" || spec.RoleName != "eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io" {
				t.Errorf("it is %+v", spec)
			}
			if tc.version == "v1beta1" && *spec.UpdateConfig.MaxUnavailablePercentage != 30 {
				t.Errorf("updateConfig is %+v", spec.UpdateConfig)
			}
		})
	}
}

// TestManagedPoolTemplate: what EKS takes in a launch template, and what beside one, is refused by name with what to do.
func TestManagedPoolTemplate(t *testing.T) {
	k := kindstest.Kind(t, api.Kinds(), "AWSManagedMachinePool")
	for name, tc := range map[string]struct{ version, spec, want string }{
		"least":           {"v1beta2", `{"awsLaunchTemplate":{}}`, ""},
		"older":           {"v1beta1", `{"awsLaunchTemplate":{"instanceType":"m6i.large","rootVolume":{"size":30}}}`, ""},
		"spot":            {"v1beta2", `{"capacityType":"spot","instanceType":"m6i.large","awsLaunchTemplate":{"marketType":"OnDemand"}}`, ""},
		"own image":       {"v1beta2", `{"amiType":"CUSTOM","awsLaunchTemplate":{"ami":{"id":"ami-1"}}}`, ""},
		"market":          {"v1beta2", `{"awsLaunchTemplate":{"marketType":"Spot"}}`, "spec.awsLaunchTemplate.marketType: Invalid value: \"Spot\": EKS takes no market in a launch template: leave it out, and set capacityType: spot"},
		"two types":       {"v1beta2", `{"instanceType":"m6i.large","awsLaunchTemplate":{"instanceType":"m6i.large"}}`, "spec.instanceType: Forbidden: awsLaunchTemplate.instanceType says it"},
		"disk":            {"v1beta2", `{"diskSize":30,"awsLaunchTemplate":{}}`, "spec.diskSize: Forbidden: EKS takes none beside a launch template: set awsLaunchTemplate.rootVolume.size"},
		"remote access":   {"v1beta2", `{"remoteAccess":{"sshKeyName":"ops","public":true},"awsLaunchTemplate":{}}`, "spec.remoteAccess: Forbidden: EKS takes none beside a launch template: set awsLaunchTemplate.sshKeyName"},
		"type of image":   {"v1beta2", `{"amiType":"AL2023_x86_64_STANDARD","awsLaunchTemplate":{"ami":{"id":"ami-1"}}}`, "spec.amiType: Forbidden: awsLaunchTemplate.ami.id names the image"},
		"its version":     {"v1beta2", `{"amiVersion":"1.34.1-20261101","awsLaunchTemplate":{"ami":{"id":"ami-1"}}}`, "spec.amiVersion: Forbidden: awsLaunchTemplate.ami.id names the image"},
		"a parameter":     {"v1beta2", `{"awsLaunchTemplate":{"ami":{"id":"resolve:ssm:/a"}}}`, "spec.awsLaunchTemplate.ami.id: Invalid value"},
		"name":            {"v1beta2", `{"awsLaunchTemplate":{"name":"a b c"}}`, "spec.awsLaunchTemplate.name: Invalid value"},
		"small disk":      {"v1beta2", `{"awsLaunchTemplate":{"rootVolume":{"size":1}}}`, "spec.awsLaunchTemplate.rootVolume.size"},
		"reserved spot":   {"v1beta2", `{"capacityType":"spot","awsLaunchTemplate":{"capacityReservationId":"cr-1"}}`, "spec.awsLaunchTemplate.capacityReservationId: Forbidden: a spot instance has no reservation"},
		"group by letter": {"v1beta2", `{"awsLaunchTemplate":{"additionalSecurityGroups":[{"id":"a"}]}}`, "spec.awsLaunchTemplate.additionalSecurityGroups[0].id"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs := managed(t, k, tc.version, tc.spec)
			if (tc.want == "") != (errs == "") || !strings.Contains(errs, tc.want) {
				t.Fatalf("%q, want %q", errs, tc.want)
			}
			if tc.want != "" {
				return
			}
			spec := out.(*api.AWSManagedMachinePoolSpec)
			if o := spec.AWSLaunchTemplate.InstanceMetadataOptions; o.HTTPTokens != "required" || o.HTTPPutResponseHopLimit != 2 {
				t.Errorf("metadata is read by %+v", o)
			}
			if own := name == "own image"; k.Configured(out) != own || (spec.AMIType == "CUSTOM") != own {
				t.Errorf("its machines need a configuration: %v, and amiType is %q", k.Configured(out), spec.AMIType)
			}
		})
	}
	for _, field := range []string{"iamInstanceProfile", "spotMarketOptions", "enclaveOptions", "ami.eksLookupType", "imageLookupFormat"} {
		if why := k.Refused["spec.awsLaunchTemplate."+field]; !strings.Contains(why, ":") && !strings.Contains(why, "name ") {
			t.Errorf("%s is refused with %q", field, why)
		}
	}
}

// TestManagedClusterInGit: upstream's template with a node group is a cluster of EKS without its bootstrap configuration,
// and its infrastructure is refused beside machines that serve.
func TestManagedClusterInGit(t *testing.T) {
	const cluster = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu-1, namespace: prod}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSManagedCluster, name: eu-1}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: AWSManagedControlPlane, name: eu-1-control-plane}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedCluster
metadata: {name: eu-1, namespace: prod}
spec: {}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: AWSManagedControlPlane
metadata: {name: eu-1-control-plane, namespace: prod}
spec: {region: eu-central-1, sshKeyName: ops, version: v1.34.1}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: {name: eu-1-pool-0, namespace: prod}
spec:
  clusterName: eu-1
  replicas: 2
  template:
    spec:
      clusterName: eu-1
      bootstrap: {dataSecretName: ""}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSManagedMachinePool, name: eu-1-pool-0}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedMachinePool
metadata: {name: eu-1-pool-0, namespace: prod}
spec: {amiType: AL2023_x86_64_STANDARD}
`
	decoded := func(text string) ([]fleet.Cluster, []fleet.Problem) {
		var objects []render.Object
		for part := range strings.SplitSeq(text, "\n---\n") {
			objects = append(objects, render.Object{File: "f.yaml", YAML: []byte(part)})
		}
		return decode.New("f", kinds()).Decode("overlay", objects)
	}
	clusters, problems := decoded(cluster)
	if len(problems) > 0 || len(clusters) != 1 {
		t.Fatalf("%d clusters, problems %v", len(clusters), problems)
	}
	c := clusters[0]
	spec, err := api.ReadControlPlane(&c)
	if err != nil {
		t.Fatal(err)
	}
	if c.Provider != "aws" || c.Hosted.Version != "v1.34.0" || spec.EKSClusterName != "prod_eu-1-control-plane" || len(c.KeptPools) != 1 || c.KeptPools[0].Version != "v1.34.0" || c.KeptPools[0].Count != 2 {
		t.Errorf("the cluster is %+v, pools %+v", c.Hosted, c.KeptPools)
	}
	const machines = `
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: eu-1-md-0, namespace: prod}
spec:
  clusterName: eu-1
  replicas: 1
  selector: {matchLabels: {}}
  template:
    spec:
      clusterName: eu-1
      version: v1.34.1
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: NodeadmConfigTemplate, name: eu-1-md-0}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachineTemplate, name: eu-1-md-0}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachineTemplate
metadata: {name: eu-1-md-0, namespace: prod}
spec: {template: {spec: {instanceType: m6i.large, iamInstanceProfile: nodes}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: NodeadmConfigTemplate
metadata: {name: eu-1-md-0, namespace: prod}
spec: {template: {spec: {kubelet: {config: {maxPods: 58}}}}}
`
	clusters, problems = decoded(cluster + strings.TrimPrefix(machines, "\n"))
	if len(problems) > 0 || len(clusters) != 1 || len(clusters[0].Workers) != 1 || clusters[0].Workers[0].Bootstrap.Kind != "NodeadmConfig" || clusters[0].Workers[0].Version != "v1.34.1" {
		t.Errorf("with machines of Fairlead: %+v, problems %v", clusters, problems)
	}
	if _, problems := decoded(cluster + strings.Replace(machines[1:], "v1.34.1", "v1.35.0", 1)); !strings.Contains(fmt.Sprint(problems), "must not be newer than the control plane") {
		t.Errorf("newer machines: %v", problems)
	}
	const own, config, ref = "spec: {instanceType: m6i.large, awsLaunchTemplate: {ami: {id: ami-1}}}", `
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: NodeadmConfig
metadata: {name: eu-1-pool-0, namespace: prod}
spec: {kubelet: {flags: [--max-pods=58]}}
`, `configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: NodeadmConfig, name: eu-1-pool-0}`
	image := strings.Replace(cluster, "spec: {amiType: AL2023_x86_64_STANDARD}", own, 1)
	clusters, problems = decoded(strings.Replace(image, `dataSecretName: ""`, ref, 1) + config[1:])
	if len(problems) > 0 || len(clusters) != 1 || clusters[0].KeptPools[0].Bootstrap == nil || string(clusters[0].KeptPools[0].Bootstrap.Spec) != `{"kubelet":{"flags":["--max-pods=58"]}}` {
		t.Errorf("with an image of people: %+v, problems %v", clusters, problems)
	}
	for name, tc := range map[string]struct{ text, want string }{
		"no configuration":       {image, "spec.template.spec.bootstrap.configRef: is required: the AWSManagedMachinePool names an image of your own"},
		"a template of one":      {strings.Replace(image, `dataSecretName: ""`, strings.Replace(ref, "NodeadmConfig", "NodeadmConfigTemplate", 1), 1) + strings.NewReplacer("NodeadmConfig", "NodeadmConfigTemplate", "{kubelet", "{template: {spec: {kubelet", "58]}}", "58]}}}}").Replace(config[1:]), "must refer to a NodeadmConfig"},
		"an image of EKS":        {strings.Replace(cluster, `dataSecretName: ""`, ref, 1) + config[1:], "the cloud sets up the machines by itself: leave it out"},
		"none that is there":     {strings.Replace(image, `dataSecretName: ""`, ref, 1), "which the overlay does not hold"},
		"its profile":            {strings.Replace(image, "{ami:", "{iamInstanceProfile: a, ami:", 1), "spec.awsLaunchTemplate.iamInstanceProfile"},
		"a field that is unread": {strings.Replace(image, "{ami:", "{hibernation: true, ami:", 1), "hibernation"},
	} {
		if _, problems := decoded(tc.text); !strings.Contains(fmt.Sprint(problems), tc.want) {
			t.Errorf("%s: %v, want %q", name, problems, tc.want)
		}
	}
	served := strings.Replace(cluster, "controlplane.cluster.x-k8s.io, kind: AWSManagedControlPlane", "controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane", 1)
	if _, problems := decoded(served); !strings.Contains(fmt.Sprint(problems), "is for a control plane that EKS keeps") {
		t.Errorf("beside machines that serve: %v", problems)
	}
}

// TestFargateProfile: what is filled in, and what is refused.
func TestFargateProfile(t *testing.T) {
	k := kindstest.Kind(t, api.Kinds(), "AWSFargateProfile")
	for name, tc := range map[string]struct{ version, spec, want string }{
		"least":         {"v1beta2", `{"clusterName":"eu-1","selectors":[{"namespace":"a"}]}`, ""},
		"older":         {"v1beta1", `{"clusterName":"eu-1","selectors":[{"namespace":"a"}]}`, ""},
		"no cluster":    {"v1beta2", `{"selectors":[{"namespace":"a"}]}`, "spec.clusterName: Required"},
		"no selectors":  {"v1beta2", `{"clusterName":"eu-1"}`, "which Pods run on Fargate"},
		"six selectors": {"v1beta2", `{"clusterName":"eu-1","selectors":[{"namespace":"a"},{"namespace":"b"},{"namespace":"c"},{"namespace":"d"},{"namespace":"e"},{"namespace":"f"}]}`, "must have at most 5"},
		"six labels":    {"v1beta2", `{"clusterName":"eu-1","selectors":[{"namespace":"a","labels":{"a":"","b":"","c":"","d":"","e":"","f":""}}]}`, "must have at most 5"},
		"no namespace":  {"v1beta2", `{"clusterName":"eu-1","selectors":[{"labels":{"a":"b"}}]}`, "spec.selectors[0].namespace: Required"},
		"subnet":        {"v1beta2", `{"clusterName":"eu-1","selectors":[{"namespace":"a"}],"subnetIDs":["a"]}`, "spec.subnetIDs[0]"},
		"path":          {"v1beta2", `{"clusterName":"eu-1","selectors":[{"namespace":"a"}],"rolePath":"a"}`, "begin and end with /"},
		"a name":        {"v1beta2", `{"clusterName":"eu-1","selectors":[{"namespace":"a"}],"profileName":"_a"}`, "must begin with a letter"},
		"a tag":         {"v1beta2", `{"clusterName":"eu-1","selectors":[{"namespace":"a"}],"additionalTags":{"aws:a":"b"}}`, "those of AWS"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs := managed(t, k, tc.version, tc.spec)
			if (tc.want == "") != (errs == "") || !strings.Contains(errs, tc.want) {
				t.Fatalf("%q, want %q", errs, tc.want)
			}
			if s, ok := out.(*api.AWSFargateProfileSpec); tc.want == "" && (!ok || s.ProfileName != "prod_eu-1" || s.RoleName != "eks-fargate.cluster-api-provider-aws.sigs.k8s.io" || s.RolePath != "/") {
				t.Errorf("it is %+v", out)
			}
		})
	}
}

// TestFargateProfileInGit: a profile is of the cluster that it names, which has to be there.
func TestFargateProfileInGit(t *testing.T) {
	const profile = "\n---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSFargateProfile\nmetadata: {name: a, namespace: prod}\nspec: {clusterName: eu-1, selectors: [{namespace: a}]}"
	two := classOfEKS + "---\n" + strings.Replace(classOfEKS[strings.LastIndex(classOfEKS, "\n---\n")+5:], "name: eu-1", "name: eu-2", 1)
	clusters, problems := decodeEKS(two + profile)
	if len(problems) > 0 || len(clusters) != 2 || len(clusters[0].Companions) != 1 || len(clusters[1].Companions) != 0 {
		t.Fatalf("%d clusters, problems %v", len(clusters), problems)
	}
	all, err := api.FargateProfiles(&clusters[0])
	if err != nil || len(all) != 1 || all[0].ProfileName != "prod_a" {
		t.Errorf("profiles %v, %v", all, err)
	}
	_, problems = decodeEKS(two + strings.Replace(profile, "eu-1", "eu-3", 1))
	if text := fmt.Sprint(problems); !strings.Contains(text, "AWSFargateProfile prod/a: spec.clusterName: names Cluster prod/eu-3, which the overlay does not hold") {
		t.Errorf("problems %s", text)
	}
}
