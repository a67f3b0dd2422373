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
func (v *view) mendDrift() {
	i := v.Observed.Infrastructure
	mark := fleet.Fingerprint(v.Desired, i.Machines)
	if len(i.Drift) == 0 {
		v.out.Fingerprint = mark
		return
	}
	foreign := slices.DeleteFunc(slices.Clone(i.Drift), func(d string) bool { return slices.Contains(i.Upkeep, d) })
	if len(foreign) == 0 || v.Memory.Fingerprint != mark || v.Desired.Drift == "" || v.Desired.Drift == fleet.DriftCorrect {
		v.do(fleet.Action{Kind: fleet.EnsureInfrastructure, Reason: strings.Join(i.Drift, "; ")})
		return
	}
	if v.Desired.Drift == fleet.DriftReport {
		v.note("infrastructure was changed behind Git's back and stays so, as %s says: %s", fleet.DriftAnnotation, strings.Join(foreign, "; "))
	}
}
