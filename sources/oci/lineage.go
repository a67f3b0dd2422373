package oci

import (
	"context"
	"errors"
	"fmt"
	"time"

	"oras.land/oras-go/v2/registry/remote"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/tags"
)

// maxAhead is how far the clock of a computer that makes artifacts may be ahead.
const maxAhead = 5 * time.Minute

// Signed implements sources.Lineage.
func (r *Repository) Signed() bool { return r.options.Verify != nil }

// Continues implements sources.Lineage. An artifact continues an older one, by the times in
// their signed manifests: who may push, and has no key, cannot move a tag back. A digest in
// the options is a new beginning, and so is another tag than that of from, unless a range
// of tags is followed.
func (r *Repository) Continues(ctx context.Context, from, to fleet.Revision) error {
	if from.Digest == to.Digest {
		return nil
	}
	if r.options.Verify == nil || !digestName.MatchString(from.Digest) ||
		digestName.MatchString(r.options.Ref) || !tags.IsPattern(r.options.Ref) && from.Ref != to.Ref {
		return r.Starts(ctx, to)
	}
	op := "follow " + to.Short() + " of " + r.name.String()
	return r.ordered(ctx, op, from.Digest, to.Digest, func() error {
		return untrusted("it was not made after %[1]s, the last one that was followed: the tag was moved back; if that is intended, push the content again, or name the digest with --ref", from.Digest)
	})
}

var _ sources.Starter = (*Repository)(nil)

// Starts implements sources.Starter. An artifact from the future would be the last one of its tag that
// is followed. One that does not say when it was made is not known to be from there. A digest in the options names the artifact itself.
func (r *Repository) Starts(ctx context.Context, rev fleet.Revision) error {
	if r.options.Verify == nil || digestName.MatchString(r.options.Ref) {
		return nil
	}
	op := "follow " + rev.Short() + " of " + r.name.String()
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, r.options.Budget.Timeout, errSlow)
	defer cancel()
	remote, err := r.client.repository()
	if err != nil {
		return classify(ctx, op, err)
	}
	if _, err := r.signedAt(ctx, remote, rev.Digest); err != nil && !errors.Is(err, errNoTime) {
		return classify(ctx, op, err)
	}
	return nil
}

// signedAt returns when the artifact of that digest was made, which a trusted key has to have signed.
// It refuses one from the future.
func (r *Repository) signedAt(ctx context.Context, remote *remote.Repository, digest string) (time.Time, error) {
	m, err := r.manifest(ctx, remote, digest)
	if err != nil {
		return time.Time{}, err
	}
	if err := r.verified(ctx, remote, digest); err != nil {
		return time.Time{}, err
	}
	at, err := created(m)
	if err != nil {
		return time.Time{}, untrusted("%w", err)
	}
	if now := time.Now(); at.After(now.Add(maxAhead)) {
		return time.Time{}, untrusted("it says that it was made at %s, which is in the future (it is %s here): set the clock of the computer that made it, or the clock of this one, and push the content again", at.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return at, nil
}

// Includes implements sources.Lineage: rev is older than head. Fetch verifies its
// signature.
func (r *Repository) Includes(ctx context.Context, head, rev fleet.Revision) error {
	if r.options.Verify == nil || head.Digest == rev.Digest {
		return nil
	}
	op := "look for " + rev.Short() + " in what led to " + head.Short() + " of " + r.name.String()
	if !digestName.MatchString(rev.Digest) {
		return fleet.Errorf(fleet.Invalid, op, "%q is not the digest of an artifact", rev.Digest)
	}
	return r.ordered(ctx, op, rev.Digest, head.Digest, func() error {
		return untrusted("the artifact %s was not made before it", rev.Digest)
	})
}

// ordered returns the error otherwise if the artifact before is younger than the artifact
// after.
func (r *Repository) ordered(ctx context.Context, op, before, after string, otherwise func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, r.options.Budget.Timeout, errSlow)
	defer cancel()
	remote, err := r.client.repository()
	if err != nil {
		return classify(ctx, op, err)
	}
	old, err := r.madeAt(ctx, remote, before)
	if err != nil {
		return classify(ctx, op, err)
	}
	young, err := r.signedAt(ctx, remote, after)
	if err != nil {
		return classify(ctx, op, err)
	}
	if now := time.Now(); old.After(now.Add(maxAhead)) {
		return classify(ctx, op, untrusted("artifact %s says that it was made at %s, which is in the future (it is %s here), so nothing can be told from its time: set the clock of this computer if that is wrong, or else name the digest to follow with --ref", before, old.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339)))
	}
	if young.Before(old) { // times have seconds: of two that were pushed in one, each may be the newer
		return classify(ctx, op, otherwise())
	}
	return nil
}

// madeAt returns when the artifact of that digest was made, by its manifest. If the registry does
// not have it any more, it counts what is remembered.
func (r *Repository) madeAt(ctx context.Context, remote *remote.Repository, digest string) (time.Time, error) {
	m, err := r.manifest(ctx, remote, digest)
	if err != nil {
		gone := fleet.KindOf(classify(ctx, "get the manifest", err)) == fleet.NotFound
		if at := r.made.of(digest); gone && !at.IsZero() {
			return at, nil
		}
		return time.Time{}, fmt.Errorf("the artifact %s, which has to have been made before it, cannot be had (name a digest with --ref where it is gone): %w", digest, err)
	}
	at, err := created(m)
	if err != nil {
		return time.Time{}, untrusted("artifact %s: %w", digest, err)
	}
	return at, nil
}
