package decode_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wantProblem is what a user needs of a problem.
type wantProblem struct{ Object, Field, Message, Hint string }

func TestProblems(t *testing.T) {
	const (
		cluster = "Cluster prod/eu"
		kcp     = "KubeadmControlPlane prod/eu-cp"
		md      = "MachineDeployment prod/eu-md-0"
		kct     = "KubeadmConfigTemplate prod/w"
		mhc     = "MachineHealthCheck prod/eu-hc"
		infra   = "TestCluster prod/eu"
		machine = "TestMachineTemplate prod/m"
	)
	cases := map[string]struct {
		reason string
		from   string   // newest where empty
		change []string // pairs of old and new text
		want   []wantProblem
	}{
		"unknown field": {
			reason: "a misspelt field would silently do nothing",
			change: []string{"replicas: 3", "replcas: 3"},
			want:   []wantProblem{{md, "spec.replcas", "unknown field", `did you mean "replicas"?`}},
		},
		"case": {
			reason: "fields are case-sensitive, as in the API server",
			change: []string{"minReadySeconds: 5", "minreadyseconds: 5"},
			want:   []wantProblem{{md, "spec.template.spec.minreadyseconds", "unknown field", `did you mean "minReadySeconds"?`}},
		},
		"field of the other version": {
			reason: "people move manifests to v1beta2 by changing apiVersion only",
			change: []string{"      deletion: {nodeDrainTimeoutSeconds: 10}\n", "    nodeDrainTimeout: 10s\n"},
			want:   []wantProblem{{kcp, "spec.machineTemplate.nodeDrainTimeout", "unknown field", "it is a field of v1beta1, not of v1beta2"}},
		},
		"unknown field in a list": {
			reason: "the index says which entry",
			change: []string{"preKubeadmCommands: [echo hello]", "files: [{path: /a, content: x}, {path: /b, contents: x}]"},
			want:   []wantProblem{{kct, "spec.template.spec.files[1].contents", "unknown field", `did you mean "content"?`}},
		},
		"unknown field of a provider": {
			reason: "kinds of providers are as strict",
			change: []string{"{flavor: small}", "{flavour: small}"},
			want:   []wantProblem{{machine, "spec.template.spec.flavour", "unknown field", `did you mean "flavor"?`}},
		},
		"rules of a provider": {
			reason: "a provider says what is wrong with its kinds",
			change: []string{"{flavor: small}", "{disk: 1}"},
			want:   []wantProblem{{machine, "spec.template.spec.flavor", "Required value", ""}},
		},
		"refused by a provider": {
			reason: "a provider refuses what it does not honour",
			change: []string{"{region: fra}", "{bastion: yes please}"},
			want:   []wantProblem{{infra, "spec.bastion", "is not supported: use a jump host", ""}},
		},
		"duplicate key": {
			reason: "the last one would win without a word",
			change: []string{"  replicas: 3\n", "  replicas: 3\n  replicas: 30\n"},
			want:   []wantProblem{{md, "replicas", "is set twice, again in line 7 of the object", "keep one of them"}},
		},
		"not YAML": {
			reason: "the parser's own words",
			change: []string{"metadata: {name: w, namespace: prod}", "metadata: {name: w, namespace: prod"},
			want:   []wantProblem{{"", "", "is not valid YAML: line 3: did not find expected ',' or '}'", ""}},
		},
		"two documents": {
			reason: "the parser would take the first and leave out the other",
			change: []string{"metadata: {name: w, namespace: prod}", "metadata: {name: w, namespace: prod}\n---  \nx: y"},
			want:   []wantProblem{{"", "", "more than one document where one object is expected", "separate the objects into documents of their own"}},
		},
		"name y": {
			reason: "YAML 1.1 reads y as a boolean",
			change: []string{"name: eu-hc", "name: y"},
			want: []wantProblem{{
				"MachineHealthCheck", "metadata.name", "must be a string, is the boolean true",
				"YAML reads it as a boolean: put it in quotes",
			}},
		},
		"version as number": {
			reason: "YAML reads 1.30 as a number and drops the zero",
			change: []string{"      version: v1.34.1", "      version: 1.30"},
			want:   []wantProblem{{md, "spec.template.spec.version", "must be a string, is the number 1.3", "YAML reads it as a number: put it in quotes"}},
		},
		"number in quotes": {
			reason: "the other way round",
			change: []string{"replicas: 3", `replicas: "3"`},
			want:   []wantProblem{{md, "spec.replicas", `must be a whole number, is the string "3"`, "leave out the quotes"}},
		},
		"mapping expected": {
			change: []string{"spec: {region: fra}", "spec: [fra]"},
			want:   []wantProblem{{infra, "spec", "must be a mapping, is a list", ""}},
		},
		"list expected": {
			change: []string{"[echo hello]", "echo hello"},
			want:   []wantProblem{{kct, "spec.template.spec.preKubeadmCommands", `must be a list, is the string "echo hello"`, ""}},
		},
		"duration": {
			reason: "v1beta1 has durations, and people write seconds",
			from:   older, change: []string{"nodeDrainTimeout: 10s", "nodeDrainTimeout: 10"},
			want: []wantProblem{{kcp, "spec.machineTemplate.nodeDrainTimeout", `must be a duration such as "10m30s", is the number 10`, ""}},
		},
		"negative duration": {
			from: older, change: []string{"nodeDrainTimeout: 10s", "nodeDrainTimeout: -10s"},
			want: []wantProblem{{kcp, "spec.machineTemplate.nodeDrainTimeout", "must not be negative, is -10s", ""}},
		},
		"negative number": {
			change: []string{"replicas: 3", "replicas: -3"},
			want:   []wantProblem{{md, "spec.replicas", "must not be negative, is -3", ""}},
		},
		"large number": {
			change: []string{"replicas: 3", "replicas: 3000000000"},
			want:   []wantProblem{{md, "spec.replicas", "3000000000 is too large", ""}},
		},
		"percentage": {
			change: []string{"maxSurge: 50%", "maxSurge: half"},
			want:   []wantProblem{{md, "spec.rollout.strategy.rollingUpdate.maxSurge", `must be a whole number or a percentage such as "30%", is "half"`, ""}},
		},
		"enum": {
			change: []string{"    strategy:\n", "    strategy:\n      type: Recreate\n"},
			want:   []wantProblem{{md, "spec.rollout.strategy.type", `"Recreate" is not a value of this field`, `use one of: "RollingUpdate", "OnDelete"`}},
		},
		"topology": {
			change: []string{"spec:\n  clusterNetwork:", "spec:\n  topology: {version: v1.34.1}\n  clusterNetwork:"},
			want: []wantProblem{{
				cluster, "spec.topology.classRef",
				"is required", "",
			}},
		},
		"dangling template": {
			reason: "the hint lists what is there",
			change: []string{"kind: KubeadmConfigTemplate, name: w", "kind: KubeadmConfigTemplate, name: v"},
			want: []wantProblem{{
				md, "spec.template.spec.bootstrap.configRef",
				"refers to KubeadmConfigTemplate prod/v of bootstrap.cluster.x-k8s.io, which the overlay does not hold",
				"the overlay holds KubeadmConfigTemplate prod/w",
			}},
		},
		"dangling control plane": {
			change: []string{"kind: KubeadmControlPlane, name: eu-cp", "kind: ManagedControlPlane, name: eu-cp"},
			want: []wantProblem{{
				cluster, "spec.controlPlaneRef",
				"refers to ManagedControlPlane prod/eu-cp of controlplane.cluster.x-k8s.io, which the overlay does not hold",
				"the overlay holds no ManagedControlPlane",
			}},
		},
		"another namespace": {
			reason: "v1beta1 references have a namespace",
			from:   older, change: []string{"name: eu-cp, namespace: prod}", "name: eu-cp, namespace: test}"},
			want: []wantProblem{
				{
					cluster, "spec.controlPlaneRef.namespace",
					`Invalid value: "test": must be the namespace of the object itself, prod; references do not leave it`, "",
				},
			},
		},
		"wrong kind of reference": {
			change: []string{
				"kind: KubeadmConfigTemplate, name: w}", "kind: KubeadmConfigTemplate, name: w}\n      providerID: x",
				"apiGroup: infrastructure.cluster.x-k8s.io, kind: TestCluster, name: eu", "apiGroup: infrastructure.cluster.x-k8s.io, kind: TestMachineTemplate, name: m",
			},
			want: []wantProblem{
				{cluster, "spec.infrastructureRef", "must refer to an InfrastructureCluster of a provider, not to TestMachineTemplate", ""},
				{md, "spec.template.spec.providerID", "is not supported: remove it: Fairlead makes the machine, and the provider tells its id", ""},
			},
		},
		"two providers": {
			change: []string{"kind: TestMachineTemplate, name: m}\n---\napiVersion: bootstrap", "kind: OtherMachineTemplate, name: o}\n" +
				"---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: OtherMachineTemplate\nmetadata: {name: o, namespace: prod}\nspec: {template: {spec: {}}}\n" +
				"---\napiVersion: bootstrap"},
			want: []wantProblem{{md, "spec.template.spec.infrastructureRef", "refers to OtherMachineTemplate of the provider other; the cluster is on test", "add a cluster of other prod/eu to the overlay, which makes other a site of the cluster's workers"}},
		},
		"pool of an unknown cluster": {
			reason: "a misspelt name must not remove a pool",
			change: []string{"clusterName: eu\n  replicas", "clusterName: ue\n  replicas", "      clusterName: eu", "      clusterName: ue"},
			want:   []wantProblem{{md, "spec.clusterName", "names Cluster prod/ue, which the overlay does not hold", "the overlay holds Cluster prod/eu"}},
		},
		"bad namespace": {
			reason: "it becomes part of paths and tags",
			change: []string{"kind: TestCluster\nmetadata: {name: eu, namespace: prod}", "kind: TestCluster\nmetadata: {name: eu, namespace: prod}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: a.b}\n---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: TestCluster\nmetadata: {name: other, namespace: prod}"},
			want:   []wantProblem{{"Secret a.b/a", "metadata.namespace", `"a.b" is not a namespace: must not contain dots`, ""}},
		},
		"pool in another namespace": {
			change: []string{"metadata: {name: eu-md-0, namespace: prod}", "metadata: {name: eu-md-0}"},
			want: []wantProblem{{
				"MachineDeployment default/eu-md-0", "spec.clusterName", "names Cluster default/eu, which the overlay does not hold",
				"the overlay holds Cluster prod/eu",
			}},
		},
		"no references": {
			change: []string{
				"  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: eu-cp}\n", "",
				"  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: TestCluster, name: eu}\n", "",
			},
			want: []wantProblem{{cluster, "spec.controlPlaneRef", "Required value", ""}, {cluster, "spec.infrastructureRef", "Required value", ""}},
		},
		"two thousand million workers": {
			reason: "a plan for each of them would take all memory",
			change: []string{"replicas: 3", "replicas: 2000000000"},
			want:   []wantProblem{{md, "spec.replicas", "Invalid value: 2000000000: must be at most 10000", ""}},
		},
		"large control plane": {
			change: []string{"  version: v1.34.1\n  machineTemplate", "  replicas: 10001\n  version: v1.34.1\n  machineTemplate"},
			want:   []wantProblem{{kcp, "spec.replicas", "Invalid value: 10001: must be at most 10000", ""}},
		},
		"surge of a control plane by two": {
			reason: "one control-plane machine at a time is changed",
			change: []string{"  version: v1.34.1\n  machineTemplate", "  rollout: {strategy: {rollingUpdate: {maxSurge: 2}}}\n  version: v1.34.1\n  machineTemplate"},
			want:   []wantProblem{{kcp, "spec.rollout.strategy.rollingUpdate.maxSurge", `Invalid value: "2": must be 0 or 1`, ""}},
		},
		"another major version": {
			reason: "minor versions of different majors do not compare",
			change: []string{"  version: v1.34.1\n  machineTemplate", "  version: v2.0.0\n  machineTemplate"},
			want:   []wantProblem{{md, "spec.template.spec.version", "v1.34.1 must be within 3 minor versions of the control plane, which has v2.0.0", ""}},
		},
		"even control plane": {
			change: []string{"  version: v1.34.1\n  machineTemplate", "  replicas: 2\n  version: v1.34.1\n  machineTemplate"},
			want:   []wantProblem{{kcp, "spec.replicas", "Invalid value: 2: must be odd: etcd runs on these machines and needs a majority", ""}},
		},
		"no control plane": {
			change: []string{"  version: v1.34.1\n  machineTemplate", "  replicas: 0\n  version: v1.34.1\n  machineTemplate"},
			want:   []wantProblem{{kcp, "spec.replicas", "Invalid value: 0: must be at least 1; a cluster is deleted with the annotation fairlead.dev/delete", ""}},
		},
		"surge of a control plane": {
			reason: "v1beta1 is named as it was written",
			from:   older,
			change: []string{"  version: 1.34.1\n", "  version: 1.34.1\n  rolloutStrategy: {rollingUpdate: {maxSurge: 0}}\n"},
			want: []wantProblem{{
				kcp, "spec.rolloutStrategy.rollingUpdate.maxSurge",
				"Invalid value: 0: needs at least 3 replicas: machines are removed before they are replaced", "",
			}},
		},
		"surge and unavailable 0": {
			change: []string{"{maxSurge: 50%, maxUnavailable: 50%}", "{maxSurge: 0, maxUnavailable: 0}"},
			want: []wantProblem{{
				md, "spec.rollout.strategy.rollingUpdate",
				`Invalid value: "0 and 0": maxSurge and maxUnavailable must not both be 0: no machine could ever be replaced`, "",
			}},
		},
		"bad version": {
			change: []string{"      version: v1.34.1", "      version: v1.34"},
			want:   []wantProblem{{md, "spec.template.spec.version", `Invalid value: "v1.34": must be a version of Kubernetes such as "v1.34.1"`, ""}},
		},
		"no version": {
			change: []string{"      version: v1.34.1\n", ""},
			want:   []wantProblem{{md, "spec.template.spec.version", "Required value: the version of Kubernetes", ""}},
		},
		"workers ahead": {
			change: []string{"      version: v1.34.1", "      version: v1.34.2"},
			want:   []wantProblem{{md, "spec.template.spec.version", "v1.34.2 must not be newer than the control plane, which has v1.34.1", ""}},
		},
		"workers far behind": {
			change: []string{"      version: v1.34.1", "      version: v1.30.9"},
			want:   []wantProblem{{md, "spec.template.spec.version", "v1.30.9 must be within 3 minor versions of the control plane, which has v1.34.1", ""}},
		},
		"selector": {
			change: []string{"  replicas: 3\n", "  replicas: 3\n  selector: {matchLabels: {tier: db}}\n"},
			want: []wantProblem{{
				md, "spec.template.metadata.labels",
				`Invalid value: "cluster.x-k8s.io/cluster-name=eu,cluster.x-k8s.io/deployment-name=eu-md-0,node-role.kubernetes.io/worker=,tier=web": ` +
					`must match spec.selector "cluster.x-k8s.io/cluster-name=eu,tier=db"`, "",
			}},
		},
		"other cluster in the template": {
			change: []string{"    spec:\n      clusterName: eu", "    spec:\n      clusterName: us"},
			want:   []wantProblem{{md, "spec.template.spec.clusterName", `Invalid value: "us": must be the same as spec.clusterName`, ""}},
		},
		"address range": {
			change: []string{"10.1.0.0/16", "10.1.0.0"},
			want:   []wantProblem{{cluster, "spec.clusterNetwork.pods.cidrBlocks[0]", `Invalid value: "10.1.0.0": must be an address range such as "10.128.0.0/12"`, ""}},
		},
		"address range of services": {
			change: []string{"pods: {cidrBlocks: [10.1.0.0/16]}", "services: {cidrBlocks: [10.1.0.0]}"},
			want:   []wantProblem{{cluster, "spec.clusterNetwork.services.cidrBlocks[0]", `Invalid value: "10.1.0.0": must be an address range such as "10.128.0.0/12"`, ""}},
		},
		"port of the API server": {
			change: []string{"pods: {cidrBlocks: [10.1.0.0/16]}", "apiServerPort: 65536"},
			want:   []wantProblem{{cluster, "spec.clusterNetwork.apiServerPort", "Invalid value: 65536: must be a port, at most 65535", ""}},
		},
		"port of an endpoint": {
			change: []string{"spec:\n  clusterNetwork:", "spec:\n  controlPlaneEndpoint: {host: a, port: 65536}\n  clusterNetwork:"},
			want:   []wantProblem{{cluster, "spec.controlPlaneEndpoint", `Invalid value: "a:65536": must have both a host and a port of 1 to 65535`, ""}},
		},
		"health of another cluster": {
			change: []string{"matchLabels: {cluster.x-k8s.io/deployment-name: eu-md-0}", "matchLabels: {cluster.x-k8s.io/cluster-name: us}"},
			want:   []wantProblem{{mhc, "spec.selector", `Invalid value: "us": must not select another cluster than spec.clusterName`, ""}},
		},
		"health range with more": {
			change: []string{"{unhealthyLessThanOrEqualTo: 40%}", `{unhealthyInRange: "[1-3]x"}`},
			want:   []wantProblem{{mhc, "spec.remediation.triggerIf.unhealthyInRange", `Invalid value: "[1-3]x": must be a range such as "[1-3]"`, ""}},
		},
		"health without a time": {
			change: []string{"status: Unknown, timeoutSeconds: 300", "status: Unknown"},
			want:   []wantProblem{{mhc, "spec.checks.unhealthyNodeConditions[0].timeoutSeconds", "Required value", ""}},
		},
		"half an endpoint": {
			change: []string{"spec:\n  clusterNetwork:", "spec:\n  controlPlaneEndpoint: {host: api.example.org}\n  clusterNetwork:"},
			want:   []wantProblem{{cluster, "spec.controlPlaneEndpoint", `Invalid value: "api.example.org:0": must have both a host and a port of 1 to 65535`, ""}},
		},
		"gate of nobody": {
			reason: "it would be closed for ever",
			change: []string{"spec:\n  clusterNetwork:", "spec:\n  availabilityGates: [{conditionType: example.com/Backup}]\n  clusterNetwork:"},
			want:   []wantProblem{{cluster, "spec.availabilityGates[0].conditionType", `Unsupported value: "example.com/Backup": supported values: "CertificatesAvailable", "ControlPlaneInitialized", "ControlPlaneMachinesReady", "ControlPlaneMachinesUpToDate", "EtcdClusterHealthy", "Paused", "Remediating", "ResourcesApplied", "RollingOut", "ScalingDown", "ScalingUp", "WorkerMachinesReady", "WorkerMachinesUpToDate"`, ""}},
		},
		"no drift policy": {
			change: []string{
				"metadata: {name: eu, namespace: prod}\nspec:\n  clusterNetwork",
				"metadata: {name: eu, namespace: prod, annotations: {fairlead.dev/drift: revert}}\nspec:\n  clusterNetwork",
			},
			want: []wantProblem{{cluster, "metadata.annotations.fairlead.dev/drift", `must be one of [correct report ignore], is "revert"`, ""}},
		},
		"misspelt annotation": {
			reason: "who writes it believes the cluster protected",
			change: []string{
				"metadata: {name: eu, namespace: prod}\nspec:\n  clusterNetwork",
				"metadata: {name: eu, namespace: prod, annotations: {fairlead.dev/protected: \"true\"}}\nspec:\n  clusterNetwork",
			},
			want: []wantProblem{{cluster, "metadata.annotations.fairlead.dev/protected", "is no annotation of a Cluster", `did you mean "fairlead.dev/protect"?`}},
		},
		"annotation of another kind": {
			change: []string{"{name: eu-cp, namespace: prod}", "{name: eu-cp, namespace: prod, annotations: {fairlead.dev/delete: \"true\"}}"},
			want:   []wantProblem{{kcp, "metadata.annotations.fairlead.dev/delete", "is no annotation of a KubeadmControlPlane", "put it on the Cluster"}},
		},
		"neither true nor false": {
			change: []string{
				"metadata: {name: eu, namespace: prod}\nspec:\n  clusterNetwork",
				"metadata: {name: eu, namespace: prod, annotations: {fairlead.dev/protect: \"yes\"}}\nspec:\n  clusterNetwork",
			},
			want: []wantProblem{{cluster, "metadata.annotations.fairlead.dev/protect", `must be "true" or "false", is "yes"`, ""}},
		},
		"health check for everything": {
			change: []string{"selector: {matchLabels: {cluster.x-k8s.io/deployment-name: eu-md-0}}", "selector: {}"},
			want:   []wantProblem{{mhc, "spec.selector", "Required value: an empty selector would select every machine", ""}},
		},
		"short startup": {
			from: older, change: []string{"  maxUnhealthy: 40%", "  maxUnhealthy: 40%\n  nodeStartupTimeout: 20s"},
			want: []wantProblem{{mhc, "spec.nodeStartupTimeout", "Invalid value: 20: must be at least 30 seconds, or 0 to switch the check off", ""}},
		},
		"range": {
			change: []string{"{unhealthyLessThanOrEqualTo: 40%}", `{unhealthyInRange: "[3-1]"}`},
			want:   []wantProblem{{mhc, "spec.remediation.triggerIf.unhealthyInRange", `Invalid value: "[3-1]": must be a range such as "[1-3]"`, ""}},
		},
		"external remediation": {
			from: older, change: []string{"  maxUnhealthy: 40%", "  remediationTemplate: {kind: X, name: z}"},
			want: []wantProblem{{
				mhc, "spec.remediationTemplate",
				"names X prod/z, which the overlay does not hold", "the overlay holds no X",
			}},
		},
		"what Ignition cannot express": {
			change: []string{
				"preKubeadmCommands: [echo hello]", "format: ignition\n      bootCommands: [a]\n      users: [{name: a, inactive: true}]\n      diskSetup: {" +
					"partitions: [{device: /dev/b, tableType: mbr, diskLayout: [{percentage: 50}]}], " +
					"filesystems: [{device: /dev/b, filesystem: ext4, label: a, partition: auto, replaceFS: ntfs}]}",
			},
			want: []wantProblem{
				{kct, "spec.template.spec.bootCommands", "Forbidden: Ignition has none: add a unit with ignition.containerLinuxConfig.additionalConfig", ""},
				{kct, "spec.template.spec.diskSetup.filesystems[0].partition", "Forbidden: Ignition wants the partition itself as the device, like /dev/vdb1", ""},
				{kct, "spec.template.spec.diskSetup.filesystems[0].replaceFS", "Forbidden: Ignition cannot do this: use overwrite", ""},
				{kct, "spec.template.spec.diskSetup.partitions[0].diskLayout", "Forbidden: Ignition knows sizes in MiB and no percentages: use storage.disks of ignition.containerLinuxConfig.additionalConfig", ""},
				{kct, "spec.template.spec.diskSetup.partitions[0].tableType", `Invalid value: "mbr": Ignition makes gpt tables alone`, ""},
				{kct, "spec.template.spec.users[0].inactive", "Forbidden: Ignition cannot make an account inactive: run usermod in preKubeadmCommands", ""},
			},
		},
		"Ignition without its format": {
			change: []string{"preKubeadmCommands: [echo hello]", "ignition: {containerLinuxConfig: {strict: true}}"},
			want:   []wantProblem{{kct, "spec.template.spec.ignition", "Forbidden: needs format: ignition", ""}},
		},
		"long additions to Ignition": {
			change: []string{"preKubeadmCommands: [echo hello]", "format: ignition\n      ignition: {containerLinuxConfig: {additionalConfig: '" + strings.Repeat("#", 32769) + "'}}"},
			want:   []wantProblem{{kct, "spec.template.spec.ignition.containerLinuxConfig.additionalConfig", "Too long: may not be more than 32768 bytes", ""}},
		},
		"two sources": {
			change: []string{"preKubeadmCommands: [echo hello]", "files: [{path: /a, content: secret-content, contentFrom: {secret: {name: s}}}, {path: /a}]"},
			want: []wantProblem{
				{kct, "spec.template.spec.files[0].contentFrom.secret.key", "Required value", ""},
				{kct, "spec.template.spec.files[0].contentFrom", "Forbidden: only one of content and contentFrom may be set", ""},
				{kct, "spec.template.spec.files[1].path", `Duplicate value: "/a"`, ""},
			},
		},
		"refused, chosen by an empty mapping": {
			reason: "an empty mapping may choose a backend",
			change: []string{"{region: fra}", "{bastion: {}}"},
			want:   []wantProblem{{infra, "spec.bastion", "is not supported: use a jump host", ""}},
		},
		"one name for two pools": {
			reason: "pools of a cluster are told apart by name, and a Machine that stands alone has that of its pool",
			from:   newest + lone,
			change: []string{"  name: gpu-1\n", "  name: eu-cp\n"},
			want:   []wantProblem{{cluster, "spec.controlPlaneRef.name", `control plane and a MachineDeployment, MachineSet or Machine are both called "eu-cp"`, "rename one of them"}},
		},
		"disk": {
			change: []string{"preKubeadmCommands: [echo hello]", "diskSetup: {partitions: [{device: /dev/vdb, diskLayout: [{percentage: 60}, {percentage: 60}]}]}"},
			want: []wantProblem{{
				kct, "spec.template.spec.diskSetup.partitions[0].diskLayout",
				"Invalid value: 120: percentages must not add up to more than 100", "",
			}},
		},
		"tag and validity": {
			change: []string{"    clusterConfiguration:\n", "    clusterConfiguration:\n      certificateValidityPeriodDays: 4000\n      dns: {imageTag: -x}\n"},
			want: []wantProblem{
				{
					kcp, "spec.kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays",
					"Invalid value: 4000: must not be longer than that of the CA certificates, 3650", "",
				},
				{kcp, "spec.kubeadmConfigSpec.clusterConfiguration.dns.imageTag", `Invalid value: "-x": is not a tag of an image`, ""},
			},
		},
		"no secret": {
			change: []string{"preKubeadmCommands: [echo hello]", "files: [{path: /a, contentFrom: {secret: {name: s, key: k}}}]"},
			want: []wantProblem{{
				kct, "spec.template.spec.files[0].contentFrom.secret",
				"refers to Secret prod/s, which the overlay does not hold", "add it to the overlay",
			}},
		},
		"no key": {
			change: []string{"preKubeadmCommands: [echo hello]", "users: [{name: u, passwdFrom: {secret: {name: s, key: k}}}]\n" +
				"---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: prod}\nstringData: {p: hidden}"},
			want: []wantProblem{{kct, "spec.template.spec.users[0].passwdFrom.secret", `refers to key "k" of Secret prod/s, which it does not have`, `it has "p"`}},
		},
		"taint": {
			change: []string{"minReadySeconds: 5", "taints: [{key: node.kubernetes.io/x, effect: NoSchedule, propagation: Always}]"},
			want:   []wantProblem{{md, "spec.template.spec.taints[0].key", `Invalid value: "node.kubernetes.io/x": is reserved for Kubernetes`, ""}},
		},
		"no name": {
			change: []string{"metadata: {name: eu-hc, namespace: prod}", "metadata: {namespace: prod}"},
			want:   []wantProblem{{"MachineHealthCheck", "metadata.name", "is required", ""}},
		},
		"bad name": {
			change: []string{"name: eu-hc", "name: EU_hc"},
			want: []wantProblem{{
				"MachineHealthCheck prod/EU_hc", "metadata.name",
				`"EU_hc" is not a name: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ` +
					`and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is ` +
					`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`, "",
			}},
		},
		"version that does not exist": {
			change: []string{"cluster.x-k8s.io/v1beta2\nkind: MachineHealthCheck", "cluster.x-k8s.io/v1alpha4\nkind: MachineHealthCheck"},
			want:   []wantProblem{{mhc, "apiVersion", "MachineHealthCheck has no version v1alpha4 that is supported", "use v1beta2 or v1beta1"}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			from := c.from
			if from == "" {
				from = newest
			}
			clusters, problems := decodeAll(replaced(t, from, c.change...))
			var got []wantProblem
			for _, p := range problems {
				got = append(got, wantProblem{p.Object, p.Field, p.Message, p.Hint})
				if p.File != "prod/eu.yaml" || p.Overlay != "prod" {
					t.Errorf("the problem has file %q and overlay %q", p.File, p.Overlay)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
			if len(clusters) != 0 {
				t.Errorf("%s: a cluster with a problem was returned", c.reason)
			}
		})
	}
}
