// Package statusview is what the status branch says of a fleet, made ready to be shown: a
// view of all clusters, a tree of each, and how far a revision is. It reads a status.Status
// and makes no requests.
//
// What it guarantees:
//
//   - The same status is the same view.
//   - Nothing is done before a look has found every cluster as the newest revision says.
//
// For example:
//
//	view := statusview.Of(recorded)
//	tree := statusview.TreeOf(recorded.Clusters[0])
//	outcome := statusview.Judge(newest, recorded, scope.All)
package statusview
