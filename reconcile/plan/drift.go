package plan

import (
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// mendDrift has infrastructure that is ready brought to its desired state. If nothing
// that it follows from changed since it was so, somebody else changed it, and the
// policy of the cluster says whether that is reverted. The next change that Fairlead
// makes to the infrastructure reverts it in any case: one call brings all in line.
func (d *draft) mendDrift(s *site) {
	i := &s.seen
	mark := fleet.Fingerprint(d.Desired, d.machinesOn(s))
	if len(i.Drift) == 0 {
		d.rememberFingerprint(s, mark)
		return
	}
	foreign := slices.DeleteFunc(slices.Clone(i.Drift), func(text string) bool { return slices.Contains(i.Upkeep, text) })
	if len(foreign) == 0 || d.fingerprint(s) != mark || d.Desired.Drift == "" || d.Desired.Drift == fleet.DriftCorrect {
		d.request(fleet.Action{Kind: fleet.EnsureInfrastructure, Provider: s.provider, Reason: strings.Join(i.Drift, "; ")})
		return
	}
	if d.Desired.Drift == fleet.DriftReport {
		d.note("infrastructure was changed behind Git's back and stays so, as %s says: %s", fleet.DriftAnnotation, strings.Join(foreign, "; "))
	}
}

// machinesOn returns the machines that were seen on s.
func (f *facts) machinesOn(s *site) []fleet.Machine {
	all := f.Observed.Infrastructure.Machines
	if len(f.sites) == 1 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(m fleet.Machine) bool { return m.Provider != s.provider })
}

// fingerprint returns that of the time when s was last in its desired state.
func (d *draft) fingerprint(s *site) string {
	if s.provider == "" {
		return d.Memory.Fingerprint
	}
	return s.known.Fingerprint
}

// rememberFingerprint notes that s is in its desired state.
func (d *draft) rememberFingerprint(s *site, mark string) {
	if s.provider == "" {
		d.out.Fingerprint = mark
		return
	}
	guests := slices.Clone(d.out.Residence.Guests)
	for i := range guests {
		if guests[i].Provider == s.provider {
			guests[i].Fingerprint = mark
		}
	}
	d.out.Residence.Guests = guests
}
