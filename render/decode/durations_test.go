package decode_test

import (
	"slices"
	"strings"
	"testing"

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
