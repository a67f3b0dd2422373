package status

import (
	"time"

	"fairlead.dev/fleet"
)

func spellsOf(list []fleet.Spell) []spell {
	var out []spell
	for _, s := range list {
		out = append(out, spell{
			Machine: string(s.Machine), ProviderID: string(s.ProviderID),
			Condition: s.Condition, Status: string(s.Status), Since: s.Since.UTC().Format(time.RFC3339),
		})
	}
	return out
}

// fleetSpells is the inverse of spellsOf. One whose time cannot be read is left out:
// it is waited out anew.
func fleetSpells(list []spell) []fleet.Spell {
	var out []fleet.Spell
	for _, s := range list {
		since, err := time.Parse(time.RFC3339, s.Since)
		if err != nil {
			continue
		}
		out = append(out, fleet.Spell{
			Machine: fleet.MachineName(s.Machine), ProviderID: fleet.ProviderID(s.ProviderID),
			Condition: s.Condition, Status: fleet.ConditionStatus(s.Status), Since: since.UTC(),
		})
	}
	return out
}
