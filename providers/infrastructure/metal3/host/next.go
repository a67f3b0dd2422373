package host

import (
	"cmp"
	"fmt"

	"fairlead.dev/providers/infrastructure/metal3/ironic"
)

// Next returns what is to be done to a host. n is its node; nil: Ironic has none. That alone
// is no proof that no machine runs on it: where status in Git names machines and Ironic has
// no host of the fleet, the caller has an Ironic that lost its database.
func Next(h Declared, n *ironic.Node) Decision {
	phase := phaseOf(h, n)
	switch {
	case h.Paused:
		return held(phase, "it is paused")
	case n == nil && h.Gone:
		return wait(phase)
	case n == nil && h.Shared != "":
		return held(phase, "%s", h.Shared)
	case n == nil:
		return do(phase, Create)
	case n.Locked:
		return wait(phase)
	case h.Shared != "":
		return held(phase, "%s", h.Shared)
	}
	if d, stop := maintenance(phase, n); stop {
		d.Held = cmp.Or(d.Held, h.Moved)
		return d
	}
	if h.Machine != nil && h.Machine.Release {
		if d, decided := release(phase, h, n); decided {
			return d
		}
		h = ended(h, n)
	}
	if h.Gone {
		return held(phase, "Git no longer has it: it stays in Ironic (put it back, or remove it from Ironic)")
	}
	switch {
	case h.Moved == "", phase == External, own(h, n) && (n.State == ironic.Active || n.Serviced()):
	case h.Unproven:
		return do(phase, Renew)
	default:
		return held(phase, "%s", h.Moved)
	}
	if decide := states[n.State]; decide != nil {
		return decide(phase, h, n)
	}
	return held(phase, "its state is %s, which Fairlead does not know: finish in Ironic what was begun there", n.State)
}

// maintenance decides of a host that Ironic does nothing at; stop: nothing else does.
func maintenance(p Phase, n *ironic.Node) (d Decision, stop bool) {
	switch {
	case n.Fault == ironic.PowerFault: // heals by itself
		return again(p, None, n), true
	case !n.Maintenance, n.State == ironic.CleanFailed && n.Fault == ironic.CleanFault, n.State == ironic.ServiceFailed && n.Fault == ironic.ServiceFault:
		return Decision{}, false
	case n.MaintenanceReason != "":
		return held(p, "it is in maintenance: %s", n.MaintenanceReason), true
	}
	return held(p, "it is in maintenance"), true
}

// own reports whether n is the machine's of h.
func own(h Declared, n *ironic.Node) bool {
	return h.Machine != nil && h.Machine.Instance != "" && n.Instance == h.Machine.Instance
}

// whyInUse returns why something may run on a host that has no machine of h yet; empty: nothing does.
func whyInUse(h Declared, n *ironic.Node) string {
	switch {
	case n.Instance != "":
		return fmt.Sprintf("it is claimed as %s, which is no machine of this cluster (release it there)", n.Instance)
	case h.RememberedBy != "":
		return h.RememberedBy + " ran on it, and is to be adopted"
	case h.Node != "":
		return fmt.Sprintf("Node %s runs on it (adopt it, or delete the Node)", h.Node)
	case h.Tags == Unsettled:
		return "its extra has the tags of a machine that is not known to be gone (remove them when it is)"
	case h.Machine != nil && h.Machine.Running:
		return fmt.Sprintf("machine %s ran on it", h.Machine.Name)
	}
	return ""
}

// whyMayRun is whyInUse, and also holds a host that is on, since others may use it. So may a new
// host that Git keeps off: Ironic may have lost its database while the host was in service.
func whyMayRun(h Declared, n *ironic.Node) string {
	if why := whyInUse(h, n); why != "" {
		return why
	}
	if n.Power == ironic.PowerOn && !h.Erase {
		return "it is switched on, and something may run on it (adopt it, switch it off, or set the annotation fairlead.dev/erase to the present time)"
	}
	if h.New && h.KeptOff && !h.Erase {
		return "Git keeps it off, and something may be on its disk (set online: true, or set the annotation fairlead.dev/erase to the present time)"
	}
	return ""
}

// phaseOf returns the phase of a host.
func phaseOf(h Declared, n *ironic.Node) Phase {
	if n == nil {
		return Absent
	}
	switch n.State {
	case ironic.Enroll, ironic.Verifying:
		return Registering
	case ironic.Manageable:
		if n.Instance != "" {
			return Claimed
		}
		return Registering
	case ironic.Inspecting, ironic.InspectWait, ironic.InspectFailed:
		return Inspecting
	case ironic.Available:
		if n.Instance != "" {
			return Claimed
		}
		return Ready
	case ironic.Deploying, ironic.DeployWait, ironic.DeployHold, ironic.DeployFailed, ironic.Adopting, ironic.AdoptFailed:
		return Provisioning
	case ironic.Active, ironic.Servicing, ironic.ServiceWait, ironic.ServiceHold, ironic.ServiceFailed:
		if h.External && n.Instance == "" {
			return External
		}
		return Provisioned
	case ironic.Deleting, ironic.Error:
		return Deprovisioning
	case ironic.Cleaning, ironic.CleanWait, ironic.CleanHold, ironic.CleanFailed:
		return Preparing
	}
	return Unknown
}
