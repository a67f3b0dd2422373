package hosts

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/host"
	"fairlead.dev/providers/infrastructure/hosts/remote"
)

// A reader looks at hosts. It has nothing to change one with: what is asked of it
// alone, such as Observe, cannot act.
type reader struct {
	log     *slog.Logger
	tick    time.Duration // how old a look may be
	settle  time.Duration // how long a change may take to show
	secrets objects.Secrets
	cache   *lookCache
	hosts   querier
}

// A querier runs scripts that change nothing.
type querier interface {
	query(ctx context.Context, e *remote.Endpoint, q host.Query) ([]byte, error)
}

// A changer runs scripts that change a host.
type changer interface {
	change(ctx context.Context, e *remote.Endpoint, c host.Change) ([]byte, error)
}

// connections run scripts of both kinds over SSH.
type connections struct{ dialer *remote.Dialer }

func (c connections) query(ctx context.Context, e *remote.Endpoint, q host.Query) ([]byte, error) {
	return c.dialer.Run(ctx, e, q.Script())
}

func (c connections) change(ctx context.Context, e *remote.Endpoint, s host.Change) ([]byte, error) {
	return c.dialer.Run(ctx, e, s.Script())
}

// The bounds of looks.
const (
	commandTimeout = 30 * time.Second // how long a command may take
	parallel       = 16               // hosts that are talked to at one time for one cluster
	failureTicks   = 6                // ticks until a host that did not answer is asked again
)

// A lookCache keeps the last look at each host, for all clusters that may use it.
type lookCache struct {
	mu    sync.Mutex
	looks map[string]*cachedLook
}

type cachedLook struct {
	busy  chan struct{} // holds one token while the host is not being observed
	state *host.State
	err   error
	at    time.Time // zero: there is no look, or it is outdated
}

// key identifies a host, however many pools of however many clusters list it.
func key(e *remote.Endpoint) string { return fmt.Sprintf("%s %s %s", e.User, e, e.Via) }

func (s *lookCache) of(e *remote.Endpoint) *cachedLook {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.looks[key(e)]
	if !ok {
		k = &cachedLook{busy: make(chan struct{}, 1)}
		k.busy <- struct{}{}
		s.looks[key(e)] = k
	}
	return k
}

// look sees every host of c's namespace. Its error is that of ctx or of too few
// answers: what is in the roster then is all that there is.
func (r *reader) look(ctx context.Context, c *fleet.Cluster) (roster, error) {
	list, err := inventory(c)
	if err != nil {
		return nil, err
	}
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		return nil, err
	}
	out := make(roster, 0, len(list))
	for _, h := range list {
		out = append(out, &observedHost{host: h})
	}
	steps.Each(out, parallel, func(s *observedHost) error {
		if !s.host.Lost {
			s.state, s.err = r.lookAt(ctx, s.host)
		}
		return nil // facts that need no connection are reported
	})
	if err := context.Cause(ctx); err != nil {
		return nil, fleet.Errorf(fleet.Unavailable, "look at the hosts of "+c.Key.String(), "%w", err)
	}
	if err := out.checkFormerPools(c); err != nil {
		return nil, err
	}
	return out, out.checkQuorum(spec)
}

// lookAt looks at one host, or takes the last look where that is young enough.
func (r *reader) lookAt(ctx context.Context, h *machineHost) (*host.State, error) {
	e, err := r.endpoint(ctx, h)
	if err != nil {
		return nil, err
	}
	k := r.cache.of(e)
	select {
	case <-k.busy:
		defer func() { k.busy <- struct{}{} }()
	case <-ctx.Done():
		return nil, fleet.Errorf(fleet.Unavailable, "look at host "+h.String(), "%w", context.Cause(ctx))
	}
	age := time.Since(k.at)
	if !k.at.IsZero() && (age <= r.tick || k.err != nil && age <= failureTicks*r.tick) {
		return k.state, k.err
	}
	within, cancel := context.WithTimeoutCause(ctx, commandTimeout, fmt.Errorf("no answer within %s", commandTimeout))
	defer cancel()
	began := time.Now()
	state, err := r.state(within, e)
	if ctx.Err() != nil {
		return nil, err
	}
	if (err == nil) != (k.err == nil) || k.at.IsZero() && err != nil {
		r.logAnswer(h, err)
	}
	k.state, k.err, k.at = state, err, began
	return state, err
}

func (r *reader) state(ctx context.Context, e *remote.Endpoint) (*host.State, error) {
	op := "look at " + e.String()
	out, err := r.hosts.query(ctx, e, host.Look())
	if err != nil {
		if kind := fleet.KindOf(err); kind == fleet.Unauthorized || kind == fleet.Unavailable {
			return nil, err
		}
		return nil, fleet.Errorf(fleet.Unavailable, op, "%w", err)
	}
	state, err := host.Parse(out)
	if err != nil {
		return nil, fleet.Errorf(fleet.Unavailable, op, "%w", err)
	}
	return state, nil
}

// logAnswer logs that a host began or ceased to answer.
func (r *reader) logAnswer(h *machineHost, err error) {
	if err != nil {
		r.log.Warn("continuing without a host that does not answer", "host", h.String(), "error", err)
		return
	}
	r.log.Info("host answers again", "host", h.String())
}
