package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// remove switches all machines off and removes what the lab has on this host,
// whatever a crash left of it. It may keep the network of the lab, for a process
// that is in it.
func (l *Lab) remove(keepNetwork bool) error {
	entries, err := os.ReadDir(l.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		m := &Machine{Name: e.Name(), lab: l, dir: filepath.Join(l.dir, e.Name())}
		if err := m.Kill(); err != nil {
			return err
		}
	}
	left, err := filepath.Glob(netns(l.Namespace() + "-*"))
	if err != nil {
		return err
	}
	for _, path := range left {
		if err := ip(context.Background(), "netns del "+filepath.Base(path)); err != nil {
			return err
		}
	}
	if _, err := os.Stat(netns(l.Namespace())); err == nil && !keepNetwork {
		if err := ip(context.Background(), "netns del "+l.Namespace()); err != nil {
			return err
		}
	}
	l.machines = nil
	return os.RemoveAll(l.dir)
}
