package pivot

import (
	"context"
	"fmt"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
)

// execute does one step.
func (p *Pivot) execute(ctx context.Context, name Name, seen Observed) error {
	a := p.p.Arbiter
	switch name {
	case TakeOver:
		return p.change("take over", func() error {
			_, err := a.HandOver(ctx, seen.Owner, p.w.Self, "")
			return err
		})
	case Ask:
		return p.change("ask", func() error {
			return a.Succeed(ctx, seen.Owner, seen.Next, fleet.Succession{ID: p.p.ID(), To: p.w.To, Step: fleet.StepAsked})
		})
	case Move:
		return p.move(ctx, seen)
	case Clean:
		return p.clean(ctx)
	case Uninstall:
		return p.change("uninstall the old agent", func() error { return p.p.Old.Uninstall(ctx) })
	}
	home, err := p.p.Home(ctx)
	if err != nil {
		return err
	}
	switch name {
	case Addons:
		return p.change("apply addons", func() error { return home.ApplyAddons(ctx) })
	case Install:
		return p.change("install", func() error { return home.Install(ctx) })
	case WriteConfig:
		d, err := p.kubeconfig(ctx)
		if err != nil {
			return err
		}
		return p.change("write the kubeconfig", func() error { return p.p.Kubeconfig.Write(d) })
	}
	return fmt.Errorf("unknown step %q", name)
}

// move copies every secret that the destination lacks, compares all of them, and tells the
// next owner.
func (p *Pivot) move(ctx context.Context, seen Observed) error {
	clusters, err := p.p.Clusters(ctx)
	if err != nil {
		return err
	}
	to, err := p.targetToChange(ctx, clusters)
	if err != nil {
		return err
	}
	here, there, err := takeSnapshots(ctx, p.p.From, to, clusters)
	if err != nil {
		return err
	}
	list, err := listSecrets(ctx, here, clusters)
	if err != nil {
		return err
	}
	missing, err := differences(ctx, here, there, list)
	if err != nil {
		return err
	}
	for _, m := range missing {
		d, ok, err := m.get(ctx, here)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := p.change("store "+m.String(), func() error { return m.put(ctx, to, d) }); err != nil {
			return err
		}
	}
	// Both sides are read again: only what can be read counts as written.
	if here, there, err = takeSnapshots(ctx, p.p.From, to, clusters); err != nil {
		return err
	}
	if missing, err = differences(ctx, here, there, list); err != nil {
		return err
	}
	if len(missing) > 0 {
		return fleet.Errorf(fleet.Conflict, "move the secrets", "%s is not the same on both sides after it was copied", missing[0])
	}
	return p.change("say that the secrets are moved", func() error {
		return p.p.Arbiter.Succeed(ctx, seen.Owner, seen.Next, seen.Next.At(fleet.StepMoved))
	})
}

// clean removes the secrets that the new owner has from the old store. The secrets of the
// home go last, since they lead to the new owner's store.
func (p *Pivot) clean(ctx context.Context) error {
	clusters, err := p.p.Clusters(ctx)
	if err != nil {
		return err
	}
	to, err := p.targetToChange(ctx, clusters)
	if err != nil {
		return err
	}
	left, err := leftover(ctx, p.p.From, to, clusters)
	if err != nil {
		return err
	}
	seen, last := map[fleet.Key]bool{}, false
	for _, l := range left {
		switch {
		case l.name == "":
			err = p.change("remove "+l.String(), func() error { return p.p.From.DeleteSecret(ctx, l.given) })
		case l.cluster == p.w.Home:
			last = true
		case !seen[l.cluster]:
			seen[l.cluster] = true
			err = p.change("remove secrets of "+l.cluster.String(), func() error { return p.p.From.Delete(ctx, l.cluster) })
		}
		if err != nil {
			return err
		}
	}
	if !last {
		return nil
	}
	return p.change("remove secrets of "+p.w.Home.String(), func() error { return p.p.From.Delete(ctx, p.w.Home) })
}

// Undo reverts a pivot, as long as the fleet was not handed over.
func (p *Pivot) Undo(ctx context.Context) error {
	owner, next, err := p.p.Arbiter.Succession(ctx)
	if err != nil {
		return err
	}
	if owner.Agent == p.w.To {
		return fleet.Errorf(fleet.Invalid, "undo the pivot", "%s owns the fleet already: pivot it back with `fairlead pivot`", owner.Agent)
	}
	if next.To == p.w.To {
		if err := p.change("withdraw", func() error { return p.p.Arbiter.Succeed(ctx, owner, next, fleet.Succession{}) }); err != nil {
			return err
		}
	}
	clusters, err := p.p.Clusters(ctx)
	if err != nil {
		return err
	}
	if p.p.Home == nil {
		to, err := p.targetToChange(ctx, clusters)
		if err != nil {
			return err
		}
		return p.removeCopies(ctx, to, clusters)
	}
	home, err := p.p.Home(ctx)
	if fleet.KindOf(err) == fleet.NotFound {
		return nil // there is no home yet
	}
	if err != nil {
		return err
	}
	to, err := p.targetToChange(ctx, clusters)
	if err != nil {
		return err
	}
	if err := p.change("uninstall", func() error { return home.Uninstall(ctx) }); err != nil {
		return err
	}
	return p.removeCopies(ctx, to, clusters)
}

// removeCopies removes the secrets of to that are in the owner's store as well.
func (p *Pivot) removeCopies(ctx context.Context, to secrets.Store, clusters []fleet.Key) error {
	there, here, err := takeSnapshots(ctx, to, p.p.From, clusters)
	if err != nil {
		return err
	}
	list, err := listSecrets(ctx, there, clusters)
	if err == nil {
		list, err = owned(ctx, there, list)
	}
	if err != nil {
		return err
	}
	changed, err := differences(ctx, there, here, list)
	if err != nil {
		return err
	}
	keep := map[fleet.Key]bool{}
	for _, s := range changed {
		if s.name != fleet.Kubeconfig { // a kubeconfig may have been issued again
			keep[s.cluster], keep[s.given] = true, true
		}
	}
	for _, l := range list {
		switch {
		case l.name == "" && !keep[l.given]:
			err = p.change("remove "+l.String(), func() error { return to.DeleteSecret(ctx, l.given) })
		case l.name == fleet.ClusterCA && !keep[l.cluster]:
			err = p.change("remove secrets of "+l.cluster.String(), func() error { return to.Delete(ctx, l.cluster) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}
