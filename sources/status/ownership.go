package status

import (
	"errors"
	"fmt"
	"io/fs"

	"fairlead.dev/fleet"
)

// ownership is the content of owner.yaml and incarnation.yaml.
type ownership struct {
	owner     fleet.Owner
	next      fleet.Succession
	serial    int64  // of the change; 0 where it is not signed
	signature string // in armour
}

// ownerIn returns the owner by read, or, where that is nil, by readOwner.
func ownerIn(t fs.FS, read func(fs.FS) (fleet.Owner, error)) (fleet.Owner, error) {
	if read == nil {
		read = readOwner
	}
	return read(t)
}

// readOwner returns the owner, or zero where there is no owner.yaml.
func readOwner(t fs.FS) (fleet.Owner, error) {
	r, err := readOwnership(t, nil)
	return r.owner, err
}

// readOwnership returns what owner.yaml and incarnation.yaml say, or zero if there is no
// owner.yaml. With verify, an incarnation without a trusted signature is not known.
func readOwnership(t fs.FS, verify Verify) (ownership, error) {
	b, err := fs.ReadFile(t, ownerPath)
	if errors.Is(err, fs.ErrNotExist) {
		return ownership{}, nil
	}
	if err != nil {
		return ownership{}, unreadable(ownerPath, err)
	}
	number, process, err := readIncarnation(t, verify)
	if err != nil {
		return ownership{}, err
	}
	var f ownerFile
	if err := ownerKind.decode(b, &f); err != nil {
		return ownership{}, unreadable(ownerPath, err)
	}
	if f.Agent == "" || f.Epoch < 1 {
		return ownership{}, unreadable(ownerPath, fmt.Errorf("it is not an %s Owner with agent and epoch", apiVersion))
	}
	if f.Epoch > maxCount || f.Serial < 0 || f.Serial > maxCount { // the next one has to be greater
		return ownership{}, unreadable(ownerPath, fmt.Errorf("epoch and serial are at most %d", int64(maxCount)))
	}
	r := ownership{owner: fleet.Owner{Agent: f.Agent, Epoch: f.Epoch, Place: f.Place, Incarnation: number, Process: process}, serial: f.Serial, signature: f.Signature}
	if n := f.Successor; n != nil {
		r.next = fleet.Succession{ID: n.ID, To: n.Agent, Step: fleet.SuccessionStep(n.Step), Message: n.Message, Place: n.Place}
		if err := checkSuccession(r.next); err != nil {
			return ownership{}, unreadable(ownerPath, err)
		}
	}
	return r, nil
}

// checkSuccession refuses a succession that no agent could continue.
func checkSuccession(s fleet.Succession) error {
	switch s.Step {
	case fleet.StepAsked, fleet.StepGranted, fleet.StepMoved, fleet.StepReady, fleet.StepHandedOver:
	default:
		return fmt.Errorf("successor.step %q is not known", s.Step)
	}
	if s.ID == "" || s.To == "" {
		return errors.New("successor has no id or no agent")
	}
	return nil
}
