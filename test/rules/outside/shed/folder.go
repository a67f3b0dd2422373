package shed

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// A folder is the cloud of this provider: it keeps things, each with its tags, and knows
// nothing of clusters.
type folder string

// The folders of a shed.
const (
	clusters = "clusters"
	machines = "machines"
)

// A thing is one file of a shed.
type thing struct {
	ID       string            `json:"id"`
	Tags     map[string]string `json:"tags"`
	Created  time.Time         `json:"created"`
	Endpoint fleet.Endpoint    `json:"endpoint,omitzero"` // of what machines share
	Size     string            `json:"size,omitempty"`    // of a machine
	Shelf    string            `json:"shelf,omitempty"`
	Fault    string            `json:"fault,omitempty"` // why the machine never starts

	file string // where it is
}

// fileName returns the name of the file for what is called so in a cluster.
func fileName(c *fleet.Cluster, name ...string) string {
	return url.PathEscape(strings.Join(append([]string{string(c.Fleet), c.Key.Namespace, c.Key.Name}, name...), "~"))
}

// put makes a file with t in it, whole and with its tags, or none. It reports whether
// there was none of that name: of two that put at once the file system refuses one.
func (f folder) put(in, name string, t thing) (bool, error) {
	dir := filepath.Join(string(f), in)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return false, err
	}
	part, err := os.CreateTemp(string(f), "part-")
	if err != nil {
		return false, err
	}
	defer os.Remove(part.Name())
	_, err = part.Write(data)
	if err = errors.Join(err, part.Close()); err != nil {
		return false, err
	}
	err = os.Link(part.Name(), filepath.Join(dir, name))
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// list returns the things for which owns says yes, by the names of their files. It
// returns all of them or an error.
func (f folder) list(ctx context.Context, in string, owns func(tags map[string]string) bool) ([]thing, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(string(f)); err != nil {
		return nil, err // a shed that is away is not an empty one
	}
	entries, err := os.ReadDir(filepath.Join(string(f), in))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []thing
	for _, e := range entries {
		t, err := f.get(in, e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted since
		}
		if err != nil {
			return nil, err
		}
		if owns(t.Tags) {
			out = append(out, t)
		}
	}
	return out, err
}

// get reads one thing.
func (f folder) get(in, name string) (thing, error) {
	t := thing{file: filepath.Join(string(f), in, name)}
	data, err := os.ReadFile(t.file)
	if err != nil {
		return thing{}, err
	}
	if err := json.Unmarshal(data, &t); err != nil {
		return thing{}, &fs.PathError{Op: "read", Path: t.file, Err: err}
	}
	return t, nil
}

// remove deletes a thing. Nothing there is success.
func (t thing) remove() error {
	if err := os.Remove(t.file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// classify gives err, which the file system had, its kind: the one place that does.
func classify(op string, err error) error {
	return transport.Wrap(op, err, func(err error) (fleet.ErrorKind, error) {
		switch {
		case errors.Is(err, fs.ErrPermission):
			return fleet.Unauthorized, err
		case errors.Is(err, syscall.ENOSPC):
			return fleet.Exhausted, err
		}
		return fleet.Unavailable, err
	})
}
