package begin

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

const (
	// silent is how long another agent may own a branch without a word of which fleet it has, until a
	// fleet that is on no branch begins beside it. A fleet whose first revision is refused says nothing.
	silent = 15 * time.Minute
	// branchReturns is how long a start waits for a branch that had the status and was deleted.
	branchReturns = 15 * time.Minute
)

// locate decides which branch has the status.
func locate(in Input) Step {
	named := in.Branch
	if named == "" {
		switch {
		case in.Tip == nil:
			return Step{Do: ReadTip}
		case in.Tip.Err != nil:
			return in.recognize()
		}
		named = cmp.Or(in.Tip.Branch, fleet.DefaultStatusBranch)
	}
	at, b, step := in.follow(named)
	switch {
	case step != nil:
		return *step
	case b.Owner != (fleet.Owner{}) && in.movesBack(named, at, b):
		return Step{Do: Move, From: at, Branch: named}
	case b.Owner != (fleet.Owner{}):
		return in.take(at, b)
	}
	// Nothing is claimed before it is known which fleet this is, and that its status is on
	// no other branch.
	switch {
	case in.Tip == nil:
		return Step{Do: ReadTip}
	case in.Tip.Err != nil:
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
	if at != named && in.Branch == "" && in.Branches[named].Owner == (fleet.Owner{}) && !b.Stays {
		return Step{Do: Move, From: at, Branch: named}
	}
	return in.post(at)
}

// take uses the branch at, which has an owner, unless it has the status of another fleet: then the status of this one
// stays where it is, and no process of the other fleet is ended. A fleet that was renamed in fleet.yaml is the same one
// if the applied revision, here, has the former name.
func (in Input) take(at string, b Branch) Step {
	mine, use := in.isSelf(b.Owner), Step{Do: Use, Branch: at}
	switch {
	case in.Tip == nil && mine && b.Fleet != "":
		return Step{Do: ReadTip}
	case in.Tip == nil, in.Tip.Err != nil, b.Fleet == "" && b.Damage == nil:
		return use
	case b.Fleet == in.Tip.Fleet, b.Fleet == "":
		if step, ok := in.beside(at, b); ok {
			return step
		}
		return use
	case mine && !b.Applied.IsZero() && b.Rendered == nil:
		return Step{Do: Render, Branch: at}
	case b.isRecognized():
		return use
	}
	why := fleet.Errorf(fleet.Conflict, "use status branch "+at,
		"it has the status of fleet %q, and this is fleet %q. Fix: name another branch in spec.status.branch of fleet.yaml or with --status-branch, or, if the fleet was renamed, set metadata.name to %[1]q again", b.Fleet, in.Tip.Fleet)
	step, ok := in.beside(at, b)
	switch {
	case ok && step.Do == Use:
		step.Why = why
	case !ok && mine:
		step = Step{Do: Retry, Why: why}
	case !ok:
		step = use
	}
	return step
}

// isRecognized reports whether the applied revision of b defines, here, the fleet that b has the status of.
func (b Branch) isRecognized() bool {
	return b.Rendered != nil && b.Rendered.Err == nil && b.Fleet != "" && b.Rendered.Fleet == b.Fleet && !b.Foreign
}

// post decides what to do before the fleet, which has no owner, is claimed on the branch at. A signpost leads there
// first, so that a process that starts when Git names another branch finds it.
func (in Input) post(at string) Step {
	was := in.Branches[fleet.DefaultStatusBranch].Signposts[in.Tip.Fleet]
	if in.Branch != "" || in.Posted == at || was == at {
		return Step{Do: Use, Branch: at}
	}
	return Step{Do: Post, Branch: at, From: was}
}

// recognize decides which branch has the status if the newest revision cannot be used: then nothing
// says which fleet this is, nor which branch it names. Of the default branch and those of signposts,
// which may have the status of other fleets, it is the one whose applied revision defines, here, the
// fleet that the status is of.
func (in Input) recognize() Step {
	posts := in.Branches[fleet.DefaultStatusBranch].Signposts
	names := []string{fleet.DefaultStatusBranch}
	for _, id := range slices.Sorted(maps.Keys(posts)) {
		names = append(names, posts[id])
	}
	var owned []string
	var uses []Step // of owned
	byDefault, unread := false, false
	for i, name := range names {
		at, b, step := in.follow(name)
		use := Step{Do: Use, Branch: at}
		switch {
		case step != nil && step.Do == Move: // what is to be moved is recognized where it is
			at, b, use = step.From, in.Branches[step.From], *step
		case step != nil && step.Do == Retry: // of another fleet, or this one has to wait in any case
			unread = true
			continue
		case step != nil:
			return *step
		}
		switch {
		case b.Owner == (fleet.Owner{}) || i > 0 && posts[b.Fleet] != name || slices.Contains(owned, at):
			continue
		case !b.Applied.IsZero() && b.Rendered == nil:
			return Step{Do: Render, Branch: at}
		case b.Rendered != nil && b.Rendered.Err == nil && b.Fleet != "" && b.Rendered.Fleet != b.Fleet:
			continue // it is of another fleet
		case b.isRecognized():
			return use
		}
		owned, uses, byDefault = append(owned, at), append(uses, use), byDefault || i == 0
	}
	// A branch that cannot be recognized is used if no other one comes into question.
	if len(owned) == 1 && !unread && (byDefault || len(posts) == 1 && in.isSelf(in.Branches[owned[0]].Owner)) {
		return uses[0]
	}
	return Step{Do: Retry, Why: in.Tip.Err}
}

// movesBack reports whether this agent takes the status, which was moved from the branch named to
// the branch at, back: Git names the former one again.
func (in Input) movesBack(named, at string, b Branch) bool {
	return at != named && in.Branch == "" && in.Tip.Branch == named &&
		b.Fleet == in.Tip.Fleet && in.isSelf(b.Owner) && !in.Tip.Strays && !b.Stays
}

// signposted decides what to do if a signpost says that the status is on another branch than at. It
// returns false if there is no such signpost. If the branch where it leads has no owner, a process may be about to
// claim the fleet there: the move ends that, or comes after it.
func (in Input) signposted(at string) (Step, bool) {
	other := in.Branches[fleet.DefaultStatusBranch].Signposts[in.Tip.Fleet]
	if other == "" {
		return Step{}, false
	}
	there, b, step := in.follow(other)
	switch {
	case step != nil:
		return *step, true
	case there == at, b.Owner == (fleet.Owner{}) && b.Stays:
		return Step{}, false
	case b.Owner == (fleet.Owner{}):
		return Step{Do: Move, From: there, Branch: at}, true
	}
	return in.elsewhere(at, there, b)
}

// fleetOf returns which fleet has its status on the branch called name. Its signpost says so before the first status does.
func (in Input) fleetOf(name string, b Branch) fleet.ID {
	if b.Fleet != "" {
		return b.Fleet
	}
	var ids []fleet.ID
	for id, post := range in.Branches[fleet.DefaultStatusBranch].Signposts {
		if post == name {
			ids = append(ids, id)
		}
	}
	if len(ids) == 1 {
		return ids[0]
	}
	return ""
}

// elsewhere decides what to do if branch at, which is named, has no owner, and branch there
// has one. It returns false if the status there is of another fleet.
func (in Input) elsewhere(at, there string, b Branch) (Step, bool) {
	said := b.Fleet != "" // else the next start moves the status
	b.Fleet = in.fleetOf(there, b)
	switch {
	case b.Fleet == "" && !in.isSelf(b.Owner) && in.Waited >= silent:
		return Step{}, false
	case b.Fleet == "" && b.Damage != nil:
		return Step{Do: Retry, Why: fleet.Errorf(fleet.Unavailable, "find the status branch",
			"agent %q owns a fleet on branch %q, and which one is not known: %w. Fix: name branch %[2]q in spec.status.branch of fleet.yaml until the agent has written that file again, or restore it from its last good commit", b.Owner.Agent, there, b.Damage)}, true
	case b.Fleet == "":
		return Step{Do: Retry, Why: fleet.Errorf(fleet.Unavailable, "find the status branch",
			"agent %q owns a fleet on branch %q, and has not written which fleet yet", b.Owner.Agent, there)}, true
	case b.Fleet != in.Tip.Fleet:
		return Step{}, false
	case in.Branch != "":
		return Step{Do: Refuse, Why: fleet.Errorf(fleet.Conflict, "use status branch "+at,
			"the status of fleet %q is on branch %q, where agent %q owns it. Fix: set --status-branch %[2]s, or remove --status-branch and name the new branch in spec.status.branch of fleet.yaml", b.Fleet, there, b.Owner.Agent)}, true
	case in.isSelf(b.Owner) && said && !in.Tip.Strays && !b.Stays:
		return Step{Do: Move, From: there, Branch: at}, true
	}
	return Step{Do: Use, Branch: there}, true
}

// beside decides what to do if the branch at, which Git names, has an older status of the fleet than the
// default branch, or than the one that its signpost names, or the status of another fleet, and one of these has
// that of this fleet. An earlier version that stops within a move leaves a copy, so of two that are equally old
// the one that is not named counts. It returns false if there is no such branch.
func (in Input) beside(at string, b Branch) (Step, bool) {
	for _, post := range []bool{false, true} {
		other := fleet.DefaultStatusBranch
		if post {
			other = in.Branches[other].Signposts[in.Tip.Fleet]
		}
		if other == "" || other == at {
			continue
		}
		there, found, step := in.follow(other)
		switch {
		case step != nil && (step.Do == ReadBranch || step.Do == Move && in.Branches[step.From].Fleet == in.Tip.Fleet):
			return *step, true
		case step != nil || there == at || found.Owner == (fleet.Owner{}) || found.Fleet != in.Tip.Fleet:
			continue // what cannot be read there stops no fleet that can
		case b.Fleet != in.Tip.Fleet && b.Fleet != "":
			found.Stays = true
		case b.IsAhead(found.Location):
			continue
		}
		found.Stays = found.Stays || b.Fleet == "" // a status that is not known to be of this fleet is not replaced
		return in.elsewhere(at, there, found)
	}
	return Step{}, false
}

// follow returns the branch that the status of the branch called name was moved to, which is
// that branch itself in most fleets, or the step to take first. The owner completes a move that ended
// in between.
func (in Input) follow(name string) (string, Branch, *Step) {
	for passed := make(map[string]bool); !passed[name]; {
		passed[name] = true
		b, read := in.Branches[name]
		switch {
		case !read:
			return "", Branch{}, &Step{Do: ReadBranch, Branch: name}
		case b.Err != nil:
			return "", Branch{}, &Step{Do: Retry, Why: b.Err}
		case b.MovedTo == "":
			return name, b, nil
		}
		to := b.MovedTo
		next, read := in.Branches[to]
		switch {
		case !read || next.Err != nil || next.HasArrived(b.Location): // the next turn
		case next.Owner == (fleet.Owner{}) && !next.Reserved:
			further, step := in.past(b)
			switch {
			case step != nil:
				return "", Branch{}, step
			case further != "":
				to = further
			case in.Waited < branchReturns:
				return "", Branch{}, &Step{Do: Retry, Why: fleet.Errorf(fleet.Unavailable, "find the status branch",
					"the status was moved from branch %q to branch %q, which is not there any more. Fix: restore that branch, or delete moved.yaml on branch %[1]q to go on with the status of then", name, b.MovedTo)}
			}
		case b.Owner == (fleet.Owner{}), in.isSelf(b.Owner), in.TakeOver != (fleet.Owner{}) && b.Owner.Is(in.TakeOver):
			return "", Branch{}, &Step{Do: Move, From: name, Branch: b.MovedTo}
		default:
			return "", Branch{}, &Step{Do: Retry, Why: fleet.Errorf(fleet.Unavailable, "find the status branch",
				"agent %q began to move the status of the fleet from branch %q to branch %q, and the move is not complete. Fix: start that agent again", b.Owner.Agent, name, b.MovedTo)}
		}
		name = to
	}
	return "", Branch{}, &Step{Do: Retry, Why: fleet.Errorf(fleet.Invalid, "find the status branch",
		"the status was moved in a circle by way of branch %q. Fix: delete moved.yaml on the branch that has the newest status", name)}
}

// past returns the branch that the signpost of the fleet leads to, if the status that was moved from
// former is there: the branch in between, where former leads, was deleted. Empty: nothing says so.
func (in Input) past(former Branch) (string, *Step) {
	at, read := in.Branches[fleet.DefaultStatusBranch]
	if !read {
		return "", &Step{Do: ReadBranch, Branch: fleet.DefaultStatusBranch}
	}
	post := at.Signposts[former.Fleet]
	if post == "" || post == former.MovedTo {
		return "", nil
	}
	b, read := in.Branches[post]
	switch {
	case !read:
		return "", &Step{Do: ReadBranch, Branch: post}
	case b.Owner == (fleet.Owner{}), b.Fleet != former.Fleet, !b.HasArrived(former.Location):
		return "", nil
	}
	return post, nil
}
