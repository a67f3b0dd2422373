package decode_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/render/decode"
)

// What rolls a pool is said in the words of the objects that it comes from.
func TestDifferences(t *testing.T) {
	cases := map[string]struct {
		change []string
		pool   int // 0 is the control plane
		want   []string
	}{
		"nothing":             {nil, 1, nil},
		"nothing for a pool":  {[]string{"kubeadmConfigSpec: {}", "kubeadmConfigSpec: {preKubeadmCommands: [ls]}"}, 1, nil},
		"control plane":       {[]string{"kubeadmConfigSpec: {}", "kubeadmConfigSpec: {preKubeadmCommands: [ls]}"}, 0, []string{"KubeadmControlPlane spec.kubeadmConfigSpec.preKubeadmCommands"}},
		"file of a pool":      {[]string{"content: b}", "content: c}"}, 1, []string{"KubeadmConfigTemplate spec.template.spec.files[1].content"}},
		"another file":        {[]string{"files: [{path: /etc/a, content: a}]", "files: []"}, 1, []string{"KubeadmConfigTemplate spec.template.spec.files"}},
		"machines":            {[]string{"value: {inMemory: {}}", "value: {inMemory: {vm: {provisioning: {startupDuration: 1s}}}}"}, 1, []string{"DevMachineTemplate spec.template.spec.backend.inMemory.vm"}},
		"version and machine": {[]string{"    version: v1.34.1", "    version: v1.34.2", "name: md-0,", "name: md-0, failureDomain: a,"}, 1, []string{"failureDomain", "version v1.34.1 → v1.34.2"}},
	}
	before, problems := clustersOf(t, "a.yaml", classy)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			after, problems := clustersOf(t, "a.yaml", strings.NewReplacer(tc.change...).Replace(classy))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if diff := cmp.Diff(tc.want, decode.Differences(&before[0].Pools()[tc.pool], &after[0].Pools()[tc.pool])); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
