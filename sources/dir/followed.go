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

// followedName is a file that whoever follows the folder holds a shared lock on.
// The lock ends with the process, so what is left of an agent that is gone says
// nothing.
const followedName = "followed"

// follow says that the folder is followed until the returned function is called, unless ctx ends first.
// Where that cannot be said, it is not.
func (b *Branch) follow(ctx context.Context) func() {
	l := flock.New(filepath.Join(b.path, followedName), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))
	// It waits for a question only, which holds the lock for a moment.
	_, _ = l.TryRLockContext(ctx, time.Millisecond)
	return func() { _ = l.Close() }
}

// Told reports whether any agent ever said that it follows the folder: those that were
// released before they said so do not, though they follow it.
func (b *Branch) Told() bool {
	_, err := os.Stat(filepath.Join(b.path, followedName))
	return !errors.Is(err, fs.ErrNotExist)
}

// Followed reports whether an agent follows the folder at the moment: what is
// written to the branch of one that nobody follows is read by nobody. Where the
// file system cannot tell, somebody does.
func (b *Branch) Followed() bool {
	l := flock.New(filepath.Join(b.path, followedName), flock.SetFlag(os.O_RDWR))
	defer l.Close()
	alone, err := l.TryLock()
	return !alone && !errors.Is(err, fs.ErrNotExist)
}
