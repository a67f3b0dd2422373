package status

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// incarnationPath is the file that says which process of the owner acts. It is a file beside
// owner.yaml because agents of earlier versions refuse an owner.yaml with an unknown field.
const incarnationPath = "incarnation.yaml"

// incarnationFile is incarnation.yaml.
type incarnationFile struct {
	typeMeta
	Number    int64  `json:"number"`              // of processes that began to act for the fleet
	Signature string `json:"signature,omitempty"` // of the number, where owners are signed
	// Process is random. Versions that do not know it verify Signature without it, so it has a
	// signature of its own.
	Process          string `json:"process,omitempty"`
	ProcessSignature string `json:"processSignature,omitempty"` // of number and process
}

// Begin makes this process the one that acts for the owner of, and returns the owner with
// the number of the process, and the succession under way. An earlier process reads a number
// above its own, and does not act any more. Begin pushes, so that a server that lags behind cannot answer for the
// one that is pushed to. A push that was not answered is not repeated once the branch has its random text: that proves
// that it was carried out.
func (a *Arbiter) Begin(ctx context.Context, of fleet.Owner) (fleet.Owner, fleet.Succession, error) {
	op := opBegin(of)
	var next ownership
	err := commit(ctx, a.branch, op, func(t fs.FS, _ bool) (sources.Commit, error) {
		now, begun, err := a.next(t, of, op)
		if err != nil {
			return sources.Commit{}, err
		}
		if next = now; begun {
			return sources.Commit{}, nil
		}
		return a.beginning(next)
	})
	if err != nil {
		return fleet.Owner{}, fleet.Succession{}, err
	}
	a.believe(next)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begins = ""
	return next.owner, next.next, nil
}

func opBegin(of fleet.Owner) string { return "begin to act for the fleet as " + of.Agent }

// next returns the ownership of of in t with the next number. If an earlier push of this process was carried out, begun is
// true, and the number is the one in t.
func (a *Arbiter) next(t fs.FS, of fleet.Owner, op string) (now ownership, begun bool, err error) {
	if err := refuseMoved(t, op); err != nil {
		return ownership{}, false, err
	}
	now, distrust, err := a.read(t)
	if err = errors.Join(err, distrust); err != nil {
		return ownership{}, false, err
	}
	if !now.owner.Is(of) || now.owner.Place != of.Place {
		return ownership{}, false, moved(op, now)
	}
	if now.signature != "" && a.Sign == nil {
		return ownership{}, false, fleet.Errorf(fleet.Invalid, op, "the owner of the fleet is signed, so the process that acts is: name a key with --signing-key")
	}
	written, process, err := readIncarnation(t, nil) // also one that is not believed: an agent without keys uses it
	if err != nil {
		return ownership{}, false, err
	}
	newest := max(written, now.owner.Incarnation, a.newest().owner.Incarnation)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begins == "" {
		a.begins = rand.Text()
	}
	if begun = process == a.begins; !begun {
		written = newest + 1
	}
	now.owner.Incarnation, now.owner.Process = written, a.begins
	return now, begun, nil
}

// beginning returns the commit which says that the process of next acts.
func (a *Arbiter) beginning(next ownership) (sources.Commit, error) {
	b, err := a.encodeIncarnation(next.owner, next.signature != "")
	return sources.Commit{
		Edits:   map[string][]byte{incarnationPath: b},
		Message: fmt.Sprintf("owner: process %d of %s begins", next.owner.Incarnation, next.owner.Agent), Trailers: trailers(fleet.Revision{}, next.owner),
	}, err
}

// encodeIncarnation returns incarnation.yaml, signed where owners are signed.
func (a *Arbiter) encodeIncarnation(o fleet.Owner, signed bool) ([]byte, error) {
	f := incarnationFile{typeMeta: incarnationKind.meta(), Number: o.Incarnation, Process: o.Process}
	if (a.Verify != nil || signed) && a.Sign != nil {
		number, process, err := signedIncarnation(f)
		if err == nil {
			f.Signature, err = a.Sign(number)
		}
		if err == nil && f.Process != "" {
			f.ProcessSignature, err = a.Sign(process)
		}
		if err != nil {
			return nil, fleet.Errorf(fleet.Invalid, "sign "+incarnationPath, "%w", err)
		}
	}
	return incarnationKind.encode(incarnationPath, f)
}

// signedIncarnation returns the two contents of incarnation.yaml that are signed.
func signedIncarnation(f incarnationFile) (number, process []byte, err error) {
	f.Signature, f.ProcessSignature = "", ""
	process, err = json.Marshal(f)
	if err != nil {
		return nil, nil, err
	}
	f.Process = ""
	number, err = json.Marshal(f)
	return append([]byte("fairlead-incarnation\n"), number...), append([]byte("fairlead-process\n"), process...), err
}

// readIncarnation returns the number of the process that acts, and its random text. The number is
// 0 without the file, if the file is damaged, or if verify, which may be nil, refuses its
// signature. A damaged file is written again by the owner. The text is empty if it is not known, as
// in a file of an earlier version.
func readIncarnation(t fs.FS, verify Verify) (number int64, process string, err error) {
	b, err := fs.ReadFile(t, incarnationPath)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, "", nil
	}
	if err != nil {
		return 0, "", unreadable(incarnationPath, err)
	}
	var f incarnationFile
	if incarnationKind.decode(b, &f) != nil || f.Number < 1 || f.Number >= maxCount {
		return 0, "", nil
	}
	if verify == nil {
		return f.Number, f.Process, nil
	}
	ofNumber, ofProcess, err := signedIncarnation(f)
	if err != nil {
		return 0, "", err
	}
	switch err := verify.check(ofNumber, f.Signature); {
	case err != nil && fleet.KindOf(err) != fleet.Unknown:
		return 0, "", err // the keys cannot be read
	case err != nil:
		return 0, "", nil
	}
	switch err := verify.check(ofProcess, f.ProcessSignature); {
	case err != nil && fleet.KindOf(err) != fleet.Unknown:
		return 0, "", err
	case err != nil:
		return f.Number, "", nil
	}
	return f.Number, f.Process, nil
}
