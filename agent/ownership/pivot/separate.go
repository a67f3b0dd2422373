package pivot

import (
	"context"
	"crypto/rand"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
)

// markName is the name of the cluster, which no fleet has, that a mark is stored for.
const markName = "fairlead-mark"

// target returns the store that the next owner reads. It is an error if that store says
// that it is the owner's own store, which is cleaned up.
func (p *Pivot) target(ctx context.Context) (secrets.Store, error) {
	to := p.p.To
	if to == nil {
		home, err := p.p.Home(ctx)
		if err != nil {
			return nil, err
		}
		to = home.Secrets()
	}
	_, err := compareLocations(ctx, p.p.From, to)
	return to, err
}

// targetToChange is target for what stores or removes secrets. If the two stores do not say
// which they are, it marks one of them and looks for the mark in the other: secrets that
// are removed here because they are there may be the only copy.
func (p *Pivot) targetToChange(ctx context.Context, clusters []fleet.Key) (secrets.Store, error) {
	to, err := p.target(ctx)
	if err != nil {
		return nil, err
	}
	known, err := compareLocations(ctx, p.p.From, to)
	if known || err != nil {
		return to, err
	}
	namespace, err := p.markNamespace(ctx, clusters)
	if namespace == "" || err != nil {
		return to, err // without a namespace there are no secrets
	}
	return to, p.compareByMark(ctx, to, fleet.Key{Namespace: namespace, Name: markName})
}

// markNamespace returns a namespace that secrets of the fleet are in. The agent may write
// there.
func (p *Pivot) markNamespace(ctx context.Context, clusters []fleet.Key) (string, error) {
	if p.w.Home.Namespace != "" {
		return p.w.Home.Namespace, nil
	}
	if len(clusters) > 0 {
		return clusters[0].Namespace, nil
	}
	given, err := p.p.From.ListSecrets(ctx)
	if len(given) == 0 || err != nil {
		return "", err
	}
	return given[0].Namespace, nil
}

// compareByMark stores a mark in to, and returns an error unless it is sure that the
// owner's store does not have it.
func (p *Pivot) compareByMark(ctx context.Context, to secrets.Store, mark fleet.Key) error {
	const op = "compare the secret stores"
	want := fleet.SecretData{fleet.KubeconfigKey: fleet.NewSecret([]byte(rand.Text()))}
	if err := p.change("store a mark", func() error { return to.Replace(ctx, mark, fleet.Kubeconfig, want) }); err != nil {
		return err
	}
	here, err := p.p.From.Get(ctx, mark, fleet.Kubeconfig)
	if err != nil && fleet.KindOf(err) != fleet.NotFound {
		return err // the mark stays, and the next attempt replaces it
	}
	there, err := to.Get(ctx, mark, fleet.Kubeconfig)
	if err != nil {
		return err
	}
	if err := p.change("remove the mark", func() error { return to.Delete(ctx, mark) }); err != nil {
		return err
	}
	switch {
	case same(here, want):
		return errOneStore("the same store")
	case !same(there, want): // another process may have replaced it in both
		return fleet.Errorf(fleet.Conflict, op, "another process replaced the mark")
	}
	return nil
}

// compareLocations reports whether both stores say which they are. The error says that they
// are one, or why they did not answer.
func compareLocations(ctx context.Context, a, b secrets.Store) (known bool, err error) {
	var at [2]string
	for i, s := range []secrets.Store{a, b} {
		l, ok := s.(secrets.Locator)
		if !ok {
			return false, nil
		}
		if at[i], err = l.Location(ctx); fleet.KindOf(err) == fleet.Unauthorized {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	if at[0] == at[1] {
		return true, errOneStore(at[0])
	}
	return true, nil
}

func errOneStore(at string) error {
	return fleet.Errorf(fleet.Invalid, "move the secrets", "they are to go to where they are, in %s: name the store that the fleet comes from with --secrets", at)
}
