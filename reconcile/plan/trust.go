package plan

import (
	"fmt"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/text"
)

// signedLast is how long what an old authority has signed is in use at most:
// tokens of service accounts, which kubelets renew every day, and the
// certificates of kubelets, which are made to last a day meanwhile.
// Source: Kubernetes, "Managing Service Accounts", bound tokens.
const signedLast = 25 * time.Hour

// trust returns what of the cluster's trust machines of role are to be made with.
func (f *facts) trust(role fleet.Role) fleet.Trust {
	return f.Desired.Trust(role, f.Observed.Secrets.Marks)
}

// rotation returns the rotation of an authority that is under way, or else the
// next that is wished for; false where there is none. What has begun is finished,
// though the request be taken back or renewed.
func (f *facts) rotation() (r fleet.Rotation, now fleet.RotationState, wish string, ok bool) {
	for _, r := range fleet.Rotations() {
		if now := f.Observed.Secrets.Rotations[r.Authority()]; now.UnderWay() {
			return r, now, now.Wish, true
		}
	}
	for _, r := range fleet.Rotations() {
		name, value := r.Authority(), f.Desired.Rotate[r]
		if name == "" || value == "" || name == fleet.EtcdCA && f.Observed.Distribution.Traits.External() {
			continue
		}
		now, wish := f.Observed.Secrets.Rotations[name], fleet.TrustChecksum([]byte(value))
		if now.Wish != wish {
			return r, now, wish, true
		}
	}
	return "", fleet.RotationState{}, "", false
}

// keepTrust takes the rotation of an authority to its next stage once all
// machines that know it are of the last one, and well. Nothing else changes the
// control plane meanwhile, and whatever does not hold is waited for: so at every
// time the signing key is trusted by all.
func (d *draft) keepTrust() {
	r, now, wish, ok := d.rotation()
	if !ok || d.authoritiesLost() {
		return
	}
	if d.Desired.Hosted != nil {
		d.note("rotation of %s: the control plane is not Fairlead's, and neither are its CA certificates: its operator rotates them", r)
		return
	}
	next := now.Stage.Next(r.Authority())
	if s := d.unseen(); s != nil {
		d.note("rotation of %s%s waits for %s: machines there trust what they were made with", r, stageOf(now), d.title(s))
		return
	}
	switch {
	case d.controlPlane().pool.Paused:
		d.note("rotation of %s: the control plane is paused", r)
		return
	case !d.controlPlaneDone():
		d.wait("rotation of %s%s waits until every control-plane machine is made of what it is now, and well", r, stageOf(now))
		return
	case r == fleet.RotateCA && d.keptTrust(r, now):
		return
	case r == fleet.RotateCA && len(d.leftBehind()) > 0:
		d.note("rotation of %s%s waits for machines that have to be replaced by hand, as their pools are paused or replace none by themselves: %s",
			r, stageOf(now), text.Some(d.leftBehind()))
		return
	case r == fleet.RotateCA && !d.ownWorkersDone():
		d.wait("rotation of %s%s waits for every worker to be made of what it is now, and well", r, stageOf(now))
		return
	case d.unsettled():
		return
	case r == fleet.RotateCA && next == fleet.RotationSign:
		if d.rest(now) {
			d.note("rotation of %s%s waits until %s: kubeconfigs that people and programs keep have to be fetched again by then", r, stageOf(now), d.from(now.Since).Add(signedLast).UTC().Format(time.RFC3339))
			return
		}
	case now.Stage == fleet.RotationHold:
		if d.rest(now) {
			d.note("rotation of %s%s waits until %s, when nothing that the old one signed is in use", r, stageOf(now), d.from(now.Since).Add(signedLast).UTC().Format(time.RFC3339))
			return
		}
	}
	why := map[fleet.RotationStage]string{
		fleet.RotationTrust:  "the new one is trusted beside the old",
		fleet.RotationSpread: "the control plane is made once more, so that all that runs there trusts both",
		fleet.RotationSign:   "the new one signs, and the old is still trusted",
		fleet.RotationHold:   "all that signs is of the new one",
		fleet.RotationDone:   "the new one alone is trusted",
	}[next]
	d.request(fleet.Action{
		Kind: fleet.RotateAuthority, Authority: r.Authority(), Stage: next, Wish: wish,
		Reason: fmt.Sprintf("rotation of %s: %s", r, why),
	})
}

// keptTrust reports whether the rotation of the CA of the cluster waits for pools that its cloud keeps, and says so: what
// their machines trust is the cloud's affair.
func (d *draft) keptTrust(r fleet.Rotation, now fleet.RotationState) bool {
	var inGit, others []string
	for _, k := range d.kept {
		switch {
		case k.seen == nil && !d.keptBegun(k.name):
		case k.pool == nil:
			others = append(others, string(k.name))
		default:
			inGit = append(inGit, string(k.name))
		}
	}
	if len(inGit) > 0 {
		d.refuse("rotation of %s%s does not go on while a cloud keeps pools of the cluster, since Fairlead does not know what their machines trust: remove pool %s from Git, and add it again after the rotation",
			r, stageOf(now), text.Some(inGit))
	} else if len(others) > 0 {
		d.wait("rotation of %s%s waits until pool %s is deleted", r, stageOf(now), text.Some(others))
	}
	return len(inGit)+len(others) > 0
}

// rest reports whether the stage that is has to last longer.
func (d *draft) rest(now fleet.RotationState) bool {
	left := d.from(now.Since).Add(signedLast).Sub(d.Now)
	if left > 0 {
		d.wake(left)
	}
	return left > 0
}

// leftBehind names the workers that are not made of what the cluster's CA is
// now, and that are not going to be replaced.
func (f *facts) leftBehind() []string {
	want := f.trust(fleet.RoleWorker)
	var stay []string
	for _, g := range f.workers() {
		for _, m := range g.all {
			if m.Origin.Trust.Lacks(want) != "" && (g.pool.Paused || g.pool.Strategy == fleet.OnDelete) {
				stay = append(stay, string(m.Name))
			}
		}
	}
	return stay
}

func stageOf(s fleet.RotationState) string {
	if !s.UnderWay() {
		return ""
	}
	return fmt.Sprintf(" (stage %s)", s.Stage)
}
