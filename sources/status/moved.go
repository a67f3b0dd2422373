package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// movedPath is the file of a branch whose status was moved to another branch. owner.yaml
// stays beside it, so that no agent claims the branch. arrivedPath is the file of the branch
// that has the status.
const (
	movedPath   = "moved.yaml"
	arrivedPath = "arrived.yaml"
)

// movedFile is moved.yaml, and a signpost.
type movedFile struct {
	typeMeta
	Branch string `json:"branch"` // that has the status now
	// Move is the number of the move. 0: a version moved the status that copied it first.
	Move int64 `json:"move,omitempty"`
}

// arrivedFile is arrived.yaml. It is written before the move is decided, too, so that a branch
// without it was deleted.
type arrivedFile struct {
	typeMeta
	Fleet fleet.ID `json:"fleet,omitempty"` // whose status comes here
	Move  int64    `json:"move"`            // the number of the move that the status came here with
}

// A Location says whose status a branch has, and where the status is.
type Location struct {
	Owner   fleet.Owner // zero: the branch is not there, or has no owner
	Fleet   fleet.ID    // empty: not known
	Damage  error       // why fleet.yaml cannot be read
	Applied fleet.Revision
	// AppliedMade is when Applied was made; zero: not known.
	AppliedMade time.Time
	MovedTo     string // the branch that the status was moved to; empty: this one has it
	// Move is the number of the move to MovedTo. That branch has the status once its Arrived is
	// as great. 0: there is no such move, or an earlier version made it, which copied first.
	Move int64
	// Arrived is the number of the move that the status came here with. 0: it was never moved.
	Arrived int64
	// Reserved says that the branch was made for the status, which may not be there yet, and
	// ReservedFor whose that is; empty: not known.
	Reserved    bool
	ReservedFor fleet.ID
	// Signposts are branches that have the status of other fleets.
	Signposts map[fleet.ID]string
}

// Locate returns whose status is in the tree of a branch. It reads no cluster. A damaged
// fleet.yaml says at most which fleet it is of, and a damaged owner.yaml that is left on a former branch says nothing.
// With an error for moved.yaml or owner.yaml it returns what the other files say: the signposts
// are those of other fleets.
func Locate(t fs.FS) (Location, error) {
	moved, errMoved := readMoved(t)
	owner, errOwner := readOwner(t)
	if moved.Branch != "" {
		errOwner = nil
	}
	s, damage := readFleet(t)
	if damage != nil {
		s.Fleet.Fleet = namedIn(t)
	}
	l := Location{
		Owner: owner, Fleet: s.Fleet.Fleet, Damage: damage, Applied: s.Fleet.Applied, AppliedMade: s.Fleet.AppliedMade,
		MovedTo: moved.Branch, Move: moved.Move, Signposts: readSignposts(t),
	}
	l.readArrived(t)
	return l, cmp.Or(errMoved, errOwner)
}

// readArrived reads arrived.yaml. A damaged file has no number: then the status is copied here once
// more, unless a process began to act by it since.
func (l *Location) readArrived(t fs.FS) {
	b, err := fs.ReadFile(t, arrivedPath)
	l.Reserved = err == nil
	var f arrivedFile
	if err == nil && arrivedKind.decode(b, &f) == nil && f.Move >= 0 && f.Move < maxCount {
		l.Arrived, l.ReservedFor = f.Move, f.Fleet
	}
}

// ErrMovedUnknown says that moved.yaml is damaged: it is not known which branch has the status.
var ErrMovedUnknown = errors.New("where the status was moved is not known")

// readMoved returns moved.yaml, or zero if the status was not moved.
func readMoved(t fs.FS) (movedFile, error) {
	b, err := fs.ReadFile(t, movedPath)
	if errors.Is(err, fs.ErrNotExist) {
		return movedFile{}, nil
	}
	var f movedFile
	if err == nil {
		err = movedKind.decode(b, &f)
	}
	if err == nil && f.Branch == "" {
		err = errors.New("it names no branch")
	}
	if err != nil {
		return movedFile{}, unreadable(movedPath, fmt.Errorf("%w: %w. Fix: write into it which branch has the status of the fleet, or delete it if this one has", ErrMovedUnknown, err))
	}
	if f.Move < 0 || f.Move >= maxCount {
		f.Move = 0
	}
	return f, nil
}

// ErrMoved says that a branch does not have the status any more, so no agent acts by it.
var ErrMoved = errors.New("the status of the fleet was moved to another branch")

// CheckMoved returns an error for the tree of a branch whose status was moved to another branch.
func CheckMoved(t fs.FS, name string) error {
	to, err := readMoved(t)
	if err == nil && to.Branch != "" {
		err = fleet.Errorf(fleet.NotFound, "read the status on branch "+name, "the status of the fleet was moved to branch %q, and what is here is old. Fix: set --status-branch %[1]s, or name that branch in spec.status.branch of fleet.yaml", to.Branch)
	}
	return err
}

// refuseMoved returns an error that wraps ErrMoved for the tree of a branch whose status was moved.
func refuseMoved(t fs.FS, op string) error {
	to, err := readMoved(t)
	if err == nil && to.Branch != "" {
		err = fleet.Errorf(fleet.Conflict, op, "%w, %s", ErrMoved, to.Branch)
	}
	return err
}

// IsAhead reports whether the status at l is newer than the one at other, which is the same status on
// another branch: it was moved more often, or changed owners or processes since.
func (l Location) IsAhead(other Location) bool {
	return cmp.Or(
		cmp.Compare(l.Arrived, other.Arrived), cmp.Compare(l.Owner.Epoch, other.Owner.Epoch), cmp.Compare(l.Owner.Incarnation, other.Owner.Incarnation),
	) > 0
}

// HasArrived reports whether the status that was moved from the branch at from is at l, where from.MovedTo
// leads. Where it is not, the move was not completed.
func (l Location) HasArrived(from Location) bool {
	if l.isFor(from.Fleet) && l.Arrived >= from.Move {
		return true
	}
	return l.Fleet == from.Fleet && l.IsAhead(Location{Arrived: l.Arrived, Owner: from.Owner})
}

// isFor reports whether the branch is not reserved for another fleet than id.
func (l Location) isFor(id fleet.ID) bool {
	return l.ReservedFor == "" || id == "" || l.ReservedFor == id
}

// ErrUnmarked says that the status was moved, and that nothing says so on the former branch, which takes no push.
var ErrUnmarked = errors.New("the former status branch does not say where the status is now")

// ErrStays says that the status was not moved, since the new branch accepts no push, or is in use.
var ErrStays = errors.New("the status stays on the former branch")

// ErrUndecided says that the status was not moved, since a push before the decision, or of the decision, failed
// for another reason than rights. One that was not answered may be carried out later.
var ErrUndecided = errors.New("the status stays on the former branch for now")

// errOtherUse says that a branch has, or is about to have, the status of another fleet, or something else.
var errOtherUse = errors.New("the branch is in use")

// Move moves the status from the branch from to the branch to, called name. One push to from decides it:
// after that push no agent acts by from. Then all files are copied. To complete a move that stopped in
// between, call Move again.
//
// The error is of kind Conflict if to has the status of another fleet or a newer one, and of kind
// Unauthorized if a branch accepts no push. It wraps ErrStays if that is to, if to has no room, or if from has the status of a
// fleet and to is in use, by another fleet or for something else, and ErrUndecided if to, or from, may accept it later; nothing is decided then. If only from accepts none and replicas
// elect a leader, the status is moved and the error wraps ErrUnmarked. What is left on to of an earlier
// stay of the status is deleted.
func Move(ctx context.Context, from, to sources.Branch, name string) error {
	op := "move the status to branch " + name
	former, err := reserve(ctx, from, to, op)
	switch kind := fleet.KindOf(err); {
	case kind == fleet.Unauthorized, kind == fleet.Exhausted, errors.Is(err, errOtherUse) && former.Owner != (fleet.Owner{}):
		return fmt.Errorf("%w: %w", ErrStays, err)
	case kind == fleet.Unavailable, isPush(err):
		return fmt.Errorf("%w: %w", ErrUndecided, err)
	case err != nil:
		return err
	}
	var here Location
	err = commit(ctx, from, op, func(t fs.FS, _ bool) (sources.Commit, error) {
		l, err := Locate(t)
		if err != nil {
			return sources.Commit{}, err
		}
		here = l
		switch {
		case l.MovedTo == name: // an earlier call decided it
			return sources.Commit{}, nil
		case l.MovedTo != "":
			return sources.Commit{}, fleet.Errorf(fleet.Conflict, op, "it was moved to branch %q meanwhile", l.MovedTo)
		case l.Owner != (fleet.Owner{}) && l.Fleet == "": // a former branch of no fleet would be in the way of the next move
			return sources.Commit{}, fleet.Errorf(fleet.Conflict, op, "agent %q owns a fleet there, and has not written which one yet", l.Owner.Agent)
		}
		here.MovedTo, here.Move = name, l.Arrived+1
		b, err := movedKind.encode(movedPath, movedFile{typeMeta: movedKind.meta(), Branch: name, Move: here.Move})
		return sources.Commit{
			Edits: map[string][]byte{movedPath: b}, Message: fmt.Sprintf("fleet: the status was moved to %s", name), Trailers: trailers(fleet.Revision{}, l.Owner),
		}, err
	})
	var unmarked error
	switch g, _ := from.(guarded); {
	case fleet.KindOf(err) == fleet.Unauthorized && here.Move > 0 && here.Owner != (fleet.Owner{}) && g.elected: // no other agent acts, or begins by that branch
		unmarked = fmt.Errorf("%w: %w", ErrUnmarked, err)
	case fleet.KindOf(err) == fleet.Unauthorized:
		return fleet.Errorf(fleet.Unauthorized, op, "%w. Fix: let the agent push to the former branch until the status is moved, so that no other process of it goes on there", err)
	case isPush(err):
		return fmt.Errorf("%w: %w", ErrUndecided, err)
	case err != nil:
		return err
	}
	if err := copyFiles(ctx, from, to, here, op); err != nil {
		return fmt.Errorf("%w. The move is decided, and no agent acts until it is complete. Fix: make the branch accept the push, or delete %s on the former branch to go on there", err, movedPath)
	}
	return unmarked
}

// reserve writes on the branch to that the status on the branch from, which it returns, comes there, with a copy of what the agent
// reports, which counts for nothing without an owner. So a branch that accepts no push, or not these files, has nothing
// decided.
func reserve(ctx context.Context, from, to sources.Branch, op string) (former Location, err error) {
	err = commit(ctx, to, op, func(there fs.FS, _ bool) (sources.Commit, error) {
		_, t, err := from.Read(ctx) // after to: if a move is decided in between, its copy makes this push fail
		if err != nil {
			return sources.Commit{}, err
		}
		here, err := Locate(t)
		if former = here; err != nil || here.MovedTo != "" { // it is decided
			return sources.Commit{}, err
		}
		l, err := checkTarget(there, here, op)
		if err == nil && l.Owner == (fleet.Owner{}) && !l.Reserved && (l.Fleet == "" || l.Fleet != here.Fleet) {
			err = refuseReports(there, op)
		}
		if err != nil {
			return sources.Commit{}, err
		}
		files, err := filesOf(t)
		if err != nil {
			return sources.Commit{}, err
		}
		maps.DeleteFunc(files, func(p string, _ []byte) bool { return !isReport(p) })
		files[arrivedPath], err = arrivedKind.encode(arrivedPath, arrivedFile{typeMeta: arrivedKind.meta(), Fleet: here.Fleet, Move: here.Arrived})
		return sources.Commit{Edits: files, Message: "fleet: the status will be moved here", Trailers: trailers(fleet.Revision{}, here.Owner)}, err
	})
	return former, err
}

// checkTarget returns what is there, where the status at here goes. The error is of kind Conflict if another
// status is there, or a newer one.
func checkTarget(there fs.FS, here Location, op string) (Location, error) {
	l, err := Locate(there)
	switch {
	case err != nil:
		return l, err
	case l.Owner == (fleet.Owner{}) && !l.isFor(here.Fleet):
		return l, fleet.Errorf(fleet.Conflict, op, "%w: the status of fleet %q is on its way there. Fix: name another branch in spec.status.branch of fleet.yaml, or, if that fleet does not go there any more, delete %s there", errOtherUse, l.ReservedFor, arrivedPath)
	case l.Owner == (fleet.Owner{}):
		return l, nil
	case l.Fleet == "" && l.MovedTo != "" && l.isFor(here.Fleet): // the status left it, and its fleet.yaml is damaged
		return l, nil
	case l.Fleet != here.Fleet && l.Fleet != "":
		return l, fleet.Errorf(fleet.Conflict, op, "%w: it has the status of fleet %q, owned by %q", errOtherUse, l.Fleet, l.Owner.Agent)
	case l.Fleet != here.Fleet, l.MovedTo == "" && l.Owner.Agent != here.Owner.Agent:
		return l, fleet.Errorf(fleet.Conflict, op, "it has the status of fleet %q, owned by %q", l.Fleet, l.Owner.Agent)
	case here.MovedTo == "" && l.MovedTo == "" && l.IsAhead(here):
		return l, fleet.Errorf(fleet.Conflict, op, "it has a newer status of the fleet, of process %d", l.Owner.Incarnation)
	}
	return l, nil
}

// refuseReports returns an error of kind Conflict for the tree of a branch without an owner that has files where
// reports go: the definitions of a fleet, an escrow, or a status whose owner.yaml was deleted.
func refuseReports(t fs.FS, op string) error {
	if err := refuseDefinitions(t, op); err != nil {
		return err
	}
	files, err := filesOf(t)
	if err != nil {
		return err
	}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		if isReport(p) {
			return fleet.Errorf(fleet.Conflict, op, "%w: it has %s, and no agent owns it. Fix: name a branch that does not exist in spec.status.branch of fleet.yaml", errOtherUse, p)
		}
	}
	return nil
}

// copyFiles copies the files of from, where here says that the status was moved, to the branch to.
func copyFiles(ctx context.Context, from, to sources.Branch, here Location, op string) error {
	_, t, err := from.Read(ctx)
	if err != nil {
		return err
	}
	files, err := filesOf(t)
	if err != nil {
		return err
	}
	maps.DeleteFunc(files, func(p string, _ []byte) bool { return p == movedPath || isSignpost(p) })
	if files[arrivedPath], err = arrivedKind.encode(arrivedPath, arrivedFile{typeMeta: arrivedKind.meta(), Fleet: here.Fleet, Move: here.Move}); err != nil {
		return err
	}
	return commit(ctx, to, op, func(there fs.FS, _ bool) (sources.Commit, error) {
		l, err := checkTarget(there, here, op)
		if err != nil || l.HasArrived(here) {
			return sources.Commit{}, err
		}
		former, err := filesOf(there)
		if err != nil {
			return sources.Commit{}, err
		}
		edits := maps.Clone(files)
		for p := range former {
			if _, kept := files[p]; !kept && !isSignpost(p) && (l.Owner != (fleet.Owner{}) || p == movedPath || isReport(p)) {
				edits[p] = nil
			}
		}
		return sources.Commit{Edits: edits, Message: "fleet: the status was moved here", Trailers: trailers(fleet.Revision{}, here.Owner)}, nil
	})
}

func isSignpost(p string) bool { return strings.HasPrefix(p, signpostsFolder+"/") }

// isReport reports whether the agent alone writes the file p, and people do not.
func isReport(p string) bool {
	folder, _, _ := strings.Cut(p, "/")
	return slices.Contains([]string{fleetPath, notificationsPath, clustersDir, hostsDir, "plans"}, folder)
}

// filesOf returns the files of t.
func filesOf(t fs.FS) (map[string][]byte, error) {
	files := make(map[string][]byte)
	err := fs.WalkDir(t, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[p], err = fs.ReadFile(t, p)
		return err
	})
	return files, err
}
