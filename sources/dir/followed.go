package dir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// followedName is a file with a shared lock of the agent that follows the folder. The lock ends
// with the process, so the file alone means nothing.
const followedName = "followed"

// follow marks the folder as followed until the returned function is called or ctx ends. It
// does nothing where the file system has no locks.
func (b *Branch) follow(ctx context.Context) func() {
	l := flock.New(filepath.Join(b.path, followedName), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))
	// An exclusive lock is held for a moment only, by Followed.
	_, _ = l.TryRLockContext(ctx, time.Millisecond)
	return func() { _ = l.Close() }
}

// Told reports whether an agent ever marked the folder as followed. Agents of old releases
// follow a folder without marking it.
func (b *Branch) Told() bool {
	_, err := os.Stat(filepath.Join(b.path, followedName))
	return !errors.Is(err, fs.ErrNotExist)
}

// Followed reports whether an agent follows the folder now. No agent reads what is written to
// the branch of a folder that is not followed. Where the file system has no locks the
// answer is yes.
func (b *Branch) Followed() bool {
	l := flock.New(filepath.Join(b.path, followedName), flock.SetFlag(os.O_RDWR))
	defer l.Close()
	alone, err := l.TryLock()
	return !alone && !errors.Is(err, fs.ErrNotExist)
}
