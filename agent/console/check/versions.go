package check

import (
	"maps"
	"slices"

	"fairlead.dev/fleet"
)

// Versions notes which version of Kubernetes clusters are to have, and where those that run
// cannot get there: back, or past a minor version that the class does not list. running has
// what control planes have now.
func (r *Report) Versions(clusters []*fleet.Cluster, running map[fleet.Key]string) {
	const what = "versions"
	fine := make(map[string][]string)
	for _, c := range clusters {
		to := c.ControlPlane.Version
		if to == "" {
			continue // somebody else keeps its control plane
		}
		if step := c.VersionStep(running[c.Key]); step.Why != "" {
			r.Note(what, c.Key.String(), "", fleet.Errorf(fleet.Invalid, "take it from "+running[c.Key]+" to "+to, "%s (%s)", step.Why, step.Hint))
			continue
		}
		fine[to] = append(fine[to], c.Key.String())
	}
	for _, v := range slices.Sorted(maps.Keys(fine)) {
		r.Note(what, subject(fine[v]), "Kubernetes "+v, nil)
	}
}
