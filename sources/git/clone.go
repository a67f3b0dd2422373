package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/tree"
)

// A clone keeps the newest commits of a repository in memory, each without its
// history. It is not safe for concurrent use; the trees that it returns are.
type clone struct {
	remote remote
	budget Budget
	store  *store
	first  int64           // bytes in the store after the first fetch
	have   []plumbing.Hash // complete commits in the store, the newest last
}

const (
	// maxHave is how many commits are offered as a base for what is sent next.
	maxHave = 4
	// keep is how many bytes a store may always hold.
	keep = 32 << 20
)

func newClone(r remote, b Budget) *clone {
	return &clone{remote: r, budget: b, store: newStore(b.Tree)}
}

// at returns the tree of the commit h, fetching what is missing. Where the store
// has grown to a multiple of what one revision takes, it starts a new one with what the
// newest commit holds; trees of the old one stay good.
func (c *clone) at(ctx context.Context, h plumbing.Hash) (*tree.Tree, error) {
	return c.checked(ctx, h, h, func() error { return nil })
}

// checked is at of the commit h as the server knows it by the name of tip: h itself,
// or an annotated tag of it. Its tree is looked at only once check lets it pass.
func (c *clone) checked(ctx context.Context, h, tip plumbing.Hash, check func() error) (*tree.Tree, error) {
	if c.store.size() > max(keep, 4*c.first) {
		c.shrink()
	}
	offered := len(c.have)
	t, err := c.try(ctx, h, tip, check)
	if errors.Is(err, errMissing) && offered > 0 {
		// The server took something for granted that we do not have.
		*c = *newClone(c.remote, c.budget)
		return c.try(ctx, h, tip, check)
	}
	return t, err
}

// shrink starts a new store with what the newest commit holds, or with nothing where
// there is none.
func (c *clone) shrink() {
	next := newClone(c.remote, c.budget)
	if n := len(c.have); n > 0 {
		head := c.have[n-1]
		if commit, err := c.store.commit(head); err == nil && c.store.carry(next.store, head) == nil && c.store.carry(next.store, commit.TreeHash) == nil {
			next.first = next.store.size()
			next.has(head)
		}
	}
	*c = *next
}

func (c *clone) try(ctx context.Context, h, tip plumbing.Hash, check func() error) (*tree.Tree, error) {
	for _, name := range []plumbing.Hash{tip, h} {
		if _, ok := c.store.get(name); !ok {
			if err := c.fetch(ctx, name); err != nil {
				return nil, err
			}
		}
	}
	commit, err := c.store.commitOf(h)
	if err == nil {
		err = check()
	}
	if err != nil {
		return nil, err
	}
	return c.store.index.Tree(digestOf(commit.TreeHash))
}

// fetch gets the commit h, or the tag h and its commit. A fetch that fails half-way
// leaves nothing behind.
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
	if err := get(ctx, s, ar, h, c.have, staged, c.budget); err != nil {
		return err
	}
	commit, err := staged.commitOf(h)
	if err != nil {
		return err
	}
	c.store.land(staged)
	if len(c.have) == 0 {
		c.first = c.store.size()
	}
	c.has(commit.Hash)
	return nil
}

// history returns a store with the commits of tip that are not part of base, without
// their content where the server can leave that out. A base that the server does not
// know leaves out none.
func (c *clone) history(ctx context.Context, tip, base plumbing.Hash) (*store, error) {
	s, err := c.remote.open(ctx, uploadPack)
	if err != nil {
		return nil, err
	}
	defer s.close()
	ar, err := refs(ctx, s)
	if err != nil {
		return nil, err
	}
	req := packp.NewUploadPackRequestFromCapabilities(ar.Capabilities)
	if err := req.Capabilities.Set(capability.NoProgress); err != nil {
		return nil, err
	}
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

// has notes that all of the commit h is in the store.
func (c *clone) has(h plumbing.Hash) {
	c.have = append(c.have, h)
	c.have = c.have[max(0, len(c.have)-maxHave):]
}

// get asks for the one commit h, without history and without what the commits
// in have hold already, and unpacks the answer into st.
//
// It asks for a thin pack at depth 1: that way the answer is what changed,
// whether h continues what we have, rewinds it or replaces it.
func get(ctx context.Context, s session, ar *packp.AdvRefs, h plumbing.Hash, have []plumbing.Hash, st *store, b Budget) error {
	req := packp.NewUploadPackRequestFromCapabilities(ar.Capabilities)
	req.Wants = []plumbing.Hash{h}
	for _, c := range []capability.Capability{capability.ThinPack, capability.NoProgress} {
		if err := req.Capabilities.Set(c); err != nil {
			return err
		}
	}
	if ar.Capabilities.Supports(capability.Shallow) {
		req.Depth = packp.DepthCommits(1)
		if err := req.Capabilities.Set(capability.Shallow); err != nil {
			return err
		}
		req.Haves = have
		req.Shallows = have
	}
	return receive(ctx, s, req, func(pack io.Reader) error { return unpack(pack, st, b) })
}

// receive makes a request for one object and has the pack that is the answer read.
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
