package api_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/render/decode"
	"fairlead.dev/test/run/kindstest"
)

// poolOfMachines is a cluster of machines with a pool of CAPA.
const poolOfMachines = `apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: eu-1, namespace: prod}
spec:
  controlPlaneRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: cp}
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSCluster, name: eu-1}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSCluster
metadata: {name: eu-1, namespace: prod}
spec: {region: eu-central-1, controlPlaneLoadBalancer: {loadBalancerType: nlb}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: cp, namespace: prod}
spec:
  replicas: 1
  version: v1.34.1
  kubeadmConfigSpec: {}
  machineTemplate: {infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSMachineTemplate, name: cp}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachineTemplate
metadata: {name: cp, namespace: prod}
spec: {template: {spec: {instanceType: m6i.large}}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: mp, namespace: prod}
spec:
  clusterName: eu-1
  replicas: 8
  failureDomains: [eu-central-1a, eu-central-1b]
  template:
    spec:
      clusterName: eu-1
      version: v1.34.1
      bootstrap: {configRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfig, name: mp}}
      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSMachinePool, name: mp}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachinePool
metadata: {name: mp, namespace: prod}
spec:
  minSize: 1
  maxSize: 10
  availabilityZones: [eu-central-1a]
  availabilityZoneSubnetType: private
  refreshPreferences: {strategy: Rolling, minHealthyPercentage: 80, maxHealthyPercentage: 125}
  awsLaunchTemplate: {instanceType: m6i.xlarge, name: anything, rootVolume: {size: 30}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfig
metadata: {name: mp, namespace: prod}
spec: {}
`

// TestPoolOfMachines: a MachinePool of an AWSMachinePool is a pool of machines that are replaced as its refreshPreferences say. What a
// machine is made of replaces machines, and where it is and how machines are replaced does not.
func TestPoolOfMachines(t *testing.T) {
	decoded := func(old, with string) fleet.Pool {
		t.Helper()
		text := strings.Replace(poolOfMachines, old, with, 1)
		if old != with && text == poolOfMachines {
			t.Fatalf("there is no %q", old)
		}
		objects := kindstest.Render(t, fstest.MapFS{"f.yaml": {Data: []byte(text)}}, nil, "f.yaml")
		clusters, problems := decode.New("f", kinds()).Decode("o", objects)
		if len(problems) > 0 || len(clusters) != 1 || len(clusters[0].Workers) != 1 || len(clusters[0].KeptPools) > 0 {
			t.Fatalf("%d clusters, %v", len(clusters), problems)
		}
		return clusters[0].Workers[0]
	}
	is := decoded("", "")
	if is.MaxSurge != 2 || is.MaxUnavailable != 1 || is.Replicas != 8 || !slices.Equal(is.FailureDomains, []string{"eu-central-1a", "eu-central-1b"}) || is.Kind != fleet.MachinePoolKind {
		t.Errorf("%+v", is)
	}
	m, err := api.ReadMachine(is.Infrastructure)
	if err != nil || m.InstanceType != "m6i.xlarge" || m.RootVolume.Size != 30 || m.RootVolume.Type != "gp3" || m.InstanceMetadataOptions.HTTPTokens != "required" || *m.PublicIP {
		t.Errorf("machines are of %+v, %v", m, err)
	}
	if at, err := api.ReadPlaces(is.Infrastructure); err != nil || at.Kind != api.PrivateSubnets || !slices.Equal(at.Zones, []string{"eu-central-1a"}) {
		t.Errorf("they are in %+v, %v", at, err)
	}
	const preferences = "  refreshPreferences: {strategy: Rolling, minHealthyPercentage: 80, maxHealthyPercentage: 125}\n"
	for reason, tc := range map[string]struct {
		old, with          string
		surge, unavailable int
	}{
		"the default":         {preferences, "", 1, 0},
		"fewer meanwhile":     {", maxHealthyPercentage: 125", "", 1, 1},
		"more meanwhile":      {"minHealthyPercentage: 80, ", "", 2, 0},
		"none more":           {"maxHealthyPercentage: 125", "maxHealthyPercentage: 100", 0, 1},
		"other zones":         {"availabilityZones: [eu-central-1a]", "availabilityZones: [eu-central-1b]", 2, 1},
		"public":              {"SubnetType: private", "SubnetType: public", 2, 1},
		"a subnet":            {"  minSize: 1\n", "  subnets: [{id: subnet-1}]\n", 2, 1},
		"bounds of the group": {"  minSize: 1\n  maxSize: 10\n", "", 2, 1},
		"another name":        {"name: anything", "name: other", 2, 1},
	} {
		p := decoded(tc.old, tc.with)
		if p.MaxSurge != tc.surge || p.MaxUnavailable != tc.unavailable || p.Template != is.Template {
			t.Errorf("%s: surge %d, unavailable %d, replaced %t", reason, p.MaxSurge, p.MaxUnavailable, p.Template != is.Template)
		}
	}
	for _, with := range [][2]string{{"m6i.xlarge", "m6i.2xlarge"}, {"size: 30", "size: 31"}, {"  minSize: 1\n", "  additionalTags: {team: a}\n"}, {"name: anything", "sshKeyName: ops"}} {
		if p := decoded(with[0], with[1]); p.Template == is.Template {
			t.Errorf("%s replaces no machine", with[1])
		}
	}
	if m, err := api.ReadMachine(decoded("SubnetType: private", "SubnetType: public").Infrastructure); err != nil || !*m.PublicIP {
		t.Errorf("machines in public subnets are of %+v, %v", m, err)
	}
}

// TestPools checks specs of pools of machines, which are refused with their fields.
func TestPools(t *testing.T) {
	const least = "awsLaunchTemplate: {instanceType: m6i.large}\n"
	for reason, tc := range map[string]struct{ version, spec, wrong string }{
		"the least":               {"v1beta2", least, ""},
		"the least of v1beta1":    {"v1beta1", least + "minSize: 0\nmaxSize: 3\nrefreshPreferences: {minHealthyPercentage: 50}", ""},
		"no type":                 {"v1beta2", "{}", "spec.awsLaunchTemplate.instanceType"},
		"no type in v1beta1":      {"v1beta1", "{}", "spec.awsLaunchTemplate.instanceType"},
		"a tag of Fairlead":       {"v1beta2", least + "additionalTags: {fairlead.dev/fleet: a}", "spec.additionalTags[fairlead.dev/fleet]"},
		"a small disk":            {"v1beta2", "awsLaunchTemplate: {instanceType: m6i.large, rootVolume: {size: 1}}", "spec.awsLaunchTemplate.rootVolume.size"},
		"Ignition as such":        {"v1beta2", least + "ignition: {storageType: Elsewhere}", "spec.ignition.storageType"},
		"a zone twice":            {"v1beta2", least + "availabilityZones: [a, a]", "spec.availabilityZones[1]"},
		"another kind of subnets": {"v1beta2", least + "availabilityZoneSubnetType: some", "spec.availabilityZoneSubnetType"},
		"a subnet of no id":       {"v1beta2", least + "subnets: [{}]", "spec.subnets[0]"},
		"more at least than most": {"v1beta2", least + "minSize: 3\nmaxSize: 2", "spec.maxSize"},
		"none at most":            {"v1beta1", least + "maxSize: 0", "spec.maxSize"},
		"less than none at least": {"v1beta2", least + "minSize: -1", "spec.minSize"},
		"less than none":          {"v1beta2", least + "refreshPreferences: {minHealthyPercentage: -1}", "spec.refreshPreferences.minHealthyPercentage"},
		"fewer than wanted":       {"v1beta2", least + "refreshPreferences: {maxHealthyPercentage: 90}", "spec.refreshPreferences.maxHealthyPercentage"},
		"none may go":             {"v1beta2", least + "refreshPreferences: {minHealthyPercentage: 100, maxHealthyPercentage: 100}", "spec.refreshPreferences"},
		"none may go, by default": {"v1beta2", least + "refreshPreferences: {maxHealthyPercentage: 100}", "spec.refreshPreferences"},
		"a strategy of others":    {"v1beta2", least + "refreshPreferences: {strategy: ReplaceRootVolume}", "spec.refreshPreferences.strategy"},
	} {
		_, errs := kindstest.Normalised(t, kindstest.Kind(t, api.Kinds(), "AWSMachinePool"), tc.version, tc.spec, nil)
		kindstest.Check(t, kindstest.Text(errs), tc.wrong, reason)
	}
}
