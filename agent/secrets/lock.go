package secrets

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"fairlead.dev/fleet"
)

const (
	locksFolder = ".locks"
	lockShards  = 64
	lockPoll    = 5 * time.Millisecond
)

// lockName returns the lock that guards a cluster. There is a fixed number of
// them, which are never removed: a lock file that comes and goes with its
// cluster could be locked after it was removed.
func lockName(c fleet.Key) string {
	h := fnv.New32a()
	h.Write([]byte(c.String()))
	return fmt.Sprintf("%s/%02d", locksFolder, h.Sum32()%lockShards)
}

// lock takes the lock called name, and returns what releases it. It holds off
// other processes as well as other goroutines, and ends with its holder.
func lock(ctx context.Context, root *os.Root, name string) (release func(), err error) {
	if err := root.Mkdir(locksFolder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	l := flock.New(filepath.Join(root.Name(), filepath.FromSlash(name)), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	if _, err := l.TryLockContext(ctx, lockPoll); err != nil {
		_ = l.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("lock %s: %w", l.Path(), err)
	}
	return func() { _ = l.Close() }, nil
}
