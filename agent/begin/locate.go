package begin

import (
	"time"

	"fairlead.dev/fleet"
)

// mostMoves bounds how many times the status of a fleet is followed to another branch.
const mostMoves = 10

// silent is how long another agent may own a branch without a word of which fleet it has, until a
// fleet that is on no branch begins beside it. A fleet whose first revision is refused says nothing.
const silent = 15 * time.Minute

// locate decides which branch has the status.
func locate(in Input) Step {
	named := in.Branch
	if named == "" {
		if in.Tip == nil {
			return Step{Do: ReadTip}
		}
		if named = in.Tip.Branch; named == "" {
			named = fleet.DefaultStatusBranch
		}
	}
	at, b, step := in.follow(named)
	switch {
	case step != nil && step.Do == Retry && in.Tip != nil && in.Tip.Err != nil:
		return Step{Do: Retry, Why: in.Tip.Err}
	case step != nil:
		return *step
	case b.Owner != (fleet.Owner{}) && in.movesBack(named, at, b):
		return Step{Do: Move, From: at, Branch: named}
	case b.Owner != (fleet.Owner{}):
		return Step{Do: Use, Branch: at}
	}
	// Nothing is claimed before it is known which fleet this is, and that its status is on
	// no other branch.
	switch {
	case in.Tip == nil:
		return Step{Do: ReadTip}
	case in.Tip.Err != nil && in.Branch != "":
		return Step{Do: Retry, Why: in.Tip.Err}
	}
	for _, other := range []string{in.Tip.Branch, fleet.DefaultStatusBranch} {
		if other == "" {
			continue
		}
		there, b, step := in.follow(other)
		if step != nil {
			return *step
		}
		if b.Owner == (fleet.Owner{}) || there == at {
			continue
		}
		if step, ok := in.elsewhere(at, there, b); ok {
			return step
		}
	}
	if step, ok := in.signposted(at); ok {
		return step
	}
	if in.Tip.Err != nil {
		return Step{Do: Retry, Why: in.Tip.Err}
	}
	return Step{Do: Use, Branch: at}
}

// movesBack reports whether this agent takes the status, which was moved from the branch named to
// the branch at, back: Git names the former one again.
func (in Input) movesBack(named, at string, b Branch) bool {
	return at != named && in.Branch == "" && in.Tip.Err == nil && in.Tip.Branch == named &&
		b.Fleet == in.Tip.Fleet && in.isSelf(b.Owner) && !in.Tip.Strays
}

// signposted decides what to do if a signpost says that the status is on another branch than at. It
// returns false if there is no such signpost, or no owner where it leads.
func (in Input) signposted(at string) (Step, bool) {
	id, other := in.signpost()
	if other == "" {
		return Step{}, false
	}
	there, b, step := in.follow(other)
	switch {
	case step != nil:
		return *step, true
	case b.Owner == (fleet.Owner{}) || b.Fleet != id || in.Tip.Err != nil && !in.isSelf(b.Owner):
		return Step{}, false
	}
	return in.elsewhere(at, there, b)
}

// signpost returns the signpost of this fleet. If no revision says which fleet this is, it is the
// only signpost.
func (in Input) signpost() (fleet.ID, string) {
	posts := in.Branches[fleet.DefaultStatusBranch].Signposts
	if in.Tip.Err == nil {
		return in.Tip.Fleet, posts[in.Tip.Fleet]
	}
	for id, branch := range posts {
		if len(posts) == 1 {
			return id, branch
		}
	}
	return "", ""
}

// elsewhere decides what to do if branch at, which is named, has no owner, and branch there
// has one. It returns false if the status there is of another fleet.
func (in Input) elsewhere(at, there string, b Branch) (Step, bool) {
	switch {
	case in.Tip.Err != nil: // fleet.yaml names no branch that can be believed
		return Step{Do: Use, Branch: there}, true
	case b.Fleet == "" && !in.isSelf(b.Owner) && in.Waited >= silent:
		return Step{}, false
	case b.Fleet == "":
		return Step{Do: Retry, Why: fleet.Errorf(fleet.Unavailable, "find the status branch",
			"agent %q owns a fleet on branch %q, and has not written which fleet yet", b.Owner.Agent, there)}, true
	case b.Fleet != in.Tip.Fleet:
		return Step{}, false
	case in.Branch != "":
		return Step{Do: Refuse, Why: fleet.Errorf(fleet.Conflict, "use status branch "+at,
			"the status of fleet %q is on branch %q, where agent %q owns it. Fix: set --status-branch %[2]s, or remove --status-branch and name the new branch in spec.status.branch of fleet.yaml", b.Fleet, there, b.Owner.Agent)}, true
	case in.isSelf(b.Owner) && !in.Tip.Strays:
		return Step{Do: Move, From: there, Branch: at}, true
	}
	return Step{Do: Use, Branch: there}, true
}

// follow returns the branch that the status of the branch called name was moved to, which is
// that branch itself in most fleets, or the step to take first.
func (in Input) follow(name string) (string, Branch, *Step) {
	for range mostMoves {
		b, read := in.Branches[name]
		switch {
		case !read:
			return "", Branch{}, &Step{Do: ReadBranch, Branch: name}
		case b.Err != nil:
			return "", Branch{}, &Step{Do: Retry, Why: b.Err}
		case b.MovedTo == "":
			return name, b, nil
		}
		name = b.MovedTo
	}
	return "", Branch{}, &Step{Do: Retry, Why: fleet.Errorf(fleet.Invalid, "find the status branch",
		"the status was moved in a circle by way of branch %q. Fix: delete moved.yaml on the branch that has the newest status", name)}
}
