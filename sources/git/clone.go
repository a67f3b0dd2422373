package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/tree"
)

// A clone keeps the newest commits of a repository in memory, without history. It is not
// safe for concurrent use. The trees that it returns are.
type clone struct {
	remote remote
	budget Budget
	reach  reach
	store  *store
	first  int64           // bytes in the store after the first fetch
	have   []plumbing.Hash // complete commits in the store, the newest last
	tip    plumbing.Hash   // of the newest revision, as the server lists it; zero: not known
	// absent are commits that are not in the history of a tip.
	absent map[plumbing.Hash]plumbing.Hash
}

// A reach is the part of a repository that a clone fetches.
type reach struct {
	// path is the folder that is the root of the trees; "." is the whole repository.
	path string
	// lazy makes trees that check content when it is read.
	lazy bool
	// all is set where the server cannot send the files of one folder only.
	all bool
}

// part reports whether files in other folders can be left out.
func (r reach) part() bool { return r.path != "." && !r.all }

const (
	// maxHave is how many commits are offered as a base of the next pack.
	maxHave = 4
	// keep is a number of bytes that a store may always have.
	keep = 32 << 20
)

func newClone(r remote, b Budget, of reach) *clone {
	return &clone{remote: r, budget: b, reach: of, store: newStore(b.Tree)}
}

// renewed returns a clone of the same repository with nothing in memory.
func (c *clone) renewed() *clone {
	next := newClone(c.remote, c.budget, c.reach)
	next.tip, next.absent = c.tip, c.absent
	return next
}

// forget drops all objects from memory.
func (c *clone) forget() { *c = *c.renewed() }

// treeAt returns the tree of the commit h, and fetches what is missing. When the store is much
// larger than one revision, a new store is started with the newest commit. Trees of the old
// store stay valid.
func (c *clone) treeAt(ctx context.Context, h plumbing.Hash) (*tree.Tree, error) {
	return c.verifiedTreeAt(ctx, h, h, func() error { return nil })
}

// verifiedTreeAt is treeAt for the commit h that the server serves under tip: h itself, or an
// annotated tag of h. The tree is read only after check succeeds.
func (c *clone) verifiedTreeAt(ctx context.Context, h, tip plumbing.Hash, check func() error) (*tree.Tree, error) {
	if c.store.size() > max(keep, 4*c.first) {
		c.shrink()
	}
	offered := len(c.have)
	t, err := c.fetchTree(ctx, h, tip, check)
	if errors.Is(err, errNotGiven) {
		c.reach.all = true
		c.forget()
		return c.fetchTree(ctx, h, tip, check)
	}
	if errors.Is(err, errMissing) && offered > 0 {
		// The server assumed objects that the clone does not have.
		c.forget()
		return c.fetchTree(ctx, h, tip, check)
	}
	return t, err
}

// shrink starts a new store with the objects of the newest commit, if there is one.
func (c *clone) shrink() {
	next := c.renewed()
	// A lazy tree may be endless.
	if n := len(c.have); n > 0 && !c.reach.lazy {
		head := c.have[n-1]
		if commit, err := c.store.commit(head); err == nil && c.store.carry(next.store, head) == nil && c.store.carry(next.store, commit.TreeHash) == nil {
			next.first = next.store.size()
			next.has(head)
		}
	}
	*c = *next
}

// commit returns the commit h, after check succeeds.
func (c *clone) commit(ctx context.Context, h, tip plumbing.Hash, check func() error) (*object.Commit, error) {
	for _, name := range []plumbing.Hash{tip, h} {
		if _, ok := c.store.get(name); !ok {
			if err := c.reached(ctx, name); err != nil {
				return nil, err
			}
		}
	}
	commit, err := c.store.commitOf(h)
	if err == nil {
		err = check()
	}
	return commit, err
}

func (c *clone) fetchTree(ctx context.Context, h, tip plumbing.Hash, check func() error) (*tree.Tree, error) {
	commit, err := c.commit(ctx, h, tip, check)
	if err != nil {
		return nil, err
	}
	root, err := c.store.folder(commit.TreeHash, c.reach.path)
	if err == nil {
		err = c.fill(ctx, root)
	}
	if err != nil {
		return nil, err
	}
	if c.first == 0 {
		c.first = c.store.size()
	}
	if c.reach.lazy {
		return c.store.index.Lazy(digestOf(root)), nil
	}
	return c.store.index.Tree(digestOf(root))
}

// errNotGiven says that a server does not send single files.
var errNotGiven = errors.New("the server does not give out files by themselves")

// maxWants is how many files are asked for one by one. More are fetched with their folders.
const maxWants = 1000

// fill fetches the files of the tree root that were left out.
func (c *clone) fill(ctx context.Context, root plumbing.Hash) error {
	wants, err := c.store.missing(root)
	if err != nil || len(wants) == 0 {
		return err
	}
	if !c.reach.part() {
		return fmt.Errorf("file %s: %w", wants[0], errMissing)
	}
	if len(wants) > maxWants {
		wants = []plumbing.Hash{root}
	}
	s, _, req, err := c.request(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	req.Wants = wants
	staged := c.store.stage()
	if err := receive(ctx, s, req, func(pack io.Reader) error { return unpack(pack, staged, c.budget) }); err != nil {
		if fleet.KindOf(classify(ctx, "fetch", err)) == fleet.NotFound {
			return fmt.Errorf("%w: %w", errNotGiven, err)
		}
		return err
	}
	c.store.land(staged)
	if wants, err = c.store.missing(root); err == nil && len(wants) > 0 {
		return fmt.Errorf("%w: file %s did not come", errNotGiven, wants[0])
	}
	return err
}

// fetch fetches the commit h, or the tag h and its commit. A fetch that fails leaves
// nothing behind.
func (c *clone) fetch(ctx context.Context, h plumbing.Hash) error {
	s, err := c.remote.open(ctx, uploadPack)
	if err != nil {
		return err
	}
	defer s.close()
	ar, err := refs(ctx, s)
	if err != nil {
		return err
	}
	staged := c.store.stage()
	if err := c.get(ctx, s, ar, h, staged); err != nil {
		return err
	}
	commit, err := staged.commitOf(h)
	if err != nil {
		return err
	}
	c.store.land(staged)
	c.has(commit.Hash)
	return nil
}

// commitsSince returns a store with the commits of tip that are not in the history of base,
// without their content if the server can omit it. If the server does not know
// base, it has all commits of tip.
func (c *clone) commitsSince(ctx context.Context, tip, base plumbing.Hash) (*store, error) {
	s, ar, req, err := c.request(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if ar.Capabilities.Supports(capability.Filter) {
		if err := req.Capabilities.Set(capability.Filter); err != nil {
			return nil, err
		}
		req.Filter = packp.FilterTreeDepth(0)
	}
	req.Wants, req.Haves = []plumbing.Hash{tip}, []plumbing.Hash{base}
	out := &store{objects: map[plumbing.Hash]rawObject{}}
	return out, receive(ctx, s, req, func(pack io.Reader) error { return unpack(pack, out, c.budget) })
}

// request opens a session with what the server tells of itself, for a request of objects without reports of progress.
// The caller closes the session.
func (c *clone) request(ctx context.Context) (session, *packp.AdvRefs, *packp.UploadPackRequest, error) {
	s, err := c.remote.open(ctx, uploadPack)
	if err != nil {
		return nil, nil, nil, err
	}
	ar, err := refs(ctx, s)
	if err == nil {
		req := packp.NewUploadPackRequestFromCapabilities(ar.Capabilities)
		if err = req.Capabilities.Set(capability.NoProgress); err == nil {
			return s, ar, req, nil
		}
	}
	s.close()
	return nil, nil, nil, err
}

// has notes that the commit h is complete in the store.
func (c *clone) has(h plumbing.Hash) {
	c.have = append(c.have, h)
	c.have = c.have[max(0, len(c.have)-maxHave):]
}

// get asks for the one commit h, without its history and without objects of commits that c
// already has, and unpacks the answer into st. Where a part of the repository is enough,
// the files are left out, if the server can do that.
//
// It asks for a thin pack at depth 1. So the answer has only what changed, whether h
// continues, rewinds or replaces the history.
func (c *clone) get(ctx context.Context, s session, ar *packp.AdvRefs, h plumbing.Hash, st *store) error {
	req := packp.NewUploadPackRequestFromCapabilities(ar.Capabilities)
	req.Wants = []plumbing.Hash{h}
	for _, name := range []capability.Capability{capability.ThinPack, capability.NoProgress} {
		if err := req.Capabilities.Set(name); err != nil {
			return err
		}
	}
	if c.reach.part() && ar.Capabilities.Supports(capability.Filter) {
		if err := req.Capabilities.Set(capability.Filter); err != nil {
			return err
		}
		req.Filter = packp.FilterBlobNone()
	}
	if ar.Capabilities.Supports(capability.Shallow) {
		req.Depth = packp.DepthCommits(1)
		if err := req.Capabilities.Set(capability.Shallow); err != nil {
			return err
		}
		req.Haves = c.have
		req.Shallows = c.have
	}
	return receive(ctx, s, req, func(pack io.Reader) error { return unpack(pack, st, c.budget) })
}

// receive sends a request for one object, and passes the pack in the answer to read.
func receive(ctx context.Context, s session, req *packp.UploadPackRequest, read func(io.Reader) error) error {
	res, err := s.fetch(ctx, req)
	if err != nil {
		if errors.Is(err, transport.ErrEmptyUploadPackRequest) {
			return fleet.Errorf(fleet.NotFound, "fetch", "the server does not give commit %s: it is not at the tip of a ref", req.Wants[0])
		}
		return err
	}
	defer res.Close()
	var pack io.Reader = res
	if req.Capabilities.Supports(capability.Sideband64k) {
		pack = sideband.NewDemuxer(sideband.Sideband64k, res)
	} else if req.Capabilities.Supports(capability.Sideband) {
		pack = sideband.NewDemuxer(sideband.Sideband, res)
	}
	return read(pack)
}

// withTimeout bounds ctx, with a cause that says so.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("the server did not finish its answer within %s", d))
}
