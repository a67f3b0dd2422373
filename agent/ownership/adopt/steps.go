package adopt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/reconcile/plan"
)

// pause stops Cluster API's controllers, and waits until they confirm it. Then it reads the
// cluster again, since they may have changed it meanwhile.
func (a *Adoption) pause(ctx context.Context, c *candidate) error {
	a.o.OnStep(c.key, Pause, "its Cluster in the management cluster, until all controllers say so")
	if a.o.DryRun {
		return nil
	}
	now, err := a.o.Management.get(ctx, groupKind("Cluster"), a.o.Kinds, c.key)
	if err != nil {
		return err
	}
	if now.GetAnnotations()[adoptedBy] == "" || !paused(now) {
		notes := map[string]any{adoptedBy: string(a.o.Fleet)}
		if paused(now) && now.GetAnnotations()[adoptedBy] == "" {
			notes[pausedBefore] = "true"
		}
		body, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": now.GetResourceVersion(), "annotations": notes},
			"spec":     map[string]any{"paused": true},
		})
		if err != nil {
			return err
		}
		c.started = true // a request without an answer may have succeeded
		if _, err := a.o.Management.patch(ctx, c.key, body); err != nil {
			return err
		}
	}
	var f *existing
	began := a.o.Now()
	err = a.await(ctx, a.o.Timeout+a.o.PauseGrace, func() (string, error) {
		if f, err = a.read(ctx, c.key); err != nil {
			return "", err
		}
		if unpaused := f.unpausedObjects(); len(unpaused) > 0 {
			return "the controllers of " + strings.Join(unpaused[:min(3, len(unpaused))], ", ") + " have not paused yet", nil
		}
		if silent := f.silentObjects(); len(silent) > 0 && a.o.Now().Sub(began) < a.o.PauseGrace {
			return "the controllers of " + strings.Join(silent[:min(3, len(silent))], ", ") + " do not report whether they have paused, and may go on with what they began", nil
		}
		return "", nil
	})
	if err != nil {
		return fmt.Errorf("cannot pause %s: %w", c.key, err)
	}
	if len(f.problems) > 0 || !slices.Equal(f.adopted(c.desired), c.machines) {
		text := "its machines are others now"
		if len(f.problems) > 0 {
			text = f.problems[0].String()
		}
		return fleet.Errorf(fleet.Conflict, "adopt "+c.key.String(), "Cluster API was still at work when it was paused: %s (fairlead adopt --undo lets it finish; then run this again)", text)
	}
	return nil
}

// await calls look until that returns no reason to wait.
func (a *Adoption) await(ctx context.Context, timeout time.Duration, look func() (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(a.o.PollInterval)
	defer tick.Stop()
	for {
		waits, err := look()
		if err != nil || waits == "" {
			return err
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fleet.Errorf(fleet.Unavailable, "go on", "after %s %s", timeout, waits)
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// mark gives everything the ownership tags, and waits until they show.
func (a *Adoption) mark(ctx context.Context, c *candidate) error {
	for _, m := range c.untagged {
		a.o.OnStep(c.key, Mark, m)
	}
	if a.o.DryRun {
		return nil
	}
	if err := c.adopter.Adopt(ctx, c.desired, c.machines); err != nil {
		return err
	}
	return a.await(ctx, max(a.o.Timeout, c.settle), func() (string, error) {
		left, err := c.adopter.Adoptable(ctx, c.desired, c.machines)
		if err != nil || len(left) == 0 {
			return "", err
		}
		return "the mark of " + left[0] + " does not show", nil
	})
}

// plan checks with a new look that Fairlead has nothing to do.
func (a *Adoption) plan(ctx context.Context, c *candidate) error {
	if a.o.DryRun {
		a.o.OnStep(c.key, Plan, "would be empty")
		return nil
	}
	there, err := a.find(ctx, c.key)
	if err != nil {
		return err
	}
	if there == nil {
		return fleet.Errorf(fleet.Invalid, "plan "+c.key.String(), "fleet.yaml does not select %s (add it to spec.clusters.include)", c.folder)
	}
	running := *there
	running.Paused = false
	seen, err := a.o.Look(ctx, &running)
	if err != nil {
		return err
	}
	var wrong []string
	given := seen.Distribution.NeedsTo(func(n fleet.SecretNeed) bool { return n.Hosted }) // by the control plane, once an agent follows the cluster
	if missing := slices.DeleteFunc(seen.Secrets.Missing, func(n fleet.SecretName) bool { return running.Hosted != nil && slices.Contains(given, n) }); len(missing) > 0 {
		wrong = append(wrong, fmt.Sprintf("secrets are missing: %v", missing))
	}
	if len(seen.Infrastructure.Machines) != len(c.machines) {
		wrong = append(wrong, fmt.Sprintf("%d machines are seen, and there are %d", len(seen.Infrastructure.Machines), len(c.machines)))
	}
	drift := takeDrift(&seen) // checked one by one below
	for _, change := range forecast.Of(plan.Input{Desired: &running, Observed: seen, Now: seen.At}).Changes {
		if change.Kind == forecast.PrepareHost { // is drift, too
			continue
		}
		wrong = append(wrong, "Fairlead would "+describe(change))
	}
	for _, p := range seen.Infrastructure.Pools {
		for _, text := range p.Fixed {
			wrong = append(wrong, fmt.Sprintf("pool %s cannot become what Git says: %s", p.Name, text))
		}
	}
	if !seen.Infrastructure.Ready {
		wrong = append(wrong, "its infrastructure is not as Git says: "+seen.Infrastructure.Message)
	}
	prepared := preparations(seen.Infrastructure.Hosts)
	for _, d := range drift {
		if a.o.AcceptDrift || prepared[d] {
			a.o.OnStep(c.key, Note, "Fairlead will then "+d)
			continue
		}
		wrong = append(wrong, "Fairlead would "+d+" (--accept-drift lets it)")
	}
	if len(wrong) > 0 {
		return fleet.Errorf(fleet.Conflict, "adopt "+c.key.String(), "the plan is not empty: %s (correct what is in %s)", strings.Join(wrong, "; "), c.folder)
	}
	a.o.OnStep(c.key, Plan, "is empty")
	return nil
}

// takeDrift returns all that differs from Git in what was observed, and removes it from there.
func takeDrift(seen *fleet.Observed) []string {
	drift := seen.Infrastructure.Drift
	seen.Infrastructure.Drift = nil
	if seen.ControlPlane != nil {
		plane := *seen.ControlPlane
		drift = slices.Concat(drift, plane.Drift)
		plane.Drift = nil
		seen.ControlPlane = &plane
	}
	seen.Infrastructure.Pools = slices.Clone(seen.Infrastructure.Pools)
	for i := range seen.Infrastructure.Pools {
		p := &seen.Infrastructure.Pools[i]
		for _, d := range p.Drift {
			drift = append(drift, fmt.Sprintf("change pool %s: %s", p.Name, d))
		}
		p.Drift = nil
	}
	return drift
}

// preparations are what is to be done to hosts that no machine has: they are made ready for the
// next one, which changes nothing of the cluster.
func preparations(hosts []fleet.Host) map[string]bool {
	out := make(map[string]bool)
	for _, h := range hosts {
		if h.Next.Do != "" && h.Consumer == (fleet.HostConsumer{}) {
			out[h.Next.Do+": host "+h.Namespace+"/"+h.Name] = true
		}
	}
	return out
}
