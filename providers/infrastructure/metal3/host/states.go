package host

import (
	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
)

// states decide of a host in a state, out of maintenance, with nothing under way and no
// machine to be released.
var states = map[ironic.State]func(Phase, Declared, *ironic.Node) Decision{ //nolint:gochecknoglobals // a constant that Go cannot write as one
	ironic.Enroll:        func(p Phase, _ Declared, n *ironic.Node) Decision { return again(p, Manage, n) },
	ironic.Verifying:     under,
	ironic.Manageable:    manageable,
	ironic.Inspecting:    under,
	ironic.InspectWait:   under,
	ironic.InspectFailed: inspectFailed,
	ironic.Available:     available,
	ironic.Deploying:     under,
	ironic.DeployWait:    under,
	ironic.DeployHold:    onHold,
	ironic.DeployFailed:  deployFailed,
	ironic.Active:        active,
	ironic.Adopting:      under,
	ironic.AdoptFailed:   adoptFailed,
	ironic.Deleting:      under,
	ironic.Error:         unreleased,
	ironic.Cleaning:      under,
	ironic.CleanWait:     under,
	ironic.CleanHold:     onHold,
	ironic.CleanFailed:   cleanFailed,
	ironic.Servicing:     under,
	ironic.ServiceWait:   under,
	ironic.ServiceHold:   onHold,
	ironic.ServiceFailed: serviceFailed,
}

// under waits for an operation under way.
func under(p Phase, _ Declared, _ *ironic.Node) Decision { return wait(p) }

// onHold means that another user told Ironic to stop in the middle of its steps.
func onHold(p Phase, _ Declared, _ *ironic.Node) Decision {
	return held(p, "Ironic was told to hold there (unhold it in Ironic)")
}

// manageable is a host whose BMC answers: adopted where a machine runs, else inspected and
// made available.
func manageable(p Phase, h Declared, n *ironic.Node) Decision {
	switch {
	case own(h, n) && h.Machine.Running:
		return do(p, Adopt)
	case own(h, n):
		return held(p, "it is claimed for machine %s, and is not available: provide would erase it (make it available in Ironic, or delete the machine)", h.Machine.Name)
	case h.External && n.Instance == "":
		return do(p, Adopt)
	case n.Instance == "" && h.Machine != nil && h.Machine.Running && h.Tags != Unsettled:
		return do(p, Claim)
	}
	return prepare(p, h, n)
}

// prepare brings a host without an owner towards available.
func prepare(p Phase, h Declared, n *ironic.Node) Decision {
	if why := whyInUse(h, n); why != "" {
		return held(p, "%s", why)
	}
	if n.Power == ironic.PowerUnknown {
		return wait(p) // whether it is on decides
	}
	if why := whyMayRun(h, n); why != "" {
		return held(p, "%s", why)
	}
	if h.TooNew {
		return wait(p)
	}
	if toBeInspected(h, n) {
		return do(p, Inspect)
	}
	switch h.Preparation {
	case Unprepared, PreparationAsked:
		return do(p, Prepare)
	case PreparationEnded:
		return do(p, NotePrepared)
	case PreparationDropped:
		return do(p, NoteUnprepared)
	}
	return do(p, Provide)
}

// inspectFailed is inspected once more, unless it is on: it may have been before. What runs is
// on its way to be adopted.
func inspectFailed(p Phase, h Declared, n *ironic.Node) Decision {
	if h.External || h.Machine != nil && h.Machine.Running {
		return again(p, Manage, n)
	}
	d := prepare(p, h, n)
	d.Err = n.Failure()
	if d.Step != None && d.Step != Inspect {
		d.Step = Manage // Git asks for no inspection any more
	}
	return d
}

// available is a host that machines can have.
func available(p Phase, h Declared, n *ironic.Node) Decision {
	m := h.Machine
	switch {
	case own(h, n) && m.Running:
		return held(p, "machine %s ran on it, and Ironic made it available since: what was on it is lost (delete the machine)", m.Name)
	case own(h, n) && h.Node != "":
		return held(p, "Node %s runs on it (delete the Node)", h.Node)
	case own(h, n) && n.Power == ironic.PowerOn && !h.Erase:
		return held(p, "it was switched on before machine %s was deployed, and something may run on it (delete the machine, or switch it off)", m.Name)
	case own(h, n):
		return do(p, Deploy)
	}
	if why := whyMayRun(h, n); why != "" {
		return held(p, "%s", why)
	}
	switch {
	case h.External:
		return held(p, "it is externally provisioned, and Ironic calls it available: what was on it is lost (correct externallyProvisioned)")
	case n.Power == ironic.PowerUnknown:
		return held(p, "its power state is not known, and something may run on it (wait until its BMC answers)")
	case m == nil && ToBePrepared(h, n):
		return do(p, Manage)
	case m == nil:
		return wait(p)
	case n.Retired:
		return held(p, "it is retired in Ironic")
	}
	return do(p, Claim)
}

// toBeInspected reports whether n needs an inspection, or another one.
func toBeInspected(h Declared, n *ironic.Node) bool {
	return h.Inspect && (n.Inspected.IsZero() || h.InspectAgain)
}

// ToBePrepared reports whether n is available, and is to be inspected again or prepared before a machine
// has it.
func ToBePrepared(h Declared, n *ironic.Node) bool {
	return n.State == ironic.Available && !n.Retired && (h.InspectAgain && h.Inspect || h.Preparation != Prepared && h.Preparation != PreparationDropped)
}

// deployFailed is deployed again where Ironic itself was in the way. What the host or the
// image is to blame for is the machine's end.
func deployFailed(_ Phase, h Declared, n *ironic.Node) Decision {
	switch {
	case !own(h, n):
		return held(Failed, "%s", foreign(n))
	case fleet.KindOf(n.Failure()) == fleet.Unavailable && !h.Machine.Running:
		return again(Provisioning, Deploy, n)
	}
	return again(Failed, None, n)
}

// foreign says that a host is no machine's of h.
func foreign(n *ironic.Node) string {
	if n.Instance == "" {
		return "it is " + string(n.State) + " and no machine's (release it in Ironic)"
	}
	return "it is " + string(n.State) + " as " + n.Instance + ", which is no machine of this cluster (release it there)"
}

// active is a host that a machine runs on. Its power is as Git says, by Ironic: it would
// switch back what is switched otherwise.
func active(p Phase, h Declared, n *ironic.Node) Decision {
	if p != External && !own(h, n) {
		return held(p, "%s", foreign(n))
	}
	switch {
	case n.PowerTarget != "":
		return again(p, None, n)
	case h.Online && n.Power == ironic.PowerOff:
		return again(p, PowerOn, n)
	case !h.Online && n.Power == ironic.PowerOn:
		return again(p, PowerOff, n)
	case h.Moved != "":
		return held(p, "%s", h.Moved)
	case p == External:
	case h.Preparation == PreparationEnded:
		return do(p, NotePrepared)
	case h.Preparation == PreparationDropped:
		return do(p, NoteUnprepared)
	case serviceable(h) && n.Power == ironic.PowerOff:
		return again(p, Service, n)
	case h.Outstanding != "":
		return inTheWay(p, h)
	}
	return again(p, None, n)
}

// inTheWay tells what waits for the machine on a host to go.
func inTheWay(p Phase, h Declared) Decision {
	or := ""
	if h.Preparation == Unprepared {
		or = ", or keep it off with online: false"
	}
	return held(p, "Git says other %s, and machine %s runs on it (replace the machine%s)", h.Outstanding, h.Machine.Name, or)
}

// serviceable reports whether h is to be serviced, and may be.
func serviceable(h Declared) bool {
	return h.KeptOff && (h.Preparation == Unprepared || h.Preparation == PreparationAsked)
}

// serviceFailed is serviced again while people keep its machine off. Else it is left: what Ironic
// did with its machine it tells.
func serviceFailed(p Phase, h Declared, n *ironic.Node) Decision {
	switch {
	case !own(h, n):
		return held(p, "%s", foreign(n))
	case n.Maintenance:
		return again(p, UnsetMaintenance, n)
	case h.Preparation == PreparationEnded, h.Preparation == PreparationDropped:
		return again(p, NoteUnprepared, n)
	case serviceable(h):
		return again(p, Service, n)
	}
	return again(p, Abort, n)
}

// adoptFailed leaves what runs on the host alone.
func adoptFailed(p Phase, h Declared, n *ironic.Node) Decision {
	if own(h, n) && h.Machine.Running || h.External && n.Instance == "" {
		return again(p, Adopt, n)
	}
	return held(p, "%s", foreign(n))
}

// unreleased is a host whose release failed: its machine may run on, though Ironic does not
// know whose it is.
func unreleased(p Phase, _ Declared, n *ironic.Node) Decision {
	d := held(p, "its release failed, and the machine of its tags may run on (delete that machine, or release the host in Ironic)")
	d.Err = n.Failure()
	return d
}

// cleanFailed goes on with cleaning: nothing has run on the host since it began. The ramdisk
// may, and is switched off, so that a host which is on is one that may be in use.
func cleanFailed(p Phase, h Declared, n *ironic.Node) Decision {
	if why := whyInUse(h, n); why != "" {
		return held(p, "%s", why)
	}
	switch {
	case h.Preparation == PreparationEnded, h.Preparation == PreparationDropped:
		return again(p, NoteUnprepared, n)
	case n.Maintenance:
		return again(p, UnsetMaintenance, n)
	case n.PowerTarget != "", n.Power == ironic.PowerUnknown:
		return again(p, None, n)
	case n.Power == ironic.PowerOn:
		return again(p, PowerOff, n)
	}
	return again(p, Manage, n)
}

// release decides of a host whose machine is to go, where that is all there is to decide.
// BMCs that are silent were left out before: Ironic takes a release even so, and forgets
// whose the host is while the machine runs on.
func release(p Phase, h Declared, n *ironic.Node) (d Decision, decided bool) {
	failed := n.State == ironic.Error && n.Instance == "" && h.Tags == Own
	if !failed && !own(h, n) {
		return Decision{}, false
	}
	if n.Protected {
		return held(p, "it is protected (unset protected of the node in Ironic)"), true
	}
	switch n.State {
	case ironic.Active, ironic.DeployWait, ironic.DeployFailed, ironic.Error, ironic.ServiceFailed:
		return again(Deprovisioning, Undeploy, n), true
	case ironic.Available:
		return do(p, Unclaim), true
	case ironic.Manageable:
		if !h.Machine.Running {
			return do(p, Unclaim), true
		}
	}
	return Decision{}, false // only an active host can be released: it becomes active as without a request
}

// ended is h without a machine that is to go and is not on the host any more: it is gone from
// cleaning on.
func ended(h Declared, n *ironic.Node) Declared {
	switch n.State {
	case ironic.Available, ironic.Cleaning, ironic.CleanWait, ironic.CleanHold, ironic.CleanFailed:
	default:
		if h.Machine.Running || own(h, n) {
			return h
		}
	}
	h.Machine = nil
	return h
}
