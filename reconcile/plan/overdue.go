package plan

import (
	"time"

	"fairlead.dev/fleet"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// overdue says why m, which is made from the template that is asked for, is
// outdated anyway; empty if it is not.
func (f *facts) overdue(m *machine) string {
	if why := f.olderThanAsked(m); why != "" {
		return why
	}
	if what := m.Origin.Trust.Lacks(f.trust(m.Role)); what != "" {
		return "rotation of " + what
	}
	return f.expiring(m)
}

// olderThanAsked judges m by rollout.after. A machine that this fleet's agents
// asked for after that time is young enough, whatever the clock of its
// infrastructure says: clocks that disagree, or jump, roll nothing twice.
// Source: Cluster API, ShouldRolloutAfter.
func (f *facts) olderThanAsked(m *machine) string {
	after := m.pool.RolloutAfter
	if after.IsZero() || !m.MadeAt().Before(after) {
		return ""
	}
	if left := after.Sub(f.Now); left > 0 {
		f.wake(left)
		return ""
	}
	return "older than " + after.UTC().Format(time.RFC3339) + ", when machines are to be renewed"
}

// expiring judges m by rollout.before.certificatesExpiryDays. A machine with new
// certificates has to be better off: where they live no longer than the days
// that are to be left, nothing is replaced. An agent that made m by a clock that
// is far ahead sees its certificates expire at once: half of what they live
// passes on that clock before m is replaced again.
// Source: Cluster API, ShouldRolloutBefore.
func (f *facts) expiring(m *machine) string {
	if m.pool.CertificatesExpiryDays == 0 || m.node == nil {
		return ""
	}
	notAfter, given := givenExpiry(m.node)
	if !given && m.server != nil {
		notAfter = m.server.CertificatesNotAfter
	}
	if notAfter.IsZero() {
		return "" // what cannot be seen is not wrong
	}
	ahead := time.Duration(m.pool.CertificatesExpiryDays) * 24 * time.Hour
	if left := notAfter.Add(-ahead).Sub(f.Now); left > 0 {
		f.wake(left)
		return ""
	}
	if !given {
		useful := notAfter.Sub(m.Created) - ahead
		if useful <= 0 {
			f.note("certificates of machine %s live shorter than rollout.before.certificatesExpiryDays of %s: it is not replaced, a new one would be no better", m.Name, m.pool.Name)
			return ""
		}
		if left := useful/2 - f.Now.Sub(m.Origin.Made); left > 0 {
			f.wake(left)
			return ""
		}
	}
	return "certificates expire on " + notAfter.UTC().Format(time.DateOnly)
}

// givenExpiry is what people say of the certificates on n, as they may in
// Cluster API.
func givenExpiry(n *fleet.Node) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339, n.Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation])
	return at, err == nil
}
