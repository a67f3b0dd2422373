package plan

import (
	"time"

	"fairlead.dev/fleet"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// paused reports whether people keep the cluster unchanged.
func (f *facts) paused() bool {
	return f.Desired.Paused || f.suspended()
}

// suspended reports whether they do for a time.
func (f *facts) suspended() bool {
	return f.Desired.Suspension != nil && !f.Desired.Suspension.Over(f.Now)
}

// whyPaused says why nothing is done, for people.
func (f *facts) whyPaused() string {
	if f.Desired.Paused || !f.suspended() {
		return "cluster is paused"
	}
	s := f.Desired.Suspension
	text := "cluster is suspended"
	if !s.Until.IsZero() {
		text += " until " + s.Until.UTC().Format(time.RFC3339)
	}
	return text + because(s.Reason)
}

// askedFor returns why people named m in list.
func askedFor(list map[fleet.MachineID]string, m *machine) (why string, ok bool) {
	if m.ProviderID == "" {
		return "", false
	}
	if why, ok = list[m.ID()]; ok {
		return why, true
	}
	why, ok = list[fleet.MachineID{ProviderID: m.ProviderID}]
	return why, ok
}

// unwanted reports whether people asked for m to be replaced as if it were
// outdated.
func unwanted(m *machine) bool {
	if m.pool == nil {
		return false
	}
	_, ok := askedFor(m.pool.Replace, m)
	return ok
}

func onDelete(p *fleet.Pool) bool {
	return p.Role == fleet.RoleWorker && p.Strategy == fleet.OnDelete
}

// markRequested marks the machines that people know to be unhealthy. No health check
// has a say in that, and none of its limits. In a pool that replaces on deletion
// alone, to ask for a replacement is to delete.
func (f *facts) markRequested() {
	for _, m := range f.machines {
		if m.pool == nil || m.duplicate {
			continue
		}
		why, ok := askedFor(m.pool.Remediate, m)
		if !ok && onDelete(m.pool) {
			why, ok = askedFor(m.pool.Replace, m)
		}
		if !ok {
			continue
		}
		m.unhealthy = &defect{clusterv1.MachineHealthCheckHasRemediateAnnotationReason, "remediation " + why}
		m.condemned, m.stays = !m.leaving, nil
	}
}
