package wiring

import (
	"context"
	"strconv"
	"time"

	"fairlead.dev/agent"
	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/agent/observability/notify"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/secrets/credentials"
	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/status"
)

// NewAgent returns an agent of the real parts, working on w.
func NewAgent(s Settings, o agent.Options, w *Runtime, m *metrics.Metrics) (*agent.Agent, error) {
	source, err := s.OpenSource()
	if err != nil {
		return nil, err
	}
	renderer, err := s.rekeyedRenderer(RenderOptions{Pinned: s.newPins(pinTimeout, m.Pinned), Observe: func(st render.Stats) {
		m.Overlays(st.Built, st.Overlays-st.Built)
	}})
	if err != nil {
		return nil, err
	}
	return agent.New(o, agent.Parts{
		Source: source, Renderer: renderer,
		StatusBranch: s.statusBranches(source, o.Guard, m), OneStatusBranch: !s.namesStatusBranches(),
		Reconciler:     w.Passes,
		Looker:         func() ownership.Looker { return w.Looker() },
		Infrastructure: w.Infrastructure,
		Escrow:         s.escrow(w, o.Guard),
		Mover:          s.mover(source, w.Secrets),
		SecretFreezer:  w.freezable,
		Place:          s.place(w.Secrets),
		LivesIn:        livesIn(w.Secrets),
		NotificationTarget: func(t fleet.NotificationTarget) (notify.Sender, error) {
			c, err := notify.Folder(s.NotificationCredentials)(t.Name)
			if err != nil {
				return nil, err
			}
			return notify.Open(t, c, time.Now)
		},
		PullRequests: s.pullRequests(source, w, m),
		Metrics:      m, Watchdog: s.Watchdog, Tracer: s.Tracer, Reports: s.Reports, Log: s.Log,
	}), nil
}

// statusBranches returns what opens status branches beside source. Nothing is written
// there without asking guard, and nothing to the branch that is followed: the status would replace the fleet.
func (s Settings) statusBranches(source sources.Source, guard func() error, m *metrics.Metrics) func(name string) (agent.StatusBranch, error) {
	observe := func(u git.Usage) { m.StatusBranch(u.Content, u.Most, u.Pushed) }
	open := func(name string) (sources.Branch, error) { return s.openBranch(name, observe) }
	if r, ok := source.(*git.Repository); ok && s.StatusRepository == "" && s.StatusCredentials == (credentials.Files{}) {
		// One connection, so that a poll of both branches is one request.
		open = func(name string) (sources.Branch, error) {
			o, err := s.statusOptions(observe)
			if err != nil {
				return nil, err
			}
			return r.Branch(name, o)
		}
	}
	if r, ok := source.(*git.Repository); ok && (s.StatusRepository == "" || s.StatusRepository == s.Source) {
		anyBranch := open
		open = func(name string) (sources.Branch, error) {
			b, err := anyBranch(name)
			if err != nil {
				return nil, err
			}
			return status.Guarded(b, func() error {
				if !r.IsFollowed(name) {
					return nil
				}
				return fleet.Errorf(fleet.Unauthorized, "write the status to branch "+name,
					"the agent follows this branch, and the status would replace the fleet. Fix: name another branch in spec.status.branch of fleet.yaml, or with --status-branch")
			}), nil
		}
	}
	return func(name string) (agent.StatusBranch, error) {
		b, err := open(name)
		if err != nil {
			return agent.StatusBranch{}, err
		}
		keys, err := s.StatusKeys()
		if err != nil {
			return agent.StatusBranch{}, err
		}
		branch := s.statusBranch(status.Guarded(b, guard), keys, m)
		branch.MoveTo = func(ctx context.Context, other string) error {
			to, err := open(other)
			if err != nil {
				return err
			}
			return status.Move(ctx, status.Guarded(b, guard), status.Guarded(to, guard), other)
		}
		if !s.namesStatusBranches() {
			return branch, nil
		}
		branch.Post = func(ctx context.Context, id fleet.ID, was string, owner fleet.Owner) error {
			at, err := open(fleet.DefaultStatusBranch)
			if err != nil {
				return err
			}
			return status.Post(ctx, status.Guarded(at, guard), id, was, name, owner)
		}
		if name != fleet.DefaultStatusBranch {
			branch.Signpost = func(ctx context.Context, id fleet.ID) error {
				at, err := open(fleet.DefaultStatusBranch)
				if err != nil {
					return err
				}
				return status.Signpost(ctx, status.Guarded(at, guard), id, name)
			}
		}
		return branch, nil
	}
}

// ledger returns the status branch, by keys.
func (s Settings) statusBranch(branch sources.Branch, keys StatusKeys, m *metrics.Metrics) agent.StatusBranch {
	b := status.Watch(branch)
	arbiter, requests, scales := status.NewArbiter(b), status.NewRequests(b), status.NewScales(b)
	arbiter.Sign, arbiter.Verify = keys.Sign, keys.Verify
	requests.Verify, requests.People, requests.Owner = keys.Verify, keys.People, arbiter.In
	scales.Verify, scales.Owner = keys.Verify, arbiter.In
	if keys.Verify != nil {
		scales.Sign, requests.Sign = keys.Sign, keys.Sign
	}
	plans, approvals := status.NewPlans(b), status.NewApprovals(b)
	plans.Owner, approvals.Verify, approvals.People = arbiter.In, keys.Verify, keys.People
	return agent.StatusBranch{
		Arbiter: arbiter,
		Locate: func(ctx context.Context) (status.Location, error) {
			_, t, err := b.Read(ctx)
			if err != nil {
				return status.Location{}, err
			}
			return status.Locate(t)
		},
		Read:        func(ctx context.Context) (status.Status, error) { return readStatus(ctx, b) },
		ReadCluster: status.NewReader(b).ReadCluster,
		Requests:    requests,
		Wrote:       b.Wrote,
		Scales:      scales,
		Plans:       plans,
		Approvals:   approvals,
		Asks:        requests,
		Signed:      keys.Verify != nil,
		Writer: func(owner fleet.Owner, n *status.Notifications) sources.StatusWriter {
			return status.NewWriter(b, status.Options{
				Owner: owner, OwnerIn: arbiter.In, Interval: s.StatusInterval, Gap: min(s.StatusInterval, time.Second), Log: s.Log,
				Notifications: n,
				Observer: status.Observer{
					Commit: func(files int, took, lag time.Duration) {
						m.Pushed(took, lag)
						if s.Committed != nil {
							s.Committed()
						}
						s.Tracer.Done(context.Background(), "push", took, nil, "files", strconv.Itoa(files))
					},
					Race: func(error) { m.PushRace() },
					Error: func(err error) {
						m.SetPushError(err)
						if err != nil {
							s.Tracer.Done(context.Background(), "push", 0, err)
						}
					},
				},
			})
		},
	}
}
