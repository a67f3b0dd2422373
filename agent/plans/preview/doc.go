// Package preview says what a revision would change, and why: every machine that would be
// created, replaced or deleted, and every pool that is made of something else.
//
// What it guarantees:
//
//   - The decisions are made by the code that the agent acts with.
//   - It looks, and changes nothing: a Looker has nothing to change anything with.
//   - What could not be observed is reported, and the rest stands.
//
// It is given a rendered fleet and what the status branch says, wherever they come from:
//
//	p := preview.New(preview.Options{Fleet: rendered, Status: recorded, Scope: scope.All})
//	err := p.Look(ctx, world.Looker())
//	p.Compare(base, nil) // if there is a base
//	err = p.Write(os.Stdout, output.FormatMarkdown)
package preview
