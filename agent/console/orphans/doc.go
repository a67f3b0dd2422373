// Package orphans finds what a fleet left behind, and removes it: what carries the tags of
// the fleet, or was made by one of its clusters for itself, and belongs to no cluster that
// Git has.
//
// What it guarantees:
//
//   - Nothing of a cluster that was removed from Git is removed.
//   - What is too young to be known, and what belongs to a cluster in change, is passed over.
//   - A fleet that cannot be read in full is not scanned.
//
// For example:
//
//	s, err := orphans.New(orphans.Options{Fleet: rendered, Status: recorded, Open: world.Infrastructure})
//	err = s.Look(ctx, time.Now())
//	errs := s.Remove(ctx, func(o fleet.Orphan) { log.Info("removed", "id", o.ID) })
package orphans
