package agent

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// lineage returns what knows what continues what; nil where nobody asks for
// signatures.
func (a *Agent) lineage() sources.Lineage {
	if l, ok := a.p.Source.(sources.Lineage); ok && l.Signed() {
		return l
	}
	return nil
}

// renderNext renders rev, which is to take the place of what is followed.
func (a *follower) renderNext(ctx context.Context, rev fleet.Revision) (fleet.Fleet, error) {
	if l := a.lineage(); l != nil && !a.followed.IsZero() {
		if err := l.Continues(ctx, a.followed, rev); err != nil {
			return fleet.Fleet{}, err
		}
	}
	return a.renderNamed(ctx, rev)
}

// renderOlder renders rev, which is said to have been followed.
func (a *follower) renderOlder(ctx context.Context, rev fleet.Revision) (fleet.Fleet, error) {
	if l := a.lineage(); l != nil {
		if err := l.Includes(ctx, a.followed, rev); err != nil {
			return fleet.Fleet{}, err
		}
	}
	return a.renderNamed(ctx, rev)
}

// renderNamed renders rev, and refuses it where it is of another fleet.
func (a *follower) renderNamed(ctx context.Context, rev fleet.Revision) (fleet.Fleet, error) {
	f, err := a.render(ctx, rev)
	if err == nil {
		err = a.targets.decided().Renamed(f)
	}
	return f, err
}
