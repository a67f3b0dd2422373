package decode_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/providers/all"
	"fairlead.dev/render/decode"
)

// TestPartsOfSeconds: a duration of v1beta1 that v1beta2 cannot say is a warning, with what counts.
func TestPartsOfSeconds(t *testing.T) {
	const drained, machine = "nodeDrainTimeout: 10s", "spec.machineTemplate."
	for name, c := range map[string]struct{ text, change, want string }{
		"10s":    {drained, "nodeDrainTimeout: 10s", ""},
		"0s":     {drained, "nodeDrainTimeout: 0s", ""},
		"2m":     {drained, "nodeDrainTimeout: 2m", ""},
		"1000ms": {drained, "nodeDrainTimeout: 1000ms", ""},
		"500ms":  {drained, "nodeDrainTimeout: 500ms", machine + "nodeDrainTimeout: 500ms counts as 0s, which is no limit: whole seconds count"},
		"1.5s":   {drained, "nodeDrainTimeout: 1.5s", machine + "nodeDrainTimeout: 1.5s counts as 1s: whole seconds count"},
		"volumes": {
			drained, "nodeVolumeDetachTimeout: 500ms",
			machine + "nodeVolumeDetachTimeout: 500ms counts as 0s, which is no limit: whole seconds count",
		},
		"deletion of nodes": {drained, "nodeDeletionTimeout: 500ms", machine + "nodeDeletionTimeout: 500ms counts as 0s: whole seconds count"},
		"in a list":         {"timeout: 5m", "timeout: 5m0.5s", "spec.unhealthyConditions[0].timeout: 5m0.5s counts as 5m0s: whole seconds count"},
	} {
		manifests := replaced(t, older, c.text, c.change)
		clusters, problems, warnings := decode.New("f1", testKinds()).DecodeAndWarn("prod", objects(manifests))
		if len(problems) > 0 || len(clusters) != 1 {
			t.Fatalf("%s: %d clusters, problems %v", name, len(clusters), problems)
		}
		var got []string
		for _, w := range warnings {
			if strings.Contains(w.Message, "whole seconds") {
				got = append(got, w.Field+": "+w.Message)
			}
		}
		if c.want == "" && len(got) > 0 || c.want != "" && !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: warnings %q, want %q", name, got, c.want)
		}
	}
}

// TestPartsOfSecondsOnce: what a class makes is warned of where people wrote it, and kinds of
// providers are left to their own rules.
func TestPartsOfSecondsOnce(t *testing.T) {
	kinds, err := all.Registry()
	if err != nil {
		t.Fatal(err)
	}
	for file, c := range map[string]struct{ text, change, problem, want string }{
		"class-v1beta1": {
			text: "spec: {template: {spec: {kubeadmConfigSpec: {}}}}", change: "spec: {template: {spec: {kubeadmConfigSpec: {}, machineTemplate: {nodeDrainTimeout: 1.5s}}}}",
			want: "KubeadmControlPlaneTemplate prod/c: spec.template.spec.machineTemplate.nodeDrainTimeout",
		},
		"metal3-v1beta1": {text: "timeout: 300s", change: "timeout: 300.5s", problem: "must be whole seconds"},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", "mutations", file+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		_, problems, warnings := decode.New("f1", kinds.Kinds()).DecodeAndWarn("prod", objects(replaced(t, string(data), c.text, c.change)))
		if c.problem == "" && len(problems) > 0 || c.problem != "" && (len(problems) != 1 || !strings.Contains(problems[0].Message, c.problem)) {
			t.Errorf("%s: problems %v, want %q", file, problems, c.problem)
		}
		var got []string
		for _, w := range warnings {
			if strings.Contains(w.Message, "whole seconds") {
				got = append(got, w.Object+": "+w.Field)
			}
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: warnings %q, want %q", file, got, c.want)
		}
	}
}
