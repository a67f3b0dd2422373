package objects

import (
	"context"
	"sync"
	"time"

	"fairlead.dev/fleet"
)

// A Store returns a Secret that is not in Git.
type Store = func(ctx context.Context, k fleet.Key) (fleet.SecretData, error)

// Kept returns a Store that caches the Secrets of store for age, since observations of many clusters
// need the same ones. Errors are not cached. Nil stays nil.
func Kept(store Store, age time.Duration) Store {
	if store == nil {
		return nil
	}
	type found struct {
		at   time.Time
		data fleet.SecretData
	}
	var mu sync.Mutex
	kept := make(map[fleet.Key]found)
	return func(ctx context.Context, k fleet.Key) (fleet.SecretData, error) {
		mu.Lock()
		have, ok := kept[k]
		mu.Unlock()
		if ok && time.Since(have.at) < age {
			return have.data, nil
		}
		asked := time.Now()
		data, err := store(ctx, k)
		mu.Lock()
		defer mu.Unlock()
		if delete(kept, k); err == nil {
			kept[k] = found{asked, data}
		}
		return data, err
	}
}
