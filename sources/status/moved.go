package status

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// movedPath is the file of a branch whose status was moved to another branch. owner.yaml
// stays beside it, so that no agent claims the branch.
const movedPath = "moved.yaml"

// movedFile is moved.yaml.
type movedFile struct {
	typeMeta
	Branch string `json:"branch"` // that has the status now
}

// A Location says whose status a branch has, and where the status is.
type Location struct {
	Owner   fleet.Owner // zero: the branch is not there, or has no owner
	Fleet   fleet.ID    // empty: not known
	Applied fleet.Revision
	// AppliedMade is when Applied was made; zero: not known.
	AppliedMade time.Time
	MovedTo     string // the branch that has the status; empty: this one has it
	// Signposts are branches that have the status of other fleets.
	Signposts map[fleet.ID]string
}

// Locate returns whose status is in the tree of a branch. It reads no cluster. A damaged
// fleet.yaml says nothing.
func Locate(t fs.FS) (Location, error) {
	owner, err := readOwner(t)
	if err != nil {
		return Location{}, err
	}
	s, _ := readFleet(t)
	l := Location{Owner: owner, Fleet: s.Fleet.Fleet, Applied: s.Fleet.Applied, AppliedMade: s.Fleet.AppliedMade, Signposts: readSignposts(t)}
	l.MovedTo, err = movedTo(t)
	if err != nil {
		return Location{}, err
	}
	return l, nil
}

// ErrMovedUnknown says that moved.yaml is damaged: nobody knows which branch has the status.
var ErrMovedUnknown = errors.New("where the status was moved is not known")

// movedTo returns the branch that the status was moved to; empty: it was not moved.
func movedTo(t fs.FS) (string, error) {
	b, err := fs.ReadFile(t, movedPath)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var f movedFile
	if err == nil {
		err = movedKind.decode(b, &f)
	}
	if err == nil && f.Branch == "" {
		err = errors.New("it names no branch")
	}
	if err != nil {
		return "", unreadable(movedPath, fmt.Errorf("%w: %w. Fix: write into it which branch has the status of the fleet, or delete it if this one has", ErrMovedUnknown, err))
	}
	return f.Branch, nil
}

// CheckMoved returns an error for the tree of a branch whose status was moved to another branch.
func CheckMoved(t fs.FS, name string) error {
	to, err := movedTo(t)
	if err == nil && to != "" {
		err = fleet.Errorf(fleet.NotFound, "read the status on branch "+name, "the status of the fleet was moved to branch %q, and what is here is old. Fix: set --status-branch %[1]s, or name that branch in spec.status.branch of fleet.yaml", to)
	}
	return err
}

// Move copies all files of the branch from to the branch to, called name, and then says on
// the branch from that the status is there. It can be repeated after an error. The branch to
// must not have an owner of another fleet. If the status was there before, what is left of it
// goes.
func Move(ctx context.Context, from, to sources.Branch, name string) error {
	op := "move the status to branch " + name
	_, t, err := from.Read(ctx)
	if err != nil {
		return err
	}
	here, err := Locate(t)
	if err != nil {
		return err
	}
	files, err := filesOf(t)
	if err != nil {
		return err
	}
	maps.DeleteFunc(files, func(p string, _ []byte) bool { return p == movedPath || strings.HasPrefix(p, signpostsFolder+"/") })
	err = commit(ctx, to, op, func(there fs.FS, _ bool) (sources.Commit, error) {
		l, err := Locate(there)
		if err != nil {
			return sources.Commit{}, err
		}
		left := l.MovedTo != "" && l.Fleet == here.Fleet // by an earlier move
		if l.Owner != (fleet.Owner{}) && !left && (l.Owner != here.Owner || l.Fleet != here.Fleet) {
			return sources.Commit{}, fleet.Errorf(fleet.Conflict, op, "it has the status of fleet %q, owned by %q", l.Fleet, l.Owner.Agent)
		}
		edits := maps.Clone(files)
		if left {
			former, err := filesOf(there)
			if err != nil {
				return sources.Commit{}, err
			}
			for name := range former {
				if _, kept := files[name]; !kept && !strings.HasPrefix(name, signpostsFolder+"/") {
					edits[name] = nil
				}
			}
		}
		return sources.Commit{Edits: edits, Message: "fleet: the status was moved here", Trailers: trailers(fleet.Revision{}, here.Owner)}, nil
	})
	if err != nil {
		return err
	}
	return commit(ctx, from, op, func(fs.FS, bool) (sources.Commit, error) {
		b, err := movedKind.encode(movedPath, movedFile{typeMeta: movedKind.meta(), Branch: name})
		return sources.Commit{
			Edits: map[string][]byte{movedPath: b}, Message: fmt.Sprintf("fleet: the status was moved to %s", name), Trailers: trailers(fleet.Revision{}, here.Owner),
		}, err
	})
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
