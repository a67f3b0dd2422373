package reconcile

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"fairlead.dev/fleet"
)

// A StoredSecret is a secret of a cluster as a store has it.
type StoredSecret struct {
	Data fleet.SecretData
	Kept bool  // Delete leaves it, being people's own
	Err  error // why it cannot be used; then there is no Data
}

// StoredSecrets are the secrets of clusters. What a store does not have is not in it.
type StoredSecrets map[fleet.Key]map[fleet.SecretName]StoredSecret

// A SecretLister is a SecretStore that returns the secrets of many clusters with few
// requests.
type SecretLister interface {
	// Secrets returns those of clusters. The error is that of the whole; that of one
	// secret, which Get would return, is in the StoredSecret.
	Secrets(ctx context.Context, clusters []fleet.Key) (StoredSecrets, error)
}

// readersAtOnce bounds the secrets that are read at once from a store that cannot list.
const readersAtOnce = 16

// SecretsOf returns the secrets that s has of clusters: at once where s can list
// them, else one by one, several at a time.
func SecretsOf(ctx context.Context, s interface {
	Get(ctx context.Context, c fleet.Key, name fleet.SecretName) (fleet.SecretData, error)
}, clusters []fleet.Key,
) (StoredSecrets, error) {
	if l, ok := s.(SecretLister); ok {
		return l.Secrets(ctx, clusters)
	}
	keeper, _ := s.(SecretKeeper)
	out := make(StoredSecrets, len(clusters))
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readersAtOnce)
	for _, c := range clusters {
		g.Go(func() error {
			var kept []fleet.SecretName
			if keeper != nil {
				var err error
				if kept, err = keeper.Kept(ctx, c); err != nil {
					return err
				}
			}
			of := make(map[fleet.SecretName]StoredSecret)
			for _, name := range fleet.SecretNames() {
				d, err := s.Get(ctx, c, name)
				if fleet.KindOf(err) != fleet.NotFound {
					of[name] = StoredSecret{Data: d, Kept: slices.Contains(kept, name), Err: err}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			out[c] = of
			return ctx.Err()
		})
	}
	return out, g.Wait()
}
