package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/tree"
)

// BranchOptions say who writes a branch.
type BranchOptions struct {
	Name  string           // of author and committer: "Fairlead"
	Email string           // "fairlead@fairlead.dev"
	Now   func() time.Time // time of commits; nil is time.Now
	// Sign returns the armoured signature of a commit. Nil: commits are not signed.
	Sign func(commit []byte) (string, error)
	// Budget is for reading the branch. Zero: the repository's.
	Budget Budget
	// Observe, if not nil, is called with the size of the branch after it was read or
	// pushed to, by one goroutine at a time. It must not block.
	Observe func(Usage)
}

// Usage is the size of a branch, in bytes. How much the server stores cannot be asked.
type Usage struct {
	Content int64 // of the files in the newest commit that was read
	Most    int64 // of the files that could be read at most
	Pushed  int64 // of the push just made, successful or not; 0: the branch was read
}

// A Branch edits Git objects in memory and pushes them together with the head that they
// were made from, which the server compares and swaps. It is safe for concurrent use.
type Branch struct {
	repo    string
	name    string
	ref     plumbing.ReferenceName
	remote  *lister
	budget  Budget
	options BranchOptions
	log     *slog.Logger

	mu          sync.Mutex
	clone       *clone
	noThinPacks bool      // the server cannot apply thin packs
	content     int64     // bytes of files, as last read
	locked      int       // rejections of a locked branch in a row
	empty       time.Time // since when the repository has no ref; zero: it has one
}

var _ sources.Branch = (*Branch)(nil)

// Branch returns the branch called name ("fairlead/status"). It uses the repository's
// connection and credential, and has its own memory. The branch need not exist: the first
// commit creates it.
func (r *Repository) Branch(name string, o BranchOptions) (*Branch, error) {
	if isHash(name) || name == "HEAD" || !validRef("refs/heads/"+name) {
		return nil, fleet.Errorf(fleet.Invalid, "write to "+r.name, "%q is not a branch name", name)
	}
	o.Name = cmp.Or(o.Name, "Fairlead")
	o.Email = cmp.Or(o.Email, "fairlead@fairlead.dev")
	if o.Now == nil {
		o.Now = time.Now
	}
	budget := r.budget
	if o.Budget != (Budget{}) {
		budget = o.Budget.withDefaults()
	}
	r.remote.want("refs/heads/" + name)
	return &Branch{
		repo: r.name, name: name, ref: plumbing.NewBranchReferenceName(name), remote: r.remote, budget: budget,
		options: o, log: r.log.With("branch", name), clone: newClone(r.remote, budget, reach{path: "."}),
	}, nil
}

// Read implements sources.Branch. It costs one ls-remote, which it shares with a poll of
// the repository a moment before, and a fetch where somebody else wrote.
func (b *Branch) Read(ctx context.Context) (fleet.Revision, sources.Tree, error) {
	op := "read branch " + b.name + " of " + b.repo
	b.mu.Lock()
	defer b.mu.Unlock()
	ctx, cancel := withTimeout(ctx, b.budget.Timeout)
	defer cancel()
	head, t, err := b.read(ctx)
	for range 2 {
		if err == nil || fleet.KindOf(classify(ctx, op, err)) != fleet.NotFound {
			break
		}
		// The branch moved, and the server serves its head only.
		b.remote.outdated()
		head, t, err = b.read(ctx)
	}
	if err != nil {
		return fleet.Revision{}, nil, classify(ctx, op, err)
	}
	b.content = t.Bytes()
	b.observe(0)
	return b.revision(head), t, nil
}

func (b *Branch) observe(pushed int) {
	if b.options.Observe != nil {
		b.options.Observe(Usage{Content: b.content, Most: b.budget.Tree.Bytes, Pushed: int64(pushed)})
	}
}

func (b *Branch) read(ctx context.Context) (plumbing.Hash, *tree.Tree, error) {
	ar, err := b.remote.next(ctx)
	if err != nil && !isEmpty(err) {
		return plumbing.ZeroHash, nil, err
	}
	var head plumbing.Hash
	if err == nil {
		head = ar.References[b.ref.String()]
	}
	if !head.IsZero() {
		b.empty = time.Time{}
	}
	if head.IsZero() && b.content > 0 {
		if err := b.checkEmpty(ctx); err != nil {
			return plumbing.ZeroHash, nil, err
		}
	}
	t, err := b.tree(ctx, head)
	return head, t, err
}

// emptyFor is how long a repository has no ref until that says that the branch was deleted.
const emptyFor = 15 * time.Minute

// checkEmpty returns an error for a repository without any ref, as during a restore, while a
// volume is not mounted, or in a new mirror: it does not say that the branch was deleted. It does
// if it lasts, as in a repository that had this branch alone.
func (b *Branch) checkEmpty(ctx context.Context) error {
	ar, err := b.remote.all(ctx)
	if err != nil && !isEmpty(err) {
		return err
	}
	now := b.options.Now()
	switch {
	case err == nil && len(ar.References) > 0:
		return nil
	case b.empty.IsZero():
		b.empty = now
	case now.Sub(b.empty) >= emptyFor:
		return nil
	}
	return fleet.Errorf(fleet.Unavailable, "read branch "+b.name+" of "+b.repo, "the repository has no branch at all, and it had this one before")
}

func (b *Branch) tree(ctx context.Context, head plumbing.Hash) (*tree.Tree, error) {
	if head.IsZero() {
		return b.clone.store.index.Tree("")
	}
	return b.clone.treeAt(ctx, head)
}

func (b *Branch) revision(h plumbing.Hash) fleet.Revision {
	if h.IsZero() {
		return fleet.Revision{}
	}
	return fleet.Revision{Ref: b.name, Digest: digestOf(h)}
}

// Commit implements sources.Branch.
func (b *Branch) Commit(ctx context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	op := "commit to branch " + b.name + " of " + b.repo
	b.mu.Lock()
	defer b.mu.Unlock()
	ctx, cancel := withTimeout(ctx, b.budget.Timeout)
	defer cancel()
	var old, oldTree plumbing.Hash
	if !base.IsZero() {
		old = hashOf(base.Digest)
		if _, err := b.clone.treeAt(ctx, old); err != nil {
			return fleet.Revision{}, classify(ctx, op, err)
		}
		parent, err := b.clone.store.commit(old)
		if err != nil {
			return fleet.Revision{}, classify(ctx, op, err)
		}
		oldTree = parent.TreeHash
	}
	e := newEditor(b.clone.store.stage())
	newTree, err := e.apply(oldTree, c.Edits)
	if err != nil {
		return fleet.Revision{}, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	if newTree == oldTree || oldTree.IsZero() && newTree.String() == emptyTree {
		return base, nil
	}
	head, err := b.object(e, old, newTree, c)
	if err != nil {
		return fleet.Revision{}, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	if err := b.push(ctx, op, old, head, e); err != nil {
		return fleet.Revision{}, err
	}
	b.clone.store.land(e.store)
	b.clone.has(head)
	return b.revision(head), nil
}

// object stores the commit object.
func (b *Branch) object(e *editor, parent, tree plumbing.Hash, c sources.Commit) (plumbing.Hash, error) {
	text, err := message(c.Message, c.Trailers)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	who := b.signature()
	commit := &object.Commit{Author: who, Committer: who, Message: text, TreeHash: tree}
	if !parent.IsZero() {
		commit.ParentHashes = []plumbing.Hash{parent}
	}
	if b.options.Sign != nil {
		plain := &plumbing.MemoryObject{}
		if err := commit.EncodeWithoutSignature(plain); err != nil {
			return plumbing.ZeroHash, err
		}
		content, err := contentOf(plain)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if commit.PGPSignature, err = b.options.Sign(content); err != nil {
			return plumbing.ZeroHash, fmt.Errorf("cannot sign the commit: %w", err)
		}
	}
	return e.encode(commit, plumbing.ZeroHash)
}

func (b *Branch) signature() object.Signature {
	return object.Signature{Name: b.options.Name, Email: b.options.Email, When: b.options.Now().UTC().Truncate(time.Second)}
}

func contentOf(o plumbing.EncodedObject) ([]byte, error) {
	r, err := o.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// push asks the server to move the branch from old to head, and sends the objects of e. A
// server that cannot apply a thin pack gets whole objects from then on.
func (b *Branch) push(ctx context.Context, op string, old, head plumbing.Hash, e *editor) error {
	b.remote.forget()
	defer b.remote.forget()
	err := b.send(ctx, op, old, head, e)
	if r, ok := errors.AsType[*rejection](err); ok && r.unpack && !b.noThinPacks {
		b.log.Warn("server cannot unpack the deltas, sending whole objects", "error", err)
		b.noThinPacks = true
		if err = b.send(ctx, op, old, head, e); err != nil {
			b.noThinPacks = false // thin packs were not the reason
		}
	}
	return err
}

// noThin is the capability of servers that cannot apply a delta to a base outside of the
// pack.
const noThin capability.Capability = "no-thin"

func (b *Branch) send(ctx context.Context, op string, old, head plumbing.Hash, e *editor) error {
	s, err := b.remote.open(ctx, receivePack)
	if err != nil {
		return classify(ctx, op, err)
	}
	defer s.close()
	ar, err := refs(ctx, s)
	if err != nil {
		return classify(ctx, op, err)
	}
	if now := ar.References[b.ref.String()]; now != old {
		return fleet.Errorf(fleet.Conflict, op, "the branch is at %s, not at %s: somebody else wrote", now, old)
	}
	if err := collision(ar, b.ref); err != nil {
		return fleet.Errorf(fleet.Unauthorized, op, "%w", err)
	}
	pack, err := encodePack(e, !b.noThinPacks && !ar.Capabilities.Supports(noThin))
	if err != nil {
		return classify(ctx, op, err)
	}
	req := packp.NewReferenceUpdateRequestFromCapabilities(ar.Capabilities)
	if ar.Capabilities.Supports(capability.Sideband64k) {
		if err := req.Capabilities.Set(capability.Sideband64k); err != nil {
			return classify(ctx, op, err)
		}
	}
	heard := &words{}
	req.Progress = heard
	req.Commands = []*packp.Command{{Name: b.ref, Old: old, New: head}}
	req.Packfile = io.NopCloser(bytes.NewReader(pack))
	b.log.Debug("pushing", "old", old.String(), "new", head.String(), "bytes", len(pack))
	report, err := s.push(ctx, req)
	b.observe(len(pack))
	if err == nil && report == nil {
		return fleet.Errorf(fleet.Unanswered, op, "the server said nothing about the push")
	}
	if err != nil && report != nil {
		return b.rejected(ctx, op, old, &rejection{status: statusOf(report), said: heard.String(), unpack: report.UnpackStatus != "ok"})
	}
	if err == nil {
		b.locked = 0
	}
	return classifyPush(op, err)
}

// maxLocked is how often in a row a locked ref that does not move counts as a lost race.
const maxLocked = 3

// rejected interprets the server's answer that it did not move the branch from old. The
// branch itself tells a lost race from a refusal: words of servers are for people.
func (b *Branch) rejected(ctx context.Context, op string, old plumbing.Hash, r *rejection) error {
	kind := kindOfRejection(r)
	if now, err := b.now(ctx); err != nil {
		kind = fleet.Unavailable // nothing happened, and it is not known why
	} else if now != old {
		b.locked, kind = 0, fleet.Conflict
	} else if isLocked(r) && b.locked < maxLocked {
		b.locked, kind = b.locked+1, fleet.Conflict
	} else if isLocked(r) && kindOfText(r.Error()) != fleet.Unauthorized {
		kind = fleet.Unavailable // it is no matter of rights
		r.hint = fmt.Sprintf("remove the lock file of %s on the server if no process uses it, or set --status-branch", b.ref)
	} else if kind == fleet.Unauthorized {
		r.hint = fmt.Sprintf("allow the push of %s on the server, or set --status-branch or --status-repository", b.ref.Short())
	}
	return &fleet.Error{Kind: kind, Op: op, Err: plain(r)}
}

// now returns where the branch is, as the server tells it to those who push.
func (b *Branch) now(ctx context.Context) (plumbing.Hash, error) {
	s, err := b.remote.open(ctx, receivePack)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer s.close()
	ar, err := refs(ctx, s)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return ar.References[b.ref.String()], nil
}

// statusOf returns the server's answer about the one command.
func statusOf(r *packp.ReportStatus) string {
	for _, c := range r.CommandStatuses {
		if c.Status != "ok" {
			return c.Status
		}
	}
	return "unpack failed: " + r.UnpackStatus
}
