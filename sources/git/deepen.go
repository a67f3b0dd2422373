package git

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"fairlead.dev/fleet"
)

// deepest are how many commits of the newest revision's history are fetched in search of an
// older one; 0 is all.
var deepest = []int{20, 500, 0} //nolint:gochecknoglobals // a constant that Go cannot write as one

// reached fetches the commit h. A server may give nothing but the tips of its refs, as git
// does by default: then h comes with the history of the newest revision.
func (c *clone) reached(ctx context.Context, h plumbing.Hash) error {
	err := c.fetch(ctx, h)
	if err == nil || c.tip.IsZero() || c.tip == h || fleet.KindOf(classify(ctx, "fetch", err)) != fleet.NotFound {
		return err
	}
	if c.absent[h] == c.tip {
		return err // it was looked for in all of this history
	}
	for _, depth := range deepest {
		found, second := c.deepen(ctx, h, depth)
		if found {
			return nil
		}
		if second != nil {
			return fmt.Errorf("%w; nor does it come with the history of %s: %s", err, c.tip, second.Error())
		}
	}
	if c.absent == nil {
		c.absent = make(map[plumbing.Hash]plumbing.Hash)
	}
	c.absent[h] = c.tip
	return err
}

// deepen fetches depth commits of the newest revision's history, and keeps of them the
// commit h with its content. It reports whether h is there.
func (c *clone) deepen(ctx context.Context, h plumbing.Hash, depth int) (bool, error) {
	s, ar, req, err := c.request(ctx)
	if err != nil {
		return false, err
	}
	defer s.close()
	if depth > 0 {
		if !ar.Capabilities.Supports(capability.Shallow) {
			return false, nil
		}
		req.Depth = packp.DepthCommits(depth)
		if err := req.Capabilities.Set(capability.Shallow); err != nil {
			return false, err
		}
	}
	req.Wants = []plumbing.Hash{c.tip}
	all := newStore(c.budget.Tree)
	if err := receive(ctx, s, req, func(pack io.Reader) error { return unpack(pack, all, c.budget) }); err != nil {
		return false, err
	}
	commit, err := all.commit(h)
	if errors.Is(err, errMissing) {
		return false, nil
	}
	if err == nil {
		err = errors.Join(all.carry(c.store, h), all.carry(c.store, commit.TreeHash))
	}
	if err != nil {
		return false, err
	}
	c.has(h)
	return true, nil
}
