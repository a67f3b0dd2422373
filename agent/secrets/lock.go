package secrets

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"syscall"
	"time"

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
	f, err := root.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-timer.C:
		}
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		timer.Reset(lockPoll)
	}
}
