package status

import (
	"time"

	"fairlead.dev/fleet"
)

func encodeReboots(list []fleet.Reboot) []reboot {
	var out []reboot
	for _, r := range list {
		out = append(out, reboot{string(r.Machine), string(r.ProviderID), r.At.UTC().Format(time.RFC3339), r.Retry, r.Off, r.GivenUp})
	}
	return out
}

// decodeReboots is the inverse of encodeReboots. One whose time cannot be read is left out: the
// machine is switched on, and rebooted again where it is not well then.
func decodeReboots(list []reboot) []fleet.Reboot {
	var out []fleet.Reboot
	for _, r := range list {
		if at, err := time.Parse(time.RFC3339, r.At); err == nil {
			out = append(out, fleet.Reboot{
				Machine: fleet.MachineName(r.Machine), ProviderID: fleet.ProviderID(r.ProviderID), At: at.UTC(), Retry: r.Retry, Off: r.Off, GivenUp: r.GivenUp,
			})
		}
	}
	return out
}
