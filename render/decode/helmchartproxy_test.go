package decode_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"github.com/google/go-cmp/cmp"
)

const charts = `
---
apiVersion: addons.cluster.x-k8s.io/v1alpha1
kind: HelmChartProxy
metadata: {name: cilium, namespace: prod}
spec:
  clusterSelector: {matchLabels: {cni: lab}}
  repoURL: https://helm.example.com/charts/
  chartName: cilium
  version: 1.18.2
  namespace: kube-system
  valuesTemplate: |
    cluster:
      name: {{ .Cluster.metadata.name | quote }}
      size: {{ .ControlPlane.spec.replicas }}
    big: 12345678901234567890
    kind: {{ .InfraCluster.kind }}
    range: {{ index .Cluster.spec.clusterNetwork.pods.cidrBlocks 0 }}
---
apiVersion: addons.cluster.x-k8s.io/v1alpha1
kind: HelmChartProxy
metadata: {name: base, namespace: prod, annotations: {fairlead.dev/prune: "false"}}
spec:
  clusterSelector: {}
  repoURL: oci://registry.example.com/charts
  chartName: base
  version: v2.0.0+build.1
  releaseName: ground
  credentials: {secret: {name: depot}, key: docker}
  tlsConfig: {caSecret: {name: depot}, insecureSkipTLSVerify: true}
  options:
    atomic: true
    timeout: 90s
    skipCRDs: true
    disableHooks: true
    waitForJobs: true
    takeOwnership: true
    disableOpenAPIValidation: true
    install: {createNamespace: false}
    upgrade: {force: true, maxHistory: 3, cleanupOnFail: true, resetValues: true}
    uninstall: {keepHistory: true}
---
apiVersion: addons.cluster.x-k8s.io/v1alpha1
kind: HelmChartProxy
metadata: {name: once, namespace: prod}
spec:
  clusterSelector: {matchExpressions: [{key: cni, operator: Exists}]}
  repoURL: https://helm.example.com
  chartName: once
  version: 1.0.0
  reconcileStrategy: InstallOnce
  options: {install: {}}
---
apiVersion: addons.cluster.x-k8s.io/v1alpha1
kind: HelmChartProxy
metadata: {name: other, namespace: prod}
spec:
  clusterSelector: {matchLabels: {cni: other}}
  repoURL: https://helm.example.com
  chartName: once
  version: 1.0.0
---
apiVersion: v1
kind: Secret
metadata: {name: depot, namespace: prod}
stringData:
  docker: '{"auths": {"registry.example.com": {"username": "robot", "password": "hunter2"}}}'
  ca.crt: a certificate
`

// TestHelmChartProxies: what selects a cluster is installed there, with the
// defaults of the addon provider.
func TestHelmChartProxies(t *testing.T) {
	c := mustDecode(t, labelled(t)+charts)
	want := []fleet.Release{
		{
			ReleaseRef: fleet.ReleaseRef{Namespace: "default", Name: "ground"}, Proxy: "base", Strategy: "Continuous",
			Chart: fleet.Chart{Repository: "oci://registry.example.com/charts", Name: "base", Version: "v2.0.0+build.1"},
			Options: fleet.ReleaseOptions{
				Timeout: 90 * time.Second, MaxHistory: 3, Wait: true, WaitForJobs: true, Atomic: true, CleanupOnFail: true, SkipCRDs: true,
				DisableHooks: true, Replace: true, TakeOwnership: true, KeepHistory: true, DisableOpenAPIValidation: true,
			},
			Access: fleet.ChartAccess{Insecure: true},
		},
		{
			ReleaseRef: fleet.ReleaseRef{Namespace: "default", Name: "once"}, Proxy: "once", Strategy: "InstallOnce",
			Chart:   fleet.Chart{Repository: "https://helm.example.com", Name: "once", Version: "1.0.0"},
			Options: fleet.ReleaseOptions{Timeout: 10 * time.Minute, MaxHistory: 10, CreateNamespace: true},
		},
		{
			ReleaseRef: fleet.ReleaseRef{Namespace: "kube-system", Name: "cilium"}, Proxy: "cilium", Strategy: "Continuous", Prune: true,
			Chart:   fleet.Chart{Repository: "https://helm.example.com/charts", Name: "cilium", Version: "1.18.2"},
			Options: fleet.ReleaseOptions{Timeout: 10 * time.Minute, MaxHistory: 10, CreateNamespace: true},
		},
	}
	var got []fleet.Release
	for _, r := range c.Releases {
		if len(r.Digest) != 32 {
			t.Errorf("the digest of %s is %q", r, r.Digest)
		}
		r.Digest, r.Values, r.Access.Credentials, r.Access.CA = "", fleet.Secret{}, fleet.Secret{}, fleet.Secret{}
		got = append(got, r)
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(fleet.Secret{})); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	const values = `{"big":12345678901234567890,"cluster":{"name":"eu","size":1},"kind":"TestCluster","range":"10.1.0.0/16"}`
	if got := string(c.Releases[2].Values.Reveal()); got != values {
		t.Errorf("values %s, want %s", got, values)
	}
	if got := string(c.Releases[1].Values.Reveal()); got != "{}" {
		t.Errorf("no template comes to %s", got)
	}
	a := c.Releases[0].Access
	if !strings.Contains(string(a.Credentials.Reveal()), "hunter2") || string(a.CA.Reveal()) != "a certificate" {
		t.Errorf("credentials %q, authority %q", a.Credentials.Reveal(), a.CA.Reveal())
	}
	if shown := fmt.Sprintf("%+v", c.Releases); strings.Contains(shown, "hunter2") || strings.Contains(shown, "12345678901234567890") {
		t.Errorf("a release shows what it hides: %s", shown)
	}
	if data, _ := json.Marshal(c.Releases); strings.Contains(string(data), "hunter2") {
		t.Errorf("a release as JSON shows what it hides: %s", data)
	}
}

// TestReleaseDigest: what makes a release another one is in its digest, and what
// opens its repository is not. Neither is in the template of a machine.
func TestReleaseDigest(t *testing.T) {
	before := mustDecode(t, labelled(t)+charts)
	ref := fleet.ReleaseRef{Namespace: "default", Name: "ground"}
	was, _ := before.Release(ref)
	for name, c := range map[string]struct {
		old, new string
		other    bool
	}{
		"version":     {"v2.0.0+build.1", "v2.0.1", true},
		"repository":  {"oci://registry.example.com/charts", "oci://registry.example.com/other", true},
		"chart":       {"chartName: base", "chartName: bass", true},
		"values":      {"chartName: base", "chartName: base\n  valuesTemplate: 'a: 1'", true},
		"option":      {"skipCRDs: true", "skipCRDs: false", true},
		"prune":       {`fairlead.dev/prune: "false"`, `fairlead.dev/prune: "true"`, true},
		"strategy":    {"releaseName: ground", "releaseName: ground\n  reconcileStrategy: InstallOnce", true},
		"credentials": {"hunter2", "hunter3", false},
		"authority":   {"a certificate", "another certificate", false},
		"no change":   {"chartName: base", "chartName: base # the base", false},
	} {
		t.Run(name, func(t *testing.T) {
			after := mustDecode(t, labelled(t)+replaced(t, charts, c.old, c.new))
			if is, _ := after.Release(ref); (is.Digest != was.Digest) != c.other {
				t.Errorf("digest %s, was %s", is.Digest, was.Digest)
			}
			for i, p := range after.Pools() {
				if p.Template != before.Pools()[i].Template {
					t.Errorf("machines of %s are outdated by a chart", p.Name)
				}
			}
		})
	}
}

// TestHelmChartProxyProblems: what cannot be right is told before anything is
// installed, with the field and what to do.
func TestHelmChartProxyProblems(t *testing.T) {
	for name, c := range map[string]struct{ old, new, field, want string }{
		"no version":           {"  version: 1.18.2\n", "", "spec.version", "without a commit"},
		"range":                {"version: 1.18.2", "version: ^1.18.0", "spec.version", "no range"},
		"not all of a version": {"version: 1.18.2", `version: "1.18"`, "spec.version", "no range"},
		"plain http":           {"repoURL: https://helm.example.com/charts/", "repoURL: http://helm.example.com/charts/", "spec.repoURL", "https:// or oci://"},
		"no host":              {"repoURL: https://helm.example.com/charts/", "repoURL: https:///charts", "spec.repoURL", "and a host"},
		"password":             {"repoURL: https://helm.example.com/charts/", "repoURL: https://u:p@helm.example.com/charts/", "spec.repoURL", "credentials names"},
		"chart of another":     {"chartName: cilium", "chartName: ../cilium", "spec.chartName", "no name of a chart"},
		"release name":         {"chartName: cilium", "chartName: cilium\n  releaseName: Cilium", "spec.releaseName", "lower case"},
		"long release name":    {"chartName: cilium", "chartName: cilium\n  releaseName: " + strings.Repeat("a", 54), "spec.releaseName", "53"},
		"strategy":             {"chartName: cilium", "chartName: cilium\n  reconcileStrategy: Never", "spec.reconcileStrategy", "InstallOnce"},
		"selector":             {"{matchLabels: {cni: lab}}", "{matchExpressions: [{key: cni, operator: Like}]}", "spec.clusterSelector", "not a valid"},
		"unknown field":        {"chartName: cilium", "chartName: cilium\n  chart: cilium", "spec.chart", "unknown"},
		"refused option":       {"skipCRDs: true", "skipCRDs: true\n    dependencyUpdate: true", "spec.options.dependencyUpdate", "package it again"},
		"reused values":        {"resetValues: true", "reuseValues: true", "spec.options.upgrade.reuseValues", "put all of them into valuesTemplate"},
		"no timeout":           {"timeout: 90s", "timeout: 0s", "spec.options.timeout", "more than nothing"},
		"no Secret":            {"metadata: {name: depot,", "metadata: {name: depots,", "spec.credentials", "names Secret prod/depot, which the overlay does not hold"},
		"no key":               {"key: docker", "key: dock", "spec.credentials", "names key dock of Secret prod/depot, which has none"},
		"no credentials":       {`{"auths": {"registry.example.com": {"username": "robot", "password": "hunter2"}}}`, "hunter2", "spec.credentials", "holds no config.json of Docker"},
		"other namespace":      {"caSecret: {name: depot}", "caSecret: {name: depot, namespace: other}", "spec.tlsConfig.caSecret.namespace", "must be that of the HelmChartProxy"},
		"same release twice":   {"releaseName: ground", "releaseName: once", "spec.releaseName", "HelmChartProxy prod/base and this one both install release default/once in cluster prod/eu"},
		"template":             {"{{ .InfraCluster.kind }}", "{{ .InfraCluster.kind", "spec.valuesTemplate", "for cluster prod/eu: line 6: "},
		"unknown variable":     {"{{ .InfraCluster.kind }}", "{{ .Cluster.status.phase }}", "spec.valuesTemplate", "line 5:"},
		"impure function":      {"{{ .InfraCluster.kind }}", `{{ env "HOME" }}`, "spec.valuesTemplate", `function "env" not defined`},
		"time":                 {"{{ .InfraCluster.kind }}", `{{ now }}`, "spec.valuesTemplate", `function "now" not defined`},
		"no YAML":              {"kind: {{ .InfraCluster.kind }}", "kind: [", "spec.valuesTemplate", "is not YAML"},
		"no mapping":           {"chartName: once\n  version: 1.0.0\n  reconcile", "chartName: once\n  valuesTemplate: '[1]'\n  version: 1.0.0\n  reconcile", "spec.valuesTemplate", "it prints no mapping"},
		"prune":                {`fairlead.dev/prune: "false"`, `fairlead.dev/prune: "no"`, "metadata.annotations.fairlead.dev/prune", `"true" or "false"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := decodeAll(labelled(t) + replaced(t, charts, c.old, c.new))
			for _, p := range problems {
				if p.Field == c.field && strings.Contains(p.Message+p.Hint, c.want) && p.Cluster == (fleet.Key{Namespace: "prod", Name: "eu"}) {
					if strings.Contains(fmt.Sprint(problems), "hunter2") {
						t.Errorf("a problem shows a secret: %v", problems)
					}
					return
				}
			}
			t.Errorf("problems %v, want one of %s with %q", problems, c.field, c.want)
		})
	}
}
