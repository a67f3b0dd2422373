package plan_test

import (
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// scriptNow is the time of every script.
var scriptNow = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// setRollout reads what a pool says of rollouts: rollout-after=DURATION from
// now, expiry-days=N.
func setRollout(p *fleet.Pool, w words) {
	if w.is("rollout-after") {
		p.RolloutAfter = scriptNow.Add(w.duration("rollout-after"))
	}
	p.CertificatesExpiryDays = w.number("expiry-days", 0)
}

// origin reads what a machine carries of how it came to be: made=DURATION ago.
func (s *script) origin(m *fleet.Machine, w words) {
	if w.is("made") {
		m.Origin.Made = s.in.Now.Add(-w.duration("made"))
	}
}

// certificates reads when the certificates on a node expire:
// certificates=DURATION from now, and what people say of it: given=DURATION.
func (s *script) certificates(n *fleet.Node, w words) {
	if w.is("certificates") {
		n.CertificatesNotAfter = s.in.Now.Add(w.duration("certificates"))
	}
	if w.is("given") {
		n.Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation] = s.in.Now.Add(w.duration("given")).Format(time.RFC3339)
	}
}
