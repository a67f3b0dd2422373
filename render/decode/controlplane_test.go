package decode_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// within puts lines into the spec of the KubeadmControlPlane of newest or older.
func within(t *testing.T, manifests, lines string) string {
	t.Helper()
	return replaced(t, manifests, "  machineTemplate:\n", lines+"  machineTemplate:\n")
}

// Both versions say when machines are to be renewed, and it rolls nothing by
// being said.
func TestRolloutByTheClock(t *testing.T) {
	after := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for version, c := range map[string]struct{ plain, pushed string }{
		"v1beta2": {newest, replaced(t, within(t, newest, "  rollout: {after: \"2026-11-21T08:00:00Z\", before: {certificatesExpiryDays: 21}}\n"),
			"  rollout:\n    strategy:", "  rollout:\n    after: \"2026-11-21T08:00:00Z\"\n    strategy:")},
		"v1beta1": {older, replaced(t, within(t, older, "  rolloutAfter: \"2026-11-21T08:00:00Z\"\n  rolloutBefore: {certificatesExpiryDays: 21}\n"),
			"  strategy:\n    rolling", "  rolloutAfter: \"2026-11-21T08:00:00Z\"\n  strategy:\n    rolling")},
	} {
		got, plain := mustDecode(t, c.pushed), mustDecode(t, c.plain)
		if cp := got.ControlPlane; !cp.RolloutAfter.Equal(after) || cp.CertificatesExpiryDays != 21 {
			t.Errorf("%s: control plane after %s, %d days", version, cp.RolloutAfter, cp.CertificatesExpiryDays)
		}
		if !got.Workers[0].RolloutAfter.Equal(after) {
			t.Errorf("%s: workers after %s", version, got.Workers[0].RolloutAfter)
		}
		if got.ControlPlane.Template != plain.ControlPlane.Template || got.Workers[0].Template != plain.Workers[0].Template {
			t.Errorf("%s: the template hashes are others", version)
		}
		if !plain.ControlPlane.RolloutAfter.IsZero() || plain.ControlPlane.CertificatesExpiryDays != 0 || got.Digest == plain.Digest {
			t.Errorf("%s: without it %+v", version, plain.ControlPlane)
		}
	}
}

const external = "{endpoints: [\"https://10.0.0.5:2379\"], caFile: /etc/etcd/ca.crt, certFile: /etc/etcd/client.crt, keyFile: /etc/etcd/client.key}"

// With an external etcd a control plane may have an even number of machines.
func TestExternalEtcd(t *testing.T) {
	got := mustDecode(t, replaced(t, within(t, newest, "  replicas: 2\n"), "clusterConfiguration:\n", "clusterConfiguration:\n      etcd: {external: "+external+"}\n"))
	if got.ControlPlane.Replicas != 2 {
		t.Errorf("replicas %d", got.ControlPlane.Replicas)
	}
	if plain := mustDecode(t, newest); plain.ControlPlane.Template == got.ControlPlane.Template {
		t.Error("where etcd is is no part of the template")
	}
}

// A control plane whose fields cannot work together says which.
func TestControlPlaneProblems(t *testing.T) {
	for name, c := range map[string]struct {
		manifests, field, want string
	}{
		"expiry too soon":   {within(t, newest, "  rollout: {before: {certificatesExpiryDays: 6}}\n"), "spec.rollout.before.certificatesExpiryDays", "at least 7"},
		"expiry too late":   {within(t, newest, "  rollout: {before: {certificatesExpiryDays: 365}}\n"), "spec.rollout.before.certificatesExpiryDays", "which is 365"},
		"expiry of v1beta1": {within(t, older, "  rolloutBefore: {certificatesExpiryDays: 400}\n"), "spec.rolloutBefore.certificatesExpiryDays", "which is 365"},
		"names alike":       {within(t, newest, "  machineNaming: {template: \"{{ .cluster.name }}-x\"}\n"), "spec.machineNaming.template", "random }} is missing"},
		"names of v1beta1":  {within(t, older, "  machineNamingStrategy: {template: \"x-{{ .random }}-{{ .machineSet.name }}\"}\n"), "spec.machineNamingStrategy.template", "no variable .machineSet.name"},
		"names by program":  {within(t, newest, "  machineNaming: {template: \"{{ range 1000000000 }}x{{ end }}{{ .random }}\"}\n"), "spec.machineNaming.template", "variables such as"},
		"names not valid":   {within(t, newest, "  machineNaming: {template: \"Big_{{ .random }}\"}\n"), "spec.machineNaming.template", "not be valid"},
		"even":              {within(t, newest, "  replicas: 2\n"), "spec.replicas", "must be odd"},
		"etcd twice": {
			replaced(t, newest, "clusterConfiguration:\n", "clusterConfiguration:\n      etcd: {local: {dataDir: /d}, external: "+external+"}\n"),
			"spec.kubeadmConfigSpec.clusterConfiguration.etcd.external", "only one of",
		},
		"etcd without TLS": {
			replaced(t, newest, "clusterConfiguration:\n", "clusterConfiguration:\n      etcd: {external: {endpoints: [\"http://10.0.0.5:2379\"], caFile: /a, certFile: /b, keyFile: /c}}\n"),
			"spec.kubeadmConfigSpec.clusterConfiguration.etcd.external.endpoints[0]", "must be a URL such as https",
		},
		"short certificates": {replaced(t, within(t, newest, "  rollout: {before: {certificatesExpiryDays: 30}}\n"),
			"clusterConfiguration:\n", "clusterConfiguration:\n      certificateValidityPeriodDays: 30\n"), "spec.rollout.before.certificatesExpiryDays", "which is 30"},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := decodeAll(c.manifests)
			if len(problems) != 1 || problems[0].Field != c.field || !strings.Contains(problems[0].String(), c.want) {
				t.Errorf("problems %v, want one of %s with %q", problems, c.field, c.want)
			}
		})
	}
}

// Both versions bound the attempts to replace unhealthy machines.
func TestRemediationOfTheControlPlane(t *testing.T) {
	for version, manifests := range map[string]string{
		"v1beta2": within(t, newest, "  remediation: {maxRetry: 3, retryPeriodSeconds: 600, minHealthyPeriodSeconds: 7200}\n"),
		"v1beta1": within(t, older, "  remediationStrategy: {maxRetry: 3, retryPeriod: 10m, minHealthyPeriod: 2h}\n"),
	} {
		got := mustDecode(t, manifests).ControlPlane
		r := got.Remediation
		if r.MaxRetry == nil || *r.MaxRetry != 3 || r.RetryPeriodSeconds == nil || *r.RetryPeriodSeconds != 600 || r.MinHealthyPeriodSeconds == nil || *r.MinHealthyPeriodSeconds != 7200 {
			t.Errorf("%s: %+v", version, r)
		}
		if plain := mustDecode(t, newest).ControlPlane; plain.Template != got.Template {
			t.Errorf("%s: the template hash is another", version)
		}
	}
}

// Machines are called as the templates of names say, deterministically and with
// what tells them apart whole.
func TestMachineNaming(t *testing.T) {
	for version, manifests := range map[string]string{
		"v1beta2": replaced(t, within(t, newest, "  machineNaming: {template: \"{{ .cluster.name }}-{{.random}}.{{ .kubeadmControlPlane.name }}\"}\n"),
			"  replicas: 3\n", "  replicas: 3\n  machineNaming: {template: \"w-{{ .machineSet.name }}-{{ .random }}\"}\n"),
		"v1beta1": replaced(t, within(t, older, "  machineNamingStrategy: {template: \"{{ .cluster.name }}-{{.random}}.{{ .kubeadmControlPlane.name }}\"}\n"),
			"  replicas: 3\n", "  replicas: 3\n  machineNamingStrategy: {template: \"w-{{ .machineSet.name }}-{{ .random }}\"}\n"),
	} {
		got, plain := mustDecode(t, manifests), mustDecode(t, newest)
		cp, md := &got.ControlPlane, &got.Workers[0]
		if cp.NamePattern != "eu-*.eu-cp" || !regexp.MustCompile(`^w-eu-md-0-[0-9a-f]{5}-\*$`).MatchString(md.NamePattern) {
			t.Errorf("%s: patterns %q and %q", version, cp.NamePattern, md.NamePattern)
		}
		if name := got.MachineName(cp, 0); !regexp.MustCompile(`^eu-[0-9a-f]{8}-eu-cp$`).MatchString(string(name)) || name == got.MachineName(cp, 1) {
			t.Errorf("%s: machines are called %s and %s", version, name, got.MachineName(cp, 1))
		}
		if plain.ControlPlane.Template != cp.Template || plain.Workers[0].Template != md.Template {
			t.Errorf("%s: the template hashes are others", version)
		}
	}
}

// The annotations that ask for a rotation are of the Cluster.
func TestRotate(t *testing.T) {
	const cluster = "metadata: {name: eu, namespace: prod}\nspec:\n  clusterNetwork"
	got := mustDecode(t, replaced(t, newest, cluster, "metadata: {name: eu, namespace: prod, annotations: {fairlead.dev/rotate-certificates: \"1\"}}\nspec:\n  clusterNetwork"))
	if got.Rotate[fleet.RotateCertificates] != "1" || len(got.Rotate) != 1 {
		t.Errorf("rotate %v", got.Rotate)
	}
	if cp, worker := got.Trust(fleet.RoleControlPlane, nil), got.Trust(fleet.RoleWorker, nil); cp == "" || worker != "" {
		t.Errorf("trust %q, of workers %q", cp, worker)
	}
}
