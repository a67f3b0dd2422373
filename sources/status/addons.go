package status

import (
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// An Addon is one addon of a cluster.
type Addon struct {
	fleet.AddonReport
	Since time.Time // when its state changed; zero: it cannot be read
}

// addonsOf returns the addons of r. One keeps the time in old where its state is the same, and
// the revision where r has none.
func addonsOf(r fleet.Report, old Cluster, now time.Time) []Addon {
	var before []fleet.AddonReport
	for _, a := range old.Addons {
		before = append(before, a.AddonReport)
	}
	var out []Addon
	for _, a := range fleet.AddonsAfter(r.Addons, before) {
		since := now.UTC().Truncate(time.Second)
		if i := slices.IndexFunc(before, func(b fleet.AddonReport) bool { return b.Compare(a) == 0 }); i >= 0 && before[i].State == a.State {
			since = old.Addons[i].Since
		}
		out = append(out, Addon{a, since})
	}
	return out
}

// reportsOf is the inverse of addonsOf.
func reportsOf(list []Addon) []fleet.AddonReport {
	var out []fleet.AddonReport
	for _, a := range list {
		out = append(out, a.AddonReport)
	}
	return out
}

// addon is an Addon in a file.
type addon struct {
	Kind         string    `json:"kind"`
	Name         string    `json:"name"`
	State        string    `json:"state"`
	Since        string    `json:"since,omitempty"` // RFC 3339
	Message      string    `json:"message,omitempty"`
	Chart        string    `json:"chart,omitempty"`
	Release      string    `json:"release,omitempty"` // namespace/name
	HelmRevision int       `json:"helmRevision,omitempty"`
	Revision     *revision `json:"revision,omitempty"` // that began to be applied last
}

func addonFiles(list []Addon) []addon {
	var out []addon
	for _, a := range list {
		out = append(out, addon{
			Kind: a.Kind, Name: a.Name, State: string(a.State), Since: stamp(a.Since), Message: a.Message,
			Chart: a.Chart, Release: a.Release, HelmRevision: a.HelmRevision, Revision: revisionOf(a.Revision),
		})
	}
	return out
}

// readAddons is the inverse of addonFiles.
func readAddons(list []addon) []Addon {
	var out []Addon
	for _, a := range list {
		out = append(out, Addon{fleet.AddonReport{
			Kind: a.Kind, Name: a.Name, State: fleet.AddonState(a.State), Message: a.Message,
			Chart: a.Chart, Release: a.Release, HelmRevision: a.HelmRevision, Revision: a.Revision.fleet(),
		}, stamped(a.Since)})
	}
	return out
}
