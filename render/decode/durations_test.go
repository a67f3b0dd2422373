package decode_test

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/render/decode"
)

// TestPartsOfSeconds: a duration of v1beta1 that v1beta2 cannot say is a warning, with what counts.
func TestPartsOfSeconds(t *testing.T) {
	const drain = "nodeDrainTimeout: 10s"
	if !strings.Contains(older, drain) {
		t.Fatal("the manifests have no timeout")
	}
	const at = "spec.machineTemplate.nodeDrainTimeout: "
	for text, want := range map[string]string{
		"10s": "", "0s": "", "2m": "", "1000ms": "",
		"500ms": at + "500ms counts as 0s, which is no limit: whole seconds count",
		"1.5s":  at + "1.5s counts as 1s: whole seconds count",
	} {
		manifests := strings.Replace(older, drain, "nodeDrainTimeout: "+text, 1)
		clusters, problems, warnings := decode.New("f1", testKinds()).DecodeAndWarn("prod", objects(manifests))
		if len(problems) > 0 || len(clusters) != 1 {
			t.Fatalf("%s: %d clusters, problems %v", text, len(clusters), problems)
		}
		var got []string
		for _, w := range warnings {
			if strings.Contains(w.Message, "whole seconds") {
				got = append(got, w.Field+": "+w.Message)
			}
		}
		if want == "" && len(got) > 0 || want != "" && !slices.Equal(got, []string{want}) {
			t.Errorf("%s: warnings %q, want %q", text, got, want)
		}
	}
}
