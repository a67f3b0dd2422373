package hosts

import (
	"maps"
	"testing"

	"fairlead.dev/fleet"
)

// A claim that lost a tag is a machine with damaged tags, which the planner holds.
func TestDamagedClaim(t *testing.T) {
	for tag, want := range map[string]string{
		"fairlead.dev/role":     "fairlead.dev/role is missing",
		"fairlead.dev/pool":     "fairlead.dev/pool is missing",
		"fairlead.dev/template": "fairlead.dev/template is missing",
		"other":                 "",
	} {
		w := newTown()
		tags := maps.Clone(w.tags("cp-0"))
		delete(tags, tag)
		w.r[0].state.Claim.Tags = tags
		var got []fleet.Machine
		for _, f := range w.r.machines(w.c) {
			if f.host != nil && f.host.Name == "h0" {
				got = append(got, f.machine())
			}
		}
		if len(got) != 1 || got[0].Damaged != want {
			t.Errorf("without %s: %+v, want damaged %q", tag, got, want)
		}
	}
}
