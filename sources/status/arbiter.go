package status

import (
	"context"
	"fmt"
	"io/fs"
	"sync"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/sources"
)

// An Arbiter keeps the owner of a fleet in owner.yaml on a branch. Git is the
// lock: of two that change it at once, one push lands.
//
// It believes no owner that is older than one that it believed before, and not that the
// owner is gone: a server that lags behind and a deleted branch hand no fleet over. With
// Verify it believes only what a key that counts signed; what an agent finds when it starts
// it believes of itself without, and signs it.
type Arbiter struct {
	branch sources.Branch
	// Sign, if not nil, returns the signature, in armour, of an owner.
	Sign func(content []byte) (string, error)
	// Verify, if not nil, says which commits to believe; nil: anyone with push access may name the owner.
	Verify Verify

	mu       sync.Mutex
	believed ownership // the newest that was read or written; zero: none yet
	// assumed is the owner with this process, which acts before a push says so. Until then the
	// branch says before. Zero: it did not act without a push.
	assumed, before fleet.Owner
	begins          string // random text of this process, as long as it begins; empty: it does not
}

var _ sources.Arbiter = (*Arbiter)(nil)

// NewArbiter returns the arbiter on branch.
func NewArbiter(branch sources.Branch) *Arbiter { return &Arbiter{branch: branch} }

// Owner implements sources.Arbiter.
func (a *Arbiter) Owner(ctx context.Context) (fleet.Owner, error) {
	_, t, err := a.branch.Read(ctx)
	if err != nil {
		return fleet.Owner{}, err
	}
	return a.In(t)
}

// Claim implements sources.Arbiter.
func (a *Arbiter) Claim(ctx context.Context, self, place string) (fleet.Owner, error) {
	if self == "" {
		return fleet.Owner{}, fleet.Errorf(fleet.Invalid, "claim the fleet", "the agent has no name")
	}
	r, err := a.change(ctx, "claim the fleet for "+self, acceptOwnName, func(now ownership, _ bool) (ownership, string, error) {
		switch {
		case now.owner == (fleet.Owner{}):
			return ownership{owner: fleet.Owner{Agent: self, Epoch: 1, Place: place}}, fmt.Sprintf("owner: %s (epoch 1)", self), nil
		case now.owner.Agent == self && now.owner.Place == "" && place != "":
			now.owner.Place = place
			return now, fmt.Sprintf("owner: %s (epoch %d) says where it is", self, now.owner.Epoch), nil
		case now.owner.Agent == self && now.owner.Place == place && a.Verify != nil && !a.believes(now):
			return now, fmt.Sprintf("owner: %s (epoch %d) signs", self, now.owner.Epoch), nil
		}
		return now, "", nil
	})
	return r.owner, err
}

// HandOver implements sources.Arbiter.
func (a *Arbiter) HandOver(ctx context.Context, from fleet.Owner, to, place string) (fleet.Owner, error) {
	op := fmt.Sprintf("hand the fleet over from %s to %s", from.Agent, to)
	if to == "" || from.Agent == "" {
		return fleet.Owner{}, fleet.Errorf(fleet.Invalid, op, "an agent has no name")
	}
	next := ownership{owner: fleet.Owner{Agent: to, Epoch: from.Epoch + 1, Place: place, Incarnation: from.Incarnation, Process: from.Process}}
	r, err := a.change(ctx, op, acceptOwnName, func(now ownership, mayHave bool) (ownership, string, error) {
		switch {
		case now.owner == next.owner && mayHave:
			return now, "", nil // the push that was not answered did land
		case now.owner != from:
			return ownership{}, "", fleet.Errorf(fleet.Conflict, op, "the owner is %q with epoch %d", now.owner.Agent, now.owner.Epoch)
		}
		return next, passing(from, next.owner) + ", taken over", nil
	})
	return r.owner, err
}

// passing says that a fleet changed its owner.
func passing(from, to fleet.Owner) string {
	return fmt.Sprintf("owner: %s → %s (epoch %d)", from.Agent, to.Agent, to.Epoch)
}

// Restore writes the owner that was believed last, if that is of, in place of one that is
// not to be believed. If owner.yaml is gone or older, it writes all files again that the branch
// had and lacks now.
func (a *Arbiter) Restore(ctx context.Context, of fleet.Owner) error {
	_, err := a.change(ctx, "restore the owner "+of.Agent, overwrite, func(now ownership, _ bool) (ownership, string, error) {
		was := a.newest()
		switch {
		case was.owner != of:
			return now, "", nil
		case now == (ownership{}):
			return was, fmt.Sprintf("owner: %s (epoch %d) stays: owner.yaml was gone, and is written again", of.Agent, of.Epoch), nil
		case a.Verify == nil:
			return was, fmt.Sprintf("owner: %s (epoch %d) stays: what was here is older", of.Agent, of.Epoch), nil
		}
		return was, fmt.Sprintf("owner: %s (epoch %d) stays: no request key signed another", of.Agent, of.Epoch), nil
	})
	return err
}

// A keeper is a Branch that remembers its files.
type keeper interface {
	// Missing returns the files that the branch had when it was last seen, and t lacks.
	Missing(t fs.FS) (map[string][]byte, error)
}

// edits returns the files that say next, where t says now.
func (a *Arbiter) edits(t fs.FS, now, next ownership) (map[string][]byte, error) {
	edits := make(map[string][]byte)
	var err error
	switch k, ok := a.branch.(keeper); {
	case a.newest() != (ownership{}) && ok && (now == ownership{} || now.isOlder(a.newest())):
		edits, err = k.Missing(t)
	case a.newest() == (ownership{}) && now == (ownership{}):
		edits, err = firstEdits(t)
	}
	if err != nil {
		return nil, err
	}
	if next.owner.Incarnation != now.owner.Incarnation {
		if edits[incarnationPath], err = a.encodeIncarnation(next.owner, next.signature != ""); err != nil {
			return nil, err
		}
	}
	edits[ownerPath], err = encodeOwnership(next)
	return edits, err
}

// refuseDefinitions returns an error of kind Conflict for the tree of a branch where a fleet is defined.
func refuseDefinitions(t fs.FS, op string) error {
	const definition = "Fleet" // the kind of its fleet.yaml
	var file typeMeta
	b, err := fs.ReadFile(t, fleetPath)
	if err == nil && documents.Unmarshal(b, &file, fleetKind.limits()) == nil && file.Kind == definition {
		return fleet.Errorf(fleet.Conflict, op, "%w: it has the definitions of a fleet, and the status would replace the fleet. Fix: name another branch in spec.status.branch of fleet.yaml, or with --status-branch", errOtherUse)
	}
	return nil
}

// firstEdits returns the edits with which an agent claims a branch without an owner. The copy of reports that a move left
// there, which was not decided, may be old, and is deleted. The error is of kind Conflict if the branch has the definitions
// of a fleet.
func firstEdits(t fs.FS) (map[string][]byte, error) {
	edits := make(map[string][]byte)
	if err := refuseDefinitions(t, "claim the fleet"); err != nil {
		return nil, err
	}
	if has(t, map[string][]byte{arrivedPath: nil}) || !has(t, map[string][]byte{incarnationPath: nil}) {
		return edits, nil
	}
	files, err := filesOf(t)
	for p := range files {
		if isReport(p) {
			edits[p] = nil
		}
	}
	return edits, err
}

// A decision is what owner.yaml is to say, and why, where it says now.
type decision func(now ownership, mayHave bool) (next ownership, why string, err error)

// change reads the owner, has decide say who is to be the owner, and commits
// that, until there is an answer. decide learns whether an earlier push of this
// change may have landed. untrusted says what it does
// with an owner that is not to be believed.
func (a *Arbiter) change(ctx context.Context, op string, untrusted ifUntrusted, decide decision) (ownership, error) {
	var next ownership
	committed := false
	err := commitHere(ctx, a.branch, op, func(t fs.FS, mayHave bool) (sources.Commit, error) {
		next, committed = ownership{}, false
		now, distrust, err := a.read(t)
		if err != nil {
			return sources.Commit{}, err
		}
		if distrust != nil && !a.accepts(untrusted, now) {
			return sources.Commit{}, distrust
		}
		switch {
		case distrust == nil && untrusted == overwrite:
			next = now
			return sources.Commit{}, nil
		case distrust != nil:
			now.next = fleet.Succession{} // who is to have the fleet next a key says, too
		}
		why := ""
		if next, why, err = decide(now, mayHave); err != nil || why == "" {
			return sources.Commit{}, err
		}
		if next, err = a.sign(now, next); err != nil {
			return sources.Commit{}, err
		}
		edits, err := a.edits(t, now, next)
		committed = true
		return sources.Commit{Edits: edits, Message: why, Trailers: trailers(fleet.Revision{}, next.owner)}, err
	})
	switch {
	case err != nil:
		return ownership{}, err
	case committed:
		a.believe(next)
	}
	return next, nil
}

// trailers returns the trailers of a commit.
func trailers(rev fleet.Revision, o fleet.Owner) []string {
	var t []string
	if !rev.IsZero() {
		t = append(t, "Fairlead-Revision: "+rev.String())
	}
	return append(t, "Fairlead-Agent: "+o.Agent, fmt.Sprintf("Fairlead-Epoch: %d", o.Epoch))
}
