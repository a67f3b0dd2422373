package orphans

import (
	"context"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// Removable returns what --delete removes: not what belongs to a cluster that
// vanished.
func (s *Scan) Removable() []fleet.Orphan {
	return slices.DeleteFunc(slices.Clone(s.orphans), func(o fleet.Orphan) bool { return s.gone[o.Cluster] })
}

// Remove removes what is removable, and calls removed for each orphan that it did. An
// orphan that another one was in the way of is tried again once that one is gone.
func (s *Scan) Remove(ctx context.Context, removed func(fleet.Orphan)) []error {
	todo := s.Removable()
	for {
		var failed []fleet.Orphan
		var errs []error
		for _, o := range todo {
			err := s.removeOne(ctx, o)
			if err != nil {
				failed, errs = append(failed, o), append(errs, err)
				continue
			}
			removed(o)
		}
		if len(failed) == 0 || len(failed) == len(todo) || ctx.Err() != nil {
			return errs
		}
		todo = failed
	}
}

func (s *Scan) removeOne(ctx context.Context, o fleet.Orphan) error {
	p, err := s.open(o.Provider)
	if err != nil {
		return err
	}
	remover := providers.AbilitiesOf(p).OrphanRemover
	if remover == nil {
		return fleet.Errorf(fleet.Invalid, "remove "+o.Kind+" "+o.Name, "the provider %s does not remove orphans", o.Provider)
	}
	return remover.RemoveOrphan(ctx, s.id, s.clusters[o.Provider], o)
}
