package pullrequests

import (
	"cmp"

	"fairlead.dev/agent/plans/document"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// maxComment is how many bytes of a comment all forges take.
const maxComment = 32 << 10

// comment returns the comment for a plan: all of it if it is short enough, or else how much of what changes
// in which cluster.
func comment(id fleet.ID, branch string, p status.Plan) string {
	text := mark(id) + cmp.Or(p.Text, document.Markdown(p))
	if len(text) > maxComment {
		text = mark(id) + document.Brief(p, maxComment-len(mark(id)), branch)
	}
	return text
}
