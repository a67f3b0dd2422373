package page

import (
	"slices"

	"fairlead.dev/agent/console/statusview"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// An Addon is one of a cluster.
type Addon struct {
	statusview.Addon
	Sign        Sign   `json:"-"`
	Short       string `json:"-"` // the revision in short
	RevisionURL string `json:"revisionURL,omitempty"`
}

// addonsOf returns the addons of c.
func addonsOf(c status.Cluster, o *Options) []Addon {
	var out []Addon
	for i, a := range statusview.AddonsOf(c) {
		one := Addon{Addon: a, Sign: addonSign(c.Addons[i].State)}
		if rev := c.Addons[i].Revision; !rev.IsZero() {
			one.Short, one.RevisionURL = rev.Short(), o.Forge.Commit(rev.Hash())
		}
		out = append(out, one)
	}
	return out
}

// addonSign says how an addon is.
func addonSign(s fleet.AddonState) Sign {
	switch s {
	case fleet.AddonReady:
		return OK
	case fleet.AddonPending:
		return Changing
	case fleet.AddonFailed:
		return Failing
	case fleet.AddonRemoving:
		return Deleting
	case fleet.AddonPaused, fleet.AddonKept:
		return Suspended
	}
	return Problem // it is not known
}

// Unfinished returns the addons that are not as Git says and have somebody or something do
// about it.
func (v Cluster) Unfinished() []Addon {
	return slices.DeleteFunc(slices.Clone(v.Addons), func(a Addon) bool { return a.Sign == OK || a.Sign == Suspended })
}

// AtRest reports whether the cluster is as Git says, and nothing is to be done.
func (v Cluster) AtRest() bool {
	return v.Sign != Problem && v.Damage == "" && !v.Orphan && v.Failure == "" && len(v.Problems)+len(v.Waiting)+len(v.Unfinished()) == 0 && !v.Behind && v.From == "" && v.Turn == "" && v.Now == nil
}
