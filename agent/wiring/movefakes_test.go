package wiring

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"sync"
	"testing/fstest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/sources"
)

// authorities makes keys, which takes long, once for all worlds: the n-th of a
// cluster in each world are the same, and not those before.
type authorities struct {
	kubeadm.Distribution
	w *moveWorld
	p *process
}

// Admit implements providers.Distribution.
func (a authorities) Admit(ctx context.Context, to providers.Access, in providers.BootstrapInput, ttl time.Duration) error {
	return a.p.act("store a token", func() error { return a.Distribution.Admit(ctx, to, in, ttl) })
}

type authoritiesOf struct {
	cluster fleet.Key
	n       int
}

// made is shared by all tests: RSA keys take long.
var made = struct {
	sync.Mutex
	sets map[authoritiesOf]map[fleet.SecretName]fleet.SecretData
}{sets: map[authoritiesOf]map[fleet.SecretName]fleet.SecretData{}}

// NewSecrets implements providers.Distribution.
func (a authorities) NewSecrets(c *fleet.Cluster, _ time.Time) (map[fleet.SecretName]fleet.SecretData, error) {
	a.w.mu.Lock()
	a.w.keys[c.Key]++
	id := authoritiesOf{c.Key, a.w.keys[c.Key]}
	a.w.mu.Unlock()
	made.Lock()
	defer made.Unlock()
	if made.sets[id] == nil {
		// They are good from when the time of bubbles begins.
		d, err := a.Distribution.NewSecrets(c, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
		if err != nil {
			return nil, err
		}
		made.sets[id] = d
	}
	return maps.Clone(made.sets[id]), nil
}

// A memoryBranch is a sources.Branch.
type memoryBranch struct {
	mu    sync.Mutex
	trees []fstest.MapFS
}

type memoryTree struct{ fstest.MapFS }

// Digest implements sources.Tree.
func (t memoryTree) Digest(path string) (string, error) {
	b, err := fs.ReadFile(t.MapFS, path)
	return fmt.Sprintf("%x", b), err
}

func (b *memoryBranch) head() (fleet.Revision, fstest.MapFS) {
	if len(b.trees) == 0 {
		return fleet.Revision{}, fstest.MapFS{}
	}
	return fleet.Revision{Ref: "status", Digest: fmt.Sprintf("sha1:%040d", len(b.trees))}, b.trees[len(b.trees)-1]
}

// Read implements sources.Branch.
func (b *memoryBranch) Read(context.Context) (fleet.Revision, sources.Tree, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rev, tree := b.head()
	return rev, memoryTree{tree}, nil
}

// Commit implements sources.Branch.
func (b *memoryBranch) Commit(_ context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rev, tree := b.head()
	if rev != base {
		return fleet.Revision{}, fleet.Errorf(fleet.Conflict, "push", "somebody else was faster")
	}
	next := maps.Clone(tree)
	for path, content := range c.Edits {
		delete(next, path)
		if content != nil {
			next[path] = &fstest.MapFile{Data: content}
		}
	}
	b.trees = append(b.trees, next)
	rev, _ = b.head()
	return rev, nil
}
