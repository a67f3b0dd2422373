package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// Verify returns who signed content, given an armoured signature. An error says why the
// signature does not count. An error with a kind says that the keys cannot be read.
type Verify func(content []byte, signature string) (who string, err error)

func (v Verify) check(content []byte, signature string) error {
	_, err := v(content, signature)
	return err
}

// Trusted is Read that also says, of each request, each number of machines and the owner,
// why agents that verify ignore it. Without verify it is Read.
func Trusted(t sources.Tree, verify Verify) (Status, error) {
	return (&Reading{Verify: verify}).Read(t)
}

// trusted returns s, which was read from t, with what verify says.
func trusted(t sources.Tree, verify Verify, s Status, err error) (Status, error) {
	s.Checked = true
	a := &Arbiter{Verify: verify}
	_, distrust, errOwner := a.read(t)
	var errRequests, errScales error
	s.Requests, errRequests = (&Requests{Verify: verify}).list(t, asWritten)
	s.Scales, errScales = (&Scales{Verify: verify}).list(t)
	for _, e := range []error{errOwner, errRequests, errScales} {
		if e != nil && fleet.KindOf(e) != fleet.Invalid { // Read reports what cannot be read
			return s, e
		}
	}
	if distrust != nil {
		s.Doubt = distrust.Error()
	}
	return s, err
}

// ErrDistrusted says that owner.yaml is not believed: it is older than before, it is gone,
// or the agents of the fleet have keys and no trusted key signed it. The last known owner
// stays the owner.
var ErrDistrusted = errors.New("the owner on the status branch is not believed")

// signedOwner returns the content of owner.yaml that is signed. It begins differently from
// any commit, tag or request.
func signedOwner(r ownership) ([]byte, error) {
	r.signature = ""
	b, err := json.Marshal(ownerFileOf(r))
	return append([]byte("fairlead-owner\n"), b...), err
}

// read returns the owner in the tree of a status branch, and why it is not to be believed.
// An owner that is not believed is not remembered.
func (a *Arbiter) read(t fs.FS) (now ownership, distrust, err error) {
	now, err = readOwnership(t, a.Verify)
	if _, errMoved := fs.Stat(t, movedPath); errMoved == nil && err == nil && now != (ownership{}) {
		now.owner.Incarnation++ // a process that acts by this branch reads that another one took the status along
	}
	if err != nil && fleet.KindOf(err) != fleet.Invalid {
		return now, nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if was := a.believed.owner; now.owner.Process == "" && now.owner.Incarnation == was.Incarnation {
		now.owner.Process = was.Process // earlier versions do not keep it, and without a key it can be taken out
	}
	if err == nil {
		err, distrust = a.check(now)
	}
	if fleet.KindOf(err) == fleet.Invalid && (a.Verify != nil || a.believed != (ownership{})) {
		distrust, err = err, nil
	}
	switch {
	case err != nil:
		return ownership{}, nil, err
	case distrust != nil:
		return now, fleet.Errorf(fleet.Unavailable, "read "+ownerPath+" of the status branch", "%w: %w", ErrDistrusted, distrust), nil
	case now != (ownership{}) && (a.Verify == nil || now.signature != ""):
		a.believed = now
	}
	return a.asAssumed(now), nil, nil
}

// check returns why now is not to be believed. The caller holds a.mu.
func (a *Arbiter) check(now ownership) (err, distrust error) {
	if now == (ownership{}) {
		if a.believed != (ownership{}) {
			distrust = errors.New("it is gone")
		}
		return nil, distrust
	}
	if a.Verify != nil {
		content, err := signedOwner(now)
		if err != nil {
			return err, nil
		}
		if err := a.Verify.check(content, now.signature); err != nil {
			if fleet.KindOf(err) != fleet.Unknown {
				return err, nil // the keys cannot be read
			}
			return nil, err
		}
	}
	if was := a.believed; now.isOlder(was) {
		return nil, fmt.Errorf("it is older than epoch %d, change %d, process %d, which was there before", was.owner.Epoch, was.serial, was.owner.Incarnation)
	}
	return nil, nil
}

// isOlder reports whether r was on the branch before other. Without keys no change but a
// new owner or a new process is counted.
func (r ownership) isOlder(other ownership) bool {
	return r.owner.Epoch < other.owner.Epoch || r.owner.Incarnation < other.owner.Incarnation ||
		r.owner.Epoch == other.owner.Epoch && r.signature != "" && r.serial < other.serial
}

// In returns the owner in the tree of a status branch. The error wraps ErrDistrusted where
// the owner is not to be believed.
func (a *Arbiter) In(t fs.FS) (fleet.Owner, error) {
	now, distrust, err := a.read(t)
	if err != nil || distrust != nil {
		return fleet.Owner{}, errors.Join(err, distrust)
	}
	return now.owner, nil
}

// An ifUntrusted says what a change does with an owner that is not trusted.
type ifUntrusted int

const (
	fail          ifUntrusted = iota
	acceptOwnName             // accept it where no owner was known before and it names this agent
	overwrite
)

// accepts reports whether a change goes on with an owner that is not to be believed.
func (a *Arbiter) accepts(do ifUntrusted, now ownership) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return do == overwrite || do == acceptOwnName && a.believed == (ownership{}) && now != (ownership{})
}

func (a *Arbiter) believes(now ownership) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.believed == now
}

// believe remembers an owner that was written here.
func (a *Arbiter) believe(r ownership) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.believed = r
}

// newest returns the ownership that was believed last.
func (a *Arbiter) newest() ownership {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asAssumed(a.believed)
}

// sign signs next, which follows now, where owners are signed: by this agent, or by the one
// before.
func (a *Arbiter) sign(now, next ownership) (ownership, error) {
	next.serial, next.signature = 0, ""
	switch {
	case a.Verify == nil && now.signature == "":
		return next, nil
	case a.Sign == nil:
		return next, fleet.Errorf(fleet.Invalid, "sign "+ownerPath, "the owner of the fleet is signed, so its changes are: name a key with --signing-key")
	}
	a.mu.Lock()
	next.serial = a.believed.serial + 1
	if now.serial < maxCount { // a serial of others may leave no room for the next one
		next.serial = max(next.serial, now.serial+1)
	}
	a.mu.Unlock()
	content, err := signedOwner(next)
	if err == nil {
		next.signature, err = a.Sign(content)
	}
	if err != nil {
		return next, fleet.Errorf(fleet.Invalid, "sign "+ownerPath, "%w", err)
	}
	return next, nil
}
