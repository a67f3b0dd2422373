package status

import "fairlead.dev/fleet"

func encodeRemovals(list []fleet.PoolRemoval) []removal {
	var out []removal
	for _, r := range list {
		out = append(out, removal{string(r.Pool), r.DrainSeconds, r.DetachSeconds, r.Exclude, r.Labels, r.MaxUnavailable, string(r.Order)})
	}
	return out
}

// decodeRemovals is the inverse of encodeRemovals.
func decodeRemovals(list []removal) []fleet.PoolRemoval {
	var out []fleet.PoolRemoval
	for _, r := range list {
		out = append(out, fleet.PoolRemoval{
			Pool: fleet.PoolName(r.Pool), DrainSeconds: r.DrainSeconds, DetachSeconds: r.DetachSeconds, Exclude: r.Exclude, Labels: r.Labels,
			MaxUnavailable: r.MaxUnavailable, Order: fleet.DeletionOrder(r.Order),
		})
	}
	return out
}
