// Package revisions gets revisions of a fleet from its source, rendered. Where keys say who
// may push, it holds each revision to the one that was followed before.
//
//	r := revisions.New(revisions.Parts{Source: source, Renderer: renderer, Metrics: metrics})
//	rev, err := r.Resolve(ctx)
//	f, err := r.Next(ctx, followed, rev)
//
// What it guarantees: where the source is signed, a revision that does not continue what was
// followed is not rendered, nor an older one that was never followed.
//
// An error of kind fleet.Invalid is permanent: see Settled.
package revisions
