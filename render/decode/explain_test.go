package decode_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/all"
	"fairlead.dev/render/decode"
)

func newExplainer(t *testing.T) *decode.Decoder {
	t.Helper()
	registry, err := all.Registry()
	if err != nil {
		t.Fatal(err)
	}
	return decode.New("", registry.Kinds())
}

func TestExplain(t *testing.T) {
	d := newExplainer(t)
	for name, c := range map[string]struct {
		what, version string
		want          []decode.ExplainedField
	}{
		"a field":                   {"machinedeployment.spec.replicas", "", []decode.ExplainedField{{Path: "spec.replicas", Support: "honoured"}}},
		"an older version":          {"MachineDeployment.spec.template.spec.nodeDrainTimeout", "v1beta1", []decode.ExplainedField{{Path: "spec.template.spec.nodeDrainTimeout", Support: "honoured"}}},
		"one above stands for it":   {"MachineDeployment.metadata.managedFields.time", "", []decode.ExplainedField{{Path: "metadata.managedFields", Support: "no effect", Note: "written by API servers, not a setting"}}},
		"a refused field":           {"Cluster.metadata.generateName", "", []decode.ExplainedField{{Path: "metadata.generateName", Support: "refused", Note: "names in Git are fixed; set metadata.name"}}},
		"those below, and no other": {"Cluster.spec.clusterNetwork.pods", "", []decode.ExplainedField{{Path: "spec.clusterNetwork.pods.cidrBlocks", Support: "honoured"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := d.Explain(c.what, c.version)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Fields); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestExplainUnknown(t *testing.T) {
	d := newExplainer(t)
	for what, want := range map[string]string{
		"MachineDeploymnt":               `unknown kind "MachineDeploymnt" (did you mean MachineDeployment?)`,
		"MachineDeployment.spec.replica": `unknown field "spec.replica" of MachineDeployment v1beta2 (did you mean replicas?)`,
		"ROSAMachinePool.spec":           "ROSAMachinePool is not supported: ",
		"Cluster.spec.x":                 `unknown field "spec.x" of Cluster v1beta2`,
	} {
		if _, err := d.Explain(what, ""); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", what, err, want)
		}
	}
	if _, err := d.Explain("Cluster", "v2"); err == nil || err.Error() != `invalid version "v2" of Cluster: must be one of v1beta2, v1beta1` {
		t.Errorf("got %v", err)
	}
}
