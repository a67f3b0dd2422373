package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/tags"
)

// errSHA256 says that a repository has object names that go-git cannot read.
var errSHA256 = errors.New("the repository uses SHA-256 object names, which are not supported: use one with SHA-1")

// A Repository follows one ref of one repository.
type Repository struct {
	remote *lister
	name   string // normalised URL
	ref    string
	budget Budget
	verify func(content []byte, signature string) (string, error)
	until  func(signature string) (time.Time, error)
	merges bool // see Options.TrustMerges
	log    *slog.Logger

	mu     sync.Mutex // held during a fetch
	clone  *clone
	named  string                 // the default branch as Resolve found it, where ref is empty
	tags   map[plumbing.Hash]tag  // by commit that Resolve returned, where Ref is a tag
	proved map[plumbing.Hash]bool // commits in the history of one that was followed
	// vouched is the commit that Vouched was last asked about, and vouchedBy what signed it, which
	// the store may forget.
	vouched   plumbing.Hash
	vouchedBy rawObject
	joins     *Merges         // compares merges with what they join; nil: there was none
	joined    map[joinAt]bool // whether a merge changes nothing else than it joins
}

// A tag is the name that Resolve found a commit by.
type tag struct {
	hash plumbing.Hash // of the tag object, or of the commit for a lightweight tag
	name string
}

var (
	_ sources.Source  = (*Repository)(nil)
	_ sources.Chooser = (*Repository)(nil)
)

// New returns the repository that o describes. It does not connect.
func New(o Options) (*Repository, error) {
	o.Budget = o.Budget.withDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	remote, name, err := newRotating(o)
	if err != nil {
		return nil, err
	}
	if tags.IsPattern(o.Ref) {
		if _, err := newPattern(o.Ref); err != nil {
			return nil, fleet.Errorf(fleet.Invalid, "follow "+name, "%w", err)
		}
	} else if o.Ref != "" && !validRef(o.Ref) {
		return nil, fleet.Errorf(fleet.Invalid, "follow "+name, "%q is not a ref name", o.Ref)
	}
	r := &Repository{
		remote: &lister{remote: remote}, name: name, ref: o.Ref, budget: o.Budget, verify: o.Verify, until: o.Until, merges: o.TrustMerges, log: o.Log.With("repository", name),
		tags: make(map[plumbing.Hash]tag), proved: make(map[plumbing.Hash]bool),
	}
	if !isHash(o.Ref) {
		r.remote.want(prefixesOf(o.Ref)...)
	}
	begin := cmp.Or(o.Path, ".")
	if !fs.ValidPath(begin) {
		return nil, fleet.Errorf(fleet.Invalid, "follow "+name, "invalid --path %q: must be a folder relative to the root of the repository, such as fleets/prod", begin)
	}
	r.clone = newClone(r.remote, o.Budget, reach{path: begin, lazy: true})
	return r, nil
}

// URL returns the normalised URL of the repository, without credentials.
func (r *Repository) URL() string { return r.name }

// Close closes idle connections. The repository stays usable.
func (r *Repository) Close() {
	if rotating, ok := r.remote.remote.(*rotating); ok {
		rotating.mu.Lock()
		defer rotating.mu.Unlock()
		rotating.closeIdle()
	}
}

// Resolve implements sources.Source. A ref that does not exist, and an empty repository,
// are errors of kind NotFound.
func (r *Repository) Resolve(ctx context.Context) (fleet.Revision, error) {
	if isHash(r.ref) {
		return fleet.Revision{Ref: r.ref, Digest: digestPrefix + r.ref}, nil
	}
	op := "resolve " + cmp.Or(r.ref, "the default branch") + " of " + r.name
	ctx, cancel := withTimeout(ctx, r.budget.ListTimeout)
	defer cancel()
	ar, err := r.remote.poll(ctx)
	if err != nil {
		return fleet.Revision{}, classify(ctx, op, err)
	}
	name, hash, tagged, err := find(ar.AdvRefs, r.ref)
	if ar.part && fleet.KindOf(err) == fleet.NotFound {
		// The error lists the refs that exist, so all of them are needed.
		if ar, err = r.remote.all(ctx); err == nil {
			name, hash, tagged, err = find(ar.AdvRefs, r.ref)
		}
	}
	if err != nil {
		return fleet.Revision{}, classify(ctx, op, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if tagged.name != "" {
		r.tags[hash] = tagged
	}
	r.clone.tip = r.tip(hash)
	if r.ref == "" {
		r.named = name
	}
	return fleet.Revision{Ref: name, Digest: digestOf(hash)}, nil
}

// Follows implements sources.Chooser. It is not known of a hash or a pattern, nor of the default branch before
// Resolve found it.
func (r *Repository) Follows(ref string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := cmp.Or(r.ref, r.named)
	return one == "" || isHash(one) || tags.IsPattern(one) || shortOf(ref) == shortOf(one)
}

// IsFollowed reports whether the branch of that name is followed. It is not known of the default branch before Resolve
// found it.
func (r *Repository) IsFollowed(branch string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.TrimPrefix(cmp.Or(r.ref, r.named), "refs/heads/") == branch
}

// shortOf returns the name of a branch or tag without what says which it is.
func shortOf(ref string) string {
	return strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/tags/")
}

// Fetch implements sources.Source. A revision that was fetched before costs nothing. An
// older one is asked for by its hash, which the server has to allow. One that
// Options.Verify refuses is an error of kind Invalid.
func (r *Repository) Fetch(ctx context.Context, rev fleet.Revision) (sources.Tree, error) {
	op := "fetch " + rev.Short() + " of " + r.name
	if !isHash(rev.Hash()) {
		return nil, fleet.Errorf(fleet.Invalid, op, "%q is not a commit", rev.Digest)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := withTimeout(ctx, r.budget.Timeout)
	defer cancel()
	h := hashOf(rev.Digest)
	t, err := r.clone.verifiedTreeAt(ctx, h, r.tip(h), func() error { return r.verified(h) })
	if err != nil {
		return nil, classify(ctx, op, err)
	}
	return t, nil
}

// Root moves the root of trees up to the nearest folder with one of marks in it, in the
// commit rev, and returns that folder; "." where there is none.
func (r *Repository) Root(ctx context.Context, rev fleet.Revision, marks []string) (string, error) {
	op := "look for the fleet in " + rev.Short() + " of " + r.name
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := withTimeout(ctx, r.budget.Timeout)
	defer cancel()
	h := hashOf(rev.Digest)
	commit, err := r.clone.commit(ctx, h, r.tip(h), func() error { return r.verified(h) })
	if err != nil {
		return "", classify(ctx, op, err)
	}
	for at := r.clone.reach.path; ; at = path.Dir(at) {
		if at == "." || r.clone.store.marked(commit.TreeHash, at, marks) {
			r.clone.reach.path = at
			return at, nil
		}
	}
}

// refs reads the refs of a session, and refuses repositories that cannot work.
func refs(ctx context.Context, s session) (*packp.AdvRefs, error) {
	ar, err := s.refs(ctx)
	if err != nil {
		return nil, sha256Error(err)
	}
	return ar, usesSHA1(ar)
}

func usesSHA1(ar *packp.AdvRefs) error {
	if slices.Contains(ar.Capabilities.Get(capability.ObjectFormat), "sha256") {
		return errSHA256
	}
	return nil
}

// find returns the ref that people mean by name, with its commit, and its tag if it is one.
// A name of both a branch and a tag is refused: who may create the one must not decide for
// the other.
func find(ar *packp.AdvRefs, name string) (string, plumbing.Hash, tag, error) {
	if name == "" {
		short, h, err := head(ar)
		return short, h, tag{}, err
	}
	if name == "HEAD" && ar.Head != nil {
		return name, *ar.Head, tag{}, nil
	}
	if tags.IsPattern(name) {
		var err error
		if name, err = newestTag(ar, name); err != nil {
			return "", plumbing.ZeroHash, tag{}, err
		}
		short, h, t, err := find(ar, "refs/tags/"+name)
		return strings.TrimPrefix(short, "refs/tags/"), h, t, err
	}
	_, branch := ar.References["refs/heads/"+name]
	if _, tagged := ar.References["refs/tags/"+name]; branch && tagged {
		return "", plumbing.ZeroHash, tag{}, fleet.Errorf(fleet.Invalid, "find ref", "there is both a branch and a tag called %[1]q: say refs/heads/%[1]s or refs/tags/%[1]s", name)
	}
	for _, full := range []string{name, "refs/heads/" + name, "refs/tags/" + name, "refs/" + name} {
		h, ok := ar.References[full]
		if !ok || full == name && !strings.HasPrefix(name, "refs/") {
			continue
		}
		var t tag
		if short, ok := strings.CutPrefix(full, "refs/tags/"); ok {
			t = tag{h, short}
		}
		if peeled, ok := ar.Peeled[full]; ok {
			h = peeled
		}
		return name, h, t, nil
	}
	return "", plumbing.ZeroHash, tag{}, fleet.Errorf(fleet.NotFound, "find ref", "%q does not exist (or not any more); there are %s", name, sampleOfRefs(ar))
}

// head returns the default branch.
func head(ar *packp.AdvRefs) (string, plumbing.Hash, error) {
	if ar.Head == nil {
		return "", plumbing.ZeroHash, fleet.Errorf(fleet.NotFound, "find the default branch", "HEAD points to a branch that does not exist; there are %s", sampleOfRefs(ar))
	}
	for _, s := range ar.Capabilities.Get(capability.SymRef) {
		if branch, ok := strings.CutPrefix(s, "HEAD:refs/heads/"); ok {
			return branch, *ar.Head, nil
		}
	}
	return "HEAD", *ar.Head, nil
}

// sampleOfRefs lists a few refs for people.
func sampleOfRefs(ar *packp.AdvRefs) string {
	var names []string
	for n := range ar.References {
		for _, p := range []string{"refs/heads/", "refs/tags/"} {
			if short, ok := strings.CutPrefix(n, p); ok {
				names = append(names, short)
			}
		}
	}
	slices.Sort(names)
	if len(names) > 5 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:5], ", "), len(names)-5)
	}
	return cmp.Or(strings.Join(names, ", "), "no branches")
}

// validRef reports whether name may be a ref, by the rules of git check-ref-format.
func validRef(name string) bool {
	if name == "HEAD" || isHash(name) {
		return true
	}
	full := name
	if !strings.HasPrefix(name, "refs/") {
		full = "refs/heads/" + name
	}
	return plumbing.ReferenceName(full).Validate() == nil
}

// isHash reports whether s is a full commit hash.
func isHash(s string) bool {
	return len(s) == 40 && strings.Trim(s, "0123456789abcdef") == ""
}
