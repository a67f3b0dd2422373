package pivot

import (
	"cmp"
	"fmt"
	"strings"

	"fairlead.dev/fleet"
)

// A Name describes a step, for people and for tests.
type Name string

// The steps, in their order.
const (
	TakeOver     Name = "take the fleet over"
	Owned        Name = "own the fleet"
	Reach        Name = "reach the API server"
	Addons       Name = "apply addons"
	ControlPlane Name = "control plane"
	Install      Name = "install the agent"
	Ask          Name = "ask for the fleet"
	Grant        Name = "owner agrees"
	Move         Name = "move the secrets"
	Ready        Name = "new agent is ready"
	HandOver     Name = "owner hands over"
	Acts         Name = "new owner acts"
	WriteConfig  Name = "write the kubeconfig"
	Clean        Name = "remove the secrets here"
	Uninstall    Name = "remove the old agent"
)

// Retrying is shown beside the steps while one is tried again after an error.
const Retrying Name = "trying again"

// A State says how far a step is.
type State string

// The states of a step.
const (
	Done  State = "done"
	Now   State = "now"
	Later State = "later"
)

// A Step is one step of a pivot.
type Step struct {
	Name  Name
	State State
	// Why says what the step is for. Of a step that somebody else does it says what it
	// waits for.
	Why   string
	Waits bool // somebody else does it
}

// Observed is what was seen of a pivot at one time. What only later steps need may not have
// been looked at.
type Observed struct {
	Owner fleet.Owner
	Next  fleet.Succession

	Unreachable  string   // why the home cannot be used; empty: it can
	Addons       []string // addons that are missing or differ
	ControlPlane string   // why the control plane is not complete; empty: it is
	Installed    bool
	Kubeconfig   bool     // it is written
	Leftover     []string // secrets in both stores, which can be removed from the old one
	OldAgent     bool     // the old home still has its agent
}

// steps says which steps a pivot has.
type steps struct {
	want       Destination
	home       bool
	kubeconfig bool
	old        bool
}

// Steps returns the steps of a pivot. It is a pure function of what was seen, and remembers
// nothing. At most one step is Now: the first that is not done.
func (s steps) Steps(seen Observed) []Step {
	w := s.want
	owned := w.Arrived(seen.Owner)
	var list []Step
	add := func(name Name, done, waits bool, why string) {
		list = append(list, Step{Name: name, State: map[bool]State{true: Done, false: Later}[done], Why: why, Waits: waits})
	}
	got := func(step fleet.SuccessionStep) bool {
		return owned || seen.Next.To == w.To && rank(seen.Next.Step) >= rank(step)
	}
	if w.TakeOver != (fleet.Owner{}) {
		add(TakeOver, !seen.Owner.Is(w.TakeOver), false, fmt.Sprintf("%s (epoch %d) is gone and is not asked", w.TakeOver.Agent, w.TakeOver.Epoch))
	}
	owner := cmp.Or(seen.Owner.Agent, "the owner")
	add(Owned, seen.Owner.Agent != "", true, "an agent claims the fleet, and acts until another one takes it")
	if s.home {
		add(Reach, owned || seen.Unreachable == "", true, seen.Unreachable)
		add(Addons, owned || len(seen.Addons) == 0, false, addonsOf(seen))
		add(ControlPlane, owned || seen.ControlPlane == "", true, seen.ControlPlane)
		add(Install, owned || seen.Installed, false, "an agent in the home that waits for the fleet")
	}
	if other := seen.Next.To; !owned && other != "" && other != w.To {
		add(Ask, false, true, fmt.Sprintf("the fleet is on its way to %q: until that is done or undone", other))
	} else {
		add(Ask, got(fleet.StepAsked), false, fmt.Sprintf("%s is to hand the fleet over to %s", owner, w.To))
	}
	add(Grant, got(fleet.StepGranted), true, owner+" stores no secrets from then on: is it running?")
	add(Move, got(fleet.StepMoved), false, "every secret is copied, and compared")
	ready := w.To + " looks at every cluster with them"
	if seen.Next.Message != "" {
		ready = w.To + " says: " + seen.Next.Message
	}
	add(Ready, got(fleet.StepReady), true, ready)
	add(HandOver, owned, true, owner+" ends what it does, and pushes")
	add(Acts, owned && seen.Next == (fleet.Succession{}), true, "its first status, with its own epoch")
	if s.kubeconfig {
		add(WriteConfig, seen.Kubeconfig, false, "the administrator's, of the home")
	}
	if !w.SkipCleanup {
		add(Clean, len(seen.Leftover) == 0, false, "they are with the new owner: "+firstOf(seen.Leftover))
		if s.old {
			add(Uninstall, !seen.OldAgent, false, "it would wait for a fleet that it does not get")
		}
	}
	for i := range list {
		if list[i].State != Done {
			list[i].State = Now
			break
		}
	}
	for i := range list { // a step after the current one is looked at again when the current one is done
		if list[i].State == Now {
			for j := i + 1; j < len(list); j++ {
				list[j].State = Later
			}
			break
		}
	}
	return list
}

func rank(step fleet.SuccessionStep) int {
	for i, s := range []fleet.SuccessionStep{fleet.StepAsked, fleet.StepGranted, fleet.StepMoved, fleet.StepReady, fleet.StepHandedOver} {
		if s == step {
			return i + 1
		}
	}
	return 0
}

// addonsOf says which addons are missing.
func addonsOf(seen Observed) string {
	if len(seen.Addons) == 0 {
		return "what nodes need to become ready"
	}
	return "nodes become ready with them: " + firstOf(seen.Addons)
}

// firstOf joins the first few items of a list.
func firstOf(list []string) string {
	const few = 3
	if len(list) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:few], ", "), len(list)-few)
	}
	return strings.Join(list, ", ")
}
