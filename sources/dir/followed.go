package dir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// followedName is a file that whoever follows the folder holds a shared lock on.
// The lock ends with the process, so what is left of an agent that is gone says
// nothing.
const followedName = "followed"

// follow says that the folder is followed until the returned function is called.
// Where that cannot be said, it is not.
func (b *Branch) follow() func() {
	f, err := os.OpenFile(filepath.Join(b.path, followedName), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return func() {}
	}
	// It waits for a question only, which holds the lock for a moment.
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH)
	}
	return func() { f.Close() }
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
	f, err := os.OpenFile(filepath.Join(b.path, followedName), os.O_RDWR, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}
