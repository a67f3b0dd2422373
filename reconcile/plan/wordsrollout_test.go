package plan_test

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
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
	setScaling(p, w)
	p.NamePattern = w["names"]
	bound := func(key string) *int32 {
		if !w.is(key) {
			return nil
		}
		n := int32(w.number(key, 0))
		return &n
	}
	p.Remediation = fleet.RemediationLimits{
		MaxRetry: bound("max-retry"), RetryPeriodSeconds: bound("retry-period"), MinHealthyPeriodSeconds: bound("min-healthy"),
	}
}

// setScaling reads scaled, which leaves the number to somebody else: min=N, max=N,
// decided=REASON, remove=MACHINE.
func setScaling(p *fleet.Pool, w words) {
	if !w.is("scaled") {
		return
	}
	p.Scaling = &fleet.Scaling{Min: w.number("min", 0), Max: w.number("max", 0), Decided: w.is("decided"), Reason: w["decided"]}
	surge, none := intstr.FromInt(p.MaxSurge), intstr.FromInt(p.MaxUnavailable)
	p.Scaling.Rollout = fleet.Rollout{MaxSurge: &surge, MaxUnavailable: &none}
	if w.is("remove") {
		p.Scaling.Remove = map[fleet.ProviderID]bool{fleet.ProviderID("sim://" + w["remove"]): true}
	}
}

// remediation reads MACHINE,RETRY,DURATION ago.
func (s *script) remediation(text string) fleet.Remediation {
	f := strings.Split(text, ",")
	if len(f) != 3 {
		return fleet.Remediation{}
	}
	retry, _ := strconv.Atoi(f[1])
	ago, _ := time.ParseDuration(f[2])
	return fleet.Remediation{Machine: s.name(f[0]), Retry: retry, At: s.in.Now.Add(-ago)}
}

// retry reads what is remembered of the tries of a pool: tries=N ago=DURATION version=VERSION.
func (s *script) retry(pool fleet.PoolName, w words) {
	s.in.Memory.Retries = append(s.in.Memory.Retries, fleet.PoolRetry{
		Pool: pool, Template: template(cmp.Or(w["version"], "v1.34.2"), ""), Tries: w.number("tries", 1), Last: s.in.Now.Add(-w.duration("ago")),
	})
}

// rotate reads rotate=WHAT:VALUE.
func rotate(w words) map[fleet.Rotation]string {
	what, value, ok := strings.Cut(w["rotate"], ":")
	if !ok {
		return nil
	}
	return map[fleet.Rotation]string{fleet.Rotation(what): value}
}

// origin reads what a machine carries of how it came to be: made=DURATION ago,
// in place of an unhealthy one: remediation=MACHINE,RETRY,DURATION ago.
func (s *script) origin(m *fleet.Machine, w words) {
	m.Origin.Remediation = s.remediation(w["remediation"])
	m.Origin.Trust = (&fleet.Cluster{Rotate: rotate(w)}).Trust(m.Role, trusted(w))
	if w.is("made") {
		m.Origin.Made = s.in.Now.Add(-w.duration("made"))
	}
}

// certificates reads when the certificates on a node expire:
// certificates=DURATION from now, what people say of it: given=DURATION, and what its
// distribution warns of: warned=DURATION.
func (s *script) certificates(n *fleet.Node, w words) (expires time.Time) {
	if w.is("certificates") {
		expires = s.in.Now.Add(w.duration("certificates"))
	}
	if w.is("warned") {
		n.CertificatesNotAfter = s.in.Now.Add(w.duration("warned"))
	}
	if w.is("given") {
		n.Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation] = s.in.Now.Add(w.duration("given")).Format(time.RFC3339)
	}
	return expires
}

// rotated reads how far the rotation of an authority is:
// rotation=AUTHORITY:WISH,STAGE,DURATION ago mark=AUTHORITY:MARK.
func (s *script) rotated(w words) {
	name, text, ok := strings.Cut(w["rotation"], ":")
	f := strings.Split(text, ",")
	if !ok || len(f) != 3 {
		return
	}
	ago, _ := time.ParseDuration(f[2])
	s.in.Observed.Secrets.Rotations = map[fleet.SecretName]fleet.RotationState{
		fleet.SecretName(name): {Wish: f[0], Stage: fleet.RotationStage(f[1]), Since: s.in.Now.Add(-ago)},
	}
	s.in.Observed.Secrets.Marks = trusted(words{"trusts": w["mark"]})
}
