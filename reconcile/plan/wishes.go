package plan

import (
	"time"

	"fairlead.dev/fleet"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// paused reports whether people keep the cluster as it is.
func (v *view) paused() bool {
	return v.Desired.Paused || v.suspended()
}

// suspended reports whether they do for a time.
func (v *view) suspended() bool {
	return v.Desired.Suspension != nil && !v.Desired.Suspension.Over(v.Now)
}

// whyPaused says why nothing is done, for people.
func (v *view) whyPaused() string {
	if v.Desired.Paused || !v.suspended() {
		return "cluster is paused"
	}
	s := v.Desired.Suspension
	text := "cluster is suspended"
	if !s.Until.IsZero() {
		text += " until " + s.Until.UTC().Format(time.RFC3339)
	}
	return text + because(s.Reason)
}

// unwanted reports whether people asked for m to be replaced as if it were
// outdated.
func unwanted(m *machine) bool {
	if m.pool == nil || m.ProviderID == "" {
		return false
	}
	_, ok := m.pool.Replace[m.ProviderID]
	return ok
}

func onDelete(p *fleet.Pool) bool {
	return p.Role == fleet.RoleWorker && p.Strategy == fleet.OnDelete
}

// heedWishes marks the machines that people know to be sick. No health check
// has a say in that, and none of its limits. In a pool that replaces on deletion
// alone, to ask for a replacement is to delete.
func (v *view) heedWishes() {
	for _, m := range v.machines {
		if m.pool == nil || m.ProviderID == "" || m.extra {
			continue
		}
		why, ok := m.pool.Remediate[m.ProviderID]
		if !ok && onDelete(m.pool) {
			why, ok = m.pool.Replace[m.ProviderID]
		}
		if !ok {
			continue
		}
		m.sick = &defect{clusterv1.MachineHealthCheckHasRemediateAnnotationReason, "remediation " + why}
		m.remedy, m.stays = !m.leaving, nil
	}
}
