package topology_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/render/topology"
)

// aging is small with a list of versions, three pools and an image that tells the
// version.
func aging(t *testing.T, change ...string) (*topology.Class, topology.Object) {
	t.Helper()
	manifests := strings.NewReplacer(
		"spec:\n  infrastructure:", "spec:\n  kubernetesVersions: [v1.32.4, v1.33.0, v1.33.2, v1.34.1, v1.35.0]\n  infrastructure:",
		"{machineDeployments: [{class: worker, name: md-0}]}", "{machineDeployments: [{class: worker, name: b}, {class: worker, name: c}, {class: worker, name: a}]}",
		"matchResources: {controlPlane: true}", "matchResources: {controlPlane: true, machineDeploymentClass: {names: [worker]}}",
		smallPatch, `      - op: add
        path: /spec/template/spec/image
        valueFrom:
          template: '{{ with .builtin.controlPlane }}{{ .version }}{{ end }}{{ with .builtin.machineDeployment }}{{ .version }}{{ end }} of {{ .builtin.cluster.topology.version }}'
`,
	).Replace(small)
	manifests = strings.NewReplacer(change...).Replace(manifests)
	class, clusters := compiled(t, parsed(t, manifests))
	if len(class.Problems) > 0 {
		t.Fatal(lines(class.Problems))
	}
	return class, clusters[0]
}

// What a class makes at older versions tells of these, but for the version that
// the Cluster asks for; names do not change.
func TestOlderVersions(t *testing.T) {
	class, cluster := aging(t)
	made, problems := class.Expand(cluster)
	if len(problems) > 0 {
		t.Fatal(lines(problems))
	}
	var versions []string
	for _, o := range append(made.Older, topology.Older{Version: "v1.34.1", Objects: made.Objects}) {
		versions = append(versions, o.Version)
		var names []string
		for i, e := range o.Objects {
			names = append(names, text(e.Raw, "metadata", "name"))
			if want := text(made.Objects[i].Raw, "metadata", "name"); want != names[i] {
				t.Errorf("at %s %s is called %s", o.Version, want, names[i])
			}
			switch text(e.Raw, "kind") {
			case "KubeadmControlPlane":
				if got := text(e.Raw, "spec", "version"); got != o.Version {
					t.Errorf("at %s the control plane is of %s", o.Version, got)
				}
			case "MachineDeployment":
				if got := text(e.Raw, "spec", "template", "spec", "version"); got != o.Version {
					t.Errorf("at %s a pool is of %s", o.Version, got)
				}
			case "CloudMachineTemplate":
				if got, want := text(e.Raw, "spec", "template", "spec", "image"), o.Version+" of v1.34.1"; got != want {
					t.Errorf("the image is %q, want %q", got, want)
				}
			}
		}
	}
	if diff := cmp.Diff([]string{"v1.32.4", "v1.33.0", "v1.33.2", "v1.34.1"}, versions); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What is wrong at an older version alone is told of it.
func TestProblemAtOlderVersion(t *testing.T) {
	class, cluster := aging(t, "{{ .version }}{{ end }}{{ with .builtin.m", `{{ if eq .version "v1.33.0" }}{{ fail "no image" }}{{ end }}{{ end }}{{ with .builtin.m`)
	_, problems := class.Expand(cluster)
	if got := lines(problems); len(got) != 1 || !strings.Contains(got[0], "at version v1.33.0: ") || !strings.Contains(got[0], "no image") {
		t.Errorf("got %q", got)
	}
}

// All older versions together may cost as much as one.
func TestOlderVersionsCost(t *testing.T) {
	heavy := `{{ range until 600 }}{{ range until 10 }}{{ end }}{{ end }}{{ with .builtin.controlPlane }}`
	var list []string
	for i := range 90 {
		list = append(list, fmt.Sprintf("v1.33.%d", i))
	}
	class, cluster := aging(t, "{{ with .builtin.controlPlane }}", heavy, "v1.33.0, v1.33.2", strings.Join(list, ", "))
	_, problems := class.Expand(cluster)
	if got := lines(problems); len(got) != 1 || !strings.Contains(got[0], "the class takes too much work") {
		t.Errorf("got %q", got)
	}
}

// Annotations of Cluster API steer the upgrade; nothing that is made has those of
// pools.
func TestSteering(t *testing.T) {
	const deferred, held = "topology.cluster.x-k8s.io/defer-upgrade", "topology.cluster.x-k8s.io/hold-upgrade-sequence"
	cases := map[string]struct {
		change      []string
		want        map[string]string // by topology name
		concurrency int
	}{
		"none":     {nil, map[string]string{}, 1},
		"deferred": {[]string{"name: c}", "name: c, metadata: {annotations: {" + deferred + ": ''}}}"}, map[string]string{"c": deferred}, 1},
		"held":     {[]string{"name: c}", "name: c, metadata: {annotations: {" + held + ": ''}}}"}, map[string]string{"c": held + " of c", "a": held + " of c"}, 1},
		"both": {
			[]string{"name: b}", "name: b, metadata: {annotations: {" + held + ": 'true'}}}", "name: a}", "name: a, metadata: {annotations: {" + deferred + ": 'no'}}}"},
			map[string]string{"b": held + " of b", "c": held + " of b", "a": deferred},
			1,
		},
		"several at once": {[]string{"metadata: {name: eu-1}", "metadata: {name: eu-1, annotations: {topology.cluster.x-k8s.io/upgrade-concurrency: '3'}}"}, map[string]string{}, 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			class, cluster := aging(t, tc.change...)
			made, problems := class.Expand(cluster)
			if len(problems) > 0 {
				t.Fatal(lines(problems))
			}
			pools := map[string]string{} // topology name by name
			for _, o := range made.Objects {
				if text(o.Raw, "kind") == "MachineDeployment" {
					pools[text(o.Raw, "metadata", "name")] = text(o.Raw, "metadata", "labels", "topology.cluster.x-k8s.io/deployment-name")
				}
				if all := asYAML(t, []*topology.Expanded{o}); strings.Contains(all, deferred) || strings.Contains(all, held) {
					t.Errorf("the annotation is in\n%s", all)
				}
			}
			var order []string
			got := map[string]string{}
			for _, name := range made.Upgrade.Order {
				order = append(order, pools[name])
				if why, ok := made.Upgrade.Deferred[name]; ok {
					got[pools[name]] = why
				}
			}
			if diff := cmp.Diff([]string{"b", "c", "a"}, order); diff != "" {
				t.Errorf("order: -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("deferred: -want +got:\n%s", diff)
			}
			if made.Upgrade.Concurrency != tc.concurrency || !made.Upgrade.Listed {
				t.Errorf("concurrency %d, listed %v", made.Upgrade.Concurrency, made.Upgrade.Listed)
			}
		})
	}
}
