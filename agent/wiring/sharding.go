package wiring

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/oklog/run"

	"fairlead.dev/agent"
	"fairlead.dev/agent/metrics"
	"fairlead.dev/agent/replicas"
	"fairlead.dev/agent/server"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// A sharding is what replicas share the clusters with.
type sharding struct {
	replica *replicas.Replica
	dialer  *replicas.Dialer
	listen  net.Listener
	frozen  func() string
}

// share gets this replica ready to work on a part of the clusters, and gives it
// its identity.
func (r *replica) share(ctx context.Context, c *replicas.Connection, lease string, o agent.Options, w *Runtime, m *metrics.Metrics) (*sharding, error) {
	seed, err := replicas.Seed(ctx, c.Secrets.Secrets(c.Namespace), lease)
	if err != nil {
		return nil, err
	}
	config, err := replicas.TLS(seed)
	if err != nil {
		return nil, err
	}
	l, err := server.Listen(ctx, "replica-listen", r.o.Listen)
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	r.identity = replicas.NewIdentity(r.o.Name, net.JoinHostPort(r.o.Address, port))
	shards := replicas.NewMetrics()
	m.Register(shards.Collectors()...)
	return &sharding{
		frozen: func() string { return w.freezable.Frozen() }, dialer: replicas.NewDialer(config), listen: tls.NewListener(l, config),
		replica: replicas.New(replicas.Options{
			Leases: c.Leases, Namespace: c.Namespace, Agent: lease, Identity: r.identity,
			Shards: r.o.Shards, Workers: o.Workers, Timing: r.o.Timing,
			Reconciler: w.Passes, Freeze: func(why string) { w.freezable.Freeze(why) },
			Log: r.log, Observe: shards.Observer(),
		}),
	}, nil
}

// run runs elect beside what the other replicas need of this one, until ctx ends.
func (s *sharding) run(ctx context.Context, r *replica, elect func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g run.Group
	for _, f := range []func(context.Context) error{
		elect, s.replica.Run,
		func(ctx context.Context) error {
			return server.Serve(ctx, s.listen, s.replica.Handler(), server.Options{Log: r.log})
		},
	} {
		g.Add(func() error { return f(ctx) }, func(error) { cancel() })
	}
	return g.Run()
}

// passes makes the passes of a leader by way of all replicas.
func (s *sharding) passes(may func(fleet.Key) error, changed func(fleet.Key)) reconcile.Passes {
	return replicas.NewRouter(s.replica, s.dialer.Dial, may, changed, s.frozen)
}
