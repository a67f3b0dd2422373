package oci

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/tags"
	"fairlead.dev/sources/tree"
)

// A Repository follows one ref of one repository of a registry. It is safe for
// concurrent use.
type Repository struct {
	name    reference
	options Options
	client  *client
	log     *slog.Logger

	mu    sync.Mutex // held during a fetch
	begin string     // folder that is the root of trees; "." is the whole artifact
	kept  []snapshot // the newest is last
	known map[string]ocispec.Manifest

	signatures map[string]proof // that counted, by digest
	vouched    string           // digest that Vouched was last asked about, whose signature is kept
	made       made
}

// A snapshot is the content of one fetched artifact.
type snapshot struct {
	digest  string
	objects *objects
	index   *tree.Index
}

const (
	// maxKept is how many snapshots are kept. Fewer are kept where they are larger together
	// than one may be.
	maxKept = 4
	// maxKnown is how many manifests are kept.
	maxKnown = 64
)

var (
	_ sources.Source  = (*Repository)(nil)
	_ sources.Lineage = (*Repository)(nil)
)

// New returns the repository that o describes. It does not connect.
func New(o Options) (*Repository, error) {
	name, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	o.Ref, o.Budget = cmp.Or(o.Ref, "latest"), o.Budget.withDefaults()
	if tags.IsPattern(o.Ref) {
		_, err = tags.New(o.Ref)
	} else if !tagName.MatchString(o.Ref) && !digestName.MatchString(o.Ref) {
		err = fmt.Errorf("%q is neither a tag nor a digest, sha256:…", o.Ref)
	}
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, "follow "+name.String(), "%w", err)
	}
	begin := cmp.Or(o.Path, ".")
	if !fs.ValidPath(begin) {
		return nil, fleet.Errorf(fleet.Invalid, "follow "+name.String(), "%q is no folder in an artifact: write it from the root, without a slash at either end", begin)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c, err := newClient(name, o)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, "follow "+name.String(), "%w", err)
	}
	return &Repository{
		name: name, options: o, client: c, log: o.Log.With("repository", name.String()),
		begin: begin, known: make(map[string]ocispec.Manifest), signatures: make(map[string]proof),
	}, nil
}

// URL returns the normal URL of the repository.
func (r *Repository) URL() string { return r.name.String() }

// Resolve implements sources.Source. A tag that does not exist is of kind NotFound.
func (r *Repository) Resolve(ctx context.Context) (fleet.Revision, error) {
	if digestName.MatchString(r.options.Ref) {
		return fleet.Revision{Ref: r.options.Ref, Digest: r.options.Ref}, nil
	}
	op := "resolve " + r.options.Ref + " of " + r.name.String()
	ctx, cancel := context.WithTimeoutCause(ctx, r.options.Budget.ListTime, errSlow)
	defer cancel()
	remote, err := r.client.repository()
	if err != nil {
		return fleet.Revision{}, classify(ctx, op, err)
	}
	tag := r.options.Ref
	if tags.IsPattern(tag) {
		if tag, err = r.newestTag(ctx, remote); err != nil {
			return fleet.Revision{}, classify(ctx, op, err)
		}
	}
	d, err := remote.Resolve(ctx, tag)
	if err != nil {
		return fleet.Revision{}, classify(ctx, op, err)
	}
	if !digestName.MatchString(string(d.Digest)) {
		return fleet.Revision{}, fleet.Errorf(fleet.Unavailable, op, "the registry answers with the digest %.100q, which is not one of SHA-256", string(d.Digest))
	}
	return fleet.Revision{Ref: tag, Digest: string(d.Digest)}, nil
}

// Follows implements sources.Chooser. It is not known of a digest or a pattern.
func (r *Repository) Follows(ref string) bool {
	one := r.options.Ref
	return digestName.MatchString(one) || tags.IsPattern(one) || ref == one
}

// Fetch implements sources.Source. A revision that Options.Verify refuses, or that is no
// artifact of Flux, is an error of kind Invalid.
func (r *Repository) Fetch(ctx context.Context, rev fleet.Revision) (sources.Tree, error) {
	op := "fetch " + rev.Short() + " of " + r.name.String()
	if !digestName.MatchString(rev.Digest) {
		return nil, fleet.Errorf(fleet.Invalid, op, "%q is not the digest of an artifact", rev.Digest)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, r.options.Budget.Timeout, errSlow)
	defer cancel()
	s, err := r.fetch(ctx, rev.Digest)
	if err != nil {
		return nil, classify(ctx, op, err)
	}
	id, ok := s.objects.folder(r.begin)
	if !ok {
		return nil, fleet.Errorf(fleet.Invalid, op, "there is no folder %q in the artifact, which --path names", r.begin)
	}
	return s.index.Lazy(id), nil
}

// Root moves the root of trees up to the nearest folder with one of marks in it, in the
// artifact rev, and returns that folder; "." where there is none.
func (r *Repository) Root(ctx context.Context, rev fleet.Revision, marks []string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, r.options.Budget.Timeout, errSlow)
	defer cancel()
	s, err := r.fetch(ctx, rev.Digest)
	if err != nil {
		return "", classify(ctx, "look for the fleet in "+rev.Short()+" of "+r.name.String(), err)
	}
	for at := r.begin; ; at = path.Dir(at) {
		if at != "." && !s.objects.marked(at, marks) {
			continue
		}
		if at != r.begin { // files outside the old root were not read
			r.begin, r.kept = at, nil
		}
		return at, nil
	}
}

func (r *Repository) fetch(ctx context.Context, digest string) (snapshot, error) {
	remote, err := r.client.repository()
	if err != nil {
		return snapshot{}, err
	}
	// A snapshot is verified again, since a key may have been revoked.
	m, err := r.manifest(ctx, remote, digest)
	if err != nil {
		return snapshot{}, err
	}
	if err := r.verified(ctx, remote, digest); err != nil {
		return snapshot{}, err
	}
	if at, err := created(m); err == nil {
		r.made.keep(digest, at)
	}
	if i := slices.IndexFunc(r.kept, func(s snapshot) bool { return s.digest == digest }); i >= 0 {
		return r.kept[i], nil
	}
	content, err := contentOf(m, r.options.Budget.Compressed)
	if err != nil {
		return snapshot{}, err
	}
	data, err := blob(ctx, remote, content)
	if err != nil {
		return snapshot{}, fmt.Errorf("get its content: %w", err)
	}
	o, err := unpack(data, r.options.Budget.Tree, r.begin, r.had)
	if err != nil {
		return snapshot{}, err
	}
	r.log.Debug("fetched", "digest", digest, "source", m.Annotations[sourceKey], "revision", m.Annotations[revisionKey])
	s := snapshot{digest, o, tree.NewIndex(o, r.options.Budget.Tree)}
	r.keep(s)
	return s, nil
}

// had returns content that is kept.
func (r *Repository) had(id string) ([]byte, bool) {
	for _, s := range r.kept {
		if b, ok := s.objects.files[id]; ok {
			return b, true
		}
	}
	return nil, false
}

// keep keeps s, and the newest snapshots before it as far as there is room.
func (r *Repository) keep(s snapshot) {
	r.kept = append(r.kept, s)
	first, bytes := len(r.kept)-1, s.objects.bytes
	for first > 0 && len(r.kept)-first < maxKept {
		if bytes += r.kept[first-1].objects.bytes; bytes > r.options.Budget.Tree.Bytes {
			break
		}
		first--
	}
	r.kept = slices.Clone(r.kept[first:])
}

func refuse(format string, args ...any) error {
	return fleet.Errorf(fleet.Invalid, "accept the artifact", format, args...)
}

// newestTag returns the highest tag that the ref matches.
func (r *Repository) newestTag(ctx context.Context, remote *remote.Repository) (string, error) {
	p, err := tags.New(r.options.Ref)
	if err != nil {
		return "", err
	}
	count, pages := 0, 0
	err = remote.Tags(ctx, "", func(page []string) error {
		count, pages = count+len(page), pages+1
		if count > r.options.Budget.Tags || pages > r.options.Budget.Tags {
			return fleet.Errorf(fleet.Exhausted, "list the tags", "there are more than %d: name one with --ref", r.options.Budget.Tags)
		}
		for _, tag := range page {
			if tagName.MatchString(tag) && !isSignature(tag) {
				p.Consider(tag, strings.ReplaceAll(tag, "_", "+")) // a tag has _ where its version has +
			}
		}
		return nil
	})
	if err == nil && p.Highest() == "" {
		err = fleet.Errorf(fleet.NotFound, "find the tag", "none of %d tags matches %q", count, r.options.Ref)
	}
	return p.Highest(), err
}

// isSignature reports whether cosign uses the tag for the signature of an artifact.
func isSignature(tag string) bool { return strings.HasPrefix(tag, "sha256-") }
