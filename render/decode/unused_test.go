package decode_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// TestUnused: an object that changes no cluster is a warning, and holds nothing back.
func TestUnused(t *testing.T) {
	const (
		mhc      = "selector: {matchLabels: {cluster.x-k8s.io/deployment-name: eu-md-0}}"
		resource = "\n---\napiVersion: addons.cluster.x-k8s.io/v1beta2\nkind: ClusterResourceSet\nmetadata: {name: s, namespace: prod}\n" +
			"spec: {clusterSelector: {matchLabels: {stage: %}}, resources: [{kind: ConfigMap, name: c}]}\n---\n" +
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: prod}\ndata: {a: \"{apiVersion: v1, kind: Namespace, metadata: {name: a}}\"}\n"
		rule = "\n---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDrainRule\nmetadata: {name: r, namespace: prod}\nspec: {drain: {behavior: Skip}, machines: [{selector: {matchLabels: {tier: %}}}]}\n"
		more = "\n---\napiVersion: bootstrap.cluster.x-k8s.io/v1beta2\nkind: KubeadmConfigTemplate\nmetadata: {name: x, namespace: prod}\nspec: {template: {spec: {verbosity: 1}}}\n" +
			"---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: TestMachineTemplate\nmetadata: {name: x, namespace: prod}\nspec: {template: {spec: {flavor: small}}}\n" +
			"---\napiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: KubeadmControlPlane\nmetadata: {name: x, namespace: prod}\nspec: {version: v1.34.1, kubeadmConfigSpec: {verbosity: 1}, machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: TestMachineTemplate, name: m}}}}\n"
	)
	const unhealthy = "prod/eu.yaml: MachineHealthCheck prod/eu-hc: spec.selector: changes no cluster: it selects no machine of Cluster prod/eu " +
		"(select labels of machines, such as cluster.x-k8s.io/deployment-name)"
	staged := strings.Replace(newest, "metadata: {name: eu, namespace: prod}", "metadata: {name: eu, namespace: prod, labels: {stage: prod}}", 1)
	for name, c := range map[string]struct {
		reason    string
		manifests string
		file      string // "prod/eu.yaml" where empty
		path      string // of the overlay; "prod" where empty
		want      []string
	}{
		"nothing": {manifests: newest},
		"health check": {
			reason:    "sick machines would stay",
			manifests: strings.Replace(newest, mhc, "selector: {matchLabels: {cluster.x-k8s.io/deployment-name: eu-md-1}}", 1),
			want: []string{"prod/eu.yaml: MachineHealthCheck prod/eu-hc: spec.selector: changes no cluster: it selects no machine of Cluster prod/eu " +
				"(select labels of machines, such as cluster.x-k8s.io/deployment-name)"},
		},
		"health check of the control plane": {manifests: strings.Replace(newest, mhc, "selector: {matchLabels: {cluster.x-k8s.io/control-plane: ''}}", 1)},
		"resource set": {
			manifests: staged + strings.Replace(resource, "%", "dev", 1),
			want: []string{"prod/eu.yaml: ClusterResourceSet prod/s: spec.clusterSelector: changes no cluster: it selects no Cluster of the overlay " +
				"(select labels that a Cluster of namespace prod has)"},
		},
		"resource set that fits": {manifests: staged + strings.Replace(resource, "%", "prod", 1)},
		"drain rule": {
			manifests: newest + strings.Replace(rule, "%", "db", 1),
			want: []string{"prod/eu.yaml: MachineDrainRule prod/r: spec.machines: changes no cluster: it selects no machine of a cluster of the overlay " +
				"(select labels that machines and clusters have)"},
		},
		"drain rule that fits": {manifests: newest + strings.Replace(rule, "%", "web", 1)},
		"nothing refers to them": {
			manifests: newest + more,
			want: []string{
				"prod/eu.yaml: KubeadmConfigTemplate prod/x: changes no cluster: nothing in the overlay refers to it (refer to it, or remove it)",
				"prod/eu.yaml: KubeadmControlPlane prod/x: changes no cluster: nothing in the overlay refers to it (refer to it, or remove it)",
				"prod/eu.yaml: TestMachineTemplate prod/x: changes no cluster: nothing in the overlay refers to it (refer to it, or remove it)",
			},
		},
		"health check of another cluster": {
			reason: "labels of machines of one cluster are not for the other",
			manifests: strings.Replace(newest, mhc, "selector: {matchLabels: {cluster.x-k8s.io/deployment-name: aa-md-0}}", 1) + "\n---\n" +
				strings.NewReplacer("name: eu", "name: aa", "Name: eu", "Name: aa", "name: w", "name: aw", "name: m}", "name: am}", "name: m,", "name: am,").Replace(newest),
			want: []string{unhealthy},
		},
		"health check of a cluster in another namespace": {
			manifests: strings.Replace(newest, mhc, "selector: {matchLabels: {cluster.x-k8s.io/deployment-name: aa-md-0}}", 1) + "\n---\n" +
				strings.NewReplacer("namespace: prod", "namespace: dev", "eu-md-0", "aa-md-0").Replace(newest),
			want: []string{unhealthy},
		},
		"one drain rule of two": {
			manifests: newest + strings.Replace(rule, "%", "web", 1) + strings.NewReplacer("%", "db", "name: r,", "name: q,").Replace(rule),
			want: []string{"prod/eu.yaml: MachineDrainRule prod/q: spec.machines: changes no cluster: it selects no machine of a cluster of the overlay " +
				"(select labels that machines and clusters have)"},
		},
		"drain rule of another namespace": {
			reason: "one of the same name fits there",
			manifests: strings.Replace(newest, "tier: web", "tier: db", 1) + strings.Replace(rule, "%", "web", 1) + "\n---\n" +
				strings.ReplaceAll(newest+strings.Replace(rule, "%", "web", 1), "namespace: prod", "namespace: dev"),
			want: []string{"prod/eu.yaml: MachineDrainRule prod/r: spec.machines: changes no cluster: it selects no machine of a cluster of the overlay " +
				"(select labels that machines and clusters have)"},
		},
		"chart": {
			manifests: newest + "\n---\napiVersion: addons.cluster.x-k8s.io/v1alpha1\nkind: HelmChartProxy\nmetadata: {name: h, namespace: prod}\n" +
				"spec: {clusterSelector: {matchLabels: {stage: dev}}, repoURL: 'https://charts.example.com', chartName: a, version: 1.0.0}\n",
			want: []string{"prod/eu.yaml: HelmChartProxy prod/h: spec.clusterSelector: changes no cluster: it selects no Cluster of the overlay " +
				"(select labels that a Cluster of namespace prod has)"},
		},
		"Cluster without a name": {
			reason:    "it may refer to all of them",
			manifests: strings.Replace(newest, "metadata: {name: eu, namespace: prod}", "metadata: {namespace: prod}", 1),
		},
		"folder of the repository": {
			reason:    "its files are its own",
			manifests: newest + more, file: "eu.yaml", path: ".",
			want: []string{
				"eu.yaml: KubeadmConfigTemplate prod/x: changes no cluster: nothing in the overlay refers to it (refer to it, or remove it)",
				"eu.yaml: KubeadmControlPlane prod/x: changes no cluster: nothing in the overlay refers to it (refer to it, or remove it)",
				"eu.yaml: TestMachineTemplate prod/x: changes no cluster: nothing in the overlay refers to it (refer to it, or remove it)",
			},
		},
		"of a base": {
			reason:    "another overlay may use it",
			manifests: newest + more, file: "bases/eu.yaml",
		},
		"overlay with a problem": {
			reason:    "what is refused may refer to it",
			manifests: strings.Replace(newest, "replicas: 3", "replcas: 3", 1) + more,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var in []render.Object
			for _, o := range objects(c.manifests) {
				if c.file != "" {
					o.File = c.file
				}
				in = append(in, o)
			}
			path := c.path
			if path == "" {
				path = "prod"
			}
			clusters, problems, warnings := decode.New("f1", testKinds()).DecodeAndWarn(path, in)
			var got []string
			for _, w := range warnings {
				got = append(got, w.String())
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
			if wrong := name == "overlay with a problem" || name == "Cluster without a name"; wrong == (len(clusters) > 0) || len(clusters) > 2 {
				t.Errorf("%d clusters, problems %v", len(clusters), problems)
			}
		})
	}
}

// TestUnusedClass: a class that no cluster of the overlay uses is no warning, nor are its templates.
func TestUnusedClass(t *testing.T) {
	var in []render.Object
	for _, o := range objects(strings.Replace(classy, "name: dev", "name: other", -1) + "---\n" + classy) {
		o.File = "prod/eu.yaml"
		in = append(in, o)
	}
	in = slices.Delete(in, 5, 6) // its Cluster
	clusters, problems, warnings := decode.New("f1", inmemory.Kinds()).DecodeAndWarn("prod", in)
	if len(clusters) != 1 || len(warnings) > 0 {
		t.Errorf("%d clusters, problems %v, warnings %v", len(clusters), problems, warnings)
	}
}

// TestSharedObjects: two Clusters have no control plane or infrastructure in common.
func TestSharedObjects(t *testing.T) {
	second := "\n---\n" + strings.Replace(strings.SplitN(newest, "\n---\n", 2)[0], "name: eu, namespace: prod", "name: aa, namespace: prod", 1)
	own := strings.NewReplacer("kind: KubeadmControlPlane, name: eu-cp", "kind: KubeadmControlPlane, name: aa-cp")
	ownControlPlane := "\n---\n" + strings.Replace(strings.SplitN(newest, "\n---\n", 4)[2], "name: eu-cp", "name: aa-cp", 1)
	const infrastructure = "prod/eu.yaml: Cluster prod/aa: spec.infrastructureRef.name: TestCluster prod/eu is what Cluster prod/eu refers to as well (give each cluster an object of its own)"
	for name, c := range map[string]struct {
		manifests string
		want      []string
		clusters  []string
	}{
		"both": {
			manifests: newest + second,
			want: []string{
				"prod/eu.yaml: Cluster prod/aa: spec.controlPlaneRef.name: KubeadmControlPlane prod/eu-cp is what Cluster prod/eu refers to as well (give each cluster an object of its own)",
				infrastructure,
			},
			clusters: []string{"prod/eu"}, // the one that was there first
		},
		"infrastructure": {manifests: newest + own.Replace(second) + ownControlPlane, want: []string{infrastructure}, clusters: []string{"prod/eu"}},
		"one that is to go": {
			manifests: newest + strings.Replace(second, "name: aa, namespace: prod", "name: aa, namespace: prod, annotations: {fairlead.dev/delete: 'true'}", 1),
			clusters:  []string{"prod/aa", "prod/eu"},
		},
		"one that is to be abandoned": {
			manifests: newest + strings.Replace(second, "name: aa, namespace: prod", "name: aa, namespace: prod, annotations: {fairlead.dev/delete: abandon}", 1),
			clusters:  []string{"prod/aa", "prod/eu"},
		},
		"one Cluster twice": {
			manifests: newest + "\n---\n" + strings.SplitN(newest, "\n---\n", 2)[0],
			want: []string{
				"prod/eu.yaml: Cluster prod/eu: metadata.name: the overlay holds this object twice; the other one is in prod/eu.yaml (rename or remove one of them)",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			clusters, problems := decodeAll(c.manifests)
			var got, keys []string
			for _, p := range problems {
				got = append(got, p.String())
			}
			for _, c := range clusters {
				keys = append(keys, c.Key.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("problems: -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(c.clusters, keys); diff != "" {
				t.Errorf("clusters: -want +got:\n%s", diff)
			}
		})
	}
}
