package plan

import (
	"fmt"
	"time"

	"fairlead.dev/fleet"
)

// tokensLast is how long a token of a service account is in use at most after it
// was issued: kubelets renew those that last longer every day.
// Source: Kubernetes, "Managing Service Accounts", bound tokens.
const tokensLast = 25 * time.Hour

// trust returns what of the cluster's trust machines of role are to be made with.
func (v *view) trust(role fleet.Role) fleet.Trust {
	return v.Desired.Trust(role, v.Observed.Secrets.Marks)
}

// rotation returns the rotation of an authority that is under way, or else the
// next that is wished for; false where there is none. What has begun is finished,
// though the wish be taken back or renewed.
func (v *view) rotation() (r fleet.Rotation, now fleet.RotationState, wish string, ok bool) {
	for _, r := range fleet.Rotations() {
		if now := v.Observed.Secrets.Rotations[r.Authority()]; now.UnderWay() {
			return r, now, now.Wish, true
		}
	}
	for _, r := range fleet.Rotations() {
		name, value := r.Authority(), v.Desired.Rotate[r]
		if name == "" || value == "" || name == fleet.EtcdCA && v.Desired.ExternalEtcd() {
			continue
		}
		now, wish := v.Observed.Secrets.Rotations[name], fleet.TrustMark([]byte(value))
		if now.Wish != wish {
			return r, now, wish, true
		}
	}
	return "", fleet.RotationState{}, "", false
}

// keepTrust takes the rotation of an authority to its next stage once all
// control-plane machines are of the last one, and well. Nothing else changes the
// control plane meanwhile, and whatever does not hold is waited for: so at every
// time all trust whoever signs.
func (v *view) keepTrust() {
	r, now, wish, ok := v.rotation()
	if !ok || v.authoritiesLost() {
		return
	}
	next := now.Stage.Next()
	switch {
	case v.groups[0].pool.Paused:
		v.wait("rotation of %s: the control plane is paused", r)
		return
	case v.blind || !v.initialized() || !v.controlPlaneDone():
		v.wait("rotation of %s%s waits until every control-plane machine is made of what it is now, and well", r, stageOf(now))
		return
	case v.unsettled():
		return
	case r == fleet.RotateServiceAccount && next == fleet.RotationDone:
		if left := v.newest().Add(tokensLast).Sub(v.Now); left > 0 {
			v.wait("rotation of %s%s waits until no token that the old key signed is in use", r, stageOf(now))
			v.wake(left)
			return
		}
	}
	why := map[fleet.RotationStage]string{
		fleet.RotationTrust: "the new one is trusted beside the old",
		fleet.RotationSign:  "the new one signs, and the old is still trusted",
		fleet.RotationDone:  "the new one alone is trusted",
	}[next]
	v.do(fleet.Action{
		Kind: fleet.RotateAuthority, Authority: r.Authority(), Stage: next, Wish: wish,
		Reason: fmt.Sprintf("rotation of %s: %s", r, why),
	})
}

// newest is when the youngest control-plane machine was asked for: from then on
// at the latest, all of them are of one stage.
func (v *view) newest() time.Time {
	var at time.Time
	for _, m := range v.groups[0].all {
		if made := m.MadeAt(); made.After(at) {
			at = made
		}
	}
	return at
}

func stageOf(s fleet.RotationState) string {
	if !s.UnderWay() {
		return ""
	}
	return fmt.Sprintf(" (stage %s)", s.Stage)
}
