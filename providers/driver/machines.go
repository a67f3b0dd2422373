package driver

import (
	"cmp"
	"slices"

	"fairlead.dev/fleet"
)

// Begin locks k for op. It returns an error of kind Conflict if k is locked, and otherwise the function
// that unlocks it.
func (l *Locks[K]) Begin(op string, k K) (end func(), err error) {
	if !l.TryLock(k) {
		return nil, fleet.Errorf(fleet.Conflict, op, "it is being worked on")
	}
	return func() { l.Unlock(k) }, nil
}

// A Seen is a machine as it was observed, the thing that it is, and where: "host prod/n0",
// "VM /dc/vm/eu-1-md-0-5f2a90c1".
type Seen[T any] struct {
	fleet.Machine
	Where string
	Thing T
	Begun bool // it was requested, and does not show yet what it is made from
	Parts bool // only parts of it are there: a create goes on with them, and a deletion removes them
}

// IsThere reports whether one of seen is the machine called name, made from template: a create adopts
// it. The error has the kind Conflict if one of that name is another machine, or may be.
func IsThere[T any](op string, name fleet.MachineName, template fleet.TemplateHash, seen []Seen[T]) (there bool, err error) {
	for i := range seen {
		switch m := &seen[i]; {
		case m.Name != name, m.Parts:
		case m.Damaged != "":
			return false, fleet.Errorf(fleet.Conflict, op, "%s has a machine of that name, and what it is is not certain: %s", m.Where, m.Damaged)
		case m.State == fleet.MachineDeleting:
			return false, fleet.Errorf(fleet.Conflict, op, "the last machine of that name is still being deleted")
		case m.Template != template && !m.Begun:
			return false, fleet.Errorf(fleet.Conflict, op, "it exists with another template, %s", m.Template)
		default:
			there = true
		}
	}
	return there, nil
}

// SortMachines orders list by name, then by provider id.
func SortMachines(list []fleet.Machine) {
	slices.SortFunc(list, func(a, b fleet.Machine) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ProviderID, b.ProviderID))
	})
}
