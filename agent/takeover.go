package agent

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"fairlead.dev/fleet"
)

// ParseOwner reads "AGENT@EPOCH".
func ParseOwner(s string) (fleet.Owner, error) {
	i := strings.LastIndex(s, "@")
	epoch, err := strconv.ParseInt(s[i+1:], 10, 64)
	if i < 1 || err != nil || epoch < 1 {
		return fleet.Owner{}, fmt.Errorf("%q is not AGENT@EPOCH, as fairlead status tells of the owner", s)
	}
	return fleet.Owner{Agent: s[:i], Epoch: epoch}, nil
}

// seize claims the fleet, and takes it from an owner that is gone where that
// very owner, with its epoch, was named.
func (a *Agent) seize(ctx context.Context) (fleet.Owner, error) {
	if err := a.locateSelf(ctx); err != nil {
		return fleet.Owner{}, err
	}
	owner, err := a.ledger.Arbiter.Claim(ctx, a.o.Name, a.at)
	gone := a.o.TakeOver
	if err != nil || gone == (fleet.Owner{}) || !owner.Is(gone) || a.is(owner) {
		return owner, err
	}
	a.p.Log.Warn("taking over the fleet from an agent that is said to be gone", "agent", owner.Agent, "epoch", owner.Epoch, "place", owner.Place)
	return a.ledger.Arbiter.HandOver(ctx, owner, a.o.Name, a.at)
}
