package api_test

import (
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/render/decode"
	"fairlead.dev/test/run/kindstest"
	"fairlead.dev/test/run/needs"
)

// TestKindsThatAreRefused: what needs a management cluster, or what a controller writes, is
// refused by its name with the way out.
func TestKindsThatAreRefused(t *testing.T) {
	const supervisor = "vmware.infrastructure.cluster.x-k8s.io/v1beta2"
	kindstest.Refused(t, api.Kinds(), [][3]string{
		{supervisor, "VSphereCluster", "a VSphereCluster of infrastructure.cluster.x-k8s.io"},
		{supervisor, "VSphereClusterTemplate", "a VSphereClusterTemplate of infrastructure.cluster.x-k8s.io"},
		{supervisor, "VSphereMachine", "a VSphereMachine of infrastructure.cluster.x-k8s.io"},
		{supervisor, "VSphereMachineTemplate", "a VSphereMachineTemplate of infrastructure.cluster.x-k8s.io"},
		{"vmware.infrastructure.cluster.x-k8s.io/v1beta1", "VSphereMachineTemplate", "a VSphereMachineTemplate of infrastructure.cluster.x-k8s.io"},
		{supervisor, "ProviderServiceAccount", "remove it from the overlay"},
		{"vmoperator.vmware.com/v1alpha5", "VirtualMachine", "a VSphereMachineTemplate of infrastructure.cluster.x-k8s.io"},
		{"infrastructure.cluster.x-k8s.io/v1beta2", "VSphereVM", "a VSphereMachineTemplate"},
	}...)
}

// TestCorpusOfSupervisors: of what upstream ships for a supervisor, its kinds are refused by
// their names, and nothing else is wrong but that they are missing.
func TestCorpusOfSupervisors(t *testing.T) {
	dir := needs.Corpus(t, "capv", "templates")
	for files, want := range map[string]map[string]int{
		"cluster-template-supervisor.yaml":                                                {"VSphereCluster": 1, "VSphereMachineTemplate": 2},
		"clusterclass-template-supervisor.yaml cluster-template-topology-supervisor.yaml": {"VSphereClusterTemplate": 1, "VSphereMachineTemplate": 2},
	} {
		objects := kindstest.Render(t, os.DirFS(dir), values(), strings.Fields(files)...)
		_, problems := decode.New("f", api.Kinds()).Decode("o", objects)
		got := map[string]int{}
		for _, p := range problems {
			kind, _, refused := strings.Cut(p.Message, " is not supported")
			switch {
			case refused && strings.Contains(p.Hint, "a supervisor's own controllers make its machines"):
				got[kind]++
			case !strings.Contains(p.Message, "which the overlay does not hold"):
				t.Errorf("%s: %s", files, p)
			}
		}
		if d := gocmp.Diff(want, got); d != "" {
			t.Errorf("%s: kinds that are refused: -want +got:\n%s", files, d)
		}
	}
}
