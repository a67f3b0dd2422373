package forecast

import (
	"cmp"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
)

// ensureHosted brings the hosted control plane to its desired state. Where its endpoint is not known
// before it is made, it gets one that stands for it.
func (m *model) ensureHosted(desired *fleet.Cluster) {
	p := m.observed.ControlPlane
	p.Stale = p.Stale || !p.Exists
	p.Exists, p.Ready, p.Message, p.Drift = true, true, "", nil
	p.Version = desired.Hosted.Version
	for _, e := range []fleet.Endpoint{p.Endpoint, desired.NamedEndpoint(), {Host: "unknown", Port: 6443}} {
		if p.Endpoint.IsZero() { // Git may name a port alone
			p.Endpoint = e
		}
	}
	m.observed.Infrastructure.Endpoint = p.Endpoint
	m.observed.Workload.Version = p.Version
	m.assumeServed()
}

// assumeServed takes a control plane whose served version is not known to be as
// new as its workers are to be.
func (m *model) assumeServed() {
	w := &m.observed.Workload
	w.Version = cmp.Or(w.Version, m.observed.ControlPlane.Version, m.git.Hosted.Version)
	if w.Version != "" {
		return
	}
	for _, p := range m.git.Workers {
		if w.Version == "" || plan.NewerMinor(p.Version, w.Version) {
			w.Version = p.Version
		}
	}
}

// deleteHosted deletes it, and all that it knew.
func (m *model) deleteHosted() {
	m.observed.ControlPlane, m.observed.Workload, m.index = &fleet.HostedState{}, fleet.Workload{}, nil
}

// storeHosted stores what a hosted control plane gives, which answers from then on.
func (m *model) storeHosted() {
	p := m.observed.ControlPlane
	if p == nil {
		return
	}
	p.Stale = false
	hosted := m.observed.Distribution.NeedsTo(func(n fleet.SecretNeed) bool { return n.Hosted })
	m.observed.Secrets.Missing = slices.DeleteFunc(slices.Clone(m.observed.Secrets.Missing), func(n fleet.SecretName) bool { return slices.Contains(hosted, n) })
	m.observed.Workload.Reachable, m.observed.Workload.Message = true, ""
	m.assumeServed()
}

// makeSecrets makes those secrets that no hosted control plane gives.
func (m *model) makeSecrets() {
	hosted := m.observed.Distribution.NeedsTo(func(n fleet.SecretNeed) bool { return n.Hosted })
	m.observed.Secrets.Missing = slices.DeleteFunc(slices.Clone(m.observed.Secrets.Missing), func(n fleet.SecretName) bool { return !slices.Contains(hosted, n) })
}

// hostedServes reports whether nothing but an answer is missing of the hosted control plane.
func (m *model) hostedServes() bool {
	p := m.observed.ControlPlane
	return p != nil && p.Ready && m.observed.Secrets.Kubeconfig.Exists
}
