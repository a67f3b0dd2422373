package check

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/version"

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
		if err := step(running[c.Key], to, c.Topology != nil && c.Topology.Listed); err != nil {
			r.Note(what, c.Key.String(), "", err)
			continue
		}
		fine[to] = append(fine[to], c.Key.String())
	}
	for _, v := range slices.Sorted(maps.Keys(fine)) {
		r.Note(what, subject(fine[v]), "Kubernetes "+v, nil)
	}
}

// step returns why a control plane cannot be taken from one version to another.
// Source: Kubernetes, version skew policy.
func step(from, to string, listed bool) error {
	op := "take it from " + from + " to " + to
	was, bad := version.ParseSemantic(from)
	next, worse := version.ParseSemantic(to)
	switch {
	case bad != nil || worse != nil: // nothing runs yet
	case next.LessThan(was):
		return fleet.Errorf(fleet.Invalid, op, "Kubernetes does not go back (write %s, or a newer version)", from)
	case !listed && (next.Major() != was.Major() || next.Minor() > was.Minor()+1):
		return fleet.Errorf(fleet.Invalid, op, "that skips a minor version (go one at a time, or list versions in the class)")
	}
	return nil
}
