package decode_test

import (
	"strings"
	"testing"
	"time"
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

// A control plane whose fields cannot work together says which.
func TestControlPlaneProblems(t *testing.T) {
	for name, c := range map[string]struct {
		manifests, field, want string
	}{
		"expiry too soon":   {within(t, newest, "  rollout: {before: {certificatesExpiryDays: 6}}\n"), "spec.rollout.before.certificatesExpiryDays", "at least 7"},
		"expiry too late":   {within(t, newest, "  rollout: {before: {certificatesExpiryDays: 365}}\n"), "spec.rollout.before.certificatesExpiryDays", "which is 365"},
		"expiry of v1beta1": {within(t, older, "  rolloutBefore: {certificatesExpiryDays: 400}\n"), "spec.rolloutBefore.certificatesExpiryDays", "which is 365"},
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
