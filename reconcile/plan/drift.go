package plan

import (
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// mendDrift has infrastructure that is ready made as it is to be. Where nothing
// that it follows from changed since it was so, somebody else changed it, and the
// policy of the cluster says whether that is mended. The next change that Fairlead
// makes to the infrastructure mends it in any case: one call brings all in line.
func (d *draft) mendDrift() {
	i := d.Observed.Infrastructure
	mark := fleet.Fingerprint(d.Desired, i.Machines)
	if len(i.Drift) == 0 {
		d.out.Fingerprint = mark
		return
	}
	foreign := slices.DeleteFunc(slices.Clone(i.Drift), func(text string) bool { return slices.Contains(i.Upkeep, text) })
	if len(foreign) == 0 || d.Memory.Fingerprint != mark || d.Desired.Drift == "" || d.Desired.Drift == fleet.DriftCorrect {
		d.do(fleet.Action{Kind: fleet.EnsureInfrastructure, Reason: strings.Join(i.Drift, "; ")})
		return
	}
	if d.Desired.Drift == fleet.DriftReport {
		d.note("infrastructure was changed behind Git's back and stays so, as %s says: %s", fleet.DriftAnnotation, strings.Join(foreign, "; "))
	}
}
