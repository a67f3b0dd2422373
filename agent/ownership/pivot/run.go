package pivot

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// pollInterval is the default of Parts.PollInterval.
const pollInterval = 2 * time.Second

// A Pivot is one move of a fleet.
type Pivot struct {
	w     Destination
	p     Parts
	shown []Step
}

// New returns a pivot.
func New(w Destination, p Parts) *Pivot { return &Pivot{w: w, p: p} }

func (p *Pivot) steps() steps {
	return steps{want: p.w, home: p.p.Home != nil, kubeconfig: p.p.Kubeconfig != nil, old: p.p.Old != nil}
}

// Preview returns the present steps, and changes nothing.
func (p *Pivot) Preview(ctx context.Context) ([]Step, error) {
	seen, err := p.observe(ctx)
	if err != nil {
		return nil, err
	}
	return p.steps().Steps(seen), nil
}

// Run does steps until all are done. An error names the step that failed. The same call
// goes on from there.
func (p *Pivot) Run(ctx context.Context) error {
	for {
		seen, err := p.observe(ctx)
		if err != nil && ctx.Err() == nil && !isTransient(err) {
			return err
		}
		if err == nil {
			list := p.steps().Steps(seen)
			p.show(list)
			i := slices.IndexFunc(list, func(s Step) bool { return s.State == Now })
			if i < 0 {
				return nil
			}
			if !list[i].Waits {
				err = p.execute(ctx, list[i].Name, seen)
				if err == nil {
					continue
				}
				if ctx.Err() == nil && !isTransient(err) {
					return fmt.Errorf("%s: %w", list[i].Name, err)
				}
			}
		}
		if err != nil {
			p.show(append(slices.Clone(p.shown), Step{Name: Retrying, State: Now, Why: err.Error(), Waits: true}))
			p.shown = p.shown[:max(0, len(p.shown)-1)]
		}
		wait := cmp.Or(p.p.PollInterval, pollInterval)
		if seen.Next.To != p.w.To {
			wait = max(wait, p.p.IdleInterval)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// isTransient reports whether another attempt may succeed after err.
func isTransient(err error) bool {
	switch fleet.KindOf(err) {
	case fleet.Unavailable, fleet.Unanswered, fleet.Conflict, fleet.NotFound:
		return true
	}
	return false
}

func (p *Pivot) show(list []Step) {
	if p.p.Show != nil && !slices.Equal(list, p.shown) {
		p.p.Show(list)
	}
	p.shown = list
}

// change makes a call that changes something, with the hook around it.
func (p *Pivot) change(call string, do func() error) error {
	if p.p.Hook != nil {
		p.p.Hook("before " + call)
	}
	err := do()
	if p.p.Hook != nil {
		p.p.Hook("after " + call)
	}
	return err
}

// observe looks at what decides which step is next, in the order of the steps, and no
// further.
func (p *Pivot) observe(ctx context.Context) (Observed, error) {
	var s Observed
	var err error
	if s.Owner, s.Next, err = p.p.Arbiter.Succession(ctx); err != nil {
		return s, err
	}
	owned := p.w.Arrived(s.Owner)
	var home Home
	if p.p.Home != nil {
		home, err = p.p.Home(ctx)
		if err == nil && !owned {
			err = home.CheckReady(ctx)
		}
		if err != nil {
			s.Unreachable = err.Error()
			if owned {
				return s, err
			}
			return s, nil
		}
	}
	if !owned && home != nil && s.Next.To != p.w.To {
		if s.Addons, err = home.Addons(ctx); err != nil {
			return s, err
		}
		st, err := p.p.Status(ctx)
		if err != nil {
			return s, err
		}
		s.ControlPlane = incomplete(st, p.w.Home, p.w.WaitProvisioned)
	}
	if !owned {
		s.Installed = true
		if home != nil {
			s.Installed, err = home.Installed(ctx)
		}
		return s, err
	}
	return s, p.observeOld(ctx, &s)
}

// observeOld looks at what the old owner has left, after the fleet has its new owner.
func (p *Pivot) observeOld(ctx context.Context, s *Observed) error {
	if s.Next != (fleet.Succession{}) {
		return nil
	}
	if p.p.Kubeconfig != nil {
		d, err := p.kubeconfig(ctx)
		if err != nil {
			return err
		}
		s.Kubeconfig = p.p.Kubeconfig.Written(d)
	}
	if p.w.SkipCleanup {
		return nil
	}
	clusters, err := p.p.Clusters(ctx)
	if err != nil {
		return err
	}
	to, err := p.target(ctx)
	if err != nil {
		return err
	}
	left, err := leftover(ctx, p.p.From, to, clusters)
	if err != nil {
		return err
	}
	for _, l := range left {
		s.Leftover = append(s.Leftover, l.String())
	}
	if p.p.Old != nil {
		s.OldAgent, err = p.p.Old.Installed(ctx)
	}
	return err
}

// kubeconfig returns the administrator's kubeconfig of the home.
func (p *Pivot) kubeconfig(ctx context.Context) (fleet.Secret, error) {
	home, err := p.p.Home(ctx)
	if err != nil {
		return fleet.Secret{}, err
	}
	d, err := home.Secrets().Get(ctx, p.w.Home, fleet.Kubeconfig)
	return d[fleet.KubeconfigKey], err
}

// incomplete says why the control plane of k, or with whole all of k, is not ready. Empty:
// it is ready.
func incomplete(s status.Status, k fleet.Key, whole bool) string {
	c, ok := s.Cluster(k)
	if !ok {
		return fmt.Sprintf("nothing is known of %s yet", k)
	}
	for _, pool := range c.Report.Pools {
		if pool.Role != fleet.RoleControlPlane {
			continue
		}
		if pool.Ready < pool.Desired || pool.Current != pool.Desired {
			return fmt.Sprintf("%d of %d machines of %s are ready", pool.Ready, pool.Desired, k)
		}
		if phase := c.Report.Phase; whole && phase != fleet.PhaseProvisioned {
			return fmt.Sprintf("%s is %s, not %s yet", k, cmp.Or(phase, "unknown"), fleet.PhaseProvisioned)
		}
		return ""
	}
	return fmt.Sprintf("%s has no control plane yet", k)
}
