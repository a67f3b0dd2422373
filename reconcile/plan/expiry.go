package plan

import (
	"time"

	"fairlead.dev/reconcile/plan/text"
)

// tellExpiry tells of certificates that a distribution warns of. No machine is replaced for
// them: manifests of these distributions have no field that asks for it.
func (d *draft) tellExpiry() {
	var first time.Time
	var nodes []string
	for i := range d.Observed.Workload.Nodes {
		n := &d.Observed.Workload.Nodes[i]
		at := n.CertificatesNotAfter
		if at.IsZero() {
			continue
		}
		nodes = append(nodes, n.Name)
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	if len(nodes) == 0 {
		return
	}
	d.note("certificates on %s expire, the first on %s: restart the service on the machine, or replace the machine",
		text.Some(nodes), first.UTC().Format(time.DateOnly))
}
